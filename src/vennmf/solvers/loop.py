"""The one loop: every model, every sweep, every stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NamedTuple

import numpy as np

from vennmf.model.form import Array
from vennmf.solvers import products
from vennmf.solvers.problem import DataForm, Factors, Problem
from vennmf.solvers.revive import Reviver
from vennmf.solvers.solution import Solution, Step
from vennmf.solvers.sweeps import RULES, Sweep, multiplicative

DAMPING = (0.5, 0.25, 0.125, 1 / 16, 1 / 64, 0.0)
REVIVE_EVERY = 5
PATIENCE = 5


@dataclass(frozen=True)
class Options:
    """How long and how to iterate.

    ``tol``: stop when the violation falls to this fraction of the least met up to the first step after the warm start. ``min_change``: stop
    when five steps together lowered the objective by less than five times this fraction of itself. ``time_limit``: seconds. ``inner_sweeps``: passes for each form,
    None to choose by cost. ``extrapolation``: the first step along the last change, 0 to switch it off. ``warm_start``:
    multiplicative iterations before coordinate descent, which from a random start would zero too much at once.
    ``relaxed_steps``: iterations without orthogonality before those with it, the warm start among them; not reported (``minimise``).
    """

    max_iter: int = 200
    tol: float = 1e-4
    min_change: float = 1e-6
    time_limit: float = np.inf
    inner_sweeps: int | None = None
    extrapolation: float = 0.5
    warm_start: int = 3
    relaxed_steps: int = 20


@dataclass
class Momentum:
    """Step along the last change (Ang & Gillis 2019): grows while the objective falls, shrinks and rests when it rises."""

    beta: float
    ceiling: float = 1.0
    resting: bool = True

    def step(self) -> float:
        return 0.0 if self.resting else self.beta

    def succeeded(self) -> None:
        if not self.resting:
            self.beta = min(self.ceiling, 1.05 * self.beta)
            self.ceiling = min(1.0, 1.01 * self.ceiling)
        self.resting = self.beta == 0

    def failed(self) -> None:
        self.ceiling, self.beta, self.resting = self.beta, self.beta / 1.5, True


class Outcome(NamedTuple):
    """Factors at unit norm and what they are worth."""

    factors: Factors
    fit: float
    penalties: dict[str, float]

    @property
    def objective(self) -> float:
        return self.fit + sum(self.penalties.values())


class Loop:
    """Minimises a problem from given factors, which it takes out of their dict: nobody shall hold the first ones after it."""

    def __init__(
        self, problem: Problem, factors: Factors, sweep: Sweep, options: Options, rng: np.random.Generator
    ) -> None:
        self.problem, self.sweep, self.options = problem, sweep, options
        self.accepted = {axis: factors.pop(axis) for axis in tuple(factors)}
        self.momentum = Momentum(0.0 if sweep in RULES else options.extrapolation)
        self.reviver = Reviver(problem, rng)
        self.n_sweeps = {
            axis: options.inner_sweeps or (1 if sweep in RULES else sweeps_worth(problem, axis))
            for axis in problem.model.axes
        }
        self.rows_extrapolated = self.momentum.beta > 0 and problem.plan.rows_extrapolated
        self.steps: list[Step] = []
        self._swept: Factors = {}  # row factors of the last step before they were extrapolated
        self._starts: Factors = {}  # extrapolated column factors, where the next sweeps start

    def run(self, on_step: Callable[[Step], bool] | None = None, *, started: float | None = None) -> Solution:
        """Iterate until a reason to stop is met; Ctrl-C stops after the running step."""
        started = time.perf_counter() if started is None else started
        reason = "max_iter"
        with interruptible() as interrupted:
            for iteration in range(1, self.options.max_iter + 1):
                violation, outcome, stuck = self._step(iteration)
                if outcome is not None:
                    fit, penalties, objective = outcome.fit, outcome.penalties, outcome.objective
                seconds = time.perf_counter() - started
                self.steps.append(Step(iteration, seconds, objective, fit, penalties, violation))
                stop = on_step(self.steps[-1]) if on_step else False
                found = "no_decrease" if stuck else self._reason(seconds, interrupted.is_set(), stop)
                if found:
                    reason = found
                    break
        dead = self.reviver.dead(self.accepted)
        return Solution(self.accepted, tuple(self.steps), reason, dead, self._first_violation())

    def _first_violation(self) -> float:
        return min(step.violation for step in self.steps[: self.options.warm_start + 1])

    def _reason(self, seconds: float, interrupted: bool, stop: bool) -> str | None:
        """Why to stop now, if there is a reason."""
        options, steps = self.options, self.steps
        if interrupted:
            return "interrupted"
        if stop:
            return "callback"
        if len(steps) > options.warm_start and steps[-1].violation <= options.tol * self._first_violation():
            return "converged"
        recent = [step.objective for step in steps[-PATIENCE - 1 :]]
        settled = len(steps) > options.warm_start + PATIENCE
        if settled and recent[0] - recent[-1] <= PATIENCE * options.min_change * abs(recent[-1]):
            return "small_change"
        if seconds >= options.time_limit:
            return "time_limit"
        return None

    # ---------------------------------------------------------------- one iteration

    def _step(self, iteration: int) -> tuple[float, Outcome | None, bool]:
        """Sweep every axis once. Returns the violation met, what was accepted if anything, and whether all is stuck."""
        before = self.steps[-1].objective if self.steps else np.inf
        sweep = multiplicative if iteration <= self.options.warm_start else self.sweep
        beta = self.momentum.step() if sweep is self.sweep else 0.0
        violation, fit, work, swept = self._sweep_all(sweep, beta)
        outcome, scales = self._normalised(work, fit)
        for axis, F in swept.items():
            if F is not work[axis] and axis in scales:
                F *= scales[axis].astype(F.dtype)
        if outcome.objective <= before:
            if sweep is self.sweep:
                self.momentum.succeeded()
        elif beta:
            self.momentum.failed()
            return violation, None, False
        else:
            swept = {}
            damped = self._damped(work, scales, before)
            if damped is None:
                return violation, None, True
            outcome = damped
        self._accept(outcome.factors, swept)
        if sweep is not multiplicative and iteration % REVIVE_EVERY == 0 and self.reviver.revive(self.accepted):
            outcome = outcome._replace(penalties=self.problem.penalty_values(self.accepted))
            self.momentum.resting = True
        return violation, outcome, False

    def _sweep_all(self, sweep: Sweep, beta: float) -> tuple[float, float, Factors, Factors]:
        """New factors, rows first; rows are extrapolated before the columns are swept against them.

        Returns the violation met, the fit, the new factors, and the row factors as they were before their extrapolation.
        """
        model = self.problem.model
        starts = self._starts if beta else {}
        self._starts = {}
        work = {axis: starts[axis] if axis in starts else F.copy() for axis, F in self.accepted.items()}
        swept: Factors = {}
        violation = fit = 0.0
        for axis in model.axes:
            met, its_fit, upper = self._sweep_one(sweep, axis, work)
            violation, fit = violation + met, fit + its_fit
            if axis in model.row_axes and self.rows_extrapolated:
                swept[axis] = work[axis]
                if beta and axis in self._swept:
                    old = self._swept.pop(axis)
                    old = old.copy() if old is self.accepted[axis] else old  # which a failed step returns to
                    work[axis] = extrapolated(work[axis], old, beta, upper)
        return float(np.sqrt(violation)), fit, work, swept

    def _sweep_one(self, sweep: Sweep, axis: str, work: Factors) -> tuple[float, float, float]:
        """Sweep one axis, in place. Returns the violation met, the fit if it is a last axis, and the upper bound."""
        problem, rule = self.problem, sweep in RULES
        n = self.n_sweeps[axis] if sweep is self.sweep else 1
        violation = inner = 0.0
        for rows, data, form in problem.pieces(axis, work, by_rule=rule):
            F = work[axis][rows]
            held = None if form.frozen is None else F[:, form.frozen]
            renewed = form.pull is not None or bool(form.bends)  # what graphs add holds at the current factor
            violation += sweep(F, form, 1 if renewed else n)
            for _ in range(n - 1 if renewed else 0):
                sweep(F, problem.form(axis, work, data, by_rule=rule), 1)
            if form.frozen is not None:
                F[:, form.frozen] = held
            if axis in problem.model.last_axes:
                inner += products.inner(data.cross, F)
        fit = problem.fit_from(axis, data, work[axis], inner) if axis in problem.model.last_axes else 0.0
        return violation, fit, form.upper

    def _normalised(self, work: Factors, fit: float) -> tuple[Outcome, dict[str, Array]]:
        """Bring swept factors to unit norm, in place, and value them; the loss does not feel the scale."""
        self.reviver.keep_directions(work, self.accepted)
        scales = self.problem.scales(work)
        self.problem.rescale(work, scales)
        return Outcome(work, fit, self.problem.penalty_values(work)), scales

    def _damped(self, work: Factors, scales: dict[str, Array], before: float) -> Outcome | None:
        """Walk the columns back to where they were, against the new rows, until the objective falls.

        The rows' step is exact and lowers the objective by itself, so that only rounding can make all of the way fail.
        """
        problem = self.problem
        undo = {name: 1 / scale for name, scale in scales.items()}
        problem.rescale(work, undo)
        target = {axis: work[axis] for axis in problem.model.column_axes}
        data: dict[str, DataForm] = {}
        for fraction in DAMPING:
            trial = {axis: F.copy() for axis, F in work.items()}
            for axis, F in target.items():
                trial[axis] = self.accepted[axis] + F.dtype.type(fraction) * (F - self.accepted[axis])
            if not data or any(loss.modes for loss in problem.model.losses):  # a tensor's depends on its other modes
                data = {axis: problem.data_form(axis, trial) for axis in problem.model.last_axes}
            fit = sum(problem.fit_of(axis, form, trial[axis]) for axis, form in data.items())
            outcome, _ = self._normalised(trial, fit)
            if outcome.objective <= before:
                return outcome
        return None

    def _accept(self, factors: Factors, swept: Factors) -> None:
        """Keep factors, and prepare where extrapolated sweeps will start."""
        beta = self.momentum.step()
        if beta:
            for axis in self.problem.model.column_axes:
                self._starts[axis] = extrapolated(factors[axis], self.accepted[axis], beta, np.inf)
        self._swept, self.accepted = swept, factors


def extrapolated(new: Array, old: Array, beta: float, upper: float) -> Array:
    """A step from the new factor along its last change, kept inside the bounds; it takes the old one's place."""
    np.subtract(new, old, out=old)
    old *= new.dtype.type(beta)
    old += new
    return np.clip(old, 0, upper if np.isfinite(upper) else None, out=old)


def sweeps_worth(problem: Problem, axis: str) -> int:
    """Inner passes for each form: more where the data's products cost more than a pass does."""
    width = problem.model.layouts[axis].width
    stored = sum(problem.views[loss.view].nnz for loss in problem.model.losses if axis in loss.axes)
    return int(np.clip(1 + round(2 * stored / (problem.sizes[axis] * width)), 2, 4))


class Interrupt:
    """A handler of Ctrl-C that takes note of it, so that a step ends before the loop does; the second raises at once."""

    def __init__(self) -> None:
        self.event = threading.Event()

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if self.event.is_set():
            raise KeyboardInterrupt
        self.event.set()


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; within another such block, the event of that block."""
    if threading.current_thread() is not threading.main_thread():
        yield threading.Event()
        return
    previous = signal.getsignal(signal.SIGINT)
    if isinstance(previous, Interrupt):
        yield previous.event
        return
    handler = Interrupt()
    signal.signal(signal.SIGINT, handler)
    try:
        yield handler.event
    finally:
        signal.signal(signal.SIGINT, previous if previous is not None else signal.SIG_DFL)
