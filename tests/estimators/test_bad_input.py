"""Bad input is answered in one line that names the source, the row or column, and the way out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import vennmf as vn
from tests.conftest import draw
from vennmf.model import sharing_pattern


def bad(name, row, column, value):
    data = {k: X.copy() for k, X in draw(0, {"flickr": 9, "labelme": 8}, 6).items()}
    data[name][row, column] = value
    return data


def scaled(factor, dtype=np.float64):
    return {name: (X * factor).astype(dtype) for name, X in draw(0, {"flickr": 9, "labelme": 8}, 6).items()}


GOOD = draw(0, {"flickr": 9, "labelme": 8}, 6)
GIVEN = {"items:flickr": np.ones((9, 2)), "items:labelme": np.ones((8, 2)), "features": np.ones((6, 3))}
TWICE = pd.DataFrame(GOOD["flickr"], index=list("abcdefgha"))
WRONG = [
    (bad("labelme", 3, 2, -1), {}, r"source 'labelme' has a negative entry, -1 at row 3, column 2"),
    (bad("flickr", 0, 5, np.nan), {}, r"source 'flickr' has NaN at row 0, column 5"),
    (bad("flickr", 1, 1, np.inf), {}, r"source 'flickr' has infinity at row 1, column 1"),
    ({**GOOD, "labelme": np.empty((0, 6))}, {}, r"source 'labelme' has 0 item\(s\)"),
    ({**GOOD, "labelme": np.zeros((4, 6))}, {}, r"source 'labelme' is all zero"),
    ({**GOOD, "flickr": TWICE}, {}, r"axis 'items:flickr' has duplicate ids: 'a' stands 2 times"),
    ({**GOOD, "labelme": np.ones((4, 7))}, {}, r"source 'labelme' has 7 features and source 'flickr' has 6"),
    ({**GOOD, "labelme": np.ones(6)}, {}, r"source 'labelme' must have two dimensions"),
    ({**GOOD, "labelme": [["a", "b"]]}, {}, r"source 'labelme' must hold numbers; found 'a'"),
    ({**GOOD, "labelme": "labelme.csv"}, {}, r"source 'labelme' must be a matrix or a DataFrame"),
    ({**GOOD, "labelme": [[1, 2], [3]]}, {}, r"source 'labelme' is not a rectangular matrix"),
    ({}, {}, r"no sources were given"),
    (GOOD, {"n_components": 10}, r"source 'flickr' is asked for 10 components"),
    (GOOD, {"n_components": 3, "n_shared": 4}, r"n_shared=4 is larger than n_components=3 of source 'flickr'"),
    (
        GOOD,
        {"n_components": {"flickr": 3, "labelme": 2.5}},
        r"source 'labelme' has n_components=2.5; a whole number >= 1",
    ),
    (GOOD, {"n_components": {"flickr": 3, "labelme": 0}}, r"source 'labelme' has n_components=0; a whole number >= 1"),
    (GOOD, {"n_components": {"flickr": 3}}, r"n_components lacks source 'labelme'"),
    (GOOD, {"n_components": {"flickr": 3, "labelme": 3, "flicker": 3}}, r"names 'flicker', which is no source"),
    (GOOD, {"weights": {"flicker": 1.0}}, r"weights name 'flicker', which is no source"),
    (GOOD, {"weights": {"flickr": -1.0}}, r"source 'flickr' has weight -1.0"),
    (GOOD, {"weights": {"flickr": np.inf}}, r"source 'flickr' has weight inf; a finite number"),
    (scaled(1e30, np.float32), {}, r"source 'flickr' has a largest entry of .*, and float32 cannot hold the products"),
    (scaled(1e-30, np.float32), {}, r"source 'flickr' has a largest entry of .*, and float32 cannot hold the products"),
    (scaled(1e200), {}, r"source 'flickr' has a largest entry of .*, and float64 cannot hold the products"),
    (scaled(1e-200), {}, r"source 'flickr' has a largest entry of .*, and float64 cannot hold the products"),
    (GOOD, {"init": GIVEN, "n_init": 2}, r"n_init=2 starts from given factors would all be the same; set n_init=1"),
    (
        GOOD,
        {"init": {**GIVEN, "features": np.ones((6, 2))}},
        r"init\['features'\] has shape \(6, 2\); expected \(6, 3\)",
    ),
    (GOOD, {"init": {**GIVEN, "features": -np.ones((6, 3))}}, r"init\['features'\] has negative or non-finite"),
    (GOOD, {"init": {"features": np.ones((6, 3))}}, r"init lacks the factor of axis 'items:flickr'"),
]


@pytest.mark.parametrize(("data", "how", "message"), WRONG, ids=[w[2][:40] for w in WRONG])
def test_bad_input_is_one_line_that_names_the_place_and_the_way_out(data, how, message):
    with pytest.raises(vn.VennmfError, match=message) as caught:
        vn.JSNMF(**{"n_components": 2, "n_shared": 1, **how}).fit(data)
    assert "\n" not in str(caught.value)


def test_sources_given_twice_or_unknown(two_sources):
    view = vn.View.of("x", two_sources["x"])
    with pytest.raises(vn.SourceError, match="source 'x' is given twice"):
        vn.ViewSet([view, view])
    model = vn.JSNMF(3, 1, random_state=0, tol=0.1).fit(two_sources)
    with pytest.raises(vn.SourceError, match=r"no source 'z' in this model; its sources are 'x', 'y'"):
        model.transform(two_sources["x"], source="z")
    with pytest.raises(vn.ParameterError, match=r"needs source="):
        model.transform(two_sources["x"])
    with pytest.raises(vn.SourceError, match=r"source 'x' has 7 features, but JSNMF is expecting 40 features"):
        model.transform(two_sources["x"][:, :7], source="x")


PATTERNS = [
    ({"all": 2, "z": 1}, "block 'z' belongs to 'z', which is no source"),
    ({("x", "x"): 2}, "names a source twice"),
    ({"x": 2}, "source 'y' belongs to no block"),
    ({"x": -1, "y": 1}, "block 'x' has size -1"),
    ({"x": 1.5, "y": 1}, "block 'x' has size 1.5"),
    ({1: 2, "x": 1, "y": 1}, "block 1 is no name; use 'all', the name of a source or a tuple of names"),
]


@pytest.mark.parametrize(("blocks", "message"), PATTERNS)
def test_impossible_patterns(blocks, message):
    with pytest.raises(vn.ModelError, match=message):
        sharing_pattern(blocks, ("x", "y"))


def test_penalties_on_unknown_axes_or_blocks(two_sources):
    with pytest.raises(vn.ModelError, match="L1 is on 'rows'; expected 'encodings', 'components' or an axis"):
        vn.VennNMF({"all": 2}, penalties=[vn.L1(1, on="rows")]).fit(two_sources)
    with pytest.raises(vn.ModelError, match="L1 names block 'w'; the blocks are 'all'"):
        vn.VennNMF({"all": 2}, penalties=[vn.L1(1, blocks=("w",))]).fit(two_sources)


PENALTIES = [
    (["L1"], "penalty 'L1' has no value, add_form and latex"),
    ([vn.GraphSmooth(sp.eye_array(7), on="items:x")], "GraphSmooth tells of 7 entities and axis 'items:x' has 60"),
    ([vn.GraphSmooth(sp.eye_array(60))], "GraphSmooth tells of 60 entities and axis 'items:y' has 50"),
    ([vn.LabelScatter(np.zeros(7, int), 1.0, on="items:x")], "LabelScatter tells of 7 entities"),
    ([vn.WithinScatter(np.zeros(7, int), 1.0, on="items:x")], "WithinScatter tells of 7 entities"),
    (
        [vn.MutuallyOrthogonal(1), vn.GraphSmooth(sp.eye_array(40), on="features")],
        "axis 'features' has mutual orthogonality together with a graph",
    ),
]


@pytest.mark.parametrize(("penalties", "message"), PENALTIES)
def test_penalties_that_do_not_fit_the_axis(penalties, message, two_sources):
    with pytest.raises(vn.ModelError, match=message) as caught:
        vn.VennNMF({"all": 2, "x": 1, "y": 1}, penalties=penalties).fit(two_sources)
    assert "\n" not in str(caught.value)


@pytest.fixture
def named(two_sources):
    words = [f"word{j}" for j in range(40)]
    return {name: pd.DataFrame(X, columns=words) for name, X in two_sources.items()}


def test_columns_in_another_order_are_refused_by_name(named):
    model = vn.JSNMF(3, 1, random_state=0, tol=0.1).fit(named)
    turned = named["x"].iloc[:, ::-1]
    for ask in (
        lambda: model.transform(turned, source="x"),
        lambda: model.transform({"x": turned}),
        lambda: model.score({"x": turned}),
    ):
        with pytest.raises(vn.SourceError, match="column 0 of source 'x' is 'word39' and that of the fit is 'word0'"):
            ask()
    back = turned[list(model.feature_names_)]
    np.testing.assert_array_equal(model.transform(back, source="x"), model.transform(named["x"], source="x"))
    with pytest.raises(vn.SourceError, match="column 0 is 'word39' in 'y' and 'word0' in 'x'"):
        vn.JSNMF(3, 1).fit({"x": named["x"], "y": named["y"].iloc[:, ::-1]})


def test_columns_of_views_in_another_order_are_refused_by_name(named):
    views = {"a": named["x"], "b": named["x"].iloc[:, :9]}
    model = vn.VennNMF({"all": 3}, shared="items", random_state=0, tol=0.1).fit(views)
    with pytest.raises(vn.SourceError, match="column 0 of source 'b' is 'word8' and that of the fit is 'word0'"):
        model.transform({"b": views["b"].iloc[:, ::-1]})


LABELS = np.array(["x"] * 60 + ["y"] * 50, dtype=object)
MISSING = LABELS.copy()
MISSING[3] = None
STACKED = [
    (LABELS[:-1], r"one label for each of the 110 rows; found shape \(109,\)"),
    (MISSING, "no label at row 3"),
    (np.where(LABELS == "x", 1.0, np.nan), "no label at row 60"),
]


@pytest.mark.parametrize(("labels", "message"), STACKED, ids=["too few", "None", "NaN"])
def test_labels_of_rows_that_are_wrong(labels, message, two_sources):
    stacked = np.vstack(list(two_sources.values()))
    with pytest.raises(vn.SourceError, match=message):
        vn.JSNMF(3, 1).fit(stacked, sources=labels)
    model = vn.JSNMF(3, 1, random_state=0, tol=0.1).fit(stacked, sources=LABELS)
    with pytest.raises(vn.SourceError, match=message):
        model.transform(stacked, sources=labels)


def test_texts_for_a_model_that_has_no_vocabulary(two_sources):
    model = vn.JSNMF(3, 1, random_state=0, tol=0.1).fit(two_sources)
    with pytest.raises(vn.SourceError, match=r"must hold numbers; found 'a climate .*vennmf.load_sources"):
        model.transform(["a climate summit"], source="x")


def test_a_dict_names_its_sources_itself(two_sources):
    model = vn.JSNMF(3, 1, random_state=0, tol=0.1).fit(two_sources)
    for how in ({"source": "x"}, {"sources": LABELS}):
        with pytest.raises(vn.ParameterError, match="X already is a dict of named sources"):
            model.transform(two_sources, **how)
    with pytest.raises(vn.ParameterError, match="X already is a dict of named sources"):
        model.fit(two_sources, sources=LABELS)


def test_encodings_of_the_wrong_width(two_sources):
    model = vn.JSNMF({"x": 4, "y": 3}, 2, random_state=0, tol=0.1).fit(two_sources)
    with pytest.raises(vn.ParameterError, match=r"encodings of 'y' have 3 columns; found shape \(2, 4\)"):
        model.inverse_transform(np.ones((2, 4)), source="y")
    with pytest.raises(vn.ParameterError, match="inverse_transform needs source="):
        model.inverse_transform(np.ones((2, 4)))


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
@pytest.mark.parametrize("large", [1e39, 1e30])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_new_items_too_large_for_the_type_of_the_model_are_refused(large, kind):
    X = np.random.default_rng(0).random((30, 6), dtype=np.float32)
    model = vn.NMF(2, max_iter=5, random_state=0).fit(X)
    new = X[:2].astype(np.float64)
    new[0, 0] = large
    with pytest.raises(vn.ModelError, match="float32 cannot hold the products of such numbers"):
        model.transform(kind(new))
    assert model.transform(np.zeros((3, 6))).max() == 0
