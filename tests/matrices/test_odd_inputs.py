"""Odd and broken inputs: one line that names the source, what is wrong and the way out; nothing is written."""

import gzip
import json
import os
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import vennmf as vn
from vennmf.errors import SourceError

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

TAGS = {"tags": "tags", "item": "id"}
TEXT = {"text": "text"}


def put(name, content):
    """A file with a content, text or bytes."""

    def write(folder):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def given(data):
    return lambda folder: data


def cut_parquet(folder):
    import pyarrow.parquet

    path = folder / "cut.parquet"
    pyarrow.parquet.write_table(pa.table({"id": list(range(1000)), "tags": [["a"]] * 1000}), path)
    path.write_bytes(path.read_bytes()[:-100])
    return path


def cut_gzip(folder):
    path = folder / "cut.jsonl.gz"
    rows = "".join(json.dumps({"id": i, "tags": [f"t{i * 7919 % 1000}"]}) + "\n" for i in range(5000))
    path.write_bytes(gzip.compress(rows.encode())[:-2000])
    return path


def two_tables(folder):
    path = folder / "two.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (id TEXT, tags TEXT)")
        connection.execute("CREATE TABLE videos (id TEXT, tags TEXT)")
    connection.close()
    return path


def no_tables(folder):
    path = folder / "none.duckdb"
    duckdb.connect(str(path)).close()
    return path


def cut_sqlite(folder):
    path = folder / "cut.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\x01" * 3000)
    return path


def folder_of(name, content=b"x"):
    def make(folder):
        (folder / "texts").mkdir()
        (folder / "texts" / name).write_bytes(content)
        return folder / "texts"

    return make


def empty_folder(folder):
    (folder / "empty").mkdir()
    return folder / "empty"


def two_kinds(folder):
    put("a.csv", "id,tags\n1,x\n")(folder)
    put("a.jsonl", '{"id": 1, "tags": ["x"]}\n')(folder)
    return str(folder / "a.*")


CASES = {
    "empty file": (put("a.csv", ""), TAGS, "a.csv is empty"),
    "empty json lines": (put("a.jsonl", ""), TAGS, "a.jsonl is empty"),
    "header only": (put("a.csv", "id,tags\n"), TAGS, "no rows"),
    "wrong column": (put("a.csv", 'id,tag\n1,"[""x""]"\n'), TAGS, "no column 'tags'; did you mean 'tag'?"),
    "column in another case": (put("a.csv", "ID,tags\n1,x\n"), TAGS, "no column 'id'; did you mean 'ID'?"),
    "wrong column in json": (put("a.jsonl", '{"id": 1, "Tags": ["x"]}\n'), TAGS, "did you mean 'Tags'?"),
    "no such item column": (given(pd.DataFrame({"tags": [["x"]]})), TAGS, "no column 'id'; it has 'tags'."),
    "no such metadata": (
        given(pd.DataFrame({"tags": [["x"]], "title": ["t"]})),
        {"tags": "tags", "metadata": "titel"},
        "did you mean 'title'?",
    ),
    "no column named": (put("a.csv", "id,tags\n1,x\n"), {}, "say which column"),
    "ragged csv": (put("a.csv", "id,tags\n1,x\n2,y,z\n3,w\n"), TAGS, "CSV Error on Line: 3"),
    "short row": (put("a.csv", "id,tags,n\n1,x,1\n2,y\n3,w,1\n"), TAGS, "CSV Error on Line: 3"),
    "unterminated quote": (put("a.csv", 'id,tags\n1,"x\n2,y\n'), TAGS, "quote"),
    "mixed encodings": (put("a.csv", "id,tags\n1,café\n".encode() + b"2,caf\xe9\n"), TAGS, "Save it as UTF-8"),
    "utf-16": (put("a.csv", "id,tags\n1,x\n".encode("utf-16")), TAGS, "no column"),
    "mixed encodings in json": (put("a.jsonl", b'{"id": 1, "tags": ["caf\xe9"]}\n'), TAGS, "line 1"),
    "a tag of 1 MB": (put("a.jsonl", json.dumps({"id": 1, "tags": ["x" * 1_000_000]})), TAGS, "1,000,000 characters"),
    "a cell of 1 MB as tags": (put("a.csv", "id,tags\n1," + "word " * 200_000 + "\n2,x\n"), TAGS, "no lists of tags"),
    "a tag of 1 MB in a list": (given([["x" * 1_000_000]]), {}, "1,000,000 characters"),
    "a line of 40 MB": (put("a.csv", "id,tags\n1," + "word " * 8_000_000 + "\n"), TAGS, "CSV Error"),
    "a tag list that is a string": (put("a.csv", "id,tags\n1,sea sky\n2,boat\n"), TAGS, "split_tags=' '"),
    "strings for lists in a frame": (given(pd.DataFrame({"id": [1, 2], "tags": ["sea sky", "x"]})), TAGS, "split_tags"),
    "half a list": (put("a.csv", 'id,tags\n1,"[sea, sky]"\n2,"[x"\n'), TAGS, "no lists of tags"),
    "a list that is none": (put("a.csv", 'id,tags\n1,"[sea, sky]"\n'), TAGS, "row 1: '[sea, sky]' looks like a list"),
    "duplicated ids": (
        put("a.jsonl", '{"id": "x", "tags": ["a"]}\n{"id": "x", "tags": ["b"]}\n'),
        TAGS,
        "item 'x' twice, in rows 1 and 2",
    ),
    "duplicated ids in a frame": (
        given(pd.DataFrame({"id": ["x", "y", "x"], "tags": [["a"], [], ["b"]]})),
        TAGS,
        "rows 1 and 3",
    ),
    "duplicated ids of texts": (
        given(pd.DataFrame({"id": [1, 1], "text": ["a", "b"]})),
        TEXT | {"item": "id"},
        "twice",
    ),
    "null ids": (put("a.jsonl", '{"id": 1, "tags": ["a"]}\n{"id": null, "tags": ["b"]}\n'), TAGS, "row 2: the id"),
    "null ids in a frame": (given(pd.DataFrame({"id": ["a", None], "tags": [["a"], ["b"]]})), TAGS, "row 2: the id"),
    "mixed lists and text": (put("a.jsonl", '{"id": 1, "tags": ["a"]}\n{"id": 2, "tags": "b"}\n'), TAGS, "row 2"),
    "mixed in a frame": (given(pd.DataFrame({"id": [1, 2], "tags": [["a"], "b"]})), TAGS, "row 2: column 'tags' mixes"),
    "dicts for tags": (put("a.jsonl", '{"id": 1, "tags": {"a": 1}}\n'), TAGS, "give lists of tags"),
    "dicts for tags in a frame": (given([{"id": 1, "tags": {"a": 1}}]), TAGS, "found a dict"),
    "lists in lists": (given([["a"], [["b"]]]), {}, "row 2: a tag is a list"),
    "all null": (put("a.jsonl", '{"id": 1, "tags": null}\n{"id": 2, "tags": []}\n'), TAGS, "no word is left"),
    "broken json": (
        put("a.jsonl", '{"id": 1, "tags": ["a"]}\n{"id": 2, "tags": ["b",,]}\n'),
        TAGS,
        "line 2 is no JSON",
    ),
    "json of numbers": (put("a.jsonl", "1\n2\n"), TAGS, "holds no objects"),
    "lists in lists in lists": (put("a.jsonl", '{"id": ' + "[" * 5000 + "]" * 5000 + "}"), TAGS, "line 1"),
    "lines of an old Mac": (put("a.csv", "id,tags\r1,x\r2,y\r"), TAGS, "carriage return alone"),
    "json cut short": (put("a.json", '[{"id": 1, "tags": ["a"]}, {"id": 2, "ta'), TAGS, "cannot be read"),
    "parquet cut short": (cut_parquet, TAGS, "cut.parquet cannot be read"),
    "text named parquet": (put("a.parquet", "id,tags\n1,x\n" * 20), TAGS, "a.parquet cannot be read"),
    "gzip cut short": (cut_gzip, TAGS, "cut.jsonl.gz cannot be read"),
    "no such file": (
        lambda folder: put("photos.csv", "id\n")(folder).with_name("photo.csv"),
        TAGS,
        "did you mean 'photos.csv'?",
    ),
    "no such folder": (lambda folder: folder / "no" / "a.csv", TAGS, "there is no folder"),
    "nothing matches": (lambda folder: str(folder / "*.jsonl"), TAGS, "no file matches"),
    "several kinds": (two_kinds, TAGS, "several kinds, .csv, .jsonl"),
    "unknown kind": (put("a.xlsx", "x"), TAGS, "no kind that vennmf reads"),
    "a folder that is a file": (lambda folder: f"{put('a.csv', 'id')(folder)}/", TAGS, "is a file, not a folder"),
    "a folder without texts": (folder_of("a.csv"), TEXT, "pass texts/*.csv"),
    "an empty folder": (empty_folder, TEXT, "has no text files"),
    "a text that is not utf-8": (folder_of("a.txt", b"caf\xe9"), TEXT, "a.txt is not UTF-8 (byte 3)"),
    "a table that is not there": (lambda folder: f"{two_tables(folder)}::images", TAGS, "no table 'images'"),
    "which of two tables": (two_tables, TAGS, "name one, such as two.db::photos"),
    "a database without tables": (no_tables, TAGS, "has no tables"),
    "sqlite cut short": (cut_sqlite, TAGS, "cut.db cannot be read"),
    "no database": (put("a.db", "id,tags"), TAGS, "neither an SQLite nor a DuckDB"),
    "an address": (given("https://example.org/a.csv"), TAGS, "Download it first"),
    "weights that are text": (
        put("a.csv", "id,tags,n\n1,x,2\n1,y,much\n"),
        TAGS | {"weight": "n"},
        "row 2: the weight",
    ),
    "negative weights": (
        given(pd.DataFrame({"id": [1, 1], "tags": ["a", "b"], "n": [1, -2]})),
        TAGS | {"weight": "n"},
        "'-2'; expected a finite number",
    ),
    "weights without items": (
        given(pd.DataFrame({"tags": ["a"], "n": [1]})),
        {"tags": "tags", "weight": "n"},
        "needs item=",
    ),
    "text that is a list": (given(pd.DataFrame({"text": [["a", "b"]]})), TEXT, "pass tags='text'"),
    "texts and lists": (given(["a text", ["a", "tag"]]), {}, "row 2 is list"),
    "a matrix without names": (given(sp.eye_array(3)), {}, "pass (matrix, words)"),
    "too few names": (given((sp.eye_array(3), ["a", "b"])), {}, "3 columns and 2 names"),
    "a matrix with negatives": (given((np.asarray([[1.0, -1.0]]), ["a", "b"])), {}, "-1 at row 1, column 'b'"),
    "an empty list": (given([]), {}, "empty list"),
    "an empty dict": (given({}), {}, "empty dict"),
    "an empty frame": (given(pd.DataFrame({"id": [], "tags": []})), TAGS, "no rows"),
    "none": (given(None), {}, "found NoneType"),
    "a number": (given(3), {}, "found int"),
    "two columns of one name": (
        given(pd.DataFrame([[1, ["a"], 2]], columns=["id", "tags", "id"])),
        TAGS,
        "two columns 'id'",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_odd_inputs_give_one_line_and_nothing_is_written(case, tmp_path, monkeypatch):
    make, options, expected = CASES[case]
    data = make(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SourceError) as caught:
        vn.load_sources({"photos": data}, **options)
    message = str(caught.value)
    assert expected in message
    assert "\n" not in message
    assert "photos" in message or "no word is left" in message
    assert len(message) < 600
    assert sorted(tmp_path.rglob("*")) == before
    assert caught.value.__cause__ is None


def test_there_are_fifty_cases_or_more():
    assert len(CASES) >= 50


@pytest.mark.parametrize("sources", [[["a"]], "a.csv", None, {}])
def test_sources_without_names_are_refused(sources):
    with pytest.raises(SourceError, match=r"dict of names|no sources were given"):
        vn.load_sources(sources)


def test_a_file_that_cannot_be_opened_is_said(tmp_path):
    path = put("a.csv", "id,tags\n1,x\n")(tmp_path)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(SourceError, match="cannot be read"):
        vn.load_sources({"photos": Path(path)}, **TAGS)
