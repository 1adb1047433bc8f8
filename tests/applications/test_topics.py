"""Topics in words: blocks, exclusivity, shares, items, and the match of two models."""

import numpy as np
import pytest

import vennmf as vn
from vennmf.applications.parts import basis
from vennmf.applications.topics import compare_models, item_topics, topic_items, topic_sizes, topics
from vennmf.errors import ParameterError


def test_topics_are_the_planted_parts_in_their_blocks(model):
    table = topics(model, top=5)
    for (block, _), words in table.groupby(["block", "topic"])["word"]:
        parts = {word.split("/")[0] for word in words}
        assert len(parts) == 1
        assert parts.pop().split(".")[0] == {"shared": "all"}.get(block, block)


def test_weights_fall_and_are_entries_of_the_components(model):
    table = topics(model, top=4)
    names = list(model.feature_names_)
    for row in table.itertuples():
        assert row.weight == pytest.approx(model.components_[row.block][row.topic, names.index(row.word)])
    falls = table.groupby(["block", "topic"])["weight"].apply(lambda w: (np.diff(w) <= 0).all())
    assert falls.all()


def test_exclusivity_is_the_share_of_a_words_weight_over_all_topics(model):
    everything = topics(model, top=90)
    sums = everything.groupby("word")["exclusivity"].sum()
    assert sums.to_numpy() == pytest.approx(np.ones(len(sums)))


def test_shares_split_the_energy_of_the_reconstruction(model):
    table = topic_sizes(model)
    assert table.groupby("source")["share"].sum().to_numpy() == pytest.approx([1, 1])
    H, B = model.encodings_["bbc"], basis(model, "bbc")
    rebuilt = H @ B
    first = table[table["source"] == "bbc"].iloc[0]
    expected = np.sum(np.outer(H[:, 0], B[0]) * rebuilt) / np.sum(rebuilt**2)
    assert first["share"] == pytest.approx(expected)


def test_items_of_a_topic_are_nearest_to_its_axis(model):
    table = topic_items(model, top=3, source="cnn")
    assert set(table["source"]) == {"cnn"}
    assert set(table["block"]) == {"shared", "cnn"}
    assert (table[table["rank"] == 1]["share"] > 0.9).all()


def test_topics_of_an_item_add_up(model):
    table = item_topics(model, "bbc", ["bbc-3", "bbc-7"], top=5)
    assert table.groupby("item")["share"].sum().to_numpy() == pytest.approx([1, 1])
    assert list(dict.fromkeys(table["item"])) == ["bbc-3", "bbc-7"]


def test_an_unknown_item_is_named_with_what_is_near(model):
    with pytest.raises(ParameterError, match="Did you mean"):
        item_topics(model, "bbc", ["bbc-33x"])


def test_a_model_is_itself(model):
    table = compare_models(model, model)
    assert len(table) == 7
    assert (table["block"] == table["other_block"]).all()
    assert table["cosine"].to_numpy() == pytest.approx(np.ones(7))


def test_two_models_of_the_same_sources_meet_topic_by_topic(model, sources):
    other = vn.JSNMF(5, 3, n_init=5, random_state=11).fit(sources)
    assert compare_models(model, other)["cosine"].min() > 0.95


def test_models_without_a_common_word_cannot_be_compared(model):
    rng = np.random.default_rng(0)
    other = vn.JSNMF(2, 1, random_state=0, max_iter=2000).fit({"a": rng.random((9, 4)), "b": rng.random((9, 4))})
    with pytest.raises(ParameterError, match="no feature name in common"):
        compare_models(model, other)
