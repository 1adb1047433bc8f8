"""A report of an experiment: Markdown for people, JSON for programs, small pictures, and what made them."""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
import sklearn

import vennmf as vn

DEFAULT_OUT = Path(__file__).parents[2] / "docs" / "evidence"
VERDICTS = ("holds", "holds in part", "does not hold here")
DPI = 90


def arguments(description: str, runs: int, quick_runs: int = 2, *, keep: bool = False) -> argparse.Namespace:
    """What every experiment can be told on the command line; long ones keep what they finished."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-o", "--out", type=Path, default=DEFAULT_OUT, help="folder for the report")
    parser.add_argument("--quick", action="store_true", help=f"{quick_runs} runs of the main comparison, no sweeps")
    parser.add_argument("--runs", type=int, default=runs)
    if keep:
        parser.add_argument("--keep", type=Path, help="file of finished runs, to go on from after a stop")
        parser.add_argument("--shown", action="store_true", help="measure nothing: report what --keep has")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.runs = min(chosen.runs, quick_runs)
    return chosen


@dataclass
class Report:
    """Collects set-up, tables, pictures and claims in order, then writes ``<name>.md`` and ``<name>.json``."""

    name: str
    title: str
    out: Path
    parts: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.perf_counter)

    def setup(self, *, data: str, protocol: str, seeds: Sequence[int], differs: Sequence[str]) -> None:
        """What was measured on what, and every way in which that is not what the paper did."""
        self.data["setup"] = {"data": data, "protocol": protocol, "seeds": list(seeds), "differs": list(differs)}
        told = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
        lines = [f"* {line}" for line in differs]
        self.parts += [f"**Data.** {data}", f"**Protocol.** {protocol} Seeds {told}."]
        self.parts += ["**What differs from the paper:**", "\n".join(lines)]

    def text(self, *paragraphs: str) -> None:
        self.parts += paragraphs

    def table(self, key: str, table: pd.DataFrame, caption: str = "") -> None:
        """A table with its index; numbers as they stand, so round them first."""
        if caption:
            self.parts.append(f"**{caption}**")
        head = [table.index.name or "", *map(str, table.columns)]
        rows = [
            [str(index), *("" if pd.isna(v) else str(v) for v in row)]
            for index, row in zip(table.index, table.to_numpy(), strict=True)
        ]
        lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        self.parts.append("\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]))
        self.data.setdefault("tables", {})[key] = json.loads(table.to_json(orient="index"))

    def picture(self, ax: Any, key: str, caption: str) -> None:
        """Save a figure beside the report, small, and show it in the text."""
        from matplotlib import pyplot

        self.out.mkdir(parents=True, exist_ok=True)
        ax.figure.savefig(self.out / f"{self.name}-{key}.png", dpi=DPI)
        pyplot.close(ax.figure)
        self.parts.append(f"![{caption}]({self.name}-{key}.png)")

    def claim(self, claim: str, verdict: str, figures: str) -> None:
        """One claim of the paper: holds, holds in part, does not hold here."""
        assert verdict in VERDICTS
        self.data.setdefault("claims", []).append({"claim": claim, "verdict": verdict, "figures": figures})

    def write(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        claims = self.data.get("claims", [])
        lines = ["| the paper says | here | figures |", "| --- | --- | --- |"]
        lines += [f"| {c['claim']} | **{c['verdict']}** | {c['figures']} |" for c in claims]
        versions = {
            "vennmf": vn.__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
            "python": platform.python_version(),
        }
        command = shlex.join(["python", str(Path("benchmarks/papers") / Path(sys.argv[0]).name), *_plain(sys.argv[1:])])
        seconds = time.perf_counter() - self.started
        self.data = {"name": self.name, "title": self.title, "command": command, "versions": versions} | self.data
        self.data["seconds"] = round(seconds, 1)
        made = ", ".join(f"{name} {version}" for name, version in versions.items())
        lasted = "in pieces" if "--keep" in sys.argv else f"in {seconds:.0f} s"
        foot = f"Made by `{command}` {lasted} on a shared two-core machine, with {made}."
        content = "\n\n".join([f"# {self.title}", "\n".join(lines), *self.parts, foot]) + "\n"
        (self.out / f"{self.name}.md").write_text(content, encoding="utf-8")
        (self.out / f"{self.name}.json").write_text(json.dumps(self.data, indent=1) + "\n", encoding="utf-8")


def _plain(arguments: list[str]) -> list[str]:
    """The command line without the places of files, which say nothing about the result."""
    kept = [word for word in arguments if word != "--shown"]
    for flag in ("-o", "--out", "--keep"):
        if flag in kept:
            at = kept.index(flag)
            del kept[at : at + 2]
    return kept
