"""Rows from files and databases, read, split and counted by DuckDB within a memory limit."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vennmf.errors import MissingDependencyError, ParameterError, SourceError
from vennmf.sources.memory import (
    explode,
    is_bracketed,
    join_texts,
    plain,
    text_ids,
    typed,
)
from vennmf.sources.rows import (
    MAX_TAG,
    Columns,
    Pairs,
    Rows,
    check_tag,
    refuse_unsplit,
    require_columns,
    require_distinct,
)
from vennmf.sources.scans import Scan, named, opened, quoted

MEMORY_LIMIT = "1GB"
"""What DuckDB may hold before it goes to temporary files, unless the caller says otherwise."""

ROW = "__row"


def open_duckdb() -> Any:
    """The duckdb package, or the command that installs it."""
    try:
        import duckdb
    except ImportError:
        raise MissingDependencyError(
            'files are read with DuckDB, which is not installed; run: pip install "vennmf[app]". '
            "Lists, DataFrames and matrices need nothing more."
        ) from None
    return duckdb


def read_scan(source: str, scan: Scan, columns: Columns, memory_limit: str | None = None) -> Rows:
    """The rows of one scan."""
    duckdb = open_duckdb()
    with tempfile.TemporaryDirectory(prefix="vennmf-") as scratch:
        connection = duckdb.connect(config={"temp_directory": scratch})
        try:
            with _one_line(duckdb, source, scan):
                _limit(duckdb, connection, memory_limit or MEMORY_LIMIT)
                for statement in scan.before:
                    connection.execute(statement)
                relation = scan.relation or _only_table(connection, source, scan)
                return _read(connection, source, scan, relation, columns)
        finally:
            connection.close()


def _limit(duckdb: Any, connection: Any, memory_limit: str) -> None:
    try:
        connection.execute(f"SET memory_limit={quoted(memory_limit)}")
    except duckdb.Error:
        raise ParameterError(f"memory_limit={memory_limit!r}; expected an amount such as '2GB' or '500MB'.") from None
    connection.execute("SET preserve_insertion_order=true")
    connection.execute("SET enable_progress_bar=false")


@contextlib.contextmanager
def _one_line(duckdb: Any, source: str, scan: Scan) -> Iterator[None]:
    """DuckDB's messages as one line that names the source and the file."""
    try:
        yield
    except duckdb.InterruptException:  # what becomes of Ctrl-C inside a query
        raise KeyboardInterrupt from None
    except (duckdb.Error, RuntimeError) as error:  # a RuntimeError where a damaged file holds text that is none
        if scan.json_lines is not None and (line := _bad_json_line(scan.json_lines)) is not None:
            what = f"line {line:,} is no JSON object"
        else:
            what = _short(str(error).replace(scan.secret or "\0", scan.where))
        found = f"{scan.where} cannot be read: {what}"
        raise SourceError(f"source {source!r}: {found}. {_way_out(what)}") from None


def _short(message: str) -> str:
    """The sentence that matters in a message of many lines."""
    head = message.split("\nLINE 1:")[0].split("Possible ")[0].split("\n  file =")[0]
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    chosen = lines[:1] if len(lines) < 3 else [lines[0], lines[-1]]
    return "; ".join(chosen).removeprefix("Invalid Input Error: ").split(" at URL ")[0].rstrip(".! ")[:300]


def _way_out(what: str) -> str:
    if "unicode" in what or "utf-8" in what.lower():
        return "Save it as UTF-8."
    if "Expected Number of Columns" in what:
        return "Give every row as many cells as the header has; quote cells that hold the delimiter."
    if "download extension" in what:
        return "DuckDB fetches its Postgres extension once over the network; or export the table to Parquet."
    if "Catalog Error" in what:
        return "Name a table that is there, as ::table or ::schema.table."
    if "Unable to connect" in what:
        return "Check the address, and that the server answers."
    if "memory" in what.lower():
        return "Raise memory_limit=, such as memory_limit='4GB'."
    return "Check that it is whole, and of the kind that its name says."


def _bad_json_line(path: Path) -> int | None:
    """The first line of a JSON-lines file that is no object, or None if the file is of another make."""
    try:
        with opened(path) as stream:
            start = stream.read(1)
            stream.seek(0)
            if start == b"[":
                return None
            for number, line in enumerate(stream, 1):
                try:
                    if line.strip() and not isinstance(json.loads(line), dict):
                        return number
                except (ValueError, RecursionError):
                    return number
    except (OSError, EOFError):
        return None
    return None


def _only_table(connection: Any, source: str, scan: Scan) -> str:
    """The table of a database that has one."""
    found = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'src' "
        "AND table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2"
    ).fetchall()
    if len(found) == 1:
        return f"src.{named(found[0][0])}.{named(found[0][1])}"
    if not found:
        raise SourceError(f"source {source!r}: {scan.where} has no tables; there is nothing to read.")
    named_so = [table if schema in ("main", "public") else f"{schema}.{table}" for schema, table in found]
    raise SourceError(
        f"source {source!r}: {scan.where} has tables {', '.join(map(repr, named_so[:8]))}; name one at the end of its "
        f"address, such as ::{named_so[0]}."
    )


def _read(connection: Any, source: str, scan: Scan, relation: str, columns: Columns) -> Rows:
    types = _types(connection, source, scan, relation, columns)
    kept = columns.kept(list(types))
    chosen = list(dict.fromkeys([*columns.used, *kept]))
    selected = ", ".join(_selected(name, types[name], columns) for name in chosen)
    connection.execute(
        f"CREATE TEMP TABLE items AS SELECT row_number() OVER () - 1 AS {ROW}, {selected} FROM {relation}"
    )
    n_rows = int(connection.execute("SELECT count(*) FROM items").fetchone()[0])
    if n_rows == 0:
        raise SourceError(f"source {source!r}: {scan.where} has columns and no rows; there is nothing to read.")
    kind = "text" if columns.text else _layout(connection, source, columns, types[str(columns.tags)])
    _require_ids(connection, source, columns.item)
    if kind == "long":
        return _long(connection, source, columns, kept, bool(scan.header))
    items = None
    if columns.item is not None:
        items = text_ids(source, _column(connection, columns.item), columns.item)
        require_distinct(source, items, n_rows)
    metadata = _metadata(connection, kept, n_rows, bool(scan.header))
    if kind == "text":
        texts = join_texts(source, [_column(connection, name) for name in columns.text], columns.text)
        return Rows(n_rows, None, texts, items, metadata)
    if kind == "bracketed":
        pairs = explode(source, _column(connection, str(columns.tags)), None)
    else:
        pairs = _pairs(connection, source, _exploded(columns, kind, "items"))
    return Rows(n_rows, pairs, None, items, metadata)


def _require_ids(connection: Any, source: str, item: str | None) -> None:
    """Every item has an id; asked of DuckDB, before any of them leaves it."""
    if item is None:
        return
    row = connection.execute(f"SELECT min({ROW}) FROM items WHERE {named(item)} IS NULL").fetchone()[0]
    if row is not None:
        text_ids(source, [""] * int(row) + [None], item)


def _types(connection: Any, source: str, scan: Scan, relation: str, columns: Columns) -> dict[str, str]:
    """The columns of a relation with their types, and a check that those asked for are there."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    types = {name: kind for name, kind, *_ in described}
    if list(types) == ["json"] and "json" not in columns.used:  # what DuckDB makes of values that are no objects
        raise SourceError(
            f"source {source!r}: {scan.where} holds no objects; write one object a line, such as "
            '{"id": "1", "tags": ["sea", "sky"]}.'
        )
    require_columns(source, list(types), columns)
    return types


def _selected(name: str, kind: str, columns: Columns) -> str:
    """A column as it is kept: ids, tags and text as text, dates as they are written."""
    column = named(name)
    if name == columns.weight:
        return column
    if name == columns.tags and kind.endswith("]"):
        return f"CAST({column} AS VARCHAR[]) AS {column}"
    if name in (columns.tags, columns.item) or kind in ("UUID", "TIME", "DATE") or "TIMESTAMP" in kind:
        return f"CAST({column} AS VARCHAR) AS {column}"
    return f"CAST({column} AS DOUBLE) AS {column}" if kind.startswith(("DECIMAL", "HUGEINT")) else column


def _column(connection: Any, name: str) -> list[Any]:
    return [cell for (cell,) in connection.execute(f"SELECT {named(name)} FROM items ORDER BY {ROW}").fetchall()]


def _metadata(connection: Any, kept: Sequence[str], n_rows: int, text: bool) -> Any:
    import pandas as pd

    if not kept:
        return pd.DataFrame(index=range(n_rows))
    selected = ", ".join(named(name) for name in kept)
    values = connection.execute(f"SELECT {selected} FROM items ORDER BY {ROW}").fetchall()
    columns = {name: [row[at] for row in values] for at, name in enumerate(kept)}
    if text:
        columns = {name: typed(column) for name, column in columns.items()}
    return plain(pd.DataFrame(columns, index=range(n_rows), dtype=object))


def _layout(connection: Any, source: str, columns: Columns, kind: str) -> str:
    """How the column of tags holds them; as :func:`vennmf.sources.memory.layout`, asked of DuckDB."""
    tags = named(str(columns.tags))
    if kind.endswith("]"):
        return "lists"
    if kind == "JSON":
        first = connection.execute(
            f"SELECT min({ROW}) FROM items WHERE json_type(TRY_CAST({tags} AS JSON)) != 'ARRAY'"
        ).fetchone()[0]
        raise SourceError(
            f"source {source!r}, row {int(first or 0) + 1:,}: column {columns.tags!r} mixes lists of tags "
            "with other "
            "values; give lists in every row."
        )
    if kind.startswith(("STRUCT", "MAP")):
        raise SourceError(f"source {source!r}: column {columns.tags!r} holds {kind[:40]}; give lists of tags.")
    if columns.weight is not None:
        if columns.item is None:
            raise SourceError(
                f"source {source!r}: weight={columns.weight!r} needs item=, the column that says whose weight it is."
            )
        return "long"
    if columns.split is not None:
        return "joined"
    filled, bracketed, example = connection.execute(
        f"SELECT count({tags}), count({tags}) FILTER (trim({tags}) LIKE '[%]'), arg_min({tags}, {ROW}) FROM items"
    ).fetchone()
    if filled and filled == bracketed and is_bracketed(example):
        return "bracketed"
    if columns.item is not None:
        item = named(columns.item)
        if connection.execute(f"SELECT count(DISTINCT {item}) < count({item}) FROM items").fetchone()[0]:
            return "long"
    if not filled:
        return "joined"
    raise refuse_unsplit(source, str(columns.tags), str(example))


def _exploded(columns: Columns, kind: str, table: str) -> str:
    """SQL for one row a tag: the row of its item, the raw tag, its weight where there is one."""
    tags = named(str(columns.tags))
    carried = "" if columns.weight is None or kind != "long" else f", {named(columns.weight)}"
    cell = f"unnest({tags})" if kind == "lists" else tags
    if columns.split is not None:
        inner = f"SELECT {ROW}, {cell} AS cell{carried} FROM {table}"
        table, cell = f"({inner})", f"unnest(string_split(cell, {quoted(columns.split)}))"
    return f"SELECT {ROW} AS row, {cell} AS tag{carried} FROM {table}"


def _pairs(connection: Any, source: str, exploded: str, weight: str | None = None) -> Pairs:
    """Pairs with their tags numbered: the text of each distinct tag leaves DuckDB once."""
    connection.execute(
        "CREATE TEMP TABLE terms AS SELECT tag, (row_number() OVER () - 1)::INTEGER AS code "
        f"FROM (SELECT DISTINCT tag FROM ({exploded}) WHERE tag IS NOT NULL)"
    )
    if connection.execute(f"SELECT count(*) FROM terms WHERE length(tag) > {MAX_TAG}").fetchone()[0]:
        row, tag = connection.execute(
            f"SELECT row, tag FROM ({exploded}) WHERE length(tag) > {MAX_TAG} LIMIT 1"
        ).fetchone()
        check_tag(source, int(row), tag)
    terms = [tag for (tag,) in connection.execute("SELECT tag FROM terms ORDER BY code").fetchall()]
    weighed = "" if weight is None else f", {named(weight)}::DOUBLE AS weight"
    found = connection.execute(
        f"SELECT row::INTEGER AS row, code{weighed} FROM ({exploded}) JOIN terms USING (tag)"
    ).fetchnumpy()
    connection.execute("DROP TABLE terms")
    rows, codes = (np.ascontiguousarray(found[name], dtype=np.int32) for name in ("row", "code"))
    weights = None if weight is None else np.ascontiguousarray(found["weight"], dtype=np.float64)
    return Pairs(rows, codes, terms, weights)


def _long(connection: Any, source: str, columns: Columns, kept: Sequence[str], text: bool) -> Rows:
    """A long table: one tag a row, items in the order of their first row."""
    item = named(str(columns.item))
    if columns.weight is not None:
        _check_weights(connection, source, columns.weight)
    connection.execute(
        "CREATE TEMP TABLE owners AS SELECT item, first, (row_number() OVER (ORDER BY first) - 1)::INTEGER AS owner "
        f"FROM (SELECT {item} AS item, min({ROW}) AS first FROM items GROUP BY {item})"
    )
    carried = "" if columns.weight is None else f", items.{named(columns.weight)}"
    owned = f"(SELECT owner AS {ROW}, items.{named(str(columns.tags))}{carried} FROM items JOIN owners ON items.{item} = owners.item)"
    pairs = _pairs(connection, source, _exploded(columns, "long", owned), columns.weight)
    connection.execute(
        f"CREATE TEMP TABLE firsts AS SELECT items.* FROM items JOIN owners ON items.{ROW} = owners.first;"
        "DROP TABLE items; ALTER TABLE firsts RENAME TO items"
    )
    ids = text_ids(source, _column(connection, str(columns.item)), columns.item)
    return Rows(len(ids), pairs, None, ids, _metadata(connection, kept, len(ids), text))


def _check_weights(connection: Any, source: str, column: str) -> None:
    weight = named(column)
    bad = connection.execute(
        f"SELECT {ROW}, CAST({weight} AS VARCHAR) FROM items WHERE NOT coalesce(TRY_CAST({weight} AS "
        "DOUBLE) >= 0 "
        f"AND isfinite(TRY_CAST({weight} AS DOUBLE)), false) ORDER BY {ROW} LIMIT 1"
    ).fetchone()
    if bad is not None:
        raise SourceError(
            f"source {source!r}, row {int(bad[0]) + 1:,}: the weight in column {column!r} is "
            f"{str(bad[1])[:30]!r}; "
            "expected a finite number >= 0."
        )
