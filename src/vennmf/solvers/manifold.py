"""Minimise over an orthonormal projection A and points U whose centre is fixed: the geometry, and a quasi-Newton descent.

A feasible pair has AᵀA = I and Σ u_j + Aᵀs = 0, where s (d) is the sum of all images' features. Steps move A along a
tangent and back onto the manifold by a retraction, and move only the centred part Z of U = Z - 1 sᵀA / m; so both
constraints hold to rounding at every point that is ever evaluated, and need no multipliers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vennmf.model.unified_space import Evaluation, Terms

Array = NDArray[Any]

StopReason = Literal[
    "converged", "small_change", "max_iter", "time_limit", "callback", "interrupted", "no_decrease"
]

MEMORY = 10
"""Pairs of steps and gradient changes that the quasi-Newton direction remembers."""

LOOK_BACK = 5
"""The change of the objective is judged over this many steps."""


class Point(NamedTuple):
    """A (d × p) with orthonormal columns and the centred part Z (m × p) of the tags' points."""

    A: Array
    Z: Array

    def flat(self) -> Array:
        return np.concatenate([self.A.ravel(), self.Z.ravel()])


class Problem(Protocol):
    """What the descent needs: the terms and the Euclidean gradients in A and U."""

    def evaluate(self, A: Array, U: Array) -> Evaluation: ...


class Step(NamedTuple):
    """What is known after an accepted step. The objective of a step is never above the one before."""

    iteration: int
    seconds: float
    terms: Terms
    violation: float
    orthogonality: float
    centring: float


@dataclass(frozen=True)
class Limits:
    """When to stop: steps, relative gradient norm and, over ``LOOK_BACK`` steps, relative change; seconds."""

    max_iter: int
    tol: float
    max_seconds: float | None = None


class Solution(NamedTuple):
    A: Array
    U: Array
    history: list[Step]
    stop_reason: StopReason


Report = Callable[[Step, Array, Array], bool]
"""Called after every step with A and U; True stops the descent."""


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

    def gradient(self, at: Point, evaluation: Evaluation) -> Array:
        """The Riemannian gradient, flat: chained through U = Z - 1 sᵀA / m, then made tangent."""
        dU = evaluation.gradient_U
        dA = evaluation.gradient_A - np.outer(self.s, dU.mean(axis=0))
        return self.tangent(at, np.concatenate([dA.ravel(), dU.ravel()]))

    def tangent(self, at: Point, flat: Array) -> Array:
        """The tangent vector nearest to a flat vector: G - A sym(AᵀG) for A, G - mean for Z."""
        G, H = self.split(flat, at.A.shape[1])
        AtG = at.A.T @ G
        tangent_A = G - at.A @ (0.5 * (AtG + AtG.T))
        return np.concatenate([tangent_A.ravel(), (H - H.mean(axis=0)).ravel()])

    def move(self, at: Point, direction: Array, length: float) -> Point:
        """Along a tangent and back onto the manifold: the orthonormal factor of A + t G, with its signs kept."""
        G, H = self.split(direction, at.A.shape[1])
        Z = at.Z + length * H
        return Point(orthonormal(at.A + length * G), Z - Z.mean(axis=0))

    def faults(self, at: Point) -> tuple[float, float]:
        """Largest entries of AᵀA - I and of Σ u + Aᵀs."""
        gram = at.A.T @ at.A - np.eye(at.A.shape[1])
        centre = self.tags(at).sum(axis=0) + self.s @ at.A
        return float(np.abs(gram).max()), float(np.abs(centre).max())


def orthonormal(A: Array) -> Array:
    """The orthonormal factor of A with a positive diagonal in R, so that A itself is returned when it is orthonormal."""
    Q, R = np.linalg.qr(A)
    return np.ascontiguousarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))


def descend(
    problem: Problem, space: CentredStiefel, start: Point, limits: Limits, report: Report | None = None
) -> Solution:
    """Riemannian L-BFGS: pairs carried along by projection, steps accepted only where the objective falls (Armijo)."""
    run = _Run(problem, space, limits, report)
    try:
        reason = run.loop(start)
    except KeyboardInterrupt:
        reason = "interrupted"
    return Solution(run.at.A, space.tags(run.at), run.history, reason)


class _Run:
    """The state of one descent; ``at`` is always the best point so far."""

    def __init__(self, problem: Problem, space: CentredStiefel, limits: Limits, report: Report | None) -> None:
        self.problem, self.space, self.limits, self.report = problem, space, limits, report
        self.history: list[Step] = []
        self.pairs: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
        self.began = perf_counter()

    def loop(self, start: Point) -> StopReason:
        self.at = start
        evaluation = self.problem.evaluate(start.A, self.space.tags(start))
        gradient = self.space.gradient(start, evaluation)
        self.first_norm = float(np.linalg.norm(gradient)) or 1.0
        if self.record(evaluation.terms, gradient):
            return "callback"
        while (reason := self.finished()) is None:
            found = self.search(gradient, evaluation)
            if found is None:
                return "no_decrease"
            at, evaluation, new_gradient = found
            self.remember(at, gradient, new_gradient)
            self.at, gradient = at, new_gradient
            if self.record(evaluation.terms, gradient):
                return "callback"
        return reason

    def record(self, terms: Terms, gradient: Array) -> bool:
        violation = float(np.linalg.norm(gradient)) / self.first_norm
        seconds = perf_counter() - self.began
        step = Step(len(self.history), seconds, terms, violation, *self.space.faults(self.at))
        self.history.append(step)
        return self.report is not None and self.report(step, self.at.A, self.space.tags(self.at))

    def finished(self) -> StopReason | None:
        last = self.history[-1]
        if last.violation <= self.limits.tol:
            return "converged"
        if last.iteration >= LOOK_BACK:
            before = self.history[-1 - LOOK_BACK].terms.objective
            if before - last.terms.objective <= self.limits.tol * abs(before):
                return "small_change"
        if last.iteration >= self.limits.max_iter:
            return "max_iter"
        if self.limits.max_seconds is not None and last.seconds >= self.limits.max_seconds:
            return "time_limit"
        return None

    def search(self, gradient: Array, evaluation: Evaluation) -> tuple[Point, Evaluation, Array] | None:
        """A lower point along the quasi-Newton direction or, failing that, along the gradient."""
        if self.pairs:
            direction = self.space.tangent(self.at, self.direction(gradient))
            slope = float(gradient @ direction)
            if slope < 0:
                found = self.backtrack(direction, slope, 1.0, evaluation)
                if found is not None:
                    return found
            self.pairs.clear()
        norm = float(np.linalg.norm(gradient))
        if norm == 0.0:
            return None
        length = 0.1 * float(np.linalg.norm(self.at.flat())) / norm
        return self.backtrack(-gradient, -(norm**2), length, evaluation)

    def backtrack(
        self, direction: Array, slope: float, length: float, evaluation: Evaluation
    ) -> tuple[Point, Evaluation, Array] | None:
        """Armijo's rule; the next length is the minimum of the parabola through what is known, within a tenth to a half."""
        value = evaluation.terms.objective
        for _ in range(25):
            at = self.space.move(self.at, direction, length)
            found = self.problem.evaluate(at.A, self.space.tags(at))
            rise = found.terms.objective - value
            if rise <= 1e-4 * length * slope:
                return at, found, self.space.gradient(at, found)
            parabola = -slope * length / (2 * (rise - slope * length))
            length *= min(0.5, max(0.1, parabola)) if np.isfinite(parabola) else 0.1
        return None

    def remember(self, at: Point, gradient: Array, new_gradient: Array) -> None:
        """Keep the step and the change of gradient as seen from the new point, where the curvature is positive."""
        step = self.space.tangent(at, at.flat() - self.at.flat())
        change = new_gradient - self.space.tangent(at, gradient)
        curvature = float(step @ change)
        if curvature > 1e-8 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs.append((step, change, curvature))

    def direction(self, gradient: Array) -> Array:
        """The two-loop recursion, scaled by the latest curvature of A and of Z apart."""
        q = -gradient
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
        step, change, curvature = self.pairs[-1]
        whole = curvature / float(change @ change)
        cut = self.at.A.size
        for part in (slice(0, cut), slice(cut, None)):
            own, square = float(step[part] @ change[part]), float(change[part] @ change[part])
            inside = own / square if own > 0 and square > 0 else whole
            q[part] *= min(max(inside, 1e-2 * whole), 1e2 * whole)
