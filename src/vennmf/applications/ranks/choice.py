"""From curves of held-out errors to a rank: the smallest that predicts as well as any, the largest sharing that costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SMALL_SHARE = 0.01
"""Components are worth having while they add more than this share to what can be predicted at all."""

LOOK_AHEAD = 0.3
"""A curve has levelled off once ranks this much larger than the choice have brought nothing."""


@dataclass
class Curve:
    """Held-out errors by rank: one row of ``errors`` for each rank tried, one column for each fold.

    ``agreement`` is the mean cosine between the components that different folds found, each matched to one of the other.
    """

    ranks: list[int] = field(default_factory=list)
    errors: list[list[float]] = field(default_factory=list)
    agreement: list[float] = field(default_factory=list)

    def add(self, rank: int, errors: Sequence[float], agreement: float) -> None:
        self.ranks.append(int(rank))
        self.errors.append([float(e) for e in errors])
        self.agreement.append(float(agreement))

    @property
    def means(self) -> Array:
        return np.array(self.errors).mean(axis=1)

    @property
    def standard_errors(self) -> Array:
        """Standard error of the mean over folds."""
        table = np.array(self.errors)
        return table.std(axis=1, ddof=1) / np.sqrt(table.shape[1])

    def excess(self) -> tuple[Array, Array]:
        """How far each rank is above the best one, mean and standard error of the differences by fold."""
        table = np.array(self.errors)
        above = table - table[table.mean(axis=1).argmin()]
        return above.mean(axis=1), above.std(axis=1, ddof=1) / np.sqrt(table.shape[1])

    @property
    def predictable(self) -> float:
        """The largest share of the held-out energy that any rank predicts."""
        return max(1 - float(self.means.min()), 0.0)


@dataclass(frozen=True)
class Choice:
    """A rank and whether the curve levelled off there; where it did not, the rank is at the bend of the curve."""

    rank: int
    has_levelled: bool


def choose_total(curve: Curve) -> Choice:
    """The smallest rank that predicts as well as the best, within a standard error or 1 % of what can be predicted.

    Where larger ranks keep adding up to the end of the curve, as they do on most real text, there is no such rank;
    then the rank at the bend, where the curve is farthest below the straight line between its ends.
    """
    above, deviation = curve.excess()
    near = above <= np.maximum(deviation, SMALL_SHARE * curve.predictable)
    rank = curve.ranks[int(np.argmax(near))]
    if curve.ranks[-1] >= rank + max(3, round(LOOK_AHEAD * rank)):
        return Choice(rank, True)
    return Choice(bend(curve), False)


def bend(curve: Curve) -> int:
    """The rank at which the curve is farthest below the line from its first to its last point."""
    ranks, means = np.array(curve.ranks, dtype=float), curve.means
    if len(ranks) < 3:
        return curve.ranks[-1]
    line = np.interp(ranks, ranks[[0, -1]], means[[0, -1]])
    return curve.ranks[int(np.argmax(line - means))]


def choose_shared(curves: Sequence[Curve], sizes: Sequence[int]) -> Choice:
    """The most sharing that raises no source's held-out error above its lowest.

    By more than a standard error and by more than a quarter of what one of its components is worth on average: one that
    two sources are forced to share although it is in one of them alone costs about all of its worth.
    """
    fine = np.ones(len(curves[0].ranks), dtype=bool)
    for curve, size in zip(curves, sizes, strict=True):
        above, deviation = curve.excess()
        fine &= above <= np.maximum(deviation, 0.25 * curve.predictable / size)
    rank = curves[0].ranks[int(np.flatnonzero(fine)[-1])] if fine.any() else 0
    return Choice(rank, len(curves[0].ranks) > 1 and rank < curves[0].ranks[-1])
