"""vennmf beside other packages: Markdown tables, one for each collection and rank.

    python -m benchmarks.peers [--quick] [--tasks newsgroups tags ...] [--ranks 10 50] [--limit SECONDS]

Every solver gets the same arrays and the same start, read from one folder, and runs in a process of its own, one after
another: at all processors or one thread, whichever is faster, for the task's seconds or ``--limit``. The objective is computed by
one function outside all of them. Packages that vennmf does not need itself are looked for in the environment of
``--python`` (benchmarks/peers/requirements.txt; ``make peers`` makes it); what is missing is said under the table.
Data sets come from the folder that VENNMF_DATA names; what is not there is left out and said.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.files import write_data
from benchmarks.peers.solvers import SOLVERS
from benchmarks.peers.tasks import EVERY, TASKS, Task, write_start
from vennmf.errors import VennmfError

ROOT = Path(__file__).parents[2]
OURS = ("vennmf", "numpy", "scikit-learn")
HEAD = "| solver | settings | iterations | an iteration | seconds | relative error | vennmf needs | ratio | memory |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=None)
    parser.add_argument("--ranks", nargs="+", type=int, default=None, help="only these of each task's ranks")
    parser.add_argument("--solvers", nargs="+", choices=list(SOLVERS), default=None)
    parser.add_argument("--limit", type=float, help="seconds for each solver; else what the task says")
    parser.add_argument("--max-iter", type=int, default=2_000)
    parser.add_argument("--quick", action="store_true", help="one small planted task, two seconds each")
    parser.add_argument("--dense-gb", type=float, default=5.0, help="largest dense copy to be made for a package")
    parser.add_argument("--python", default=default_python(), help="interpreter that has the other packages")
    parser.add_argument("--json", type=Path, help="also write every curve to this file")
    given = parser.parse_args()
    if given.quick:
        given.tasks = given.tasks or ["small"]
    return given


def default_python() -> str:
    made = ROOT / ".venv-peers" / "bin" / "python"
    return os.environ.get("VENNMF_PEERS_PYTHON") or (str(made) if made.is_file() else sys.executable)


def find(name: str, task: Task, folder: Path, given: argparse.Namespace, goal: float | None) -> dict[str, Any]:
    """Run one solver in a process of its own and return what it found, or why it did not."""
    solver = SOLVERS[name]
    limit = given.limit or task.seconds
    job = folder / f"{name}.json"
    said = {"solver": name, "kind": task.kind, "folder": str(folder), "goal": goal}
    job.write_text(json.dumps(said | {"limit": limit, "max_iter": given.max_iter}))
    found = job.with_suffix(".found.json")
    found.unlink(missing_ok=True)
    command = [sys.executable if solver.package in OURS else given.python, "-m", "benchmarks.peers.worker", str(job)]
    longest = 120 + 8 * limit
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=longest)
    except subprocess.TimeoutExpired:
        return {"missing": f"{solver.name} ({solver.settings}) had not finished its first calls after {longest:.0f} s"}
    if found.is_file():
        return json.loads(found.read_text())
    why = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
    return {"missing": f"{solver.name} ({solver.settings}) failed: {why}"}


def table(task: Task, folder: Path, names: list[str], given: argparse.Namespace, dense_gb: float) -> dict[str, Any]:
    """Run all, vennmf last so that it knows when it is past the others; print one table; return what was found."""
    results: dict[str, Any] = {}
    notes: list[str] = []
    for name in sorted(names, key=lambda name: SOLVERS[name].package == "vennmf"):
        solver = SOLVERS[name]
        if solver.dense and dense_gb > given.dense_gb:
            notes.append(f"{solver.name} takes dense data only, {dense_gb:.1f} GB here; left out.")
            continue
        ends = [found["curve"][-1][2] for found in results.values()]
        found = find(name, task, folder, given, min(ends) if solver.package == "vennmf" and ends else None)
        if "missing" in found:
            notes.append(f"{found['missing']}; left out.")
            continue
        if not np.isfinite(found["curve"][-1][2]):
            notes.append(f"{solver.name} ({solver.settings}) ended in NaN; its last finite call is shown.")
            found["curve"] = [point for point in found["curve"] if np.isfinite(point[2])]
            if not found["curve"]:
                continue
        results[name] = found
        if not solver.same_start:
            notes.append(f"{solver.name} takes no start; it draws its own.")
    ours = next((found["curve"] for name, found in results.items() if SOLVERS[name].package == "vennmf"), None)
    print(f"{HEAD}\n|{' --- |' * 9}")
    for name in names:
        if name in results:
            print(row(name, results[name], ours))
    print("".join(f"\n{note}" for note in notes) + "\n" if notes else "", flush=True)
    return results


def row(name: str, found: dict[str, Any], ours: list[list[float]] | None) -> str:
    solver, (iterations, seconds, error) = SOLVERS[name], found["curve"][-1]
    threads = f"{found['threads']} thread{'s' * (found['threads'] > 1)}"
    cells = [f"{solver.name} {found['version']}", f"{solver.settings}, {threads}", f"{iterations:,}"]
    cells += [f"{1e3 * pace(found['curve']):,.0f} ms", f"{seconds:.2f}", f"{error:.5f}"]
    cells += [*against(found["curve"], ours, solver.package), f"{found['peak'] / 2**20:,.0f} MB"]
    return "| " + " | ".join(cells) + " |"


def pace(curve: list[list[float]]) -> float:
    """Seconds of an iteration, without what every call costs where more than one call was made."""
    (first, began, _), (last, ended, _) = curve[0], curve[-1]
    return (ended - began) / (last - first) if last > first else ended / last


def against(curve: list[list[float]], ours: list[list[float]] | None, package: str) -> tuple[str, str]:
    """Seconds that vennmf needs for the last error of a curve, and how many times faster that is; in brackets, the least
    ratio met on the way."""
    if package == "vennmf" or not ours:
        return "", ""
    ratios = [seconds / needed(ours, error) for _, seconds, error in curve]
    least = min((ratio for ratio in ratios[1:] if np.isfinite(ratio)), default=ratios[-1])
    if not np.isfinite(needed(ours, curve[-1][2])):
        return f"ends above, at {ours[-1][1]:.1f} s", "—"
    return f"{needed(ours, curve[-1][2]):.2f} s", f"{ratios[-1]:.1f} × ({least:.1f})"


def needed(curve: list[list[float]], error: float) -> float:
    """Seconds until a curve falls to an error: a straight line between its points; NaN if it never does."""
    seconds, errors = np.array([point[1] for point in curve]), np.array([point[2] for point in curve])
    there = np.flatnonzero(errors <= error)
    if not len(there):
        return np.nan
    last = there[0]
    if last == 0:
        return float(seconds[0])
    share = (errors[last - 1] - error) / (errors[last - 1] - errors[last])
    return float(seconds[last - 1] + share * (seconds[last] - seconds[last - 1]))


def main() -> None:
    given = arguments()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="vennmf-peers-") as scratch:
        for key in given.tasks or EVERY:
            task = TASKS[key]
            try:
                data = task.make()
            except VennmfError as error:
                print(f"{task.title}: left out. {error}\n")
                continue
            folder = Path(scratch) / key
            described = write_data(data, folder)
            dense_gb = sum(np.prod(X.shape, dtype=float) * 4 for X in data) / 1e9
            for k in task.ranks if given.ranks is None else [k for k in task.ranks if k in given.ranks]:
                write_start(data, task.kind, k, folder)
                print(f"**{task.title}**: {described}, k = {k}\n")
                chosen = replace(task, ranks=(k,))
                names = [name for name in task.solvers if given.solvers is None or name in given.solvers]
                results[f"{key} {k}"] = table(chosen, folder, names, given, dense_gb)
            del data
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
