"""The objective of PJMF and its gradients, term by term; the graphs behind it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.model.affinity import (
    graph_of_neighbors,
    image_graph,
    mean_distance,
    normalised_laplacian,
    tag_graph,
)
from vennmf.model.unified_space import Features, UnifiedSpace, smoothness


def small_problem(*, sparse: bool = False, seed: int = 0, scatter: bool = True, **constants: float):
    rng = np.random.default_rng(seed)
    raw = rng.standard_normal((23, 6)) * (rng.random((23, 6)) < 0.7)
    shift = raw.mean(axis=0) * 0.7
    X = Features(sp.csr_array(raw), shift) if sparse else Features(raw - shift)
    Y = sp.csr_array((rng.random((23, 5)) < 0.3).astype(float))
    L_S = normalised_laplacian(image_graph(X, 4, 1.5))
    L_C = normalised_laplacian(tag_graph(Y))
    given = {"alpha": 0.6, "beta": 0.4, "gamma": 0.05, "sigma": 1.3} | constants
    make = UnifiedSpace.of if scatter else UnifiedSpace
    problem = make(X, Y, L_S, L_C, **given)
    return problem, rng.standard_normal((6, 3)), rng.standard_normal((5, 3))


def printed_objective(problem: UnifiedSpace, A, U) -> float:
    """Eq. (16), term by term and pair by pair, as the paper prints it."""
    raw = problem.X.raw.toarray() if sp.issparse(problem.X.raw) else problem.X.raw
    X = raw if problem.X.shift is None else raw - problem.X.shift
    Y, V = problem.Y.toarray(), X @ A
    total = 0.0
    for i, v in enumerate(V):
        for j, u in enumerate(U):
            square = float(((u - v) ** 2).sum())
            total += 0.5 * ((Y[i, j] - np.exp(-square / (2 * problem.sigma**2))) ** 2 + problem.gamma * square)
    total += 0.5 * problem.alpha * np.trace(V.T @ problem.L_S.toarray() @ V)
    return total + 0.5 * problem.beta * np.trace(U.T @ problem.L_C.toarray() @ U)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scatter", [False, True])
def test_the_objective_is_what_the_paper_prints(sparse: bool, scatter: bool) -> None:
    problem, A, U = small_problem(sparse=sparse, scatter=scatter)
    assert problem.terms(A, U).objective == pytest.approx(printed_objective(problem, A, U), rel=1e-12)
    assert problem.evaluate(A, U).terms == pytest.approx(problem.terms(A, U), rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "only",
    [
        {"alpha": 0.0, "beta": 0.0, "gamma": 0.0},
        {"alpha": 0.0, "beta": 0.0, "gamma": 0.7},
        {"alpha": 0.9, "beta": 0.0, "gamma": 0.0},
        {"alpha": 0.0, "beta": 0.9, "gamma": 0.0},
        {"sigma": 0.4},
    ],
)
def test_gradients_are_the_finite_differences_of_each_term(sparse: bool, only: dict[str, float]) -> None:
    problem, A, U = small_problem(sparse=sparse, **only)
    evaluation = problem.evaluate(A, U)
    for F, gradient, place in ((A, evaluation.gradient_A, 0), (U, evaluation.gradient_U, 1)):
        measured = np.zeros_like(F)
        for at in np.ndindex(F.shape):
            values = []
            for h in (1e-5, -1e-5):
                moved = F.copy()
                moved[at] += h
                values.append(problem.terms(*((moved, U) if place == 0 else (A, moved))).objective)
            measured[at] = (values[0] - values[1]) / 2e-5
        np.testing.assert_allclose(gradient, measured, rtol=1e-6, atol=1e-7)


def test_blocks_of_images_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, A, U = small_problem()
    whole = problem.evaluate(A, U)
    monkeypatch.setattr("vennmf.model.unified_space.BLOCK_ENTRIES", 1)
    monkeypatch.setattr("vennmf.model.unified_space.SHORTEST_BLOCK", 7)
    parts = problem.evaluate(A, U)
    assert len(list(problem.blocks())) == 4
    assert parts.terms == pytest.approx(whole.terms, rel=1e-13)
    np.testing.assert_allclose(parts.gradient_A, whole.gradient_A, rtol=1e-11)
    np.testing.assert_allclose(parts.gradient_U, whole.gradient_U, rtol=1e-11)


def test_batches_that_cover_all_images_average_to_the_gradient() -> None:
    problem, A, U = small_problem()
    whole = problem.evaluate(A, U)
    n = problem.X.shape[0]
    single = [problem.sampled(A, U, np.array([i])) for i in range(n)]
    np.testing.assert_allclose(np.mean([s.gradient_A for s in single], axis=0), whole.gradient_A, rtol=1e-10)
    np.testing.assert_allclose(np.mean([s.gradient_U for s in single], axis=0), whole.gradient_U, rtol=1e-10)
    assert np.mean([s.terms.objective for s in single]) == pytest.approx(whole.terms.objective, rel=1e-12)


def test_float32_features_keep_the_objective_to_their_precision() -> None:
    problem, A, U = small_problem()
    single = UnifiedSpace.of(
        Features(problem.X.raw.astype(np.float32)),
        problem.Y.astype(np.float32),
        problem.L_S.astype(np.float32),
        problem.L_C,
        alpha=problem.alpha,
        beta=problem.beta,
        gamma=problem.gamma,
        sigma=problem.sigma,
    )
    assert single.X.times(A).dtype == np.float32
    assert single.terms(A, U) == pytest.approx(problem.terms(A, U), rel=1e-5)


def test_the_laplacian_measures_differences_along_edges() -> None:
    rng = np.random.default_rng(1)
    S = rng.random((7, 7))
    S = np.triu(S, 1) + np.triu(S, 1).T
    V = rng.standard_normal((7, 2))
    scaled = V / np.sqrt(S.sum(axis=1))[:, None]
    wanted = 0.5 * sum(S[i, j] * ((scaled[i] - scaled[j]) ** 2).sum() for i in range(7) for j in range(7))
    L = normalised_laplacian(sp.csr_array(S)).toarray()
    assert np.trace(V.T @ L @ V) == pytest.approx(wanted, rel=1e-12)


def test_lonely_images_and_tags_feel_no_graph() -> None:
    S = sp.csr_array(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    L = normalised_laplacian(S).toarray()
    np.testing.assert_array_equal(L[2], 0.0)
    np.testing.assert_allclose(np.diag(L)[:2], 1.0)


def test_tags_are_as_close_as_the_jaccard_index_of_their_images() -> None:
    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1]], dtype=float)
    C = tag_graph(sp.csr_array(Y)).toarray()
    np.testing.assert_allclose(C, [[0, 2 / 3, 0], [2 / 3, 0, 0], [0, 0, 0]])


def test_the_image_graph_is_a_heat_kernel_on_nearest_neighbours() -> None:
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    S = image_graph(Features(X), 1, 2.0).toarray()
    wanted = np.zeros((4, 4))
    for i, j in ((0, 1), (1, 2), (2, 3)):
        wanted[i, j] = wanted[j, i] = np.exp(-((X[i, 0] - X[j, 0]) ** 2) / 4)
    np.testing.assert_allclose(S, wanted)
    assert image_graph(Features(X), 50, 2.0).nnz == 12
    assert image_graph(Features(X[:1]), 5, 1.0).nnz == 0


def test_a_table_of_neighbours_becomes_a_symmetric_graph() -> None:
    S = graph_of_neighbors(np.array([[1], [2], [1]])).toarray()
    np.testing.assert_array_equal(S, [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("sparse", [False, True])
def test_the_mean_distance_is_within_its_error_of_the_exact_one(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).standard_normal((300, 4))
    features = Features(sp.csr_array(X) if sparse else X)
    exact = mean_distance(features, np.random.default_rng(0))
    assert exact.standard_error == 0.0
    monkeypatch.setattr("vennmf.model.affinity.PAIRS", 5000)
    estimate = mean_distance(features, np.random.default_rng(0))
    assert 0 < estimate.standard_error < 0.02
    assert abs(estimate.value - exact.value) < 4 * estimate.standard_error


def test_smoothness_of_centred_sparse_features_is_that_of_filled_ones() -> None:
    problem, _, _ = small_problem(sparse=True)
    X = problem.X.raw.toarray() - problem.X.shift
    np.testing.assert_allclose(smoothness(problem.X, problem.L_S), X.T @ problem.L_S.toarray() @ X, atol=1e-12)
