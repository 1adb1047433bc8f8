"""Planted data: sources and views whose shared and private parts are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from vennmf.errors import ParameterError, SourceError

BlockKey = str | tuple[str, ...]
"""``"all"``, the name of one source, or a tuple of the sources that share the block."""

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Planted:
    """Sources over one vocabulary and the truth behind them: ``sources[s] ≈ encodings[s] @ parts(s)``.

    Attributes
    ----------
    sources : dict of name to (n_items, n_features) matrix
    components : dict of block to (parts of the block, n_features) array, rows of unit norm
    encodings : dict of name to (n_items, parts of the source) array, columns in the order of ``blocks``
    blocks : dict of block to its number of parts, as given
    members : dict of block to the names of the sources that use it
    words : (n_features,) names that say which part a feature belongs to, such as ``"all.0/w3"``
    """

    sources: dict[str, Any]
    components: dict[BlockKey, Array]
    encodings: dict[str, Array]
    blocks: dict[BlockKey, int]
    members: dict[BlockKey, tuple[str, ...]]
    words: NDArray[np.object_]

    def parts(self, source: str) -> Array:
        """The components that a source is made of, stacked in the order of its encoding's columns."""
        return np.vstack([self.components[block] for block in self.blocks if source in self.members[block]])

    def columns(self, source: str) -> dict[BlockKey, slice]:
        """Which columns of a source's encoding belong to which block."""
        return _columns(self.blocks, self.members, source)

    def tags(self) -> dict[str, list[list[str]]]:
        """Every item as the list of its words, for what reads tags rather than matrices."""
        lists = {}
        for name, X in self.sources.items():
            rows = sp.csr_array(X)
            lists[name] = [list(part) for part in np.split(self.words[rows.indices], rows.indptr[1:-1])]
        return lists


@dataclass(frozen=True, eq=False)
class PlantedViews:
    """Views of the same items and the truth behind them: ``views[v] ≈ encoding(v) @ components[v]``.

    Attributes
    ----------
    views : dict of name to (n_items, features of the view) matrix
    components : dict of view to (parts of the view, features of the view) array, rows of unit norm
    encodings : dict of block to (n_items, parts of the block) array
    labels : (n_items,) class of each item, -1 where unknown
    truth : (n_items,) class of each item, all known
    """

    views: dict[str, Any]
    components: dict[str, Array]
    encodings: dict[BlockKey, Array]
    blocks: dict[BlockKey, int]
    members: dict[BlockKey, tuple[str, ...]]
    labels: NDArray[np.int64] = field(repr=False)
    truth: NDArray[np.int64] = field(repr=False)

    def encoding(self, view: str) -> Array:
        """The encodings that a view sees, side by side in the order of ``blocks``."""
        return np.hstack([self.encodings[block] for block in self.blocks if view in self.members[block]])


def planted(
    blocks: Mapping[BlockKey, int],
    n_items: int | Mapping[str, int] = 200,
    n_features: int = 120,
    *,
    density: float = 0.4,
    overlap: float = 0.0,
    noise: float = 0.0,
    synonyms: float = 0.0,
    missing: float = 0.0,
    sparse: bool = False,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> Planted:
    """Sources with known shared and private parts, for any number of sources and any sharing pattern.

    Parameters
    ----------
    blocks : mapping of block to number of parts
        Such as ``{"all": 4, ("a", "b"): 2, "a": 3, "c": 1}``.
    n_items : int or mapping of source to int
    n_features : int
    density : float
        Share of its source's parts that an item uses; every item uses at least one.
    overlap : float in [0, 1)
        Cosine between parts of different blocks that stand at the same place in their block; all others are
        orthogonal.
    noise : float
        Dense: a nonnegative Gaussian whose norm is this share of the source's norm.
        Sparse: this many wrong entries for each right one, at random places.
    synonyms : float in [0, 1)
        Share of the features that have a second name: half of the items use it instead.
    missing : float in [0, 1)
        Share of the entries that were left out.
    sparse : bool
        CSR sources instead of dense ones.
    random_state : int, Generator or None
    """
    members = _members(blocks, n_items)
    names = list(dict.fromkeys(name for block in blocks for name in members[block]))
    sizes = {name: n_items if isinstance(n_items, int) else n_items[name] for name in names}
    _check(overlap=overlap, synonyms=synonyms, missing=missing)
    rng = np.random.default_rng(random_state)
    n_twins = int(synonyms * n_features)
    bases, words = _bases(blocks, n_features - n_twins, overlap, rng)
    twins = rng.choice(n_features - n_twins, size=n_twins, replace=False)
    words = np.concatenate([words, np.asarray([f"{word}'" for word in words[twins]], dtype=object)])
    components = {block: _with_twins(basis, twins, 0.5) for block, basis in bases.items()}
    sources: dict[str, Any] = {}
    encodings: dict[str, Array] = {}
    for name in names:
        H = _encoding(sizes[name], sum(k for b, k in blocks.items() if name in members[b]), density, rng)
        B = np.vstack([basis for block, basis in bases.items() if name in members[block]])
        X = _renamed(sp.csr_array(sp.csr_array(H) @ sp.csr_array(B)), twins, rng)
        sources[name] = _disturbed(X, noise, missing, sparse, rng).astype(dtype)
        encodings[name] = H.astype(dtype)
    normed = {b: (C / np.linalg.norm(C, axis=1, keepdims=True)).astype(dtype) for b, C in components.items()}
    return Planted(sources, normed, encodings, dict(blocks), members, words)


def planted_views(
    blocks: Mapping[BlockKey, int],
    n_items: int = 200,
    n_features: int | Mapping[str, int] = 80,
    *,
    n_classes: int = 1,
    labelled: float = 0.1,
    density: float = 0.4,
    overlap: float = 0.0,
    noise: float = 0.0,
    missing: float = 0.0,
    sparse: bool = False,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> PlantedViews:
    """Views of the same items with known common and private concepts, and a few labels.

    Blocks name views instead of sources. With ``n_classes > 1`` each class favours its own parts of every
    block, and ``labelled`` is the share of items whose class is known (at least one of each class); the rest
    is -1. The other parameters are those of :func:`planted`.
    """
    sizes = dict.fromkeys(_names(blocks), n_features) if isinstance(n_features, int) else dict(n_features)
    members = _members(blocks, dict.fromkeys(sizes, n_items))
    _check(overlap=overlap, missing=missing, labelled=labelled)
    rng = np.random.default_rng(random_state)
    truth = rng.permutation(np.arange(n_items) % max(n_classes, 1))
    encodings: dict[BlockKey, Array] = {}
    for block, k in blocks.items():
        H = _encoding(n_items, k, density, rng)
        if n_classes > 1:
            H = H * np.where(np.arange(k) % n_classes == truth[:, None], 3.0, 0.3)
        encodings[block] = H.astype(dtype)
    views: dict[str, Any] = {}
    components: dict[str, Array] = {}
    for name, m in sizes.items():
        mine = {block: k for block, k in blocks.items() if name in members[block]}
        B = np.vstack(list(_bases(mine, m, overlap, rng)[0].values()))
        H = np.hstack([encodings[block] for block in mine])
        X = sp.csr_array(sp.csr_array(H) @ sp.csr_array(B))
        views[name] = _disturbed(X, noise, missing, sparse, rng).astype(dtype)
        components[name] = B.astype(dtype)
    labels = np.full(n_items, -1, dtype=np.int64)
    for c in range(max(n_classes, 1)):
        of_class = np.flatnonzero(truth == c)
        labels[of_class[: max(1, round(labelled * len(of_class)))]] = c
    return PlantedViews(views, components, encodings, dict(blocks), members, labels, truth)


def _names(blocks: Mapping[BlockKey, int]) -> list[str]:
    """The sources that blocks name one by one, in order of appearance."""
    return list(
        dict.fromkeys(
            name for block in blocks if block != "all" for name in ([block] if isinstance(block, str) else block)
        )
    )


def _members(blocks: Mapping[BlockKey, int], n_items: int | Mapping[str, int]) -> dict[BlockKey, tuple[str, ...]]:
    names = _names(blocks) if isinstance(n_items, int) else list(n_items)
    if not names or not blocks:
        raise SourceError(
            "planted data needs sources: blocks name none and n_items is no dict; "
            "pass blocks such as {'all': 3, 'a': 2, 'b': 2}."
        )
    unknown = [name for name in _names(blocks) if name not in names]
    if unknown:
        raise SourceError(f"blocks name source {unknown[0]!r} and the sources are {', '.join(map(repr, names))}.")
    return {
        block: tuple(names) if block == "all" else ((block,) if isinstance(block, str) else tuple(block))
        for block in blocks
    }


def _columns(
    blocks: Mapping[BlockKey, int], members: Mapping[BlockKey, tuple[str, ...]], source: str
) -> dict[BlockKey, slice]:
    columns, start = {}, 0
    for block, k in blocks.items():
        if source in members[block]:
            columns[block] = slice(start, start + k)
            start += k
    return columns


def _check(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 <= value < 1 and not (name == "labelled" and value == 1):
            raise ParameterError(f"{name} must lie in [0, 1); found {value}.")


def _bases(
    blocks: Mapping[BlockKey, int], n_features: int, overlap: float, rng: np.random.Generator
) -> tuple[dict[BlockKey, Array], NDArray[np.object_]]:
    """Unit rows: every part owns features; with overlap the i-th parts of all blocks have some in common.

    With unit vectors d (own) and g_i (common to place i), c = sqrt(1 - o) d + sqrt(o) g_i has cosine o with
    the parts at its place and 0 with all others, and own features keep the parts identifiable.
    """
    total, places = sum(blocks.values()), max(blocks.values(), default=0)
    groups = total + (places if overlap else 0)
    if n_features < groups:
        raise ParameterError(
            f"n_features is {n_features} and the blocks need at least {groups}, one feature for each part"
            f"{' and for what parts have in common' if overlap else ''}; pass more features."
        )
    own = np.array_split(np.arange(n_features), groups)
    common = own[total:]
    words = np.empty(n_features, dtype=object)
    shared = []
    for place, columns in enumerate(common):
        g = np.zeros(n_features)
        g[columns] = _unit(rng.gamma(2.0, size=len(columns)))
        shared.append(g)
        words[columns] = [f"common.{place}/w{n}" for n in range(len(columns))]
    bases: dict[BlockKey, Array] = {}
    part = 0
    for block, k in blocks.items():
        basis = np.zeros((k, n_features))
        label = block if isinstance(block, str) else "+".join(block)
        for place in range(k):
            columns = own[part]
            basis[place, columns] = np.sqrt(1 - overlap) * _unit(rng.gamma(2.0, size=len(columns)) + 0.05)
            if overlap:
                basis[place] += np.sqrt(overlap) * shared[place]
            words[columns] = [f"{label}.{place}/w{n}" for n in range(len(columns))]
            part += 1
        bases[block] = basis
    return bases, words


def _unit(values: Array) -> Array:
    return np.asarray(values / np.linalg.norm(values))


def _encoding(n: int, k: int, density: float, rng: np.random.Generator) -> Array:
    used = rng.random((n, k)) < density
    if k:
        used[np.arange(n), rng.integers(k, size=n)] = True
    return used * (rng.gamma(2.0, size=(n, k)) + 0.1)


def _with_twins(basis: Array, twins: Array, share: float) -> Array:
    """Components once a share of the items writes the second name: weight moves to the twin's column."""
    kept = basis.copy()
    kept[:, twins] *= 1 - share
    return np.hstack([kept, share * basis[:, twins]])


def _renamed(X: sp.csr_array, twins: Array, rng: np.random.Generator) -> sp.csr_array:
    """Every entry of a feature with a second name goes to either column, at even odds."""
    n_features = X.shape[1]
    second = np.full(n_features, -1)
    second[twins] = n_features + np.arange(len(twins))
    columns = X.indices.copy()
    moved = (second[columns] >= 0) & (rng.random(X.nnz) < 0.5)
    columns[moved] = second[columns[moved]]
    renamed = sp.csr_array((X.data, columns, X.indptr), shape=(X.shape[0], n_features + len(twins)))
    renamed.sort_indices()
    return renamed


def _disturbed(X: sp.csr_array, noise: float, missing: float, sparse: bool, rng: np.random.Generator) -> Any:
    if missing:
        X.data[rng.random(X.nnz) < missing] = 0.0
        X.eliminate_zeros()
    if noise and sparse:
        count = round(noise * X.nnz)
        where = rng.integers(X.shape[0], size=count), rng.integers(X.shape[1], size=count)
        X = sp.csr_array(X + sp.coo_array((rng.choice(X.data, size=count), where), shape=X.shape))
    X.sort_indices()
    if sparse:
        return X
    dense = X.toarray()
    if noise:
        wrong = np.abs(rng.standard_normal(dense.shape))
        dense = dense + noise * np.linalg.norm(dense) / np.linalg.norm(wrong) * wrong
    return dense
