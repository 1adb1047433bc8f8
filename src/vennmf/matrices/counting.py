"""Rows of a source as counts of words."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.matrices.vocabulary import Vocabulary
from vennmf.matrices.words import Analysis
from vennmf.sources.rows import Pairs, Rows, numbering


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each item of a source has each of its words; the words sorted, the matrix sorted CSR in float64."""

    words: NDArray[np.object_]
    X: sp.csr_array

    def on(self, vocabulary: Vocabulary) -> sp.csr_array:
        """The counts on the columns of a vocabulary; words it lacks are left out."""
        columns = vocabulary.columns(self.words)
        return renumbered(self.X, columns, len(vocabulary))


def count(rows: Rows, analysis: Analysis) -> Counts:
    """Count the words of every item."""
    pairs = rows.pairs if rows.pairs is not None else _tokenised(rows, analysis)
    tag = analysis.tag if rows.pairs is not None else str
    entries: list[str | None] = [tag(term) for term in pairs.terms]
    words = sorted({entry for entry in entries if entry is not None})
    position = {word: n for n, word in enumerate(words)}
    columns = np.asarray([-1 if entry is None else position[entry] for entry in entries], dtype=np.int32)
    named = np.empty(len(words), dtype=object)
    named[:] = words
    return Counts(named, _matrix(pairs, columns, (rows.n_items, len(words))))


def _tokenised(rows: Rows, analysis: Analysis) -> Pairs:
    """Every word of every text as a pair."""
    codes = numbering()
    found, lengths = array("i"), array("i")
    for text in rows.texts or ():
        words = analysis.words(text)
        lengths.append(len(words))
        found.extend(map(codes.__getitem__, words))
    owners = np.repeat(np.arange(len(lengths), dtype=np.int32), np.frombuffer(lengths, np.int32))
    return Pairs(owners, np.frombuffer(found, np.int32), list(codes))


def _matrix(pairs: Pairs, columns: NDArray[np.int32], shape: tuple[int, int]) -> sp.csr_array:
    """Pairs as a matrix. Weights of one entry are added in a fixed order, so that readers agree to the last bit."""
    at = columns[pairs.codes] if len(columns) else np.empty(0, np.int32)
    owners, weights = pairs.rows, pairs.weights
    if (at < 0).any() or weights is not None:
        kept = at >= 0 if weights is None else (at >= 0) & (weights > 0)
        owners, at = owners[kept], at[kept]
        weights = None if weights is None else weights[kept]
    if weights is None:
        X = sp.csr_array((np.ones(len(at), np.float32), (owners, at)), shape=shape)
    else:
        order = np.lexsort((weights, at, owners))
        X = sp.csr_array((weights[order], (owners[order], at[order])), shape=shape)
    X.sum_duplicates()
    return X.astype(np.float64)


def renumbered(X: sp.csr_array, columns: Any, width: int) -> sp.csr_array:
    """X with its column j moved to ``columns[j]``, or dropped where that is negative."""
    moved = columns[X.indices]
    kept = moved >= 0
    starts = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(X.indptr.dtype)
    out = sp.csr_array((X.data[kept], moved[kept], starts), shape=(X.shape[0], width))
    out.sort_indices()
    return out
