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
    prefetch,
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

    size, spare = G.shape[0] * height, height * height // 2  # what narrow tiles write past their last line

    def tiles(first, last):
        scratch, squares = aligned(3 * size + height + spare, F.dtype), aligned(height, np.float64)
        _sweep_tiles(F, G, C, curvature, upper, n_sweeps, violations, scratch, squares, first, last)

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


def aligned(size, dtype):
    """Memory that begins on a cache line; what it holds is arbitrary."""
    memory = np.empty(size + BYTES, dtype=dtype)
    skip = -memory.ctypes.data % 64 // memory.itemsize
    return memory[skip : skip + size]


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
def _gather(F, row, T, base):
    """As ``gather_tile``; where rows are shorter than a vector, each is read with what follows it.

    Then lines past the last of the tile are overwritten, those up to a multiple of four with zeros.
    """
    k = F.shape[1]
    w = lanes_of(F)
    height = 2 * w
    if not _narrow(F, row):
        gather_tile(F, row, T, base)
        return
    transpose(F, row * k, k, T, base, height)
    transpose(F, (row + w) * k, k, T, base + w, height)
    for i in range(base + k * height, base + (k + -k % 4) * height, w):
        store(T, i, zeros(T))


@njit(nogil=True, cache=True)
def _scatter(T, base, room, F, row):
    """As ``scatter_tile``; where rows are shorter than a vector, by way of T from ``room`` on."""
    k = F.shape[1]
    w = lanes_of(F)
    height = 2 * w
    if not _narrow(F, row):
        scatter_tile(T, base, F, row)
        return
    transpose(T, base, height, T, room, k)
    transpose(T, base + w, height, T, room + w * k, k)
    for i in range(0, height * k, w):
        store(F, row * k + i, load(T, room + i))


@njit(nogil=True, cache=True)
def _narrow(F, row):
    """Whether rows are shorter than a vector and a vector may be read from each of a tile."""
    k, w = F.shape[1], lanes_of(F)
    return k < w and (row + 2 * w - 1) * k + w <= F.size


@njit(nogil=True, cache=True)
def _sweep_tiles(F, G, C, curvature, upper, n_sweeps, violations, scratch, squares, first, last):
    """Scratch holds, one after the other, the rows' curvature, a tile of F, of C, and of F as it was."""
    k, padded = F.shape[1], G.shape[0]
    height = 2 * lanes_of(F)
    now, cross, old = height, height * (padded + 1), height * (2 * padded + 1)
    for i in range(scratch.size):
        scratch[i] = 0
    for tile in range(first, last):
        row = tile * height
        _gather(F, row, scratch, now)
        _gather(C, row, scratch, cross)
        for i in range((row + height) * k, (row + 2 * height) * k, lanes_of(F)):  # the next tile, meanwhile
            prefetch(F, i)
            prefetch(C, i)
        for i in range(k * height):
            scratch[old + i] = scratch[now + i]
        if curvature.size:
            for lane in range(height):
                scratch[lane] = curvature[row + lane] if row + lane < F.shape[0] else 0
        for lane in range(height):
            squares[lane] = 0
        for n in range(max(n_sweeps, 1)):
            _pass(scratch, now, cross, old, G, upper, squares, n == 0, n_sweeps > 0)
        total = 0.0
        for lane in range(height):
            total += squares[lane]
        violations[tile] = total
        if n_sweeps:
            _scatter(scratch, now, old, F, row)


@njit(nogil=True, cache=True)
def _pass(T, now, cross, old, G, upper, squares, measure, move):
    """One pass over the coordinates of a tile, four at a time; the first also adds up the violation."""
    k, w = G.shape[0], lanes_of(T)
    height = 2 * w
    bend = load(T, 0), load(T, w)
    top = spread_number(upper)
    for t in range(0, k, 4):
        at, row = now + t * height, t * k
        slopes = _begin(T, at, cross + t * height, bend)
        slopes = _add_products(slopes, T, at, G, row + t, k - t)
        if measure:
            before = _add_products(slopes, T, old, G, row, t)
            for i in range(4):
                f = at + i * height
                add_squares(squares, 0, _projected(before[2 * i], load(T, f), top))
                add_squares(squares, w, _projected(before[2 * i + 1], load(T, f + w), top))
        if move:
            slopes = _add_products(slopes, T, now, G, row, t)
            _move(slopes, T, at, G, row + t, bend, top)


@njit(nogil=True, cache=True)
def _begin(T, at, c, bend):
    """d f - c for four coordinates: the part of their slopes that needs no product."""
    w = lanes_of(T)
    p, q = bend
    return (
        p * load(T, at) - load(T, c),
        q * load(T, at + w) - load(T, c + w),
        p * load(T, at + 2 * w) - load(T, c + 2 * w),
        q * load(T, at + 3 * w) - load(T, c + 3 * w),
        p * load(T, at + 4 * w) - load(T, c + 4 * w),
        q * load(T, at + 5 * w) - load(T, c + 5 * w),
        p * load(T, at + 6 * w) - load(T, c + 6 * w),
        q * load(T, at + 7 * w) - load(T, c + 7 * w),
    )


@njit(nogil=True, cache=True)
def _add_products(sums, T, at, G, g, n):
    """sums + (four rows of G, n numbers of each from g) (n lines of T): eight accumulators for six loads."""
    k, w = G.shape[0], lanes_of(T)
    p0, q0, p1, q1, p2, q2, p3, q3 = sums
    for j in range(n):
        p, q = load(T, at + j * 2 * w), load(T, at + j * 2 * w + w)
        a, b, c, d = spread(G, g + j), spread(G, g + k + j), spread(G, g + 2 * k + j), spread(G, g + 3 * k + j)
        p0, q0, p1, q1 = p0 + a * p, q0 + a * q, p1 + b * p, q1 + b * q
        p2, q2, p3, q3 = p2 + c * p, q2 + c * q, p3 + d * p, q3 + d * q
    return p0, q0, p1, q1, p2, q2, p3, q3


@njit(nogil=True, cache=True)
def _move(slopes, T, at, G, g, bend, top):
    """Move four coordinates in turn, each telling the slopes of those after it; g is the first's place in G."""
    k, w = G.shape[0], lanes_of(T)
    p0, q0, p1, q1, p2, q2, p3, q3 = slopes
    p, q = _step(T, at, p0, spread(G, g), bend[0], top), _step(T, at + w, q0, spread(G, g), bend[1], top)
    a, b, c = spread(G, g + 1), spread(G, g + 2), spread(G, g + 3)
    p1, q1, p2, q2, p3, q3 = p1 + a * p, q1 + a * q, p2 + b * p, q2 + b * q, p3 + c * p, q3 + c * q
    at, g = at + 2 * w, g + k + 1
    p, q = _step(T, at, p1, spread(G, g), bend[0], top), _step(T, at + w, q1, spread(G, g), bend[1], top)
    a, b = spread(G, g + 1), spread(G, g + 2)
    p2, q2, p3, q3 = p2 + a * p, q2 + a * q, p3 + b * p, q3 + b * q
    at, g = at + 2 * w, g + k + 1
    p, q = _step(T, at, p2, spread(G, g), bend[0], top), _step(T, at + w, q2, spread(G, g), bend[1], top)
    a = spread(G, g + 1)
    p3, q3 = p3 + a * p, q3 + a * q
    at, g = at + 2 * w, g + k + 1
    _step(T, at, p3, spread(G, g), bend[0], top)
    _step(T, at + w, q3, spread(G, g), bend[1], top)


@njit(nogil=True, cache=True)
def _step(T, at, slope, pivot, d, top):
    """T[at] <- clip(T[at] - slope / (pivot + d), 0, top) where there is curvature; returns the step."""
    f = load(T, at)
    bend = pivot + d
    moved = where_positive(bend, at_most(top, at_least(zeros(T), f - slope / bend)), f)
    store(T, at, moved)
    return moved - f


@njit(nogil=True, cache=True)
def _projected(gradient, f, top):
    """The gradient where the coordinate may follow it; towards the inside only, at a bound."""
    zero = gradient - gradient
    inwards = where_positive(f, gradient, at_most(zero, gradient))
    return where_positive(top - f, inwards, at_least(zero, inwards))
