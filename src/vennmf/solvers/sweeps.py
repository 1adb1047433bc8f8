"""One step on one factor, given its form: coordinate descent or the papers' multiplicative rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vennmf.model.form import Array, Form
from vennmf.solvers import kernels
from vennmf.solvers.kernels.reference import clip_by_maximum, projected

Sweep = Callable[[Array, Form, int], float]
"""Changes F in place; returns the squared norm of the projected gradient before the step."""

EMPTY = {np.dtype(t): np.empty(0, t) for t in (np.float32, np.float64)}


def coordinate_descent(F: Array, form: Form, n_sweeps: int) -> float:
    """Exact coordinate descent, several cyclic passes, by whichever kernel the form asks for."""
    groups = form.curvatures()
    if len(groups) > 1:
        return group_by_group(F, form, n_sweeps)
    if form.column_maximum is not None:
        return float(kernels.sweep_column_maximum(F, form.gram, form.cross, form.column_maximum, n_sweeps))
    if form.coupling is not None:
        return float(kernels.sweep_coupled(F, form.gram, form.cross, form.coupling.astype(F.dtype), n_sweeps))
    curvature = EMPTY[F.dtype] if groups[0][1] is None else groups[0][1].astype(F.dtype)
    upper = F.dtype.type(form.upper)
    violation = 0.0
    for rows, gram in form.parts:
        if rows is None:
            violation += kernels.sweep(F, gram, form.cross, curvature, upper, n_sweeps)
            continue
        part = F[rows]
        bend = curvature[rows] if curvature.size else curvature
        violation += kernels.sweep(part, gram, form.cross[rows], bend, upper, n_sweeps)
        F[rows] = part
    return float(violation)


def group_by_group(F: Array, form: Form, n_sweeps: int) -> float:
    """Coordinate descent where groups of columns have a curvature of their own: one group after another, the rest fixed."""
    violation = 0.0
    for n in range(n_sweeps):
        for columns, values in form.curvatures():
            assert columns is not None
            rest = np.setdiff1d(np.arange(F.shape[1]), columns)
            cross = np.ascontiguousarray(form.cross[:, columns])
            for rows, gram in form.parts:
                seen = slice(None) if rows is None else rows
                cross[seen] -= F[seen][:, rest] @ gram[np.ix_(rest, columns)]
            parts = [(rows, np.ascontiguousarray(gram[np.ix_(columns, columns)])) for rows, gram in form.parts]
            part, mine = np.ascontiguousarray(F[:, columns]), Form(parts, cross, upper=form.upper)
            if values is not None:
                mine.add_curvature(values)
            met = coordinate_descent(part, mine, 1)
            violation += met if n == 0 else 0.0
            F[:, columns] = part
    return violation


def multiplicative(F: Array, form: Form, n_sweeps: int = 1) -> float:
    """The multiplicative rule: what pulls an entry up over what pushes it down.

    F <- F * ([C]+ + pull) / (F G + F (A ∘ FᵀF) + d ∘ F + push + [C]-)

    A quotient of two zeros leaves the entry where it is. Columns with a penalty on their maximum, of which no multiplicative
    rule is known, take their exact step.
    """
    if form.column_maximum is not None:
        return coordinate_descent(F, form, n_sweeps)
    violation = 0.0
    for n in range(n_sweeps):
        met = kernels.multiply(F, form.repulsion(F, kernels.dense_product), form.cross, form.pull, form.upper)
        violation = met if n == 0 else violation
    return violation


def published(F: Array, form: Form, n_sweeps: int = 1) -> float:
    """One step of MCL as it is published: composite gradient mapping for bases, a root of a quadratic for encodings.

    F <- min(upper, F * (-b + sqrt(b^2 + 4 a c)) / (2 a)),   a = F G + d ∘ F + push,  b = -C,  c = pull       (eq. 25)

    which for c = 0 is F * [C]+ / a (eq. 26).
    """
    if form.column_maximum is not None:
        return composite_gradient_mapping(F, form.gram, form.cross, form.column_maximum, n_sweeps)
    violation = 0.0
    for n in range(n_sweeps):
        a, b = form.repulsion(F), -form.cross
        c = np.zeros_like(a) if form.pull is None else form.pull
        if n == 0:
            violation = projected_square(F, a + b - c, form.upper)
        root = b**2 + 4 * a * c
        np.sqrt(root, out=root)
        tiny = np.finfo(F.dtype).tiny
        np.multiply(F, np.divide(root - b, 2 * a, out=np.ones_like(a), where=a > tiny), out=F)
        if np.isfinite(form.upper):
            np.minimum(F, F.dtype.type(form.upper), out=F)
    return violation


def composite_gradient_mapping(F: Array, G: Array, C: Array, weights: Array, n_steps: int) -> float:
    """Nesterov's method for 1/2 <F G, F> - <F, C> + sum_t weights_t max_i F_it over F >= 0, in place (MCL, Algorithm 2).

    F <- prox(F - (F G - C) / L) with L doubled until the model at F bounds the objective, then halved for the next step.
    Returns the squared norm of L (F - what F becomes) in the first step.
    """
    smallest = bend = max(float(np.trace(G)) / len(G), float(np.finfo(F.dtype).tiny))
    violation = 0.0
    for n in range(n_steps):
        gradient = F @ G - C
        while True:
            moved = np.column_stack(
                [clip_by_maximum(z, w / bend) for z, w in zip((F - gradient / bend).T, weights, strict=True)]
            ).astype(F.dtype)
            step = (moved - F).astype(np.float64)
            # the bound holds where the quadratic part of the step is under L / 2 |step|^2, all else being equal
            if np.vdot(step @ G, step) <= bend * np.vdot(step, step) * (1 + 1e-9):
                break
            bend *= 2
        if n == 0:
            violation = float(bend**2 * np.vdot(step, step))
        F[...] = moved
        bend = max(smallest, bend / 2)
    return violation


def projected_square(F: Array, gradient: Array, upper: float = np.inf) -> float:
    """Squared norm of the part of a gradient that the bounds do not hold back."""
    free = projected(F, gradient, upper)
    return float(np.einsum("ij,ij->", free, free, dtype=np.float64))


SWEEPS: dict[str, Sweep] = {"cd": coordinate_descent, "mu": multiplicative, "paper": published}
RULES = (multiplicative, published)
"""Sweeps that divide the two halves of a gradient, as the papers do."""
