"""LSSMTC and ASI, the second paper's multi-task baselines: each is its formula."""

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.baselines import LSSMTC
from vennmf.baselines.multitask import centroids, semi_nmf_step, subspace
from vennmf.errors import ParameterError
from vennmf.evaluation import clustering_accuracy


def sources(seed=0, n=60, spread=0.25):
    """Two sources of three classes on lines of their own, with features only one of them uses."""
    rng = np.random.default_rng(seed)
    centres = np.eye(3, 12) * 3
    truth = {name: np.arange(n) % 3 for name in ("a", "b")}
    X = {}
    for k, name in enumerate(truth):
        X[name] = centres[truth[name]] + np.abs(rng.normal(0, spread, (n, 12)))
        X[name][:, 3 + 4 * k : 6 + 4 * k] += rng.random((n, 3))
    return X, truth


def formula(model, X):
    """The objective of the docstring, at the best centroids for the fitted memberships and subspace."""
    W, P = model.subspace_, model.memberships_
    own = sum(np.sum((X[s] - P[s] @ np.linalg.lstsq(P[s], X[s])[0]) ** 2) for s in X)
    rows, together = np.vstack(list(X.values())) @ W, np.vstack(list(P.values()))
    shared = np.sum((rows - together @ np.linalg.lstsq(together, rows)[0]) ** 2)
    return model.own_weight * own + (1 - model.own_weight) * shared


@pytest.mark.parametrize("own_weight", [0.0, 0.3, 1.0])
def test_the_objective_is_the_formula_and_never_rises(own_weight):
    X, _ = sources()
    model = LSSMTC(3, 2, own_weight, random_state=0, tol=1e-10, max_iter=300).fit(X)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])
    assert model.objective_ == pytest.approx(formula(model, X), rel=1e-9)
    assert np.allclose(model.subspace_.T @ model.subspace_, np.eye(2))


def test_no_other_subspace_of_the_span_does_better():
    rng = np.random.default_rng(1)
    Z, P = rng.normal(size=(40, 6)), rng.random((40, 3))
    W, N = subspace(Z, P, 2)
    best = np.sum((Z @ W - P @ N) ** 2)
    for _ in range(50):
        other = np.linalg.qr(rng.normal(size=(6, 2)))[0]
        assert np.sum((Z @ other - P @ centroids(Z @ other, P)) ** 2) >= best - 1e-9


def test_the_step_of_the_memberships_keeps_them_nonnegative_and_lowers_their_problem():
    rng = np.random.default_rng(2)
    P, C, M = rng.random((20, 3)), rng.normal(size=(20, 3)), rng.normal(size=(3, 5))
    G = M @ M.T
    value = [0.5 * np.sum((P @ G) * P) - np.sum(P * C)]
    for _ in range(30):
        P = semi_nmf_step(P, C, G)
        value.append(0.5 * np.sum((P @ G) * P) - np.sum(P * C))
    assert P.min() >= 0
    assert np.all(np.diff(value) <= 1e-12)
    assert value[-1] < value[0]


def test_without_own_centroids_it_is_asi_of_the_stacked_sources():
    X, _ = sources()
    together = LSSMTC(3, 2, 0.0, random_state=0).fit(X)
    stacked = LSSMTC(3, 2, 0.0, random_state=0).fit({"all": np.vstack(list(X.values()))})
    assert np.allclose(np.vstack(list(together.memberships_.values())), stacked.memberships_["all"])


@pytest.mark.parametrize("own_weight", [0.0, 0.2, 0.5])
def test_planted_clusters_are_found_in_both_sources(own_weight):
    X, truth = sources()
    model = LSSMTC(3, 3, own_weight, random_state=0).fit({s: sp.csr_array(M) for s, M in X.items()})
    for source, labels in truth.items():
        assert clustering_accuracy(labels, model.labels_[source]) > 0.95


def test_a_subspace_larger_than_its_span_is_refused():
    with pytest.raises(ParameterError, match="span"):
        LSSMTC(2, 5, span=3).fit(sources()[0])
