"""Named data sets, and planted data whose truth is known."""

from vennmf.sources.planted import Planted, PlantedViews, planted, planted_views

__all__ = ["Planted", "PlantedViews", "planted", "planted_views"]
