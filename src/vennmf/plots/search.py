"""How good is the search? Precision by recall and by the number of hits, with bands over queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vennmf.evaluation import bootstrap_interval, interpolated_precision, precision_at
from vennmf.plots.canvas import MARKERS, axes, colour_of, legend, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = np.linspace(0, 1, 11)


def precision_recall(rankings: Mapping[str, Sequence[Any]], *, ax: Axes | None = None) -> Axes:
    """Precision at eleven levels of recall, mean over queries with a 95 % bootstrap band.

    ``rankings`` holds for each method one vector of hits and misses a query, best first.
    """
    tables = {name: np.array([interpolated_precision(r) for r in ranked]) for name, ranked in rankings.items()}
    ax = _curves(tables, LEVELS, axes(ax))
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1))
    percent(ax, "x")
    return ax


def precision_at_n(
    rankings: Mapping[str, Sequence[Any]], n: Sequence[int] = (5, 10, 20, 50, 100), *, ax: Axes | None = None
) -> Axes:
    """Precision among the first N hits, mean over queries with a 95 % bootstrap band."""
    tables = {name: np.array([[precision_at(r, m) for m in n] for r in ranked]) for name, ranked in rankings.items()}
    ax = _curves(tables, np.asarray(n), axes(ax))
    ax.set_xscale("log")
    ax.minorticks_off()
    ax.set(xlabel="first N hits", ylabel="precision", xticks=list(n))
    ax.set_xticklabels([str(m) for m in n])
    return ax


def _curves(tables: Mapping[str, Any], places: Any, ax: Axes) -> Axes:
    colours = colour_of(tables)
    for marker, (name, table) in zip(MARKERS * len(tables), tables.items(), strict=False):
        bands = np.array([bootstrap_interval(column) for column in table.T])
        means = np.nanmean(table, axis=0)
        ax.plot(places, means, color=colours[name], marker=marker, ms=4, lw=1.5, label=name)
        ax.fill_between(places, bands[:, 0], bands[:, 1], color=colours[name], alpha=0.15, lw=0)
    ax.set_ylim(0, None)
    percent(ax)
    legend(ax)
    return ax
