"""What turns new raw items of a source into rows of its matrix, long after the source was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.errors import SourceError
from vennmf.matrices.counting import count
from vennmf.matrices.vocabulary import Vocabulary
from vennmf.matrices.weighting import Weighting
from vennmf.matrices.words import Analysis
from vennmf.sources.read import read
from vennmf.sources.rows import Columns, Rows


@dataclass(frozen=True, eq=False)
class Query:
    """A query as a row of a source's matrix.

    ``expanded``: each known word of the query with the vocabulary entries that contain it. ``unknown``: each word that
    no entry contains, with entries that are spelt like it.
    """

    text: str
    vector: sp.csr_array
    expanded: Mapping[str, tuple[str, ...]]
    unknown: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class NewItems:
    """New raw items, encoded: their rows, their ids and metadata, and the share of their words that is unknown."""

    X: sp.csr_array
    ids: NDArray[np.object_] | None
    metadata: Any
    unknown_share: float


@dataclass(frozen=True, eq=False)
class Encoder:
    """How one source was read and weighted, kept with the model.

    Attributes
    ----------
    source : str
    vocabulary : Vocabulary
        The words of all sources.
    analysis : Analysis
    weighting : Weighting
        With the source's own statistics.
    columns : Columns
        What the columns of its tables mean.
    dtype : str
        Of the matrix.
    """

    source: str
    vocabulary: Vocabulary
    analysis: Analysis
    weighting: Weighting
    columns: Columns
    dtype: str = "float32"

    def encode(self, data: Any) -> sp.csr_array:
        """New items as rows on the vocabulary: one text or a list of them, tag lists, a table, a file."""
        return self.read(data).X

    def read(self, data: Any) -> NewItems:
        """New items as rows, with their ids and metadata."""
        rows = self._rows(data)
        counts = count(rows, self.analysis)
        known = counts.on(self.vocabulary)
        total = float(counts.X.sum())
        unknown = 1 - float(known.sum()) / total if total else 0.0
        return NewItems(self.weighting.weigh(known, self.dtype), rows.items, rows.metadata, unknown)

    def query(self, text: str) -> Query:
        """A query as the papers make it: tf-idf of all entries that contain one of its words."""
        words = list(dict.fromkeys(self._query_words(text)))
        expanded: dict[str, tuple[str, ...]] = {}
        unknown: dict[str, tuple[str, ...]] = {}
        columns: set[int] = set()
        for word in words:
            found = self.expand(word)
            if len(found):
                expanded[word] = tuple(self.vocabulary[found])
                columns.update(found.tolist())
            else:
                unknown[word] = self._near(word)
        at = np.asarray(sorted(columns), np.int32)
        counts = sp.csr_array((np.ones(len(at)), at, [0, len(at)]), shape=(1, len(self.vocabulary)))
        return Query(text, self.weighting.weigh(counts, self.dtype), expanded, unknown)

    def _near(self, word: str) -> tuple[str, ...]:
        """Entries that are spelt like a word, the more common ones first."""
        frequency = self.weighting.document_frequency
        near = sorted(self.vocabulary.near(word, 6), key=lambda entry: -frequency[self.vocabulary.position(entry)])
        return tuple(near[:3])

    def expand(self, word: str) -> NDArray[np.int64]:
        """The columns of all entries that contain a word."""
        return self.vocabulary.expand(word.lower() if self.analysis.lowercase else word)

    def _query_words(self, text: str) -> list[str]:
        """The words of a query; where tags are no words at all, such as "c++" or "24", what stands between blanks."""
        words = self.analysis.tokens(text)
        if self.analysis.kind == "tags":
            blanks = text.lower().split() if self.analysis.lowercase else text.split()
            stopped = set(self.analysis.stop_words)
            words += [part for part in blanks if part in self.vocabulary and part not in stopped]
        return words

    def _rows(self, data: Any) -> Rows:
        if isinstance(data, str) and self.analysis.kind == "text" and not _is_place(data):
            data = [data]
        unsplit = self.analysis.kind == "tags" and self.analysis.split is None
        if unsplit and isinstance(data, list | tuple) and data and all(isinstance(part, str) for part in data):
            raise SourceError(
                f"source {self.source!r} was read from lists of tags; pass a list of tag lists, such as "
                f"[{list(data)[:3]!r}], not a list of text."
            )
        columns = self.columns
        if columns.item is not None and _lacks(data, columns.item):
            columns = replace(columns, item=None)
        columns = replace(columns, metadata=True)
        rows = read(self.source, data, columns)
        kind = "tags" if rows.pairs is not None else "text"
        if kind != self.analysis.kind:
            raise SourceError(
                f"source {self.source!r} was read from {self.analysis.kind} and the new items are {kind}; give the same."
            )
        return rows

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything as JSON and arrays; :meth:`from_state` brings it back."""
        columns = self.columns
        state = {
            "source": self.source,
            "analysis": self.analysis.state(),
            "scheme": self.weighting.scheme,
            "n_items": self.weighting.n_items,
            "dtype": self.dtype,
            "columns": {
                "tags": columns.tags,
                "text": list(columns.text),
                "item": columns.item,
                "weight": columns.weight,
                "split": columns.split,
            },
        }
        frequency = self.weighting.document_frequency
        return state, {"vocabulary": self.vocabulary.to_bytes(), "document_frequency": frequency}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Encoder:
        columns = state["columns"]
        return cls(
            state["source"],
            Vocabulary.from_bytes(arrays["vocabulary"]),
            Analysis.from_state(state["analysis"]),
            Weighting(state["scheme"], state["n_items"], np.asarray(arrays["document_frequency"], np.int64)),
            Columns(columns["tags"], tuple(columns["text"]), columns["item"], columns["weight"], columns["split"]),
            state["dtype"],
        )

    def __repr__(self) -> str:
        return f"Encoder({self.source!r}, {self.analysis.kind}, {self.weighting.scheme}, {self.vocabulary!r})"


def _is_place(text: str) -> bool:
    """Whether a text is the path of something that exists."""
    from pathlib import Path

    try:
        return len(text) < 1000 and "\n" not in text and Path(text.partition("::")[0]).exists()
    except (OSError, ValueError):
        return False


def _lacks(data: Any, column: str) -> bool:
    """Whether a table or list of records has no such column."""
    if hasattr(data, "columns"):
        return column not in list(data.columns)
    if hasattr(data, "column_names"):
        return column not in data.column_names
    if isinstance(data, list) and data and isinstance(data[0], Mapping):
        return column not in data[0]
    return isinstance(data, Mapping) and column not in data
