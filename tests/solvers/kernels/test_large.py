"""More than 2^31 entries: places are counted in 64 bits, whatever the type of the indices.

The arrays are zeros that nobody touches, which take address space and no memory, but for the few entries at their ends.
"""

import numpy as np
import pytest
from scipy import sparse

import vennmf as vn
from vennmf.solvers import kernels

FAR = 2**31


def untouched(shape, dtype):
    try:
        return np.zeros(shape, dtype)
    except MemoryError:
        pytest.skip("this machine grants no address space of eight gigabytes")


@pytest.mark.parametrize("product", ["sparse_times_dense", "transposed_times_dense"])
def test_entries_beyond_two_billion_are_found(product):
    data, indices = untouched(FAR + 8, np.float32), untouched(FAR + 8, np.int32)
    data[-3:], indices[-3:] = [2, 3, 5], [0, 1, 3]
    indptr = np.array([FAR + 5, FAR + 8], dtype=np.int64)
    row = sparse.csr_array(([2.0, 3.0, 5.0], [0, 1, 3], [0, 3]), shape=(1, 4))
    right = np.random.default_rng(0).random((4 if product == "sparse_times_dense" else 1, 20), dtype=np.float32)
    expected = (row if product == "sparse_times_dense" else row.T) @ right
    found = getattr(kernels, product)(data, indices, indptr, right, np.empty(expected.shape, np.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_factors_of_more_than_two_billion_numbers_are_read_where_they_are():
    k = 16
    B = untouched((FAR // k + 4, k), np.float32)
    B[-1] = np.arange(k)
    last = np.array([len(B) - 1], dtype=np.int32)  # fits in 32 bits; times k it does not
    out = np.empty((1, k), np.float32)
    kernels.sparse_times_dense(np.array([2], np.float32), last, np.array([0, 1], np.int32), B, out)
    np.testing.assert_array_equal(out[0], 2 * np.arange(k))


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
def test_the_type_of_the_indices_does_not_show_in_the_bits():
    X = sparse.random_array((300, 200), density=0.05, format="csr", rng=np.random.default_rng(0))
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    narrow, large = (vn.NMF(4, max_iter=8, random_state=0).fit(matrix) for matrix in (X, wide))
    np.testing.assert_array_equal(narrow.components_["shared"], large.components_["shared"])
