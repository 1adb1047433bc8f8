"""Starts: they differ, the best is kept, and the end of the time, a stop or Ctrl-C ends them all and loses nothing."""

import os
import signal
import time

import numpy as np
import pytest
from sklearn.decomposition._nmf import _initialize_nmf

from tests.conftest import PATTERNS, draw
from vennmf.errors import ParameterError
from vennmf.matrices import Axis, View, ViewSet
from vennmf.model import Model, MutuallyOrthogonal, sharing_pattern
from vennmf.solvers import Options, Problem, kernels, minimise
from vennmf.solvers.initialise import INITS, initialise

FEW = Options(max_iter=12, tol=0, min_change=0)


def problem_of(pattern, penalties=()):
    items, blocks = PATTERNS[pattern]
    views = ViewSet.of(draw(0, items))
    return Problem(Model.of(views, sharing_pattern(blocks, views.names), penalties), views)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_several_starts_differ_from_each_other(init, pattern):
    problem = problem_of(pattern)
    starts = [initialise(problem, init, start, n)["features"] for n, start in enumerate(rng().spawn(3))]
    for a in range(3):
        for b in range(a):
            cosines = np.einsum("ij,ij->j", starts[a], starts[b])
            assert cosines.min() < 0.98, "columns have unit norm, so these are the same start"


def test_a_random_start_does_not_follow_the_threads():
    views = ViewSet.of({"a": rng().random((20_000, 12))})
    problem = Problem(Model.of(views, sharing_pattern({"a": 8}, ("a",))), views)
    starts = []
    for n in (1, 2, 4):
        with kernels.threads(n):
            starts.append(initialise(problem, "random", rng())["items:a"])
    assert starts[0].tobytes() == starts[1].tobytes() == starts[2].tobytes()
    assert len(np.unique(starts[0][:, 0])) == 20_000, "no numbers are drawn twice"


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("penalties", [(), (MutuallyOrthogonal(3.0),)], ids=["plain", "orthogonal"])
def test_the_best_start_is_kept_by_copy(solver, penalties):
    problem = problem_of("shared and private", penalties)
    met = []
    solution = minimise(
        problem, solver=solver, n_init=6, options=FEW, rng=rng(), on_step=lambda s: met.append(s) and False
    )
    ends = [step.objective for step in met if step.iteration == 12]
    assert len(set(ends)) == 6
    assert solution.steps[0] in met
    assert solution.steps[-2].objective == next(
        met[n - 1].objective for n, step in enumerate(met) if step.iteration == 12 and step.objective == min(ends)
    )
    assert solution.objective <= min(ends)
    assert solution.objective == pytest.approx(problem.objective(solution.factors), rel=1e-12)
    assert np.all(np.diff(solution.history()["objective"]) <= 0)


def test_the_time_is_that_of_all_starts_together():
    problem = problem_of("shared and private")
    began = time.perf_counter()
    options = Options(max_iter=10**6, tol=0, min_change=-1, time_limit=0.3)
    solution = minimise(problem, n_init=50, options=options, rng=rng())
    assert time.perf_counter() - began < 3
    assert solution.stop_reason == "time_limit"


def test_a_stop_in_a_worse_start_keeps_the_best_and_says_so():
    problem = problem_of("shared and private")
    first = minimise(problem, options=Options(max_iter=300), rng=rng())
    seen = []

    def on_step(step):
        seen.append(step.iteration)
        return seen.count(2) == 2  # in the second iteration of the second start

    solution = minimise(problem, n_init=9, options=Options(max_iter=300), rng=rng(), on_step=on_step)
    assert solution.stop_reason == "callback"
    assert seen.count(1) == 2
    assert solution.objective == first.objective


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_ctrl_c_between_starts_keeps_the_best(monkeypatch):
    from vennmf.solvers import minimise as function

    module = __import__("sys").modules[function.__module__]
    problem, before = problem_of("shared and private"), signal.getsignal(signal.SIGINT)
    first = minimise(problem, options=Options(max_iter=300), rng=rng())

    def interrupted(problem, init, start, number=0):
        if number == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return initialise(problem, init, start, number)

    monkeypatch.setattr(module, "initialise", interrupted)
    solution = minimise(problem, n_init=9, options=Options(max_iter=300), rng=rng())
    assert solution.stop_reason == "interrupted"
    assert solution.objective == first.objective
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_a_second_ctrl_c_ends_at_once():
    problem, before = problem_of("shared and private"), signal.getsignal(signal.SIGINT)

    def twice(step):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        minimise(problem, options=FEW, rng=rng(), on_step=twice)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_start_has_the_length_that_fits_best(init, pattern):
    problem = problem_of(pattern)
    start = initialise(problem, init, rng())
    best = problem.objective(start)
    for factor in (0.99, 1.01):
        for axis in problem.model.row_axes:
            assert problem.objective({**start, axis: factor * start[axis]}) > best
    np.testing.assert_allclose(np.linalg.norm(start["features"], axis=0), 1)


def test_singular_pairs_are_those_of_scikit_learn_for_one_matrix():
    problem = problem_of("one source")
    start = initialise(problem, "nndsvd", rng())
    W, H = _initialize_nmf(problem.views["a"].X, 3, init="nndsvd", random_state=0)
    for ours, theirs in ((start["features"], H.T), (start["items:a"], W)):
        cosines = np.sum(ours * theirs, axis=0) / np.linalg.norm(ours, axis=0) / np.linalg.norm(theirs, axis=0)
        assert cosines.min() > 0.99, "up to the small values that fill the zeros"
        assert ours.min() > 0, "no entry is locked at zero"


def test_private_singular_pairs_start_where_the_shared_ones_left_off():
    problem = problem_of("shared and private")
    B = initialise(problem, "nndsvd", rng())["features"]
    leading = np.linalg.svd(problem.views["a"].X)[2][0]
    assert abs(leading @ B[:, 0]) > 0.95, "the shared block takes the leading direction"
    assert abs(leading @ B[:, 2]) < 0.9 < abs(leading @ B[:, 0]), "the private one does not take it again"


def test_means_of_items_are_those_of_the_same_items_in_every_view():
    data = rng(3).random((50, 7))
    views = ViewSet.of({"a": data, "b": 2 * data[:, :4]}, shared="items")
    problem = Problem(Model.of(views, sharing_pattern({"all": 3}, views.names)), views)
    start = initialise(problem, "means", rng())
    A, B = start["features:a"], start["features:b"]
    np.testing.assert_allclose(B / B.sum(axis=0), A[:4] / A[:4].sum(axis=0), rtol=5e-3)


def test_means_know_which_items_a_view_lacks():
    items = Axis("items", 30)
    views = ViewSet(
        [
            View.of("a", rng().random((20, 6)), items=items, features=Axis("features:a", 6), rows=np.arange(20)),
            View.of("b", rng().random((10, 5)), items=items, features=Axis("features:b", 5), rows=np.arange(20, 30)),
        ]
    )
    problem = Problem(Model.of(views, sharing_pattern({"all": 3}, views.names)), views)
    solution = minimise(problem, init="means", options=FEW, rng=rng())
    assert np.all(np.diff(solution.history()["objective"]) <= 0)


def test_singular_pairs_need_views_that_share_one_axis():
    mine, others, pixels, tags = Axis("items", 20), Axis("others", 15), Axis("pixels", 6), Axis("tags", 7)
    views = ViewSet(
        [
            View.of("pixels", rng().random((20, 6)), items=mine, features=pixels),
            View.of("tags", rng().random((20, 7)), items=mine, features=tags),
            View.of("more", rng().random((15, 7)), items=others, features=tags),
        ]
    )
    problem = Problem(Model.of(views, sharing_pattern({"all": 2}, views.names)), views)
    with pytest.raises(ParameterError, match=r"block 'all' apart, whose views share neither .* use init='random'"):
        initialise(problem, "nndsvd", rng())
    for init in ("random", "means"):
        assert np.all(np.diff(minimise(problem, init=init, options=FEW, rng=rng()).history()["objective"]) <= 0)


def test_a_fit_that_arrives_with_its_last_folding_in_says_converged():
    problem = problem_of("shared and private")
    long = minimise(problem, options=Options(max_iter=500, tol=1e-4, min_change=0), rng=rng())
    assert long.stop_reason == "converged"
    for n in range(1, long.n_iter):
        short = minimise(problem, options=Options(max_iter=n, tol=1e-4, min_change=0), rng=rng())
        arrived = short.steps[-1].violation <= 1e-4 * short.first_violation
        assert short.stop_reason == ("converged" if arrived else "max_iter")
