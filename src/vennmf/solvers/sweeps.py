"""One step on one factor, given its form: coordinate descent or the papers' multiplicative rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vennmf.model.form import Array, Form
from vennmf.solvers import kernels

Sweep = Callable[[Array, Form, int], float]
"""Changes F in place; returns the squared norm of the projected gradient before the step."""

EMPTY = {np.dtype(t): np.empty(0, t) for t in (np.float32, np.float64)}


def coordinate_descent(F: Array, form: Form, n_sweeps: int) -> float:
    """Exact coordinate descent, several cyclic passes, by whichever kernel the form asks for."""
    if form.column_maximum is not None:
        return float(kernels.sweep_column_maximum(F, form.gram, form.cross, form.column_maximum, n_sweeps))
    if form.coupling is not None:
        return float(kernels.sweep_coupled(F, form.gram, form.cross, form.coupling.astype(F.dtype), n_sweeps))
    curvature = EMPTY[F.dtype] if form.curvature is None else form.curvature.astype(F.dtype)
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


def multiplicative(F: Array, form: Form, n_sweeps: int = 1) -> float:
    """The multiplicative rule: what pulls an entry up over what pushes it down.

    F <- F * [C]+ / (F G + F (A ∘ FᵀF) + d F + [C]-)

    A quotient of two zeros leaves the entry where it is.
    """
    violation = 0.0
    for n in range(n_sweeps):
        down = form.repulsion(F)
        if n == 0:
            gradient = down - form.cross
            free = np.where(F > 0, gradient, np.minimum(gradient, 0))
            violation = float(np.einsum("ij,ij->", free, free, dtype=np.float64))
        up = np.maximum(form.cross, 0)
        down += up - form.cross
        tiny = np.finfo(F.dtype).tiny
        np.multiply(F, np.divide(up, down, out=np.ones_like(up), where=down > tiny), out=F)
        if np.isfinite(form.upper):
            np.minimum(F, F.dtype.type(form.upper), out=F)
    return violation


SWEEPS: dict[str, Sweep] = {"cd": coordinate_descent, "mu": multiplicative}
