"""How raw tags and texts become words: the same way when a model is fitted and when new items come."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Literal

from vennmf.errors import ParameterError
from vennmf.sources.memory import storable

Kind = Literal["tags", "text"]

SENTENCE_END = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+|\n+")


@cache
def _word_pattern() -> re.Pattern[str]:
    """A word of any script: a letter, then letters, digits and the marks that go with them; two characters or more."""
    marks, start = [], None
    for code in range(0x300, 0x10000):
        is_mark = unicodedata.category(chr(code)).startswith("M")
        if is_mark and start is None:
            start = code
        elif not is_mark and start is not None:
            marks.append(f"{chr(start)}-{chr(code - 1)}")
            start = None
    return re.compile(rf"[^\W\d_](?:[\w{''.join(marks)}])+")


@dataclass(frozen=True)
class Analysis:
    """What turns raw tags or texts into words.

    Parameters
    ----------
    kind : "tags" or "text"
        Tags stay whole; text is cut into words of any script, runs of letters and digits that begin with a letter.
    lowercase : bool
    stop_words : tuple of str
        Words left out, as they are after lower-casing.
    ngram : (int, int)
        Fewest and most words that an entry of a text's vocabulary may have.
    split : str or None
        What joined tags are split at.
    repeated : frozenset of str
        Sentences of a text that are left out: boilerplate found when the source was read.
    """

    kind: Kind = "tags"
    lowercase: bool = True
    stop_words: tuple[str, ...] = ()
    ngram: tuple[int, int] = (1, 1)
    split: str | None = None
    repeated: frozenset[str] = frozenset()

    @cached_property
    def _stopped(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    def tag(self, raw: str) -> str | None:
        """One tag as an entry of the vocabulary, or None where nothing is left."""
        text = " ".join(unicodedata.normalize("NFC", storable(raw)).split())
        if self.lowercase:
            text = text.lower()
        return None if not text or text in self._stopped else sys.intern(text)

    def words(self, text: str) -> list[str]:
        """The words of a text, and the runs of words that ``ngram`` asks for."""
        if self.repeated:
            text = "\n".join(s for s in SENTENCE_END.split(text) if s.strip() not in self.repeated)
        tokens = self.tokens(text)
        low, high = self.ngram
        if (low, high) == (1, 1):
            return tokens
        return [
            " ".join(tokens[start : start + n]) for n in range(low, high + 1) for start in range(len(tokens) - n + 1)
        ]

    def tokens(self, text: str) -> list[str]:
        """The single words of a text, without stop words."""
        text = unicodedata.normalize("NFC", text)
        found = _word_pattern().findall(text.lower() if self.lowercase else text)
        return [word for word in found if word not in self._stopped] if self.stop_words else found

    def without_repeated(self, texts: Sequence[str], least: int) -> Analysis:
        """The same analysis, leaving out sentences that ``least`` or more of the texts have."""
        counts: dict[str, int] = {}
        for text in texts:
            for sentence in {part.strip() for part in SENTENCE_END.split(text)}:
                if sentence:
                    counts[sentence] = counts.get(sentence, 0) + 1
        return replace(self, repeated=frozenset(s for s, n in counts.items() if n >= least))

    def state(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "kind": self.kind,
            "lowercase": self.lowercase,
            "stop_words": list(self.stop_words),
            "ngram": list(self.ngram),
            "split": self.split,
            "repeated": sorted(self.repeated),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Analysis:
        return cls(
            state["kind"],
            state["lowercase"],
            tuple(state["stop_words"]),
            (state["ngram"][0], state["ngram"][1]),
            state["split"],
            frozenset(state["repeated"]),
        )


def read_stop_words(stop_words: str | Iterable[str] | None) -> tuple[str, ...]:
    """A list of stop words, or scikit-learn's for English."""
    if stop_words is None:
        return ()
    if stop_words == "english":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(sorted(ENGLISH_STOP_WORDS))
    if isinstance(stop_words, str):
        raise ParameterError(
            f"stop_words={stop_words!r}; expected 'english' or a list of words. Pass a list for other languages."
        )
    return tuple(sorted({str(word).lower() for word in stop_words}))


def read_ngram(ngram: int | Sequence[int]) -> tuple[int, int]:
    """One number is the most words an entry has; two are the fewest and the most."""
    given = [1, ngram] if isinstance(ngram, int) else list(ngram)
    low, high = given if len(given) == 2 and all(isinstance(n, int) for n in given) else (0, 0)
    if not 1 <= low <= high:
        raise ParameterError(f"ngram={ngram!r}; expected a number >= 1, or two such as (1, 2).")
    return low, high
