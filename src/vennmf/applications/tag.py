"""Tags that a joint model would expect of items, and that these do not have: those of their topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.applications.encode import read_items
from vennmf.applications.index import best
from vennmf.applications.parts import basis, check_sources, column_blocks
from vennmf.applications.topics import topic_words

if TYPE_CHECKING:
    import pandas as pd

    from vennmf.model.blocks import Block

BATCH = 4_000_000
"""Scores, items × words, that are held at once."""


def tag_items(model: Any, data: Any, *, source: str, top: int = 5) -> pd.DataFrame:
    """Tags for new items of a source: item, rank, tag, score, block, topic, shared, words.

    ``data`` is a file, a table, lists of tags or texts, or rows of the source's matrix. A tag's score is its entry in the
    item as the model rebuilds it; tags that the item has are left out. ``words`` are those of the topic that brings it.
    """
    import pandas as pd

    check_sources(model, source)
    X, items, _, _ = read_items(model, data, source)
    X = sp.csr_array(X)
    names = [f"new-{n}" for n in range(X.shape[0])] if items is None else items
    tags = Expected(model, source)
    rows: list[tuple[Any, ...]] = []
    step = max(1, BATCH // X.shape[1])
    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        H = np.asarray(model.transform(part, source=source), dtype=np.float64)
        for n, h in enumerate(H):
            has = part.indices[part.indptr[n] : part.indptr[n + 1]]
            found = enumerate(tags.of(h, has, top), start=1)
            rows += [(names[start + n], rank, *suggestion) for rank, suggestion in found]
    return pd.DataFrame(rows, columns=["item", "rank", *COLUMNS])


COLUMNS = ("tag", "score", "block", "topic", "shared", "words")
Suggestion = tuple[str, float, str, int, bool, str]


class Expected:
    """The words that a source's topics would have in an item, h B, and the topic that brings most of each."""

    def __init__(self, model: Any, source: str) -> None:
        self.names = np.asarray(model.feature_names_)
        self.basis = basis(model, source)
        self.order: list[tuple[Block, int]] = column_blocks(model, source)
        self.words = topic_words(model)

    def of(self, h: NDArray[np.float64], has: NDArray[Any], top: int) -> list[Suggestion]:
        """The ``top`` words of an encoding, without those that the item has."""
        scores = h @ self.basis
        scores[has] = 0
        found = []
        for word in best(scores, top):
            block, topic = self.order[int(np.argmax(h * self.basis[:, word]))]
            label = " ".join(self.words[block.name][topic])
            found.append((str(self.names[word]), float(scores[word]), block.name, topic, block.is_shared, label))
        return found
