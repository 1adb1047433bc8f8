"""What the papers compare with, each written from its source's formulas in a few lines on what exists.

PCA, LDA, and local and global consistency are scikit-learn's ``PCA``, ``LinearDiscriminantAnalysis`` and ``LabelSpreading``.
"""

from vennmf.baselines.discriminant import MarginalFisher
from vennmf.baselines.factorisation import GNMF, LNMF, SULF, BestViewNMF, ConcatNMF, MultiNMF
from vennmf.baselines.graphs import HarmonicFields
from vennmf.baselines.multitask import LSSMTC
from vennmf.baselines.tag_matrix import CCPMF, LRES, MPMF, TWTV
from vennmf.baselines.tagging import NearestImages, NeighborVoting, OriginalTags, TagBaseline, TagRegression

__all__ = [
    "CCPMF",
    "GNMF",
    "LNMF",
    "LRES",
    "LSSMTC",
    "MPMF",
    "SULF",
    "TWTV",
    "BestViewNMF",
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
