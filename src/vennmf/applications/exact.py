"""Exact match: how far an item's own words are those of the query, without any model."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class ExactMatch:
    r"""How well each item's own words are those of a query.

    ``"cosine"``: of the weights (tf-idf) of the query's words and of the item's, so that a rare word counts more than a
    common one. ``"jaccard"``: :math:`|Q \cap T| / |Q \cup T|` of the query's words and the item's tags, as in the second
    paper. The matrix is kept by columns too, so that a query costs as much as its words are frequent.
    """

    def __init__(self, X: Any) -> None:
        self.rows = sp.csr_array(X)
        self.columns = self.rows.tocsc()
        self.sizes = np.diff(self.rows.indptr).astype(np.float32)
        norms = np.sqrt(np.asarray(self.rows.power(2).sum(axis=1))).ravel()
        self.norms = np.where(norms > 0, norms, 1).astype(np.float32)

    def cosine(self, words: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[np.float32]:
        """Cosine of a query, words with their weights, with each item."""
        scores = np.zeros(len(self.sizes), np.float32)
        for word, weight in zip(words, weights, strict=True):
            where = slice(self.columns.indptr[word], self.columns.indptr[word + 1])
            scores[self.columns.indices[where]] += weight * self.columns.data[where]
        length = float(np.linalg.norm(weights))
        return scores / (self.norms * length) if length else scores

    def jaccard(self, words: NDArray[np.intp]) -> NDArray[np.float32]:
        """Jaccard's coefficient of a query's words with each item's."""
        common = np.zeros(len(self.sizes), np.float32)
        for word in words:
            common[self.columns.indices[self.columns.indptr[word] : self.columns.indptr[word + 1]]] += 1
        return common / np.maximum(self.sizes + len(words) - common, 1)

    def has(self, item: int) -> NDArray[np.intp]:
        """The words of one item."""
        return self.rows.indices[self.rows.indptr[item] : self.rows.indptr[item + 1]]
