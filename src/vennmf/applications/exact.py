"""Exact match: how far an item's own tags are those of the query, without any model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class ExactMatch:
    r"""Jaccard's coefficient :math:`|Q \cap T| / |Q \cup T|` of a query's words and each item's tags.

    The columns of the matrix are kept, so that a query costs as much as its words are frequent.
    """

    def __init__(self, X: Any) -> None:
        self.rows = sp.csr_array(X)
        self.columns = self.rows.tocsc()
        self.sizes = np.diff(self.rows.indptr).astype(np.float32)

    def shared(self, words: Iterable[int]) -> NDArray[np.float32]:
        """How many of the words each item has."""
        counts = np.zeros(len(self.sizes), np.float32)
        for word in words:
            counts[self.columns.indices[self.columns.indptr[word] : self.columns.indptr[word + 1]]] += 1
        return counts

    def jaccard(self, words: Iterable[int]) -> NDArray[np.float32]:
        """The coefficient for each item."""
        words = list(words)
        counts = self.shared(words)
        return counts / np.maximum(self.sizes + len(words) - counts, 1)

    def has(self, item: int) -> NDArray[np.intp]:
        """The words of one item."""
        return self.rows.indices[self.rows.indptr[item] : self.rows.indptr[item + 1]]
