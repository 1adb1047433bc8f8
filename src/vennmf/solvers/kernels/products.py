"""Sparse times dense, both ways round, from one copy of X in compressed rows.

Every row of a result is summed by one thread in the order of its entries: the bits depend on nobody else.
"""

import numpy as np
from numba import njit

from vennmf.solvers.kernels.lanes import lanes_of, load, spread, store, zeros
from vennmf.solvers.kernels.sweeps import contiguous
from vennmf.solvers.kernels.threads import n_threads, share

WORTH_A_THREAD = 1_000_000  # multiplications that outweigh waking another thread
NEAR = 1 << 19  # bytes of a result that stay close to a processor while entries are scattered into it


def sparse_times_dense(data, indices, indptr, B, out):
    """out = X B for X in compressed rows; reads B (columns, k), writes out (rows, k). Cost: entries * k."""
    contiguous(out, "out")
    data, B = _like(out, data), _like(out, B)
    n_rows, k = out.shape
    grain = 1 + WORTH_A_THREAD * n_rows // (data.size * k + 1)
    share(lambda first, last: _gather_rows(data, indices, indptr, B, out, first, last), n_rows, grain)
    return out


def transposed_times_dense(data, indices, indptr, F, out):
    """out = X^T F for X in compressed rows with sorted columns; reads F (rows, k), writes out (columns, k).

    Bands of columns are filled one after the other, so that what is being written stays in the cache.
    Cost: entries * k.
    """
    contiguous(out, "out")
    data, F = _like(out, data), _like(out, F)
    n_columns, k = out.shape
    n_rows = F.shape[0]
    share_of_columns = -(-n_columns // min(4 * n_threads(), 1 + data.size * k // WORTH_A_THREAD))
    band = max(1, NEAR // (max(k, 1) * out.itemsize))
    starts = np.arange(0, n_columns, share_of_columns)
    used = np.zeros(starts.size, dtype=np.int64)

    def columns(first, last):
        for i in range(first, last):
            low, high = starts[i], min(starts[i] + share_of_columns, n_columns)
            used[i] = _scatter_columns(data, indices, indptr, F, out, low, high, band, n_rows)

    share(columns, starts.size, 1)
    if used.sum() != data.size:
        raise ValueError(
            "transposed_times_dense: expected columns sorted within each row, found some out of order; "
            "call X.sort_indices() first"
        )
    return out


def row_gram(F):
    """F^T F, accumulated in float64."""
    wide = F.astype(np.float64, copy=False)
    return wide.T @ wide


def _like(out, array):
    return np.ascontiguousarray(array, dtype=out.dtype)


@njit(nogil=True, cache=True)
def _gather_rows(data, indices, indptr, B, out, first, last):
    k = out.shape[1]
    w = lanes_of(out)
    panels = -(-k // (4 * w))
    for i in range(first, last):
        begin, end = indptr[i], indptr[i + 1]
        if k >= w:
            for n in range(panels):
                _gather_panel(data, indices, B, out, i, n * k // panels, (n + 1) * k // panels, begin, end)
            continue
        for t in range(k):
            out[i, t] = 0
        for p in range(begin, end):
            x, c = data[p], indices[p]
            for t in range(k):
                out[i, t] += x * B[c, t]


@njit(nogil=True, cache=True)
def _gather_panel(data, indices, B, out, i, t, stop, begin, end):
    """out[i, t:stop] = X[i] B, in four vectors; those that would pass the end overlap the one before."""
    k = out.shape[1]
    w = lanes_of(out)
    t1, t2, t3 = min(t + w, stop - w), min(t + 2 * w, stop - w), min(t + 3 * w, stop - w)
    at = i * k
    a = b = c = d = zeros(out)
    for p in range(begin, end):
        x = spread(data, p)
        q = np.intp(indices[p]) * k
        a, b = a + x * load(B, q + t), b + x * load(B, q + t1)
        c, d = c + x * load(B, q + t2), d + x * load(B, q + t3)
    store(out, at + t, a)
    store(out, at + t1, b)
    store(out, at + t2, c)
    store(out, at + t3, d)


@njit(nogil=True, cache=True)
def _scatter_columns(data, indices, indptr, F, out, low, high, band, n_rows):
    """Rows low:high of X^T F, a band at a time; returns how many entries of X were used."""
    k = out.shape[1]
    w = lanes_of(out)
    panels = -(-k // (4 * w))
    used = 0
    cursor = np.empty(n_rows, dtype=indptr.dtype)
    for i in range(n_rows):
        begin, end = indptr[i], indptr[i + 1]
        cursor[i] = begin + np.searchsorted(indices[begin:end], low) if low else begin
    for c in range(low, high):
        for t in range(k):
            out[c, t] = 0
    while low < high:
        stop = min(low + band, high)
        for i in range(n_rows):
            begin = end = cursor[i]
            last = indptr[i + 1]
            while end < last and low <= indices[end] < stop:
                end += 1
            cursor[i] = end
            used += end - begin
            if begin == end:
                continue
            if k >= w:
                for n in range(panels):
                    _scatter_panel(data, indices, F, out, i, n * k // panels, (n + 1) * k // panels, begin, end)
                continue
            for p in range(begin, end):
                x, c = data[p], indices[p]
                for t in range(k):
                    out[c, t] += x * F[i, t]
        low = stop
    return used


@njit(nogil=True, cache=True)
def _scatter_panel(data, indices, F, out, i, t, stop, begin, end):
    """out[c, t:stop] += X[i, c] F[i] for some entries; vectors may overlap: all are read, then written."""
    k = out.shape[1]
    w = lanes_of(out)
    t1, t2, t3 = min(t + w, stop - w), min(t + 2 * w, stop - w), min(t + 3 * w, stop - w)
    row = i * k
    f, f1, f2, f3 = load(F, row + t), load(F, row + t1), load(F, row + t2), load(F, row + t3)
    for p in range(begin, end):
        x = spread(data, p)
        q = np.intp(indices[p]) * k
        a, b = load(out, q + t) + x * f, load(out, q + t1) + x * f1
        c, d = load(out, q + t2) + x * f2, load(out, q + t3) + x * f3
        store(out, q + t, a)
        store(out, q + t1, b)
        store(out, q + t2, c)
        store(out, q + t3, d)
