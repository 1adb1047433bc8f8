"""What DuckDB says becomes one line, without what nobody else should read."""

import pytest

from vennmf.errors import ParameterError, SourceError
from vennmf.sources import duck
from vennmf.sources.rows import Columns
from vennmf.sources.scans import scan_files, scan_postgres

duckdb = pytest.importorskip("duckdb")


def test_a_postgres_address_is_attached_read_only_and_its_password_stays_out_of_messages():
    address = "postgresql://me:secret@db.example/news"
    scan = scan_postgres(address, "public.articles")
    assert scan.relation == 'src."public"."articles"'
    assert scan.before[-1] == f"ATTACH '{address}' AS src (TYPE postgres, READ_ONLY)"
    with pytest.raises(SourceError, match="server answers") as caught, duck._one_line(duckdb, "bbc", scan):
        raise duckdb.IOException(f'IO Error: Unable to connect to Postgres at "{address}": refused\nmore')
    assert "secret" not in str(caught.value)
    assert "db.example/news" in str(caught.value)


def test_an_extension_that_cannot_be_fetched_is_said_in_one_line():
    scan = scan_postgres("postgresql://db/news", None)
    message = 'IO Error: Failed to download extension "postgres_scanner" at URL "http://somewhere" (ERROR)'
    expected = pytest.raises(SourceError, match="once over the network; or export")
    with expected as caught, duck._one_line(duckdb, "bbc", scan):
        raise duckdb.IOException(message)
    assert "somewhere" not in str(caught.value)


def test_a_memory_limit_that_is_no_amount_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("tags,n\nx|y,1\n")
    columns = Columns(tags="tags", split="|")
    with pytest.raises(ParameterError, match="memory_limit='lots'"):
        duck.read_scan("a", scan_files("a", [path], "csv"), columns, "lots")
    rows = duck.read_scan("a", scan_files("a", [path], "csv"), columns, "200MB")
    assert sorted(rows.pairs.terms) == ["x", "y"]


def test_numbers_in_tables_of_text_are_read_only_where_nothing_is_lost(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("tags,code,n,x,yes,mixed\na|b,007,1,1.5,true,1\nc,8,,2,false,x\n")
    rows = duck.read_scan("a", scan_files("a", [path], "csv"), Columns(tags="tags", split="|"))
    assert rows.metadata.to_dict("list") == {
        "code": ["007", "8"], "n": [1, None], "x": [1.5, 2], "yes": [True, False], "mixed": ["1", "x"]
    }  # fmt: skip


def test_odd_names_of_columns_and_files_are_quoted(tmp_path):
    path = tmp_path / "it's.csv"
    path.write_text('"my ""tags""",id;x\na|b,1\n')
    rows = duck.read_scan("a", scan_files("a", [path], "csv"), Columns(tags='my "tags"', item="id;x", split="|"))
    assert list(rows.items) == ["1"]
    assert len(rows.pairs.rows) == 2
