"""PJMF: images and tags as points of one space. What is minimised, and its gradients; no loops.

Items are rows. The letters: X (n × d) scaled features, Y (n × m) tags, A (d × p) projection with orthonormal columns,
V = X A (n × p) images and U (m × p) tags in the unified space, Ŷ (n × m) the relevance of every tag to every image.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

BLOCK_ENTRIES = 1 << 20
"""Entries of images × tags that are dense at one time: a few megabytes, so that a block stays in cache."""

SHORTEST_BLOCK = 64
"""Images of a block at least, however many tags there are."""

WIDEST_SCATTER = 4096
"""Up to this many features Xᵀ L_S X is formed once; beyond, the graph is applied anew each time."""


class Terms(NamedTuple):
    """The four terms of the objective, constants included, summed in float64."""

    fit: float
    distance: float
    image_graph: float
    tag_graph: float

    @property
    def objective(self) -> float:
        return self.fit + sum(self.penalties.values())

    @property
    def penalties(self) -> dict[str, float]:
        return {"distance": self.distance, "image_graph": self.image_graph, "tag_graph": self.tag_graph}


class Evaluation(NamedTuple):
    """The terms at one point and the Euclidean gradients of their sum in A and U."""

    terms: Terms
    gradient_A: Array
    gradient_U: Array


@dataclass(frozen=True, eq=False)
class Features:
    """X = raw - 1 shiftᵀ, dense or sparse; a sparse matrix is centred without being filled in."""

    raw: Any
    shift: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.raw.shape[0], self.raw.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.raw.dtype)

    def rows(self, chosen: Any) -> Features:
        return Features(self.raw[chosen], self.shift)

    def times(self, A: Array) -> Array:
        """X A in the dtype of X."""
        V = np.asarray(self.raw @ A.astype(self.dtype, copy=False))
        if self.shift is not None:
            V -= (self.shift @ A).astype(self.dtype, copy=False)
        return V

    def transposed_times(self, G: Array) -> Array:
        """Xᵀ G in float64."""
        product = np.asarray(self.raw.T @ G).astype(np.float64, copy=False)
        if self.shift is not None:
            product -= np.outer(self.shift, G.sum(axis=0, dtype=np.float64))
        return product

    def sum(self) -> Array:
        """Sum of the rows of X, in float64."""
        total = np.asarray(self.raw.sum(axis=0, dtype=np.float64)).ravel()
        return total if self.shift is None else total - self.shape[0] * self.shift


@dataclass(frozen=True, eq=False)
class UnifiedSpace:
    r"""Images and tags in one space: eq. (16) of the paper.

    .. math::
        \tfrac12 \sum_{ij} (Y_{ij} - \hat Y_{ij})^2 + \tfrac\gamma2 \sum_{ij} \lVert v_i - u_j \rVert^2
        + \tfrac\alpha2 \operatorname{tr} V^\top L_S V + \tfrac\beta2 \operatorname{tr} U^\top L_C U,
        \qquad V = X A, \quad \hat Y_{ij} = \exp(-\lVert v_i - u_j \rVert^2 / 2\sigma^2)

    subject to :math:`A^\top A = I` and :math:`\sum_i v_i + \sum_j u_j = 0`. Y is a CSR array of what users said;
    ``L_S`` (n × n) and ``L_C`` (m × m) are sparse normalised Laplacians. ``scatter`` is Xᵀ L_S X (d × d), where it is
    worth holding. Cost of an evaluation: 6 n m p operations and n m exponentials; memory beyond the data: one block.
    """

    X: Features
    Y: Any
    L_S: Any
    L_C: Any
    alpha: float
    beta: float
    gamma: float
    sigma: float
    scatter: Array | None = None

    @classmethod
    def of(cls, X: Features, Y: Any, L_S: Any, L_C: Any, **constants: float) -> UnifiedSpace:
        """The problem with the scatter of the image graph formed where the features are few enough."""
        scatter = None
        if constants["alpha"] and X.shape[1] <= WIDEST_SCATTER:
            scatter = smoothness(X, L_S)
        return cls(X, Y, L_S, L_C, scatter=scatter, **constants)

    @property
    def n_tags(self) -> int:
        return int(self.Y.shape[1])

    def terms(self, A: Array, U: Array) -> Terms:
        """The objective's terms alone, at a third of an evaluation's cost."""
        fit = distance = 0.0
        for X, Y in self.blocks():
            part = pair_terms(X.times(A), U, Y, self.gamma, self.sigma)
            fit += part[0]
            distance += part[1]
        return Terms(fit, distance, *self._graph_terms(A, U)[:2])

    def evaluate(self, A: Array, U: Array) -> Evaluation:
        """Terms and gradients over all images, block by block."""
        fit = distance = 0.0
        image_term, tag_term, gradient_A, gradient_U = self._graph_terms(A, U)
        for X, Y in self.blocks():
            part = pair_gradients(X.times(A), U, Y, self.gamma, self.sigma)
            fit += part.fit
            distance += part.distance
            gradient_A += X.transposed_times(part.gradient_V)
            gradient_U += part.gradient_U
        return Evaluation(Terms(fit, distance, image_term, tag_term), gradient_A, gradient_U)

    def sampled(self, A: Array, U: Array, chosen: Array) -> Evaluation:
        """The same from some images, which stand for all: an unbiased estimate of the terms and the gradients."""
        scale = self.X.shape[0] / len(chosen)
        image_term, tag_term, gradient_A, gradient_U = self._graph_terms(A, U)
        X = self.X.rows(chosen)
        part = pair_gradients(X.times(A), U, self.Y[chosen], self.gamma, self.sigma)
        gradient_A += scale * X.transposed_times(part.gradient_V)
        gradient_U += scale * part.gradient_U
        terms = Terms(scale * part.fit, scale * part.distance, image_term, tag_term)
        return Evaluation(terms, gradient_A, gradient_U)

    def blocks(self) -> Iterator[tuple[Features, Any]]:
        """Runs of images, each with its tags, so short that a block of images × tags stays small."""
        n = self.X.shape[0]
        step = max(SHORTEST_BLOCK, BLOCK_ENTRIES // self.n_tags)
        if step >= n:
            yield self.X, self.Y
            return
        for start in range(0, n, step):
            chosen = slice(start, min(start + step, n))
            yield self.X.rows(chosen), self.Y[chosen]

    def _graph_terms(self, A: Array, U: Array) -> tuple[float, float, Array, Array]:
        """Values and gradients of the two smoothness terms."""
        gradient_A, gradient_U = np.zeros_like(A), np.zeros_like(U)
        if self.alpha and self.scatter is not None:
            gradient_A = self.alpha * (self.scatter @ A)
        elif self.alpha:
            gradient_A = self.alpha * self.X.transposed_times(self.L_S @ self.X.times(A))
        if self.beta:
            gradient_U = self.beta * np.asarray(self.L_C @ U)
        return 0.5 * float(np.vdot(A, gradient_A)), 0.5 * float(np.vdot(U, gradient_U)), gradient_A, gradient_U


class PairGradients(NamedTuple):
    """What the pairs of some images and all tags contribute."""

    fit: float
    distance: float
    gradient_V: Array
    gradient_U: Array


def pair_terms(V: Array, U: Array, Y: Any, gamma: float, sigma: float) -> tuple[float, float]:
    """Fit and distance terms of some images (rows of V and Y) with all tags."""
    squared, tagged, _ = _relevance(V, U, Y, sigma)
    return _fit(squared, tagged, Y), _distance(V, U, gamma)


def pair_gradients(V: Array, U: Array, Y: Any, gamma: float, sigma: float) -> PairGradients:
    r"""The same with their gradients, from three matrix products.

    With Q = (Y - Ŷ) ∘ Ŷ / σ² + γ:  ∂V = diag(Q 1) V - Q U  and  ∂U = diag(Qᵀ 1) U - Qᵀ V.
    Only R = Ŷ² - Y ∘ Ŷ = -σ² (Q - γ) is formed, in place of Ŷ²; the γ part needs sums alone.
    """
    squared, tagged, flat = _relevance(V, U, Y, sigma)
    fit = _fit(squared, tagged, Y)
    R = squared
    R.ravel()[flat] -= Y.data * tagged
    U_one = np.column_stack([U, np.ones(len(U))]).astype(V.dtype)
    V_one = np.column_stack([V, np.ones(len(V), dtype=V.dtype)])
    RU = R @ U_one
    RtV = (R.T @ V_one).astype(np.float64)
    gradient_V = (RU[:, :-1] - RU[:, -1:] * V) / V.dtype.type(sigma**2)
    gradient_U = (RtV[:, :-1] - RtV[:, -1:] * U) / sigma**2
    if gamma:
        gradient_V += gamma * (len(U) * V - U.sum(axis=0).astype(V.dtype))
        gradient_U += gamma * (len(V) * U - V.sum(axis=0, dtype=np.float64))
    return PairGradients(fit, _distance(V, U, gamma), gradient_V, gradient_U)


def _relevance(V: Array, U: Array, Y: Any, sigma: float) -> tuple[Array, Array, Array]:
    """Ŷ² (dense, one block), Ŷ where Y is not zero, and where that is in the flattened block.

    Ŷ² = exp(-‖v - u‖² / σ²), so one exponential serves the fit and its gradients. The exponent is one matrix product of
    the points with their squared norms appended; it stays above the least normal number, whose neighbourhood is slow.
    """
    dtype = V.dtype
    scale = 1.0 / sigma**2
    U_long = np.column_stack([(2 * scale) * U, -scale * np.einsum("ij,ij->i", U, U), np.ones(len(U))])
    V_long = np.column_stack([V, np.ones(len(V), dtype=dtype), -scale * np.einsum("ij,ij->i", V, V)])
    squared = V_long.astype(dtype, copy=False) @ U_long.astype(dtype, copy=False).T
    np.clip(squared, -80.0, 0.0, out=squared)
    np.exp(squared, out=squared)
    flat = np.repeat(np.arange(len(V)) * len(U), np.diff(Y.indptr)) + Y.indices
    return squared, np.sqrt(squared.ravel()[flat]), flat


def _fit(squared: Array, tagged: Array, Y: Any) -> float:
    """½ Σ (Y - Ŷ)² without the dense difference: ½ Σ Ŷ² over all pairs, ½ Y² - Y Ŷ over the tagged ones."""
    values = Y.data.astype(np.float64, copy=False)
    return 0.5 * float(squared.sum(dtype=np.float64)) + float(values @ (0.5 * values - tagged))


def _distance(V: Array, U: Array, gamma: float) -> float:
    """γ/2 Σ ‖v - u‖² from sums of points and of squared norms."""
    squares_V = float(np.einsum("ij,ij->", V, V, dtype=np.float64))
    squares_U = float(np.einsum("ij,ij->", U, U))
    cross = float(V.sum(axis=0, dtype=np.float64) @ U.sum(axis=0))
    return 0.5 * gamma * (len(V) * squares_U + len(U) * squares_V - 2 * cross)


def smoothness(X: Features, L: Any) -> Array:
    """Xᵀ L X (d × d) in float64, symmetric, without filling in a centred sparse X.

    With X = R - 1 sᵀ:  Xᵀ L X = Rᵀ L R - (Rᵀ L 1) sᵀ - s (Rᵀ L 1)ᵀ + (1ᵀ L 1) s sᵀ.
    """
    LR = L @ X.raw
    S = X.raw.T @ LR
    S = np.asarray(S.toarray() if sp.issparse(S) else S, dtype=np.float64)
    if X.shift is not None:
        sums = np.asarray(L.sum(axis=1)).ravel()
        Rl = np.asarray(X.raw.T @ sums, dtype=np.float64)
        S = S - np.outer(Rl, X.shift) - np.outer(X.shift, Rl) + sums.sum() * np.outer(X.shift, X.shift)
    return 0.5 * (S + S.T)
