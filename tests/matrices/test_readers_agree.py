"""Whatever the tags, ids and titles are, a file of them says what the table in memory says."""

import json
import sqlite3
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vennmf as vn
from vennmf.errors import DataWarning

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

odd = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), st.sampled_from("\"',;|\n\t ["))
)
tags = st.lists(odd, max_size=4)
tables = st.lists(st.tuples(tags, st.none() | odd.filter(bool)), min_size=1, max_size=6)


def write(kind, table, folder):
    path = folder / f"a.{kind}"
    rows = [{"id": f"{n}", "tags": cell, "title": title} for n, (cell, title) in enumerate(table)]
    frame = pd.DataFrame(rows, dtype=object)
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    if kind == "parquet":
        schema = pa.schema([("id", pa.string()), ("tags", pa.list_(pa.string())), ("title", pa.string())])
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows, schema), path)
        return path
    frame["tags"] = [json.dumps(cell) for cell in frame["tags"]]
    if kind == "csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            frame.to_csv(stream, index=False, lineterminator="\n", quoting=2)
        return path
    with sqlite3.connect(path) as connection:
        frame.to_sql("a", connection, index=False)
    connection.close()
    return path


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "csv", "db"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(table=tables)
def test_odd_text_survives_every_format(kind, table):
    items = [{"id": f"{n}", "tags": [*cell, "all"], "title": title} for n, (cell, title) in enumerate(table)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        path = write(kind, [(row["tags"], row["title"]) for row in items], Path(folder))
        found = vn.load_sources({"a": path}, tags="tags", item="id")
    expected = vn.load_sources({"a": items}, tags="tags", item="id")
    np.testing.assert_array_equal(found["a"].features.ids, expected["a"].features.ids)
    np.testing.assert_array_equal(found["a"].X.toarray(), expected["a"].X.toarray())
    if kind != "csv":  # a CSV file cannot tell numbers and truth values from text
        assert found.metadata["a"]["title"].tolist() == expected.metadata["a"]["title"].tolist()
