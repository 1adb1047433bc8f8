"""Nonnegative semi-supervised learning: matrices and tensors, labels, encoding, classification, odd input."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import vennmf as vn
from vennmf.matrices.graphs import between_class_graph, neighbour_graph, same_class_graph

pytestmark = pytest.mark.filterwarnings("ignore::vennmf.errors.ConvergenceWarning")


def images(n_classes=4, each=8, shape=(6, 5), seed=0):
    """Items of a few classes: parts of the class, parts that all share, noise; two labels for each class."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), each)
    own = rng.random((n_classes, *shape)) * (rng.random((n_classes, *shape)) < 0.3)
    common = rng.random((3, *shape)) * (rng.random((3, *shape)) < 0.5)
    X = own[y] * rng.uniform(0.6, 1.2, (len(y), 1, 1)) + np.tensordot(rng.random((len(y), 3)), common, 1)
    labels = np.where(np.arange(len(y)) % each < 2, y, -1)
    return X + 0.05 * rng.random(X.shape), y, labels


def flat(X):
    return X.reshape(len(X), -1)


@parametrize_with_checks([vn.N2S2L(n_components=3, max_iter=30)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("tensor", [False, True])
def test_the_objective_never_rises_and_columns_have_unit_norm(solver, tensor):
    X, _, labels = images()
    model = vn.N2S2L(7, beta=1.0, solver=solver, random_state=0, max_iter=60).fit(X if tensor else flat(X), labels)
    objective = model.history_["objective"]
    assert np.all(np.diff(objective) <= 1e-10 * objective[0])
    for factor in model.factors_:
        assert np.linalg.norm(factor, axis=0) == pytest.approx(np.ones(7))


def test_the_default_reaches_the_rules_objective_sooner():
    X, _, labels = images()
    rule = vn.N2S2L(7, solver="mu", random_state=0, max_iter=100, tol=0, min_change=0).fit(flat(X), labels)
    ours = vn.N2S2L(7, random_state=0, max_iter=100, tol=0, min_change=0).fit(flat(X), labels)
    reached = np.flatnonzero(ours.history_["objective"] <= rule.objective_)
    assert len(reached)
    assert reached[0] < 60


def test_the_matrix_case_is_the_tensor_of_order_two():
    X, _, labels = images()
    models = [vn.N2S2L(6, random_state=0, max_iter=20).fit(A, labels) for A in (flat(X), sp.csr_array(flat(X)))]
    np.testing.assert_allclose(models[0].encodings_, models[1].encodings_, atol=1e-8)
    assert models[0].components_.shape == (6, 30)
    assert vn.N2S2L(6, random_state=0, max_iter=5).fit(X, labels).components_.shape == (6, 6, 5)


def test_labels_and_neighbours_make_better_classifiers_than_reconstruction_alone():
    X, y, labels = images(n_classes=5, each=12, seed=3)
    X = X + 0.35 * np.random.default_rng(0).random(X.shape)
    hidden = labels < 0
    right = {}
    for alpha, beta in ((0, 0), (10, 0.1)):
        models = [vn.N2S2L(9, 5, alpha, beta, random_state=s, max_iter=100).fit(flat(X), labels) for s in range(3)]
        right[alpha] = np.mean([np.mean(m.predict(flat(X)[hidden]) == y[hidden]) for m in models])
    assert right[10] > right[0]
    assert right[10] >= 0.7


def test_many_labelled_items_of_a_class_cost_no_edges():
    X = sp.random(3000, 40, density=0.2, format="csr", random_state=0)
    model = vn.N2S2L(4, max_iter=2, random_state=0).fit(X, np.arange(3000) % 2)
    graphs = [penalty.graph.nnz for penalty in model.model_.penalties if hasattr(penalty, "graph")]
    assert len(model.model_.penalties) == 3
    assert sum(graphs) <= 2 * (3000 * 5 + 2 * 20)


def test_a_tensor_classifies_too():
    X, y, labels = images()
    model = vn.N2S2L(10, 4, random_state=0).fit(X, labels)
    hidden = labels < 0
    assert np.mean(model.predict(X[hidden]) == y[hidden]) >= 0.8
    assert model.predict_proba(X[:3]).sum(axis=1) == pytest.approx(np.ones(3))


def test_new_items_are_encoded_by_nonnegative_least_squares_or_the_pseudo_inverse():
    X, _, labels = images()
    for A in (X, flat(X)):
        model = vn.N2S2L(6, random_state=0, max_iter=30).fit(A, labels)
        basis = flat(model.components_).T
        expected = np.array([nnls(basis, x)[0] for x in flat(X)])
        np.testing.assert_allclose(model.transform(A), expected, atol=1e-3)
        np.testing.assert_allclose(model.transform(A, method="pinv"), flat(X) @ np.linalg.pinv(basis).T, atol=1e-8)


def test_masked_entries_take_no_part():
    X, _, labels = images()
    model = vn.N2S2L(6, random_state=0, max_iter=30).fit(X, labels)
    mask = np.ones(X.shape, bool)
    mask[:, :2, :2] = False
    spoilt = np.where(mask, X, 9.0)
    np.testing.assert_allclose(model.transform(spoilt, mask=mask), model.transform(X, mask=mask), atol=1e-12)
    scattered = np.random.default_rng(0).random(X.shape) < 0.7  # each item its own
    basis = flat(model.components_).T
    expected = [nnls(basis[m], x[m])[0] for x, m in zip(flat(X), flat(scattered), strict=True)]
    np.testing.assert_allclose(model.transform(X, mask=scattered), expected, atol=1e-3)
    whole = model.transform(X, mask=np.ones(X.shape, bool))
    np.testing.assert_allclose(whole, model.transform(X), atol=1e-3)
    np.testing.assert_array_equal(model.transform(spoilt, mask=mask[0]), model.transform(spoilt, mask=mask))
    assert not model.transform(X, mask=np.zeros(X.shape, bool)).any()
    with pytest.raises(vn.ParameterError, match="mask= needs"):
        model.transform(X, mask=mask, method="pinv")
    with pytest.raises(vn.ParameterError, match="mask has shape 31 × 6 × 5 and the items 32 × 6 × 5"):
        model.transform(X, mask=mask[1:])


def test_the_score_is_the_share_right_of_the_items_with_a_label():
    X, y, labels = images()
    words = np.where(labels < 0, "-1", np.array(["ann", "bob", "cleo", "dan"])[y])
    model = vn.N2S2L(10, 4, random_state=0, max_iter=50).fit(X, words)
    some = np.where(np.arange(len(y)) % 2, -1, y)
    expected = np.mean(model.predict(X)[::2] == np.array(["ann", "bob", "cleo", "dan"])[y[::2]])
    assert model.score(X, np.where(some < 0, "-1", np.array(["ann", "bob", "cleo", "dan"])[y])) == expected
    with pytest.raises(vn.ParameterError, match="nothing to score"):
        model.score(X, np.full(len(y), -1))
    search = GridSearchCV(vn.N2S2L(8, 4, random_state=0, max_iter=10), {"beta": [0.1, 1.0]}, cv=2).fit(flat(X), y)
    assert search.best_params_["beta"] in (0.1, 1.0)


def test_fit_transform_is_fit_then_transform():
    X, _, labels = images()
    model = vn.N2S2L(6, random_state=0, max_iter=30)
    np.testing.assert_array_equal(model.fit_transform(X, labels), model.fit(X, labels).transform(X))


def test_sizes_default_to_the_papers():
    X, _, labels = images()
    model = vn.N2S2L(random_state=0, max_iter=10).fit(flat(X), labels)
    assert len(model.components_) == 8 * 30 // (8 + 30)
    assert model.n_discriminative_ == 4


def test_given_graphs_take_the_place_of_those_from_labels():
    X, _, labels = images()
    built = vn.N2S2L(6, 4, random_state=0, max_iter=20).fit(flat(X), labels)
    graphs = {
        "within": same_class_graph(flat(X), labels),
        "between": between_class_graph(flat(X), labels, 20),
        "smooth": neighbour_graph(flat(X), 5),
    }
    given = vn.N2S2L(6, 4, random_state=0, max_iter=20, **graphs).fit(flat(X))
    np.testing.assert_allclose(built.encodings_, given.encodings_, atol=1e-8)


@pytest.mark.parametrize(
    "y",
    [
        None,
        np.full(32, -1),
        np.zeros(32, int),
        np.arange(32),
        np.array(["cat", "-1", "dog", "dog"] * 8),
        np.r_[0, np.ones(9, int), np.full(22, -1)],
    ],
    ids=["none", "all unknown", "one class", "more classes than components", "strings", "one item in a class"],
)
def test_any_labels_give_a_result(y):
    X, *_ = images()
    model = vn.N2S2L(5, random_state=0, max_iter=10).fit(flat(X), y)
    assert np.isfinite(model.encodings_).all()
    if y is None or not np.any(y.astype(str) != "-1"):
        with pytest.raises(vn.ParameterError, match="fitted without labels"):
            model.predict(flat(X))
    else:
        assert set(model.predict(flat(X))) <= set(np.asarray(y).tolist())


def test_what_cannot_be_used_is_said_in_one_line():
    X, _, labels = images()
    with pytest.raises(vn.ParameterError, match="n_discriminative=9 is larger than n_components=5"):
        vn.N2S2L(5, 9).fit(X, labels)
    with pytest.raises(vn.SourceError, match="takes one matrix or array"):
        vn.N2S2L(5).fit({"a": flat(X)}, labels)
    with pytest.raises(vn.ParameterError, match="3 × 3 for 32 items"):
        vn.N2S2L(5, smooth=np.eye(3)).fit(X, labels)
    model = vn.N2S2L(5, max_iter=5, random_state=0).fit(X, labels)
    with pytest.raises(vn.SourceError, match="6 × 4, but 6 × 5 was fitted"):
        model.transform(X[:, :, :4])
    with pytest.raises(vn.ParameterError, match="expected 'nnls' or 'pinv'"):
        model.transform(X, method="svd")


def test_a_saved_model_classifies_alike(tmp_path):
    X, _, labels = images()
    model = vn.N2S2L(6, random_state=0, max_iter=20).fit(X, labels)
    model.save(tmp_path / "faces.venn")
    again = vn.load(tmp_path / "faces.venn")
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
