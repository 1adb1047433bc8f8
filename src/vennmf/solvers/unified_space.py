"""Where PJMF starts and the two other ways down: in batches of images, and by the paper's fixed step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from vennmf.model.unified_space import (
    BLOCK_ENTRIES,
    WIDEST_SCATTER,
    Array,
    Features,
    UnifiedSpace,
    pair_gradients,
    smoothness,
)
from vennmf.solvers.loop import Options, interruptible
from vennmf.solvers.manifold import (
    CentredStiefel,
    ManifoldSolution,
    OnStep,
    Point,
    Record,
    descend,
    orthonormal,
)

RESTLESS = 0.05
"""Batches give way to quasi-Newton steps over all images once an epoch lowers the objective by less than this share."""

LARGEST_CROSS = 1 << 24
"""Up to this many entries features × tags are decomposed exactly for a start; beyond, from a random sketch."""


# ---------------------------------------------------------------- starts


def tag_directions(X: Features, Y: sp.csr_array, p: int, rng: np.random.Generator) -> Array:
    """A start for A: directions in which images with a tag differ from the others, then those of greatest variance.

    The left singular vectors of Xᵀ Y, tags weighted by the root of their frequency, completed where tags are too few.
    """
    counts = np.maximum(np.asarray(Y.sum(axis=0, dtype=np.float64)).ravel(), 1)
    weighted = sp.csr_array(Y @ sp.diags_array(1 / np.sqrt(counts)))
    A = leading_directions(_cross(X, weighted, p, rng), p)
    if A.shape[1] == p:
        return A
    rest = _scatter(X, p, rng)
    rest = rest - A @ (A.T @ rest)
    more = np.linalg.svd(rest, full_matrices=False)[0][:, : p - A.shape[1]]
    return orthonormal(np.hstack([A, more]))


def random_directions(X: Features, p: int, rng: np.random.Generator) -> Array:
    """A start for A without the data: a uniformly random orthonormal frame."""
    return orthonormal(rng.standard_normal((X.shape[1], p)))


def tag_means(X: Features, Y: sp.csr_array, A: Array) -> Array:
    """A start for U: every tag at the mean of its images, at the origin if it has none."""
    counts = np.maximum(np.asarray(Y.sum(axis=0, dtype=np.float64)).ravel(), 1)
    return np.asarray(Y.T @ X.times(A), dtype=np.float64) / counts[:, None]


def leading_directions(M: Array, p: int) -> Array:
    """Up to p left singular vectors of M, as many as its rank allows, largest first."""
    left, values, _ = np.linalg.svd(M, full_matrices=False)
    rank = int(np.count_nonzero(values > 1e-10 * max(values[0], 1e-300)))
    return np.ascontiguousarray(left[:, : min(p, rank)])


def _cross(X: Features, Y: sp.csr_array, p: int, rng: np.random.Generator) -> Array:
    """Xᵀ Y (d × m), or a sketch of its columns."""
    if X.shape[1] * Y.shape[1] > LARGEST_CROSS:
        return X.transposed_times(Y @ rng.standard_normal((Y.shape[1], p + 10)))
    cross = Y.T @ X.raw
    cross = np.asarray(cross.toarray() if sp.issparse(cross) else cross, dtype=np.float64).T
    return cross if X.shift is None else cross - np.outer(X.shift, Y.sum(axis=0))


def _scatter(X: Features, p: int, rng: np.random.Generator) -> Array:
    """Xᵀ X (d × d), or a sketch of its columns."""
    n, d = X.shape
    if d > WIDEST_SCATTER:
        return X.transposed_times(X.times(rng.standard_normal((d, p + 10))))
    return smoothness(X, sp.eye_array(n, format="csr", dtype=X.dtype))


# ---------------------------------------------------------------- batches of images


@dataclass(frozen=True)
class Batches:
    """How images are taken in batches.

    ``size`` images at a time, all of them once an epoch; ``length`` is the first step: the root mean square move of a tag
    in units of σ and of a column of A. It is halved after an epoch that did not lower the objective, which is undone.
    """

    size: int
    length: float = 0.1
    memory: float = 0.9
    memory_of_squares: float = 0.99


def descend_in_batches(
    problem: UnifiedSpace,
    space: CentredStiefel,
    start: Point,
    options: Options,
    batches: Batches,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> ManifoldSolution:
    """Epochs of adaptive steps on batches, each valued over all images; then quasi-Newton steps over all images.

    What is recorded is the objective over all images after an epoch that lowered it, so it never rises there either.
    """
    record = Record(options, on_step)
    at, length = start, batches.length
    evaluation = problem.evaluate(at.A, space.tags(at))
    first = float(np.linalg.norm(space.gradient(at, evaluation)))
    record.add(evaluation.terms, first, space.faults(at.A, space.tags(at)))
    with interruptible() as interrupted:
        while (reason := record.reason(interrupted.is_set())) is None and length > 1e-3 * batches.length:
            tried = _epoch(problem, space, at, replace(batches, length=length), rng)
            found = problem.evaluate(tried.A, space.tags(tried))
            gain = evaluation.terms.objective - found.terms.objective
            if not gain > 0:
                length /= 2
                continue
            at, evaluation = tried, found
            norm = float(np.linalg.norm(space.gradient(at, evaluation)))
            record.add(evaluation.terms, norm, space.faults(at.A, space.tags(at)))
            if gain < RESTLESS * abs(evaluation.terms.objective):
                break
    if reason is not None:
        return record.solution(at.A, space.tags(at), reason)
    return descend(problem, space, at, options, record=record)


def _epoch(
    problem: UnifiedSpace, space: CentredStiefel, at: Point, batches: Batches, rng: np.random.Generator
) -> Point:
    """All images once, in random order: steps along a running mean of gradients over their running root mean square.

    One root mean square for each tag and one for A, so that the result does not depend on the axes of the space.
    """
    n, p, m = problem.X.shape[0], at.A.shape[1], problem.n_tags
    mean = np.zeros(at.A.size + at.Z.size)
    squares_A, squares_Z = 0.0, np.zeros((m, 1))
    keep, keep_squares = batches.memory, batches.memory_of_squares
    orders = np.array_split(rng.permutation(n), max(1, n // batches.size))
    for t, chosen in enumerate(orders, start=1):
        gradient = space.gradient(at, problem.sampled(at.A, space.tags(at), np.sort(chosen)))
        mean = keep * space.tangent(at, mean) + (1 - keep) * gradient
        G, H = space.split(gradient, p)
        squares_A = keep_squares * squares_A + (1 - keep_squares) * float(np.vdot(G, G)) / p
        squares_Z = keep_squares * squares_Z + (1 - keep_squares) * np.einsum("ij,ij->i", H, H)[:, None]
        unbias, unbias_squares = 1 - keep**t, 1 - keep_squares**t
        step_A, step_Z = space.split(mean / unbias, p)
        decay = batches.length * (1 - (t - 1) / len(orders)) ** 0.5
        step_A = -decay * 0.3 * step_A / (np.sqrt(squares_A / unbias_squares) + 1e-300)
        step_Z = -decay * problem.sigma * step_Z / (np.sqrt(squares_Z / unbias_squares) + 1e-300)
        at = space.feasible(at.A + step_A, at.Z + step_Z)
    return at


# ---------------------------------------------------------------- the paper's rule


@dataclass(frozen=True)
class PaperRule:
    """Algorithm 1 of the paper: a fixed ``step`` (η), and penalties λ on AᵀA = I and ξ on the centring, eqs. (19) to (21)."""

    step: float = 0.005
    orthogonality: float = 0.005
    centring: float = 0.005

    def penalties(self, A: Array, U: Array, s: Array) -> tuple[dict[str, float], Array, Array]:
        """λ/4 ‖AᵀA - I‖² and ξ/2 ‖Σ u + Aᵀs‖², and their gradients in A and U."""
        excess = A.T @ A - np.eye(A.shape[1])
        centre = U.sum(axis=0) + s @ A
        values = {
            "orthogonality": 0.25 * self.orthogonality * float(np.vdot(excess, excess)),
            "centring": 0.5 * self.centring * float(centre @ centre),
        }
        gradient_A = self.orthogonality * (A @ excess) + self.centring * np.outer(s, centre)
        return values, gradient_A, np.broadcast_to(self.centring * centre, U.shape)


def descend_by_paper(
    problem: UnifiedSpace,
    space: CentredStiefel,
    start: Point,
    options: Options,
    rule: PaperRule,
    on_step: OnStep | None = None,
) -> ManifoldSolution:
    """Gradient descent with a fixed step on the Lagrangian (19), to compare with; nothing makes its value fall.

    The value recorded is the Lagrangian's. The best point is returned; the descent ends as "no_decrease" where the value
    has grown tenfold or is no number any more, which is what a step that is too long does.
    """
    record = Record(options, on_step)
    A, U = start.A, space.tags(start)
    best, lowest = (A, U), np.inf
    with interruptible() as interrupted, np.errstate(over="ignore", invalid="ignore"):
        while True:
            evaluation = problem.evaluate(A, U)
            values, more_A, more_U = rule.penalties(A, U, space.s)
            gradient_A, gradient_U = evaluation.gradient_A + more_A, evaluation.gradient_U + more_U
            value = evaluation.terms.objective + sum(values.values())
            if not np.isfinite(value) or (record.steps and value > 10 * record.steps[0].objective):
                return record.solution(*best, "no_decrease")
            norm = float(np.sqrt(np.vdot(gradient_A, gradient_A) + np.vdot(gradient_U, gradient_U)))
            record.add(evaluation.terms, norm, space.faults(A, U), **values)
            if value < lowest:
                best, lowest = (A, U), value
            reason = record.reason(interrupted.is_set())
            if reason is not None:
                return record.solution(*best, reason)
            A, U = A - rule.step * gradient_A, U - rule.step * gradient_U


# ---------------------------------------------------------------- new tags


def fold_in_tags(V: Array, Y: sp.csr_array, gamma: float, sigma: float, max_iter: int = 200) -> Array:
    """Points of new tags (m × p) for fixed images V: every tag minimises its own fit and distance, from its images' mean."""
    counts = np.maximum(np.asarray(Y.sum(axis=0, dtype=np.float64)).ravel(), 1)
    start = np.asarray(Y.T @ V, dtype=np.float64) / counts[:, None]
    step = max(64, BLOCK_ENTRIES // Y.shape[1])
    blocks = [(V[a : a + step], Y[a : a + step]) for a in range(0, len(V), step)]

    def value_and_gradient(flat: Array) -> tuple[float, Array]:
        U = flat.reshape(start.shape)
        parts = [pair_gradients(rows, U, tags, gamma, sigma) for rows, tags in blocks]
        value = sum(part.fit + part.distance for part in parts)
        return value, np.sum([part.gradient_U for part in parts], axis=0).ravel()

    found = minimize(value_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    return np.asarray(found.x).reshape(start.shape)
