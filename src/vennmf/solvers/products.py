"""The only place where a data matrix is multiplied."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from vennmf.matrices.view import Matrix
from vennmf.model.form import Array
from vennmf.solvers import kernels

ALL = slice(None)
STRETCH = 2 << 20
"""Bytes of the products of a few rows that are held at once: they stay in the cache until these rows are swept."""


def times(X: Matrix, R: Array, rows: slice = ALL) -> Array:
    """X R, dense, or some of its rows; none of X is copied."""
    if not sp.issparse(X):
        return kernels.dense_product(X, R, rows)
    first, last, _ = rows.indices(X.shape[0])
    out = np.empty((last - first, R.shape[1]), X.dtype)
    return kernels.sparse_times_dense(X.data, X.indices, X.indptr[first : last + 1], R, out)


def stretches(n_rows: int, width: int) -> list[slice]:
    """Consecutive rows of about STRETCH bytes each, of so many bytes a row; the cuts depend on nothing else."""
    height = max(STRETCH // (1024 * width), 1) * 1024
    return [slice(first, min(first + height, n_rows)) for first in range(0, max(n_rows, 1), height)]


def transposed_times(X: Matrix, L: Array, rows: slice = ALL) -> Array:
    """Xᵀ L, dense, or some of its rows; where X is sparse, all are computed for it."""
    if not sp.issparse(X):
        return kernels.dense_product(X.T, L, rows)
    out = np.empty((X.shape[1], L.shape[1]), X.dtype)
    return kernels.transposed_times_dense(X.data, X.indices, X.indptr, L, out)[rows]


def gram(F: Array) -> Array:
    """FᵀF, summed in float64."""
    return kernels.row_gram(F)


def hadamard_gram(factors: list[Array]) -> Array:
    """Gram of a Khatri–Rao product: the Hadamard product of the factors' grams."""
    total = gram(factors[0])
    for F in factors[1:]:
        total = total * gram(F)
    return total


def khatri_rao(factors: list[Array]) -> Array:
    """Column by column the Kronecker product, the last factor's rows fastest; a single factor itself."""
    product = factors[0]
    for F in factors[1:]:
        product = (product[:, None, :] * F[None, :, :]).reshape(-1, F.shape[1])
    return product


def contracted(T: Array, sizes: list[int], keep: int, factors: list[Array]) -> Array:
    """Multiply the unfolded modes of T (modes × k) with a factor each, but the kept one, column by column."""
    k = T.shape[1]
    T = T.reshape(*sizes, k)
    after, before = factors[keep:], factors[:keep]
    for F in reversed(after):
        T = np.einsum("...ak,ak->...k", T, F)
    for F in before:
        T = np.einsum("a...k,ak->...k", T, F)
    return np.ascontiguousarray(T)


def inner(A: Array, B: Array) -> float:
    """<A, B>, summed in float64."""
    return kernels.inner(np.ascontiguousarray(A), np.ascontiguousarray(B))


def squared_norms(F: Array) -> Array:
    """Squared norms of the columns, summed in float64."""
    return kernels.column_squares(F)


def rescale(F: Array, multipliers: Array) -> None:
    """Multiply the columns, in place, on all threads."""

    def rows(first: int, last: int) -> None:
        F[first:last] *= multipliers

    kernels.share(rows, len(F), 1 + STRETCH // (1 + F[:1].nbytes))


def squared_residual(X: Matrix, L: Array, R: Array) -> float:
    """‖X − L Rᵀ‖², never forming L Rᵀ where X is sparse."""
    values = X.data if sp.issparse(X) else X
    squared = float(np.einsum("i,i->", values.ravel(), values.ravel(), dtype=np.float64))
    return squared - 2 * inner(times(X, R), L) + float(np.sum(gram(L) * gram(R)))


def rows_of(X: Matrix, rows: Any) -> Array:
    """A few rows as a dense array."""
    part = X[rows]
    return part.toarray() if sp.issparse(part) else np.asarray(part)
