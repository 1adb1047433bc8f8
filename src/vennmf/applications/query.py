"""From what a user types to a weighted vector over the vocabulary, and what could not be understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Query:
    """A query as one source reads it."""

    text: str
    vector: Any
    """1 × n_features CSR row: tf-idf of the words and of what they expand to."""
    literal: NDArray[np.intp]
    """Positions of the words that stand in the vocabulary as they are."""
    words: dict[str, tuple[str, ...]]
    """Each known word and the entries that it stands for."""
    unknown: dict[str, tuple[str, ...]]
    """Each unknown word and known words spelt like it."""

    @property
    def known(self) -> bool:
        return bool(self.words)


def read_query(model: Any, query: str | Sequence[str], source: str, *, expand: bool = True) -> Query:
    """Read a query with the vocabulary and the statistics of one source."""
    names = np.asarray(model.feature_names_).astype(str)
    where = {name: n for n, name in enumerate(names.tolist())}
    text = query if isinstance(query, str) else " ".join(query)
    tokens = text.lower().split() if isinstance(query, str) else list(query)
    words, unknown, literal, entries = {}, {}, [], []
    for token in dict.fromkeys(tokens):
        own = where.get(token)
        found = np.flatnonzero(np.char.find(names, token) >= 0) if expand else np.array([] if own is None else [own])
        if not len(found):
            unknown[token] = tuple(get_close_matches(token, where, n=3))
            continue
        words[token] = tuple(names[found])
        entries += found.tolist()
        literal += [] if own is None else [own]
    weights = np.ones(len(entries))
    vector = sp.csr_array((weights, (np.zeros(len(entries), int), entries)), shape=(1, len(names)))
    return Query(text, vector, np.array(literal, dtype=np.intp), words, unknown)
