"""Sources from files, tables, lists and matrices: one vocabulary, own statistics, nothing lost, all readers agree."""

import gzip
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

import vennmf as vn
from vennmf.errors import DataWarning, MissingDependencyError, ParameterError, SourceError

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

RECORDS = [
    {"id": "007", "tags": ["Sea", "sky", "new york"], "title": "At sea", "likes": 3, "date": "2017-02-07"},
    {"id": "b", "tags": ["sky", "Crème  brûlée", "日本"], "title": 'Say "hi", all', "likes": 0, "date": "2017-02-08"},
    {"id": "c", "tags": ["sea", "SEA", "İstanbul"], "title": "Line\nbreak", "likes": None, "date": None},
    {"id": "d", "tags": ["boat"], "title": None, "likes": 12, "date": "2017-02-09"},
]
OTHER = [["sea", "boat"], ["road", "sky", "sea"]]


def frame():
    return pd.DataFrame(RECORDS)


def same(one, two):
    """Bit for bit: matrices, vocabulary, ids, metadata."""
    assert one.names == two.names
    for name in one:
        np.testing.assert_array_equal(one[name].features.ids, two[name].features.ids)
        np.testing.assert_array_equal(one[name].items.names(), two[name].items.names())
        assert one[name].X.dtype == two[name].X.dtype
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(one[name].X, part), getattr(two[name].X, part))
        pd.testing.assert_frame_equal(one.metadata[name], two.metadata[name])


def write_csv(path, separator=","):
    table = frame()
    table["tags"] = [json.dumps(tags) for tags in table["tags"]]
    table.astype({"likes": "Int64"}).to_csv(path, index=False, sep=separator)
    return path


def write_jsonl(path, rows=RECORDS):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def write_parquet(path):
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.Table.from_pylist(RECORDS), path)
    return path


def write_sqlite(path):
    table = frame()
    table["tags"] = [json.dumps(tags) for tags in table["tags"]]
    with sqlite3.connect(path) as connection:
        table.astype({"likes": "Int64"}).to_sql("photos", connection, index=False)
    connection.close()
    return path


def write_duckdb(path):
    with duckdb.connect(str(path)) as connection:
        write_jsonl(path.with_suffix(".jsonl"))
        connection.execute(f"CREATE TABLE photos AS SELECT * FROM read_json('{path.with_suffix('.jsonl')}')")
    return path


def write_glob(folder):
    write_jsonl(folder / "part-1.jsonl", RECORDS[:2])
    write_jsonl(folder / "part-2.jsonl", RECORDS[2:])
    return str(folder / "part-*.jsonl")


FORMATS = {
    "csv": lambda folder: write_csv(folder / "a.csv"),
    "semicolons": lambda folder: write_csv(folder / "a.csv", ";"),
    "tsv": lambda folder: write_csv(folder / "a.tsv", "\t"),
    "jsonl": lambda folder: write_jsonl(folder / "a.jsonl"),
    "jsonl.gz": lambda folder: write_jsonl(folder / "a.jsonl.gz"),
    "json": lambda folder: _written(folder / "a.json", json.dumps(RECORDS)),
    "parquet": lambda folder: write_parquet(folder / "a.parquet"),
    "sqlite": lambda folder: write_sqlite(folder / "a.db"),
    "sqlite table": lambda folder: f"{write_sqlite(folder / 'a.db')}::photos",
    "duckdb": lambda folder: write_duckdb(folder / "a.duckdb"),
    "glob": write_glob,
    "paths": lambda folder: [Path(write_glob(folder)).parent / f"part-{n}.jsonl" for n in (1, 2)],
    "polars": lambda folder: pl.DataFrame(RECORDS),
    "lazy": lambda folder: pl.LazyFrame(RECORDS),
    "relation": lambda folder: duckdb.read_json(str(write_jsonl(folder / "a.jsonl"))),
    "ids as index": lambda folder: frame().set_index("id"),
    "arrow": lambda folder: pa.Table.from_pylist(RECORDS),
    "records": lambda folder: RECORDS,
    "columns": lambda folder: {name: [row[name] for row in RECORDS] for name in RECORDS[0]},
}


def _written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_every_reader_gives_the_same_sources_bit_for_bit(kind, tmp_path):
    expected = vn.load_sources({"flickr": frame(), "other": OTHER}, tags="tags", item="id")
    data = FORMATS[kind](tmp_path)
    found = vn.load_sources({"flickr": data, "other": OTHER}, tags="tags", item="id")
    same(found, expected)
    assert list(found["flickr"].items.ids) == ["007", "b", "c", "d"]
    assert found.metadata["flickr"].to_dict("list") == {
        "title": ["At sea", 'Say "hi", all', "Line\nbreak", None],
        "likes": [3, 0, None, 12],
        "date": ["2017-02-07", "2017-02-08", None, "2017-02-09"],
    }


TEXTS = [
    {"id": "1", "text": "Rain in Spain, and more rain.", "section": "weather"},
    {"id": "2", "text": "हिन्दी में वर्षा और Café society", "section": "world"},
    {"id": "3", "text": "Spain wins; the café is full", "section": "sport"},
]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "duckdb", "polars", "folder", "list", "dict"])
def test_every_reader_of_texts_gives_the_same_matrix(kind, tmp_path):
    expected = vn.load_sources({"news": pd.DataFrame(TEXTS)}, text="text", item="id", ngram=2, stop_words=["the"])
    folder = tmp_path / "news"
    options = {"text": "text", "item": "id"}
    if kind == "folder":
        folder.mkdir()
        for row in TEXTS:
            (folder / f"{row['id']}.txt").write_text(row["text"], encoding="utf-8")
        data, options = folder, {}
    elif kind == "list":
        data, options = [row["text"] for row in TEXTS], {}
    elif kind == "dict":
        data, options = {row["id"]: row["text"] for row in TEXTS}, {}
    elif kind == "polars":
        data = pl.DataFrame(TEXTS)
    elif kind == "jsonl":
        data = write_jsonl(tmp_path / "a.jsonl", TEXTS)
    else:
        data = tmp_path / f"a.{kind}"
        with duckdb.connect() as connection:
            connection.register("rows", pa.Table.from_pylist(TEXTS))
            if kind == "duckdb":
                connection.execute(f"ATTACH '{data}' AS x; CREATE TABLE x.news AS FROM rows")
            else:
                connection.execute(f"COPY rows TO '{data}'")
    found = vn.load_sources({"news": data}, ngram=2, stop_words=["the"], **options)
    np.testing.assert_array_equal(found["news"].features.ids, expected["news"].features.ids)
    np.testing.assert_array_equal(found["news"].X.toarray(), expected["news"].X.toarray())
    assert {"rain", "rain in", "हिन्दी", "café", "café is"} <= set(found["news"].features.ids)
    assert "the" not in found["news"].features.ids


@pytest.mark.parametrize("kind", ["csv", "parquet", "sqlite", "frame", "duckdb"])
def test_long_tables_give_the_matrix_of_their_lists(kind, tmp_path):
    lists = vn.load_sources({"a": frame()}, tags="tags", item="id", metadata="date")
    long = pd.DataFrame([(r["id"], t, r["date"]) for r in RECORDS for t in r["tags"]], columns=["id", "tag", "date"])
    if kind == "csv":
        data = tmp_path / "long.csv"
        long.to_csv(data, index=False)
    elif kind == "sqlite":
        data = tmp_path / "long.db"
        with sqlite3.connect(data) as connection:
            long.to_sql("long", connection, index=False)
        connection.close()
    elif kind == "frame":
        data = long
    else:
        data = tmp_path / f"long.{kind}"
        with duckdb.connect() as connection:
            target = f"ATTACH '{data}' AS x; CREATE TABLE x.t AS SELECT * FROM long"
            connection.execute(target if kind == "duckdb" else f"COPY long TO '{data}'")
    same(vn.load_sources({"a": data}, tags="tag", item="id"), lists)


@pytest.mark.parametrize("as_file", [False, True])
def test_weights_of_a_long_table_are_added_up(as_file, tmp_path):
    table = pd.DataFrame(
        {"item": ["x", "y", "x", "x"], "tag": ["cat", "cat", "dog", "cat"], "n": [2, 1, 0.5, 1], "who": list("abcd")}
    )
    data = table
    if as_file:
        data = tmp_path / "long.csv"
        table.to_csv(data, index=False)
    counts = vn.load_sources({"a": data}, tags="tag", item="item", weight="n", weighting="counts")
    np.testing.assert_array_equal(counts["a"].X.toarray(), [[3, 0.5], [1, 0]])
    assert counts.metadata["a"]["who"].tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_joined_tags_are_split_on_request(kind, tmp_path):
    table = pd.DataFrame({"tags": ["sea|sky", "new york|sea", None, "sky"]})
    data = table
    if kind == "csv":
        data = _written(tmp_path / "a.csv", table.to_csv(index=False, na_rep=""))
        data = _written(tmp_path / "b.csv", "n," + data.read_text().replace("\n", "\n1,").removesuffix("1,"))
    elif kind == "parquet":
        data = tmp_path / "a.parquet"
        pa.parquet.write_table(pa.Table.from_pandas(table), data)
    with pytest.warns(DataWarning, match="1 of 4 items have no words left"):
        found = vn.load_sources({"a": data}, tags="tags", split_tags="|", weighting="counts")
    assert list(found["a"].features.ids) == ["new york", "sea", "sky"]
    np.testing.assert_array_equal(found["a"].X.toarray(), [[0, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]])


def test_tfidf_is_the_definition_with_each_sources_own_statistics():
    lists = {"a": [["x", "y"], ["x"], ["x", "z", "z"]], "b": [["y"], ["y", "x"]]}
    found = vn.load_sources(lists, dtype=np.float64)
    for name, items in lists.items():
        counts = np.asarray([[item.count(word) for word in "xyz"] for item in items], dtype=float)
        df = (counts > 0).sum(axis=0)
        weighted = counts * np.log((len(items) + 1) / np.maximum(df, 1))
        np.testing.assert_allclose(found[name].X.toarray(), normalize(weighted), rtol=1e-14)


def test_a_word_is_kept_when_it_is_common_enough_in_one_source():
    lists = {"a": [["x", "rare"], ["x"], ["y"]], "b": [["y"], ["y"], ["x", "odd"]]}
    found = vn.load_sources(lists, min_count=2)
    assert list(found["a"].features.ids) == ["x", "y"]
    assert found["a"].features is found["b"].features
    uneven = vn.load_sources(lists, min_count={"a": 1, "b": 3})
    assert list(uneven["a"].features.ids) == ["rare", "x", "y"]


def test_the_most_shared_words_are_kept_when_features_are_limited():
    lists = {"a": [["x", "y"], ["x"], ["x"], ["q", "x"]], "b": [["z"], ["z", "q"], ["y", "z"]]}
    assert list(vn.load_sources(lists, max_features=2, weighting="binary")["a"].features.ids) == ["x", "z"]
    with pytest.warns(DataWarning):
        assert list(vn.load_sources(lists, max_share=0.5)["a"].features.ids) == ["q", "y", "z"]


def test_items_with_nothing_left_stay_and_are_reported():
    with pytest.warns(DataWarning, match=r"source 'a': 1 of 3 items have no words left \('second'\)") as caught:
        found = vn.load_sources({"a": {"first": ["x"], "second": ["rare"], "third": ["x"]}}, min_count=2)
    assert len(caught) == 1
    assert found["a"].shape == (3, 1)
    assert found["a"].X[[1]].nnz == 0


def test_matrices_with_names_join_sources_of_lists():
    X = sp.csr_array(np.asarray([[1, 0, 2], [0, 3, 0]]))
    mixed = {"m": (X, ["Sea", "boat", "sea"], ["i", "j"]), "l": [["sea"], ["sky"]]}
    found = vn.load_sources(mixed, weighting="counts", dtype=np.float64)
    assert list(found["m"].features.ids) == ["boat", "sea", "sky"]
    np.testing.assert_array_equal(found["m"].X.toarray(), [[0, 3, 0], [3, 0, 0]])
    table = pd.DataFrame(X.toarray(), columns=["Sea", "boat", "sea"], index=["i", "j"])
    same(vn.load_sources({"m": table, "l": mixed["l"]}, weighting="counts", dtype=np.float64), found)


def test_repeated_sentences_are_left_out_now_and_later():
    texts = [f"{city} votes. Subscribe to our newsletter!" for city in ("Paris", "London", "Rome")]
    found = vn.load_sources({"news": texts}, drop_repeated=3)
    assert list(found["news"].features.ids) == ["london", "paris", "rome", "votes"]
    assert found.encoders["news"].encode("Subscribe to our newsletter! Rome.").nnz == 1


def test_rows_in_another_order_give_the_same_rows():
    order = [2, 0, 3, 1]
    one = vn.load_sources({"a": frame()}, tags="tags", item="id")
    two = vn.load_sources({"a": frame().iloc[order]}, tags="tags", item="id")
    np.testing.assert_array_equal(one["a"].X.toarray()[order], two["a"].X.toarray())


def test_large_files_keep_their_order_with_several_threads(tmp_path):
    n = 300_000
    path = tmp_path / "big.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT i AS id, [('w' || (i * 7919 % 97)), ('v' || (i % 13))] AS tags FROM range({n}) t(i)) "
            f"TO '{path}' (ROW_GROUP_SIZE 10000)"
        )
    found = vn.load_sources({"a": path}, tags="tags", item="id", weighting="binary")
    assert list(found["a"].items.ids[:3]) == ["0", "1", "2"]
    assert found["a"].items.ids[-1] == str(n - 1)
    words = found["a"].features.ids[found["a"].X.indices].reshape(n, 2)
    rows = np.arange(n)
    np.testing.assert_array_equal(words[:, 1], [f"w{i}" for i in rows * 7919 % 97])
    np.testing.assert_array_equal(words[:, 0], [f"v{i}" for i in rows % 13])


def test_without_duckdb_lists_and_tables_work_and_files_name_the_command(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert vn.load_sources({"a": frame(), "b": OTHER}, tags="tags", item="id").names == ("a", "b")
    assert vn.load_sources({"a": write_sqlite(tmp_path / "a.db")}, tags="tags").names == ("a",)
    with pytest.raises(MissingDependencyError, match=r'pip install "vennmf\[app\]"'):
        vn.load_sources({"a": write_jsonl(tmp_path / "a.jsonl")}, tags="tags")


def test_halves_of_characters_are_replaced_so_that_a_model_can_be_saved(tmp_path):
    items = [
        {"id": "\ud800", "tags": ["sea\udfff", "sky"], "title": "\ud83d"},
        {"id": "b", "tags": ["sky"], "title": "x"},
    ]
    sources = vn.load_sources({"a": items}, tags="tags", item="id")
    assert list(sources["a"].features.ids) == ["sea?", "sky"]
    vn.NMF(1, random_state=0).fit(sources).save(tmp_path / "m.venn")
    again = vn.load(tmp_path / "m.venn")
    assert again.item_ids_["a"].tolist() == ["?", "b"]
    assert again.metadata_["a"]["title"].tolist() == ["?", "x"]


def test_every_source_has_a_name_of_its_own():
    for sources in ({1: OTHER, "1": OTHER}, {"": OTHER}):
        with pytest.raises(SourceError, match="name of its own"):
            vn.load_sources(sources)


def test_options_that_mean_nothing_are_refused_in_one_line():
    with pytest.raises(ParameterError, match="both given"):
        vn.load_sources({"a": frame()}, tags="tags", text="title")
    with pytest.raises(ParameterError, match="'tfidf', 'counts', 'binary'"):
        vn.load_sources({"a": OTHER}, weighting="bm25")
    with pytest.raises(ParameterError, match="list for other languages"):
        vn.load_sources({"a": OTHER}, stop_words="german")
    with pytest.raises(ParameterError, match=r"ngram=0"):
        vn.load_sources({"a": OTHER}, ngram=0)
    with pytest.raises(ParameterError, match="min_count names 'c'"):
        vn.load_sources({"a": OTHER}, min_count={"c": 1})
    with pytest.raises(SourceError, match=r"no word is left.*most common one is in 2 items"):
        vn.load_sources({"a": OTHER}, min_count=3)


def test_a_named_data_set_brings_its_columns():
    texts = pd.DataFrame({"id": ["1"], "text": ["Rain and more"]})
    dataset = vn.datasets.Dataset("n", "t", "l", "c", "features", {"x": texts}, {"text": "text", "item": "id"})
    assert list(vn.load_sources(dataset)["x"].features.ids) == ["and", "more", "rain"]


def test_a_data_set_of_named_matrices_is_read_and_one_of_views_is_not():
    X = np.asarray([[1.0, 0], [0, 2]])
    named = {"matrices": {"x": X}, "features": {"x": np.asarray(["b", "a"], object)}}
    found = vn.load_sources(vn.datasets.Dataset("n", "t", "l", "c", "features", **named), weighting="counts")
    np.testing.assert_array_equal(found["x"].X.toarray(), [[0, 1], [2, 0]])
    with pytest.raises(SourceError, match=r"dataset.views\(\)"):
        vn.load_sources(vn.datasets.Dataset("n", "t", "l", "c", "items", **named))


def test_planted_tags_come_back_as_the_pattern_of_their_matrix():
    truth = vn.datasets.planted({"all": 2, "a": 1, "b": 1}, 40, 24, sparse=True, random_state=0)
    found = vn.load_sources(truth.tags(), weighting="binary", dtype=np.float64)
    for name, X in truth.sources.items():
        columns = [list(truth.words).index(word) for word in found[name].features.ids]
        np.testing.assert_array_equal(found[name].X.toarray(), (X.toarray() > 0)[:, columns])


def test_the_order_of_a_long_table_changes_no_bit_of_its_sums():
    rng = np.random.default_rng(0)
    items = np.repeat(["x", "y"], 400)
    table = pd.DataFrame({"id": items, "tag": rng.choice(list("abcd"), 800), "n": rng.random(800)})
    shuffled = pd.concat([table.iloc[[0, 799]], table.iloc[1:799].sample(frac=1, random_state=0)])
    options = {"tags": "tag", "item": "id", "weight": "n", "weighting": "counts", "dtype": np.float64}
    same(vn.load_sources({"s": shuffled}, **options), vn.load_sources({"s": table}, **options))


def test_reading_sources_imports_nothing_heavy_before_it_is_needed():
    code = "import sys, vennmf as vn; vn.load_sources, vn.datasets; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"duckdb", "polars", "matplotlib", "typer"} & set(loaded)
