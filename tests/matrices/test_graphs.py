"""Graphs over items are those of their definitions, sparse and symmetric."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import vennmf as vn
from vennmf.matrices.graphs import between_class_graph, neighbour_graph, same_class_graph

Y = np.array([0, 0, 0, 1, 1, 2, -1, -1, 1, 2])


def points(seed=0):
    return np.random.default_rng(seed).random((10, 3))


@pytest.mark.parametrize("sparse", [False, True])
def test_neighbours_are_joined_either_way_round(sparse):
    X = points()
    S = neighbour_graph(sp.csr_array(X) if sparse else X, 2).toarray()
    D = cdist(X, X) + np.diag(np.full(10, np.inf))
    near = np.argsort(D, axis=1)[:, :2]
    expected = np.zeros((10, 10))
    expected[np.repeat(np.arange(10), 2), near.ravel()] = 1
    assert np.array_equal(S, np.maximum(expected, expected.T))


def test_heat_weighs_close_neighbours_more():
    X = points()
    S = neighbour_graph(X, 3, heat=True).tocoo()
    D = cdist(X, X)[S.row, S.col]
    assert np.all(np.diff(S.data[np.argsort(D)]) <= 0)
    assert 0 < S.data.min() <= S.data.max() <= 1


def test_items_of_a_class_are_all_joined_and_no_others():
    S = same_class_graph(points(), Y).toarray()
    expected = (Y[:, None] == Y[None, :]) & (Y >= 0)[:, None] & ~np.eye(10, dtype=bool)
    assert np.array_equal(S > 0, expected)


@pytest.mark.parametrize("n_pairs", [1, 3, 100])
def test_the_closest_pairs_of_each_class_are_found(n_pairs):
    X = points()
    S = between_class_graph(X, Y, n_pairs).toarray()
    D = cdist(X, X)
    expected = np.zeros((10, 10))
    for c in range(3):
        pairs = [(i, j) for i in np.flatnonzero(c == Y) for j in np.flatnonzero((Y >= 0) & (c != Y))]
        for i, j in sorted(pairs, key=lambda pair: D[pair])[:n_pairs]:
            expected[i, j] = expected[j, i] = 1
    assert np.array_equal(S, expected)


def test_labels_of_one_class_or_none_leave_no_pairs_between_classes():
    assert between_class_graph(points(), np.zeros(10, int)).nnz == 0
    assert same_class_graph(points(), np.full(10, -1)).nnz == 0
    assert neighbour_graph(points()[:1], 3).nnz == 0


def test_nothing_is_dense():
    X = sp.random(3000, 50, density=0.1, format="csr", random_state=0)
    y = np.where(np.arange(3000) % 10 == 0, np.arange(3000) // 10 % 7, -1)
    for S in (neighbour_graph(X, 5), same_class_graph(X, y, 4), between_class_graph(X, y)):
        assert isinstance(S, sp.csr_array)
        assert S.nnz < 3000 * 12
        assert abs(S - S.T).max() == 0


def test_a_graph_needs_at_least_one_neighbour():
    with pytest.raises(vn.ParameterError, match="n_neighbors=0"):
        neighbour_graph(points(), 0)
