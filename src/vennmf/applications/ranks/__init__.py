"""Choosing dimensions: what predicts held-out entries, and the rules of the papers beside it."""

from vennmf.applications.ranks.search import suggest_ranks
from vennmf.applications.ranks.suggestion import RankSuggestion

__all__ = ["RankSuggestion", "suggest_ranks"]
