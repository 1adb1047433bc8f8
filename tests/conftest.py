"""Drawn problems and measures that many tests share."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.matrices import ViewSet

PATTERNS = {
    "one source": ({"a": 30}, {"a": 3}),
    "shared and private": ({"a": 30, "b": 25}, {"all": 2, "a": 2, "b": 1}),
    "nothing shared": ({"a": 30, "b": 25}, {"a": 3, "b": 2}),
    "all shared": ({"a": 30, "b": 25}, {"all": 3}),
    "three sources, pairs": ({"a": 20, "b": 25, "c": 15}, {"all": 1, ("a", "b"): 2, ("b", "c"): 1, "c": 1}),
}


def draw(seed, items, n_features=18, *, sparse=False, dtype=np.float64, rank=4):
    """Matrices by source with some structure, some noise and many zeros."""
    rng = np.random.default_rng(seed)
    basis = rng.random((rank, n_features)) ** 3
    out = {}
    for name, n in items.items():
        X = rng.random((n, rank)) ** 2 @ basis + 0.1 * rng.random((n, n_features))
        X[np.quantile(X, 0.4) > X] = 0
        X = X.astype(dtype)
        out[name] = sp.csr_array(X) if sparse else X
    return out


@pytest.fixture
def two_sources():
    return draw(0, {"x": 60, "y": 50}, 40, rank=6)


@pytest.fixture
def two_views():
    return ViewSet.of(draw(0, {"x": 60, "y": 50}, 40, rank=6))


def peak_of(work):
    """Bytes that an action held at most, beyond those it found."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
