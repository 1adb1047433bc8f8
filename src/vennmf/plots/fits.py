"""How did the fit go? Objectives against iterations or seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vennmf.errors import ParameterError
from vennmf.plots.canvas import axes, colour_of, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def convergence(
    fits: Any, *, against: Literal["iteration", "seconds"] = "iteration", gap: bool = False, ax: Axes | None = None
) -> Axes:
    """How fast does the objective fall? One line for each fit.

    ``fits`` is a fitted model, its ``history_``, or a dict of either by name. With ``gap`` the distance to the lowest
    objective of all, relative to it, on a logarithmic axis.
    """
    if against not in ("iteration", "seconds"):
        raise ParameterError(f"against must be 'iteration' or 'seconds'; found {against!r}.")
    named = fits if isinstance(fits, Mapping) and "objective" not in fits else {"": fits}
    histories = {name: getattr(fit, "history_", fit) for name, fit in named.items()}
    lowest = min(float(np.min(history["objective"])) for history in histories.values())
    ax = axes(ax)
    colours = colour_of(histories)
    styles = ("-", "--", "-.", ":")
    for number, (name, history) in enumerate(histories.items()):
        values = np.asarray(history["objective"], dtype=float)
        if gap:
            values = np.maximum(values / lowest - 1, 1e-7)
        style = styles[number % len(styles)]
        ax.plot(history[against], values, style, color=colours[name], lw=1.6, label=str(name))
    if gap:
        ax.set_yscale("log")
    ax.set(xlabel=against, ylabel="objective above the lowest" if gap else "objective")
    if len(histories) > 1:
        legend(ax)
    return ax
