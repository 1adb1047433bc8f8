"""The loop: when it stops, how it extrapolates, what becomes of dead components, what callbacks are told."""

import sys

import numpy as np
import pytest

import vennmf as vn
from tests.conftest import PATTERNS, draw
from vennmf.matrices import ViewSet
from vennmf.model import L1, Model, sharing_pattern
from vennmf.solvers import Options, Problem, minimise
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import PATIENCE, Loop, Momentum, extrapolated
from vennmf.solvers.sweeps import SWEEPS, coordinate_descent


def problem_of(pattern="shared and private", penalties=()):
    items, blocks = PATTERNS[pattern]
    views = ViewSet.of(draw(0, items))
    return Problem(Model.of(views, sharing_pattern(blocks, views.names), penalties), views)


def run(problem, **options):
    rng = np.random.default_rng(1)
    return Loop(problem, initialise(problem, "random", rng), SWEEPS["cd"], Options(**options), rng).run()


@pytest.mark.parametrize("tol", [0.1, 0.01, 0.001])
def test_it_converges_at_the_first_violation_under_the_tolerance(tol):
    solution = run(problem_of(), tol=tol, min_change=0, max_iter=1000)
    violations = solution.history()["violation"]
    warm = Options.warm_start
    first = violations[: warm + 1].min()
    assert solution.stop_reason == "converged"
    assert solution.first_violation == first
    assert violations[-1] <= tol * first
    assert np.all(violations[warm:-1] > tol * first)


@pytest.mark.parametrize("min_change", [0.01, 0.001])
def test_small_changes_end_it_when_there_were_enough_in_a_row(min_change):
    solution = run(problem_of(), tol=0, min_change=min_change, max_iter=1000)
    assert solution.stop_reason == "small_change"
    objective = solution.history()["objective"]
    falls = objective[:-PATIENCE] - objective[PATIENCE:]
    small = falls <= PATIENCE * min_change * objective[PATIENCE:]
    assert small[-1]
    assert not small[Options.warm_start : -1].any()


def test_the_violation_met_is_that_of_the_point_a_plain_step_starts_from():
    """The first axis is swept from the accepted factors: with one axis to move, the violation is exactly theirs."""
    problem = problem_of("one source")
    options = Options(max_iter=1, warm_start=0, extrapolation=0, tol=0, min_change=-1)
    start = initialise(problem, "random", np.random.default_rng(1))
    before = {axis: F.copy() for axis, F in start.items()}
    met = Loop(problem, start, SWEEPS["cd"], options, np.random.default_rng(1)).run().steps[0].violation
    form = problem.form("items:a", before)
    gradient = form.gradient(before["items:a"])
    rows = np.sum(np.where(before["items:a"] <= 0, np.minimum(gradient, 0), gradient) ** 2)
    assert rows <= met**2 <= 1e3 * rows


def test_extrapolation_grows_while_the_objective_falls_and_rests_when_it_rises():
    momentum = Momentum(0.5)
    assert momentum.step() == 0
    momentum.succeeded()
    assert momentum.step() == 0.5
    for _ in range(3):
        momentum.succeeded()
    assert momentum.step() == pytest.approx(0.5 * 1.05**3)
    momentum.failed()
    assert momentum.step() == 0, "the next step is a plain one"
    momentum.succeeded()
    assert momentum.step() == pytest.approx(0.5 * 1.05**3 / 1.5)
    for _ in range(50):
        momentum.succeeded()
    assert 0.5 * 1.05**3 < momentum.step() <= 1, "the ceiling of a failure rises again, to one"


@pytest.mark.parametrize("pattern", ["one source", "shared and private", "all shared"])
def test_extrapolation_is_worth_it(pattern):
    histories = [
        run(problem_of(pattern), tol=0, min_change=-1, max_iter=120, extrapolation=beta).history()["objective"]
        for beta in (0.0, 0.5)
    ]
    near = (1 + 1e-9) * max(history[-1] for history in histories)
    plain, fast = (int(np.flatnonzero(history <= near)[0]) for history in histories)
    assert fast <= 0.8 * plain, f"{fast} and {plain} iterations to the same objective"


def test_extrapolation_goes_on_along_the_last_change_inside_the_bounds():
    old, new = np.array([[1.0, 1.0, 0.5, 0.2]]), np.array([[1.5, 0.4, 0.5, 0.0]])
    np.testing.assert_allclose(extrapolated(new, old.copy(), 0.5, 1.6), [[1.6, 0.1, 0.5, 0.0]])
    np.testing.assert_allclose(extrapolated(new, old.copy(), 0.5, np.inf), [[1.75, 0.1, 0.5, 0.0]])


def test_a_component_that_starts_dead_is_brought_to_life():
    problem = problem_of("one source")
    start = initialise(problem, "random", np.random.default_rng(0))
    start["items:a"][:, 1] = 0
    kept = start["features"][:, 1].copy()
    solution = minimise(problem, init=start, options=Options(max_iter=300), rng=np.random.default_rng(0))
    assert not solution.dead
    assert np.all(np.diff(solution.history()["objective"]) <= 0)
    alive = minimise(problem, n_init=3, options=Options(max_iter=300), rng=np.random.default_rng(0))
    assert solution.objective <= 1.05 * alive.objective
    assert np.abs(solution.factors["features"][:, 1] - kept).max() > 1e-3


def test_what_cannot_live_is_reported_and_keeps_a_direction():
    problem = problem_of(penalties=(L1(1.0), L1(0.001, on="components")))
    solution = minimise(problem, options=Options(max_iter=100), rng=np.random.default_rng(0))
    assert solution.dead == {"all": [0, 1], "a": [0, 1], "b": [0]}
    np.testing.assert_allclose(np.linalg.norm(solution.factors["features"], axis=0), 1)
    assert np.all(np.diff(solution.history()["objective"]) <= 0)


def test_callbacks_know_how_many_steps_there_may_be(two_sources):
    class Counts(vn.StopWhen):
        def setup(self, estimator, context):
            self.most = context.max_subtasks

    counts = Counts(lambda step: False)
    vn.JSNMF(3, 1, n_init=3, max_iter=7, tol=0.5, random_state=0).set_callbacks(counts).fit(two_sources)
    assert counts.most == 21


def test_columns_that_go_astray_are_walked_back_and_the_rows_step_is_kept():
    problem = problem_of("one source")
    rng = np.random.default_rng(1)

    calls = []

    def astray(F, form, n_sweeps):
        calls.append(len(F))
        if len(F) == problem.sizes["items:a"] or len(calls) == 2:
            return coordinate_descent(F, form, n_sweeps)
        F[...] = 1e6 * (np.arange(F.size).reshape(F.shape) % 7 == 0)
        return 1.0

    options = Options(max_iter=4, warm_start=0, extrapolation=0, tol=0, min_change=-1, inner_sweeps=1)
    solution = Loop(problem, initialise(problem, "random", rng), astray, options, rng).run()
    assert solution.stop_reason == "max_iter", "a step that only moves the rows is a step"
    assert np.all(np.diff(solution.history()["objective"]) < 0)


def test_a_last_folding_in_that_raises_the_objective_is_not_taken(monkeypatch):
    problem = problem_of("one source")
    solution = run(problem, tol=0.1, min_change=0)
    module = sys.modules[minimise.__module__]
    monkeypatch.setattr(module, "fold_in", lambda F, form: F.__imul__(1.1))
    kept = module.polished(problem, solution, 0.1)
    assert kept.objective == solution.objective
    for axis, F in solution.factors.items():
        np.testing.assert_array_equal(kept.factors[axis], F)
