"""N2S2L's and MCL's published rules, written out once more in plain NumPy: their iterates, and where they and ours end."""

import numpy as np
import pytest

from vennmf.matrices import View, ViewSet
from vennmf.matrices.graphs import between_class_graph, neighbour_graph, same_class_graph
from vennmf.model.presets_labels import mcl, n2s2l
from vennmf.solvers import Options, Problem
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Loop
from vennmf.solvers.sweeps import SWEEPS


def run(problem, start, solver, **options):
    given = {"max_iter": 12, "tol": 0, "min_change": 0, "warm_start": 0, **options}
    start = {axis: F.copy() for axis, F in start.items()}
    return Loop(problem, start, SWEEPS[solver], Options(**given), np.random.default_rng(0)).run()


# ---------------------------------------------------------------- N2S2L


K, Q, ALPHA, BETA = 5, 2, 0.7, 0.3


def items(shape, seed=0):
    """Items of two classes around their means, half of them labelled, and the three graphs as dense arrays."""
    rng = np.random.default_rng(seed)
    y = np.arange(shape[0]) % 2
    A = rng.random((2, *shape[1:]))[y] + 0.3 * rng.random(shape) + 0.01
    labels = np.where(np.arange(shape[0]) % 4 < 2, y, -1)
    flat = A.reshape(len(A), -1)
    graphs = same_class_graph(flat, labels), between_class_graph(flat, labels, 5), neighbour_graph(flat, 3)
    return A, labels, [S.toarray() for S in graphs]


def unfolded(A, axis):
    """An axis first, all others behind it in their order."""
    return np.moveaxis(A, axis, 0).reshape(A.shape[axis], -1)


def khatri_rao(factors):
    Z = factors[0]
    for F in factors[1:]:
        Z = np.einsum("ik,jk->ijk", Z, F).reshape(-1, F.shape[1])
    return Z


def n2s2l_pass(A, V, U, graphs):
    """V by (44), every U^b by (25) or (54), norms to V by (35) and (36)."""
    S, Sp, Ss = graphs
    pull, push = (
        [ALPHA * first + BETA * last, ALPHA * middle]
        for first, middle, last in ((S, Sp, Ss), [np.diag(W.sum(axis=1)) for W in graphs])
    )

    def halves(matrices):
        return np.hstack([matrices[0] @ V[:, :Q], matrices[1] @ V[:, Q:]])

    Z = khatri_rao(U)
    V = V * (unfolded(A, 0) @ Z + halves(pull)) / (V @ Z.T @ Z + halves(push))
    for b in range(len(U)):
        others = [F for p, F in enumerate(U) if p != b]
        norms = np.prod([np.sum(F**2, axis=0) for F in others], axis=0) if others else 1.0
        Y_up, Y_down = (np.diag(norms * np.sum(V * halves(matrices), axis=0)) for matrices in (pull, push))
        Z = khatri_rao([V, *others])
        U[b] = U[b] * (unfolded(A, b + 1) @ Z + U[b] @ Y_up) / (U[b] @ Z.T @ Z + U[b] @ Y_down)
    norms = [np.linalg.norm(F, axis=0) for F in U]
    return V * np.prod(norms, axis=0), [F / norm for F, norm in zip(U, norms, strict=True)]


def bound_n2s2l(A, labels, graphs=None):
    views = ViewSet([View.of_tensor("data", A)])
    S, Sp, Ss = (None, *graphs[1:]) if graphs else (None, None, None)
    model = n2s2l(views, K, Q, alpha=ALPHA, beta=BETA, y=labels, within=S, between=Sp, smooth=Ss)
    return Problem(model, views)


@pytest.mark.parametrize("shape", [(24, 9), (24, 5, 4), (16, 4, 3, 3)])
def test_n2s2ls_rule_visits_the_papers_iterates(shape):
    A, labels, graphs = items(shape)
    problem = bound_n2s2l(A, labels, graphs)
    start = initialise(problem, "random", np.random.default_rng(1))
    V, *U = (start[axis].copy() for axis in problem.model.axes)
    for _ in range(12):
        V, U = n2s2l_pass(A, V, U, graphs)
    solution = run(problem, start, "mu")
    assert np.all(np.diff(solution.history()["objective"]) < 0)
    for axis, F in zip(problem.model.axes, (V, *U), strict=True):
        np.testing.assert_allclose(solution.factors[axis], F, rtol=1e-8, atol=1e-12)


def test_n2s2ls_objective_is_half_of_the_papers():
    A, labels, graphs = items((24, 5, 4))
    problem = bound_n2s2l(A, labels, graphs)
    factors = initialise(problem, "random", np.random.default_rng(1))
    V, *U = (factors[axis] for axis in problem.model.axes)
    S, Sp, Ss = (np.diag(W.sum(axis=1)) - W for W in graphs)
    fit = np.sum((A - np.einsum("nk,ak,bk->nab", V, *U)) ** 2)
    V1, V2 = V[:, :Q], V[:, Q:]
    traces = np.trace(V1.T @ (ALPHA * S + BETA * Ss) @ V1) + ALPHA * np.trace(V2.T @ Sp @ V2)
    assert problem.objective(factors) == pytest.approx(0.5 * (fit + traces), rel=1e-12)


# ---------------------------------------------------------------- MCL


WEIGHTS = {"alpha": 0.6, "beta": 0.05, "gamma": 0.01}


def concepts(seed=0):
    """Two views of two classes whose factors have features of their own, labels of half of the items, the true factors."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 10)
    V = np.zeros((20, 4))
    for c in (0, 1):
        V[np.ix_(y == c, np.arange(2 * c, 2 * c + 2))] = rng.uniform(0.4, 1, (10, 2)) * (rng.random((10, 2)) < 0.7)
    sizes = {"a": 12, "b": 8}
    B = {name: rng.gamma(2, 1, (4, m)) * (np.arange(m) % 4 == np.arange(4)[:, None]) for name, m in sizes.items()}
    views = {name: V @ M + 0.05 * rng.random((20, M.shape[1])) for name, M in B.items()}
    return views, np.where(np.arange(20) % 10 < 5, y, -1), V, B


def label_graphs(labels):
    """W^a and W^p of (6) and (7) over the labelled items."""
    y = labels[labels >= 0]
    same = y[:, None] == y[None, :]
    return np.where(same, 1 / np.bincount(y)[y] - 1 / len(y), 0), np.where(same, 0, 1 / len(y))


def encodings_step(X, V, B, labels, beta, gamma, **_):
    """(25) on labelled items and (26) on the others."""
    Wa, Wp = label_graphs(labels)
    Da, Dp = (np.diag(W.sum(axis=1)) for W in (Wa, Wp))
    P = sum(M.T @ M for M in B.values())
    Qm = sum(X[name] @ M for name, M in B.items())
    known = labels >= 0
    out, Vl = V.copy(), V[known]
    a = Vl @ P + beta * (Da + Wp) @ Vl
    b = gamma - Qm[known]
    c = beta * (Dp + Wa) @ Vl
    out[known] = np.minimum(1, (-b + np.sqrt(b**2 + 4 * a * c)) / (2 * a) * Vl)
    b = gamma - Qm[~known]
    out[~known] = np.minimum(1, (-b + np.abs(b)) / (2 * V[~known] @ P) * V[~known])
    return out


def proximal(b, tau):
    """Proposition 1 with (20) to (22): what exceeds θ of the positive part is cut off."""
    positive = np.sort(b[b > 0])[::-1]
    if positive.sum() <= tau:
        return np.zeros_like(b)
    sums = np.cumsum(positive)
    rho = np.flatnonzero(sums - np.arange(1, len(sums) + 1) * positive < tau)[-1] + 1
    theta = (sums[rho - 1] - tau) / rho
    return np.clip(b, 0, theta)


def algorithm_2(X, V, B, alpha, steps):
    """Composite gradient mapping, the objective and its model spelt out; both η are 2."""

    def smooth(M):
        return 0.5 * np.sum((X - V @ M.T) ** 2)

    def whole(M):
        return smooth(M) + alpha * np.sum(M.max(axis=0))

    smallest = L = np.trace(V.T @ V) / V.shape[1]
    for _ in range(steps):
        gradient = B @ V.T @ V - X.T @ V
        while True:
            T = np.column_stack([proximal(b, alpha / L) for b in (B - gradient / L).T])
            model = smooth(B) + np.sum(gradient * (T - B)) + L / 2 * np.sum((T - B) ** 2) + alpha * T.max(axis=0).sum()
            if whole(T) <= model + 1e-9:
                break
            L *= 2
        B, L = T, max(smallest, L / 2)
    return B


def bound_mcl(X, labels, **given):
    views = ViewSet.of(X, shared="items")
    return Problem(mcl(views, 4, labels, **WEIGHTS, **given), views)


def start_of(problem, X, seed=1):
    rng = np.random.default_rng(seed)
    return {axis: rng.uniform(0.2, 0.9, (problem.sizes[axis], 4)) for axis in problem.model.axes}


def test_mcls_paper_solver_visits_the_papers_iterates():
    X, labels, *_ = concepts()
    problem = bound_mcl(X, labels)
    start = start_of(problem, X)
    V = start["items"]
    B = {name: start[f"features:{name}"] for name in X}
    for _ in range(5):
        for _ in range(10):
            V = encodings_step(X, V, B, labels, **WEIGHTS)
        B = {name: algorithm_2(X[name], V, B[name], WEIGHTS["alpha"], 10) for name in X}
    solution = run(problem, start, "paper", max_iter=5, inner_sweeps=10)
    np.testing.assert_allclose(solution.factors["items"], V, rtol=1e-7, atol=1e-10)
    for name in X:
        np.testing.assert_allclose(solution.factors[f"features:{name}"], B[name], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("solver", ["cd", "paper"])
def test_mcls_labels_and_their_graphs_given_are_one_model(solver):
    X, labels, *_ = concepts()
    known = np.flatnonzero(labels >= 0)
    whole = []
    for W in label_graphs(labels):
        S = np.zeros((20, 20))
        S[np.ix_(known, known)] = W
        whole.append(S)
    by_labels, by_graphs = bound_mcl(X, labels), bound_mcl(X, None, within=whole[0], between=whole[1])
    start = start_of(by_labels, X)
    assert by_labels.objective(start) == pytest.approx(by_graphs.objective(start), rel=1e-12)
    assert by_labels.violation(start) == pytest.approx(by_graphs.violation(start), rel=1e-9)
    if (
        solver == "paper"
    ):  # the rule has the same halves; the default bounds the graphs less tightly than the class means
        found = [run(problem, start, solver, max_iter=3).factors for problem in (by_labels, by_graphs)]
        for axis, F in found[0].items():
            np.testing.assert_allclose(found[1][axis], F, rtol=1e-8, atol=1e-12)


# ---------------------------------------------------------------- where they end


def planted_n2s2l(shape, seed=0):
    """A part for each class and one for both, each on features of its own, some noise, and a start near these parts."""
    rng = np.random.default_rng(seed)
    y = np.arange(shape[0]) % 2
    truth = [np.column_stack([rng.uniform(0.7, 1, len(y)) * (y == 0), rng.uniform(0.7, 1, len(y)) * (y == 1)])]
    truth[0] = np.column_stack([truth[0], rng.uniform(0.2, 1, len(y))])
    for size in shape[1:]:
        truth.append(rng.uniform(0.5, 1, (size, 3)) * (np.arange(size)[:, None] * 3 // size == np.arange(3)))
    A = khatri_rao(truth).sum(axis=1).reshape(shape) + 0.1 * rng.random(shape)
    labels = np.where(np.arange(shape[0]) % 4 < 2, y, -1)
    flat = A.reshape(len(A), -1)
    graphs = {"between": between_class_graph(flat, labels, 5), "smooth": neighbour_graph(flat, 3)}
    views = ViewSet([View.of_tensor("data", A)])
    problem = Problem(n2s2l(views, 3, Q, alpha=ALPHA, beta=BETA, y=labels, **graphs), views)
    start = {axis: F + rng.uniform(0.05, 0.15, F.shape) for axis, F in zip(problem.model.axes, truth, strict=True)}
    problem.normalise(start)
    return problem, start


def planted_mcl(seed=3):
    X, labels, V, B = concepts(seed)
    rng = np.random.default_rng(seed)
    near = {"items": V, **{f"features:{name}": M.T for name, M in B.items()}}
    start = {axis: F + rng.uniform(0.05, 0.15, F.shape) for axis, F in near.items()}
    start["items"] = np.minimum(start["items"], 1)
    return bound_mcl(X, labels), start


CASES = {
    "N2S2L": (lambda: planted_n2s2l((16, 9)), "mu", 1000, 1e-3, 0.05),
    "N2S2L, tensor": (lambda: planted_n2s2l((16, 6, 4)), "mu", 600, 1e-6, 1e-4),
    "MCL": (planted_mcl, "paper", 200, 1e-8, 1e-4),
}


@pytest.mark.parametrize("case", CASES)
def test_the_published_rule_and_the_default_end_at_the_same_stationary_point(case):
    make, published, max_iter, near, apart = CASES[case]
    problem, start = make()
    rule = run(problem, start, published, max_iter=max_iter, inner_sweeps=10 if published == "paper" else 1)
    ours = run(problem, start, "cd", max_iter=400, tol=1e-7)
    assert problem.violation(ours.factors) <= 1e-6 * problem.violation(start)
    assert rule.objective == pytest.approx(ours.objective, rel=near)  # the rule is the slower one
    assert problem.objective(ours.factors) == pytest.approx(ours.objective, rel=1e-8)
    for axis, F in ours.factors.items():
        assert np.max(np.abs(rule.factors[axis] - F)) <= apart * F.max()
    moved = run(problem, ours.factors, published, max_iter=1).factors  # and our end is a fixed point of the rule
    for axis, F in ours.factors.items():
        assert np.max(np.abs(moved[axis] - F)) <= 1e-5 * F.max()


@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_the_objective_of_a_tensor_with_labels_is_that_of_its_factors(solver):
    problem, _ = planted_n2s2l((16, 6, 4))
    for seed in range(3):  # from these starts some steps are damped
        start = initialise(problem, "random", np.random.default_rng(seed))
        solution = run(problem, start, solver, max_iter=60)
        assert solution.objective == pytest.approx(problem.objective(solution.factors), rel=1e-8)
        assert np.all(np.diff(solution.history()["objective"]) <= 0)
