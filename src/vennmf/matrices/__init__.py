"""Rows become named, aligned, weighted matrices: axes, views, vocabulary, tf-idf."""

from vennmf.matrices.axis import Axis
from vennmf.matrices.view import View
from vennmf.matrices.viewset import ViewSet, is_named

__all__ = ["Axis", "View", "ViewSet", "is_named"]
