"""What a model found, in words: topics by block, how exclusive their words are, their items, and how models compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vennmf.applications.index import best
from vennmf.applications.parts import basis, check_sources, column_blocks, unit_rows
from vennmf.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


def topics(model: Any, top: int = 10) -> pd.DataFrame:
    r"""The words of every topic: block, topic, rank, word, weight, exclusivity.

    ``weight`` is the entry of ``components_``. ``exclusivity`` is the word's share of weight in this topic among all
    topics of all blocks, :math:`b_{tw} / \sum_s b_{sw}`, components of unit norm: 1 for a word that no other topic has.
    """
    import pandas as pd

    check_sources(model)
    names = np.asarray(model.feature_names_)
    total = sum(unit_rows(B).sum(axis=0) for B in model.components_.values())
    rows = []
    for block in model.blocks_:
        components = model.components_[block.name]
        unit = unit_rows(components)
        for topic, component in enumerate(components):
            for rank, word in enumerate(best(component, top), start=1):
                exclusivity = float(unit[topic, word] / total[word])
                rows.append((block.name, topic, rank, names[word], float(component[word]), exclusivity))
    return pd.DataFrame(rows, columns=["block", "topic", "rank", "word", "weight", "exclusivity"])


def topic_words(model: Any, top: int = 5) -> dict[str, list[tuple[str, ...]]]:
    """The best words of each topic, by block: short names for topics."""
    names = np.asarray(model.feature_names_)
    return {
        block: [tuple(str(word) for word in names[best(component, top)]) for component in components]
        for block, components in model.components_.items()
    }


def topic_sizes(model: Any, words: int = 5) -> pd.DataFrame:
    r"""How much of each source each topic carries: block, topic, source, share, items, words.

    ``share`` splits the energy of the reconstruction :math:`\hat X = \sum_t h_t b_t^\top` into
    :math:`\langle h_t b_t^\top, \hat X \rangle / \lVert \hat X \rVert^2`, which adds up to 1 over a source's topics;
    ``items`` counts the items whose largest part the topic is.
    """
    import pandas as pd

    check_sources(model)
    short = topic_words(model, words)
    rows = []
    for source in model.sources_:
        H, B = model.encodings_[source], basis(model, source)
        energy = np.einsum("ij,ij->i", (H.T @ H).astype(np.float64), (B @ B.T).astype(np.float64))
        energy = energy / max(float(energy.sum()), np.finfo(float).tiny)
        strongest = H.argmax(axis=1)[H.any(axis=1)]
        items = np.bincount(strongest, minlength=H.shape[1])
        for column, (block, topic) in enumerate(column_blocks(model, source)):
            label = " ".join(short[block.name][topic])
            rows.append((block.name, topic, source, float(energy[column]), int(items[column]), label))
    return pd.DataFrame(rows, columns=["block", "topic", "source", "share", "items", "words"])


def topic_items(model: Any, top: int = 5, source: str | None = None) -> pd.DataFrame:
    """The items that each topic says most about: block, topic, source, rank, item, share.

    ``share`` is the cosine of the item's encoding with the topic's axis, 1 for an item made of this topic alone. Items
    with little to tell (an encoding under a tenth of the median length) are left out.
    """
    import pandas as pd

    check_sources(model, *([source] if source else []))
    rows = []
    for name in model.sources_ if source is None else (source,):
        H = model.encodings_[name]
        lengths = np.linalg.norm(H, axis=1)
        telling = lengths > 0.1 * np.median(lengths[lengths > 0]) if lengths.any() else lengths > 0
        shares = unit_rows(H) * telling[:, None]
        ids = item_names(model, name)
        for column, (block, topic) in enumerate(column_blocks(model, name)):
            for rank, item in enumerate(best(shares[:, column], top), start=1):
                rows.append((block.name, topic, name, rank, ids[item], float(shares[item, column])))
    return pd.DataFrame(rows, columns=["block", "topic", "source", "rank", "item", "share"])


def item_topics(model: Any, source: str, items: Sequence[str] | None = None, top: int = 3) -> pd.DataFrame:
    """The topics that each item uses: item, rank, block, topic, share, words; shares of an item's squared encoding."""
    import pandas as pd

    check_sources(model, source)
    ids, short, order = item_names(model, source), topic_words(model), column_blocks(model, source)
    rows = []
    for position in range(len(ids)) if items is None else positions(model, source, items):
        parts = model.encodings_[source][position].astype(np.float64) ** 2
        parts = parts / max(float(parts.sum()), np.finfo(float).tiny)
        for rank, column in enumerate(best(parts, top), start=1):
            block, topic = order[column]
            label = " ".join(short[block.name][topic])
            rows.append((ids[position], rank, block.name, topic, float(parts[column]), label))
    return pd.DataFrame(rows, columns=["item", "rank", "block", "topic", "share", "words"])


def compare_models(first: Any, second: Any, words: int = 5) -> pd.DataFrame:
    """Topics of two models matched one to one for the largest sum of cosines (Hungarian method), best match first.

    Both models must share words; a cosine is taken over the words that both know. Topics left over when one model has
    more have no partner.
    """
    import pandas as pd
    from scipy.optimize import linear_sum_assignment

    check_sources(first)
    check_sources(second)
    common, left, right = np.intersect1d(
        np.asarray(first.feature_names_).astype(str), np.asarray(second.feature_names_).astype(str), return_indices=True
    )
    if not len(common):
        raise ParameterError("the two models have no feature name in common; compare models over the same vocabulary.")
    sides = [_all_topics(first, words), _all_topics(second, words)]
    A, B = unit_rows(sides[0][1][:, left]), unit_rows(sides[1][1][:, right])
    cosines = A @ B.T
    rows = [
        (*sides[0][0][i][:2], *sides[1][0][j][:2], float(cosines[i, j]), sides[0][0][i][2], sides[1][0][j][2])
        for i, j in zip(*linear_sum_assignment(cosines, maximize=True), strict=True)
    ]
    names = ["block", "topic", "other_block", "other_topic", "cosine", "words", "other_words"]
    return pd.DataFrame(rows, columns=names).sort_values("cosine", ascending=False, kind="stable", ignore_index=True)


def _all_topics(model: Any, words: int) -> tuple[list[tuple[str, int, str]], NDArray[Any]]:
    short = topic_words(model, words)
    labels = [(block, topic, " ".join(w)) for block, named in short.items() for topic, w in enumerate(named)]
    return labels, np.vstack([model.components_[block] for block in short])


def item_names(model: Any, source: str) -> NDArray[np.object_]:
    """The ids of a source's items, or their positions as text where they have none."""
    ids = getattr(model, "item_ids_", {}).get(source)
    return np.arange(len(model.encodings_[source])).astype(str).astype(object) if ids is None else np.asarray(ids)


def positions(model: Any, source: str, items: Sequence[str]) -> NDArray[np.intp]:
    """Where items stand in their source; an error that names the first unknown one and what is near."""
    from difflib import get_close_matches

    names = item_names(model, source)
    found = []
    for item in items if len(items) < 10 else ():
        found.append(np.flatnonzero(names == str(item)))
    if found and all(len(at) for at in found):
        return np.array([at[0] for at in found], dtype=np.intp)
    known = {str(name): n for n, name in enumerate(names)}
    for item in items:
        if str(item) not in known:
            near = get_close_matches(str(item), known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(f"source {source!r} has no item {str(item)!r} among its {len(known):,} items.{hint}")
    return np.array([known[str(item)] for item in items], dtype=np.intp)
