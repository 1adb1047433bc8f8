"""From a model and views to the best of several starts; and new rows folded into a fitted basis."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vennmf.errors import ParameterError
from vennmf.model.form import Array, Form
from vennmf.model.penalties import Penalty
from vennmf.solvers import kernels
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Loop, Options, interruptible
from vennmf.solvers.problem import Factors, Problem, projected
from vennmf.solvers.solution import Solution
from vennmf.solvers.sweeps import EMPTY, RULES, SWEEPS

ENDS_ALL_STARTS = ("interrupted", "callback", "time_limit")

FOLD_TOLERANCE = 1e-6
"""Rows are folded in until the projected gradient is this fraction of what it was at zero, or rounding ends it."""
NEARLY = 1e4
"""Squared violations, in units of that fraction's, under which a round of sweeps that lowers none is held up by rounding."""


def minimise(
    problem: Problem,
    *,
    solver: str = "cd",
    init: str | Mapping[str, Any] = "random",
    n_init: int = 1,
    options: Options | None = None,
    rng: np.random.Generator,
    on_step: Callable[..., bool] | None = None,
) -> Solution:
    """The best solution of ``n_init`` starts, each from its own random numbers.

    An interrupt, a stop or the end of the time, which is that of all starts together, ends them all.
    """
    if solver not in SWEEPS:
        raise ParameterError(f"solver={solver!r}; expected one of {', '.join(map(repr, SWEEPS))}.")
    if isinstance(init, Mapping) and n_init > 1:
        raise ParameterError(f"n_init={n_init} starts from given factors would all be the same; set n_init=1.")
    options = options or Options()
    if SWEEPS[solver] in RULES or isinstance(init, Mapping):
        options = replace(options, warm_start=0)
    walks = solver == "cd" and not isinstance(init, Mapping) and options.relaxed_steps > 0
    relaxed = problem.relaxed() if walks else None
    best, ended, began = None, None, time.perf_counter()
    with interruptible():
        for number, start in enumerate(rng.spawn(n_init)):
            started = time.perf_counter()
            left = replace(options, time_limit=options.time_limit - (started - began))
            factors = initialise(problem, init, start, number)
            if relaxed is not None:
                factors = _walked(relaxed, factors, left, start, started)
                left = replace(left, warm_start=0)
            solution = Loop(problem, factors, SWEEPS[solver], left, start).run(on_step, started=started)
            if best is None or solution.objective < best.objective:
                best = solution
            if solution.stop_reason in ENDS_ALL_STARTS:
                ended = solution.stop_reason
                break
        assert best is not None
        return polished(problem, replace(best, stop_reason=ended or best.stop_reason), options.tol)


def _walked(relaxed: Problem, factors: Factors, options: Options, rng: np.random.Generator, started: float) -> Factors:
    """Where the first steps lead, without the penalties that couple rows.

    From a random start all blocks overlap, and a strong orthogonality would decide who takes what before the data have.
    These steps are not reported; their seconds count.
    """
    first = replace(options, max_iter=options.relaxed_steps)
    return Loop(relaxed, factors, SWEEPS["cd"], first, rng).run(started=started).factors


def polished(problem: Problem, solution: Solution, tol: float) -> Solution:
    """Fold every item in exactly on the final columns, so that fitted encodings are what ``transform`` gives.

    That may be what was missing to convergence when the iterations ended.
    """
    factors = dict(solution.factors)
    for axis in problem.model.row_axes:
        if all(getattr(penalty, "holds_for_new_items", True) for penalty in problem.model.penalties_on(axis)):
            factors[axis] = factors[axis].copy()
            for rows, _, form in problem.pieces(axis, factors):
                fold_in(factors[axis][rows], form)
    last = solution.steps[-1]
    objective = problem.objective(factors)
    if not objective <= last.objective:
        factors, objective = solution.factors, last.objective
    penalties = problem.penalty_values(factors)
    last = last._replace(
        objective=objective,
        fit=objective - sum(penalties.values()),
        penalties=penalties,
        violation=problem.violation(factors),
    )
    arrived = solution.stop_reason == "max_iter" and last.violation <= tol * solution.first_violation
    reason = "converged" if arrived else solution.stop_reason
    return replace(solution, factors=factors, steps=(*solution.steps[:-1], last), stop_reason=reason)


def fold_in(F: Array, form: Form, max_sweeps: int = 1000) -> None:
    """Nonnegative least squares for rows that do not see each other, to convergence, in place."""
    curvature = EMPTY[F.dtype] if form.curvature is None else form.curvature
    exact = not curvature.size and form.upper == np.inf
    at_zero = 0.0 if exact else projected(np.zeros_like(F), form, -form.cross)
    floor = max(FOLD_TOLERANCE**2 * at_zero, np.finfo(np.float64).tiny)
    for rows, gram in form.parts:
        part, cross = (F, form.cross) if rows is None else (F[rows], form.cross[rows])
        bend = curvature if rows is None or not curvature.size else curvature[rows]
        if exact:
            kernels.nnls_rows(part, gram, cross, FOLD_TOLERANCE, max_sweeps)
        else:
            _swept(part, gram, cross, bend, F.dtype.type(form.upper), floor, max_sweeps)
        if rows is not None:
            F[rows] = part


def _swept(F: Array, gram: Array, cross: Array, curvature: Array, upper: float, floor: float, max_sweeps: int) -> None:
    """Sweeps over all rows until their squared violation is at most ``floor``, or near it and no longer falling."""
    before = np.inf
    for _ in range(max_sweeps // 10):
        left = kernels.sweep(F, gram, cross, curvature, upper, 10)
        if left <= floor or before <= left <= NEARLY * floor:
            break
        before = left


def encode(problem: Problem, factors: Factors, axis: str, penalties: Sequence[Penalty] | None = None) -> Array:
    """Encodings of the items of one row axis on given columns: the penalties that hold for new items, and no others.

    ``penalties`` are those of the axis in the model unless given.
    """
    given = problem.model.penalties_on(axis) if penalties is None else penalties
    kept = [penalty for penalty in given if getattr(penalty, "holds_for_new_items", True)]
    F = np.zeros((problem.sizes[axis], problem.model.layouts[axis].width), problem.dtype)
    for rows, _, form in problem.pieces(axis, {**factors, axis: F}, penalties=kept):
        fold_in(F[rows], form)
    return F
