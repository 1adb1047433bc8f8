"""What the papers compare with, each written from its source's formulas in a few lines on what exists."""

from vennmf.baselines.discriminant import MarginalFisher
from vennmf.baselines.factorisation import GNMF, LNMF, SULF, ConcatNMF, MultiNMF
from vennmf.baselines.graphs import HarmonicFields
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
    "GNMF",
    "LNMF",
    "LRES",
    "MPMF",
    "SULF",
    "TWTV",
    "ConcatNMF",
    "HarmonicFields",
    "MarginalFisher",
    "MultiNMF",
    "NearestImages",
    "NeighborVoting",
    "OriginalTags",
    "TagBaseline",
    "TagRegression",
]
