"""Finished measurements in a file of JSON lines, so that a long experiment goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd


class Kept:
    """Measurements by case; without a path they are kept for this run only."""

    def __init__(self, path: Path | None = None, *, closed: bool = False) -> None:
        self.path, self.closed = path, closed
        self.done: dict[Hashable, dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                self.done[_key(row["case"])] = row

    def measure(
        self, cases: Iterable[dict[str, Any]], once: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> pd.DataFrame:
        """A row for each case: its own fields and what was measured. Closed, it leaves out what is not there yet."""
        wanted = [case for case in cases if not self.closed or _key(case) in self.done]
        for number, case in enumerate(wanted, 1):
            if _key(case) in self.done:
                continue
            row = {"case": case, "measured": once(case)}
            self.done[_key(case)] = row
            print(f"{number} of {len(wanted)}: {case}", flush=True)
            if self.path is not None:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
        return pd.DataFrame([{**case, **self.done[_key(case)]["measured"]} for case in wanted])


def _key(case: dict[str, Any]) -> Hashable:
    return json.dumps(case, sort_keys=True)
