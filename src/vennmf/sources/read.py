"""One door to every reader: what a source is given as decides which of them opens it."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vennmf.errors import SourceError
from vennmf.sources import memory
from vennmf.sources.rows import Columns, Rows

KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
COMPRESSED = (".gz", ".zst")
DATABASES = (".db", ".sqlite", ".sqlite3", ".duckdb", ".ddb")


def read(source: str, data: Any, columns: Columns, memory_limit: str | None = None) -> Rows:
    """The rows of a source, from a path, an address, a table, lists or a matrix."""
    if isinstance(data, Path):
        data = str(data)
    data = _gathered(data)
    if isinstance(data, str):
        return _read_place(source, data, columns, memory_limit)
    if data is None or isinstance(data, bytes | bool | int | float):
        raise SourceError(
            f"source {source!r} must be a path, a table, lists of tags or texts, or (matrix, words); "
            f"found {type(data).__name__}."
        )
    if isinstance(data, Mapping):
        return _read_mapping(source, data, columns)
    if isinstance(data, tuple) and 2 <= len(data) <= 3 and hasattr(data[0], "shape"):
        return memory.read_matrix(source, data[0], data[1], data[2] if len(data) == 3 else None)
    if (cells := _cells(data)) is not None:
        return _read_sequence(source, cells, columns, memory_limit)
    if _is_table(data):
        return _read_table(source, data, columns)
    if hasattr(data, "shape"):
        return memory.read_matrix(source, data, None, None)
    return _read_sequence(source, list(data), columns, memory_limit)


def _gathered(data: Any) -> Any:
    """The rows of a lazy table of polars or of a relation of DuckDB; anything else as it is."""
    if hasattr(data, "collect") and hasattr(data, "collect_schema") and not hasattr(data, "get_column"):
        return data.collect()
    if hasattr(data, "fetchall") and hasattr(data, "columns"):
        import pandas as pd

        return pd.DataFrame(data.fetchall(), columns=list(data.columns), dtype=object)
    return data


def _read_sequence(source: str, data: list[Any], columns: Columns, memory_limit: str | None) -> Rows:
    if not data:
        raise SourceError(f"source {source!r} is an empty list; give at least one item.")
    if isinstance(data[0], Path):
        return _read_files(source, [Path(path) for path in data], columns, memory_limit)
    if isinstance(data[0], Mapping):
        return memory.read_frame(source, data, columns)
    return memory.read_lists(source, data, columns.split)


def _read_mapping(source: str, data: Mapping[Any, Any], columns: Columns) -> Rows:
    """Columns by name, or tags or text by item."""
    if columns.used and all(name in data for name in columns.used):
        return memory.read_frame(source, dict(data), columns)
    if not data:
        raise SourceError(f"source {source!r} is an empty dict; give at least one item.")
    return memory.read_lists(source, list(data.values()), columns.split, list(data))


def _cells(data: Any) -> list[Any] | None:
    """The cells of one column: a Series of pandas or polars, an array of Arrow, a flat array of text or lists."""
    if len(getattr(data, "shape", ())) == 1 and getattr(getattr(data, "dtype", None), "kind", "O") in "OUT":
        return list(data.to_list() if hasattr(data, "to_list") else data.tolist())
    return list(data.to_pylist()) if hasattr(data, "to_pylist") and not hasattr(data, "column_names") else None


def _is_table(data: Any) -> bool:
    return hasattr(data, "iloc") or hasattr(data, "to_pydict") or hasattr(data, "get_column")


def _read_table(source: str, data: Any, columns: Columns) -> Rows:
    """A table with columns of tags or text; or, when none is named and all are numbers, a matrix."""
    if columns.tags is None and not columns.text:
        table = memory.as_pandas(source, data)
        if all(dtype.kind in "iufb" for dtype in table.dtypes) and table.shape[1]:
            named = table.index.dtype.kind not in "iu"
            matrix = table.to_numpy(dtype=float)
            ids = list(table.index) if named else None
            return memory.read_matrix(source, matrix, list(table.columns), ids)
    return memory.read_frame(source, data, columns)


def _read_place(source: str, place: str, columns: Columns, memory_limit: str | None) -> Rows:
    """A file, a folder, a pattern, a table of a database."""
    if place.startswith(("postgres://", "postgresql://")):
        from vennmf.sources.duck import read_scan
        from vennmf.sources.scans import scan_postgres

        address, _, asked = place.partition("::")
        return read_scan(source, scan_postgres(address, asked or None), columns, memory_limit)
    if "://" in place:
        raise SourceError(
            f"source {source!r}: {place[:80]!r} is an address; vennmf reads files, folders and "
            "postgresql:// tables. "
            "Download it first."
        )
    path, table = _split_table(place)
    if not path.exists() and glob.has_magic(place):
        found = sorted(Path(match) for match in glob.glob(place, recursive=True))
        if not found:
            raise SourceError(f"source {source!r}: no file matches {place!r}; check folder and pattern.")
        return _read_files(source, found, columns, memory_limit)
    if not path.exists():
        raise SourceError(f"source {source!r}: there is no file {str(path)!r}; {nearby(path)}")
    if place.endswith("/") and not path.is_dir():
        raise SourceError(f"source {source!r}: {place!r} is a file, not a folder; leave out the last '/'.")
    if path.is_dir():
        return _read_folder(source, path, columns)
    if table is not None or _stem_suffix(path) in DATABASES:
        return _read_database(source, path, table, columns, memory_limit)
    return _read_files(source, [path], columns, memory_limit)


def _split_table(place: str) -> tuple[Path, str | None]:
    """``file::table`` as its two parts."""
    if Path(place).exists() or "::" not in place:
        return Path(place), None
    path, _, table = place.rpartition("::")
    return Path(path), table


def nearby(path: Path) -> str:
    """The end of a message about a file that is not there: what is spelt like it, or where to look."""
    from vennmf.sources.rows import closest

    folder = path.parent if str(path.parent) else Path()
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r} either."
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    if not names:
        return f"the folder {str(folder)!r} is empty."
    hint = closest(path.name, names)
    return hint if hint.startswith("did") else f"look in {str(folder)!r}."


def _stem_suffix(path: Path) -> str:
    """The suffix that says what a file is, without that of its compression."""
    name = path.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix


def _read_files(source: str, paths: Sequence[Path], columns: Columns, memory_limit: str | None) -> Rows:
    from vennmf.sources.duck import read_scan
    from vennmf.sources.rows import require_columns
    from vennmf.sources.scans import scan_files

    suffixes = {_stem_suffix(path) for path in paths}
    if suffixes <= {".txt", ".text", ".md"} and len(paths) > 1:
        return _read_texts(source, paths, columns)
    kinds = {KINDS.get(suffix) for suffix in suffixes}
    if len(kinds) > 1:
        raise SourceError(
            f"source {source!r} has files of several kinds, {', '.join(sorted(suffixes))}; give one kind."
        )
    kind = kinds.pop()
    if kind is None:
        raise SourceError(
            f"source {source!r}: {paths[0].name} is of no kind that vennmf reads; expected "
            f"{', '.join(KINDS)} "
            f"(also .gz, .zst), {', '.join(DATABASES)}, or a folder of .txt files."
        )
    for path in paths:
        if path.is_dir():
            raise SourceError(f"source {source!r}: {str(path)!r} is a folder; name files.")
        if path.stat().st_size == 0:
            raise SourceError(f"source {source!r}: {path.name} is empty; there is nothing to read.")
    scan = scan_files(source, paths, kind)
    if scan.header:
        require_columns(source, scan.header, columns)
    return read_scan(source, scan, columns, memory_limit)


def _read_texts(source: str, paths: Iterable[Path], columns: Columns) -> Rows:
    import pandas as pd

    from vennmf.sources.folder import read_text

    rows = [(path.name.split(".")[0], read_text(source, path)) for path in paths]
    return _read_items(source, pd.DataFrame(rows, columns=["item", "text"], dtype=object), columns)


def _read_folder(source: str, folder: Path, columns: Columns) -> Rows:
    from vennmf.sources.folder import read_folder

    return _read_items(source, read_folder(source, folder), columns)


def _read_items(source: str, table: Any, columns: Columns) -> Rows:
    """Files as items: their text, or with tags= their tags, one a line unless ``split`` says otherwise."""
    if columns.tags is None:
        named = replace(columns, item="item", text=("text",), split=None)
    else:
        table = table.rename(columns={"text": "tags"})
        table["tags"] = [[line for line in cell.splitlines() if line.strip()] for cell in table["tags"]]
        named = replace(columns, item="item", tags="tags", text=())
    return memory.read_frame(source, table, named)


def _read_database(source: str, path: Path, table: str | None, columns: Columns, memory_limit: str | None) -> Rows:
    from vennmf.sources.duck import read_scan
    from vennmf.sources.scans import scan_database
    from vennmf.sources.sqlite import read_sqlite

    with path.open("rb") as stream:
        magic = stream.read(16)
    if magic.startswith(b"SQLite format 3"):
        return memory.read_frame(source, read_sqlite(source, path, table), columns)
    if magic[8:12] == b"DUCK":
        return read_scan(source, scan_database(path, table), columns, memory_limit)
    raise SourceError(f"source {source!r}: {path.name} is neither an SQLite nor a DuckDB file; check that it is whole.")
