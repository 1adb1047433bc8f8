"""Components that carry nothing: kept at a direction, given a new start, or reported; never silently dead."""

from __future__ import annotations

import numpy as np

from vennmf.model.form import Array
from vennmf.model.losses import Frobenius
from vennmf.solvers import products
from vennmf.solvers.problem import NOTHING, Factors, Problem


def empty_columns(F: Array, height: int = 1024) -> Array:
    """Which columns have no entry but zeros; no more rows are read than it takes to know."""
    empty: Array = np.ones(F.shape[1], dtype=bool)
    for first in range(0, len(F), height):
        if not empty.any():
            break
        empty &= ~F[first : first + height].any(axis=0)
    return empty


class Reviver:
    """Watches the components of a problem and gives the dead ones a new direction, a few times each."""

    def __init__(self, problem: Problem, rng: np.random.Generator, attempts: int = 3) -> None:
        self.problem, self.rng = problem, rng
        self.left = {block.name: np.full(block.size, attempts) for block in problem.model.blocks}

    def keep_directions(self, work: Factors, accepted: Factors) -> None:
        """Where a step emptied a component's column side, put its old direction back and empty the row side instead."""
        model = self.problem.model
        if not model.has_unit_norm:
            return
        empty: dict[str, Array] = {}
        for axis, modes in {loss.right: loss.modes for loss in model.losses}.items():
            none: Array = np.logical_or.reduce([empty_columns(work[a]) for a in (axis, *modes)])
            for name, columns in model.layouts[axis].slices().items():
                empty[name] = empty.get(name, True) & none[columns]
        for axis in model.axes if any(np.any(e) for e in empty.values()) else ():
            for name, columns in model.layouts[axis].slices().items():
                gone = np.flatnonzero(empty[name]) + columns.start
                work[axis][:, gone] = 0 if axis in model.row_axes else accepted[axis][:, gone]

    def dead(self, factors: Factors) -> dict[str, list[int]]:
        """Numbers of the components by block that carry nothing."""
        model = self.problem.model
        carried: dict[str, Array] = {}
        for axis in model.row_axes:
            squared = products.squared_norms(factors[axis])
            for name, columns in model.layouts[axis].slices().items():
                carried[name] = carried.get(name, 0.0) + squared[columns]
        most = max((float(c.max(initial=0)) for c in carried.values()), default=0.0)
        found = {name: np.flatnonzero(c <= NOTHING**2 * most).tolist() for name, c in carried.items()}
        return {name: numbers for name, numbers in found.items() if numbers}

    def revive(self, factors: Factors) -> bool:
        """Turn dead components towards what is left unexplained, in place; True where any was turned.

        The row side stays zero, so the loss is untouched and the next step decides what the direction is worth. A
        direction that would raise the penalties is not taken.
        """
        problem, turned = self.problem, False
        if not problem.model.has_unit_norm:
            return False
        for name, numbers in self.dead(factors).items():
            for j in numbers:
                if self.left[name][j] > 0:
                    self.left[name][j] -= 1
                    turned |= self._turn(factors, name, j)
        return turned

    def _turn(self, factors: Factors, name: str, j: int) -> bool:
        problem, model = self.problem, self.problem.model
        before = sum(problem.penalty_values(factors).values())
        old = {
            axis: F[:, self._column(axis, name, j)].copy() for axis, F in factors.items() if name in self._names(axis)
        }
        losses = [loss for loss in model.losses if name in loss.blocks]
        for axis in old:
            factors[axis][:, self._column(axis, name, j)] = 0
        if len({loss.right for loss in losses}) == 1:
            loss = losses[int(self.rng.integers(len(losses)))]
            self._point(factors, loss, name, j, self._residual(factors, loss.view))
        else:  # shared rows: the residual of the same few items in every view
            rows = self.rng.choice(problem.sizes[losses[0].left], size=1)
            for loss in losses:
                self._point(factors, loss, name, j, self._residual(factors, loss.view, rows))
        scales = problem.scales(factors)
        problem.rescale(factors, scales)
        found = all(factors[a][:, self._column(a, name, j)].any() for a in old if a in model.column_axes)
        if found and sum(problem.penalty_values(factors).values()) <= before:
            return True
        for axis, column in old.items():
            factors[axis][:, self._column(axis, name, j)] = column
        return False

    def _point(self, factors: Factors, loss: Frobenius, name: str, j: int, direction: Array) -> None:
        """Set a component's column side to a direction in the features; each mode of a tensor to its margin."""
        whole = direction.reshape([self.problem.sizes[axis] for axis in loss.column_axes])
        for n, axis in enumerate(loss.column_axes):
            others = tuple(m for m in range(whole.ndim) if m != n)
            factors[axis][:, self._column(axis, name, j)] = whole.sum(axis=others)

    def _residual(self, factors: Factors, view: str, items: Array | None = None) -> Array:
        """The positive part of what the worst fitted of a few random items leaves unexplained."""
        problem = self.problem
        loss = next(loss for loss in problem.model.losses if loss.view == view)
        X, seen = problem.views[view].X, problem.views[view].rows
        size = X.shape[0]
        rows = self.rng.choice(size, size=min(32, size), replace=False)
        if items is not None:
            rows = items if seen is None else np.flatnonzero(np.isin(seen, items))
        if not len(rows):
            return np.zeros(X.shape[1], problem.dtype)
        L = problem.part_of(view, loss.left, factors[loss.left])
        R = products.khatri_rao([problem.part_of(view, axis, factors[axis]) for axis in loss.column_axes])
        left = L[rows] if seen is None else L[seen[rows]]
        rest = np.maximum(products.rows_of(X, rows) - left @ R.T, 0)
        return rest[int(np.argmax(np.einsum("ij,ij->i", rest, rest)))]

    def _names(self, axis: str) -> set[str]:
        return {block.name for block in self.problem.model.layouts[axis].blocks}

    def _column(self, axis: str, name: str, j: int) -> int:
        return self.problem.model.layouts[axis].slices()[name].start + j
