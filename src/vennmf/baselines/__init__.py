"""What the papers compare with, each written from its source's formulas in a few lines on what exists."""

from vennmf.baselines.tagging import (
    CCPMF,
    LRES,
    MPMF,
    TWTV,
    NearestImages,
    NeighborVoting,
    OriginalTags,
    TagBaseline,
    TagRegression,
)

__all__ = [
    "CCPMF",
    "LRES",
    "MPMF",
    "TWTV",
    "NearestImages",
    "NeighborVoting",
    "OriginalTags",
    "TagBaseline",
    "TagRegression",
]
