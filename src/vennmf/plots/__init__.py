"""One figure for each question: matplotlib axes in, axes out; nothing is shown or saved unless you do."""

from vennmf.plots.clusters import confusion, item_map, purity_ratio
from vennmf.plots.factors import basis_images, block_overlaps, energy, factor_views, topic_words
from vennmf.plots.fits import convergence
from vennmf.plots.ranks import rank_curves
from vennmf.plots.search import precision_at_n, precision_recall

__all__ = [
    "basis_images",
    "block_overlaps",
    "confusion",
    "convergence",
    "energy",
    "factor_views",
    "item_map",
    "precision_at_n",
    "precision_recall",
    "purity_ratio",
    "rank_curves",
    "topic_words",
]
