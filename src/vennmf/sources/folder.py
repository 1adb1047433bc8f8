"""Rows from a folder of text files: one file an item."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from vennmf.errors import SourceError

SUFFIXES = (".txt", ".txt.gz", ".text", ".md")


def read_folder(source: str, folder: Path) -> Any:
    """The text files under a folder, as a table of ``item`` (path, no suffix), ``text``, ``folder``."""
    import pandas as pd

    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(SUFFIXES))
    if not paths:
        others = sorted({path.suffix for path in folder.rglob("*") if path.is_file() and path.suffix})
        hint = f"; it has files of {', '.join(others[:5])}: pass {folder.name}/*{others[0]}" if others else ""
        raise SourceError(f"source {source!r}: the folder {folder} has no text files (*.txt){hint}.")
    rows = []
    for path in paths:
        name = path.relative_to(folder).as_posix()
        suffix = next(s for s in SUFFIXES if name.endswith(s))
        rows.append((name.removesuffix(suffix), read_text(source, path), Path(name).parent.as_posix()))
    return pd.DataFrame(rows, columns=["item", "text", "folder"], dtype=object)


def read_text(source: str, path: Path) -> str:
    """The text of one file, plain or compressed."""
    data = path.read_bytes()
    try:
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"source {source!r}: {path.name} is not UTF-8 (byte {error.start:,}); save it as UTF-8."
        ) from None
    except (EOFError, gzip.BadGzipFile) as error:
        raise SourceError(f"source {source!r}: {path.name} cannot be unpacked: {error}.") from None
