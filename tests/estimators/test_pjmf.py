"""PJMF as an estimator: what a user calls, what may come in, and what scikit-learn expects."""

from __future__ import annotations

import pickle
import signal
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import vennmf as vn
from vennmf.errors import ConvergenceWarning, ParameterError, SourceError, StorageError
from vennmf.estimators.pjmf import PJMF

INDICATOR = (
    "PJMF is a multilabel estimator whatever y is: predict gives an indicator of images × tags, the check wants (n,)"
)
EXEMPT = dict.fromkeys(("check_estimator_sparse_array", "check_estimator_sparse_matrix"), INDICATOR)


@parametrize_with_checks([PJMF(n_components=2)], expected_failed_checks=lambda estimator: EXEMPT)
def test_scikit_learn_accepts_the_estimator(estimator, check) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def planted(n: int = 200, d: int = 10, p: int = 4, m: int = 12, seed: int = 0):
    """Images in groups, each group with three tags of its own; features are the groups' places, turned and padded."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % (m // 3)
    centres = np.eye(m // 3, p) * 3
    X = (centres[group] + 0.1 * rng.standard_normal((n, p))) @ np.linalg.qr(rng.standard_normal((d, p)))[0].T
    Y = np.zeros((n, m))
    for j in range(m):
        Y[group == j // 3, j] = 1
    return X, sp.csr_array(Y)


def model(**parameters) -> PJMF:
    given = {"n_components": 4, "n_neighbors": 10, "scaling": "center", "random_state": 0, "top": 3} | parameters
    return PJMF(**given)


def test_annotating_noiseless_training_images_gives_their_tags_back() -> None:
    X, Y = planted()
    fitted = model().fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(X), Y.toarray())
    for suggestions, tags in zip(fitted.annotate(X, top=3), Y.toarray(), strict=True):
        assert {s.tag for s in suggestions} == set(np.flatnonzero(tags))
        assert all(0.5 < s.score <= 1 for s in suggestions)
    assert fitted.refine(top=3) == fitted.annotate(X, top=3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scaling", ["center", "whiten", None])
def test_history_is_feasible_never_rises_and_adds_up(dtype: type, scaling: str | None) -> None:
    X, Y = planted()
    fitted = model(tol=1e-6, scaling=scaling).fit(X.astype(dtype), Y)
    history = fitted.history_
    assert np.all(np.diff(history["objective"]) <= 0)
    assert history["orthonormality_error"].max() <= 1e-10
    assert history["centring_error"].max() <= 1e-10
    parts = [history[name] for name in ("fit", "distance", "image_graph", "tag_graph")]
    np.testing.assert_allclose(history["objective"], sum(parts), rtol=1e-12)
    assert {len(column) for column in history.values()} == {fitted.n_iter_}
    assert fitted.objective_ == history["objective"][-1]
    stored = 1e-10 if dtype == np.float64 else 1e-6
    np.testing.assert_allclose(fitted.projection_.T @ fitted.projection_, np.eye(4), atol=stored)
    np.testing.assert_allclose(fitted.tag_embedding_.sum(0) + fitted.embedding_.sum(0), 0, atol=100 * stored)


def test_tags_may_be_lists_matrices_or_tables() -> None:
    X, Y = planted(n=60)
    names = [f"tag{j:02}" for j in range(12)]
    lists = [[names[j] for j in np.flatnonzero(row)] for row in Y.toarray()]
    by_lists = model().fit(X, lists)
    assert by_lists.classes_.tolist() == names
    for tags in (Y.toarray(), Y.tocsc(), pd.DataFrame(Y.toarray(), columns=names)):
        other = model().fit(X, tags, tag_names=names)
        np.testing.assert_array_equal(other.tag_embedding_, by_lists.tag_embedding_)
        assert other.classes_.tolist() == names
    equal_lengths = model().fit(X, np.array(lists).tolist())
    assert equal_lengths.classes_.tolist() == names
    assert by_lists.annotate(X[:1], top=1)[0][0].tag in lists[0]


def test_search_finds_the_images_of_a_tag() -> None:
    X, Y = planted()
    fitted = model().fit(X, Y)
    found = fitted.search(5, top=50)
    assert all(Y[hit.position, 5] == 1 for hit in found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(hit.position < 30 for hit in fitted.search(5, top=5, X=X[:30]))
    with pytest.raises(ParameterError, match="there is no tag 'sae' among the 2 of the model; near to it are 'sea'"):
        model().fit(X, [["sea", "sky"]] * 200).search("sae")


def test_found_images_bear_the_names_of_their_rows(tmp_path: Path) -> None:
    X, Y = planted(n=40)
    frame = pd.DataFrame(X, index=[f"photo-{i}" for i in range(40)])
    fitted = model().fit({"colour": frame}, Y)
    fitted.save(tmp_path / "named.venn")
    for found in (fitted.search(5, top=3), vn.load(tmp_path / "named.venn").search(5, top=3)):
        assert [hit.item for hit in found] == [f"photo-{hit.position}" for hit in found]
    assert fitted.search(5, top=1, X={"colour": X})[0].item == fitted.search(5, top=1)[0].position
    assert fitted.search(5, top=1, X={"colour": frame[20:]})[0].item in frame.index[20:]


def test_the_score_is_one_where_all_own_tags_stand_first() -> None:
    X, Y = planted()
    assert model().fit(X, Y).score(X, Y) == pytest.approx(1.0)


def test_new_tags_fold_in_beside_their_like() -> None:
    X, Y = planted()
    known = [0, 1, 3, 4, 6, 7, 9, 10]
    fitted = model().fit(X, Y[:, known], tag_names=[str(j) for j in known])
    before = fitted.tag_embedding_.copy()
    fitted.add_tags(X, Y[:, [2, 5]], tag_names=["2", "5"])
    np.testing.assert_array_equal(fitted.tag_embedding_[:8], before)
    assert {s.tag for s in fitted.annotate(X[:1], top=3)[0]} == {"0", "1", "2"}
    assert {s.tag for s in fitted.annotate(X[1:2], top=3)[0]} == {"3", "4", "5"}
    with pytest.raises(SourceError, match="tag '2' is in the model already"):
        fitted.add_tags(X, Y[:, [2]], tag_names=["2"])


def test_order_of_images_tags_and_features_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 7))
    Y = (rng.random((80, 9)) < 0.3).astype(float)
    fitted = model(n_components=3, scaling="standard").fit(X, Y)
    wanted = fitted.decision_function(X)
    images, tags, features = rng.permutation(80), rng.permutation(9), rng.permutation(7)
    turned = model(n_components=3, scaling="standard").fit(X[np.ix_(images, features)], Y[np.ix_(images, tags)])
    assert turned.objective_ == pytest.approx(fitted.objective_, rel=1e-6)
    found = turned.decision_function(X[np.ix_(images, features)])
    np.testing.assert_allclose(found, wanted[np.ix_(images, tags)], rtol=1e-2, atol=1e-2)


def test_views_by_name_count_by_their_weights() -> None:
    X, Y = planted()
    noise = np.random.default_rng(5).standard_normal(X.shape)
    views = {"colour": X, "noise": noise}
    fitted = model(view_weights={"colour": 3.0}).fit(views, Y)
    scaled = fitted.scaling_["scales"]
    energy = {
        name: float(((views[name] - views[name].mean(0)) ** 2 * scaled[name] ** 2).sum(1).mean()) for name in views
    }
    assert energy["colour"] == pytest.approx(0.75)
    assert energy["noise"] == pytest.approx(0.25)
    assert fitted.transform(views).shape == (200, 4)
    with pytest.raises(SourceError, match="was fitted on the feature views"):
        fitted.transform({"colour": X})
    with pytest.raises(ParameterError, match="view_weights names 'color'"):
        model(view_weights={"color": 1.0}).fit(views, Y)


@pytest.mark.parametrize("scaling", ["standard", "center", None])
def test_sparse_features_are_never_filled_in_and_change_nothing(scaling: str | None) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 12), density=0.3, rng=rng, format="csr")
    Y = (rng.random((60, 6)) < 0.3).astype(float)
    given = {"scaling": scaling, "unit_length": False, "max_iter": 20, "tol": 0, "min_change": 0}
    sparse, dense = (model(**given) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sparse.fit(X, Y)
        dense.fit(X.toarray(), Y)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    np.testing.assert_allclose(sparse.transform(X), sparse.transform(X.toarray()), atol=1e-12)
    with pytest.raises(ParameterError, match="would fill in sparse features"):
        model(scaling="whiten").fit(X, Y)


def test_sparse_images_of_unit_length_are_centred_without_being_filled_in() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((60, 12), density=0.3, rng=rng, format="csr")
    Y = (rng.random((60, 6)) < 0.3).astype(float)
    fitted = model(scaling="standard").fit(X, Y)
    scaled = X.toarray() / X.toarray().std(axis=0)
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    wanted = (scaled - scaled.mean(axis=0)) @ fitted.projection_
    np.testing.assert_allclose(fitted.transform(X), wanted, atol=1e-12)


@pytest.mark.parametrize("scaling", ["whiten", "standard", "center"])
def test_every_scaled_image_has_norm_one_but_for_the_mean_image(scaling: str) -> None:
    X, Y = planted()
    fitted = model(n_components=10, scaling=scaling).fit(1000 * X + 7, Y)
    np.testing.assert_allclose(np.linalg.norm(fitted.embedding_, axis=1), 1.0, rtol=1e-9)
    np.testing.assert_array_equal(fitted.transform((1000 * X + 7).mean(axis=0, keepdims=True)).round(6), 0.0)
    assert fitted.sigma_ == pytest.approx(0.5 if scaling == "whiten" else 0.3, rel=1e-9)


def test_scaling_makes_images_of_unit_mean_square_and_is_kept() -> None:
    X, Y = planted()
    for scaling in ("whiten", "standard", "center"):
        fitted = model(n_components=10, scaling=scaling, unit_length=False).fit(1000 * X + 7, Y)
        assert np.mean((fitted.embedding_**2).sum(1)) == pytest.approx(1.0, rel=1e-9)
        assert fitted.sigma_ == pytest.approx(0.5 if scaling == "whiten" else 0.3, rel=1e-9)
        np.testing.assert_allclose(fitted.transform(1000 * X + 7), fitted.embedding_, atol=1e-9)


def test_float32_stays_float32() -> None:
    X, Y = planted()
    fitted = model().fit(X.astype(np.float32), Y)
    assert {a.dtype for a in (fitted.projection_, fitted.tag_embedding_, fitted.embedding_)} == {np.dtype(np.float32)}
    assert fitted.transform(X.astype(np.float32)).dtype == np.float32
    assert fitted.history_["objective"].dtype == np.float64
    np.testing.assert_array_equal(fitted.predict(X), Y.toarray())


def test_a_ready_graph_takes_the_place_of_neighbours() -> None:
    X, Y = planted(n=60)
    own = model(n_neighbors=2).fit(X, Y)
    table = np.array([[(i + 4) % 60, (i + 8) % 60] for i in range(60)])
    given = model().fit(X, Y, neighbors=table)
    assert given.history_["image_graph"][0] != own.history_["image_graph"][0]
    similar = sp.csr_array((np.ones(120), (np.repeat(np.arange(60), 2), table.ravel())), shape=(60, 60))
    assert model().fit(X, Y, neighbors=similar).objective_ == given.objective_
    alone = model().fit(X, Y, neighbors=np.empty((60, 0), dtype=int))
    assert not alone.history_["image_graph"].any()
    with pytest.raises(SourceError, match="neighbors must be a table of row numbers"):
        model().fit(X, Y, neighbors=table + 1)
    with pytest.raises(SourceError, match=r"neighbors must be finite similarities >= 0 .* with entries from -1"):
        model().fit(X, Y, neighbors=-similar)


@pytest.mark.parametrize("solver", ["manifold", "paper"])
def test_both_solvers_lower_the_objective(solver: str) -> None:
    X, Y = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = model(solver=solver, step=1e-4, max_iter=30).fit(X, Y)
    assert fitted.objective_ < fitted.history_["objective"][0]


def test_too_long_a_fixed_step_says_so() -> None:
    X, Y = planted()
    with pytest.warns(ConvergenceWarning, match="fixed step=1 is too long here"):
        model(solver="paper", step=1.0).fit(X, Y)


def test_batches_are_feasible_and_never_rise() -> None:
    X, Y = planted(n=400)
    history = model(batch_size=50).fit(X, Y).history_
    assert np.all(np.diff(history["objective"]) <= 0)
    assert history["orthonormality_error"].max() <= 1e-10


EDGES = {
    "one image": (np.array([[1.0, 2.0, 3.0]]), [["a", "b"]]),
    "one tag": (np.random.default_rng(0).standard_normal((20, 3)), [["a"]] * 10 + [[]] * 10),
    "a tag on all images": (np.random.default_rng(0).standard_normal((20, 3)), [["a", "b"]] * 10 + [["a"]] * 10),
    "a constant feature": (np.column_stack([np.ones(20), np.arange(20.0), np.arange(20.0) ** 2]), [["a"], ["b"]] * 10),
    "equal images": (np.ones((20, 3)), [["a"], ["b"]] * 10),
    "an image without tags": (np.random.default_rng(0).standard_normal((20, 3)), [["a"], ["b"], []] * 6 + [["a"]] * 2),
}


@pytest.mark.parametrize("name", EDGES)
def test_edge_cases_give_a_result(name: str) -> None:
    X, tags = EDGES[name]
    for scaling in ("auto", "standard"):
        fitted = PJMF(n_components=2, scaling=scaling, random_state=0).fit(X, tags)
        assert np.isfinite(fitted.decision_function(X)).all()
        assert np.isfinite(fitted.tag_embedding_).all()
        assert np.all(np.diff(fitted.history_["objective"]) <= 0)
        assert len(fitted.annotate(X, top=5)[0]) == len(fitted.classes_)


def test_mistakes_get_one_line() -> None:
    X, Y = planted(n=30)
    with pytest.raises(ParameterError, match=r"n_components=11 .* Use n_components <= 10\."):
        model(n_components=11).fit(X, Y)
    with pytest.raises(SourceError, match="features have 30 images and tags 29"):
        model().fit(X, Y[:29])
    with pytest.raises(SourceError, match="tags must be 0 or 1; found 2"):
        model().fit(X, 2 * Y)
    with pytest.raises(SourceError, match="no tag at all"):
        model().fit(X, [[]] * 30)
    with pytest.raises(SourceError, match="requires y to be passed"):
        model().fit(X, None)
    with pytest.raises(SourceError, match=r"tags have 12 columns and 2 names"):
        model().fit(X, Y, tag_names=["a", "b"])
    with pytest.raises(ParameterError, match="top must be at least 1"):
        model().fit(X, Y).annotate(X, top=0)
    with pytest.raises(SourceError, match="tags must have names of their own; found 'a' twice"):
        model().fit(X, Y[:, :2], tag_names=["a", "a"])
    with pytest.raises(SourceError, match="tags must be of one kind; found int and str"):
        model().fit(X, [["a", 1]] * 30)
    with pytest.raises(SourceError, match="the tags of image 1 are None; give a list of tags"):
        model().fit(X, [["a"], None] * 15)
    with pytest.raises(ParameterError, match="view_weights must be above 0"):
        model(view_weights={"features": "heavy"}).fit(X, Y)
    with pytest.raises(NotFittedError):
        model().add_tags(X, Y)


def test_callbacks_see_every_step_and_may_stop() -> None:
    X, Y = planted()
    seen = []
    fitted = model().set_callbacks(vn.StopWhen(lambda step: seen.append(step.objective) or len(seen) == 4)).fit(X, Y)
    assert fitted.stop_reason_ == "callback"
    np.testing.assert_array_equal(fitted.history_["objective"], seen)


def test_an_interrupt_leaves_the_best_model() -> None:
    X, Y = planted()
    interrupt = vn.StopWhen(lambda step: step.iteration == 3 and signal.raise_signal(signal.SIGINT))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fitted = model().set_callbacks(interrupt).fit(X, Y)
    assert fitted.stop_reason_ == "interrupted"
    assert fitted.predict(X).shape == Y.shape


def test_limits_of_steps_and_time_are_kept_and_warned_of() -> None:
    X, Y = planted()
    with pytest.warns(ConvergenceWarning, match="max_iter after 3 iterations"):
        assert model(max_iter=3).fit(X, Y).n_iter_ == 3
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model(time_limit=1e-9).fit(X, Y)


def test_a_saved_model_comes_back_whole(tmp_path: Path) -> None:
    X, Y = planted()
    names = [f"tag{j}" for j in range(12)]
    fitted = model().fit({"a": X[:, :6], "b": X[:, 6:]}, Y, tag_names=names)
    fitted.save(tmp_path / "tags.venn")
    back = vn.load(tmp_path / "tags.venn")
    views = {"a": X[:, :6], "b": X[:, 6:]}
    assert back.annotate(views, top=2) == fitted.annotate(views, top=2)
    assert back.get_params() == fitted.get_params()
    assert pickle.loads(pickle.dumps(fitted)).refine(2) == fitted.refine(2)
    damaged = (tmp_path / "tags.venn").read_bytes()
    (tmp_path / "tags.venn").write_bytes(damaged[:-9] + bytes(9))
    with pytest.raises(StorageError):
        PJMF.load(tmp_path / "tags.venn")


def test_it_works_in_a_pipeline_and_a_grid_search() -> None:
    X, Y = planted(n=90)
    names = [[f"tag{j}" for j in np.flatnonzero(row)] for row in Y.toarray()]
    pipeline = make_pipeline(StandardScaler(), clone(model()))
    for tags in (Y, Y.toarray(), names):
        search = GridSearchCV(pipeline, {"pjmf__sigma": [0.1, 0.5]}, cv=3).fit(X, tags)
        assert search.best_score_ > 0.9
    assert search.predict(X).shape == (90, 12)


def test_the_same_seed_gives_the_same_bits() -> None:
    X, Y = planted()
    first, second = (model(batch_size=50, init="random").fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.tag_embedding_, second.tag_embedding_)
