"""Multi-view concept learning: planted patterns, any subset of views, few labels, odd input."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.utils.estimator_checks import parametrize_with_checks

import vennmf as vn

pytestmark = pytest.mark.filterwarnings("ignore::vennmf.errors.ConvergenceWarning", "ignore::vennmf.errors.DataWarning")


def toy(seed=0, n=20, m=10):
    """The paper's toy problem (section 5.1): two classes, each with a factor of view a, one of view b and a shared one."""
    rng = np.random.default_rng(seed)
    used = {"a": [True, False, True] * 2, "b": [False, True, True] * 2}
    y = np.repeat([0, 1], n // 2)
    V = np.zeros((n, 6))
    for c in (0, 1):
        V[np.ix_(y == c, np.arange(3 * c, 3 * c + 3))] = rng.uniform(0.4, 1, (n // 2, 3))
    views = {}
    for name, uses in used.items():
        B = rng.gamma(1, 1 / 0.9, (6, m))
        B[rng.random((6, m)) < 0.35] = 0
        B[~np.array(uses)] = 0
        views[name] = np.maximum(V @ B + 0.05 * rng.standard_normal((n, m)), 0)
    labels = np.where(np.arange(n) % (n // 2) < 5, y, -1)
    return views, labels, y, V, used


def fitted(**parameters):
    X, labels, *_ = toy()
    defaults = {"n_components": 6, "alpha": 0.3, "beta": 0.2, "gamma": 0.01, "random_state": 0, "max_iter": 300}
    return vn.MCL(**{**defaults, **parameters}).fit(X, labels), X, labels


@parametrize_with_checks([vn.MCL(n_components=2, alpha=0.01, max_iter=50), vn.MCL(scale="data", max_iter=50)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


def best_of(X, labels, **parameters):
    models = [vn.MCL(6, random_state=seed, max_iter=300, **parameters).fit(X, labels) for seed in range(4)]
    return min(models, key=lambda model: model.objective_)


def matched(model, V):
    """Which learnt factor stands for each true one, by the cosine of their encodings."""
    unit = [A / np.maximum(np.linalg.norm(A, axis=0), 1e-12) for A in (V, model.encodings_)]
    return linear_sum_assignment(-(unit[0].T @ unit[1]))[1]


def leak(model, y):
    """How much of the classes' mean encodings lies on factors of the other class."""
    means = np.array([model.encodings_[y == c].mean(axis=0) for c in (0, 1)])
    return means.min(axis=0).sum() / means.sum()


def test_the_toy_problems_shared_and_private_factors_and_its_classes_are_recovered():
    X, labels, y, V, used = toy()
    truth = np.array([used["a"], used["b"]]).T
    model = best_of(X, labels, alpha=0.6, beta=0.15, gamma=0.05)
    assert np.sum(model.views_of_factors_.to_numpy()[matched(model, V)] == truth) >= 10
    assert leak(model, y) < leak(best_of(X, labels, alpha=0.6, beta=0.0, gamma=0.05), y)
    dense = best_of(X, labels, alpha=0.0, beta=0.15, gamma=0.0)
    assert dense.views_of_factors_.to_numpy().all()


def test_encodings_stay_in_the_box_and_the_objective_never_rises():
    for solver in ("cd", "paper"):
        model, *_ = fitted(solver=solver)
        assert model.encodings_.min() >= 0
        assert model.encodings_.max() <= 1
        assert np.all(np.diff(model.history_["objective"]) <= 1e-9)


def test_fit_transform_is_fit_then_transform():
    X, labels, *_ = toy()
    model = vn.MCL(4, alpha=0.3, random_state=0)
    np.testing.assert_array_equal(model.fit_transform(X, labels), model.fit(X, labels).transform(X))


@pytest.mark.parametrize("names", [("a",), ("b",), ("a", "b"), ("b", "a")])
def test_any_subset_of_the_views_is_encoded_to_optimality(names):
    model, X, _ = fitted()
    V = model.transform({name: X[name] for name in names})
    gradient = model.gamma + sum((V @ model.components_[n] - X[n]) @ model.components_[n].T for n in names)
    rest = V - np.clip(V - gradient, 0, 1)
    assert np.max(np.abs(rest)) <= 1e-4 * np.max(X["a"] @ model.components_["a"].T)


def test_items_that_lack_a_view_count_only_in_those_they_have():
    X, labels, *_ = toy()
    has = np.arange(20) % 4 > 0
    part = {"a": X["a"], "b": X["b"][has]}
    model = vn.MCL(4, alpha=0.3, random_state=0).fit(part, labels, rows={"b": has})
    by_position = vn.MCL(4, alpha=0.3, random_state=0).fit(part, labels, rows={"b": np.flatnonzero(has)})
    np.testing.assert_array_equal(model.encodings_, by_position.encodings_)
    assert model.encodings_.shape == (20, 4)
    alone = model.transform({"a": X["a"][~has]})
    np.testing.assert_allclose(model.transform(part, rows={"b": has})[~has], alone, atol=1e-4)


def test_scale_data_does_not_depend_on_the_unit_of_a_view():
    X, labels, *_ = toy()
    encodings = [
        vn.MCL(4, scale="data", random_state=0).fit({"a": c * X["a"], "b": X["b"]}, labels).encodings_
        for c in (1, 1024)
    ]
    np.testing.assert_allclose(*encodings, atol=1e-6)


def test_a_scale_that_makes_the_papers_weights_meaningless_is_told_with_numbers():
    X, labels, *_ = toy()
    with pytest.warns(vn.DataWarning, match=r"alpha=150 empties .* mass 33.7"):
        vn.MCL(6).fit(X, labels)
    with pytest.warns(vn.DataWarning, match="beta=0.02 has next to no effect"):
        vn.MCL(6, alpha=1e4).fit({name: 1000 * M for name, M in X.items()}, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error", vn.DataWarning)
        vn.MCL(6, scale="data").fit(X, labels)


def test_the_within_term_alone_is_the_within_half_of_the_papers():
    X, labels, *_ = toy()
    model = vn.MCL(4, alpha=0.1, beta=0.5, label_term="within", random_state=0).fit(X, labels)
    known = labels >= 0
    y, V = labels[known], model.encodings_[known]
    W = np.where(y[:, None] == y[None, :], 1 / 5 - 1 / 10, 0)
    within = np.trace(V.T @ (np.diag(W.sum(axis=1)) - W) @ V)
    assert model.history_["WithinScatter"][-1] == pytest.approx(0.25 * within, rel=1e-6)


def test_given_graphs_take_the_place_of_the_papers():
    X, _, y, *_ = toy()
    same = sp.csr_array((y[:, None] == y[None, :]).astype(float) - np.eye(20))
    model = vn.MCL(4, alpha=0.1, beta=0.1, within=same, between=same * 0.1, random_state=0).fit(X)
    assert {model.model_.penalties[n].weight for n in (1, 2)} == {0.1, -0.1}
    with pytest.raises(vn.ParameterError, match="5 × 5 for 20 items"):
        vn.MCL(4, within=np.eye(5)).fit(X)


@pytest.mark.parametrize(
    "y",
    [
        None,
        np.full(20, -1),
        np.zeros(20, int),
        np.arange(20),
        np.array(["cat", "dog", -1, "cat"] * 5, dtype=object),
        np.array(["cat", "dog", "-1", "cat"] * 5),
        np.array([True, False] * 10),
        np.r_[0, np.ones(9), np.full(10, -1)],
    ],
    ids=[
        "none",
        "all unknown",
        "one class",
        "more classes than components",
        "mixed",
        "strings",
        "booleans",
        "one item",
    ],
)
def test_any_labels_give_a_result(y):
    X, *_ = toy()
    model = vn.MCL(3, alpha=0.1, random_state=0, max_iter=20).fit(X, y)
    assert np.isfinite(model.encodings_).all()
    assert np.isfinite(model.objective_)


def test_strings_and_numbers_are_the_same_labels():
    X, labels, *_ = toy()
    words = np.where(labels < 0, "-1", np.where(labels == 0, "cat", "dog"))
    models = [vn.MCL(4, alpha=0.3, random_state=0).fit(X, y) for y in (labels, words)]
    np.testing.assert_array_equal(models[0].encodings_, models[1].encodings_)
    assert models[1].classes_.tolist() == ["cat", "dog"]


def test_zero_rows_are_encoded_as_zero():
    X, labels, *_ = toy()
    for M in X.values():
        M[3] = 0
    model = vn.MCL(4, alpha=0.1, beta=0, random_state=0).fit(X, labels)
    assert not model.transform(X)[3].any()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ({"a": np.ones((4, 3)), "b": np.ones((5, 3))}, None, "'b' has 5 items and source 'a' has 4"),
        ({"a": np.ones((4, 3))}, [0, 1], "shape .2,. and there are 4 items"),
        ({"a": np.ones((4, 3))}, [0.5, 1, 0, 1], "Pass whole numbers"),
        ({"a": np.zeros((4, 3))}, None, "all zero"),
        ({}, None, "no sources"),
        ([np.ones((4, 3)), np.ones((4, 2))], None, "2 views came without names"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(X, y, message):
    with pytest.raises(vn.VennmfError, match=message):
        vn.MCL(2).fit(X, y)


def test_an_unknown_view_and_wrong_features_are_refused():
    model, X, _ = fitted(max_iter=5)
    with pytest.raises(vn.SourceError, match="no view 'c'"):
        model.transform({"c": X["a"]})
    with pytest.raises(vn.SourceError, match="9 features, but 10 were fitted"):
        model.transform({"a": X["a"][:, 1:]})
    with pytest.raises(vn.SourceError, match="rows names 'c'"):
        vn.MCL(2).fit(X, rows={"c": [0]})
    with pytest.raises(vn.SourceError, match="mask over 19 items, and there are 20"):
        vn.MCL(2).fit({"a": X["a"], "b": X["b"][:3]}, rows={"b": np.arange(19) < 3})
    with pytest.raises(vn.ParameterError, match="rows= is for a dict of views"):
        vn.MCL(2).fit(vn.ViewSet.of(X, shared="items"), rows={"a": np.ones(20, bool)})


def test_an_item_that_no_view_has_is_encoded_as_zero():
    X, labels, *_ = toy()
    has = np.arange(20) != 5
    model = vn.MCL(4, scale="data", beta=0, random_state=0).fit(
        {name: M[has] for name, M in X.items()}, labels, rows=dict.fromkeys(X, has)
    )
    assert not model.encodings_[5].any()
    assert model.encodings_[has].any(axis=1).all()


def test_a_saved_model_encodes_alike(tmp_path):
    model, X, _ = fitted()
    model.save(tmp_path / "model.venn")
    again = vn.load(tmp_path / "model.venn")
    np.testing.assert_array_equal(model.transform(X), again.transform(X))
    assert again.views_of_factors_.equals(model.views_of_factors_)
