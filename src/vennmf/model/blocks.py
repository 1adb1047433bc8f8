"""Blocks: named groups of components, each belonging to some of the sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vennmf.errors import ModelError

EVERY_SOURCE = ("all", "shared")
"""Names that a user may give to the block that all sources share."""


IN_LATEX = {c: "\\" + c for c in "&%$#_{}"} | {" ": r"\ ", "\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}


@dataclass(frozen=True, slots=True)
class Block:
    """``size`` components that the named sources use, and no other source."""

    name: str
    size: int
    sources: tuple[str, ...]

    @property
    def is_shared(self) -> bool:
        return len(self.sources) > 1


def sharing_pattern(sizes: Mapping[str | tuple[str, ...], int], sources: Sequence[str]) -> tuple[Block, ...]:
    """Blocks from what a user writes: ``{"all": 20, ("bbc", "cnn"): 10, "bbc": 8}``.

    A key is ``"all"`` or ``"shared"`` for every source, a source's name, or a tuple of names. Blocks of more sources
    come first; a block of several named sources is called by their names joined with ``&``.
    """
    blocks = []
    for key, size in sizes.items():
        if not isinstance(key, str | tuple):
            raise ModelError(f"block {key!r} is no name; use 'all', the name of a source or a tuple of names.")
        if isinstance(key, str) and key in EVERY_SOURCE and key not in sources:
            name, members = key, tuple(sources)
        elif isinstance(key, str):
            name, members = key, (key,)
        else:
            members = tuple(source for source in sources if source in key)
            name = "&".join(members)
            if len(set(key)) != len(key):
                raise ModelError(f"block {key!r} names a source twice; name each source once.")
        unknown = [
            source for source in ([key] if isinstance(key, str) else key) if source not in (*sources, *EVERY_SOURCE)
        ]
        if unknown:
            raise ModelError(
                f"block {key!r} belongs to {unknown[0]!r}, which is no source; the sources are "
                f"{', '.join(map(repr, sources))}."
            )
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 0:
            raise ModelError(f"block {key!r} has size {size!r}; a whole number >= 0 was expected.")
        if size:
            blocks.append(Block(name, int(size), members))
    names = [block.name for block in blocks]
    if len(set(names)) != len(names):
        raise ModelError(f"two blocks are called {max(names, key=names.count)!r}; give each set of sources one block.")
    for source in sources:
        if not any(source in block.sources for block in blocks):
            raise ModelError(f"source {source!r} belongs to no block; give it components of its own or shared ones.")
    return tuple(sorted(blocks, key=lambda block: -len(block.sources)))


@dataclass(frozen=True)
class Layout:
    """Which columns of one tall factor belong to which block."""

    blocks: tuple[Block, ...]

    @property
    def width(self) -> int:
        return sum(block.size for block in self.blocks)

    def slices(self) -> dict[str, slice]:
        edges = np.cumsum([0, *(block.size for block in self.blocks)]).tolist()
        return {block.name: slice(a, b) for block, (a, b) in zip(self.blocks, pairwise(edges), strict=True)}

    def columns(self, names: Iterable[str] | None) -> NDArray[np.intp]:
        """Positions of the named blocks' columns, in the layout's order; all of them for None."""
        if names is None:
            return np.arange(self.width)
        wanted = set(names)
        parts = [np.arange(s.start, s.stop) for name, s in self.slices().items() if name in wanted]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.intp)

    def has_all(self, names: Iterable[str] | None) -> bool:
        """Whether the named blocks are all the blocks of this layout."""
        return names is None or {block.name for block in self.blocks} <= set(names)


def roman(name: str) -> str:
    """A name that a user gave, upright in LaTeX."""
    text = "".join(IN_LATEX.get(c, c) for c in name)
    return rf"\mathrm{{{text}}}"
