"""A model bound to its data: forms, objective and violation for factors given as a dict from axis to array."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.errors import ModelError
from vennmf.matrices import ViewSet
from vennmf.matrices.view import Matrix, View
from vennmf.model.blocks import Layout
from vennmf.model.form import Array, Form
from vennmf.model.losses import Frobenius
from vennmf.model.model import Model
from vennmf.model.penalties import MutuallyOrthogonal, Penalty
from vennmf.solvers import products
from vennmf.solvers.sweeps import coordinate_descent, projected_square

Factors = dict[str, Array]

COPY_LIMIT = 256 << 20
"""Bytes of a sparse matrix up to which a second copy by columns is kept during a fit."""

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
        self._by_columns: dict[str, Matrix] = {}
        for loss in model.losses:
            view = views[loss.view]
            self.sizes[loss.left] = view.items.size
            for axis, entities in zip(loss.column_axes, view.modes or (view.features,), strict=True):
                self.sizes[axis] = entities.size
            squared = view.squared_norm()
            if not allow_empty:
                _check_scale(view, squared)
            self.squared_norms[loss.view] = squared
            self.weights[loss.view] = loss.weight if loss.weight is not None else 1.0 / squared
        self._columns = {(loss.view, axis): self._picked(loss, axis) for loss in model.losses for axis in loss.axes}
        for axis in () if allow_empty else model.axes:
            for penalty in model.penalties_on(axis):
                _check_size(penalty, axis, self.sizes[axis])

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
            if axis not in loss.axes:
                continue
            view, columns = self.views[loss.view], self._columns[loss.view, axis]
            on_rows = axis == loss.left
            columns_side = [self.part_of(loss.view, a, factors[a]) for a in loss.column_axes if a != axis]
            if on_rows:
                others = products.khatri_rao(columns_side)
                product, gram = products.times(view.X, others), products.hadamard_gram(columns_side)
            else:
                others = self.part_of(loss.view, loss.left, factors[loss.left])
                others = others if view.rows is None else others[view.rows]
                product = self._transposed_times(loss.view, others)
                gram = products.hadamard_gram([others, *columns_side])
                if columns_side:
                    sizes = [self.sizes[a] for a in loss.column_axes]
                    product = products.contracted(product, sizes, loss.column_axes.index(axis), columns_side)
            gram, part = loss.form(product, gram, self.weights[loss.view])
            rows = view.rows if on_rows else None
            grams.append((rows, _spread(gram, columns, width)))
            if cross is None and columns is None and rows is None:
                cross = part
            else:
                cross = np.zeros((self.sizes[axis], width), self.dtype) if cross is None else cross
                _add_at(cross, part, rows, columns)
        assert cross is not None
        return DataForm(_by_pattern(grams, self.sizes[axis]), cross)

    def _transposed_times(self, name: str, L: Array) -> Array:
        """Xᵀ L, from a copy of X by columns where that is small enough to keep: it takes half the time of a scatter."""
        X = self.views[name].X
        if not sp.issparse(X) or X.data.nbytes + X.indices.nbytes > COPY_LIMIT:
            return products.transposed_times(X, L)
        if name not in self._by_columns:
            self._by_columns[name] = X.T.tocsr()
        return products.times(self._by_columns[name], L)

    def form(self, axis: str, factors: Factors, data: DataForm | None = None, *, by_rule: bool = False) -> Form:
        """The whole waist for one axis at the current factors; ``by_rule`` parts it as the papers' rules do."""
        data = data or self.data_form(axis, factors)
        penalties = self.model.penalties_on(axis)
        hold = self._norm_multiplier(axis, factors, by_rule)
        idle = self._idle(axis, data)
        if not penalties and hold is None and not len(idle):
            return Form(data.parts, data.cross)
        form = Form([(rows, gram.copy()) for rows, gram in data.parts], data.cross.copy())
        F, layout = factors[axis], self.model.layouts[axis]
        for penalty in penalties:
            add_to(form, penalty, F, layout, by_rule)
        if form.coupling is not None and (form.bends or form.column_maximum is not None):
            raise ModelError(
                f"axis {axis!r} has mutual orthogonality together with a graph or a column maximum; "
                "these penalties cannot be combined on one axis yet. Put them on different axes."
            )
        if hold is not None:
            form.add_to_diagonal(hold[0])
            form.cross += (hold[1][None, :] * F).astype(self.dtype)
        if len(idle):
            form.freeze(idle, F)
        return form

    def _idle(self, axis: str, data: DataForm) -> NDArray[np.intp]:
        """Columns of a column axis whose row side carries nothing: the loss does not tell where they should go."""
        if not self.model.has_unit_norm or axis not in self.model.column_axes:
            return np.empty(0, np.intp)
        diagonal = np.max([np.diag(gram) for _, gram in data.parts], axis=0)
        return np.flatnonzero(diagonal <= NOTHING**2 * diagonal.max(initial=0))

    def _norm_multiplier(self, axis: str, factors: Factors, by_rule: bool) -> tuple[Array, Array] | None:
        r"""Multiplier of the unit-norm constraint of each column of one column axis, or None where nothing holds it.

        The loss does not feel the scale of a component, the penalties do. At unit norm the derivative along the scale is
        :math:`\mu_j = \langle H_j, \nabla_{H_j} \rangle - \langle B_j, \nabla_{B_j} \rangle` of the penalties; adding
        :math:`\tfrac{\mu_j}{2}\lVert B_j\rVert^2` (its tangent where negative) makes a fixed point of the sweep a stationary
        point of the *constrained* problem. Returned are its positive and negative parts; ``by_rule``, the two halves that it is
        the difference of, as in the papers' :math:`Y_u = Y_{u+} - Y_{u-}`.
        """
        model = self.model
        if not model.has_unit_norm or axis not in model.column_axes:
            return None
        mine = model.layouts[axis]
        halves, found = np.zeros((2, mine.width)), False
        for other in model.axes:
            if not model.penalties_on(other) or other in self._other_modes(axis):
                continue
            radial = self._radial(other, factors[other], by_rule)
            theirs = model.layouts[other].slices()
            for name, columns in mine.slices().items():
                if name in theirs:
                    halves[:, columns] += (radial if other in model.row_axes else radial[::-1])[:, theirs[name]]
                    found = True
        if not found:
            return None
        for mode in self._other_modes(axis):  # as Π Q_p of (54): 1 until a mode is swept, then its norms
            halves *= column_norms(factors[mode])
        if not by_rule:
            total = halves[0] - halves[1]
            halves = np.stack([np.maximum(total, 0), np.maximum(-total, 0)])
        return halves[0], halves[1]

    def _other_modes(self, axis: str) -> list[str]:
        """The other column axes of the tensor that a column axis is a mode of; each has a norm of its own."""
        of_one = [loss.column_axes for loss in self.model.losses if axis in loss.column_axes]
        return [other for axes in of_one for other in axes if other != axis]

    def _radial(self, axis: str, F: Array, by_rule: bool) -> Array:
        """Two nonnegative halves of <F_j, gradient of the penalties at F_j> for each column of one axis."""
        form = Form.zeros(F.shape[0], F.shape[1], F.dtype)
        for penalty in self.model.penalties_on(axis):
            if not (by_rule and getattr(penalty, "rule_ignores_scale", False)):
                add_to(form, penalty, F, self.model.layouts[axis], by_rule)
        down = form.repulsion(F) + np.maximum(-form.cross, 0)
        up = np.maximum(form.cross, 0) + (0 if form.pull is None else form.pull)
        return np.stack([np.einsum("ij,ij->j", F, half, dtype=np.float64) for half in (down, up)])

    # ---------------------------------------------------------------- values

    def fit_of(self, axis: str, data: DataForm, F: Array) -> float:
        """The losses of every view whose last column axis this is, at F, from the data's gram and cross."""
        constant = sum(
            self.weights[loss.view] * self.squared_norms[loss.view]
            for loss in self.model.losses
            if axis == loss.column_axes[-1]
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
        fit = sum(self.fit_of(axis, self.data_form(axis, factors), factors[axis]) for axis in self.model.last_axes)
        return fit + sum(self.penalty_values(factors).values())

    def violation(self, factors: Factors) -> float:
        """Norm of the projected gradient of the constrained problem over all factors: zero at a stationary point."""
        total = 0.0
        for axis in self.model.axes:
            form = self.form(axis, factors)
            total += projected(factors[axis], form, form.gradient(factors[axis]))
        return float(np.sqrt(total))

    # ---------------------------------------------------------------- scale

    def scales(self, factors: Factors) -> Factors:
        """For each axis, what its columns are multiplied by to reach unit norm; empty where the model fixes the scale itself.

        The norm of a component is that over all column axes together, a tensor's being the product of those of its modes;
        the row side is multiplied by it. A component whose column side is zero stays as it is.
        """
        model = self.model
        if not model.has_unit_norm:
            return {}
        multipliers: Factors = {}
        squared: dict[str, Array] = {}
        for axis in dict.fromkeys(loss.right for loss in model.losses):
            norms = column_norms(factors[axis])
            slices = model.layouts[axis].slices()
            for mode in (mode for loss in model.losses if loss.right == axis for mode in loss.modes):
                size = np.sqrt(column_norms(factors[mode]))
                multipliers[mode] = 1 / np.where(size > 0, size, 1.0)
                multipliers[axis] = multipliers.get(axis, 1.0) * np.where(size > 0, size, 1.0)
                norms = norms * size**2
            for name, columns in slices.items():
                squared[name] = squared.get(name, 0.0) + norms[columns]
        scale = {name: np.sqrt(np.where(value > 0, value, 1.0)) for name, value in squared.items()}
        for axis in (*model.row_axes, *dict.fromkeys(loss.right for loss in model.losses)):
            whole = np.concatenate([scale[block.name] for block in model.layouts[axis].blocks])
            multipliers[axis] = whole if axis in model.row_axes else multipliers.get(axis, 1.0) * (1 / whole)
        return multipliers

    def rescale(self, factors: Factors, multipliers: Factors) -> None:
        """Multiply the columns of each axis, in place."""
        for axis, whole in multipliers.items():
            factors[axis] *= whole.astype(self.dtype)

    def normalise(self, factors: Factors) -> None:
        """Bring the column side of each component to unit norm and give its scale to the row side, in place."""
        self.rescale(factors, self.scales(factors))

    def nbytes(self) -> int:
        """Bytes of one set of factors."""
        return sum(self.sizes[axis] * self.model.layouts[axis].width for axis in self.model.axes) * self.dtype.itemsize


def _check_scale(view: View, squared: float) -> None:
    """Refuse data that are zero, or so small or large that their type cannot hold the products of them."""
    if squared <= 0 and not view.X.max() > 0:
        raise ModelError(
            f"source {view.name!r} is all zero ({view.shape[0]:,} × {view.shape[1]:,}); it has nothing to "
            "factorise. Leave it out or check how it was read."
        )
    largest = float(np.finfo(view.X.dtype).max) ** 0.4
    if not 1 / largest <= np.sqrt(squared) <= largest:
        raise ModelError(
            f"source {view.name!r} has a largest entry of {view.X.max():.3g}, and {view.X.dtype} cannot hold the products of "
            "such numbers; multiply the source by a number that brings it near 1."
        )


def _check_size(penalty: Penalty, axis: str, size: int) -> None:
    """Refuse a penalty that tells of other entities than those of its axis."""
    known = getattr(penalty, "n_entities", None)
    if known not in (None, size):
        raise ModelError(
            f"{type(penalty).__name__} tells of {known:,} entities and axis {axis!r} has {size:,}; give it one for each, "
            "and the axis that it is on as on=."
        )


def add_to(form: Form, penalty: Penalty, F: Array, layout: Layout, by_rule: bool) -> None:
    """Add a penalty to a form, parted as its published rule does where it has one and that is asked for."""
    add_rule = getattr(penalty, "add_rule", None) if by_rule else None
    (add_rule or penalty.add_form)(form, F, layout)


def column_norms(F: Array) -> Array:
    """Squared norms of the columns, in float64."""
    return np.einsum("ij,ij->j", F, F, dtype=np.float64)


def quadratic(data: DataForm, F: Array) -> float:
    """<F G, F>, each part of the rows with its own gram."""
    total = 0.0
    for rows, gram in data.parts:
        total += float(np.sum(gram * products.gram(F if rows is None else F[rows])))
    return total


def projected(F: Array, form: Form, gradient: Array) -> float:
    """Squared norm of the part of the gradient that the bounds do not hold back; zero at a stationary point."""
    if form.column_maximum is not None:
        return coordinate_descent(F.copy(), form, 0)
    return projected_square(F, gradient, form.upper)


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
