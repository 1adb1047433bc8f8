"""Time of an iteration and peak memory of a fit as data grow: a Markdown table, and a picture with --plot.

    python -m benchmarks.growth [--quick] [--plot docs/pictures/growth.png] [--json FILE]

Planted tags (benchmarks/material.py), float32, generated in chunks. One thing grows at a time; the rest is as in the
first line of each series. Every point is a fit in a process of its own: seconds are the median of its iterations after the warm start, memory is
that of the data and of what the fit adds to them at its peak;
the forecast is what ``model.forecast`` says before the fit, in units of what was then measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
ITERATIONS, WARM = 13, 5


@dataclass(frozen=True)
class Point:
    """One fit: how much of everything."""

    items: int = 200_000
    features: int = 20_000
    tags_an_item: int = 10
    k: int = 20
    sources: int = 1


SERIES: dict[str, tuple[Point, tuple[int, ...]]] = {
    "items": (Point(k=10), (10_000, 100_000, 1_000_000, 10_000_000)),
    "features": (Point(), (2_000, 20_000, 200_000, 2_000_000)),
    "tags_an_item": (Point(), (5, 10, 20, 40, 80)),
    "k": (Point(), (5, 10, 20, 50, 100, 200)),
    "sources": (Point(items=50_000), (1, 2, 4, 8, 16)),
}
SAID = {"tags_an_item": "nonzeros an item", "k": "components k", "sources": "sources of 50,000 items each"}


def measure(point: Point) -> dict[str, Any]:
    """Fit once, in this process."""
    import warnings

    import vennmf as vn
    from benchmarks.material import planted_tags
    from benchmarks.memory import Memory

    warnings.simplefilter("ignore")
    small = {str(n): planted_tags(1_100, 1_100, 5, 5) for n in range(2)}
    vn.JSNMF(16, 8, max_iter=8, random_state=0).fit(small)  # compiles: a smaller one is left to NumPy in part
    X = {str(n): planted_tags(point.items, point.features, point.tags_an_item) for n in range(point.sources)}
    shared = point.k // 2
    settings = {"max_iter": ITERATIONS, "tol": 0, "min_change": 0, "random_state": 0}
    model: Any = vn.NMF(point.k, **settings) if point.sources == 1 else vn.JSNMF(point.k, shared, **settings)
    given = X["0"] if point.sources == 1 else X
    forecast = model.forecast(given)
    memory = Memory()
    memory.reset()
    model.fit(given)
    found = {"peak": forecast.data + memory.peak(), "forecast": forecast.peak}
    found |= {"data": forecast.data, "factors": forecast.factors, "nonzeros": sum(part.nnz for part in X.values())}
    return found | {"seconds": float(np.median(np.diff(model.history_["seconds"])[WARM:]))}


def points(quick: bool) -> dict[str, list[Point]]:
    found = {}
    for name, (base, values) in SERIES.items():
        chosen = values[:2] if quick else values
        found[name] = [replace(base, **{name: value}) for value in chosen]
    return found


def exponent(sizes: list[float], values: list[float]) -> float:
    """Slope in logarithms over the larger half of a series: 1 is linear."""
    half = min(len(sizes) // 2, len(sizes) - 2)
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def plot(results: dict[str, list[dict[str, Any]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(results), figsize=(2.6 * len(results), 4.6), layout="constrained")
    for column, (name, rows) in zip(axes.T, results.items(), strict=True):
        sizes = [row["point"][name] for row in rows]
        series = {"ms an iteration": [1e3 * row["seconds"] for row in rows]}
        series["MB at the peak"] = [row["peak"] / 2**20 for row in rows]
        for ax, (label, values) in zip(column, series.items(), strict=True):
            ax.loglog(sizes, values, "o-", color="C0", markersize=4)
            ideal = [values[-1] * size / sizes[-1] for size in sizes]
            ax.loglog(sizes, ideal, ":", color="grey", linewidth=1)
            ax.set_ylim(min(values) / 2, max(values) * 2)
            ax.grid(alpha=0.2)
            if ax is axes[0][list(results).index(name)]:
                ax.set_title(SAID.get(name, name), fontsize=9)
            if name == next(iter(results)):
                ax.set_ylabel(label, fontsize=9)
            ax.tick_params(labelsize=7)
            ax.minorticks_off()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the two smallest points of each series")
    parser.add_argument("--series", nargs="+", choices=list(SERIES), default=list(SERIES))
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--point", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.point:
        print(json.dumps(measure(Point(**json.loads(given.point)))))
        return
    print(
        "| grows | size | nonzeros | an iteration | data + factors | peak of the fit | of data + factors | forecast | slopes of time, memory |"
    )
    print("|" + " --- |" * 9)
    results: dict[str, list[dict[str, Any]]] = {}
    for name, chosen in points(given.quick).items():
        if name not in given.series:
            continue
        rows = results[name] = []
        for point in chosen:
            command = [sys.executable, "-m", "benchmarks.growth", "--point", json.dumps(asdict(point))]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
            if done.returncode:
                print(f"| {name} | {getattr(point, name):,} | failed: {done.stderr.strip().splitlines()[-1]} |||||")
                continue
            rows.append(json.loads(done.stdout.splitlines()[-1]) | {"point": asdict(point)})
            print(row(name, rows, last=point is chosen[-1]), flush=True)
    if given.plot:
        plot(results, given.plot)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))


def row(name: str, rows: list[dict[str, Any]], *, last: bool) -> str:
    found = rows[-1]
    both, peak = found["data"] + found["factors"], found["peak"]
    slopes = ""
    if last and len(rows) > 1:
        sizes = [float(r["point"][name]) for r in rows]
        slopes = ", ".join(f"{exponent(sizes, [r[what] for r in rows]):.2f}" for what in ("seconds", "peak"))
    return (
        f"| {SAID.get(name, name)} | {found['point'][name]:,} | {found['nonzeros']:,} | {1e3 * found['seconds']:.1f} ms "
        f"| {both / 2**20:,.0f} MB | {peak / 2**20:,.0f} MB | {peak / both:.2f} × | {found['forecast'] / peak:.2f} × | {slopes} |"
    )


if __name__ == "__main__":
    main()
