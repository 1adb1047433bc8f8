"""How many components? Held-out prediction against rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vennmf.plots.canvas import MARKERS, axes, colour_of, legend, percent, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def rank_curves(suggestion: Any, *, ax: Axes | None = None) -> Axes:
    """Share of held-out entries predicted, by rank: one line for each source alone, a dashed one for the shared rank.

    Bands are one standard error; the ranks chosen are marked and labelled. The dashed line is the mean of the sources when
    so many of their components are shared.
    """
    ax = axes(ax)
    colours = colour_of([*suggestion.n_components, "shared"])
    chosen = {**suggestion.n_components, "shared": suggestion.n_shared}
    for marker, (name, curve) in zip(MARKERS, suggestion.curves.groupby("curve", sort=False), strict=False):
        means = curve.groupby("rank")[["error", "standard_error"]].mean()
        ranks, predicted, spread = means.index, 1 - means["error"], means["standard_error"]
        style = "--" if name == "shared" else "-"
        ax.plot(ranks, predicted, style, color=colours[name], lw=1.5, marker=marker, ms=3)
        ax.fill_between(ranks, predicted - spread, predicted + spread, color=colours[name], alpha=0.15, lw=0)
        at = chosen[name]
        what = f"{at} shared" if name == "shared" else f"{name}: {at}"
        ax.plot([at], [predicted[at]], marker, color=colours[name], ms=9, mfc="white", mew=2, label=what, zorder=3)
    ax.set(xlabel="components", ylabel="held-out entries predicted")
    whole_numbers(ax)
    percent(ax)
    legend(ax, loc="lower right")
    return ax
