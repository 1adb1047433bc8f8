"""What a model found: topics in words, what blocks explain, how far they overlap, parts as images, who uses which factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vennmf.applications.topics import topic_sizes
from vennmf.errors import ParameterError
from vennmf.plots.canvas import SEQUENTIAL, axes, colour_of, legend, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def topic_words(model: Any, *, top: int = 4, words: int = 5, ax: Axes | None = None) -> Axes:
    """What is each block about? The ``top`` largest topics of every block in words, bars as long as their share.

    A share is the mean over the sources that use the block of :func:`vennmf.topic_sizes`.
    """
    sizes = topic_sizes(model, words)
    shares = sizes.groupby(["block", "topic", "words"], sort=False)["share"].mean().reset_index()
    blocks = [block.name for block in model.blocks_]
    chosen = [shares[shares["block"] == name].nlargest(top, "share") for name in blocks]
    count = sum(map(len, chosen))
    ax = axes(ax, width=6.0, height=0.6 + 0.24 * (count + len(blocks)))
    colours = colour_of(_sources_first(model))
    longest, y, ticks = max(float(part["share"].max()) for part in chosen), 0.0, []
    for name, part in zip(blocks, chosen, strict=True):
        for row in part.itertuples():
            ax.barh(y, row.share, color=colours.get(name, "#999999"), height=0.75)
            ax.text(row.share + 0.01 * longest, y, row.words, va="center", fontsize=8)
            ticks.append((y, f"{name} {row.topic}"))
            y += 1
        y += 0.5
    ax.set(yticks=[at for at, _ in ticks], yticklabels=[label for _, label in ticks])
    ax.set(xlabel="share of the source's reconstruction", xlim=(0, 2.4 * longest))
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    percent(ax, "x")
    return ax


def _sources_first(model: Any) -> list[str]:
    """Sources in order, so that their colours do not depend on the blocks, then what they share."""
    return [*model.sources_, *(b.name for b in model.blocks_ if b.name not in model.sources_)]


def energy(model: Any, *, ax: Axes | None = None) -> Axes:
    """How much of each source does each block explain? Bars from ``shared_report()``; the black line is the whole model.

    A block's own energy ‖H_b B_bᵀ‖²/‖X‖²; where blocks overlap, the whole is more than the sum of the bars.
    """
    report = model.shared_report()
    blocks, sources = [block.name for block in model.blocks_], list(model.sources_)
    ax = axes(ax, height=1.0 + 0.5 * len(sources))
    colours = colour_of(_sources_first(model))
    energies = report[report["measure"] == "energy"].set_index(["first", "second"])["value"]
    whole = report[report["measure"] == "explained"].set_index("first")["value"]
    left = np.zeros(len(sources))
    for name in blocks:
        values = np.array([energies.get((source, name), 0.0) for source in sources])
        ax.barh(sources, values, left=left, color=colours[name], height=0.6, label=name, edgecolor="white")
        left += values
    places = np.arange(len(sources))
    ax.vlines(whole[sources], places - 0.42, places + 0.42, color="black", lw=2, label="all blocks together", zorder=3)
    ax.invert_yaxis()
    ax.set(xlabel="share of the source's energy")
    percent(ax, "x")
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.28 - 0.1 / len(sources)), ncols=len(blocks) + 1)
    return ax


def block_overlaps(model: Any, *, ax: Axes | None = None) -> Axes:
    """Are the blocks apart? Cosines between all components, blocks side by side."""
    names = [block.name for block in model.blocks_]
    B = np.vstack([model.components_[name] for name in names]).astype(float)
    B /= np.maximum(np.linalg.norm(B, axis=1, keepdims=True), np.finfo(float).tiny)
    ax = axes(ax, width=4.2, height=3.6)
    image = ax.imshow(B @ B.T, vmin=0, vmax=1, cmap=SEQUENTIAL, interpolation="nearest")
    edges = np.cumsum([0, *(block.size for block in model.blocks_)])
    for edge in edges[1:-1] - 0.5:
        ax.axhline(edge, color="white", lw=1.5)
        ax.axvline(edge, color="white", lw=1.5)
    middles = (edges[:-1] + edges[1:] - 1) / 2
    ax.set(xticks=middles, yticks=middles)
    ax.set_xticklabels(names)
    ax.set_yticklabels(names, rotation=90, va="center")
    ax.tick_params(length=0)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, label="cosine")
    bar.ax.tick_params(labelsize=8)
    return ax


def basis_images(
    components: Any, shape: tuple[int, int], *, columns: int | None = None, ax: Axes | None = None
) -> Axes:
    """What do the parts look like? Each component as a picture of ``shape`` (rows, columns), dark where it is large."""
    parts = np.asarray(components, dtype=float)
    if parts.ndim != 2 or parts.shape[1] != shape[0] * shape[1]:
        raise ParameterError(
            f"components of shape {parts.shape} are no pictures of {shape[0]} × {shape[1]} pixels; pass one row of "
            f"{shape[0] * shape[1]} entries for each component."
        )
    columns = columns or int(np.ceil(np.sqrt(1.6 * len(parts))))
    rows = -(-len(parts) // columns)
    sheet = np.full((rows * (shape[0] + 2) - 2, columns * (shape[1] + 2) - 2), np.nan)
    for n, part in enumerate(parts):
        top, left = (n // columns) * (shape[0] + 2), (n % columns) * (shape[1] + 2)
        sheet[top : top + shape[0], left : left + shape[1]] = part.reshape(shape) / max(part.max(), 1e-30)
    ax = axes(ax, width=4.6, height=4.6 * sheet.shape[0] / sheet.shape[1])
    ax.imshow(sheet, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    return ax


def factor_views(used: Any, *, ax: Axes | None = None) -> Axes:
    """Which views use which factor? A table of yes and no: factors × views, a DataFrame or a dict of view to booleans."""
    import pandas as pd

    table = pd.DataFrame(used).astype(bool)
    order = table.sum(axis=1).sort_values(ascending=False, kind="stable").index
    table = table.loc[order]
    ax = axes(ax, width=max(4.6, 0.16 * len(table) + 1.2), height=0.7 + 0.35 * table.shape[1])
    colours = colour_of(table.columns)
    for row, view in enumerate(table.columns):
        factors = np.flatnonzero(table[view].to_numpy())
        ax.bar(factors, 0.8, bottom=row - 0.4, width=0.84, color=colours[view])
    ax.set(yticks=range(table.shape[1]), ylim=(table.shape[1] - 0.5, -0.5), xlim=(-0.6, len(table) - 0.4))
    ax.set_yticklabels([str(view) for view in table.columns])
    ax.set_xticks(range(len(table)) if len(table) <= 30 else [])
    if len(table) <= 30:
        ax.set_xticklabels([str(factor) for factor in table.index], fontsize=7)
    ax.set(xlabel="factor, widest use first")
    ax.tick_params(length=0)
    return ax
