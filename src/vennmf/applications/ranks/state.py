"""What a search for ranks has found so far, in one file that is written whole or not at all, so that it can be resumed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vennmf.applications.ranks.choice import Curve
from vennmf.errors import StorageError
from vennmf.estimators.storage import write_atomically

Factors = dict[str, NDArray[Any]]
FORMAT = 1


class RankState:
    """Curves by stage and the factors of the folds of the running stage; kept in a file where a path is given.

    ``about`` says which data and settings the search is about: a file about other ones is refused.
    """

    def __init__(self, path: Any, about: dict[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self.about = about
        self.curves: dict[str, list[Curve]] = {}
        self.notes: dict[str, Any] = {}
        self.stage = ""
        self.factors: list[Factors] = []
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def keep(self, stage: str, factors: list[Factors]) -> None:
        """Remember where the running stage stands, and write it."""
        self.stage, self.factors = stage, factors
        self._write()

    def note(self, key: str, value: Any) -> None:
        """Remember a finished result, and write it."""
        self.notes[key] = value
        self._write()

    def _write(self) -> None:
        if self.path is None:
            return
        from safetensors.numpy import save

        header = {
            "format": FORMAT,
            "about": self.about,
            "curves": {stage: [asdict(curve) for curve in curves] for stage, curves in self.curves.items()},
            "notes": self.notes,
            "stage": self.stage,
            "folds": len(self.factors),
        }
        arrays = {
            f"{n}/{axis}": np.ascontiguousarray(F) for n, parts in enumerate(self.factors) for axis, F in parts.items()
        }
        write_atomically(self.path, save(arrays or {"empty": np.zeros(1)}, metadata={"ranks": json.dumps(header)}))

    def _read(self, path: Path) -> None:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="numpy") as file:
                header = json.loads((file.metadata() or {})["ranks"])
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise StorageError(
                f"{path} is no state of a search for ranks ({error}); remove it or name another."
            ) from None
        if header["format"] != FORMAT or header["about"] != json.loads(json.dumps(self.about)):
            raise StorageError(
                f"{path} belongs to a search over other data or settings; remove it or name another file."
            )
        self.curves = {stage: [Curve(**curve) for curve in curves] for stage, curves in header["curves"].items()}
        self.notes, self.stage = header["notes"], header["stage"]
        self.factors = [
            {name.split("/", 1)[1]: array for name, array in arrays.items() if name.startswith(f"{n}/")}
            for n in range(header["folds"])
        ]
