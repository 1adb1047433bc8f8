"""New items: encoded as the fit would, added without refitting, and measured against what was fitted."""

import numpy as np
import pytest

import vennmf as vn
from vennmf.applications.encode import append_items, encode_items
from vennmf.applications.retrieve import Retriever
from vennmf.errors import SourceError


@pytest.fixture(scope="module")
def tagged(truth):
    lists = {name: {f"{name}{n}": tags for n, tags in enumerate(items)} for name, items in truth.tags().items()}
    return vn.load_sources(lists)


@pytest.fixture(scope="module")
def fitted(tagged):
    return vn.JSNMF(5, 3, n_init=3, random_state=0).fit(tagged)


def test_fitted_items_encode_to_their_own_encodings(fitted, truth):
    first = dict(list({f"again{n}": tags for n, tags in enumerate(truth.tags()["bbc"])}.items())[:9])
    new = encode_items(fitted, first, source="bbc")
    assert new.encodings == pytest.approx(fitted.encodings_["bbc"][:9], abs=1e-3)
    assert list(new.items[:2]) == ["again0", "again1"]
    assert list(new.to_frame().columns) == ["item", "shared 0", "shared 1", "shared 2", "bbc 0", "bbc 1"]


def test_rows_of_a_matrix_are_encoded_too(fitted, tagged):
    new = encode_items(fitted, tagged["cnn"].X[:5], source="cnn")
    assert new.encodings == pytest.approx(fitted.encodings_["cnn"][:5], abs=1e-3)
    assert new.drift.unknown is None


def test_the_same_kind_of_items_has_not_drifted(fitted, truth):
    new = encode_items(fitted, truth.tags()["bbc"], source="bbc")
    assert new.drift.unknown == 0
    assert new.drift.explained == pytest.approx(new.drift.explained_in_fit, abs=1e-3)
    assert new.drift.divergence < 1e-6
    assert not new.drift.refit_advised
    assert "still fits" in str(new.drift)


def test_strange_items_have_drifted(fitted, truth):
    foreign = [["cnn.0/w1", "cnn.1/w2", f"new{n}", f"newer{n}"] for n in range(20)]
    new = encode_items(fitted, foreign, source="bbc")
    assert new.drift.unknown == pytest.approx(0.5)
    assert new.drift.refit_advised
    assert new.drift.explained < 0.1
    one = encode_items(fitted, [["bbc.1/w1", "bbc.1/w2"]] * 4, source="bbc")
    assert one.drift.divergence > 0.2


def test_appended_items_are_found_and_the_model_given_is_left_alone(fitted):
    grown, new = append_items(fitted, {"fresh": ["all.1/w1", "all.1/w2"]}, source="bbc")
    assert len(new.items) == 1
    assert len(grown.encodings_["bbc"]) == len(fitted.encodings_["bbc"]) + 1 == len(grown.item_ids_["bbc"])
    hits = Retriever(grown)(["all.1/w1", "all.1/w2"], "bbc", top=200)
    assert "fresh" in {hit.item for hit in hits}
    assert "fresh" not in {hit.item for hit in Retriever(fitted)(["all.1/w1"], "bbc", top=200)}


def test_a_grown_model_is_saved_like_any_other(fitted, tmp_path):
    grown, _ = append_items(fitted, {"fresh": ["all.1/w1"]}, source="bbc")
    grown.save(tmp_path / "grown.venn")
    again = vn.load(tmp_path / "grown.venn")
    assert np.array_equal(again.encodings_["bbc"], grown.encodings_["bbc"])
    assert again.item_ids_["bbc"][-1] == "fresh"


def test_a_known_item_cannot_be_added_twice(fitted):
    with pytest.raises(SourceError, match="bbc3"):
        append_items(fitted, {"bbc3": ["all.1/w1"]}, source="bbc")


def test_raw_items_need_an_encoder(model):
    with pytest.raises(SourceError, match="plain matrix"):
        encode_items(model, [["all.1/w1"]], source="bbc")


def test_the_exact_match_weighs_words_as_the_items_do(fitted, tagged):
    words = ["all.1/w1", "bbc.0/w2", "bbc.1/w5"]
    row = tagged.encoders["bbc"].encode([words]).toarray()[0]
    expected = tagged["bbc"].X @ row
    found = Retriever(fitted, tagged, expand=False).scores([words], "bbc", exact=1.0)[0]
    assert len(set(row[row > 0])) == 3
    assert found == pytest.approx(expected, abs=1e-5)


def test_text_is_searched_as_it_was_read():
    texts = {
        "a": ["The cat sat on the mat", "Cats and dogs", "A dog barks", "The cat purrs, the cat sleeps"] * 3,
        "b": ["Dogs bark at the cat", "Stocks fall", "Stocks rise on news of banks", "Banks and stocks"] * 3,
    }
    sources = vn.load_sources(texts, stop_words="english")
    model = vn.JSNMF({"a": 2, "b": 2}, 1, random_state=0, n_init=3).fit(sources)
    hits = Retriever(model, sources, exact=0.5)("The STOCKS, of banks!", "b", top=3)
    assert list(hits.words) == ["stocks", "banks"]
    assert all("stocks" in hit.matched or "banks" in hit.matched for hit in hits)
    assert hits[0].exact > hits[-1].exact or hits[0].latent >= hits[-1].latent
