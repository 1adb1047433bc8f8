"""Cosine search over the encodings of one source: a product, then the best N without a sort of everything."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
GROUP = 1024
BAND = 65_536
"""Items whose scores are added up at a time, so that they stay in cache while the columns stream by."""
NEGLIGIBLE = 1e-3
"""An encoding shorter than this, relative to the median, says nothing: its direction is rounding."""


class Index:
    """Encodings of one source, ready for cosine with queries on any of their columns.

    The encodings are kept by columns in float32, not scaled, and one length for each item stands beside them: a query
    folded in by nonnegative least squares has few topics, and only their columns are read. The length is that of the
    whole encoding also where a query has only some of the columns: an item with next to nothing there must not look
    like a perfect match.
    """

    def __init__(self, encodings: Array) -> None:
        self.H = np.asfortranarray(encodings, dtype=np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", encodings, encodings))
        typical = float(np.median(norms[norms > 0])) if norms.any() else 1.0
        self.inverse_norms = np.divide(1, np.maximum(norms, NEGLIGIBLE * typical)).astype(np.float32)

    def __len__(self) -> int:
        return len(self.H)

    def cosines(self, queries: Array, columns: NDArray[np.intp]) -> Array:
        """Cosine of each query (a row, on the given columns, zero on all others) with each item: queries × items."""
        norms = np.linalg.norm(queries, axis=1, keepdims=True)
        unit = np.divide(queries, norms, out=np.zeros_like(queries), where=norms > 0).astype(np.float32)
        scores = np.zeros((len(queries), len(self)), np.float32)
        for query, row in zip(unit, scores, strict=True):
            used = np.flatnonzero(query)
            for start in range(0, len(self), BAND):
                band = row[start : start + BAND]
                term = np.empty_like(band)
                for part in used:
                    np.multiply(self.H[start : start + BAND, columns[part]], query[part], out=term)
                    band += term
            row *= self.inverse_norms
        return scores


def best(scores: Array, top: int, least: float = 0.0) -> NDArray[np.intp]:
    """Positions of the ``top`` largest scores above ``least``, best first, equal scores in order of position.

    The maximum of each group of items bounds the N-th best from below, so that only items above that bound are sorted.
    """
    n = len(scores)
    top = min(top, n)
    if top < 1:
        return np.empty(0, dtype=np.intp)
    bound = least
    if n > top * GROUP:
        whole = n - n % GROUP
        maxima = scores[:whole].reshape(-1, GROUP).max(axis=1)
        bound = max(float(np.partition(maxima, -top)[-top]), least)
    found = np.flatnonzero(scores >= bound if bound > least else scores > least)
    return found[np.lexsort((found, -scores[found]))[:top]]
