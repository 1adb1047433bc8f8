"""Figures that several reports draw, in the package's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vennmf.plots.canvas import COLOURS, MARKERS, axes, legend


def points(scores: pd.DataFrame, measure: str, label: str) -> Any:
    """Mean and deviation of every method (rows), one marker for each source."""
    methods = list(dict.fromkeys(scores["method"]))
    ax = axes(width=5.2, height=0.9 + 0.26 * len(methods))
    for n, (source, part) in enumerate(scores.groupby("source", sort=False)):
        found = part.groupby("method")[measure].agg(["mean", "std"]).loc[methods]
        places = np.arange(len(methods)) + 0.15 * (n - 0.5)
        style = {"fmt": MARKERS[n], "color": COLOURS[n], "ms": 5, "lw": 1.2, "capsize": 2, "label": str(source)}
        ax.errorbar(found["mean"], places, xerr=found["std"].fillna(0), **style)
    ax.set(yticks=range(len(methods)), xlabel=label)
    ax.set_yticklabels(methods)
    ax.invert_yaxis()
    ax.grid(axis="x", lw=0.3)
    legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def lines(
    table: Mapping[str, Sequence[Any]] | pd.DataFrame,
    places: Sequence[Any],
    *,
    x: str,
    y: str,
    spread: Mapping[str, Sequence[Any]] | None = None,
    log: bool = False,
) -> Any:
    """One line for each row of figures, with a band where ``spread`` gives its half width."""
    ax = axes()
    for n, (name, values) in enumerate(table.items()):
        heights = np.asarray(values, dtype=float)
        colour = COLOURS[n % len(COLOURS)]
        style = "-" if n < len(COLOURS) else "--"
        known = np.isfinite(heights)
        ax.plot(
            np.asarray(places)[known],
            heights[known],
            style,
            marker=MARKERS[n % len(MARKERS)],
            color=colour,
            ms=4,
            lw=1.4,
            label=str(name),
        )
        if spread is not None and name in spread:
            half = np.asarray(spread[name], dtype=float)
            ax.fill_between(places, heights - half, heights + half, color=colour, alpha=0.12, lw=0)
    if log:
        ax.set_xscale("symlog" if min(places) == 0 else "log")
    ax.set(xlabel=x, ylabel=y)
    legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax


def bars(table: pd.DataFrame, *, label: str) -> Any:
    """Groups of bars: one group for each row, one colour for each column; NaN leaves a gap."""
    ax = axes(width=max(4.6, 0.5 * len(table) + 1.6), height=2.8)
    width = 0.8 / table.shape[1]
    for n, column in enumerate(table.columns):
        places = np.arange(len(table)) + width * (n - (table.shape[1] - 1) / 2)
        ax.bar(places, table[column], width, color=COLOURS[n % len(COLOURS)], label=str(column))
    ax.set(xticks=range(len(table)), ylabel=label)
    ax.set_xticklabels([str(name) for name in table.index], rotation=30, ha="right", fontsize=8)
    legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return ax
