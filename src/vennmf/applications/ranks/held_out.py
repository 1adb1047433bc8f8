"""Bi-cross-validation: how well a sharing pattern predicts entries of which neither the item nor the feature was fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from vennmf.matrices import Axis, View, ViewSet
from vennmf.model import Block, Model
from vennmf.solvers import Options, Problem, encode, minimise, products

Array = NDArray[Any]
Factors = dict[str, Array]

QUICK = Options(max_iter=100, tol=1e-3, min_change=1e-5)
"""Enough to tell ranks apart; the final model is fitted to its own tolerance."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One cut of all sources by items and by features, into four quarters.

    A model is fitted to ``fitted``; the held-out features get their rows of the basis from ``features``, the held-out items
    their encodings from ``items``; both together predict ``target``, which neither has seen.
    """

    fitted: ViewSet
    features: ViewSet
    items: ViewSet
    target: ViewSet
    held: NDArray[np.bool_]
    """Which features are held out."""

    def only(self, source: str) -> Fold:
        """The same cut of one source alone."""
        fitted, features, items, target = (
            ViewSet([part[source]]) for part in (self.fitted, self.features, self.items, self.target)
        )
        return Fold(fitted, features, items, target, self.held)


def cut(views: ViewSet, n_folds: int, rng: np.random.Generator) -> list[Fold]:
    """Folds in which every item and every feature is held out once, features in the same fold for all sources."""
    size = next(iter(views.values())).features.size
    of_feature = rng.permutation(size) % n_folds
    of_item = {name: rng.permutation(view.shape[0]) % n_folds for name, view in views.items()}
    made = []
    for fold in range(n_folds):
        held = of_feature == fold
        rows = {name: of_item[name] == fold for name in views}
        made.append(
            Fold(
                _quarter(views, {n: ~r for n, r in rows.items()}, ~held),
                _quarter(views, {n: ~r for n, r in rows.items()}, held),
                _quarter(views, rows, ~held),
                _quarter(views, rows, held),
                held,
            )
        )
    return made


def _quarter(views: ViewSet, rows: Mapping[str, Array], columns: Array) -> ViewSet:
    axis = Axis("features", int(columns.sum()))
    made = []
    for name, view in views.items():
        X = view.X[rows[name]][:, columns]
        X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
        made.append(View(name, X, Axis(f"items:{name}", X.shape[0]), axis))
    return ViewSet(made)


# ---------------------------------------------------------------- fit and predict


def fit(
    views: ViewSet,
    blocks: Sequence[Block],
    init: str | Factors,
    rng: np.random.Generator,
    options: Options = QUICK,
) -> Factors:
    """The factors of a sharing pattern without penalties."""
    problem = Problem(Model.of(views, blocks), views)
    return minimise(problem, init=init, options=options, rng=rng).factors


def prediction(fold: Fold, blocks: Sequence[Block], factors: Factors) -> tuple[dict[str, float], Array]:
    r"""Error on the held-out quarter of each source, as a share of its energy, and the basis over all features.

    .. math:: \lVert X_{IJ} - H_I B_J^\top \rVert^2 / \lVert X_{IJ} \rVert^2
    """
    weights = {name: 1.0 / view.squared_norm() for name, view in fold.fitted.items()}
    kept = factors["features"]
    rows = {axis: F for axis, F in factors.items() if axis != "features"}
    held = encode(_bound(fold.features, blocks, weights), rows, "features")
    errors = {}
    items = _bound(fold.items, blocks, weights)
    for name, view in fold.target.items():
        H = encode(items, {"features": kept}, f"items:{name}")
        B = items.part_of(name, "features", held)
        errors[name] = products.squared_residual(view.X, H, B) / max(view.squared_norm(), np.finfo(float).tiny)
    whole = np.empty((len(fold.held), kept.shape[1]), kept.dtype)
    whole[fold.held], whole[~fold.held] = held, kept
    return errors, whole


def _bound(views: ViewSet, blocks: Sequence[Block], weights: dict[str, float]) -> Problem:
    return Problem(Model.of(views, blocks, (), weights), views, allow_empty=True)


# ---------------------------------------------------------------- steps along a path


def grown(view: View, factors: Factors, more: int, rng: np.random.Generator) -> Factors:
    """Factors of one source with components added where the residual is largest: positive halves of its singular pairs."""
    items = view.items.name
    H, B = factors[items], factors["features"]
    X = view.X
    shape = X.shape

    def times(v: Array) -> Array:
        return X @ v - H @ (B.T @ v)

    def transposed(u: Array) -> Array:
        return X.T @ u - B @ (H.T @ u)

    residual = spla.LinearOperator(shape, matvec=times, rmatvec=transposed, dtype=np.float64)
    start = rng.standard_normal(min(shape))
    U, s, Vt = spla.svds(residual, k=min(more, min(shape) - 1), v0=start, tol=1e-2, random_state=rng)
    pairs = [_positive_half(u, v) for u, v in zip(U.T[::-1], Vt[::-1], strict=True)]
    more_H = np.array([s_j * u for s_j, (u, _) in zip(s[::-1], pairs, strict=True)]).T
    more_B = np.array([v for _, v in pairs]).T
    return {
        items: np.hstack([H, more_H.astype(H.dtype)]),
        "features": np.hstack([B, more_B.astype(B.dtype)]),
    }


def _positive_half(u: Array, v: Array) -> tuple[Array, Array]:
    halves = [(np.maximum(sign * u, 0), np.maximum(sign * v, 0)) for sign in (1, -1)]
    return max(halves, key=lambda half: float(np.linalg.norm(half[0]) * np.linalg.norm(half[1])))


def stacked(separate: Mapping[str, Factors]) -> Factors:
    """Factors of sources that share nothing yet, side by side over the common features."""
    factors = {axis: F for parts in separate.values() for axis, F in parts.items() if axis != "features"}
    return {**factors, "features": np.hstack([parts["features"] for parts in separate.values()])}


def merged(factors: Factors, sizes: Mapping[str, int], n_shared: int) -> Factors:
    """Factors with one more shared component: the private ones, one of each source, that look most alike become one.

    ``sizes`` are the private components of each source now. Columns of the basis: shared, then the sources' in order.
    """
    B = factors["features"]
    starts = dict(zip(sizes, n_shared + np.cumsum([0, *sizes.values()])[:-1], strict=True))
    units = {name: B[:, starts[name] : starts[name] + size] for name, size in sizes.items()}
    units = {name: part / np.maximum(np.linalg.norm(part, axis=0), 1e-30) for name, part in units.items()}
    chosen = _most_alike(units)
    lengths = {name: np.linalg.norm(factors[f"items:{name}"][:, n_shared + j]) for name, j in chosen.items()}
    total = sum(lengths.values()) or 1.0
    common = sum(lengths[name] / total * units[name][:, j] for name, j in chosen.items())
    out: Factors = {}
    keep = np.setdiff1d(np.arange(B.shape[1]), [starts[name] + j for name, j in chosen.items()])
    rest = B[:, keep]
    out["features"] = np.hstack([rest[:, :n_shared], common[:, None].astype(B.dtype), rest[:, n_shared:]])
    for name, j in chosen.items():
        H = factors[f"items:{name}"]
        mine = H[:, n_shared + j : n_shared + j + 1]
        others = np.delete(H, n_shared + j, axis=1)
        out[f"items:{name}"] = np.hstack([others[:, :n_shared], mine, others[:, n_shared:]])
    return out


def _most_alike(units: Mapping[str, Array]) -> dict[str, int]:
    """One column of each source such that their cosines with the first source's are largest in sum."""
    first, *others = units
    score = np.zeros(units[first].shape[1])
    partner = {}
    for name in others:
        cosines = units[first].T @ units[name]
        partner[name] = cosines.argmax(axis=1)
        score += cosines.max(axis=1)
    best = int(score.argmax())
    return {first: best, **{name: int(partner[name][best]) for name in others}}


# ---------------------------------------------------------------- stability


def agreement(bases: Sequence[Array], columns: slice = slice(None)) -> float:
    """Mean cosine of components matched one to one (Hungarian method) between each two of several bases."""
    from scipy.optimize import linear_sum_assignment

    units = [B[:, columns] / np.maximum(np.linalg.norm(B[:, columns], axis=0), 1e-30) for B in bases]
    found = []
    for A, B in _pairs(units):
        cosines = A.T @ B
        found.append(float(cosines[linear_sum_assignment(cosines, maximize=True)].mean()))
    return float(np.mean(found)) if found else 1.0


def _pairs(items: Sequence[Array]) -> Iterator[tuple[Array, Array]]:
    for n, first in enumerate(items):
        for second in items[n + 1 :]:
            yield first, second
