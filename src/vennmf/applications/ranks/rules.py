"""The rules of the papers for choosing dimensions, and the dimensions of X Yᵀ through products, never formed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.applications.ranks.held_out import QUICK, fit, grown
from vennmf.matrices import Axis, View, ViewSet
from vennmf.model import Block, MutuallyOrthogonal, sharing_pattern
from vennmf.solvers import products

Array = NDArray[Any]

SMALL_CHANGE = 0.01
"""The papers stop where one more step lowers the error by less than 1 %."""

ORTHOGONALITIES = (1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3, 1e4)


class Product:
    """X Yᵀ, items by items, known by its products with tall matrices: (X Yᵀ) Q = X (Yᵀ Q)."""

    def __init__(self, X: Any, Y: Any) -> None:
        self.left, self.right = X, Y
        self.shape = (X.shape[0], Y.shape[0])
        self.dtype = X.dtype

    @property
    def nbytes(self) -> int:
        """What is stored of it: both factors."""
        parts = [X.data, X.indices, X.indptr] if sp.issparse(X := self.left) else [X]
        parts += [Y.data, Y.indices, Y.indptr] if sp.issparse(Y := self.right) else [Y]
        return sum(int(part.nbytes) for part in parts)

    def __matmul__(self, Q: Array) -> Array:
        return self.left @ (self.right.T @ Q)

    @property
    def T(self) -> Product:
        return Product(self.right, self.left)

    def __getitem__(self, rows: Any) -> Array:
        found = self.left[rows] @ self.right.T
        return found.toarray() if sp.issparse(found) else np.asarray(found)

    def squared_norm(self, most: int = 20_000_000) -> float:
        """‖X Yᵀ‖² = ⟨XᵀX, YᵀY⟩, by columns of bounded width."""
        X, Y = self.left, self.right
        width = max(1, most // X.shape[1])
        total = 0.0
        for start in range(0, X.shape[1], width):
            A, B = X.T @ X[:, start : start + width], Y.T @ Y[:, start : start + width]
            both = A.multiply(B).sum() if sp.issparse(A) else np.sum(A * B, dtype=np.float64)
            total += float(both)
        return total


@dataclass(frozen=True, eq=False)
class ProductView(View):
    """The view of a product, for the engine that fits any view."""

    @classmethod
    def between(cls, first: View, second: View) -> ProductView:
        X = Product(first.X, second.X)
        return cls(f"{first.name}×{second.name}", X, Axis("rows", X.shape[0]), Axis("features", X.shape[1]))

    @property
    def nnz(self) -> int:
        """What a product with one vector costs: the stored entries of both factors."""
        return sum(int(X.nnz) if sp.issparse(X) else int(X.size) for X in (self.X.left, self.X.right))

    def squared_norm(self) -> float:
        return self.X.squared_norm()


@dataclass(frozen=True)
class ErrorPath:
    """Squared error of NMF at increasing ranks and the rank at which the next step gains less than 1 %."""

    ranks: tuple[int, ...]
    errors: tuple[float, ...]

    @property
    def changes(self) -> tuple[float, ...]:
        """Δ_k = 1 − E_{k+1} / E_k between ranks that follow each other."""
        return tuple(1 - after / before if before > 0 else 0.0 for before, after in pairwise(self.errors))

    @property
    def choice(self) -> int:
        """The rank after which Δ_k falls under 1 %; the last one tried where it never does."""
        small = [rank for rank, change in zip(self.ranks, self.changes, strict=False) if change < SMALL_CHANGE]
        return small[0] if small else self.ranks[-1]

    @property
    def is_settled(self) -> bool:
        return bool(self.changes) and self.changes[-1] < SMALL_CHANGE


def error_path(
    view: View, ranks: Sequence[int], seed: int, on_rank: Callable[[int, float], Any] | None = None
) -> ErrorPath:
    """NMF of one view along increasing ranks, each from the one before, until a step gains less than 1 %."""
    views = ViewSet([view])
    squared = view.squared_norm()
    rng = np.random.default_rng(seed)
    factors: dict[str, Array] | None = None
    path = ErrorPath((), ())
    for rank in ranks:
        more = rank - (path.ranks[-1] if path.ranks else 0)
        blocks = sharing_pattern({view.name: rank}, (view.name,))
        factors = fit(views, blocks, "random" if factors is None else grown(view, factors, more, rng), rng)
        H, B = factors[view.items.name], factors[view.features.name]
        cross = products.inner(products.times(view.X, B), H)
        error = squared - 2 * cross + float(np.sum(products.gram(H) * products.gram(B)))
        path = ErrorPath((*path.ranks, rank), (*path.errors, max(error, 0.0)))
        if on_rank is not None:
            on_rank(rank, error / squared)
        if path.is_settled:
            break
    return path


def leading_singular_values(X: Any, most: int, rng: np.random.Generator) -> Array:
    """The largest singular values by a randomised range finder (Halko, Martinsson & Tropp 2011), four power steps."""
    width = min(most + 10, *X.shape)
    Q = np.linalg.qr(X @ rng.standard_normal((X.shape[1], width)).astype(X.dtype))[0]
    for _ in range(4):
        Q = np.linalg.qr(X @ np.linalg.qr(X.T @ Q)[0])[0]
    return np.linalg.svd(X.T @ Q, compute_uv=False)[:most]


def numerical_rank(X: Any, most: int, seed: int, relative: float = 0.01) -> int:
    """How many of the first ``most`` singular values exceed a share of the largest; noise makes any exact rank full."""
    values = leading_singular_values(X, most, np.random.default_rng(seed))
    return int(np.sum(values > relative * values[0])) if len(values) and values[0] > 0 else 0


def mardia(views: ViewSet) -> int:
    """√(common features / 2), after Mardia, Kent & Bibby 1979: features that every source uses."""
    used = np.ones(next(iter(views.values())).features.size, dtype=bool)
    for view in views.values():
        used &= np.asarray(view.X.sum(axis=0)).ravel() > 0
    return round(float(np.sqrt(used.sum() / 2)))


def pairs(views: ViewSet) -> list[ProductView]:
    """X Yᵀ of every two sources."""
    return [ProductView.between(first, second) for first, second in combinations(views.values(), 2)]


def orthogonality_path(
    views: ViewSet, blocks: Sequence[Block], seed: int, values: Sequence[float] = ORTHOGONALITIES
) -> list[tuple[float, float, float]]:
    """(a, fit, penalty) of RJSNMF for each a, all from the same start."""
    from vennmf.model import Model
    from vennmf.solvers import Problem, minimise

    found = []
    for a in values:
        problem = Problem(Model.of(views, blocks, (MutuallyOrthogonal(a),)), views)
        solution = minimise(problem, options=QUICK, rng=np.random.default_rng(seed))
        last = solution.steps[-1]
        found.append((a, last.fit, last.objective - last.fit))
    return found
