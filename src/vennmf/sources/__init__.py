"""Where rows come from: tables, text, named data sets, planted data."""

from vennmf.sources import datasets

__all__ = ["datasets"]
