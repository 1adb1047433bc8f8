"""A table file as it is: to look at, or of judgements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vennmf.errors import SourceError


def read_table(path: Path, rows: int | None = None) -> Any:
    """The first rows, or all, of a table of text, JSON lines or Parquet, as a pandas.DataFrame."""
    from vennmf.sources.duck import open_duckdb
    from vennmf.sources.read import KINDS, nearby
    from vennmf.sources.scans import scan_files

    if path.is_dir():
        raise SourceError(f"{path} is a folder; name a file in it.")
    if not path.is_file():
        raise SourceError(f"there is no file {str(path)!r}; {nearby(path)}")
    if path.stat().st_size == 0:
        raise SourceError(f"{path.name} is empty; there is nothing to read.")
    suffix = Path(path.stem).suffix if path.suffix in (".gz", ".zst") else path.suffix
    kind = KINDS.get(suffix)
    if kind is None:
        raise SourceError(f"{path.name}: expected one of {', '.join(sorted(KINDS))}; found {suffix or 'no suffix'!r}.")
    duckdb = open_duckdb()
    limit = "" if rows is None else f" LIMIT {rows}"
    relation = scan_files(path.stem, [path], kind).relation
    try:
        return duckdb.connect().sql(f"SELECT * FROM {relation}{limit}").df()
    except (duckdb.Error, RuntimeError, ValueError) as error:  # the latter two on damaged text in a cell
        raise SourceError(f"{path.name} cannot be read: {str(error).splitlines()[0]}") from None
