"""Which images look alike and which tags go together: the two graphs of PJMF and their Laplacians."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from vennmf.errors import SourceError
from vennmf.model.unified_space import Features

Array = NDArray[Any]

PAIRS = 200_000
"""Pairs of images from which a mean distance is estimated where all of them are more."""


class MeanDistance(NamedTuple):
    """The mean distance of two images, and the standard error of it where it is an estimate, else 0."""

    value: float
    standard_error: float


def mean_distance(X: Features, rng: np.random.Generator) -> MeanDistance:
    """Eq. (12): the mean over all pairs of images, or over random pairs where they are too many."""
    n = X.shape[0]
    if n < 2:
        return MeanDistance(0.0, 0.0)
    whole = n * (n - 1) // 2 <= PAIRS
    if whole:
        first, second = np.triu_indices(n, 1)
    else:
        first = rng.integers(0, n, PAIRS)
        second = (first + rng.integers(1, n, PAIRS)) % n
    distances = np.concatenate(
        [
            _distances(X, first[start : start + 4096], second[start : start + 4096])
            for start in range(0, len(first), 4096)
        ]
    )
    error = 0.0 if whole else float(distances.std(ddof=1) / np.sqrt(len(distances)))
    return MeanDistance(float(distances.mean()), error)


def _distances(X: Features, first: Array, second: Array) -> Array:
    difference = X.raw[first] - X.raw[second]
    squares = difference.multiply(difference) if sp.issparse(difference) else difference * difference
    return np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64).ravel())


def image_graph(X: Features, n_neighbors: int, width: float) -> sp.csr_array:
    """Eq. (11) on the K nearest neighbours: exp(-‖x_i - x_j‖² / width²) where either image is near the other.

    Neighbours are exact, found in blocks; images are fewer than K + 1 if need be.
    """
    n = X.shape[0]
    n_neighbors = min(n_neighbors, n - 1)
    if n_neighbors < 1:
        return sp.csr_array((n, n), dtype=X.dtype)
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(X.raw)
    distances = sp.csr_array(search.kneighbors_graph(mode="distance"))
    distances.data = np.exp(-((distances.data / (width or 1.0)) ** 2))
    return sp.csr_array(distances.maximum(distances.T)).astype(X.dtype)


def graph_of_neighbors(neighbors: Array) -> sp.csr_array:
    """A graph of weight 1 from a table of neighbours, one row of positions for each image."""
    n, k = neighbors.shape
    graph = sp.csr_array((np.ones(n * k), neighbors.ravel(), k * np.arange(n + 1)), shape=(n, n))
    graph.sum_duplicates()
    graph.data[:] = 1.0
    return sp.csr_array(graph.maximum(graph.T))


def given_graph(neighbors: Any, n: int) -> sp.csr_array:
    """A graph of n images that the user brings: a table of neighbours, or sparse similarities, made symmetric."""
    if sp.issparse(neighbors):
        graph = sp.csr_array(neighbors)
        if graph.shape != (n, n) or not np.all(graph.data >= 0) or not np.isfinite(graph.data).all():
            least = f" with entries from {graph.data.min():g}" if graph.nnz else ""
            raise SourceError(
                f"neighbors must be finite similarities >= 0 of {n:,} × {n:,} images; found shape {graph.shape}{least}."
            )
        return sp.csr_array(graph.maximum(graph.T))
    table = np.asarray(neighbors)
    fits = table.ndim == 2 and len(table) == n and table.dtype.kind in "iu"
    if not fits or (table.size and not 0 <= table.min() <= table.max() < n):
        raise SourceError(
            f"neighbors must be a table of row numbers 0 to {n - 1:,}, one row for each of {n:,} images; found shape "
            f"{table.shape} of {table.dtype}."
        )
    return graph_of_neighbors(table)


def tag_graph(Y: sp.csr_array) -> sp.csr_array:
    """Eq. (13): images that carry both tags over images that carry either, without the diagonal."""
    together = sp.coo_array(Y.T @ Y)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    row, column = together.coords
    apart = row != column
    row, column, both = row[apart], column[apart], together.data[apart]
    values = both / (counts[row] + counts[column] - both)
    return sp.csr_array((values, (row, column)), shape=together.shape)


def normalised_laplacian(S: sp.csr_array) -> sp.csr_array:
    """Eq. (9): D^-1/2 (D - S) D^-1/2, with zero rows for what has no neighbour.

    Then tr VᵀLV = ½ Σ S_ij ‖v_i/√D_ii - v_j/√D_jj‖²; the roots are missing in the paper's eq. (8).
    """
    degrees = np.asarray(S.sum(axis=1), dtype=np.float64).ravel()
    linked = degrees > 0
    roots = sp.diags_array(np.where(linked, 1 / np.sqrt(np.where(linked, degrees, 1.0)), 0.0))
    laplacian = sp.diags_array(linked.astype(np.float64)) - roots @ S @ roots
    return sp.csr_array(laplacian).astype(S.dtype)
