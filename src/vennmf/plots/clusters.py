"""Which classes are common, which clusters are which class, and where items lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vennmf.applications.parts import Part, columns, unit_rows
from vennmf.errors import ParameterError
from vennmf.plots.canvas import COLOURS, MARKERS, SEQUENTIAL, axes, colour_of, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def purity_ratio(table: Any, *, ax: Axes | None = None) -> Axes:
    """Which classes are common to the sources? Purity in the shared part over purity in the private part, by class.

    ``table`` is what :func:`vennmf.evaluation.purity_ratios` gives. Right of the line: common; left: this source's own.
    """
    known = table.dropna(subset=["purity_ratio"]).sort_values("purity_ratio")
    ax = axes(ax, height=0.9 + 0.26 * len(known))
    ratios = known["purity_ratio"].to_numpy()
    places = np.arange(len(known))
    for side, colour, marker, label in (
        (ratios > 1, COLOURS[0], "o", "common"),
        (ratios <= 1, COLOURS[1], "s", "own"),
    ):
        ax.hlines(places[side], 1, ratios[side], color=colour, lw=2)
        ax.plot(ratios[side], places[side], marker, color=colour, ms=6, label=label)
    ax.axvline(1, color="black", lw=0.8)
    ax.set(yticks=places, xlabel="purity by shared part / purity by private part")
    ax.set_yticklabels([str(name) for name in known.index])
    legend(ax, loc="lower right")
    return ax


def confusion(labels: Any, clusters: Any, *, ax: Axes | None = None) -> Axes:
    """Which cluster is which class? Share of each class in each cluster, clusters in the order that fits best."""
    import pandas as pd
    from scipy.optimize import linear_sum_assignment

    counts = pd.crosstab(np.asarray(labels), np.asarray(clusters))
    rows, matched = linear_sum_assignment(counts.to_numpy(), maximize=True)
    first = matched[np.argsort(rows)]
    order = [*first, *np.setdiff1d(np.arange(counts.shape[1]), first)]
    counts = counts.iloc[:, order]
    shares = (counts.T / counts.sum(axis=1)).T.to_numpy()
    ax = axes(ax, width=1.6 + 0.42 * shares.shape[1], height=0.9 + 0.36 * shares.shape[0])
    ax.imshow(shares, vmin=0, vmax=1, cmap=SEQUENTIAL, aspect="auto", interpolation="nearest")
    for (row, column), share in np.ndenumerate(shares):
        if share >= 0.01:
            colour = "white" if share < 0.6 else "black"
            ax.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=7.5, color=colour)
    ax.set(xticks=range(shares.shape[1]), yticks=range(shares.shape[0]))
    ax.set_xticklabels([str(name) for name in counts.columns])
    ax.set_yticklabels([str(name) for name in counts.index])
    ax.set(xlabel="cluster", title="% of each class")
    ax.tick_params(length=0)
    return ax


def item_map(
    model: Any,
    *,
    labels: Mapping[str, Any] | None = None,
    space: Part = "shared",
    method: Literal["pca", "tsne"] = "tsne",
    n_items: int = 1000,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Which items lie near which? Encodings on a plane; colour by source, or by ``labels`` (then sources by marker).

    ``space="shared"`` draws all sources into one map, since they share these columns; "all" and "private" need a model of
    one source. At most ``n_items`` of each source are drawn, at random.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    if space != "shared" and len(model.sources_) > 1:
        raise ParameterError("sources meet in the shared columns only; use space='shared', or a model of one source.")
    rng = np.random.default_rng(random_state)
    chosen, rows = {}, []
    for source in model.sources_:
        H = unit_rows(model.encodings_[source].astype(float))
        chosen[source] = rng.permutation(np.flatnonzero(H.any(axis=1)))[:n_items]
        used = columns(model, source, space) if len(model.sources_) > 1 else np.arange(H.shape[1])
        rows.append(H[np.ix_(chosen[source], used)])
    stacked = np.vstack(rows)
    if method == "pca":
        places = PCA(2, random_state=random_state).fit_transform(stacked)
    else:
        places = TSNE(2, init="pca", perplexity=min(30, len(stacked) / 4), random_state=random_state).fit_transform(
            stacked
        )
    ax = axes(ax, width=4.4, height=4.0)
    _scatter(
        ax, dict(zip(chosen, np.split(places, np.cumsum([len(r) for r in rows])[:-1]), strict=True)), chosen, labels
    )
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    legend(ax, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, markerscale=2.5)
    return ax


def _scatter(ax: Axes, places: Mapping[str, Any], chosen: Mapping[str, Any], labels: Mapping[str, Any] | None) -> None:
    if labels is None:
        colours = colour_of(places)
        for marker, (source, at) in zip(MARKERS, places.items(), strict=False):
            ax.scatter(at[:, 0], at[:, 1], s=8, color=colours[source], marker=marker, lw=0, alpha=0.7, label=source)
        return
    groups = list(
        dict.fromkeys(np.concatenate([np.asarray(labels[source])[chosen[source]] for source in places]).tolist())
    )
    colours = {group: COLOURS[n % len(COLOURS)] for n, group in enumerate(groups)}
    for marker, (source, at) in zip(MARKERS, places.items(), strict=False):
        of_source = np.asarray(labels[source])[chosen[source]]
        for group in groups:
            part = at[of_source == group]
            if len(part):
                what = f"{group} ({source})" if len(places) > 1 else str(group)
                ax.scatter(
                    part[:, 0], part[:, 1], s=8, color=colours[group], marker=marker, lw=0, alpha=0.7, label=what
                )
