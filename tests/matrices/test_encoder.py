"""An encoder reads new items as the source was read, survives saving, and reads queries as the papers do."""

import json

import numpy as np
import pandas as pd
import pytest

import vennmf as vn
from vennmf.errors import SourceError
from vennmf.matrices.encoder import Encoder
from vennmf.matrices.vocabulary import Vocabulary
from vennmf.matrices.words import Analysis

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

TEXTS = {
    "bbc": ["Rain in Spain and more rain", "The vote in Scotland", "Football in Spain"],
    "cnn": ["The vote in Ohio", "Ohio rain", "A storm of rain, again"],
}
TAGS = {"flickr": [["rose", "primrose", "new york"], ["c++", "us election", "house"]], "tube": [["rose"], ["boat"]]}


@pytest.fixture(scope="module")
def news():
    return vn.load_sources(TEXTS, ngram=(1, 2))


@pytest.mark.parametrize("source", ["bbc", "cnn"])
def test_encoding_the_items_again_gives_their_rows_bit_for_bit(news, source):
    X = news.encoders[source].encode(TEXTS[source])
    np.testing.assert_array_equal(X.toarray(), news[source].X.toarray())
    one = news.encoders[source].encode(TEXTS[source][1])
    np.testing.assert_array_equal(one.toarray(), news[source].X[[1]].toarray())
    assert X.dtype == news[source].X.dtype


@pytest.mark.parametrize("sources", [TEXTS, TAGS])
def test_an_encoder_survives_json_and_arrays(sources):
    found = vn.load_sources(sources, stop_words=["in"])
    for name, encoder in found.encoders.items():
        state, arrays = encoder.state()
        again = Encoder.from_state(json.loads(json.dumps(state)), {k: v.copy() for k, v in arrays.items()})
        np.testing.assert_array_equal(again.encode(sources[name]).toarray(), found[name].X.toarray())
        assert again.state()[0] == state
        assert list(again.vocabulary) == list(encoder.vocabulary)


def test_unknown_words_are_left_out_and_their_share_is_said(news):
    new = news.encoders["cnn"].read(["Ohio zebra", "xylophone"])
    assert new.X[[1]].nnz == 0
    assert new.X[[0]].nnz == 1
    # ohio, zebra, "ohio zebra", xylophone: three of four are unknown
    assert new.unknown_share == pytest.approx(3 / 4)


def test_words_that_only_other_sources_have_are_known(news):
    X = news.encoders["cnn"].encode("Scotland")
    assert X.nnz == 1
    assert news["cnn"].features.ids[X.indices[0]] == "scotland"


def test_new_items_come_as_tables_with_ids_and_metadata(tmp_path):
    table = pd.DataFrame({"id": ["a", "b"], "tags": [["sea"], ["sky"]], "url": ["u1", "u2"]})
    found = vn.load_sources({"x": table}, tags="tags", item="id")
    path = tmp_path / "new.jsonl"
    path.write_text('{"id": "c", "tags": ["sky"], "url": "u3"}\n')
    for data in (path, str(path), pd.DataFrame({"id": ["c"], "tags": [["sky"]], "url": ["u3"]})):
        new = found.encoders["x"].read(data)
        assert list(new.ids) == ["c"]
        assert new.metadata["url"].tolist() == ["u3"]
        np.testing.assert_array_equal(new.X.toarray(), found["x"].X[[1]].toarray())
    assert found.encoders["x"].encode(pd.DataFrame({"tags": [["sky"]]})).nnz == 1
    assert found.encoders["x"].encode([["sky", "sea"], []]).nnz == 2


@pytest.mark.parametrize("make", [list, tuple, pd.Series, np.asarray, pl.Series, pa.array])
def test_a_column_of_texts_is_read_from_any_library(news, make):
    X = news.encoders["cnn"].encode(make(TEXTS["cnn"]))
    np.testing.assert_array_equal(X.toarray(), news["cnn"].X.toarray())


@pytest.mark.parametrize("make", [list, pd.Series, pl.Series, pa.array])
def test_a_column_of_tag_lists_is_read_from_any_library(make):
    lists = [["sea", "sky"], ["sky"]]
    found = vn.load_sources({"a": make(lists)})
    np.testing.assert_array_equal(found["a"].X.toarray(), vn.load_sources({"a": lists})["a"].X.toarray())


def test_new_items_of_the_other_kind_are_refused():
    tags, texts = vn.load_sources(TAGS), vn.load_sources(TEXTS)
    with pytest.raises(SourceError, match="pass a list of tag lists"):
        tags.encoders["flickr"].encode(["rose", "boat"])
    with pytest.raises(SourceError, match="was read from text and the new items are tags"):
        texts.encoders["bbc"].encode([["rain", "vote"]])


def test_a_query_takes_all_entries_that_contain_its_words():
    encoder = vn.load_sources(TAGS).encoders["flickr"]
    query = encoder.query("Rose c++ zzzz boats")
    assert query.expanded == {"rose": ("primrose", "rose"), "c++": ("c++",)}
    assert query.unknown == {"zzzz": (), "boats": ("boat",)}
    words = encoder.vocabulary[query.vector.indices]
    assert list(words) == ["c++", "primrose", "rose"]
    assert np.linalg.norm(query.vector.data) == pytest.approx(1, rel=1e-6)


def test_a_query_without_a_known_word_is_an_empty_row():
    query = vn.load_sources(TAGS).encoders["flickr"].query("qqqq")
    assert query.vector.nnz == 0
    assert not query.expanded


def test_short_words_count_only_as_whole_words():
    vocabulary = Vocabulary(sorted(["house", "us election", "us", "bus", "campus", "the us"]))
    assert list(vocabulary[vocabulary.expand("us")]) == ["the us", "us", "us election"]
    assert list(vocabulary[vocabulary.expand("camp")]) == ["campus"]
    assert vocabulary.expand("").size == 0


def test_expansion_is_a_plain_substring_search():
    rng = np.random.default_rng(0)
    words = sorted({"".join(rng.choice(list("abcd"), size=rng.integers(1, 9))) for _ in range(3000)})
    vocabulary = Vocabulary(words)
    for word in ("abab", "aaaa", "dcba", words[7]):
        if len(word) >= 4:
            assert list(vocabulary[vocabulary.expand(word)]) == [w for w in words if word in w]


def test_near_spellings_are_found_among_many_words():
    rng = np.random.default_rng(0)
    letters = np.asarray(list("abcdefghijklmnopqrstuvwxyz"))
    words = {"".join(rng.choice(letters, size=size)) for size in rng.integers(4, 12, size=10_000)}
    vocabulary = Vocabulary(sorted(words | {"government", "climate"}))
    assert vocabulary.near("goverment")[0] == "government"
    assert vocabulary.near("cliamte")[0] == "climate"
    assert vocabulary.near("@@@") == []


def test_words_of_any_script_stay_whole():
    analysis = Analysis("text")
    assert analysis.words("हिन्दी में Ångström's café, 2017 G20 naïve über_all x") == [
        "हिन्दी", "में", "ångström", "café", "g20", "naïve", "über_all"
    ]  # fmt: skip
    assert analysis.words("cafe\u0301") == ["café"]
    assert Analysis("text", lowercase=False).words("New York") == ["New", "York"]
    assert Analysis("text", ngram=(2, 2)).words("a big red dog") == ["big red", "red dog"]


def test_tags_are_trimmed_and_kept_whole():
    analysis = Analysis("tags", stop_words=("the",))
    assert [analysis.tag(raw) for raw in ("  New   York ", "THE", "", "C++", "cafe\u0301")] == [
        "new york", None, None, "c++", "café"
    ]  # fmt: skip
