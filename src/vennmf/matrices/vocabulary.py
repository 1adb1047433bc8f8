"""The vocabulary that all sources share: sorted words, what contains a word, what is spelt like it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORT = 4
"""Letters from which on a word is looked for inside others: 'rose' is in 'primrose', 'us' is not in 'house'."""


class Vocabulary(Sequence[str]):
    """Distinct words in a fixed order; sources that share it share the columns of their matrices."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words: NDArray[np.object_] = np.asarray(list(words), dtype=object)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {word: n for n, word in enumerate(self.words)}

    def position(self, word: str) -> int | None:
        """The column of a word, or None."""
        return self._positions.get(word)

    def columns(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The columns of many words, -1 where one is unknown."""
        find = self._positions.get
        return np.fromiter((find(word, -1) for word in words), np.int32)

    # --- words inside words -----------------------------------------------------------------------------------------

    @cached_property
    def _text(self) -> tuple[str, list[int]]:
        """All words as one text, a line each, and where each begins: one search sees them all."""
        starts = np.cumsum([1] + [len(word) + 1 for word in self.words[:-1]]).tolist() if len(self.words) else []
        return "\n" + "\n".join(self.words) + "\n", starts

    def expand(self, word: str) -> NDArray[np.int64]:
        """The columns of all entries that contain a word, as the papers expand a query.

        Words of fewer than four letters count only as whole words of an entry, so that "us" finds "us election" and
        not "house".
        """
        text, starts = self._text
        if not word:
            return np.empty(0, np.int64)
        found: list[int] = []
        at = text.find(word)
        while at >= 0:
            if len(word) >= SHORT or not (_joins(text[at - 1]) or _joins(text[at + len(word)])):
                entry = bisect_right(starts, at) - 1
                found.append(entry)
                at = starts[entry] + len(self.words[entry]) - 1  # one hit an entry is enough
            at = text.find(word, at + 1)
        return np.asarray(found, np.int64)

    # --- near spellings ---------------------------------------------------------------------------------------------

    @cached_property
    def _bigrams(self) -> tuple[Any, Any]:
        """Which word has which pairs of letters, and what reads new words the same way."""
        from sklearn.feature_extraction.text import CountVectorizer

        reader = CountVectorizer(analyzer="char_wb", ngram_range=(2, 2), binary=True, lowercase=False, dtype=np.float32)
        return reader.fit_transform(self.words), reader

    def near(self, word: str, n: int = 3) -> list[str]:
        """Up to n entries that are spelt like a word: the 40 that share most pairs of letters, ranked by difflib."""
        from difflib import get_close_matches

        if not len(self.words) or not word.strip():
            return []
        has, reader = self._bigrams
        asked = reader.transform([word])
        shared = np.asarray((has @ asked.T).todense()).ravel()
        alike = 2 * shared / (np.diff(has.indptr) + max(asked.nnz, 1))
        best = np.argsort(-alike, kind="stable")[:40]
        return get_close_matches(word, [self.words[i] for i in best if alike[i] > 0], n=n, cutoff=0.6)

    # --- as a sequence, and as bytes ---------------------------------------------------------------------------------

    def __getitem__(self, at: Any) -> Any:
        return self.words[at]

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._positions

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} words)"

    def to_bytes(self) -> NDArray[np.uint8]:
        """The words as UTF-8, a line each."""
        return np.frombuffer("\n".join(self.words).encode("utf-8"), np.uint8)

    @classmethod
    def from_bytes(cls, data: NDArray[np.uint8]) -> Vocabulary:
        text = data.tobytes().decode("utf-8")
        return cls(text.split("\n") if text else [])


def _joins(character: str) -> bool:
    return character.isalnum() or character == "_"
