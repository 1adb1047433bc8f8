"""Sparse graphs over the items of a view: neighbours, neighbours of one class, close pairs of different classes.

All are symmetric CSR arrays with an entry for each edge, built by scikit-learn's neighbour search; none is dense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from vennmf.errors import ParameterError

Graph = Any
"""A symmetric CSR array of edge weights, items × items."""


def neighbour_graph(X: Any, n_neighbors: int = 5, *, metric: str = "euclidean", heat: bool = False) -> Graph:
    r"""Items joined to their nearest neighbours, either way round.

    .. math:: S_{ij} = 1 \text{ if } x_i \in N_p(x_j) \text{ or } x_j \in N_p(x_i)

    ``heat`` weighs an edge by :math:`\exp(-d_{ij}^2 / \bar d^2)`, with the mean distance of joined items for
    :math:`\bar d`. More neighbours than there are other items means all of them.
    """
    from sklearn.neighbors import NearestNeighbors

    _at_least_one("n_neighbors", n_neighbors)
    n = X.shape[0]
    reach = min(int(n_neighbors), n - 1)
    if reach < 1:
        return sp.csr_array((n, n))
    search = NearestNeighbors(n_neighbors=reach, metric=metric).fit(X)
    distances, found = search.kneighbors()
    return _joined(n, np.repeat(np.arange(n), reach), found.ravel(), distances.ravel(), heat)


def same_class_graph(
    X: Any, y: ArrayLike, n_neighbors: int | None = None, *, metric: str = "euclidean", heat: bool = False
) -> Graph:
    """Labelled items joined to their nearest neighbours of the same class; None: to all n_c - 1 of them.

    ``y`` holds a class number for each item and -1 where it is unknown; such items have no edges.
    """
    y = np.asarray(y)
    edges = [(np.empty(0), np.empty((2, 0), np.intp))]
    for rows in _members(y):
        if len(rows) > 1:
            reach = len(rows) - 1 if n_neighbors is None else n_neighbors
            inside = neighbour_graph(X[rows], reach, metric=metric, heat=heat).tocoo()
            edges.append((inside.data, rows[np.array(inside.coords)]))
    values, (left, right) = (np.concatenate(part, axis=-1) for part in zip(*edges, strict=True))
    return sp.csr_array((values, (left, right)), shape=(X.shape[0], X.shape[0]))


def between_class_graph(X: Any, y: ArrayLike, n_pairs: int = 20, *, metric: str = "euclidean") -> Graph:
    """For each class, its closest pairs with items of other classes, as in marginal Fisher analysis.

    Exact: the ``n_pairs`` closest pairs of a class lie among the ``n_pairs`` nearest strangers of its items.
    """
    from sklearn.neighbors import NearestNeighbors

    _at_least_one("n_pairs", n_pairs)
    y = np.asarray(y)
    edges = [np.empty((2, 0), np.intp)]
    for mine in _members(y):
        strangers = np.flatnonzero((y >= 0) & (y != y[mine[0]]))
        if not len(strangers):
            continue
        reach = min(int(n_pairs), len(strangers))
        distances, found = NearestNeighbors(n_neighbors=reach, metric=metric).fit(X[strangers]).kneighbors(X[mine])
        closest = np.argsort(distances, axis=None, kind="stable")[: int(n_pairs)]
        edges.append(np.array([np.repeat(mine, reach)[closest], strangers[found.ravel()[closest]]]))
    return _joined(X.shape[0], *np.concatenate(edges, axis=1))


def checked_graph(graph: Any, n_items: int, name: str) -> Graph:
    """A graph that a user gives, as CSR of the right size."""
    graph = sp.csr_array(graph)
    if graph.shape != (n_items, n_items):
        raise ParameterError(
            f"{name} is {graph.shape[0]} × {graph.shape[1]} for {n_items} items; a graph has a row and a column for each."
        )
    return graph


def _members(y: NDArray[Any]) -> list[NDArray[np.intp]]:
    """The labelled items of each class."""
    labelled = np.flatnonzero(y >= 0)
    _, classes = np.unique(y[labelled], return_inverse=True)
    ordered = labelled[np.argsort(classes, kind="stable")]
    return np.split(ordered, np.cumsum(np.bincount(classes))[:-1]) if len(labelled) else []


def _joined(
    n: int,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    distances: NDArray[Any] | None = None,
    heat: bool = False,
) -> Graph:
    """The symmetric graph of some edges, without those from an item to itself."""
    values = np.ones(len(rows))
    if heat and distances is not None:
        values = np.exp(-((distances / (distances.mean() or 1)) ** 2))
    keep = rows != columns
    S = sp.coo_array((values[keep], (rows[keep], columns[keep])), shape=(n, n)).tocsr()
    return sp.csr_array(S.maximum(S.T))


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ParameterError(f"{name}={value!r}; at least 1 was expected.")
