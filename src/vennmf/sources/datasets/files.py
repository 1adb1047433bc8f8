"""Where the files of a data set lie on this machine, and whether they are what they should be."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from vennmf.errors import StorageError

CHECKSUMS = "checksums.json"
"""Written beside files that were made on this machine from a published package."""


def cache_folder() -> Path:
    """The folder for fetched data sets: ``VENNMF_CACHE``, or the platform's cache folder."""
    if chosen := os.environ.get("VENNMF_CACHE"):
        return Path(chosen) / "datasets"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "vennmf" / "datasets"


class Files:
    """The files of one data set, checked as they are opened.

    Looks in ``VENNMF_DATA/<folder>``, then in the cache.
    """

    def __init__(self, name: str, checksums: Mapping[str, str], folder: str = "") -> None:
        self.name = name
        self.checksums = dict(checksums)
        self.cached = cache_folder() / name
        chosen = os.environ.get("VENNMF_DATA")
        self.chosen = Path(chosen) / (folder or name) if chosen else None
        self._checked: set[Path] = set()

    def present(self) -> bool:
        return bool(self.checksums) and self._folder() is not None

    def _folder(self) -> Path | None:
        if self.chosen is not None and any((self.chosen / file).is_file() for file in self.checksums):
            return self.chosen
        return self.cached if (self.cached / CHECKSUMS).is_file() else None

    def path(self, file: str) -> Path:
        """A file's path, once its checksum is verified."""
        folder = self._folder()
        if folder is None or not (folder / file).is_file():
            raise StorageError(
                f"data set {self.name!r} lacks its file {file!r} in {folder or self.cached}; remove that "
                "folder and "
                "load it again."
            )
        path = folder / file
        if path not in self._checked:
            known = self.checksums
            if folder == self.cached:
                known = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
            found = sha256(path)
            if found != known.get(file):
                raise StorageError(
                    f"data set {self.name!r}: {path} is damaged (sha256 {found[:12]}…, expected "
                    f"{str(known.get(file))[:12]}…); remove it and load the data set again."
                )
            self._checked.add(path)
        return path

    def arrays(self, file: str) -> dict[str, Any]:
        """The arrays of an npz file."""
        with np.load(self.path(file), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}

    def sparse(self, file: str, dtype: Any = None) -> sp.csr_array[Any]:
        """A sparse matrix, sorted CSR."""
        X: Any = sp.csr_array(sp.load_npz(self.path(file)))
        X.sum_duplicates()
        return X if dtype is None else X.astype(dtype)

    def table(self, file: str, **options: Any) -> Any:
        """A table of text columns; empty cells stay empty text."""
        import pandas as pd

        return pd.read_csv(self.path(file), keep_default_na=False, **options)

    def records(self, file: str) -> Iterator[dict[str, Any]]:
        """The objects of a compressed JSON-lines file."""
        with gzip.open(self.path(file), "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)

    def lines(self, file: str) -> Any:
        """The lines of a text file."""
        return np.asarray(self.path(file).read_text(encoding="utf-8").splitlines(), dtype=object)


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
