"""Named data sets, and planted data whose truth is known."""

from vennmf.sources.datasets.dataset import Dataset
from vennmf.sources.datasets.registry import Info, info, load
from vennmf.sources.datasets.registry import catalogue as list
from vennmf.sources.planted import Planted, PlantedViews, planted, planted_views

__all__ = ["Dataset", "Info", "Planted", "PlantedViews", "info", "list", "load", "planted", "planted_views"]
