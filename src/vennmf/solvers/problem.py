"""A model bound to its data: forms, objective and violation for factors given as a dict from axis to array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from vennmf.solvers.memory import Plan, planned
from vennmf.solvers.sweeps import coordinate_descent, projected_square

Factors = dict[str, Array]

NOTHING = 1e-6
"""A component is dead when its row side is this small beside the largest component's."""


class Half(NamedTuple):
    """What one loss makes its part of an axis's waist of: a product, for any of its rows, and a gram."""

    loss: Frobenius
    product: Callable[[slice], Array]
    gram: Array
    rows: NDArray[np.intp] | None
    columns: NDArray[np.intp] | None


class DataForm(NamedTuple):
    """What the data alone add to the waist for one axis, kept to read the fit from."""

    parts: list[tuple[NDArray[np.intp] | None, Array]]
    cross: Array


class Piece(NamedTuple):
    """Some rows of an axis: what the data add to their waist, and the whole of it."""

    rows: slice
    data: DataForm
    form: Form


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
            _check_scale(view, squared, allow_empty)
            self.squared_norms[loss.view] = squared
            self.weights[loss.view] = loss.weight if loss.weight is not None else 1.0 / squared
        self.plan = Plan()
        self._columns = {(loss.view, axis): self._picked(loss, axis) for loss in model.losses for axis in loss.axes}
        for axis in () if allow_empty else model.axes:
            for penalty in model.penalties_on(axis):
                _check_size(penalty, axis, self.sizes[axis])
        self.plan = planned(self)

    def _picked(self, loss: Frobenius, axis: str) -> NDArray[np.intp] | None:
        layout = self.model.layouts[axis]
        return None if layout.has_all(loss.blocks) else layout.columns(loss.blocks)

    def part_of(self, view: str, axis: str, F: Array) -> Array:
        """The columns of an axis's factor that a view uses, contiguous."""
        columns = self._columns[view, axis]
        return F if columns is None else np.ascontiguousarray(F[:, columns])

    def keeping(self, penalties: Sequence[Penalty]) -> Problem:
        """The same problem with some of its penalties."""
        other = copy(self)
        other.model = Model(self.model.blocks, self.model.losses, tuple(penalties))
        return other

    def relaxed(self) -> Problem | None:
        """The same problem without the penalties that couple rows of a column axis, or None if it has none."""
        kept = [penalty for penalty in self.model.penalties if not isinstance(penalty, MutuallyOrthogonal)]
        return None if len(kept) == len(self.model.penalties) else self.keeping(kept)

    # ---------------------------------------------------------------- the waist

    def data_form(self, axis: str, factors: Factors) -> DataForm:
        """Gram and cross that the losses give one axis."""
        return self._data_form(axis, self._halves(axis, factors), products.ALL)

    def _data_form(self, axis: str, halves: list[Half], rows: slice) -> DataForm:
        """Gram and cross of some rows; of all of them, where not every view sees all."""
        width, size = self.model.layouts[axis].width, len(range(self.sizes[axis])[rows])
        grams: list[tuple[NDArray[np.intp] | None, Array]] = []
        cross: Array | None = None
        for half in halves:
            gram, part = half.loss.form(half.product(rows), half.gram, self.weights[half.loss.view])
            grams.append((half.rows, _spread(gram, half.columns, width)))
            if cross is None and half.columns is None and half.rows is None:
                cross = part
            else:
                cross = np.zeros((size, width), self.dtype) if cross is None else cross
                _add_at(cross, part, half.rows, half.columns)
        assert cross is not None
        return DataForm(_by_pattern(grams, size), cross)

    def _halves(self, axis: str, factors: Factors) -> list[Half]:
        """What each loss of an axis is multiplied with."""
        return [self._half(loss, axis, factors) for loss in self.model.losses if axis in loss.axes]

    def _half(self, loss: Frobenius, axis: str, factors: Factors) -> Half:
        view, columns = self.views[loss.view], self._columns[loss.view, axis]
        columns_side = [self.part_of(loss.view, a, factors[a]) for a in loss.column_axes if a != axis]
        if axis == loss.left:
            others = products.khatri_rao(columns_side)
            gram = products.hadamard_gram(columns_side)
            return Half(loss, lambda rows: products.times(view.X, others, rows), gram, view.rows, columns)
        left = self.part_of(loss.view, loss.left, factors[loss.left])
        left = left if view.rows is None else left[view.rows]
        gram = products.hadamard_gram([left, *columns_side])

        def product(rows: slice) -> Array:
            if not columns_side:
                return self._transposed_times(loss.view, left, rows)
            sizes = [self.sizes[a] for a in loss.column_axes]
            whole = self._transposed_times(loss.view, left, products.ALL)
            return products.contracted(whole, sizes, loss.column_axes.index(axis), columns_side)[rows]

        return Half(loss, product, gram, None, columns)

    def _transposed_times(self, name: str, L: Array, rows: slice) -> Array:
        """Some rows of Xᵀ L, from the copy of X by columns where one is kept: it takes half the time of a scatter."""
        X = self.views[name].X
        if name not in self.plan.copied:
            return products.transposed_times(X, L, rows)
        if name not in self._by_columns:
            self._by_columns[name] = X.T.tocsr()
        return products.times(self._by_columns[name], L, rows)

    def form(self, axis: str, factors: Factors, data: DataForm | None = None, *, by_rule: bool = False) -> Form:
        """The whole waist for one axis at the current factors; ``by_rule`` parts it as the papers' rules do."""
        data, hold = data or self.data_form(axis, factors), self._norm_multiplier(axis, factors, by_rule)
        return self._form(axis, factors[axis], data, self.model.penalties_on(axis), hold, by_rule)

    def pieces(
        self, axis: str, factors: Factors, *, by_rule: bool = False, penalties: Sequence[Penalty] | None = None
    ) -> Iterator[Piece]:
        """The waist for one axis, a stretch of rows at a time where rows do not see each other, else at once.

        Where the products can be had by stretches, too, only one stretch of cross exists at a time. ``penalties`` are those
        of the axis in the model unless given.
        """
        halves = self._halves(axis, factors)
        hold = self._norm_multiplier(axis, factors, by_rule)
        penalties = self.model.penalties_on(axis) if penalties is None else penalties
        parts = self.stretches(axis, penalties)
        at_once = len(parts) == 1 or not self.streams(axis, self.plan.copied)
        whole = self._data_form(axis, halves, products.ALL) if at_once else None
        for rows in parts:
            data = self._data_form(axis, halves, rows) if whole is None else whole._replace(cross=whole.cross[rows])
            yield Piece(rows, data, self._form(axis, factors[axis][rows], data, penalties, hold, by_rule))

    def stretches(self, axis: str, penalties: Sequence[Penalty]) -> list[slice]:
        """The rows of the pieces of an axis: all at once where they see each other or different views."""
        see_each_other = not all(getattr(penalty, "by_row", False) for penalty in penalties)
        if see_each_other or any(
            axis == loss.left and self.views[loss.view].rows is not None for loss in self.model.losses
        ):
            return [products.ALL]
        return products.stretches(self.sizes[axis], self.model.layouts[axis].width * self.dtype.itemsize)

    def streams(self, axis: str, copied: frozenset[str]) -> bool:
        """Whether the cross of a stretch of rows can be had without that of all others, with copies of some views by columns."""
        across = [loss for loss in self.model.losses if axis in loss.column_axes]
        scattered = any(
            loss.modes or (sp.issparse(self.views[loss.view].X) and loss.view not in copied) for loss in across
        )
        return not scattered

    def _form(
        self,
        axis: str,
        F: Array,
        data: DataForm,
        penalties: Sequence[Penalty],
        hold: tuple[Array, Array] | None,
        by_rule: bool,
    ) -> Form:
        """Data, penalties and what holds the norms, for the rows of F; the data's own arrays stay as they are."""
        idle = self._idle(axis, data)
        if not penalties and hold is None and not len(idle):
            return Form(data.parts, data.cross)
        reads = hold is None and not len(idle) and all(isinstance(p, MutuallyOrthogonal) for p in penalties)
        cross = data.cross if reads else data.cross.copy()
        form = Form([(rows, gram.copy()) for rows, gram in data.parts], cross)
        layout = self.model.layouts[axis]
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
        :math:`\tfrac{\mu_j}{2}\lVert B_j\rVert^2` makes a fixed point of the sweep a stationary point of the *constrained*
        problem. Where :math:`\mu_j < 0` it is its tangent at the current column, with a curvature of :math:`2|\mu_j|`: a
        penalty's gain from a longer column levels off, for L1 as :math:`1/s \le 1 - (s - 1) + (s - 1)^2` at length s >= 1. Returned are
        what is added to the diagonal, and what pulls along the column; ``by_rule``, the two halves that :math:`\mu` is the
        difference of, as in the papers' :math:`Y_u = Y_{u+} - Y_{u-}`.
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
            halves *= products.squared_norms(factors[mode])
        if not by_rule:
            total = halves[0] - halves[1]
            outwards = np.maximum(-total, 0)
            halves = np.stack([np.maximum(total, 0) + 2 * outwards, 3 * outwards])
        return halves[0], halves[1]

    def _other_modes(self, axis: str) -> list[str]:
        """The other column axes of the tensor that a column axis is a mode of; each has a norm of its own."""
        of_one = [loss.column_axes for loss in self.model.losses if axis in loss.column_axes]
        return [other for axes in of_one for other in axes if other != axis]

    def _radial(self, axis: str, F: Array, by_rule: bool) -> Array:
        """Two nonnegative halves of <F_j, gradient of the penalties at F_j> for each column of one axis."""
        halves = np.zeros((2, F.shape[1]))
        for rows in self.stretches(axis, self.model.penalties_on(axis)):
            part = F[rows]
            form = Form.zeros(part.shape[0], part.shape[1], part.dtype)
            for penalty in self.model.penalties_on(axis):
                if not (by_rule and getattr(penalty, "rule_ignores_scale", False)):
                    add_to(form, penalty, part, self.model.layouts[axis], by_rule)
            down = form.repulsion(part) + np.maximum(-form.cross, 0)
            up = np.maximum(form.cross, 0) + (0 if form.pull is None else form.pull)
            halves += [np.einsum("ij,ij->j", part, half, dtype=np.float64) for half in (down, up)]
        return halves

    # ---------------------------------------------------------------- values

    def fit_of(self, axis: str, data: DataForm, F: Array) -> float:
        """The losses of every view whose last column axis this is, at F, from the data's gram and cross."""
        return self.fit_from(axis, data, F, products.inner(data.cross, F))

    def fit_from(self, axis: str, data: DataForm, F: Array, inner: float) -> float:
        """The same where <C, F> is known."""
        constant = sum(
            self.weights[loss.view] * self.squared_norms[loss.view]
            for loss in self.model.losses
            if axis == loss.column_axes[-1]
        )
        return 0.5 * constant - inner + 0.5 * quadratic(data, F)

    def fit(self, axis: str, factors: Factors) -> float:
        """The losses of every view whose last column axis this is, from scratch."""
        inner = 0.0
        for rows, data, _ in self.pieces(axis, factors):
            inner += products.inner(data.cross, factors[axis][rows])
        return self.fit_from(axis, data, factors[axis], inner)

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
        return sum(self.fit(axis, factors) for axis in self.model.last_axes) + sum(
            self.penalty_values(factors).values()
        )

    def violation(self, factors: Factors) -> float:
        """Norm of the projected gradient of the constrained problem over all factors: zero at a stationary point."""
        total = 0.0
        for axis in self.model.axes:
            for rows, _, form in self.pieces(axis, factors):
                part = factors[axis][rows]
                total += projected(part, form, form.gradient(part))
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
            norms = products.squared_norms(factors[axis])
            slices = model.layouts[axis].slices()
            for mode in (mode for loss in model.losses if loss.right == axis for mode in loss.modes):
                size = np.sqrt(products.squared_norms(factors[mode]))
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
            products.rescale(factors[axis], whole.astype(self.dtype))

    def normalise(self, factors: Factors) -> None:
        """Bring the column side of each component to unit norm and give its scale to the row side, in place."""
        self.rescale(factors, self.scales(factors))

    def nbytes(self) -> int:
        """Bytes of one set of factors."""
        return sum(self.sizes[axis] * self.model.layouts[axis].width for axis in self.model.axes) * self.dtype.itemsize


def _check_scale(view: View, squared: float, allow_empty: bool) -> None:
    """Refuse data so large that their type cannot hold the products of them; and to fit to, zero or too small ones."""
    if not allow_empty and squared <= 0 and not view.X.max() > 0:
        raise ModelError(
            f"source {view.name!r} is all zero ({view.shape[0]:,} × {view.shape[1]:,}); it has nothing to "
            "factorise. Leave it out or check how it was read."
        )
    largest = float(np.finfo(view.X.dtype).max) ** 0.4
    least = 0.0 if allow_empty else 1 / largest
    if not least <= np.sqrt(squared) <= largest:
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
