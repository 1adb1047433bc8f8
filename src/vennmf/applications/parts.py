"""Which columns of a source's encoding belong to which block: what every application reads from a fitted model."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vennmf.errors import ParameterError, SourceError
from vennmf.model.blocks import Block, Layout

Part = Literal["all", "shared", "private"]
"""A source's whole encoding, its columns in blocks that other sources use too, or its columns in blocks of its own."""

PARTS: tuple[Part, ...] = ("all", "shared", "private")


def check_sources(model: Any, *names: str) -> None:
    """Refuse a model that is not fitted or not of several collections over one vocabulary, and unknown sources."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    if not isinstance(getattr(model, "encodings_", None), dict) or set(model.encodings_) != set(model.sources_):
        raise ParameterError(
            f"{type(model).__name__} describes one set of items by several views; sources of items over one vocabulary "
            "were expected, as VennNMF, JSNMF and RJSNMF fit them."
        )
    for name in names:
        if name not in model.sources_:
            raise SourceError(
                f"there is no source {name!r} in the model; its sources are {', '.join(map(repr, model.sources_))}."
            )


def layout(model: Any, source: str) -> Layout:
    """The blocks of a source in the order of its encoding's columns."""
    return Layout(tuple(block for block in model.blocks_ if source in block.sources))


def check_part(part: str, name: str) -> None:
    if part not in PARTS:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, PARTS))}; found {part!r}.")


def blocks_of(model: Any, source: str, part: Part) -> tuple[Block, ...]:
    """The blocks that make one part of a source."""
    check_part(part, "part")
    return tuple(
        block for block in layout(model, source).blocks if part == "all" or block.is_shared == (part == "shared")
    )


def columns(model: Any, source: str, part: Part) -> NDArray[np.intp]:
    """Positions of one part's columns in a source's encoding; an error where the source has no such part."""
    names = [block.name for block in blocks_of(model, source, part)]
    found = layout(model, source).columns(names)
    if not len(found):
        raise ParameterError(
            f"source {source!r} has no {part} part in this model; its blocks are "
            f"{', '.join(repr(block.name) for block in layout(model, source).blocks)}."
        )
    return found


def column_blocks(model: Any, source: str) -> list[tuple[Block, int]]:
    """Block and number within the block of each column of a source's encoding."""
    return [(block, number) for block in layout(model, source).blocks for number in range(block.size)]


def basis(model: Any, source: str) -> NDArray[np.floating[Any]]:
    """Components of a source stacked in the order of its encoding's columns."""
    return np.vstack([model.components_[block.name] for block in layout(model, source).blocks])


def unit_rows(H: NDArray[Any]) -> NDArray[Any]:
    """Rows scaled to length one; rows of zeros stay zeros."""
    norms = np.linalg.norm(H, axis=1, keepdims=True)
    return H / np.where(norms > 0, norms, 1)
