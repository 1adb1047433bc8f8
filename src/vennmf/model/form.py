"""The narrow waist: what a sweep needs to know of all losses and penalties on one factor.

With all other factors fixed, the objective as a function of one tall factor F is, or is bounded above at the current F by,

    1/2 <F G, F> + 1/2 sum_i d_i |F_i|^2 - <F, C> + 1/4 sum_jk A_jk (F_j . F_k)^2 + sum_j m_j max_i F_ij,   0 <= F <= upper

Views, penalties and chunks of rows simply add to G, C, d, A and m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass
class Form:
    """Gram G, cross C and the rest of the waist for one factor; additive.

    ``parts`` holds ``(rows, G)`` pairs: rows that see different sets of views have different grams; ``rows`` is None where
    one gram serves all. ``frozen`` columns stay where they are.
    """

    parts: list[tuple[NDArray[np.intp] | None, Array]]
    cross: Array
    curvature: Array | None = None
    coupling: Array | None = None
    column_maximum: Array | None = None
    upper: float = np.inf
    frozen: NDArray[np.intp] | None = None

    @classmethod
    def zeros(cls, rows: int, columns: int, dtype: Any = np.float64) -> Form:
        return cls([(None, np.zeros((columns, columns), dtype))], np.zeros((rows, columns), dtype))

    @property
    def gram(self) -> Array:
        """The one gram of all rows."""
        (rows, gram), *others = self.parts
        assert rows is None
        assert not others
        return gram

    def add_to_diagonal(self, values: Array) -> None:
        """Add to the diagonal of every gram: a squared norm of the columns."""
        for _, gram in self.parts:
            gram[np.diag_indices_from(gram)] += values.astype(gram.dtype)

    def add_curvature(self, values: Array) -> None:
        self.curvature = values.copy() if self.curvature is None else self.curvature + values

    def add_coupling(self, values: Array) -> None:
        self.coupling = values if self.coupling is None else self.coupling + values

    def freeze(self, columns: NDArray[np.intp], F: Array) -> None:
        """Make the named columns so stiff that they stay where they are; the others still feel their overlap."""
        for _, gram in self.parts:
            stiff = 1e6 * (gram.max(initial=0) or 1)
            gram[columns, :] = 0
            gram[:, columns] = 0
            gram[columns, columns] = stiff
        self.cross[:, columns] = self.repulsion(F)[:, columns]
        self.frozen = columns

    def repulsion(self, F: Array) -> Array:
        """F G + diag(d) F + F (A ∘ FᵀF): the part of the gradient that pushes entries down."""
        out = np.empty_like(F)
        for rows, gram in self.parts:
            if rows is None:
                np.matmul(F, gram, out=out)
            else:
                out[rows] = F[rows] @ gram
        if self.coupling is not None:
            out += F @ (self.coupling * (F.T @ F)).astype(F.dtype)
        if self.curvature is not None:
            out += self.curvature[:, None] * F
        return out

    def gradient(self, F: Array) -> Array:
        """Gradient of the smooth part at F; equal to that of the objective, whatever was majorised at F."""
        return self.repulsion(F) - self.cross
