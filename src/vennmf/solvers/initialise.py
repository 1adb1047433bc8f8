"""Starting factors: random, means of random items, nonnegative double SVD, or given."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse.linalg as spla

from vennmf.errors import ParameterError
from vennmf.model.form import Array
from vennmf.model.losses import Frobenius
from vennmf.model.penalties import Box
from vennmf.solvers import kernels, products
from vennmf.solvers.problem import Factors, Problem, quadratic

DRAWN = 1 << 15
"""Random numbers from one generator, which float64 holds beside the factor while they are drawn; a start depends on it."""

INITS = ("random", "means", "nndsvd")


def initialise(problem: Problem, init: str | Mapping[str, Any], rng: np.random.Generator, number: int = 0) -> Factors:
    """Factors of every axis, scaled so that each view's product has the best length, at unit norm.

    ``number`` counts the starts of one fit: those after the first differ from it even where the way is not random.
    """
    if isinstance(init, str) and init != "random" and any(loss.modes for loss in problem.model.losses):
        raise ParameterError(
            f"init={init!r} starts from the rows of matrices; for a tensor use init='random' or a dict."
        )
    if isinstance(init, Mapping):
        factors = _given(problem, init)
    elif init == "random":
        factors = _random(problem, rng)
    elif init == "means":
        factors = _means(problem, rng)
    elif init == "nndsvd":
        factors = _nndsvd(problem, rng, turned=number > 0)
    else:
        raise ParameterError(f"init={init!r}; expected one of {', '.join(map(repr, INITS))} or a dict of factors.")
    if not isinstance(init, Mapping):
        _scale_to_fit(problem, factors)
        _stretch(problem, factors)
    problem.normalise(factors)
    return factors


def _random(problem: Problem, rng: np.random.Generator) -> Factors:
    factors = {}
    for axis in problem.model.axes:
        F = factors[axis] = np.empty((problem.sizes[axis], problem.model.layouts[axis].width), problem.dtype)
        height = 1 + DRAWN // F.shape[1]
        parts = [slice(first, first + height) for first in range(0, F.shape[0], height)]
        kernels.share(partial(_draw, F, parts, rng.spawn(len(parts))), len(parts), 2)
    return factors


def _draw(F: Array, parts: list[slice], generators: list[np.random.Generator], first: int, last: int) -> None:
    """Fill some parts of F, each from its own generator, so that the numbers do not follow the threads."""
    for part, generator in zip(parts[first:last], generators[first:last], strict=True):
        numbers = generator.standard_normal(F[part].shape)
        np.abs(numbers, out=F[part], casting="same_kind")


def _means(problem: Problem, rng: np.random.Generator, sample: int = 20) -> Factors:
    """Each component starts from the mean of a few random items: of a source it belongs to, in every view of these items."""
    factors = _random(problem, rng)
    losses = problem.model.losses
    for block in problem.model.blocks:
        first = next(loss for loss in losses if loss.view in block.sources)
        same_items = [loss for loss in losses if loss.view in block.sources and loss.left == first.left]
        size = problem.sizes[first.left]
        for j in range(block.size):  # a mean of most items would be the same for every component
            items = rng.choice(size, size=min(sample, 1 + size // 10), replace=False)
            for loss in same_items:
                _point_at_mean(problem, factors, loss, block.name, j, items)
    return factors


def _point_at_mean(problem: Problem, factors: Factors, loss: Frobenius, block: str, j: int, items: Array) -> None:
    """Set a component's column side to the mean of the items, a little of what is there kept so that no entry is locked."""
    view, column = (
        problem.views[loss.view],
        factors[loss.right][:, problem.model.layouts[loss.right].slices()[block].start + j],
    )
    rows = items if view.rows is None else np.flatnonzero(np.isin(view.rows, items))
    if len(rows):
        column *= 1e-3 * view.X.mean() / max(float(column.mean()), float(np.finfo(column.dtype).tiny))
        column += products.rows_of(view.X, rows).mean(axis=0)


def _nndsvd(problem: Problem, rng: np.random.Generator, turned: bool = False) -> Factors:
    """Positive parts of leading singular pairs (Boutsidis & Gallopoulos 2008), block after block, widest sharing first.

    The matrix of a block is the weighted stack of its sources' views along the axis they do not share, never formed:
    only its products with vectors are taken. A private block starts where the shared ones left off, since directions
    already taken are deflated. Zeros are filled with small random values so that no entry is locked. ``turned`` takes
    other pairs from the same leading subspace, by a random rotation, and shakes their entries, as one pair cannot be rotated.
    """
    factors = _random(problem, rng)
    model = problem.model
    fill = 1e-2 * np.sqrt(sum(problem.weights[v] * n for v, n in problem.squared_norms.items()) / len(model.losses))
    taken: dict[str, Array] = {}
    for block in model.blocks:
        losses = [loss for loss in model.losses if loss.view in block.sources]
        stacked_rows = len({loss.right for loss in losses}) == 1
        if not stacked_rows and len({loss.left for loss in losses}) > 1:
            raise ParameterError(
                f"init='nndsvd' takes the matrix of block {block.name!r} apart, whose views share neither all items nor all "
                "features; use init='random' or 'means'."
            )
        left, right = ("left", "right") if stacked_rows else ("right", "left")
        shared_axis = getattr(losses[0], right)
        basis = taken.get(shared_axis, np.zeros((problem.sizes[shared_axis], 0)))
        shape = (sum(problem.views[loss.view].shape[0 if stacked_rows else 1] for loss in losses), len(basis))

        def split(v: Array, losses: Any = losses, side: int = 0 if stacked_rows else 1) -> list[Array]:
            return np.split(v, np.cumsum([problem.views[loss.view].shape[side] for loss in losses])[:-1])

        def forward(v: Array, losses: Any = losses, basis: Array = basis, rows: bool = stacked_rows) -> Array:
            v = v.ravel() - basis @ (basis.T @ v.ravel())
            out = []
            for loss in losses:
                view, w = problem.views[loss.view], np.sqrt(problem.weights[loss.view])
                seen = v if rows or view.rows is None else v[view.rows]
                out.append(w * (view.X @ seen if rows else view.X.T @ seen))
            return np.concatenate(out)

        def backward(u: Array, losses: Any = losses, basis: Array = basis, rows: bool = stacked_rows) -> Array:
            out: Array = np.zeros(len(basis))
            for loss, part in zip(losses, split(u.ravel()), strict=True):
                view, w = problem.views[loss.view], np.sqrt(problem.weights[loss.view])
                product = w * (view.X.T @ part if rows else view.X @ part)
                if rows or view.rows is None:
                    out += product
                else:
                    out[view.rows] += product
            return out - basis @ (basis.T @ out)

        operator = spla.LinearOperator(shape, matvec=forward, rmatvec=backward, dtype=np.float64)
        rank = min(block.size, min(shape) - 1)
        if rank < 1:
            continue
        U, s, Vt = spla.svds(operator, k=rank, v0=rng.standard_normal(min(shape)), random_state=rng)
        order = np.argsort(-s)
        root = np.sqrt(np.maximum(s[order], 0))
        taken[shared_axis] = np.hstack([basis, Vt[order].T])
        pairs = _positive_pairs(root[:, None] * Vt[order], root[:, None] * U[:, order].T, rng if turned else None)
        for j, (v, u) in enumerate(pairs):
            _put(problem, factors[shared_axis], shared_axis, block.name, j, v, fill, rng)
            for loss, part in zip(losses, split(u), strict=True):
                axis = getattr(loss, left)
                weight = np.sqrt(problem.weights[loss.view])
                whole = np.zeros(problem.sizes[axis])
                rows = problem.views[loss.view].rows if axis == loss.left else None
                whole[slice(None) if rows is None else rows] = part / weight
                _put(problem, factors[axis], axis, block.name, j, whole, fill / weight, rng)
    return factors


def _positive_pairs(rights: Array, lefts: Array, rng: np.random.Generator | None) -> list[tuple[Array, Array]]:
    """The dominant halves of singular pairs; given random numbers, of a rotation of them, shaken."""
    if rng is None:
        return [_positive_pair(*pair) for pair in zip(rights, lefts, strict=True)]
    turn = np.linalg.qr(rng.standard_normal((len(rights), len(rights))))[0]
    pairs = [_positive_pair(*pair) for pair in zip(turn @ rights, turn @ lefts, strict=True)]
    return [(v * rng.random(len(v)), u * rng.random(len(u))) for v, u in pairs]


def _positive_pair(v: Array, u: Array) -> tuple[Array, Array]:
    """The dominant nonnegative half of a singular pair."""
    halves = [(np.maximum(sign * v, 0), np.maximum(sign * u, 0)) for sign in (1, -1)]
    return max(halves, key=lambda pair: float(np.linalg.norm(pair[0]) * np.linalg.norm(pair[1])))


def _put(
    problem: Problem,
    F: Array,
    axis: str,
    block: str,
    j: int,
    values: Array,
    fill: float,
    rng: np.random.Generator,
) -> None:
    small = fill / np.sqrt(len(values)) * rng.random(len(values))
    F[:, problem.model.layouts[axis].slices()[block].start + j] = np.where(values > 0, values, small)


def _given(problem: Problem, init: Mapping[str, Any]) -> Factors:
    """Factors that the caller provides, copied and checked."""
    factors = {}
    for axis in problem.model.axes:
        if axis not in init:
            raise ParameterError(f"init lacks the factor of axis {axis!r}; expected {', '.join(problem.model.axes)}.")
        F = np.array(init[axis], dtype=problem.dtype, order="C")
        wanted = (problem.sizes[axis], problem.model.layouts[axis].width)
        if F.shape != wanted:
            raise ParameterError(f"init[{axis!r}] has shape {F.shape}; expected {wanted}, entities × components.")
        if not np.isfinite(F).all() or F.min(initial=0) < 0:
            raise ParameterError(f"init[{axis!r}] has negative or non-finite entries; factors are nonnegative.")
        factors[axis] = F
    return factors


def _scale_to_fit(problem: Problem, factors: Factors) -> None:
    """Multiply each row factor by the number that brings its views' products closest to the data."""
    for axis in problem.model.row_axes:
        F, length, inner = factors[axis], 0.0, 0.0
        for rows, data, _ in problem.pieces(axis, factors):
            length += quadratic(data, F[rows])
            inner += products.inner(data.cross, F[rows])
        if length > 0:
            F *= np.asarray(max(inner, 0.0) / length, problem.dtype)


def _stretch(problem: Problem, factors: Factors) -> None:
    """Where a box bounds the row side, let each component's largest row entry reach it and each view have its own length.

    A penalty on the column side weighs least there; from a small row side it would wipe out components at once.
    """
    model = problem.model
    upper = min((p.upper for p in model.penalties if isinstance(p, Box)), default=np.inf)
    if not np.isfinite(upper):
        return
    largest: Factors = {}
    for axis in model.row_axes:
        for name, columns in model.layouts[axis].slices().items():
            found = factors[axis][:, columns].max(axis=0) / upper
            largest[name] = np.maximum(largest.get(name, 0.0), found)
    for axis in model.axes:
        whole = np.concatenate([largest[block.name] for block in model.layouts[axis].blocks])
        whole = np.where(whole > 0, whole, 1.0)
        factors[axis] *= (1 / whole if axis in model.row_axes else whole).astype(problem.dtype)
    for axis in model.column_axes:
        F, data = factors[axis], problem.data_form(axis, factors)
        length = quadratic(data, F)
        F *= np.asarray(max(products.inner(data.cross, F), 0.0) / length if length > 0 else 1.0, problem.dtype)
