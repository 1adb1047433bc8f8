"""What PJMF is compared with: each minimises what it says, and tags new images."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from vennmf.baselines import (
    CCPMF,
    LRES,
    MPMF,
    TWTV,
    NearestImages,
    NeighborVoting,
    OriginalTags,
    TagRegression,
)
from vennmf.baselines.tag_matrix import shrink_singular_values
from vennmf.baselines.tagging import sparse_reconstruction
from vennmf.errors import ParameterError
from vennmf.model.affinity import graph_of_neighbors, image_graph, mean_distance, normalised_laplacian, tag_graph
from vennmf.model.unified_space import Features

ALL = [
    NeighborVoting(5),
    NeighborVoting(5, reconstruct=True),
    NearestImages(5),
    TagRegression(C=10.0),
    TWTV(n_neighbors=5),
    LRES(n_neighbors=5, tau=0.1),
    CCPMF(4, n_neighbors=5, random_state=0),
    MPMF(4, n_neighbors=5, a=0.01, b=0.01, random_state=0),
]


def groups(n: int = 80, seed: int = 0):
    """Four groups of images, each with two tags of its own, and one tag in fifty wrong."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 4
    X = np.eye(4, 6)[group] + 0.05 * rng.standard_normal((n, 6))
    truth = np.repeat(np.eye(4)[group], 2, axis=1)
    noisy = np.where(rng.random(truth.shape) < 0.02, 1 - truth, truth)
    return X, noisy, truth


@pytest.mark.parametrize("baseline", ALL, ids=lambda b: type(b).__name__)
def test_groups_get_their_own_tags_back(baseline) -> None:
    X, noisy, truth = groups()
    fitted = baseline.fit(X[:60], noisy[:60])
    refined = np.argsort(-fitted.relevance_, axis=1)[:, :2]
    assert np.take_along_axis(truth[:60], refined, axis=1).mean() > 0.97
    new = np.argsort(-fitted.decision_function(X[60:]), axis=1)[:, :2]
    assert np.take_along_axis(truth[60:], new, axis=1).mean() > 0.97
    assert fitted.predict(X[60:]).sum() == 5 * 20


def test_original_tags_are_those_given_and_none_for_new_images() -> None:
    X, noisy, _ = groups()
    fitted = OriginalTags().fit(X, noisy)
    np.testing.assert_array_equal(fitted.relevance_ > 0.5, noisy == 1)
    with pytest.raises(ParameterError, match="new images have no original tags"):
        fitted.decision_function(X)


def test_all_tags_at_once_are_scikit_learns_one_vs_rest_regression() -> None:
    X, noisy, _ = groups()
    ours = TagRegression(C=3.0, scaling=None, max_iter=2000).fit(X, noisy)
    for j in range(8):
        theirs = LogisticRegression(C=3.0, tol=1e-8, max_iter=2000).fit(X, noisy[:, j])
        np.testing.assert_allclose(ours.relevance_[:, j], theirs.decision_function(X), atol=2e-2)


def test_votes_are_counted_as_the_paper_counts_them() -> None:
    X = np.array([[0.0], [1.0], [1.5], [9.0]])
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    fitted = NeighborVoting(2, scaling=None).fit(X, Y)
    neighbours = {0: [1, 2], 1: [2, 0], 2: [1, 0], 3: [2, 1]}
    for i, near in neighbours.items():
        np.testing.assert_allclose(fitted.relevance_[i], Y[near].sum(0) - 2 * Y.mean(0))
    np.testing.assert_allclose(fitted.decision_function([[8.0]]), [Y[[3, 2]].sum(0) - 2 * Y.mean(0)])


def graphs(X, Y):
    features = Features(X)
    S = image_graph(features, 5, mean_distance(features, np.random.default_rng(0)).value)
    return S.toarray(), tag_graph(sp.csr_array(Y)).toarray()


def laplacians(X, Y):
    return [normalised_laplacian(sp.csr_array(S)).toarray() for S in graphs(X, Y)]


def test_two_view_weights_solve_their_linear_system() -> None:
    X, noisy, _ = groups()
    R = TWTV(a=0.7, b=0.3, n_neighbors=5, scaling=None).fit(X, noisy).relevance_
    L_S, L_C = laplacians(X, noisy)
    np.testing.assert_allclose(R + 0.7 * L_S @ R + 0.3 * R @ L_C, noisy, atol=1e-4)


def test_a_ready_graph_takes_the_place_of_neighbours() -> None:
    X, noisy, _ = groups()
    table = np.array([[(i + 4) % 80, (i + 8) % 80] for i in range(80)])
    R = TWTV(a=0.7, b=0.3, scaling=None).fit(X, noisy, neighbors=table).relevance_
    similar = graph_of_neighbors(table)
    np.testing.assert_array_equal(TWTV(a=0.7, b=0.3, scaling=None).fit(X, noisy, neighbors=similar).relevance_, R)
    L_S = normalised_laplacian(similar).toarray()
    np.testing.assert_allclose(R + 0.7 * L_S @ R + 0.3 * R @ laplacians(X, noisy)[1], noisy, atol=1e-4)


def test_nearest_images_lend_their_tags_by_a_heat_kernel() -> None:
    X, noisy, _ = groups()
    fitted = NearestImages(3, scaling=None).fit(X[:60], noisy[:60])
    known = np.linalg.norm(X[:60, None] - X[None, :60], axis=2)
    width = np.sort(known, axis=1)[:, 3].mean()  # the image itself stands first
    for i in (60, 71):
        distance = np.linalg.norm(X[:60] - X[i], axis=1)
        near = np.argsort(distance)[:3]
        wanted = np.exp(-((distance[near] / width) ** 2)) @ noisy[near]
        np.testing.assert_allclose(fitted.decision_function(X[[i]])[0], wanted, atol=1e-6)


def test_low_rank_plus_sparse_error_is_at_a_minimum() -> None:
    X, noisy, _ = groups()
    settings = {"tau": 0.5, "lam": 0.3, "a": 0.2, "b": 0.1}
    R = LRES(**settings, n_neighbors=5, scaling=None, max_iter=2000).fit(X, noisy).relevance_
    L_S, L_C = laplacians(X, noisy)
    rest = noisy - R
    E = np.sign(rest) * np.maximum(np.abs(rest) - 0.3, 0)
    step = 0.1
    slope = R + E - noisy + 0.2 * L_S @ R + 0.1 * R @ L_C
    np.testing.assert_allclose(shrink_singular_values(R - step * slope, step * 0.5), R, atol=1e-5)


def test_shrinking_lessens_every_singular_value() -> None:
    M = np.random.default_rng(0).standard_normal((4, 7))
    values = np.linalg.svd(M, compute_uv=False)
    found = np.linalg.svd(shrink_singular_values(M, 1.0), compute_uv=False)
    np.testing.assert_allclose(found, np.maximum(values - 1.0, 0), atol=1e-6)


@pytest.mark.parametrize("model", [CCPMF, MPMF])
def test_factor_models_follow_the_gradient_of_what_they_print(model) -> None:
    X, noisy, _ = groups(n=12)
    fitted = model(2, a=0.3, b=0.2, n_neighbors=3, random_state=0).fit(X, noisy)
    rng = np.random.default_rng(0)
    V, U = rng.standard_normal((12, 2)), rng.standard_normal((8, 2))

    def split(flat):
        return flat[:24].reshape(12, 2), flat[24:].reshape(8, 2)

    def value(flat):
        V, U = split(flat)
        return fitted._consistency(V, U, V.T @ V, U.T @ U)[0]

    def gradient(flat):
        V, U = split(flat)
        return np.concatenate([g.ravel() for g in fitted._consistency(V, U, V.T @ V, U.T @ U)[1:]])

    assert check_grad(value, gradient, np.concatenate([V.ravel(), U.ravel()])) < 1e-4


@pytest.mark.parametrize("model", [CCPMF, MPMF])
def test_factor_models_count_the_objective_that_they_print(model) -> None:
    X, noisy, _ = groups()
    a, b, l2 = 0.3, 0.2, 0.4
    fitted = model(3, a=a, b=b, l2=l2, n_neighbors=5, scaling=None, max_iter=7, random_state=0).fit(X, noisy)
    V, U = fitted.images_, fitted.tags_
    value = 0.5 * ((noisy - V @ U.T) ** 2).sum() + 0.5 * l2 * ((V**2).sum() + (U**2).sum())
    if model is CCPMF:
        L_S, L_C = laplacians(X, noisy)
        value += 0.5 * a * np.trace(V.T @ L_S @ V) + 0.5 * b * np.trace(U.T @ L_C @ U)
    else:
        S, C = graphs(X, noisy)
        value += 0.5 * a * ((S - V @ V.T) ** 2).sum() + 0.5 * b * ((C - U @ U.T) ** 2).sum()
    assert fitted.objective_ == pytest.approx(value, rel=1e-9)


def test_factor_objectives_count_the_tag_matrix_without_filling_it() -> None:
    X, noisy, _ = groups()
    fitted = CCPMF(3, a=0.0, b=0.0, l2=0.0, n_neighbors=5, random_state=0).fit(X, noisy)
    assert fitted.objective_ == pytest.approx(0.5 * ((noisy - fitted.relevance_) ** 2).sum(), rel=1e-9)
    best = np.linalg.svd(noisy, compute_uv=False)[3:]
    assert fitted.objective_ == pytest.approx(0.5 * (best**2).sum(), rel=1e-3)


def test_weights_of_a_rebuilt_image_are_at_a_minimum() -> None:
    rng = np.random.default_rng(0)
    known, x = rng.standard_normal((30, 20)), rng.standard_normal(20)
    weights = sparse_reconstruction(x[None], known, penalty=0.2).toarray()[0]
    largest = np.abs(known @ x).max()
    slopes = known @ (x - weights @ known)
    assert 0 < np.count_nonzero(weights) < 20
    assert np.abs(slopes).max() <= 0.2 * largest * 1.01
    np.testing.assert_allclose(slopes[weights != 0], 0.2 * largest * np.sign(weights[weights != 0]), rtol=0.02)


def test_a_new_image_is_rebuilt_from_few_known_ones() -> None:
    rng = np.random.default_rng(0)
    known = rng.standard_normal((30, 20))
    weights = sparse_reconstruction(known[[3, 7]], known, penalty=0.05).toarray()
    assert np.argmax(weights, axis=1).tolist() == [3, 7]
    assert np.all(weights[[0, 1], [3, 7]] > 0.8)
    assert np.count_nonzero(weights) < 30
