"""One figure for each question: matplotlib axes in, axes out; nothing is shown or saved unless you do."""

from vennmf.plots.ranks import rank_curves

__all__ = ["rank_curves"]
