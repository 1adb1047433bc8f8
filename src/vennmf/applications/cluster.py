"""Joint clustering (Algorithm 3 of the second paper): k-means on the encodings of each source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vennmf.applications.index import best
from vennmf.applications.parts import Part, basis, check_part, check_sources, columns, unit_rows
from vennmf.applications.topics import item_names
from vennmf.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


class JointClusters(Mapping[str, NDArray[np.intp]]):
    """Cluster numbers by source, one for each item, and what each cluster is about."""

    def __init__(
        self,
        labels: Mapping[str, NDArray[np.intp]],
        items: Mapping[str, NDArray[Any]],
        words: Mapping[str, list[tuple[str, ...]]],
        space: Part,
    ) -> None:
        self._labels = dict(labels)
        self._items = items
        self.words = dict(words)
        """By source, the words of each cluster: the largest entries of its mean item as the model rebuilds it."""
        self.space = space

    def __getitem__(self, source: str) -> NDArray[np.intp]:
        return self._labels[source]

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def to_frame(self) -> pd.DataFrame:
        """One row for each item: source, item, cluster."""
        import pandas as pd

        parts = [pd.DataFrame({"source": s, "item": self._items[s], "cluster": labels}) for s, labels in self.items()]
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> pd.DataFrame:
        """One row for each cluster: source, cluster, items, words."""
        import pandas as pd

        rows = [
            (source, cluster, int((labels == cluster).sum()), " ".join(self.words[source][cluster]))
            for source, labels in self.items()
            for cluster in range(len(self.words[source]))
        ]
        return pd.DataFrame(rows, columns=["source", "cluster", "items", "words"])

    def _repr_html_(self) -> str:
        return str(self.summary().to_html(index=False))

    def __repr__(self) -> str:
        parts = ", ".join(f"{s}: {len(labels):,} items in {len(self.words[s])}" for s, labels in self.items())
        return f"JointClusters({parts}; space={self.space!r})"


def joint_cluster(
    model: Any,
    n_clusters: int | Mapping[str, int],
    *,
    space: Part = "all",
    sources: Sequence[str] | None = None,
    together: bool = False,
    n_init: int = 10,
    random_state: int | None = 0,
) -> JointClusters:
    """Cluster the items of each source by k-means on their encodings.

    The paper says k-means on H and no more; here scikit-learn's, on rows of unit length, since the length of an
    encoding says how much text or how many tags an item has, not what it is about.

    Parameters
    ----------
    n_clusters : int or dict of source to int
    space : "all", "shared" or "private"
        The whole encoding, the columns that other sources share, or the source's own alone. How pure a class is in the
        last two tells whether it is common: :func:`vennmf.evaluation.purity_ratios`.
    together : bool
        One k-means for the shared columns of all sources, so that a cluster number means the same in each of them;
        needs ``space="shared"`` and one block that all of them share.
    """
    names = tuple(model.sources_ if sources is None else sources)
    check_sources(model, *names)
    check_part(space, "space")
    rows = {name: _rows(model, name, space) for name in names}
    sizes = _sizes(n_clusters, rows, together)
    if together:
        labels = _together(rows, sizes, space, n_init, random_state)
    else:
        labels = {name: _kmeans(rows[name], sizes[name], n_init, random_state) for name in names}
    words = {name: _words(model, name, labels[name], sizes[name], space) for name in names}
    return JointClusters(labels, {name: item_names(model, name) for name in names}, words, space)


def _rows(model: Any, source: str, space: Part) -> NDArray[np.float64]:
    """Items at unit length, then the columns of one space: an item with little there stays near the origin."""
    return unit_rows(model.encodings_[source].astype(np.float64))[:, columns(model, source, space)]


def _sizes(n_clusters: int | Mapping[str, int], rows: Mapping[str, NDArray[Any]], together: bool) -> dict[str, int]:
    if isinstance(n_clusters, Mapping):
        wrong = sorted(set(n_clusters) ^ set(rows))
        if wrong:
            raise ParameterError(
                f"n_clusters must name each source once; {wrong[0]!r} "
                f"{'is missing' if wrong[0] in rows else 'is no source that is clustered'}."
            )
        sizes = {name: n_clusters[name] for name in rows}
    else:
        sizes = dict.fromkeys(rows, n_clusters)
    for name, size in sizes.items():
        at_most = sum(map(len, rows.values())) if together else len(rows[name])
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or not 1 <= size <= at_most:
            raise ParameterError(
                f"n_clusters of source {name!r} must be a whole number from 1 to its {at_most:,} items; found {size!r}."
            )
    return {name: int(size) for name, size in sizes.items()}


def _together(
    rows: Mapping[str, NDArray[np.float64]], sizes: Mapping[str, int], space: Part, n_init: int, seed: int | None
) -> dict[str, NDArray[np.intp]]:
    widths = {part.shape[1] for part in rows.values()}
    if space != "shared" or len(widths) > 1 or len(set(sizes.values())) > 1:
        raise ParameterError(
            "together=True needs space='shared', sources that share the same blocks, and one number of clusters."
        )
    labels = _kmeans(np.vstack(list(rows.values())), next(iter(sizes.values())), n_init, seed)
    ends = np.cumsum([len(part) for part in rows.values()])[:-1]
    return dict(zip(rows, np.split(labels, ends), strict=True))


def _kmeans(rows: NDArray[np.float64], k: int, n_init: int, seed: int | None) -> NDArray[np.intp]:
    import warnings

    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters: some stay empty
        return KMeans(k, n_init=n_init, random_state=seed).fit_predict(rows).astype(np.intp)


def _words(
    model: Any, source: str, labels: NDArray[np.intp], k: int, space: Part, top: int = 6
) -> list[tuple[str, ...]]:
    """The largest words of each cluster's mean, rebuilt from the columns that made the clusters."""
    used = columns(model, source, space)
    B, H = basis(model, source)[used], _rows(model, source, space)
    names = np.asarray(model.feature_names_)
    found = []
    for cluster in range(k):
        rows = H[labels == cluster]
        mean = rows.mean(axis=0) @ B if len(rows) else np.zeros(B.shape[1])
        found.append(tuple(str(word) for word in names[best(mean, top)]))
    return found
