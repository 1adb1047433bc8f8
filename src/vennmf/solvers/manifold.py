"""Minimise over an orthonormal projection A and points U whose centre is fixed: the geometry, and a quasi-Newton descent.

A feasible pair has AᵀA = I and Σ u_j + Aᵀs = 0, where s (d) is the sum of all images' features. Steps move A along a
tangent and back onto the manifold by a retraction, and move only the centred part Z of U = Z - 1 sᵀA / m; so both
constraints hold to rounding at every point that is ever evaluated, and need no multipliers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vennmf.model.unified_space import Evaluation, Terms
from vennmf.solvers.loop import PATIENCE, Options, interruptible
from vennmf.solvers.solution import Step

Array = NDArray[Any]
OnStep = Callable[[Step], bool]

MEMORY = 10
"""Pairs of steps and gradient changes that the quasi-Newton direction remembers."""

TRIALS = 25
"""Shorter and shorter steps along one direction before it is given up."""


class Point(NamedTuple):
    """A (d × p) with orthonormal columns and the centred part Z (m × p) of the tags' points."""

    A: Array
    Z: Array

    def flat(self) -> Array:
        return np.concatenate([self.A.ravel(), self.Z.ravel()])


class Smooth(Protocol):
    """What a descent needs: the terms and their Euclidean gradients in A and U."""

    def evaluate(self, A: Array, U: Array) -> Evaluation: ...


@dataclass(frozen=True)
class ManifoldSolution:
    """The best point met, how the run went, and why it ended."""

    A: Array
    U: Array
    steps: tuple[Step, ...]
    faults: tuple[tuple[float, float], ...]
    stop_reason: str
    dead: dict[str, list[int]]

    @property
    def objective(self) -> float:
        return min(step.objective for step in self.steps)

    @property
    def n_iter(self) -> int:
        return self.steps[-1].iteration

    @property
    def first_violation(self) -> float:
        return self.steps[0].violation

    def history(self) -> dict[str, Array]:
        """The steps as equally long arrays: iteration, seconds, objective, fit, each penalty, violation, both faults."""
        columns = {
            name: np.array([getattr(step, name) for step in self.steps])
            for name in ("iteration", "seconds", "objective", "fit")
        }
        columns |= {name: np.array([s.penalties[name] for s in self.steps]) for name in self.steps[0].penalties}
        columns["violation"] = np.array([step.violation for step in self.steps])
        columns["orthonormality_error"], columns["centring_error"] = np.array(self.faults).T
        return columns


@dataclass(frozen=True)
class CentredStiefel:
    """All feasible pairs: orthonormal frames × centred points, with the metric of the space around them."""

    s: Array
    n_tags: int

    def tags(self, at: Point) -> Array:
        """U, whose sum is exactly minus the sum of the images."""
        return at.Z - (self.s @ at.A) / self.n_tags

    def split(self, flat: Array, p: int) -> Point:
        d = len(self.s)
        return Point(flat[: d * p].reshape(d, p), flat[d * p :].reshape(self.n_tags, p))

    def feasible(self, A: Array, U: Array) -> Point:
        """The point of this space that starting values ask for."""
        return Point(orthonormal(A), U - U.mean(axis=0))

    def gradient(self, at: Point, evaluation: Evaluation) -> Array:
        """The Riemannian gradient, flat: chained through U = Z - 1 sᵀA / m, then made tangent."""
        dU = evaluation.gradient_U
        dA = evaluation.gradient_A - np.outer(self.s, dU.mean(axis=0))
        return self.tangent(at, np.concatenate([dA.ravel(), dU.ravel()]))

    def tangent(self, at: Point, flat: Array) -> Array:
        """The tangent vector nearest to a flat vector: G - A sym(AᵀG) for A, H - mean for Z."""
        G, H = self.split(flat, at.A.shape[1])
        AtG = at.A.T @ G
        tangent_A = G - at.A @ (0.5 * (AtG + AtG.T))
        return np.concatenate([tangent_A.ravel(), (H - H.mean(axis=0)).ravel()])

    def move(self, at: Point, direction: Array, length: float) -> Point:
        """Along a tangent and back onto the manifold."""
        G, H = self.split(direction, at.A.shape[1])
        return self.feasible(at.A + length * G, at.Z + length * H)

    def faults(self, A: Array, U: Array) -> tuple[float, float]:
        """Largest entries of AᵀA - I and of Σ u + Aᵀs."""
        gram = A.T @ A - np.eye(A.shape[1])
        return float(np.abs(gram).max()), float(np.abs(U.sum(axis=0) + self.s @ A).max())


def orthonormal(A: Array) -> Array:
    """The orthonormal factor of A with a positive diagonal in R, so that an orthonormal A comes back as it is."""
    Q, R = np.linalg.qr(A)
    return np.ascontiguousarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))


class Record:
    """What happened so far, and whether it is time to stop."""

    def __init__(self, options: Options, on_step: OnStep | None) -> None:
        self.options, self.on_step = options, on_step
        self.steps: list[Step] = []
        self.faults: list[tuple[float, float]] = []
        self.began = time.perf_counter()
        self.called_off = False

    def add(self, terms: Terms, violation: float, faults: tuple[float, float], **extra: float) -> None:
        seconds = time.perf_counter() - self.began
        penalties = {**terms.penalties, **extra}
        objective = terms.fit + sum(penalties.values())
        step = Step(len(self.steps) + 1, seconds, objective, terms.fit, penalties, violation)
        self.steps.append(step)
        self.faults.append(faults)
        self.called_off = bool(self.on_step(step)) if self.on_step else False

    def reason(self, interrupted: bool) -> str | None:
        """Why to stop now, if there is a reason."""
        options, steps = self.options, self.steps
        if interrupted:
            return "interrupted"
        if self.called_off:
            return "callback"
        if steps[-1].violation <= options.tol * steps[0].violation:
            return "converged"
        if len(steps) > PATIENCE:
            before, now = steps[-1 - PATIENCE].objective, steps[-1].objective
            if before - now <= PATIENCE * options.min_change * abs(now):
                return "small_change"
        if len(steps) >= options.max_iter:
            return "max_iter"
        return "time_limit" if steps[-1].seconds >= options.time_limit else None

    def solution(self, A: Array, U: Array, reason: str) -> ManifoldSolution:
        return ManifoldSolution(A, U, tuple(self.steps), tuple(self.faults), reason, {})


def descend(
    problem: Smooth,
    space: CentredStiefel,
    start: Point,
    options: Options,
    on_step: OnStep | None = None,
    record: Record | None = None,
) -> ManifoldSolution:
    """Riemannian L-BFGS: pairs carried along by projection, steps accepted only where the objective falls (Armijo).

    ``record`` continues the record of a run that came before. Cost of a step: one evaluation, seldom two or more, and
    O((d + m) p (p + MEMORY)).
    """
    record = record or Record(options, on_step)
    state = QuasiNewton(problem, space, start)
    with interruptible() as interrupted:
        while True:
            if record.steps == [] or state.moved:
                U = space.tags(state.at)
                record.add(state.evaluation.terms, state.norm, space.faults(state.at.A, U))
            reason = record.reason(interrupted.is_set())
            if reason is None and not state.step():
                reason = "no_decrease"
            if reason is not None:
                return record.solution(state.at.A, space.tags(state.at), reason)


class QuasiNewton:
    """A point, its gradient and the memory from which the next direction comes; ``step`` never raises the objective."""

    def __init__(self, problem: Smooth, space: CentredStiefel, start: Point) -> None:
        self.problem, self.space, self.at = problem, space, start
        self.evaluation = problem.evaluate(start.A, space.tags(start))
        self.gradient = space.gradient(start, self.evaluation)
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
        self.moved = False

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    def step(self) -> bool:
        """Move to a lower point along the quasi-Newton direction or, failing that, along the gradient."""
        self.moved = False
        if self.pairs:
            direction = self.space.tangent(self.at, self.direction())
            slope = float(self.gradient @ direction)
            if slope < 0:
                self.moved = self.search(direction, slope, 1.0)
            if not self.moved:
                self.pairs.clear()
        norm = self.norm
        if not self.moved and norm > 0:
            length = 0.1 * max(float(np.linalg.norm(self.at.flat())), 1e-8) / norm
            self.moved = self.search(-self.gradient, -(norm**2), length)
        return self.moved

    def search(self, direction: Array, slope: float, length: float) -> bool:
        """Armijo's rule; the next length is the minimum of the parabola through what is known, within a tenth to a half."""
        value = self.evaluation.terms.objective
        for _ in range(TRIALS):
            at = self.space.move(self.at, direction, length)
            found = self.problem.evaluate(at.A, self.space.tags(at))
            rise = found.terms.objective - value
            if rise <= 1e-4 * length * slope:
                self.accept(at, found)
                return True
            parabola = -slope * length / (2 * (rise - slope * length))
            length *= min(0.5, max(0.1, parabola)) if np.isfinite(parabola) else 0.1
        return False

    def accept(self, at: Point, evaluation: Evaluation) -> None:
        """Move there; keep the step and the change of gradient as seen from there, if the curvature is positive."""
        gradient = self.space.gradient(at, evaluation)
        step = self.space.tangent(at, at.flat() - self.at.flat())
        change = gradient - self.space.tangent(at, self.gradient)
        curvature = float(step @ change)
        if curvature > 1e-8 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs.append((step, change, curvature))
        self.at, self.evaluation, self.gradient = at, evaluation, gradient

    def direction(self) -> Array:
        """The two-loop recursion, scaled by the latest curvature of A and of Z apart."""
        q = -self.gradient
        weights = []
        for step, change, curvature in reversed(self.pairs):
            weight = float(step @ q) / curvature
            q -= weight * change
            weights.append(weight)
        self.scale(q)
        for (step, change, curvature), weight in zip(self.pairs, reversed(weights), strict=True):
            q += (weight - float(change @ q) / curvature) * step
        return q

    def scale(self, q: Array) -> None:
        """Multiply each part by its own step per change of gradient, kept within a hundredfold of the common one."""
        step, change, curvature = self.pairs[-1]
        whole = curvature / float(change @ change)
        cut = self.at.A.size
        for part in (slice(0, cut), slice(cut, None)):
            own, square = float(step[part] @ change[part]), float(change[part] @ change[part])
            inside = own / square if own > 0 and square > 0 else whole
            q[part] *= min(max(inside, 1e-2 * whole), 1e2 * whole)
