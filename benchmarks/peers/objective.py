"""The one objective by which every solver is judged, computed outside all of them, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

ROWS = 50_000


def relative_error(parts: Sequence[tuple[Any, Any, Any]]) -> float:
    r"""Square root of :math:`\sum_v \lVert X_v - L_v R_v^\top \rVert_F^2 \,/\, \sum_v \lVert X_v \rVert_F^2`.

    ``parts`` holds (X, L, R) of each view, X dense or CSR.
    """
    residual = sum(squared_residual(*part) for part in parts)
    return float(np.sqrt(max(residual, 0.0) / sum(squared_norm(X) for X, _, _ in parts)))


def squared_norm(X: Any) -> float:
    values = X.data if hasattr(X, "indptr") else X
    return float(np.vdot(values.ravel().astype(np.float64), values.ravel().astype(np.float64)))


def squared_residual(X: Any, L: Any, R: Any) -> float:
    """‖X‖² − 2⟨X R, L⟩ + ⟨LᵀL, RᵀR⟩, some rows at a time."""
    R = np.asarray(R, dtype=np.float64)
    gram = np.zeros((R.shape[1], R.shape[1]))
    met = 0.0
    for first in range(0, X.shape[0], ROWS):
        rows = slice(first, first + ROWS)
        F = np.asarray(L[rows], dtype=np.float64)
        gram += F.T @ F
        met += float(np.vdot(X[rows].astype(np.float64) @ R, F))
    return squared_norm(X) - 2 * met + float(np.vdot(gram, R.T @ R))
