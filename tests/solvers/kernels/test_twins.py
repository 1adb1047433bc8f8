"""Each compiled kernel does what its NumPy twin says."""

import os
import platform
import subprocess
import sys

import numpy as np
import pytest
from scipy import optimize, sparse

from vennmf.solvers import kernels
from vennmf.solvers.kernels import reference

SHAPES = [
    (1, 1),
    (1, 7),
    (3, 4),
    (10, 3),
    (7, 16),
    (33, 17),
    (64, 8),
    (65, 60),
    (257, 33),
    (70, 4),
    (97, 5),
    (100, 1),
    (40, 15),
]
DTYPES = [np.float32, np.float64]


def form(rows, k, dtype, seed=0):
    """A start with zeros, a gram with a dead column where there is room for one, a cross of mixed signs."""
    rng = np.random.default_rng(seed)
    B = rng.random((40, k)) * (rng.random((40, k)) < 0.6)
    if k > 2:
        B[:, 1] = 0
    F = rng.random((rows, k)) * (rng.random((rows, k)) < 0.7)
    C = (rng.random((rows, 40)) - 0.2) @ B
    return F.astype(dtype), (B.T @ B).astype(dtype), C.astype(dtype)


def close(dtype):
    return {"rtol": 2e-4, "atol": 2e-5} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-11}


def value(F, G, C):
    F, G, C = (a.astype(np.float64) for a in (F, G, C))
    return 0.5 * np.vdot(F @ G, F) - np.vdot(F, C)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("upper", [np.inf, 0.5])
@pytest.mark.parametrize("curved", [False, True])
def test_sweep_visits_the_iterates_of_its_twin(shape, dtype, upper, curved):
    F, G, C = form(*shape, dtype)
    F = np.minimum(F, dtype(upper))
    curvature = np.linspace(0.5, 2, shape[0]).astype(dtype) if curved else np.empty(0, dtype)
    mine, theirs = F.copy(), F.copy()
    violation = kernels.sweep(mine, G, C, curvature, upper, 3)
    expected = reference.sweep(theirs, G, C, curvature, upper, 3)
    np.testing.assert_allclose(mine, theirs, **close(dtype))
    np.testing.assert_allclose(violation, expected, rtol=1e-4 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_coupled_sweep_visits_the_iterates_of_its_twin(shape, dtype):
    F, G, C = form(*shape, dtype)
    block = np.arange(shape[1]) % 3
    A = (np.array([[0, 2, 1], [2, 0, 0.5], [1, 0.5, 0]])[block][:, block]).astype(dtype)
    mine, theirs = F.copy(), F.astype(np.float64)
    violation = kernels.sweep_coupled(mine, G, C, A, 2)
    expected = reference.sweep_coupled(theirs, *(a.astype(np.float64) for a in (G, C, A)), 2)
    np.testing.assert_allclose(mine, theirs, **close(dtype))
    np.testing.assert_allclose(violation, expected, rtol=1e-5 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weight", [0, 0.3, 1e4])
def test_column_sweep_visits_the_iterates_of_its_twin(shape, dtype, weight):
    F, G, C = form(*shape, dtype)
    weights = np.linspace(0.5, 1.5, shape[1]) * weight
    mine, theirs = F.copy(), F.astype(np.float64)
    violation = kernels.sweep_column_maximum(mine, G, C, weights, 2)
    wide = (a.astype(np.float64) for a in (G, C))
    expected = reference.sweep_column_maximum(theirs, *wide, weights, 2)
    np.testing.assert_allclose(mine, theirs, **close(dtype))
    np.testing.assert_allclose(violation, expected, rtol=1e-4 if dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2341, 7), (700, 61)])  # smaller ones are left to the twin
@pytest.mark.parametrize("upper", [np.inf, 0.5])
@pytest.mark.parametrize("pulled", [False, True])
def test_multiplication_does_what_its_twin_does(shape, dtype, upper, pulled):
    F, G, C = form(*shape, dtype)
    F = np.minimum(F, dtype(upper))
    down, pull = F @ G, np.abs(C[::-1]) if pulled else None
    mine, theirs = F.copy(), F.copy()
    violation = kernels.multiply(mine, down.copy(), C, pull, upper)
    expected = reference.multiply(theirs, down.copy(), C, pull, upper)
    np.testing.assert_allclose(mine, theirs, **close(dtype))
    np.testing.assert_allclose(violation, expected, rtol=1e-5)
    assert np.isfinite(mine).all()
    np.testing.assert_array_equal(mine[:, 1], F[:, 1])  # its quotient is of two zeros


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("k", [1, 5, 16, 17, 50, 100, 130])
def test_sparse_products_equal_those_of_scipy(k, index, dtype):
    rng = np.random.default_rng(k)
    X = sparse.random_array((90, 70), density=0.1, format="csr", rng=rng, dtype=dtype)
    B, F = rng.random((70, k)).astype(dtype), rng.random((90, k)).astype(dtype)
    parts = X.data, X.indices.astype(index), X.indptr.astype(index)
    for right, product, rows in (
        (B, "sparse_times_dense", 90),
        (F, "transposed_times_dense", 70),
    ):
        expected = (X if rows == 90 else X.T).astype(np.float64) @ right.astype(np.float64)
        for twin in (kernels, reference):
            out = np.full((rows, k), np.nan, dtype)
            getattr(twin, product)(*parts, np.asfortranarray(right), out)
            np.testing.assert_allclose(out, expected, **close(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 3), (7, 1), (2500, 70), (40_000, 5)])
def test_sums_are_those_of_the_products(shape, dtype):
    F, G = np.random.default_rng(0).random((2, *shape)).astype(dtype)
    wide = F.astype(np.float64)
    np.testing.assert_allclose(kernels.column_squares(F), np.sum(wide**2, axis=0), rtol=1e-12)
    np.testing.assert_allclose(kernels.inner(F, G), np.sum(wide * G), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, (0, 5), (2500, 1), (2500, 70), (1025, 130)])
def test_gram_equals_the_product(shape, dtype):
    F = np.random.default_rng(0).random(shape).astype(dtype)
    gram = kernels.row_gram(F)
    assert gram.dtype == np.float64
    assert np.array_equal(gram, gram.T)
    np.testing.assert_allclose(gram, reference.row_gram(F), rtol=3e-6 if dtype == np.float32 else 1e-13)
    np.testing.assert_array_equal(kernels.row_gram(np.asfortranarray(F)), gram)


@pytest.mark.parametrize("shape", [(1, 1, 1), (300, 2000, 30), (5000, 40, 8)])
def test_dense_products_in_pieces_are_the_product(shape):
    rng = np.random.default_rng(0)
    A, B = rng.random(shape[:2]), rng.random(shape[1:])
    np.testing.assert_allclose(kernels.dense_product(A, B), A @ B, rtol=1e-12)
    np.testing.assert_allclose(kernels.dense_product(np.asfortranarray(A), B), A @ B, rtol=1e-12)


def test_columns_out_of_order_are_not_lost():
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 5000), density=0.1, format="csr", rng=rng)
    F = rng.random((400, 40))
    backwards = np.concatenate([np.arange(X.indptr[i + 1] - 1, X.indptr[i] - 1, -1) for i in range(400)])
    with kernels.threads(2):
        out = kernels.transposed_times_dense(X.data[backwards], X.indices[backwards], X.indptr, F, np.empty((5000, 40)))
    np.testing.assert_allclose(out, X.T @ F, rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_end_at_the_nonnegative_least_squares_solution(dtype):
    rng = np.random.default_rng(3)
    B = rng.random((40, 12)).astype(dtype)
    X = rng.random((30, 40)).astype(dtype)
    X[0] = 0
    F = np.zeros((30, 12), dtype)
    wide = B.astype(np.float64)
    ratio = kernels.nnls_rows(F, np.asfortranarray(wide.T @ wide), np.asfortranarray(X @ B), 1e-9, 1000)
    assert ratio < 1e-8
    expected = [optimize.nnls(wide, x)[0] for x in X.astype(np.float64)]
    np.testing.assert_allclose(F, expected, **close(dtype))
    theirs = np.zeros((30, 12))
    reference.nnls_rows(theirs, wide.T @ wide, (X @ B).astype(np.float64), 1e-9, 2000)
    np.testing.assert_allclose(F, theirs, rtol=1e-4, atol=1e-4 if dtype == np.float32 else 1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_bits_at_any_number_of_threads(dtype):
    F, G, C = form(3001, 40, dtype)
    A = np.kron(1 - np.eye(2), np.ones((20, 20)))
    X = sparse.random_array((3001, 900), density=0.05, format="csr", rng=np.random.default_rng(0), dtype=dtype)
    B = np.random.default_rng(1).random((900, 40)).astype(dtype)

    def everything():
        swept, coupled, solved = F.copy(), F[:50].copy(), F.copy()
        gathered, scattered = np.empty_like(F), np.empty_like(B)
        numbers = [
            kernels.sweep(swept, G, C, np.empty(0, dtype), np.inf, 2),
            kernels.sweep_coupled(coupled, G, C[:50], A, 1),
            kernels.nnls_rows(solved, G, C, 1e-6, 50),
        ]
        kernels.sparse_times_dense(X.data, X.indices, X.indptr, B, gathered)
        kernels.transposed_times_dense(X.data, X.indices, X.indptr, F, scattered)
        products = kernels.dense_product(F, B.T), kernels.dense_product(B.T, B)
        return [np.array(numbers), kernels.row_gram(F), *products, swept, coupled, solved, gathered, scattered]

    with kernels.threads(1):
        alone = everything()
    for n in (2, 3, 4):
        with kernels.threads(n):
            for mine, theirs in zip(everything(), alone, strict=True):
                assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_bits_where_only_large_arrays_are_shared_out(dtype):
    F, G, C = form(30_011, 40, dtype)
    down = F @ G

    def everything():
        multiplied, solved = F.copy(), F[:5000].copy()
        numbers = [
            kernels.multiply(multiplied, down, C, None, np.inf),
            kernels.inner(F, C),
            kernels.nnls_rows(solved, G, C[:5000], 1e-6, 50),
        ]
        return [np.array(numbers), kernels.column_squares(F), multiplied, solved]

    with kernels.threads(1):
        alone = everything()
    for n in (2, 4):
        with kernels.threads(n):
            for mine, theirs in zip(everything(), alone, strict=True):
                assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_no_sweep_raises_the_value(seed):
    F, G, C = form(60, 9, np.float64, seed)
    values = [value(F, G, C)]
    for _ in range(10):
        kernels.sweep(F, G, C, np.empty(0), np.inf, 1)
        values.append(value(F, G, C))
    kernels.nnls_rows(F, G, C, 1e-10, 500)
    values.append(value(F, G, C))
    assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))


@pytest.mark.parametrize("seed", range(4))
def test_no_coupled_sweep_raises_the_value(seed):
    F, G, C = form(60, 9, np.float64, seed)
    A = 5 * np.kron(1 - np.eye(3), np.ones((3, 3)))

    def total():
        return value(F, G, C) + 0.25 * np.sum(A * (F.T @ F) ** 2)

    values = [total()]
    for _ in range(10):
        kernels.sweep_coupled(F, G, C, A, 1)
        values.append(total())
    assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))


def test_a_factor_that_cannot_be_changed_in_place_is_refused():
    F, G, C = form(10, 4, np.float64)
    with pytest.raises(ValueError, match="C-contiguous"):
        kernels.sweep(np.asfortranarray(F), G, C, np.empty(0), np.inf, 1)


@pytest.mark.slow  # compiles all kernels again
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names features of x86 processors")
@pytest.mark.parametrize(("features", "expected"), [("+avx,+avx2,+fma", 32), ("+sse4.2", 16)])
def test_narrower_registers_do_the_same(features, expected):
    settings = os.environ | {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": features}
    code = (
        "import sys, pytest; from vennmf.solvers.kernels import lanes; "
        f"assert lanes.BYTES == {expected}; sys.exit(pytest.main(['-q', {__file__!r}]))"
    )
    found = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
