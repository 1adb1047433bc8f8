"""What a fit holds in memory, from sizes alone: what is worth a copy, and how much it will need."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import scipy.sparse as sp

from vennmf.matrices.view import View
from vennmf.model.losses import Frobenius
from vennmf.solvers import kernels

if TYPE_CHECKING:
    from vennmf.solvers.problem import Problem

COPY_LIMIT = 256 << 20
"""Bytes of a sparse matrix up to which a second copy by columns is made."""

CACHED = 24 << 20
"""Bytes of the encodings of a view up to which Xᵀ H takes less time from that copy: beyond, scattering row by row does."""

SMALL = 128 << 20
"""Bytes under which a fit takes whatever makes it faster; above, no more than twice data and factors, if that will do."""

GRAM_PARTS, GRAM_NUMBERS = 64, 1_000_000
TEMPORARIES = 2
"""Arrays of the size of a piece that the multiplicative steps make of it, and coordinate descent after them does not; the papers'
rules, where they are asked for, make more."""


@dataclass(frozen=True)
class Plan:
    """What a fit keeps beside the data and two sets of factors, because it is faster so."""

    copied: frozenset[str] = frozenset()
    rows_extrapolated: bool = False


@dataclass(frozen=True)
class Forecast:
    """Bytes of the data, of the factors, and of all that a fit holds at its peak, these two included."""

    data: int
    factors: int
    peak: int

    def __str__(self) -> str:
        data, factors, peak = (f"{size / 2**20:,.1f} MiB" for size in (self.data, self.factors, self.peak))
        return f"data {data}, factors {factors}, at the peak {peak}"


def forecast(problem: Problem, n_init: int = 1) -> Forecast:
    """The memory of a fit, right to a fifth where it is more than some dozens of MiB; of several starts the best is kept."""
    best = problem.nbytes() if n_init > 1 else 0
    return Forecast(problem.views.nbytes, problem.nbytes(), peak(problem, problem.plan) + best)


def planned(problem: Problem) -> Plan:
    """The fastest plan that is small, or stays within twice data and factors; else the leanest."""
    small = frozenset(name for name, view in problem.views.items() if 0 < copy_bytes(view) <= COPY_LIMIT)
    fast = frozenset(
        loss.view
        for loss in problem.model.losses
        if loss.view in small and problem.views[loss.view].shape[0] * row_bytes(problem, loss) <= CACHED
    )
    allowed = max(SMALL, 2 * (problem.views.nbytes + problem.nbytes()))
    plans = [Plan(copied, rows) for copied, rows in product(dict.fromkeys([fast, small, frozenset()]), (True, False))]
    affordable = (plan for plan in plans if peak(problem, plan) <= allowed)
    return next(affordable, None) or min(plans, key=lambda plan: peak(problem, plan))


def copy_bytes(view: View) -> int:
    """Bytes of a sparse matrix by columns; 0 for a dense one, which needs no copy."""
    if not sp.issparse(view.X):
        return 0
    return view.X.data.nbytes + view.X.indices.nbytes + (view.shape[1] + 1) * view.X.indptr.itemsize


def row_bytes(problem: Problem, loss: Frobenius) -> int:
    """Bytes of one row of the columns that a view uses."""
    return sum(block.size for block in problem.model.blocks if block.name in loss.blocks) * problem.dtype.itemsize


def peak(problem: Problem, plan: Plan) -> int:
    """Bytes at the fullest moment: data, copies, the factors accepted and at work, and what sweeping one axis takes."""
    model, factors = problem.model, 2 * problem.nbytes()
    if plan.rows_extrapolated:
        factors += sum(factor_bytes(problem, axis) for axis in model.row_axes)
    widest = max(model.layouts[axis].width for axis in model.axes)
    grams = 8 * min(GRAM_PARTS * widest**2, GRAM_NUMBERS)
    copies = sum(copy_bytes(problem.views[name]) for name in plan.copied)
    return problem.views.nbytes + copies + factors + grams + max(at_work(problem, plan, axis) for axis in model.axes)


def factor_bytes(problem: Problem, axis: str) -> int:
    """Bytes of the factor of one axis."""
    return problem.sizes[axis] * problem.model.layouts[axis].width * problem.dtype.itemsize


def at_work(problem: Problem, plan: Plan, axis: str) -> int:
    """Bytes of what one axis is swept with: other sides, products, cross, and the pieces' own arrays."""
    width = problem.model.layouts[axis].width * problem.dtype.itemsize
    penalties = problem.model.penalties_on(axis)
    stretches = problem.stretches(axis, penalties)
    piece = width * max(len(range(problem.sizes[axis])[rows]) for rows in stretches)
    streams = problem.streams(axis, plan.copied)
    total = piece * (TEMPORARIES + len(penalties))
    total += piece if streams else factor_bytes(problem, axis)
    sums = 0
    for loss in (loss for loss in problem.model.losses if axis in loss.axes):
        unfolded = problem.views[loss.view].shape[1] * row_bytes(problem, loss)
        if axis in loss.column_axes and loss.view not in plan.copied:
            made = kernels.accumulators(copy_bytes(problem.views[loss.view]), unfolded)
            sums = max(sums, (made - 1) * unfolded)  # which are let go before the next view's
        some = not problem.model.layouts[axis].has_all(loss.blocks)
        if axis == loss.left:
            total += unfolded if loss.modes or not problem.model.layouts[loss.right].has_all(loss.blocks) else 0
        elif loss.modes or (some and not streams):
            total += unfolded
    return total + sums
