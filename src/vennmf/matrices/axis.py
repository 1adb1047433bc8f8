"""An axis: the named entities that the rows or the columns of a matrix stand for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vennmf.errors import SourceError


def names_or_positions(ids: NDArray[np.object_] | None, size: int) -> NDArray[np.object_]:
    """The ids, or positions as text where there are none."""
    return ids if ids is not None else np.arange(size).astype(str).astype(object)


class Axis:
    """The entities along one side of a matrix: items, words, tags, pixels.

    Parameters
    ----------
    name : str
        What the axis is called, such as ``"features"`` or ``"items:bbc"``.
    size : int
        Number of entities.
    ids : sequence of str, optional
        One distinct identifier for each entity. Without them entities are addressed by position.
    """

    def __init__(self, name: str, size: int, ids: Sequence[str] | NDArray[Any] | None = None) -> None:
        self.name = name
        self.size = int(size)
        self.ids: NDArray[np.object_] | None = None
        if ids is not None:
            self.ids = np.asarray([str(i) for i in ids], dtype=object)
            if len(self.ids) != self.size:
                raise SourceError(
                    f"axis {name!r} has {self.size:,} entities and {len(self.ids):,} ids; give one id for each."
                )
            if len(self._positions) != self.size:
                values, counts = np.unique(self.ids.astype(str), return_counts=True)
                twice = values[counts > 1]
                raise SourceError(
                    f"axis {name!r} has duplicate ids: {str(twice[0])!r} stands {counts[counts > 1][0]} times"
                    f"{f' and {len(twice) - 1:,} others repeat' if len(twice) > 1 else ''}; ids must be distinct."
                )

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {} if self.ids is None else {i: n for n, i in enumerate(self.ids)}

    def position(self, identifier: str) -> int | None:
        """Where an id stands on the axis, or None."""
        return self._positions.get(identifier)

    def names(self) -> NDArray[np.object_]:
        """The ids, or positions as text where the axis has none."""
        return names_or_positions(self.ids, self.size)

    def matches(self, other: Axis) -> bool:
        """Whether both axes can stand for the same entities: same size and, where both have ids, the same ids."""
        if self.size != other.size:
            return False
        return self.ids is None or other.ids is None or bool(np.array_equal(self.ids, other.ids))

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Axis({self.name!r}, {self.size:,}{', with ids' if self.ids is not None else ''})"
