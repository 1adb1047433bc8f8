"""Sparse times dense, both ways round, from one copy of X in compressed rows.

Every row of a result, or of each of a fixed number of sums for it, is summed by one thread in the order of its entries: the bits
depend on nobody else. The second is the slower of the two while F is in the cache: who can afford a second copy of X, by
columns, and needs many products, then passes that copy to the first.
"""

import numpy as np

from vennmf.solvers.kernels.compiled import compiled, merged, nested, smaller
from vennmf.solvers.kernels.lanes import lanes_of, load, load_first, spread, store, store_first, zeros
from vennmf.solvers.kernels.sweeps import contiguous
from vennmf.solvers.kernels.threads import n_threads, share

WORTH_A_THREAD = 1_000_000  # multiplications that outweigh waking another thread
MOST_SUMS = 16
SCANNED = 16  # entries of a row that are looked through one by one sooner than by halves


def sparse_times_dense(data, indices, indptr, B, out):
    """The compiled twin of ``reference.sparse_times_dense``."""
    contiguous(out, "out")
    n_rows, k = out.shape
    data, B = np.ascontiguousarray(data, dtype=out.dtype), np.ascontiguousarray(B, dtype=out.dtype)

    def rows(first, last):
        _gather_rows(data, indices, indptr, B, out, first, last)

    if out.size:
        entries = int(indptr[-1] - indptr[0])  # of these rows: data may hold those of others, too
        share(rows, n_rows, 1 + WORTH_A_THREAD * n_rows // (entries * k + 1))
    return out


def transposed_times_dense(data, indices, indptr, F, out):
    """The compiled twin of ``reference.transposed_times_dense``."""
    contiguous(out, "out")
    data, F = np.ascontiguousarray(data, dtype=out.dtype), np.ascontiguousarray(F, dtype=out.dtype)
    n_sums = accumulators(data.nbytes + indices.nbytes, out.nbytes)
    if out.size and n_sums > 1:
        _scattered_by_rows(data, indices, indptr, F, out, n_sums)
    elif out.size:
        _scattered_by_columns(data, indices, indptr, F, out)
    return out


def accumulators(data_bytes, out_bytes):
    """How many sums a scatter makes side by side, each of some rows of X: beside the result itself, as many as the bytes of X hold.

    The bits depend on it, so it must not depend on the threads.
    """
    return 1 + min(MOST_SUMS - 1, data_bytes // (out_bytes + 1))


def _scattered_by_rows(data, indices, indptr, F, out, n_sums):
    """Each thread has rows of X to itself and a sum of its own; the sums are added in their order."""
    cuts = np.searchsorted(indptr, data.size * np.arange(1, n_sums) // n_sums)
    cuts = [0, *map(int, cuts), F.shape[0]]
    sums = [out, *np.empty((n_sums - 1, *out.shape), out.dtype)]

    def rows(first, last):
        for i in range(first, last):
            sums[i][...] = 0
            part = slice(cuts[i], cuts[i + 1])
            _scatter_columns(data, indices, indptr[cuts[i] : cuts[i + 1] + 1], F[part], sums[i], 0, len(out))

    def added(first, last):
        for more in sums[1:]:
            out[first:last] += more[first:last]

    share(rows, n_sums, 1 + WORTH_A_THREAD * n_sums // (data.size * out.shape[1] + 1))
    share(added, len(out), 1 + WORTH_A_THREAD // out.shape[1])


def _scattered_by_columns(data, indices, indptr, F, out):
    """Each thread has columns of X, rows of the result, to itself, and looks through all rows of X for them."""
    n_columns, k = out.shape
    n_parts = 1 if data.size * k < 4 * WORTH_A_THREAD or n_threads() == 1 else 2 * n_threads()
    cuts = _even_cuts(indices, n_columns, n_parts)
    used = np.zeros(n_parts, dtype=np.int64)

    def columns(first, last):
        for i in range(first, last):
            out[cuts[i] : cuts[i + 1]] = 0
            used[i] = _scatter_columns(data, indices, indptr, F, out[cuts[i] : cuts[i + 1]], cuts[i], cuts[i + 1])

    share(columns, n_parts, 1)
    if used.sum() < data.size:  # columns out of order were passed over: take all at once
        cuts = [0, n_columns]
        columns(0, 1)


def _even_cuts(indices, n_columns, n_parts):
    """Columns that cut the entries into about equal parts, judged by a sample of them."""
    sample = np.sort(indices[:: 1 + indices.size // 4096])
    inner = [sample[sample.size * i // n_parts] for i in range(1, n_parts)] if sample.size else [0] * (n_parts - 1)
    return [0, *map(int, inner), n_columns]


@compiled
def _gather_rows(data, indices, indptr, B, out, first, last):
    """out[first:last] = X[first:last] B."""
    k = out.shape[1]
    w = lanes_of(out)
    panels = -(-k // (4 * w))
    for i in range(first, last):
        begin, end = indptr[i], indptr[i + 1]
        if k < w:
            _gather_narrow(data, indices, B, out, i, begin, end)
        elif k <= 2 * w:
            _gather_slim(data, indices, B, out, i, begin, end)
        else:
            for n in range(panels):
                _gather_panel(data, indices, B, out, i, n * k // panels, (n + 1) * k // panels, begin, end)


@merged
def _gather_narrow(data, indices, B, out, i, begin, end):
    """A row shorter than a vector."""
    k = out.shape[1]
    a = zeros(out)
    for p in range(begin, end):
        a = a + spread(data, p) * load_first(B, np.intp(indices[p]) * k, k)
    store_first(out, i * k, k, a)


@merged
def _gather_slim(data, indices, B, out, i, begin, end):
    """A row of up to two vectors: the second ends where the row ends, and may overlap the first."""
    k = out.shape[1]
    second = k - lanes_of(out)
    a = b = zeros(out)
    for p in range(begin, end):
        x = spread(data, p)
        q = np.intp(indices[p]) * k
        a, b = a + x * load(B, q), b + x * load(B, q + second)
    store(out, i * k, a)
    store(out, i * k + second, b)


@merged
def _gather_panel(data, indices, B, out, i, t, stop, begin, end):
    """Columns t to stop of a row, in four vectors: those that would pass the end overlap the one before."""
    k = out.shape[1]
    w = lanes_of(out)
    most = stop - w
    t1, t2, t3 = smaller(t + w, most), smaller(t + 2 * w, most), smaller(t + 3 * w, most)
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


@nested
def _first_from(indices, begin, stop, low):
    """The first place from begin whose index is at least low, in a row of ascending ones."""
    most = stop
    while most - begin > SCANNED:
        middle = (begin + most) // 2
        if indices[middle] < low:
            begin = middle + 1
        else:
            most = middle
    while begin < stop and indices[begin] < low:
        begin += 1
    return begin


@compiled
def _scatter_columns(data, indices, indptr, F, out, low, high):
    """out += X[:, low:high]^T F; returns how many entries of X were used."""
    k = out.shape[1]
    w = lanes_of(out)
    panels = -(-k // (4 * w))
    used = 0
    for i in range(F.shape[0]):
        begin, stop = _first_from(indices, indptr[i], indptr[i + 1], low), indptr[i + 1]
        end = begin
        while end < stop and low <= indices[end] < high:
            end += 1
        used += end - begin
        if k < w:
            _scatter_narrow(data, indices, F, out, i, begin, end, low)
        elif k <= 2 * w:
            _scatter_slim(data, indices, F, out, i, begin, end, low)
        else:
            for n in range(panels):
                t, until = n * k // panels, (n + 1) * k // panels
                _scatter_panel(data, indices, F, out, i, t, until, begin, end, low)
    return used


@merged
def _scatter_narrow(data, indices, F, out, i, begin, end, low):
    """Rows shorter than a vector."""
    k = out.shape[1]
    f = load_first(F, i * k, k)
    for p in range(begin, end):
        q = np.intp(indices[p] - low) * k
        store_first(out, q, k, load_first(out, q, k) + spread(data, p) * f)


@merged
def _scatter_slim(data, indices, F, out, i, begin, end, low):
    """Rows of up to two vectors, which may overlap: both are read before one is written."""
    k = out.shape[1]
    second = k - lanes_of(out)
    f, g = load(F, i * k), load(F, i * k + second)
    for p in range(begin, end):
        x = spread(data, p)
        q = np.intp(indices[p] - low) * k
        a, b = load(out, q) + x * f, load(out, q + second) + x * g
        store(out, q, a)
        store(out, q + second, b)


@merged
def _scatter_panel(data, indices, F, out, i, t, stop, begin, end, low):
    """Columns t to stop of some rows, in four vectors, which may overlap: all are read before one is written."""
    k = out.shape[1]
    w = lanes_of(out)
    most = stop - w
    t1, t2, t3 = smaller(t + w, most), smaller(t + 2 * w, most), smaller(t + 3 * w, most)
    row = i * k
    f, f1, f2, f3 = load(F, row + t), load(F, row + t1), load(F, row + t2), load(F, row + t3)
    for p in range(begin, end):
        x = spread(data, p)
        q = np.intp(indices[p] - low) * k
        a, b = load(out, q + t) + x * f, load(out, q + t1) + x * f1
        c, d = load(out, q + t2) + x * f2, load(out, q + t3) + x * f3
        store(out, q + t, a)
        store(out, q + t1, b)
        store(out, q + t2, c)
        store(out, q + t3, d)
