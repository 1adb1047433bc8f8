"""Tags for new items: what the model rebuilds and the item lacks, the same for one item and for many."""

import numpy as np
import pytest

import vennmf as vn
from vennmf.applications import tag as tagging


@pytest.fixture(scope="module")
def tagged(truth):
    return vn.load_sources({name: dict(enumerate(items)) for name, items in truth.tags().items()})


@pytest.fixture(scope="module")
def fitted(tagged):
    return vn.JSNMF(5, 3, n_init=3, random_state=0).fit(tagged)


def test_suggested_tags_are_the_largest_of_the_rebuilt_item_that_it_lacks(fitted, tagged):
    table = vn.tag_items(fitted, tagged["bbc"].X[:7], source="bbc", top=4)
    rebuilt = fitted.transform(tagged["bbc"].X[:7], source="bbc") @ np.vstack(
        [fitted.components_["shared"], fitted.components_["bbc"]]
    )
    rebuilt[tagged["bbc"].X[:7].toarray() > 0] = 0
    column = {name: n for n, name in enumerate(fitted.feature_names_)}
    assert table["item"].nunique() > 4
    for item, found in table.groupby("item"):
        n = int(item.removeprefix("new-"))
        at = [column[tag] for tag in found["tag"]]
        assert len(set(at)) == len(at)
        assert found["score"].to_numpy() == pytest.approx(rebuilt[n][at], rel=1e-4)
        assert found["score"].to_numpy() == pytest.approx(np.sort(rebuilt[n])[: -len(at) - 1 : -1], rel=1e-4)


def test_many_items_get_what_each_gets_alone(fitted, truth, monkeypatch):
    items = {f"x{n}": tags for n, tags in enumerate(truth.tags()["cnn"][:12])}
    whole = vn.tag_items(fitted, items, source="cnn")
    monkeypatch.setattr(tagging, "BATCH", 5 * len(fitted.feature_names_))
    assert vn.tag_items(fitted, items, source="cnn").equals(whole)
    alone = vn.Retriever(fitted).suggest_tags(items["x7"], "cnn")
    assert alone["tag"].tolist() == whole[whole["item"] == "x7"]["tag"].tolist()


def test_an_item_without_a_known_tag_gets_none(fitted):
    assert vn.tag_items(fitted, [["no such tag"]], source="bbc").empty
