"""The image collections of the tagging benchmark: features by view, the tags that users gave, and what is true."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from vennmf.model.affinity import graph_of_neighbors
from vennmf.sources import datasets


@dataclass(frozen=True, eq=False)
class Collection:
    """One collection. ``given`` are the users' tags, ``truth`` what is right, over the same columns.

    A column without any truth is a tag that may be suggested but is not judged. ``test`` and ``neighbors`` are a standard
    split and a graph of all images, where there are such. ``refines`` says whether the given tags differ from the truth.
    """

    name: str
    views: dict[str, np.ndarray]
    given: sp.csr_array
    truth: sp.csr_array
    tags: list[str]
    refines: bool
    test: np.ndarray | None = None
    graph: sp.csr_array | None = None


def matrix(lists: list[list[str]], tags: list[str]) -> sp.csr_array:
    """A 0/1 matrix of items × tags."""
    at = {tag: j for j, tag in enumerate(tags)}
    columns = [sorted({at[tag] for tag in row if tag in at}) for row in lists]
    indptr = np.cumsum([0, *map(len, columns)])
    indices = np.array([j for row in columns for j in row], dtype=np.int64)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(lists), len(tags)))


def frequent(lists: list[list[str]], least: int) -> list[str]:
    counts = Counter(tag for row in lists for tag in set(row))
    return sorted(tag for tag, count in counts.items() if count >= least)


def rooted(views: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Square roots of histograms and energies (Hellinger); grid moments as they are."""
    return {
        name: np.asarray(X, dtype=np.float32) if name == "lab_grid_moments" else np.sqrt(X, dtype=np.float32)
        for name, X in views.items()
    }


def replaced(truth: sp.csr_array, share: float, seed: int) -> sp.csr_array:
    """Tags of which a share is replaced by others, drawn as often as tags occur."""
    rng = np.random.default_rng(seed)
    rows, columns = truth.nonzero()
    wrong = rng.random(len(columns)) < share
    frequency = np.asarray(truth.sum(axis=0)).ravel() / truth.sum()
    columns = np.where(wrong, rng.choice(truth.shape[1], len(columns), p=frequency), columns)
    noisy = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=truth.shape)
    noisy.sum_duplicates()
    noisy.data[:] = 1
    return noisy


def mirflickr() -> Collection:
    """730 photos with features: Flickr tags used five times or more; truth where a concept is a tag itself."""
    data = datasets.load("mirflickr25k")
    rows = data.arrays["row_in_items"]
    kept = np.flatnonzero(rows >= 0)
    views = {k: data.arrays[k][kept] for k in ("hsv_hist", "lab_grid_moments", "gabor_gist", "dense_sift_bow")}
    Y = sp.csr_array(data.matrices["mirflickr25k"])[rows[kept]].astype(float)
    names = list(data.features["mirflickr25k"])
    labels = sp.csr_array(data.labels["concepts"])[rows[kept]].toarray()
    concepts = list(data.classes["concepts"])
    counts = np.asarray(Y.sum(axis=0)).ravel()
    used = np.flatnonzero((counts >= 5) | np.isin(names, concepts))
    tags = [names[j] for j in used]
    truth = np.zeros((len(kept), len(tags)))
    for column, concept in zip(labels.T, concepts, strict=True):
        if concept in tags:
            truth[:, tags.index(concept)] = column
    return Collection("mirflickr", rooted(views), sp.csr_array(Y[:, used]), sp.csr_array(truth), tags, refines=True)


def emoji() -> Collection:
    """1,585 emoji with curated keywords: community keywords are given, curated ones are true."""
    data = datasets.load("emoji_multiview")
    table = data.tables["emoji_multiview"]
    noisy, clean = (
        [cell if isinstance(cell, list) else [t for t in str(cell).split("|") if t and t != "nan"] for cell in table[c]]
        for c in ("keywords_emojilib", "keywords_cldr")
    )
    noisy = [[t.replace("_", " ").strip() for t in row] for row in noisy]
    kept = np.array([i for i, row in enumerate(clean) if row])
    tags = frequent([noisy[i] for i in kept], 5)
    views = {name: X[kept] for name, X in data.matrices.items()}
    given, truth = (matrix([lists[i] for i in kept], tags) for lists in (noisy, clean))
    return Collection("emoji", rooted(views), given, truth, tags, refines=True)


def openclipart() -> Collection:
    """4,171 pictures, all but those of two icon themes: uploaders' keywords used eight times or more."""
    data = datasets.load("openclipart")
    table = data.tables["openclipart"]
    lists = [cell if isinstance(cell, list) else str(cell).split("|") for cell in table["keywords"]]
    tags = frequent([row for row, top in zip(lists, table["top_category"], strict=True) if top != "computer"], 8)
    Y = matrix(lists, tags)
    kept = np.flatnonzero((table["top_category"] != "computer").to_numpy() & (np.diff(Y.indptr) > 0))
    views = {name: X[kept] for name, X in data.matrices.items()}
    return Collection("openclipart", rooted(views), Y[kept], Y[kept], tags, refines=False)


def icons() -> Collection:
    """1,581 icons of Lucide: 24 × 24 ink as features; tokens used fifteen times or more, without those of the icon's own name."""
    data = datasets.load("icons_multisource")
    table = data.tables["lucide"]
    lists = [
        [token for token in tokens if token not in set(name.split("-"))]
        for tokens, name in zip(table["tokens"], table["name"], strict=True)
    ]
    tags = frequent(lists, 15)
    Y = matrix(lists, tags)
    kept = np.flatnonzero(np.diff(Y.indptr) > 0)
    ink = data.arrays["lucide"][kept].reshape(len(kept), -1).astype(np.float32) / 255
    return Collection("icons", {"ink": ink}, Y[kept], Y[kept], tags, refines=False)


def corel(*, standard: bool) -> Collection:
    """Corel5k: region clusters and keywords; its standard split with its graph of neighbours, or neither."""
    data = datasets.load("corel5k")
    test = (data.tables["corel5k"]["split"] == "test").to_numpy()
    X = np.asarray(sp.csr_array(data.matrices["regions"]).toarray(), dtype=np.float32)
    Y, names = sp.csr_array(data.labels["words"]).astype(float), list(data.classes["words"])
    used = np.flatnonzero(np.asarray(Y[~test].sum(axis=0)).ravel() >= (1 if standard else 5))
    Y = sp.csr_array(Y[:, used])
    given = Collection("corel5k", {"regions": X}, Y, Y, [names[j] for j in used], refines=False)
    if not standard:
        return given
    assert not test[: len(data.arrays["nn"])].any()
    return replace(given, test=np.flatnonzero(test), graph=padded_graph(data.arrays["nn"][:, :50], len(test)))


def padded_graph(neighbors: np.ndarray, n: int) -> sp.csr_array:
    """A graph of n images from the neighbours of the first of them; the others have none."""
    edges = sp.coo_array(graph_of_neighbors(neighbors))
    return sp.csr_array((edges.data, edges.coords), shape=(n, n))


def with_wrong_tags(collection: Collection, share: float = 0.3, seed: int = 0) -> Collection:
    """The same, but a share of the given tags is replaced by wrong ones."""
    given = replaced(collection.truth, share, seed)
    return replace(collection, name=f"{collection.name}, 30 % wrong", given=given, refines=True)


COLLECTIONS: dict[str, Any] = {
    "mirflickr": mirflickr,
    "emoji": emoji,
    "corel5k": lambda: corel(standard=True),
    "corel5k-wrong": lambda: with_wrong_tags(corel(standard=False)),
    "openclipart": openclipart,
    "openclipart-wrong": lambda: with_wrong_tags(openclipart()),
    "icons": icons,
    "icons-wrong": lambda: with_wrong_tags(icons()),
}
