"""From what a user types to a weighted vector over the vocabulary, and what could not be understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.matrices.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Reading:
    """A query as one source reads it."""

    text: str
    vector: Any
    """1 × n_features CSR row: the weights of the words and of what they expand to."""
    literal: NDArray[np.intp]
    """Positions of the words that stand in the vocabulary as they are."""
    weights: NDArray[Any]
    """Their weights."""
    words: dict[str, tuple[str, ...]]
    """Each known word and the entries that it stands for."""
    unknown: dict[str, tuple[str, ...]]
    """Each unknown word and known words spelt like it."""

    @property
    def known(self) -> bool:
        return bool(self.words)


class Reader:
    """Reads queries as a model's sources do: with their encoders, or, for plain matrices, as names of features."""

    def __init__(self, model: Any, *, expand: bool = True) -> None:
        self.encoders = dict(getattr(model, "encoders_", {}))
        encoder = next(iter(self.encoders.values()), None)
        self.vocabulary = encoder.vocabulary if encoder else Vocabulary(str(name) for name in model.feature_names_)
        self.expand = expand

    def read(self, query: str | Sequence[str], source: str, *, expand: bool | None = None) -> Reading:
        """Text is cut into words; a list gives whole tags. Words weigh what they weigh in the source's own items."""
        words: dict[str, tuple[str, ...]] = {}
        unknown: dict[str, tuple[str, ...]] = {}
        literal: list[int] = []
        columns: set[int] = set()
        for word in self._words(query, source):
            own = self.vocabulary.position(word)
            found = self._entries(word, own, self.expand if expand is None else expand)
            if own is not None:
                literal.append(own)
            if found:
                words[word] = tuple(str(self.vocabulary[n]) for n in found)
                columns.update(found)
            else:
                unknown[word] = tuple(self.vocabulary.near(word))
        text = query if isinstance(query, str) else " ".join(query)
        literal = sorted(literal)
        weights = self._vector(literal, source).data
        own_words = np.array(literal, dtype=np.intp)
        return Reading(text, self._vector(sorted(columns), source), own_words, weights, words, unknown)

    def _words(self, query: str | Sequence[str], source: str) -> list[str]:
        encoder = self.encoders.get(source)
        if not isinstance(query, str):
            tags = [str(tag) for tag in query] if encoder is None else [encoder.analysis.tag(str(tag)) for tag in query]
            return list(dict.fromkeys(tag for tag in tags if tag))
        if encoder is None:
            return list(dict.fromkeys(query.split()))
        asked = encoder.query(query)
        return [*asked.expanded, *asked.unknown]

    def _entries(self, word: str, own: int | None, expand: bool) -> list[int]:
        if expand:
            return [int(n) for n in self.vocabulary.expand(word)]
        return [] if own is None else [own]

    def _vector(self, columns: Sequence[int], source: str) -> Any:
        parts = np.ones(len(columns)), np.asarray(columns, dtype=np.int32), np.array([0, len(columns)], dtype=np.int32)
        counts = sp.csr_array(parts, shape=(1, len(self.vocabulary)))
        encoder = self.encoders.get(source)
        return counts if encoder is None else encoder.weighting.weigh(counts, encoder.dtype)
