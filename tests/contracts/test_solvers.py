"""What every solver promises on every model: it never rises, ends at a stationary point, keeps unit norm, is repeatable."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from tests.conftest import PATTERNS, draw
from vennmf.matrices import Axis, View, ViewSet
from vennmf.model import (
    L1,
    L2,
    Box,
    ColumnMaximum,
    GraphSmooth,
    LabelScatter,
    Model,
    MutuallyOrthogonal,
    sharing_pattern,
)
from vennmf.solvers import Options, Problem
from vennmf.solvers.initialise import INITS, initialise
from vennmf.solvers.loop import Loop
from vennmf.solvers.sweeps import SWEEPS, coordinate_descent

LONG = Options(max_iter=3000, tol=1e-9, min_change=0.0)


def ring(n):
    S = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    return sp.csr_array(S)


def penalties_for(items):
    first, n = next(iter(items.items()))
    return {
        "none": (),
        "L1": (L1(0.01),),
        "L2 on both": (L2(0.02), L2(0.02, on="components")),
        "L1 on components": (L1(0.02, on="components"),),
        "orthogonal": (MutuallyOrthogonal(3.0),),
        "very orthogonal": (MutuallyOrthogonal(300.0),),
        "orthogonal and sparse": (MutuallyOrthogonal(10.0), L1(0.0005), L1(0.002, on="components")),
        "so sparse that components die": (MutuallyOrthogonal(10.0), L1(0.01), L1(0.01, on="components")),
        "graph": (GraphSmooth(ring(n), 0.05, on=f"items:{first}"),),
        "graph away": (
            GraphSmooth(ring(n), 0.05, on=f"items:{first}"),
            GraphSmooth(ring(n), -0.001, on=f"items:{first}"),
            L2(0.05),
        ),
        "boxed, sparse columns, labels": (
            Box(1.0),
            ColumnMaximum(0.01),
            L1(0.001),
            LabelScatter(np.arange(n) % 3 - 1, 0.002, on=f"items:{first}"),
        ),
    }


CASES = [(pattern, penalty) for pattern in PATTERNS for penalty in penalties_for({"a": 3})]


def problem_of(pattern, penalty, seed=0, **how):
    items, blocks = PATTERNS[pattern]
    views = ViewSet.of(draw(seed, items, **how))
    return Problem(Model.of(views, sharing_pattern(blocks, views.names), penalties_for(items)[penalty]), views)


SHORT = Options(max_iter=60, min_change=0.0)


def solve(problem, solver="cd", seed=1, options=SHORT, init="random"):
    if solver == "mu":
        options = Options(**{**options.__dict__, "warm_start": 0})
    rng = np.random.default_rng(seed)
    return Loop(problem, initialise(problem, init, rng), SWEEPS[solver], options, rng).run()


@pytest.mark.parametrize("solver", SWEEPS)
@pytest.mark.parametrize(("pattern", "penalty"), CASES)
def test_the_reported_objective_never_rises_and_is_the_true_one(solver, pattern, penalty):
    for seed, (dtype, sparse) in enumerate(
        [(np.float64, False), (np.float64, True), (np.float32, False), (np.float32, True)]
    ):
        problem = problem_of(pattern, penalty, seed, dtype=dtype, sparse=sparse)
        solution = solve(problem, solver, seed)
        objective = solution.history()["objective"]
        assert np.all(np.diff(objective) <= 0)
        assert objective[-1] == pytest.approx(
            problem.objective(solution.factors), rel=1e-4 if dtype == np.float32 else 1e-9
        )


@pytest.mark.parametrize("solver", SWEEPS)
@pytest.mark.parametrize(("pattern", "penalty"), CASES)
def test_every_reported_step_is_at_unit_norm_and_reports_its_own_objective(solver, pattern, penalty):
    """A run of n iterations ends where a longer one stood after n: extrapolated, damped, revived or not."""
    problem = problem_of(pattern, penalty)
    for n in range(1, 16):
        solution = solve(problem, solver, options=Options(max_iter=n, tol=0, min_change=-1))
        last = solution.steps[-1]
        assert problem.objective(solution.factors) == pytest.approx(last.objective, rel=1e-9)
        assert last.fit + sum(last.penalties.values()) == pytest.approx(last.objective, rel=1e-12)
        assert all(np.isfinite(F).all() and F.min() >= 0 for F in solution.factors.values())
        if problem.model.has_unit_norm:
            np.testing.assert_allclose(np.linalg.norm(solution.factors["features"], axis=0), 1, rtol=1e-12)
        else:
            assert max(F.max() for axis, F in solution.factors.items() if axis.startswith("items")) <= 1 + 1e-12


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("pattern", "penalty"), CASES)
def test_coordinate_descent_ends_at_a_stationary_point(pattern, penalty, seed):
    problem = problem_of(pattern, penalty)
    solution = solve(problem, options=LONG, seed=seed)
    start = problem.violation(initialise(problem, "random", np.random.default_rng(1)))
    assert problem.violation(solution.factors) <= 1e-6 * start


def test_the_end_is_stationary_for_an_independent_solver():
    """L-BFGS-B on all entries at once, from our end point, with the scale-free penalty written out, finds nothing better."""
    problem = problem_of("shared and private", "orthogonal")
    solution = solve(problem, options=LONG)
    model, views = problem.model, problem.views
    shapes = {axis: F.shape for axis, F in solution.factors.items()}
    edges = np.cumsum([0, *(np.prod(s) for s in shapes.values())])

    def unpacked(z):
        return {axis: z[a:b].reshape(s) for (axis, s), a, b in zip(shapes.items(), edges, edges[1:], strict=False)}

    def objective(z):
        F = unpacked(z)
        B, H = F["features"], {n: F[f"items:{n}"] for n in views}
        columns = {"a": [0, 1, 2, 3], "b": [0, 1, 4]}
        value = sum(
            0.5 * np.sum((views[n].X - H[n] @ B[:, columns[n]].T) ** 2) / views[n].squared_norm() for n in views
        )
        Bn = B / np.linalg.norm(B, axis=0)
        W, U, V = Bn[:, :2], Bn[:, 2:4], Bn[:, 4:]
        pairs = [(W, U), (W, V), (U, V)]
        return value + 0.5 * sum(3.0 / (s.shape[1] * t.shape[1]) * np.sum((s.T @ t) ** 2) for s, t in pairs)

    z = np.concatenate([solution.factors[axis].ravel() for axis in shapes])
    assert objective(z) == pytest.approx(solution.objective, rel=1e-10)
    assert len(model.penalties) == 1
    found = minimize(objective, z, method="L-BFGS-B", bounds=[(0, None)] * len(z), options={"maxfun": 4000})
    assert found.fun >= solution.objective * (1 - 1e-5)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_start_leads_down(init, pattern):
    problem = problem_of(pattern, "none", sparse=True)
    solution = solve(problem, init=init)
    objective = solution.history()["objective"]
    assert objective[-1] < objective[0]
    assert np.all(np.diff(objective) <= 0)
    assert not solution.dead


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    problem = problem_of("shared and private", "orthogonal", sparse=True, dtype=np.float32)
    a, b, c = (solve(problem, seed=seed).factors["features"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-3


def test_scaling_the_data_scales_the_encodings_and_leaves_the_basis():
    items, blocks = PATTERNS["shared and private"]
    data = draw(0, items)
    views = [ViewSet.of({n: f * X for n, X in data.items()}) for f in (1.0, 8.0)]
    found = [solve(Problem(Model.of(v, sharing_pattern(blocks, v.names)), v)) for v in views]
    np.testing.assert_allclose(found[0].factors["features"], found[1].factors["features"], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(8 * found[0].factors["items:a"], found[1].factors["items:a"], rtol=1e-8, atol=1e-10)
    weighted = Model.of(views[0], sharing_pattern(blocks, ("a", "b")), (), {"a": 1.0, "b": 1.0})
    ends = [solve(Problem(weighted, v)).objective for v in views]
    assert ends[1] == pytest.approx(64 * ends[0], rel=1e-8)


def test_views_that_lack_rows_are_fitted_on_the_rows_they_have():
    rng = np.random.default_rng(0)
    H, A, B = rng.random((40, 3)), rng.random((12, 3)), rng.random((9, 3))
    items = Axis("items", 40)
    some = np.sort(rng.choice(38, 25, replace=False))
    views = ViewSet(
        [
            View.of("a", H[:35] @ A.T, items=items, features=Axis("features:a", 12), rows=np.arange(35)),
            View.of("b", H[some] @ B.T, items=items, features=Axis("features:b", 9), rows=some),
        ]
    )
    problem = Problem(Model.of(views, sharing_pattern({"all": 3}, ("a", "b"))), views)
    solution = solve(problem, options=LONG)
    assert np.all(np.diff(solution.history()["objective"]) <= 0)
    assert solution.objective < 1e-6
    assert len(np.setdiff1d(np.arange(35, 40), some)), "some items have no view at all"
    assert np.isfinite(solution.factors["items"]).all()


class Mutants:
    """Deliberately broken solvers, to show that the contracts see them."""

    @staticmethod
    def forgets_to_clip(F, form, n_sweeps):
        F -= 0.5 * form.gradient(F) / np.diag(form.gram)
        return 1.0

    @staticmethod
    def steps_too_far(F, form, n_sweeps):
        before = F.copy()
        violation = coordinate_descent(F, form, n_sweeps)
        np.maximum(before + 1.3 * (F - before), 0, out=F)
        return violation


def test_a_solver_that_stops_short_of_optimality_is_noticed():
    problem = problem_of("shared and private", "none")
    rng = np.random.default_rng(1)
    loop = Loop(problem, initialise(problem, "random", rng), Mutants.steps_too_far, Options(max_iter=15), rng)
    solution = loop.run()
    start = problem.violation(initialise(problem, "random", np.random.default_rng(1)))
    assert problem.violation(solution.factors) > 2e-4 * start


def test_negative_factors_are_never_accepted_silently():
    problem = problem_of("shared and private", "none")
    rng = np.random.default_rng(1)
    loop = Loop(problem, initialise(problem, "random", rng), Mutants.forgets_to_clip, Options(max_iter=15), rng)
    assert min(F.min() for F in loop.run().factors.values()) < 0  # the check below would see it


def test_views_that_share_items_and_others_that_share_features_are_one_problem():
    """Pictures have pixels and tags, other pictures have tags only: two shared axes, one call of the loop."""
    rng = np.random.default_rng(0)
    H, G, P, T = (rng.random((n, 3)) * (rng.random((n, 3)) < 0.7) for n in (40, 30, 12, 15))
    mine, others, pixels, tags = Axis("items", 40), Axis("others", 30), Axis("pixels", 12), Axis("tags", 15)
    views = ViewSet(
        [
            View.of("pixels", H @ P.T, items=mine, features=pixels),
            View.of("tags", H @ T.T, items=mine, features=tags),
            View.of("more tags", G @ T.T, items=others, features=tags),
        ]
    )
    model = Model.of(views, sharing_pattern({"all": 3}, views.names))
    assert model.axes == ("items", "others", "pixels", "tags")
    problem = Problem(model, views)
    solution = min((solve(problem, seed=s, options=LONG) for s in range(3)), key=lambda s: s.objective)
    assert np.all(np.diff(solution.history()["objective"]) <= 0)
    assert solution.objective < 1e-7
    norms = sum(np.sum(solution.factors[axis] ** 2, axis=0) for axis in model.column_axes)
    np.testing.assert_allclose(norms, 1)
