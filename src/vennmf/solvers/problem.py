"""A model bound to its data: forms, objective and violation for factors given as a dict from axis to array."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vennmf.errors import ModelError
from vennmf.matrices import ViewSet
from vennmf.model.form import Array, Form
from vennmf.model.losses import Frobenius
from vennmf.model.model import Model
from vennmf.model.penalties import MutuallyOrthogonal
from vennmf.solvers import products

Factors = dict[str, Array]

NOTHING = 1e-6
"""A component is dead when its row side is this small beside the largest component's."""


class DataForm(NamedTuple):
    """What the data alone add to the waist for one axis, kept to read the fit from."""

    parts: list[tuple[NDArray[np.intp] | None, Array]]
    cross: Array


class Problem:
    """Binds a model to views and answers what the loop asks: form, fit, penalties, violation."""

    def __init__(self, model: Model, views: ViewSet, *, allow_empty: bool = False) -> None:
        self.model = model
        self.views = views
        self.dtype = views.dtype
        self.sizes: dict[str, int] = {}
        self.weights: dict[str, float] = {}
        self.squared_norms: dict[str, float] = {}
        for loss in model.losses:
            view = views[loss.view]
            self.sizes[loss.left] = view.items.size
            self.sizes[loss.right] = view.features.size
            squared = view.squared_norm()
            if squared <= 0 and not allow_empty:
                raise ModelError(
                    f"source {loss.view!r} is all zero ({view.shape[0]:,} × {view.shape[1]:,}); it has nothing to "
                    "factorise. Leave it out or check how it was read."
                )
            self.squared_norms[loss.view] = squared
            self.weights[loss.view] = loss.weight if loss.weight is not None else 1.0 / squared
        self._columns = {
            (loss.view, axis): self._picked(loss, axis) for loss in model.losses for axis in (loss.left, loss.right)
        }

    def _picked(self, loss: Frobenius, axis: str) -> NDArray[np.intp] | None:
        layout = self.model.layouts[axis]
        return None if layout.has_all(loss.blocks) else layout.columns(loss.blocks)

    def part_of(self, view: str, axis: str, F: Array) -> Array:
        """The columns of an axis's factor that a view uses, contiguous."""
        columns = self._columns[view, axis]
        return F if columns is None else np.ascontiguousarray(F[:, columns])

    def relaxed(self) -> Problem | None:
        """The same problem without the penalties that couple rows of a column axis, or None if it has none."""
        model = self.model
        kept = tuple(penalty for penalty in model.penalties if not isinstance(penalty, MutuallyOrthogonal))
        if len(kept) == len(model.penalties):
            return None
        other = copy(self)
        other.model = Model(model.blocks, model.losses, kept)
        return other

    # ---------------------------------------------------------------- the waist

    def data_form(self, axis: str, factors: Factors) -> DataForm:
        """Gram and cross that the losses give one axis."""
        width = self.model.layouts[axis].width
        grams: list[tuple[NDArray[np.intp] | None, Array]] = []
        cross: Array | None = None
        for loss in self.model.losses:
            if axis not in (loss.left, loss.right):
                continue
            view, columns = self.views[loss.view], self._columns[loss.view, axis]
            on_rows = axis == loss.left
            other = loss.right if on_rows else loss.left
            others = self.part_of(loss.view, other, factors[other])
            if not on_rows and view.rows is not None:
                others = others[view.rows]
            product = products.times(view.X, others) if on_rows else products.transposed_times(view.X, others)
            gram, part = Frobenius.form(product, products.gram(others), self.weights[loss.view])
            rows = view.rows if on_rows else None
            grams.append((rows, _spread(gram, columns, width)))
            if cross is None and columns is None and rows is None:
                cross = part
            else:
                cross = np.zeros((self.sizes[axis], width), self.dtype) if cross is None else cross
                _add_at(cross, part, rows, columns)
        assert cross is not None
        return DataForm(_by_pattern(grams, self.sizes[axis]), cross)

    def form(self, axis: str, factors: Factors, data: DataForm | None = None) -> Form:
        """The whole waist for one axis at the current factors."""
        data = data or self.data_form(axis, factors)
        penalties = self.model.penalties_on(axis)
        hold = self._norm_multiplier(axis, factors)
        idle = self._idle(axis, data)
        if not penalties and hold is None and not len(idle):
            return Form(data.parts, data.cross)
        form = Form([(rows, gram.copy()) for rows, gram in data.parts], data.cross.copy())
        F, layout = factors[axis], self.model.layouts[axis]
        for penalty in penalties:
            penalty.add_form(form, F, layout)
        if form.coupling is not None and (form.curvature is not None or form.column_maximum is not None):
            raise ModelError(
                f"axis {axis!r} has mutual orthogonality together with a graph or a column maximum; "
                "these penalties cannot be combined on one axis yet. Put them on different axes."
            )
        if hold is not None:
            form.add_to_diagonal(np.maximum(hold, 0))
            form.cross += (np.maximum(-hold, 0)[None, :] * F).astype(self.dtype)
        if len(idle):
            form.freeze(idle, F)
        return form

    def _idle(self, axis: str, data: DataForm) -> NDArray[np.intp]:
        """Columns of a column axis whose row side carries nothing: the loss does not tell where they should go."""
        if not self.model.has_unit_norm or axis not in self.model.column_axes:
            return np.empty(0, np.intp)
        diagonal = np.max([np.diag(gram) for _, gram in data.parts], axis=0)
        return np.flatnonzero(diagonal <= NOTHING**2 * diagonal.max(initial=0))

    def _norm_multiplier(self, axis: str, factors: Factors) -> Array | None:
        r"""Multiplier of the unit-norm constraint of each column of one column axis, or None where nothing holds it.

        The loss does not feel the scale of a component, the penalties do. At unit norm the derivative along the scale is
        :math:`\mu_j = \langle H_j, \nabla_{H_j} \rangle - \langle B_j, \nabla_{B_j} \rangle` of the penalties; adding
        :math:`\tfrac{\mu_j}{2}\lVert B_j\rVert^2` (its tangent where negative) makes a fixed point of the sweep a stationary
        point of the *constrained* problem.
        """
        model = self.model
        if not model.has_unit_norm or axis not in model.column_axes:
            return None
        mine = model.layouts[axis]
        total, found = np.zeros(mine.width), False
        for other in model.axes:
            penalties = model.penalties_on(other)
            if not penalties:
                continue
            sign = 1.0 if other in model.row_axes else -1.0
            radial = self._radial(other, factors[other])
            theirs = model.layouts[other].slices()
            for name, columns in mine.slices().items():
                if name in theirs:
                    total[columns] += sign * radial[theirs[name]]
                    found = True
        return total if found else None

    def _radial(self, axis: str, F: Array) -> Array:
        """<F_j, gradient of the penalties at F_j> for each column of one axis."""
        form = Form.zeros(F.shape[0], F.shape[1], F.dtype)
        for penalty in self.model.penalties_on(axis):
            penalty.add_form(form, F, self.model.layouts[axis])
        return np.einsum("ij,ij->j", F, form.gradient(F), dtype=np.float64)

    # ---------------------------------------------------------------- values

    def fit_of(self, axis: str, data: DataForm, F: Array) -> float:
        """The losses of every view on a column axis, at F, from the data's gram and cross."""
        constant = sum(
            self.weights[loss.view] * self.squared_norms[loss.view] for loss in self.model.losses if axis == loss.right
        )
        return 0.5 * constant - products.inner(data.cross, F) + 0.5 * quadratic(data, F)

    def penalty_values(self, factors: Factors) -> dict[str, float]:
        """Each penalty's value by name, summed over the axes it is on."""
        values: dict[str, float] = {}
        for n, penalty in enumerate(self.model.penalties):
            name = type(penalty).__name__
            same = [p for p in self.model.penalties[:n] if type(p).__name__ == name]
            key = f"{name}_{len(same) + 1}" if same else name
            values[key] = sum(
                penalty.value(factors[axis], self.model.layouts[axis])
                for axis in self.model.axes
                if any(p is penalty for p in self.model.penalties_on(axis))
            )
        return values

    def objective(self, factors: Factors) -> float:
        """The objective from scratch: losses and penalties. The loop reads the same number from its forms."""
        fit = sum(self.fit_of(axis, self.data_form(axis, factors), factors[axis]) for axis in self.model.column_axes)
        return fit + sum(self.penalty_values(factors).values())

    def violation(self, factors: Factors) -> float:
        """Norm of the projected gradient of the constrained problem over all factors: zero at a stationary point."""
        total = 0.0
        for axis in self.model.axes:
            form = self.form(axis, factors)
            total += projected(factors[axis], form, form.gradient(factors[axis]))
        return float(np.sqrt(total))

    # ---------------------------------------------------------------- scale

    def scales(self, factors: Factors) -> dict[str, Array]:
        """For each block, the norms of its components over all column axes; empty where the model fixes the scale itself.

        A component whose column side is zero has scale 1.
        """
        model = self.model
        if not model.has_unit_norm:
            return {}
        squared: dict[str, Array] = {}
        for axis in model.column_axes:
            norms = np.einsum("ij,ij->j", factors[axis], factors[axis], dtype=np.float64)
            for name, columns in model.layouts[axis].slices().items():
                squared[name] = squared.get(name, 0.0) + norms[columns]
        return {name: np.sqrt(np.where(value > 0, value, 1.0)) for name, value in squared.items()}

    def rescale(self, factors: Factors, scales: dict[str, Array]) -> None:
        """Divide the column side of each component by its scale and multiply the row side, in place."""
        for axis in self.model.axes if scales else ():
            whole = np.concatenate([scales[block.name] for block in self.model.layouts[axis].blocks])
            factors[axis] *= (whole if axis in self.model.row_axes else 1 / whole).astype(self.dtype)

    def normalise(self, factors: Factors) -> None:
        """Bring the column side of each component to unit norm and give its scale to the row side, in place."""
        self.rescale(factors, self.scales(factors))

    def nbytes(self) -> int:
        """Bytes of one set of factors."""
        return sum(self.sizes[axis] * self.model.layouts[axis].width for axis in self.model.axes) * self.dtype.itemsize


def quadratic(data: DataForm, F: Array) -> float:
    """<F G, F>, each part of the rows with its own gram."""
    total = 0.0
    for rows, gram in data.parts:
        total += float(np.sum(gram * products.gram(F if rows is None else F[rows])))
    return total


def projected(F: Array, form: Form, gradient: Array) -> float:
    """Squared norm of the part of the gradient that the bounds do not hold back."""
    free = np.where(F <= 0, np.minimum(gradient, 0), gradient)
    if np.isfinite(form.upper):
        free = np.where(form.upper <= F, np.maximum(gradient, 0), free)
    return float(np.einsum("ij,ij->", free, free, dtype=np.float64))


def _spread(gram: Array, columns: NDArray[np.intp] | None, width: int) -> Array:
    if columns is None:
        return gram
    out: Array = np.zeros((width, width), gram.dtype)
    out[np.ix_(columns, columns)] = gram
    return out


def _add_at(cross: Array, part: Array, rows: Any, columns: Any) -> None:
    if rows is None and columns is None:
        cross += part
    elif rows is None:
        cross[:, columns] += part
    elif columns is None:
        cross[rows] += part
    else:
        cross[np.ix_(rows, columns)] += part


def _by_pattern(
    grams: list[tuple[NDArray[np.intp] | None, Array]], size: int
) -> list[tuple[NDArray[np.intp] | None, Array]]:
    """One gram for each set of views that rows see: all rows together unless some view lacks rows."""
    if all(rows is None for rows, _ in grams):
        total = grams[0][1]
        for _, gram in grams[1:]:
            total = total + gram
        return [(None, total)]
    seen = np.ones((size, len(grams)), dtype=bool)
    for n, (rows, _) in enumerate(grams):
        if rows is not None:
            seen[:, n] = False
            seen[rows, n] = True
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    parts: list[tuple[NDArray[np.intp] | None, Array]] = []
    for n, pattern in enumerate(patterns):
        chosen = [gram for (_, gram), used in zip(grams, pattern, strict=True) if used]
        total = np.sum(chosen, axis=0) if chosen else np.zeros_like(grams[0][1])
        parts.append((np.flatnonzero(which == n), total))
    return parts
