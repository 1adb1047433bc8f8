"""A model says what it minimises, in words and in LaTeX, whatever the names and penalties."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from tests.conftest import draw
from vennmf.errors import ModelError
from vennmf.matrices import Axis, View, ViewSet
from vennmf.model import L1, Block, Box, GraphSmooth, LabelScatter, Model, MutuallyOrthogonal, sharing_pattern
from vennmf.model.presets import jsnmf, rjsnmf


def test_the_paper_reads_as_the_paper():
    model = rjsnmf(ViewSet.of(draw(0, {"flickr": 9, "labelme": 8})), {"flickr": 4, "labelme": 3}, 2)
    assert str(model) == (
        "minimise   1/2 1/|X_flickr|^2 |X_flickr - H_flickr [shared | flickr]^T|^2\n"
        "         + 1/2 1/|X_labelme|^2 |X_labelme - H_labelme [shared | labelme]^T|^2\n"
        "         + MutuallyOrthogonal(weight=100.0, on='components')\n"
        "over       H, B >= 0, columns of B of unit norm\n"
        "blocks     shared 2 (flickr labelme), flickr 2 (flickr), labelme 1 (labelme)"
    )
    assert model.latex() == (
        r"\min_{H, B \ge 0,\; \lVert B_j \rVert = 1} "
        r"\tfrac{w_{\mathrm{flickr}}}{2} \lVert X_{\mathrm{flickr}} - H_{\mathrm{flickr}} "
        r"[B_{\mathrm{shared}}\,|\,B_{\mathrm{flickr}}]^\top \rVert_F^2 + "
        r"\tfrac{w_{\mathrm{labelme}}}{2} \lVert X_{\mathrm{labelme}} - H_{\mathrm{labelme}} "
        r"[B_{\mathrm{shared}}\,|\,B_{\mathrm{labelme}}]^\top \rVert_F^2 + "
        r"\tfrac12 \sum_{s<t} \tfrac{100}{K_s K_t} \lVert B_s^\top B_t \rVert_F^2"
    )


def test_large_parts_of_penalties_are_printed_by_their_size():
    penalties = [GraphSmooth(sp.eye_array(9), 0.5, on="items:a"), LabelScatter(np.zeros(9, int), 2.0, on="items:a")]
    model = Model.of(ViewSet.of(draw(0, {"a": 9})), [Block("a", 2, ("a",))], penalties)
    lines = str(model).splitlines()
    assert "         + GraphSmooth(graph=9 × 9, weight=0.5, on='items:a')" in lines
    assert "         + LabelScatter(y=9, weight=2.0, on='items:a')" in lines
    assert len(lines) == 5


@pytest.mark.parametrize("name", ["my_tags", "50% off", "R&D", "a{b}", "x^2", "c:\\d", "#1", "tilde~"])
def test_no_name_breaks_the_latex(name):
    data = draw(0, {name: 9, "other": 8})
    model = Model.of(
        ViewSet.of(data), sharing_pattern({"all": 2, name: 1, "other": 1}, tuple(data)), [L1(1, on="features")]
    )
    text = model.latex()
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    for special in "&%$#":
        assert not re.search(rf"(?<!\\)\{special}", text)
    assert not re.search(r"(?<!\\)_(?![{st j])", text.replace("_F^2", "").replace(r"\min_", "").replace("_1", ""))
    assert "~" not in text


def test_a_box_fixes_the_scale_and_says_so():
    model = Model.of(ViewSet.of(draw(0, {"a": 9})), [Block("a", 2, ("a",))], [Box(1.0)])
    assert "unit norm" not in str(model)
    assert r"\rVert = 1" not in model.latex()


def test_shared_components_come_first_and_half_of_the_smallest_is_the_default():
    views = ViewSet.of(draw(0, {"a": 9, "b": 8, "c": 7}))
    model = jsnmf(views, {"a": 5, "b": 6, "c": 7}, None)
    assert [(block.name, block.size) for block in model.blocks] == [("shared", 2), ("a", 3), ("b", 4), ("c", 5)]


def test_an_axis_has_one_side():
    side = Axis("both", 6)
    views = ViewSet([View.of("a", np.ones((6, 6)), items=side, features=side)])
    with pytest.raises(ModelError, match="axis 'both' is the rows of one view and the columns of another"):
        Model.of(views, [Block("a", 2, ("a",))])


@pytest.mark.parametrize("penalty", [MutuallyOrthogonal(5.0), L1(0.1), Box(2.0)], ids=repr)
def test_models_with_equal_terms_are_equal(penalty):
    views = ViewSet.of(draw(0, {"a": 9}))
    made = [Model.of(views, [Block("a", 2, ("a",))], [penalty]) for _ in range(2)]
    assert made[0] == made[1]
