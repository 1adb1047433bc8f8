"""Coordinate descent on a tile of rows at a time: one row is one lane, the tile stays in the first cache.

A tile is two vectors wide. Slopes are computed for four coordinates from one reading of the tile, then the
four are moved one after the other: the iterates are those of the plain cyclic sweep.
"""

import numpy as np
from numba import njit

from vennmf.solvers.kernels.lanes import (
    BYTES,
    add_squares,
    at_least,
    at_most,
    lanes_of,
    load,
    spread,
    spread_number,
    store,
    transpose,
    where_positive,
    zeros,
)
from vennmf.solvers.kernels.threads import share

WORTH_A_THREAD = 4_000_000  # multiplications that outweigh waking another thread


def sweep(F, G, C, curvature, upper, n_sweeps):
    """The compiled twin of ``reference.sweep``."""
    n_rows, k = F.shape
    if not n_rows or not k:
        return 0.0
    contiguous(F, "F")
    G = padded_gram(G, F.dtype)
    C = np.ascontiguousarray(C, dtype=F.dtype)
    curvature = np.ascontiguousarray(curvature, dtype=F.dtype)
    height = 2 * BYTES // F.itemsize
    n_tiles = -(-n_rows // height)
    violations = np.empty(n_tiles)
    upper = F.dtype.type(upper)
    grain = WORTH_A_THREAD // (k * k * height * max(n_sweeps, 1)) + 1

    def tiles(first, last):
        _sweep_tiles(F, G, C, curvature, upper, n_sweeps, violations, first, last)

    share(tiles, n_tiles, grain)
    return float(violations.sum())


def contiguous(F, name):
    """Refuse an array that cannot be changed in place through its flat memory."""
    if not (F.flags.c_contiguous and F.flags.writeable and F.dtype in (np.float32, np.float64)):
        raise ValueError(
            f"{name}: expected a writeable C-contiguous array of float32 or float64, found {F.dtype} "
            f"with strides {F.strides}; pass numpy.ascontiguousarray({name})"
        )


def padded_gram(G, dtype):
    """G with zero rows and columns up to a multiple of four."""
    k = G.shape[0]
    if k % 4 == 0:
        return np.ascontiguousarray(G, dtype=dtype)
    padded = np.zeros((k + -k % 4, k + -k % 4), dtype=dtype)
    padded[:k, :k] = G
    return padded


@njit(nogil=True, cache=True)
def aligned(like, size):
    """Zeros of the type of ``like`` that begin on a cache line: (array, offset of its first number)."""
    memory = np.zeros(size + 64, dtype=like.dtype)
    return memory, (-memory.ctypes.data % 64) // memory.itemsize


@njit(nogil=True, cache=True)
def gather_tile(F, row, T, base):
    """T[j, lane] = F[row + lane, j]; lanes past the last row of F are zero."""
    n_rows, k = F.shape
    w = lanes_of(F)
    height = 2 * w
    n = min(height, n_rows - row)
    if k >= w and n == height:
        for half in range(0, height, w):
            for j in range(0, k - w + 1, w):
                transpose(F, (row + half) * k + j, k, T, base + j * height + half, height)
            transpose(F, (row + half) * k + k - w, k, T, base + (k - w) * height + half, height)
        return
    for j in range(k):
        for lane in range(n):
            T[base + j * height + lane] = F[row + lane, j]
        for lane in range(n, height):
            T[base + j * height + lane] = 0


@njit(nogil=True, cache=True)
def scatter_tile(T, base, F, row):
    """F[row + lane, j] = T[j, lane] for the rows that exist."""
    n_rows, k = F.shape
    w = lanes_of(F)
    height = 2 * w
    n = min(height, n_rows - row)
    if k >= w and n == height:
        for half in range(0, height, w):
            for j in range(0, k - w + 1, w):
                transpose(T, base + j * height + half, height, F, (row + half) * k + j, k)
            transpose(T, base + (k - w) * height + half, height, F, (row + half) * k + k - w, k)
        return
    for lane in range(n):
        for j in range(k):
            F[row + lane, j] = T[base + j * height + lane]


@njit(nogil=True, cache=True)
def _projected(gradient, f, upper):
    """The gradient where the coordinate may follow it; towards the inside only, at a bound."""
    zero = f - f
    inwards_low = where_positive(f, gradient, at_most(zero, gradient))
    return where_positive(upper - f, inwards_low, at_least(zero, gradient))


@njit(nogil=True, cache=True)
def _moved(f, slope, pivot, d, bent, upper):
    """clip(f - slope / (pivot + d), 0, upper), or f where there is no curvature."""
    bend = pivot + d
    return where_positive(bend, at_most(upper, at_least(f - f, f - slope / bend)), f)


@njit(nogil=True, cache=True)
def _sweep_tiles(F, G, C, curvature, upper, n_sweeps, violations, first, last):
    padded = G.shape[0]
    w = lanes_of(F)
    height = 2 * w
    size = padded * height
    scratch, base = aligned(F, 3 * size + height)
    cross = base + size
    old = cross + size
    bend = old + size
    squares = np.empty(height)
    for tile in range(first, last):
        row = tile * height
        gather_tile(F, row, scratch, base)
        gather_tile(C, row, scratch, cross)
        if curvature.size:
            for lane in range(height):
                scratch[bend + lane] = curvature[row + lane] if row + lane < F.shape[0] else 0
        scratch[old : old + size] = scratch[base : base + size]
        squares[:] = 0
        for n in range(max(n_sweeps, 1)):
            _pass(scratch, base, cross, old, bend, G, upper, squares, n == 0, n_sweeps > 0)
        violations[tile] = squares.sum()
        if n_sweeps:
            scatter_tile(scratch, base, F, row)


@njit(nogil=True, cache=True)
def _pass(T, base, cross, old, bend, G, upper, squares, measure, move):
    """One pass over the coordinates of a tile, four at a time; the first also adds up the violation."""
    padded = G.shape[0]
    w = lanes_of(T)
    height = 2 * w
    top = spread_number(upper)
    dp, dq = load(T, bend), load(T, bend + w)
    for t in range(0, padded, 4):
        row = t * padded
        at = base + t * height
        c = cross + t * height
        zero = zeros(T)
        p0, q0 = zero - load(T, c), zero - load(T, c + w)
        p1, q1 = zero - load(T, c + height), zero - load(T, c + height + w)
        p2, q2 = zero - load(T, c + 2 * height), zero - load(T, c + 2 * height + w)
        p3, q3 = zero - load(T, c + 3 * height), zero - load(T, c + 3 * height + w)
        for j in range(t, padded):
            fp, fq = load(T, base + j * height), load(T, base + j * height + w)
            g = spread(G, row + j)
            p0, q0 = p0 + g * fp, q0 + g * fq
            g = spread(G, row + padded + j)
            p1, q1 = p1 + g * fp, q1 + g * fq
            g = spread(G, row + 2 * padded + j)
            p2, q2 = p2 + g * fp, q2 + g * fq
            g = spread(G, row + 3 * padded + j)
            p3, q3 = p3 + g * fp, q3 + g * fq
        f0p, f0q = load(T, at), load(T, at + w)
        f1p, f1q = load(T, at + height), load(T, at + height + w)
        f2p, f2q = load(T, at + 2 * height), load(T, at + 2 * height + w)
        f3p, f3q = load(T, at + 3 * height), load(T, at + 3 * height + w)
        p0, q0 = p0 + dp * f0p, q0 + dq * f0q
        p1, q1 = p1 + dp * f1p, q1 + dq * f1q
        p2, q2 = p2 + dp * f2p, q2 + dq * f2q
        p3, q3 = p3 + dp * f3p, q3 + dq * f3q
        if measure:
            a0, b0, a1, b1, a2, b2, a3, b3 = p0, q0, p1, q1, p2, q2, p3, q3
            for j in range(t):
                fp, fq = load(T, old + j * height), load(T, old + j * height + w)
                g = spread(G, row + j)
                a0, b0 = a0 + g * fp, b0 + g * fq
                g = spread(G, row + padded + j)
                a1, b1 = a1 + g * fp, b1 + g * fq
                g = spread(G, row + 2 * padded + j)
                a2, b2 = a2 + g * fp, b2 + g * fq
                g = spread(G, row + 3 * padded + j)
                a3, b3 = a3 + g * fp, b3 + g * fq
            add_squares(squares, 0, _projected(a0, f0p, top))
            add_squares(squares, w, _projected(b0, f0q, top))
            add_squares(squares, 0, _projected(a1, f1p, top))
            add_squares(squares, w, _projected(b1, f1q, top))
            add_squares(squares, 0, _projected(a2, f2p, top))
            add_squares(squares, w, _projected(b2, f2q, top))
            add_squares(squares, 0, _projected(a3, f3p, top))
            add_squares(squares, w, _projected(b3, f3q, top))
            if not move:
                continue
        for j in range(t):
            fp, fq = load(T, base + j * height), load(T, base + j * height + w)
            g = spread(G, row + j)
            p0, q0 = p0 + g * fp, q0 + g * fq
            g = spread(G, row + padded + j)
            p1, q1 = p1 + g * fp, q1 + g * fq
            g = spread(G, row + 2 * padded + j)
            p2, q2 = p2 + g * fp, q2 + g * fq
            g = spread(G, row + 3 * padded + j)
            p3, q3 = p3 + g * fp, q3 + g * fq
        g00, g11 = spread(G, row + t), spread(G, row + padded + t + 1)
        g22, g33 = spread(G, row + 2 * padded + t + 2), spread(G, row + 3 * padded + t + 3)
        g01, g02, g03 = spread(G, row + t + 1), spread(G, row + t + 2), spread(G, row + t + 3)
        g12, g13 = spread(G, row + padded + t + 2), spread(G, row + padded + t + 3)
        g23 = spread(G, row + 2 * padded + t + 3)
        np_, nq = _moved(f0p, p0, g00, dp, 0, top), _moved(f0q, q0, g00, dq, 0, top)
        store(T, at, np_)
        store(T, at + w, nq)
        sp, sq = np_ - f0p, nq - f0q
        p1, q1 = p1 + g01 * sp, q1 + g01 * sq
        p2, q2 = p2 + g02 * sp, q2 + g02 * sq
        p3, q3 = p3 + g03 * sp, q3 + g03 * sq
        np_, nq = _moved(f1p, p1, g11, dp, 0, top), _moved(f1q, q1, g11, dq, 0, top)
        store(T, at + height, np_)
        store(T, at + height + w, nq)
        sp, sq = np_ - f1p, nq - f1q
        p2, q2 = p2 + g12 * sp, q2 + g12 * sq
        p3, q3 = p3 + g13 * sp, q3 + g13 * sq
        np_, nq = _moved(f2p, p2, g22, dp, 0, top), _moved(f2q, q2, g22, dq, 0, top)
        store(T, at + 2 * height, np_)
        store(T, at + 2 * height + w, nq)
        sp, sq = np_ - f2p, nq - f2q
        p3, q3 = p3 + g23 * sp, q3 + g23 * sq
        np_, nq = _moved(f3p, p3, g33, dp, 0, top), _moved(f3q, q3, g33, dq, 0, top)
        store(T, at + 3 * height, np_)
        store(T, at + 3 * height + w, nq)
