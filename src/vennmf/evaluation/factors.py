"""Properties of the learnt factors themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vennmf.errors import ParameterError


def hoyer_sparsity(components: ArrayLike) -> NDArray[np.float64]:
    r"""Sparsity of each component (row): 0 where all entries are equal, 1 where only one is not zero.

    .. math:: \frac{\sqrt{m} - \lVert b \rVert_1 / \lVert b \rVert_2}{\sqrt{m} - 1}

    P. O. Hoyer, *Non-negative matrix factorization with sparseness constraints*, JMLR 5, 2004. A component of zeros
    has no sparsity (NaN).
    """
    rows = np.atleast_2d(np.asarray(components, dtype=float))
    m = rows.shape[1]
    if m < 2:
        raise ParameterError(f"sparsity needs components of at least two features; found {m}.")
    with np.errstate(invalid="ignore"):
        ratio = np.abs(rows).sum(axis=1) / np.linalg.norm(rows, axis=1)
    return (np.sqrt(m) - ratio) / (np.sqrt(m) - 1)
