"""How counts become weights, with the statistics of the source they were counted in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.errors import ParameterError

Scheme = Literal["tfidf", "counts", "binary"]


@dataclass(frozen=True, eq=False)
class Weighting:
    r"""The weight of word j in an item that has it ``t`` times, for a source of n items of which ``d_j`` have the word.

    .. math:: x_j \propto t \log\frac{n + 1}{\max(d_j, 1)}, \qquad \lVert x \rVert_2 = 1

    for ``"tfidf"`` (Salton and Buckley's, kept positive for words that every item has, and finite for words that only
    other sources have); ``"counts"`` is t, ``"binary"`` is 1.
    """

    scheme: Scheme
    n_items: int
    document_frequency: NDArray[np.int64]

    @classmethod
    def of(cls, scheme: Scheme, counts: sp.csr_array) -> Weighting:
        """The weighting that the counts of a source ask for."""
        require_scheme(scheme)
        frequency = np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int64)
        return cls(scheme, counts.shape[0], frequency)

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """The weight of each word before an item's length is taken out."""
        if self.scheme != "tfidf":
            return np.ones(len(self.document_frequency))
        return np.log((self.n_items + 1) / np.maximum(self.document_frequency, 1))

    def weigh(self, counts: sp.csr_array, dtype: Any = np.float32) -> sp.csr_array:
        """Rows of counts as rows of weights. The same row gives the same bits, alone or among others."""
        if self.scheme == "counts":
            return counts.astype(dtype)
        if self.scheme == "binary":
            return sp.csr_array((np.ones(counts.nnz, dtype), counts.indices, counts.indptr), shape=counts.shape)
        values = counts.data * self.idf[counts.indices]
        norms = np.ones(counts.shape[0])
        filled = np.flatnonzero(np.diff(counts.indptr))
        if filled.size:
            norms[filled] = np.sqrt(np.add.reduceat(values * values, counts.indptr[filled]))
        values /= np.repeat(norms, np.diff(counts.indptr))
        return sp.csr_array((values.astype(dtype), counts.indices, counts.indptr), shape=counts.shape)


def require_scheme(scheme: str) -> None:
    if scheme not in get_args(Scheme):
        raise ParameterError(f"weighting={scheme!r}; expected one of {', '.join(map(repr, get_args(Scheme)))}.")
