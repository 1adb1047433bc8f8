"""What MCL and N2S2L are compared with: each is its own formula, or scikit-learn's."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.decomposition import NMF
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

import vennmf as vn
from vennmf.baselines import GNMF, LNMF, SULF, BestViewNMF, ConcatNMF, HarmonicFields, MarginalFisher, MultiNMF
from vennmf.matrices.graphs import between_class_graph, neighbour_graph, same_class_graph

pytestmark = pytest.mark.filterwarnings("ignore::vennmf.errors.ConvergenceWarning")

Y = np.repeat([0, 1, 2], 10)
LABELS = np.where(np.arange(30) % 10 < 4, Y, -1)


def views(seed=0):
    rng = np.random.default_rng(seed)
    H = rng.random((30, 3)) * 0.4
    H[np.arange(30), Y] += 1
    return {"a": H @ rng.random((3, 12)) + 0.05 * rng.random((30, 12)), "b": H @ rng.random((3, 7))}


def laplacian(S):
    S = S.toarray() if sp.issparse(S) else S
    return np.diag(S.sum(axis=1)) - S


def errors(model, X):
    return sum(0.5 * np.sum((X[name] - model.encodings_ @ model.components_[name]) ** 2) for name in X)


def test_concat_nmf_is_nmf_of_the_views_side_by_side():
    X = views()
    model = ConcatNMF(3, random_state=0, n_init=3, max_iter=500).fit(X)
    whole = np.hstack(list(X.values()))
    theirs = NMF(3, init="nndsvda", max_iter=2000, tol=1e-7).fit(whole)
    assert errors(model, X) == pytest.approx(model.objective_, rel=1e-6)
    assert model.objective_ <= 0.5 * theirs.reconstruction_err_**2 * 1.01


def test_gnmfs_objective_is_its_formula():
    X = views()
    model = GNMF(3, smoothness=0.3, n_neighbors=4, random_state=0).fit(X)
    L = laplacian(neighbour_graph(np.hstack(list(X.values())), 4))
    V = model.encodings_
    assert model.objective_ == pytest.approx(errors(model, X) + 0.15 * np.trace(V.T @ L @ V), rel=1e-6)


def test_supervised_gnmf_has_the_within_class_graph():
    X = views()
    model = GNMF(3, smoothness=0.3, supervised=True, random_state=0).fit(X, LABELS)
    known = LABELS >= 0
    same = LABELS[known][:, None] == LABELS[known][None, :]
    V = model.encodings_[known]
    within = np.trace(V.T @ laplacian(np.where(same, 1 / 4 - 1 / 12, 0)) @ V)
    assert model.objective_ == pytest.approx(errors(model, X) + 0.15 * within, rel=1e-6)


def test_sulfs_objective_is_its_formula():
    X = views()
    model = SULF(4, strength=2.0, ridge=0.3, random_state=0, max_iter=500).fit(X, LABELS)
    known = LABELS >= 0
    labels = np.sum((np.eye(3)[LABELS[known]] - model.encodings_[known] @ model.label_components_) ** 2)
    ridge = 0.15 * np.sum(model.encodings_**2)
    assert model.objective_ == pytest.approx(errors(model, X) + labels + ridge, rel=1e-6)
    assert labels < 12 / 4  # a quarter of what leaving the labels alone would cost
    with pytest.raises(vn.ParameterError, match="keeps for the labels"):
        SULF(2).fit({"labels": X["a"]}, LABELS)


def test_the_best_view_is_that_whose_encodings_tell_the_labelled_items_apart():
    X = views() | {"noise": np.random.default_rng(1).random((30, 9))}
    del X["a"]
    model = BestViewNMF(3, random_state=0).fit(X, LABELS)
    assert model.view_ == "b"
    assert model.accuracies_["b"] > model.accuracies_["noise"]
    alone = ConcatNMF(3, random_state=0).fit({"b": X["b"]})
    np.testing.assert_array_equal(model.encodings_, alone.encodings_)
    np.testing.assert_array_equal(model.transform(X), alone.transform({"b": X["b"]}))
    with pytest.raises(vn.ParameterError, match="at least 2 are needed"):
        BestViewNMF(3).fit(X, np.full(30, -1))
    with pytest.raises(vn.ParameterError, match="the best view, 'b', is missing"):
        model.transform({"noise": X["noise"]})


@pytest.mark.parametrize("consensus", [0.01, 1.0, 100.0])
def test_multinmfs_objective_is_its_formula_and_never_rises(consensus):
    X = views()
    model = MultiNMF(3, consensus=consensus, random_state=0).fit(X)
    assert np.all(np.diff(model.objectives_) <= 1e-12)
    total = 0.0
    for name, V in model.view_encodings_.items():
        U = model.components_[name].T
        assert U.sum(axis=0) == pytest.approx(np.ones(3)), name
        total += np.sum((X[name] / X[name].sum() - V @ U.T) ** 2)
        total += consensus * np.sum((V @ np.diag(U.sum(axis=0)) - model.encodings_) ** 2)
    assert model.objectives_[-1] == pytest.approx(total, rel=1e-9)
    assert model.encodings_ == pytest.approx(np.mean(list(model.view_encodings_.values()), axis=0))


def test_views_agree_more_where_multinmfs_consensus_weighs_more():
    apart = []
    for consensus in (0.01, 1.0, 100.0):
        V = MultiNMF(3, consensus=consensus, random_state=0).fit(views()).view_encodings_
        apart.append(np.linalg.norm(V["a"] - V["b"]) / np.linalg.norm(V["a"] + V["b"]))
    assert apart[0] > apart[1] > apart[2]


def test_lnmfs_rules_lower_the_divergence_and_its_columns_sum_to_one():
    X = views()["a"]
    found = []
    for max_iter in (1, 10, 100):
        model = LNMF(3, max_iter=max_iter, random_state=0).fit(X)
        assert model.components_.sum(axis=1) == pytest.approx(np.ones(3))
        Z = model.encodings_ @ model.components_
        scale = X.sum() / Z.sum()
        found.append(np.sum(X * np.log(X / (scale * Z)) - X + scale * Z))
    assert found[2] < found[1] < found[0]
    np.testing.assert_allclose(model.transform(X), X @ np.linalg.pinv(model.components_))


def test_lnmf_is_its_three_published_rules():
    """Li et al.'s (7) to (9), entry by entry: X ~ B H with features in rows, columns of B of sum 1."""
    X = views()["b"][:6]
    start = LNMF(2, max_iter=0, random_state=0).fit(X)
    B, H = start.components_.T.copy(), start.encodings_.T.copy()
    (m, k), n = B.shape, len(X)
    for _ in range(3):
        R = X.T / (B @ H)
        H = np.array(
            [[np.sqrt(H[a, j] * sum(R[i, j] * B[i, a] for i in range(m))) for j in range(n)] for a in range(k)]
        )
        R = X.T / (B @ H)
        B = np.array(
            [[B[i, a] * sum(R[i, j] * H[a, j] for j in range(n)) / H[a].sum() for a in range(k)] for i in range(m)]
        )
        B = B / B.sum(axis=0)
    model = LNMF(2, max_iter=3, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_.T, B, rtol=1e-8)
    np.testing.assert_allclose(model.encodings_.T, H, rtol=1e-8)


def test_local_and_global_consistency_is_scikit_learns():
    """Zhou et al. 2003: F* = (I - α S)^-1 Y with S = D^-1/2 W D^-1/2."""
    X = views()["a"]
    W = neighbour_graph(X, 5, heat=True).toarray()
    S = W / np.sqrt(np.outer(W.sum(axis=1), W.sum(axis=1)))
    given = np.where(LABELS[:, None] == np.arange(3), 1.0, 0.0)
    F = np.linalg.solve(np.eye(30) - 0.7 * S, given)
    theirs = LabelSpreading(kernel=lambda A, B: W, alpha=0.7, max_iter=2000, tol=1e-12).fit(X, LABELS)
    np.testing.assert_allclose(theirs.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-8)


def test_harmonic_fields_are_where_label_propagation_ends():
    X = views()["a"]
    graph = neighbour_graph(X, 5)
    ours = HarmonicFields(graph=graph).fit(X, LABELS)
    theirs = LabelPropagation(kernel=lambda A, B: graph.toarray(), max_iter=20000, tol=1e-12).fit(X, LABELS)
    np.testing.assert_allclose(ours.label_distributions_, theirs.label_distributions_, atol=1e-6)


def test_class_mass_normalisation_scales_the_classes_to_their_shares():
    X = views()["a"]
    labels = np.where((LABELS == 0) & (np.arange(30) > 0), -1, LABELS)
    plain, scaled = (HarmonicFields(class_mass=mass).fit(X, labels) for mass in (False, True))
    open_ = labels < 0
    F = plain.label_distributions_[open_]
    expected = F * np.array([1, 4, 4]) / 9 / F.sum(axis=0)
    np.testing.assert_allclose(
        scaled.label_distributions_[open_], expected / expected.sum(axis=1, keepdims=True), atol=1e-10
    )


def test_items_that_no_label_reaches_get_the_classes_shares():
    X = np.r_[np.zeros((4, 1)), np.full((4, 1), 100.0)] + np.arange(8)[:, None] * 0.1
    found = HarmonicFields(2).fit(X, [0, 1, 1, -1, -1, -1, -1, -1]).label_distributions_
    np.testing.assert_allclose(found[4:], np.tile([1 / 3, 2 / 3], (4, 1)))
    with pytest.raises(vn.ParameterError, match="no item has a label"):
        HarmonicFields().fit(X, np.full(8, -1))


@pytest.mark.parametrize("smoothness", [0.0, 0.5])
def test_marginal_fisher_analysis_minimises_its_quotient(smoothness):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) + 2 * np.eye(3, 4)[Y]
    model = MarginalFisher(1, smoothness=smoothness, n_neighbors=4).fit(X, LABELS)
    used = X if smoothness else X[LABELS >= 0]
    labels = LABELS if smoothness else LABELS[LABELS >= 0]
    inside = laplacian(same_class_graph(used, labels)) + smoothness * laplacian(neighbour_graph(used, 4))
    apart = laplacian(between_class_graph(used, labels))
    z = model.transform(used)
    quotient = float(np.trace(z.T @ inside @ z) / np.trace(z.T @ apart @ z))
    best = scipy.linalg.eigh(used.T @ inside @ used, used.T @ apart @ used, eigvals_only=True)[0]
    assert quotient == pytest.approx(best, rel=1e-4)
    assert np.linalg.norm(model.projection_, axis=0) == pytest.approx(np.ones(1))
    with pytest.raises(vn.ParameterError, match="the labels are of 1, at least 2"):
        MarginalFisher().fit(X, np.zeros(30))
