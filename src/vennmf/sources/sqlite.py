"""Rows from SQLite files, through Python's own module: DuckDB's reader of them is a download of its own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vennmf.errors import SourceError
from vennmf.sources.scans import named


def read_sqlite(source: str, path: Path, table: str | None) -> Any:
    """A table of an SQLite file as a pandas.DataFrame, rows in the order they were stored."""
    import pandas as pd

    where = path.name + (f"::{table}" if table else "")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as connection:
            tables = [
                name
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE "
                    "'sqlite_%' "
                    "ORDER BY name"
                )
            ]
            if table is None and len(tables) == 1:
                table = tables[0]
            if table not in tables:
                found = f"it has tables {', '.join(map(repr, tables[:8]))}" if tables else "it has no tables"
                hint = f"; name one, such as {path.name}::{tables[0]}" if tables else ""
                asked = f"no table {table!r}: " if table else ""
                raise SourceError(f"source {source!r}: {where} has {asked}{found}{hint}.")
            cursor = connection.execute(f"SELECT * FROM {named(str(table))}")
            names = [column[0] for column in cursor.description]
            return pd.DataFrame(cursor.fetchall(), columns=names, dtype=object)
    except sqlite3.Error as error:
        message = f"source {source!r}: {where} cannot be read: {error}. Check that it is whole."
        raise SourceError(message) from None
