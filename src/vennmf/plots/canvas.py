"""What every figure shares: axes to draw on, colours that all eyes can tell apart, and spare lines around the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vennmf.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's palette in an order of falling contrast on white; yellow is left out."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""A second way to tell series apart, for print without colour."""

SHARED = "#4D4D4D"
"""What all sources share is grey; a source has its colour everywhere."""

SEQUENTIAL = "cividis"


def axes(ax: Axes | None = None, *, width: float = 4.6, height: float = 3.2) -> Axes:
    """The axes given, or new ones of a size that stays readable in print; with open top and right sides."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise MissingDependencyError(
                'figures need matplotlib; install it with pip install "vennmf[app]".'
            ) from None
        ax = pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(9)
    ax.title.set_fontsize(10)
    return ax


def colour_of(names: Any) -> dict[str, str]:
    """One colour for each name, in order; ``"shared"`` and ``"all"`` are grey."""
    found: dict[str, str] = {}
    for name in names:
        number = sum(colour != SHARED for colour in found.values())
        found[name] = SHARED if name in ("shared", "all") else COLOURS[number % len(COLOURS)]
    return found


def legend(ax: Axes, **options: Any) -> None:
    """A legend without a frame, in small print."""
    ax.legend(**{"frameon": False, "fontsize": 8, **options})


def percent(ax: Axes, axis: str = "y") -> None:
    """Tick labels of one axis as percentages of shares."""
    from matplotlib.ticker import PercentFormatter

    (ax.yaxis if axis == "y" else ax.xaxis).set_major_formatter(PercentFormatter(1.0, decimals=None))


def whole_numbers(ax: Axes) -> None:
    """Ticks of the horizontal axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
