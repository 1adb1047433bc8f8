"""Data and start in a folder: written once, read by every solver's process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.peers.solvers import Data, Factors


def write_data(data: Data, folder: Path) -> str:
    """Save the data and say what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for n, X in enumerate(data):
        if sp.issparse(X):
            for part in ("data", "indices", "indptr"):
                np.save(folder / f"X{n}.{part}.npy", getattr(X, part))
            np.save(folder / f"X{n}.shape.npy", np.asarray(X.shape))
        else:
            np.save(folder / f"X{n}.npy", X)
    (folder / "task.json").write_text(json.dumps({"views": len(data)}))
    shapes = ", ".join(" × ".join(f"{n:,}" for n in X.shape) for X in data)
    entries = sum(X.nnz for X in data if sp.issparse(X))
    return f"{shapes}{f', {entries:,} nonzeros' if entries else ''}, float32"


def write_factors(start: Factors, folder: Path) -> None:
    """Save starting factors, float32, read-only, in place of those there."""
    folder = folder / "start"
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.npy"):
        path.unlink()
    for name, F in start.items():
        np.save(folder / f"{name}.npy", F.astype(np.float32))
        (folder / f"{name}.npy").chmod(0o444)


def read(folder: Path) -> tuple[Data, Factors]:
    """The data and the start, as every solver sees them."""
    data: Data = []
    for n in range(json.loads((folder / "task.json").read_text())["views"]):
        if (folder / f"X{n}.npy").is_file():
            data.append(np.load(folder / f"X{n}.npy"))
        else:
            arrays = [np.load(folder / f"X{n}.{part}.npy") for part in ("data", "indices", "indptr")]
            data.append(sp.csr_array(tuple(arrays), shape=tuple(np.load(folder / f"X{n}.shape.npy"))))
    return data, {path.stem: np.load(path) for path in sorted((folder / "start").glob("*.npy"))}
