"""What the benchmarks factorise: real collections where they are to be had, and made ones of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

import vennmf as vn
from vennmf.sources.planted import planted_views

CHUNK = 250_000


def newsgroups() -> sp.csr_array:
    """20 Newsgroups, tf-idf, float32: 18,846 × 52,295."""
    table = next(iter(vn.datasets.load("newsgroups20").tables.values()))
    X = TfidfVectorizer(min_df=3, stop_words="english", dtype=np.float32).fit_transform(table["text"])
    return sorted_rows(X)


def two_newsgroups(n: int = 1_500, n_words: int = 4_000) -> vn.ViewSet:
    """Texts of rec.* and of talk.* over the words that most of them have, tf-idf, float32."""
    table = next(iter(vn.datasets.load("newsgroups20").tables.values()))
    parts = {name: table.loc[table["label"].str.startswith(f"{name}."), "text"].head(n) for name in ("rec", "talk")}
    vectorizer = TfidfVectorizer(max_features=n_words, stop_words="english", dtype=np.float32)
    vectorizer.fit([text for part in parts.values() for text in part])
    return vn.ViewSet.of({name: sorted_rows(vectorizer.transform(part)) for name, part in parts.items()})


def tags() -> vn.ViewSet:
    """Tags of MIRFlickr and NUS-WIDE over one vocabulary, tf-idf, float32."""
    lists = {}
    for name, data_set in (("flickr", "mirflickr25k"), ("nuswide", "nuswide_10k5")):
        table = next(iter(vn.datasets.load(data_set).tables.values()))
        lists[name] = [str(row).split() for row in table["tags"]]
    return vn.load_sources(lists, tags=None, min_count=20)


def stacked_tags() -> sp.csr_array:
    """Both collections of tags as one matrix, each at unit norm, so that one is worth as much as the other."""
    parts = [view.X / np.float32(np.sqrt(view.squared_norm())) for view in tags().values()]
    return sorted_rows(sp.vstack(parts))


def cells() -> sp.csr_array:
    """Blood cells of two conditions, log(1 + counts), float32: 6,000 × 11,093."""
    X = sp.vstack(list(vn.datasets.load("pbmc_ifnb").matrices.values())).astype(np.float32)
    return sorted_rows(X.log1p())


def faces() -> np.ndarray:
    """ORL faces as a tensor of items × height × width in [0, 1], float32."""
    return vn.datasets.load("orl_faces").arrays["images"].astype(np.float32) / np.float32(255)


def two_views(n_items: int = 3_000, sizes: tuple[int, int] = (1_000, 1_500), k: int = 20) -> list[np.ndarray]:
    """Two dense views of the same items with planted parts and noise, float32."""
    made = planted_views(
        {"all": k}, n_items, dict(zip("ab", sizes, strict=True)), noise=0.2, dtype=np.float32, random_state=0
    )
    return list(made.views.values())


def tagged_items(
    n_items: int, n_features: int, tags_an_item: int = 10, parts: int = 100, seed: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Chunks of (tags, weights), each ``tags_an_item`` a row: an item takes most of its tags from two planted parts.

    Within a part tags follow Zipf's law; two tags of ten come from the whole vocabulary. A tag drawn twice weighs twice.
    """
    rng = np.random.default_rng(seed)
    size = n_features // parts
    words = rng.permutation(n_features).astype(np.int32)
    law = np.cumsum(1 / np.arange(1, size + 1))
    law /= law[-1]
    for first in range(0, n_items, CHUNK):
        n = min(CHUNK, n_items - first)
        mine = rng.integers(parts, size=(n, 2), dtype=np.int32)
        part = np.take_along_axis(mine, rng.integers(2, size=(n, tags_an_item)), axis=1)
        place = np.searchsorted(law, rng.random((n, tags_an_item))).astype(np.int32)
        drawn = words[part * size + place]
        stray = rng.random((n, tags_an_item)) < 0.2
        drawn[stray] = rng.integers(n_features, size=int(stray.sum()), dtype=np.int32)
        yield np.sort(drawn, axis=1), (1 + rng.random((n, tags_an_item), dtype=np.float32))


def planted_tags(n_items: int, n_features: int = 20_000, tags_an_item: int = 10, parts: int = 100) -> sp.csr_array:
    """A source of items × features with ``tags_an_item`` entries a row, float32, made in chunks."""
    indices = np.empty(n_items * tags_an_item, np.int32)
    data = np.empty(len(indices), np.float32)
    done = 0
    for words, weights in tagged_items(n_items, n_features, tags_an_item, parts):
        indices[done : done + words.size] = words.ravel()
        data[done : done + words.size] = weights.ravel()
        done += words.size
    indptr = np.arange(0, len(indices) + 1, tags_an_item, dtype=np.int32 if len(indices) < 2**31 else np.int64)
    X = sp.csr_array((data, indices, indptr), shape=(n_items, n_features))
    X.sum_duplicates()
    return X


def sorted_rows(X: Any) -> sp.csr_array:
    """CSR in float32 with sorted columns."""
    out = sp.csr_array(X, dtype=np.float32)
    out.sort_indices()
    return out
