"""What DuckDB can read, as SQL: tables of text, JSON, Parquet, tables of DuckDB and Postgres databases."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vennmf.errors import SourceError

LONGEST_LINE = 16_000_000
"""Bytes that a line of a table of text may have."""


@dataclass(frozen=True)
class Scan:
    """A place that DuckDB can read: the SQL that names it, statements to run first, what messages call it."""

    relation: str
    where: str
    before: tuple[str, ...] = ()
    json_lines: Path | None = None
    header: Sequence[str] = ()
    secret: str | None = None


def quoted(text: str | Path) -> str:
    """A text as an SQL literal."""
    return "'" + str(text).replace("'", "''") + "'"


def named(name: str) -> str:
    """A column or table name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def scan_files(source: str, paths: Sequence[Path], kind: str) -> Scan:
    """The scan of one or several files of one kind: ``csv``, ``tsv``, ``json`` or ``parquet``."""
    files = "[" + ", ".join(quoted(path) for path in paths) + "]"
    where = paths[0].name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    union = ", union_by_name=true" if len(paths) > 1 else ""
    if kind == "parquet":
        return Scan(f"read_parquet({files}{union})", where)
    if kind == "json":
        lines = paths[0] if len(paths) == 1 else None
        options = f"sample_size=-1, maximum_object_size={LONGEST_LINE}{union}"
        return Scan(f"read_json({files}, {options})", where, (), lines)
    headers = [_header(source, path, "\t" if kind == "tsv" else None) for path in paths]
    parts = [f"SELECT * FROM {_table_of_text(path, *header)}" for path, header in zip(paths, headers, strict=True)]
    return Scan(f"({' UNION ALL BY NAME '.join(parts)})", where, (), None, headers[0][1])


def _table_of_text(path: Path, delimiter: str, names: Sequence[str]) -> str:
    """A CSV file in SQL, every cell as text: nothing about it is guessed."""
    columns = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    options = f"header=true, auto_detect=false, delim={quoted(delimiter)}, quote='\"', escape='\"', strict_mode=true"
    options += f", max_line_size={LONGEST_LINE}, buffer_size={4 * LONGEST_LINE}, columns={{{columns}}}"
    return f"read_csv({quoted(path)}, {options})"


def _header(source: str, path: Path, delimiter: str | None) -> tuple[str, list[str]]:
    """The delimiter of a table of text and the names in its first line."""
    if path.suffix == ".zst":
        raise SourceError(f"source {source!r}: {path.name} is a table of text packed with zstd; unpack it or use gzip.")
    try:
        with opened(path) as stream:
            line = stream.readline(1_000_000)
    except (OSError, EOFError) as error:
        raise SourceError(f"source {source!r}: {path.name} cannot be read: {error}. Check that it is whole.") from None
    text = line.decode("utf-8-sig", errors="replace").strip("\r\n")
    if "\r" in text:
        raise SourceError(
            f"source {source!r}: {path.name} ends its lines with a carriage return alone, as old Macs did; save it with "
            "line feeds."
        )
    if delimiter is None:
        delimiter = max(",;\t|", key=text.count)
    try:
        names = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error as error:
        raise SourceError(f"source {source!r}: the first line of {path.name} names no columns: {error}.") from None
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not all(names):
        what = f"two columns {twice!r}" if twice else "a column without a name"
        raise SourceError(f"source {source!r}: {path.name} has {what}; give every column a name of its own.")
    return delimiter, names


def opened(path: Path) -> Any:
    """A file as bytes, unpacked where it is compressed with gzip."""
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def scan_database(path: Path, table: str | None) -> Scan:
    """A table of a DuckDB file."""
    return Scan(
        _table_name(table),
        f"{path.name}{'::' + table if table else ''}",
        (f"ATTACH {quoted(path)} AS src (READ_ONLY)",),
    )


def scan_postgres(address: str, table: str | None) -> Scan:
    """A table of a Postgres database, through DuckDB's extension."""
    host = address.rpartition("@")[2]
    return Scan(
        _table_name(table),
        f"postgres {host}{'::' + table if table else ''}",
        ("INSTALL postgres", "LOAD postgres", f"ATTACH {quoted(address)} AS src (TYPE postgres, READ_ONLY)"),
        secret=address,
    )


def _table_name(table: str | None) -> str:
    return "" if table is None else "src." + ".".join(named(part) for part in table.split("."))
