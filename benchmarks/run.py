"""Run the benchmarks and print the tables of docs/benchmarks.md.

    python benchmarks/run.py [--full] [--only engine peers ...] [--write]

Quick by default: a few minutes on two cores, small or planted data, enough to see that all runs. ``--full`` takes about
an hour and wants an idle machine, the data sets (VENNMF_DATA names their folder; what is not there is left out and
said) and the other packages (``make peers``). ``--write`` puts the tables into docs/benchmarks.md in place of those there.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
STRONGEST = ["vennmf", "rule", "sklearn-cd", "sklearn-batches", "cmfrec"]
SECTIONS: dict[str, tuple[list[str], list[str]]] = {
    "engine": (["benchmarks.engine"], ["--quick"]),
    "kernels": (["benchmarks.kernels"], ["--quick"]),
    "roofline": (["benchmarks.roofline"], ["--quick"]),
    "queries": (["benchmarks.queries"], ["--items", "100000"]),
    "startup": (["benchmarks.startup"], ["--quick"]),
    "peers": (["benchmarks.peers", "--ranks", "20", "50"], ["--quick"]),
    "growth": (["benchmarks.growth", "--plot", "docs/pictures/growth.png"], ["--quick"]),
    "ends": (["benchmarks.ends"], ["--quick"]),
    "ranks": (
        ["benchmarks.peers", "--tasks", "newsgroups", "tags", "cells", "faces", "--ranks", "10", "200", "--limit", "4"],
        [],
    ),
    "more-ranks": (
        ["benchmarks.peers", "--tasks", "planted", "--ranks", "10", "200", "--limit", "4", "--solvers", *STRONGEST],
        [],
    ),
}
"""Module and arguments of each section, and the arguments that make it quick; the most telling first."""
LONG = {"ranks", "more-ranks"}
"""Sections that a quick run leaves out."""
FENCED = {"queries"}
"""Sections that print text, not Markdown."""


def machine() -> str:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        found = re.search(r"model name\s*: (.*)", information.read_text())
        model = found.group(1) if found else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    packages = ", ".join(f"{name} {version(name)}" for name in ("vennmf", "numpy", "scipy", "scikit-learn", "numba"))
    return f"{model}, {cores} cores; {platform.system()}, Python {platform.python_version()}, {packages}."


def run(name: str, *, full: bool) -> str:
    """Run one section, showing what it prints, and return that."""
    arguments, quick = SECTIONS[name]
    if not full:
        arguments = [arguments[0], *quick]
    command = [sys.executable, "-W", "ignore", "-m", *arguments]
    print(f"\n## {name}\n", flush=True)
    lines = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(f"benchmarks: {name} ended with code {process.returncode}; see above, or leave it out with --only.")
    return "".join(lines).strip()


def put(page: str, name: str, text: str) -> str:
    """The page with a section's tables in place of those there."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"benchmarks: docs/benchmarks.md has no place <!-- {name} --> for these tables.")
    return pattern.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=None)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    given = parser.parse_args()
    began = time.perf_counter()
    print(machine(), flush=True)
    if given.write:
        PAGE.write_text(put(PAGE.read_text(), "machine", machine()))
    for name in given.only or [name for name in SECTIONS if given.full or name not in LONG]:
        text = run(name, full=given.full)
        if given.write:
            text = f"```text\n{text}\n```" if name in FENCED else text
            PAGE.write_text(put(PAGE.read_text(), name, text))
    print(f"\n{(time.perf_counter() - began) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
