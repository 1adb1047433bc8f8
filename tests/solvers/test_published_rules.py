"""The rules of the papers on labels, as published: their own formulas, step for step, never rising, same end as ours."""

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.matrices import Axis, View, ViewSet
from vennmf.model.blocks import Block
from vennmf.model.model import Model
from vennmf.model.penalties import L1, Box, ColumnMaximum, GraphSmooth, LabelScatter, WithinScatter
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Options
from vennmf.solvers.minimise import minimise
from vennmf.solvers.problem import Problem
from vennmf.solvers.sweeps import multiplicative, published

Y = np.array([0, 0, 0, 1, 1, 1, 2, 2, -1, -1, -1, -1])


def graph(n, seed, density=0.3):
    rng = np.random.default_rng(seed)
    S = np.triu(rng.random((n, n)) < density, 1).astype(float)
    return S + S.T


def laplacian(S):
    return np.diag(S.sum(axis=1)) - S


def n2s2l(alpha=2.0, beta=0.5, seed=0):
    X = np.random.default_rng(seed).random((12, 9))
    S, Sp, Ss = (graph(12, n) for n in (1, 2, 3))
    views = ViewSet([View.of("data", X)])
    blocks = [Block("discriminative", 3, ("data",)), Block("rest", 2, ("data",))]
    penalties = (
        GraphSmooth(sp.csr_array(alpha * S + beta * Ss), 1.0, blocks=("discriminative",)),
        GraphSmooth(sp.csr_array(Sp), alpha, blocks=("rest",)),
    )
    return X, (alpha * S + beta * Ss, alpha * Sp), Problem(Model.of(views, blocks, penalties, {"data": 1.0}), views)


def mcl(alpha=0.3, beta=0.2, gamma=0.05, seed=0, rows=None):
    rng = np.random.default_rng(seed)
    items = Axis("items", 12)
    shared = rng.random((12, 3))
    views = ViewSet(
        [
            View.of("a", shared @ rng.random((3, 8)), items=items, features=Axis("features:a", 8)),
            View.of(
                "b",
                (shared @ rng.random((3, 6)))[slice(None) if rows is None else rows],
                items=items,
                features=Axis("features:b", 6),
                rows=rows,
            ),
        ]
    )
    penalties = (LabelScatter(Y, beta), ColumnMaximum(alpha), L1(gamma), Box(1.0))
    return Problem(Model.of(views, [Block("all", 4, ("a", "b"))], penalties, {"a": 1.0, "b": 1.0}), views)


def test_one_multiplicative_step_is_the_papers_equations_25_and_44():
    X, (S1, S2), problem = n2s2l()
    factors = initialise(problem, "random", np.random.default_rng(5))
    V, U = factors["items:data"].copy(), factors["features"].copy()
    V1, V2 = V[:, :3], V[:, 3:]
    up = X @ U + np.hstack([S1 @ V1, S2 @ V2])
    down = V @ (U.T @ U) + np.hstack([np.diag(S1.sum(axis=1)) @ V1, np.diag(S2.sum(axis=1)) @ V2])
    multiplicative(factors["items:data"], problem.form("items:data", factors, by_rule=True))
    assert np.max(np.abs(factors["items:data"] - V * up / down)) <= 1e-12

    V = factors["items:data"]
    held = [
        np.concatenate([np.diag(V[:, :3].T @ A @ V[:, :3]), np.diag(V[:, 3:].T @ B @ V[:, 3:])])
        for A, B in [(np.diag(S1.sum(axis=1)), np.diag(S2.sum(axis=1))), (S1, S2)]
    ]
    expected = U * (X.T @ V + U * held[1]) / (U @ (V.T @ V) + U * held[0])
    multiplicative(factors["features"], problem.form("features", factors, by_rule=True))
    assert np.max(np.abs(factors["features"] - expected)) <= 1e-12


def test_one_step_for_encodings_is_the_papers_equations_25_to_29():
    problem = mcl(beta=0.2, gamma=0.05)
    factors = initialise(problem, "random", np.random.default_rng(5))
    V = np.minimum(factors["items"], 1)
    factors["items"] = V.copy()
    B = [factors["features:a"], factors["features:b"]]
    P = sum(F.T @ F for F in B)
    Q = sum(problem.views[v].X @ F for v, F in zip("ab", B, strict=True))
    labelled = Y >= 0
    y, n = Y[labelled], int(np.sum(Y >= 0))
    same = y[:, None] == y[None, :]
    Wa = np.where(same, 1 / np.array([np.sum(y == c) for c in y]) - 1 / n, 0)
    Wp = np.where(same, 0, 1 / n)
    A, b, C = V @ P, 0.05 - Q, np.zeros_like(V)
    A[labelled] += 0.2 * (np.diag(Wa.sum(axis=1)) + Wp) @ V[labelled]
    C[labelled] = 0.2 * (np.diag(Wp.sum(axis=1)) + Wa) @ V[labelled]
    expected = np.minimum(1, V * (-b + np.sqrt(b**2 + 4 * A * C)) / (2 * A))
    published(factors["items"], problem.form("items", factors, by_rule=True))
    assert np.max(np.abs(factors["items"] - expected)) <= 1e-12


PROBLEMS = {
    "n2s2l": lambda: n2s2l()[2],
    "n2s2l, strong graphs": lambda: n2s2l(50.0, 5.0)[2],
    "mcl": mcl,
    "mcl, strong labels": lambda: mcl(beta=2.0),
    "mcl, items that lack a view": lambda: mcl(rows=np.array([0, 1, 3, 4, 6, 8, 9, 11])),
}
SOLVERS = {"n2s2l": ("cd", "mu"), "mcl": ("cd", "paper")}
CASES = [(name, solver) for name in PROBLEMS for solver in SOLVERS[name.split(",")[0]]]


@pytest.mark.parametrize(("name", "solver"), CASES)
def test_objective_never_increases(name, solver):
    problem = PROBLEMS[name]()
    for seed in range(3):
        solution = minimise(
            problem,
            solver=solver,
            options=Options(max_iter=80, tol=0, min_change=0, inner_sweeps=None if solver == "cd" else 1),
            rng=np.random.default_rng(seed),
        )
        objective = solution.history()["objective"]
        assert np.all(np.diff(objective) <= 1e-10 * np.abs(objective[0]))
        assert solution.objective == pytest.approx(problem.objective(solution.factors), rel=1e-9)
        assert solution.stop_reason == "max_iter" or solution.steps[-1].violation <= 1e-6


def planted_n2s2l():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 4)
    V = 0.2 + rng.random((12, 3))
    V[np.arange(12), y] += 2
    views = ViewSet([View.of("data", V @ (0.05 + rng.random((9, 3)) ** 3).T)])
    same = (y[:, None] == y[None, :]).astype(float) - np.eye(12)
    apart = graph(12, 2) * (1 - same - np.eye(12))
    blocks = [Block("discriminative", 2, ("data",)), Block("rest", 1, ("data",))]
    penalties = (
        GraphSmooth(sp.csr_array(0.05 * same + 0.02 * graph(12, 3)), 1.0, blocks=("discriminative",)),
        GraphSmooth(sp.csr_array(apart), 0.02, blocks=("rest",)),
    )
    return Problem(Model.of(views, blocks, penalties, {"data": 1.0}), views)


def planted_mcl():
    rng = np.random.default_rng(0)
    H = 0.1 + 0.8 * rng.random((12, 3))
    H[Y >= 0, Y[Y >= 0]] = 0.9
    items = Axis("items", 12)
    views = ViewSet(
        [
            View.of(name, H @ (0.2 + rng.random((3, m))), items=items, features=Axis(f"features:{name}", m))
            for name, m in (("a", 8), ("b", 6))
        ]
    )
    penalties = (LabelScatter(Y, 0.05), ColumnMaximum(0.05), L1(0.01), Box(1.0))
    return Problem(Model.of(views, [Block("all", 3, ("a", "b"))], penalties, {"a": 1.0, "b": 1.0}), views)


@pytest.mark.parametrize(("make", "rule"), [(planted_n2s2l, "mu"), (planted_mcl, "paper")])
def test_rule_and_default_reach_the_same_stationary_point_from_the_same_start(make, rule):
    problem = make()
    options = Options(max_iter=500, tol=0, min_change=0)
    near = minimise(problem, options=options, rng=np.random.default_rng(0)).factors
    start = {axis: np.minimum(F + 0.01 * F.mean(), F.max()) for axis, F in near.items()}  # a rule never leaves zero
    options = Options(max_iter=1500, tol=1e-7, min_change=0, extrapolation=0.0, inner_sweeps=2)
    ends = [
        minimise(problem, solver=solver, init=start, options=options, rng=np.random.default_rng(0))
        for solver in ("cd", rule)
    ]
    for solution in ends:
        assert solution.objective < problem.objective(start)
        for axis, F in solution.factors.items():
            form = problem.form(axis, solution.factors)
            if form.column_maximum is None:
                rest = F - np.clip(F - form.gradient(F), 0, form.upper)
                assert np.max(np.abs(rest)) <= 1e-3 * np.max(np.abs(form.cross))
    assert ends[0].objective == pytest.approx(ends[1].objective, rel=1e-4)
    for axis in problem.model.axes:
        assert np.max(np.abs(ends[0].factors[axis] - ends[1].factors[axis])) <= 0.02 * np.max(ends[0].factors[axis])


def test_columns_with_different_curvature_reach_a_stationary_point():
    problem = n2s2l(5.0, 1.0)[2]
    solution = minimise(problem, options=Options(max_iter=1000, tol=1e-8, min_change=0), rng=np.random.default_rng(0))
    assert problem.violation(solution.factors) <= 1e-5


def test_within_scatter_draws_classes_together():
    rng = np.random.default_rng(0)
    views = ViewSet([View.of("data", rng.random((12, 9)))])
    spreads = []
    for weight in (0.0, 5.0):
        model = Model.of(views, [Block("all", 3, ("data",))], (WithinScatter(Y, weight),), {"data": 1.0})
        problem = Problem(model, views)
        H = minimise(problem, rng=np.random.default_rng(1)).factors["items:data"]
        spreads.append(WithinScatter(Y, 1.0).value(H, problem.model.layouts["items:data"]))
    assert spreads[1] < 0.1 * spreads[0]
