"""The narrow waist: what a sweep needs to know of all losses and penalties on one factor.

With all other factors fixed, the objective as a function of one tall factor F is, or is bounded above at the current F by,

    1/2 <F G, F> + 1/2 sum_ij d_ij F_ij^2 - <F, C> + 1/4 sum_jk A_jk (F_j . F_k)^2 + sum_j m_j max_i F_ij,   0 <= F <= upper

Views, penalties and chunks of rows simply add to G, C, d, A and m. The curvature d is the same for the columns of a group.

The papers' multiplicative rules bound nothing; they part the gradient of a quadratic penalty into two nonnegative halves,
``push`` and ``pull``, and divide one by the other. A form made for them holds these instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass
class Form:
    """Gram G, cross C and the rest of the waist for one factor; additive.

    ``parts`` holds ``(rows, G)`` pairs: rows that see different sets of views have different grams; ``rows`` is None where
    one gram serves all. ``bends`` holds ``(columns, d)`` pairs, one number for each row; columns None for all of them.
    ``frozen`` columns stay where they are.
    """

    parts: list[tuple[NDArray[np.intp] | None, Array]]
    cross: Array
    bends: list[tuple[NDArray[np.intp] | None, Array]] = field(default_factory=list)
    push: Array | None = None
    pull: Array | None = None
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

    def add_curvature(self, values: Array, columns: NDArray[np.intp] | None = None) -> None:
        """Add to the curvature of every row, in some of the columns."""
        whole = columns is None or len(columns) == self.cross.shape[1]
        self.bends.append((None if whole else columns, values))

    def curvatures(self) -> list[tuple[NDArray[np.intp] | None, Array | None]]:
        """The curvature by groups of columns that have the same; a single group of all columns is (None, curvature)."""
        if not self.bends:
            return [(None, None)]
        if all(columns is None for columns, _ in self.bends):
            return [(None, np.sum([values for _, values in self.bends], axis=0))]
        bent = np.zeros((self.cross.shape[1], len(self.bends)), dtype=bool)
        for n, (columns, _) in enumerate(self.bends):
            bent[slice(None) if columns is None else columns, n] = True
        patterns, which = np.unique(bent, axis=0, return_inverse=True)
        groups: list[tuple[NDArray[np.intp] | None, Array | None]] = []
        for n, pattern in enumerate(patterns):
            chosen = [values for (_, values), used in zip(self.bends, pattern, strict=True) if used]
            groups.append((np.flatnonzero(which == n), np.sum(chosen, axis=0) if chosen else None))
        return groups

    @property
    def curvature(self) -> Array | None:
        """The one curvature of all columns, None where there is none."""
        (columns, values), *others = self.curvatures()
        assert columns is None
        assert not others
        return values

    def add_rule(self, push: Array, pull: Array, columns: NDArray[np.intp]) -> None:
        """Add the two nonnegative halves of a gradient in some of the columns."""
        if self.push is None or self.pull is None:
            self.push, self.pull = np.zeros_like(self.cross), np.zeros_like(self.cross)
        self.push[:, columns] += push.astype(self.cross.dtype)
        self.pull[:, columns] += pull.astype(self.cross.dtype)

    def add_coupling(self, values: Array) -> None:
        self.coupling = values if self.coupling is None else self.coupling + values

    def freeze(self, columns: NDArray[np.intp], F: Array) -> None:
        """Make the named columns so stiff that they stay where they are; the others still feel their overlap."""
        for _, gram in self.parts:
            stiff = 1e6 * (gram.max(initial=0) or 1)
            gram[columns, :] = 0
            gram[:, columns] = 0
            gram[columns, columns] = stiff
        if self.pull is not None:
            self.pull[:, columns] = 0
        self.cross[:, columns] = self.repulsion(F)[:, columns]
        self.frozen = columns

    def repulsion(self, F: Array, product: Callable[[Array, Array], Array] = np.matmul) -> Array:
        """F G + d ∘ F + F (A ∘ FᵀF) + push: the part of the gradient that pushes entries down."""
        whole = [gram for rows, gram in self.parts if rows is None]
        out = product(F, whole[0].astype(F.dtype, copy=False)) if whole else np.empty_like(F)
        for rows, gram in self.parts:
            if rows is not None:
                out[rows] = product(F[rows], gram.astype(F.dtype, copy=False))
        if self.coupling is not None:
            out += F @ (self.coupling * (F.T @ F)).astype(F.dtype)
        for columns, values in self.bends:
            if columns is None:
                out += values[:, None] * F
            else:
                out[:, columns] += values[:, None] * F[:, columns]
        if self.push is not None:
            out += self.push
        return out

    def gradient(self, F: Array) -> Array:
        """Gradient of the smooth part at F; equal to that of the objective, whatever was majorised at F."""
        down = self.repulsion(F) - self.cross
        return down if self.pull is None else down - self.pull
