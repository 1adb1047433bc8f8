"""What every reader gives: items with their raw tags or their texts, and a table of the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vennmf.errors import SourceError

MAX_TAG = 1_000
"""Characters a tag may have; what is longer is running text, or a file read wrongly."""


@dataclass(frozen=True)
class Columns:
    """What the columns of a table mean.

    ``tags``: lists of tags, text to split at ``split``, or one tag a row when items repeat or ``weight`` is
    given.
    ``text``: running text, several columns one after the other. ``metadata``: which others to keep, True for
    all.
    """

    tags: str | None = None
    text: tuple[str, ...] = ()
    item: str | None = None
    weight: str | None = None
    split: str | None = None
    metadata: bool | tuple[str, ...] = True

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that a table must have."""
        named = (self.tags, *self.text, self.item, self.weight)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def kept(self, names: Sequence[str]) -> list[str]:
        """The columns that travel along as metadata."""
        if self.metadata is True:
            return [name for name in names if name not in self.used]
        return [] if self.metadata is False else list(self.metadata)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which item has which raw tag: item ``rows[i]`` has ``terms[codes[i]]``, ``weights[i]`` times."""

    rows: NDArray[np.int32]
    codes: NDArray[np.int32]
    terms: Sequence[str]
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """The items of one source: either their tags (``pairs``) or their texts, in the order of the file.

    ``items`` are their ids or None; ``metadata`` is a pandas.DataFrame with a row for each.
    """

    n_items: int
    pairs: Pairs | None
    texts: Iterable[str] | None
    items: NDArray[np.object_] | None
    metadata: Any


def closest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: did you mean, or what there is."""
    from difflib import get_close_matches

    listed = [str(k) for k in known]
    near = get_close_matches(name, listed, n=1, cutoff=0.6) or [k for k in listed if k.lower() == name.lower()]
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(map(repr, listed[:12]))
    return f"it has {shown}{f' and {len(listed) - 12} more' if len(listed) > 12 else ''}."


def require_columns(source: str, known: Sequence[str], columns: Columns) -> None:
    """Every column asked for must be there."""
    wanted = list(columns.used) + (list(columns.metadata) if isinstance(columns.metadata, tuple) else [])
    for name in wanted:
        if name not in known:
            raise SourceError(f"source {source!r} has no column {name!r}; {closest(name, known)}")
    if columns.tags is None and not columns.text:
        raise SourceError(
            f"source {source!r} is a table; say which column holds its tags with tags=, or its text with "
            "text=: "
            f"it has {', '.join(map(repr, list(known)[:12]))}."
        )


def require_distinct(source: str, items: NDArray[np.object_] | None, n_items: int) -> None:
    """Item ids stand once each."""
    if items is None or len(set(items.tolist())) == n_items:
        return
    first: dict[str, int] = {}
    for row, name in enumerate(items):
        if name in first:
            raise SourceError(
                f"source {source!r} has item {str(name)[:60]!r} twice, in rows {first[name] + 1:,} and "
                f"{row + 1:,}; "
                "ids must be distinct. Drop the duplicates, or leave item= out to number the rows."
            )
        first[name] = row


def refuse_unsplit(source: str, column: str, example: str) -> SourceError:
    """The error for a column of text where lists of tags were expected."""
    return SourceError(
        f"source {source!r}: column {column!r} holds text such as {example[:40]!r}, no lists of tags; pass "
        f"split_tags=' ' (or ',', '|', ...) if tags are joined, text={column!r} if it is running text, or "
        "item= for a "
        "long table of one (item, tag) pair a row."
    )


def numbering() -> dict[str, int]:
    """A dict that numbers its keys as they are first asked for."""
    codes: defaultdict[str, int] = defaultdict()
    codes.default_factory = codes.__len__
    return codes


def check_tag(source: str, row: int, tag: str) -> None:
    if len(tag) > MAX_TAG:
        raise SourceError(
            f"source {source!r}, row {row + 1:,}: a tag of {len(tag):,} characters, {tag[:30]!r}…; expected "
            "at most "
            f"{MAX_TAG:,}. Pass text= for running text, or split_tags= where tags are joined."
        )
