"""Encodings in every shape that is asked for: dicts, stacked rows, tables, subsets of views; fitted and folded in."""

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import vennmf as vn
from vennmf.sources.planted import planted

LABELS = np.array(["x"] * 60 + ["y"] * 50)


def shuffled(two_sources):
    order = np.random.default_rng(1).permutation(110)
    return np.vstack([two_sources["x"], two_sources["y"]])[order], LABELS[order]


@pytest.mark.parametrize(
    "kind", [np.asarray, np.ndarray.tolist, pd.DataFrame, sp.csr_array, sp.coo_array, sp.csc_matrix]
)
def test_stacked_rows_of_any_kind_are_encoded_by_their_source(kind, two_sources):
    model = vn.JSNMF({"x": 4, "y": 3}, 2, random_state=0, tol=0.01).fit(two_sources)
    X, labels = shuffled(two_sources)
    H = model.transform(kind(X), sources=labels)
    for name, columns, absent in (("x", [0, 1, 2, 3], [4]), ("y", [0, 1, 4], [2, 3])):
        rows = labels == name
        np.testing.assert_allclose(H[np.ix_(rows, columns)], model.transform(X[rows], source=name), rtol=1e-12)
        assert not H[np.ix_(rows, absent)].any()


def test_sources_reach_a_model_inside_a_pipeline(two_sources):
    X, labels = shuffled(two_sources)
    with sklearn.config_context(enable_metadata_routing=True):
        model = vn.JSNMF(4, 2, random_state=0, tol=0.01)
        routed = clone(model).set_fit_request(sources=True).set_transform_request(sources=True)
        routed.set_score_request(sources=True)
        chain = make_pipeline(FunctionTransformer(), routed)
        H = chain.fit_transform(X, sources=labels)
        np.testing.assert_array_equal(H, clone(model).fit(X, sources=labels).transform(X, sources=labels))
        np.testing.assert_array_equal(H, chain.transform(X, sources=labels))
        scores = cross_val_score(routed, X, params={"sources": labels}, cv=2)
        assert np.all(scores > 0.5)


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
@pytest.mark.parametrize("penalties", [(), (vn.L1(0.001),), (vn.L2(0.01), vn.L1(0.001, blocks=("all", "x")))])
@pytest.mark.parametrize("on", ["encodings", "items:x"])
def test_new_items_obey_the_penalties_of_their_source(penalties, on, two_sources):
    penalties = [type(p)(p.weight, on=on, blocks=p.blocks) for p in penalties]
    model = vn.VennNMF({"all": 2, "x": 2, "y": 1}, penalties=penalties, random_state=0, max_iter=300).fit(two_sources)
    for name, X in two_sources.items():
        again = model.transform(X, source=name)
        assert np.abs(again - model.encodings_[name]).max() <= 1e-4 * model.encodings_[name].max()


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
@pytest.mark.parametrize("penalty", [vn.MutuallyOrthogonal(1, on="encodings"), vn.ColumnMaximum(1e-3, on="encodings")])
def test_what_couples_the_items_of_the_fit_is_not_asked_of_new_ones(penalty, two_sources):
    model = vn.VennNMF({"all": 2, "x": 2, "y": 1}, penalties=[penalty], random_state=0, max_iter=50).fit(two_sources)
    assert np.all(np.diff(model.history_["objective"]) <= 0)
    X, H = two_sources["x"], model.transform(two_sources["x"], source="x")
    np.testing.assert_allclose(model.transform(X[:7], source="x"), H[:7], rtol=1e-6, atol=1e-8)


def asked_for(library, two_sources):
    words = [f"word{j}" for j in range(40)]
    tables = {
        n: pd.DataFrame(X, columns=words, index=[f"{n}{i}" for i in range(len(X))]) for n, X in two_sources.items()
    }
    return vn.JSNMF({"x": 4, "y": 3}, 2, random_state=0, tol=0.01).set_output(transform=library), tables


def test_tables_come_out_of_named_sources(two_sources):
    model, tables = asked_for("pandas", two_sources)
    fitted = model.fit_transform(tables)
    columns = {"x": ["shared0", "shared1", "x0", "x1"], "y": ["shared0", "shared1", "y0"]}
    for found in (fitted, model.transform(tables)):
        assert {name: list(table.columns) for name, table in found.items()} == columns
        assert found["y"].index[7] == "y7"
    one = model.transform(tables["x"], source="x")
    pd.testing.assert_frame_equal(one, model.transform(tables)["x"])
    stacked = pd.concat(tables.values())
    whole = model.transform(stacked, sources=LABELS)
    assert list(whole.columns) == list(model.get_feature_names_out())
    assert whole.index[60] == "y0"


def test_tables_of_other_libraries_too(two_sources):
    model, tables = asked_for("polars", two_sources)
    assert model.fit(tables).transform(tables)["y"].columns == ["shared0", "shared1", "y0"]


def test_views_of_items_come_out_as_one_matrix_from_fit_and_from_transform():
    rng = np.random.default_rng(0)
    H = rng.random((80, 3)) * (rng.random((80, 3)) < 0.6)
    data = {"text": H @ rng.random((3, 20)), "image": H[:, :2] @ rng.random((2, 15))}
    model = vn.VennNMF({"all": 2, "text": 1}, shared="items", random_state=0, tol=1e-6, max_iter=3000, min_change=0)
    fitted = model.fit_transform(data)
    assert fitted.shape == (80, 3)
    assert np.abs(fitted - model.transform(data)).max() <= 1e-3 * fitted.max()
    np.testing.assert_array_equal(fitted[:, 2:], model.encodings_["text"])
    assert model.set_output(transform="pandas").transform(data).columns.tolist() == ["all0", "all1", "text0"]


def test_a_view_set_goes_in_wherever_a_dict_does(two_sources):
    views = vn.ViewSet.of(two_sources)
    model = vn.JSNMF(4, 2, random_state=0, tol=0.01).fit(views)
    for name, H in model.transform(views).items():
        np.testing.assert_array_equal(H, model.transform(two_sources)[name])
    assert model.score(views) == model.score(two_sources)


def test_sources_may_have_numbers_for_names(two_sources):
    X = np.vstack(list(two_sources.values()))
    years = np.repeat([2023, 2024], [60, 50])
    model = vn.JSNMF({2023: 4, 2024: 3}, 2, random_state=0, tol=0.01).fit(X, sources=years)
    np.testing.assert_array_equal(model.transform(X[:5], source=2023), model.transform(X[:5], source="2023"))
    named = clone(model).fit({2023: X[:60], 2024: X[60:]})
    np.testing.assert_array_equal(named.components_["2024"], model.components_["2024"])


def test_the_bits_of_new_encodings_do_not_follow_the_threads():
    truth = planted({"all": 6, "x": 4, "y": 4}, {"x": 900, "y": 700}, 400, noise=0.1, random_state=0)
    model = vn.JSNMF(10, 6, random_state=0, tol=0.1).fit(truth.sources)
    found = [model.set_params(n_threads=n).transform(truth.sources["x"], source="x").tobytes() for n in (1, 2, 4)]
    assert len(set(found)) == 1


def test_a_model_survives_joblib(two_sources, tmp_path):
    model = vn.JSNMF(4, 2, random_state=0, tol=0.01).set_callbacks(vn.StopWhen(never)).fit(two_sources)
    joblib.dump(model, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.transform(two_sources)["x"], model.transform(two_sources)["x"])


def never(step):
    return False


def test_the_representation_for_notebooks_shows_parameters(two_sources):
    html = vn.RJSNMF(4, 2, orthogonality=7, random_state=0, tol=0.1).fit(two_sources)._repr_html_()
    assert "RJSNMF" in html
    assert "orthogonality" in html
