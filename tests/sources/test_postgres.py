"""A table of Postgres gives the sources of the same table in memory. Needs a server: VENNMF_POSTGRES names its address."""

import os

import numpy as np
import pandas as pd
import pytest

import vennmf as vn
from vennmf.errors import SourceError

duckdb = pytest.importorskip("duckdb")
ADDRESS = os.environ.get("VENNMF_POSTGRES", "")
pytestmark = pytest.mark.skipif(not ADDRESS, reason="no server; set VENNMF_POSTGRES to postgresql://user@host/database")

ROWS = [
    {"id": "007", "tags": ["Sea", "sky", "new york"], "title": 'Say "hi"', "likes": 3},
    {"id": "b", "tags": ["日本", "Crème"], "title": None, "likes": None},
    {"id": "c", "tags": [], "title": "Line\nbreak", "likes": 0},
]


@pytest.fixture(scope="module")
def tables():
    """Three tables of a schema of their own: of lists, of one pair a row, and of texts."""
    connection = duckdb.connect()
    connection.execute(f"INSTALL postgres; LOAD postgres; ATTACH '{ADDRESS}' AS pg (TYPE postgres)")
    connection.execute("CREATE SCHEMA pg.vennmf_test")
    try:
        connection.execute(
            "CREATE TABLE pg.vennmf_test.photos (id VARCHAR, tags VARCHAR[], title VARCHAR, likes INTEGER)"
        )
        for row in ROWS:
            connection.execute("INSERT INTO pg.vennmf_test.photos VALUES (?, ?, ?, ?)", list(row.values()))
        connection.execute("CREATE TABLE pg.vennmf_test.pairs (id VARCHAR, tag VARCHAR, n DOUBLE)")
        for row in ROWS:
            for n, tag in enumerate(row["tags"], start=1):
                connection.execute("INSERT INTO pg.vennmf_test.pairs VALUES (?, ?, ?)", [row["id"], tag, n / 7])
        yield f"{ADDRESS}::vennmf_test."
    finally:
        connection.execute("DROP SCHEMA pg.vennmf_test CASCADE")
        connection.close()


@pytest.mark.filterwarnings("ignore::vennmf.DataWarning")
def test_a_table_of_lists_is_the_table_in_memory(tables):
    found = vn.load_sources({"a": f"{tables}photos"}, tags="tags", item="id")
    expected = vn.load_sources({"a": pd.DataFrame(ROWS)}, tags="tags", item="id")
    np.testing.assert_array_equal(found["a"].features.ids, expected["a"].features.ids)
    np.testing.assert_array_equal(found["a"].items.ids, expected["a"].items.ids)
    np.testing.assert_array_equal(found["a"].X.toarray(), expected["a"].X.toarray())
    pd.testing.assert_frame_equal(found.metadata["a"], expected.metadata["a"])


def test_a_long_table_is_the_table_in_memory(tables):
    rows = [(row["id"], tag, n / 7) for row in ROWS for n, tag in enumerate(row["tags"], start=1)]
    options = {"tags": "tag", "item": "id", "weight": "n", "weighting": "counts", "dtype": np.float64}
    found = vn.load_sources({"a": f"{tables}pairs"}, **options)
    expected = vn.load_sources({"a": pd.DataFrame(rows, columns=["id", "tag", "n"])}, **options)
    np.testing.assert_array_equal(found["a"].X.toarray(), expected["a"].X.toarray())


def test_a_table_that_is_not_there_is_one_line_without_the_password(tables):
    with pytest.raises(SourceError, match="cannot be read") as caught:
        vn.load_sources({"a": f"{tables}nothing"}, tags="tags")
    assert "\n" not in str(caught.value)
    assert ADDRESS not in str(caught.value)


def test_which_of_several_tables_is_asked_with_their_schemas(tables):
    with pytest.raises(SourceError, match=r"name one at the end.*vennmf_test\.pairs|vennmf_test\.pairs.*name one"):
        vn.load_sources({"a": ADDRESS}, tags="tags")
