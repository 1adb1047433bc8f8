"""Who explains what: the numbers of the shared report, computed once at the end of a fit while the data are at hand."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.spatial.distance import jensenshannon

from vennmf.model.form import Array
from vennmf.solvers import Problem, products

Row = tuple[str, str, str, float]


def energy_shares(problem: Problem, factors: dict[str, Array]) -> list[Row]:
    """Rows of (measure, first, second, value): energies by source and block, overlaps of blocks, divergences of sources."""
    return [*_energies(problem, factors), *_overlaps(problem, factors), *_divergences(problem)]


def _energies(problem: Problem, factors: dict[str, Array]) -> list[Row]:
    """With P = Σ_b H_b B_bᵀ: 1 − ‖X − P‖²/‖X‖², and ‖P_b‖²/‖X‖² for each block.

    At a stationary point the latter is also what would be lost by leaving block b out: there <X − P, P_b> = 0.
    """
    rows: list[Row] = []
    for loss in problem.model.losses:
        view = problem.views[loss.view]
        L = problem.part_of(loss.view, loss.left, factors[loss.left])
        L = L if view.rows is None else L[view.rows]
        R = problem.part_of(loss.view, loss.right, factors[loss.right])
        cross: Array = np.zeros(L.shape[1])
        for part in products.stretches(len(L), L.shape[1] * L.itemsize):
            cross += np.einsum("ij,ij->j", products.times(view.X, R, part), L[part], dtype=np.float64)
        product = products.gram(L) * products.gram(R)
        total = problem.squared_norms[loss.view]
        explained = min(1.0, float((2 * cross.sum() - product.sum()) / total))  # rounding may see more than all
        rows.append(("explained", loss.view, "", explained))
        start = 0
        for block in (block for block in problem.model.blocks if block.name in loss.blocks):
            mine = slice(start, start + block.size)
            start += block.size
            energy = product[mine, mine].sum()
            rows.append(("energy", loss.view, block.name, float(energy / total)))
    return rows


def _overlaps(problem: Problem, factors: dict[str, Array]) -> list[Row]:
    """Largest and mean cosine between the components of each two blocks that meet on a column axis."""
    rows: list[Row] = []
    for axis in problem.model.column_axes:
        overlap = products.gram(factors[axis])
        lengths = np.sqrt(np.diag(overlap))
        cosines = overlap / np.maximum(np.outer(lengths, lengths), np.finfo(float).tiny)
        slices = problem.model.layouts[axis].slices()
        for a, b in combinations(slices, 2):
            between = cosines[slices[a], slices[b]]
            rows.append(("max cosine", a, b, float(between.max())))
            rows.append(("mean cosine", a, b, float(between.mean())))
    return rows


def _divergences(problem: Problem) -> list[Row]:
    """Jensen–Shannon divergence, in bits, between the feature distributions of sources that share their features."""
    sums: dict[str, Any] = {
        name: np.asarray(view.X.sum(axis=0), dtype=np.float64).ravel() for name, view in problem.views.items()
    }
    return [
        ("Jensen-Shannon", a, b, float(jensenshannon(sums[a], sums[b], base=2) ** 2))
        for a, b in combinations(sums, 2)
        if problem.views[a].features is problem.views[b].features
    ]
