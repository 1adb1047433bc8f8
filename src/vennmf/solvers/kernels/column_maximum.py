"""Whole columns at a time, each minimised exactly under a penalty on its largest entry.

Slopes of four columns come from one reading of all tiles, in parallel; the four are then moved one after the other,
since a column's cut-off level depends on all of its entries.
"""

from functools import partial

import numpy as np
from numba import njit

from vennmf.solvers.kernels.lanes import BYTES, lanes_of, store, zeros
from vennmf.solvers.kernels.sweeps import (
    WORTH_A_THREAD,
    _add_products,
    _begin,
    aligned,
    contiguous,
    gather_tile,
    padded_gram,
    scatter_tile,
)
from vennmf.solvers.kernels.threads import share


def sweep_column_maximum(F, G, C, weights, n_sweeps):
    """The compiled twin of ``reference.sweep_column_maximum``."""
    n_rows, k = F.shape
    if not n_rows or not k:
        return 0.0
    contiguous(F, "F")
    C = np.ascontiguousarray(C, dtype=F.dtype)
    G = padded_gram(G, F.dtype)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    height = 2 * BYTES // F.itemsize
    n_tiles = -(-n_rows // height)
    tiles = aligned(n_tiles * 2 * len(G) * height, F.dtype).reshape(n_tiles, 2 * len(G), height)
    slopes = aligned(4 * n_tiles * height, F.dtype).reshape(4, n_tiles * height)
    column, before, high = np.empty(n_rows, F.dtype), np.empty(n_rows, F.dtype), np.empty(n_rows)
    grain = 1 + WORTH_A_THREAD // (4 * k * height)
    share(partial(_fill_tiles, F, C, tiles), n_tiles, grain)

    def cycle(move):
        total = 0.0
        for t in range(0, k, 4):
            share(partial(_block_slopes, tiles, G, t, slopes), n_tiles, grain)
            total += _move_columns(tiles, slopes, G, t, k, weights, column, before, high, move)
        return total

    violation = cycle(False)
    for _ in range(n_sweeps):
        cycle(True)
    if n_sweeps:
        share(partial(_empty_tiles, tiles, F), n_tiles, grain)
    return float(violation)


@njit(nogil=True, cache=True)
def _fill_tiles(F, C, tiles, first, last):
    """Each tile holds the rows of F, then those of C, transposed; zeros where there is neither."""
    flat = tiles.reshape(-1)
    lines, height = tiles.shape[1], tiles.shape[2]
    for tile in range(first, last):
        base = tile * lines * height
        for i in range(base, base + lines * height):
            flat[i] = 0
        gather_tile(F, tile * height, flat, base)
        gather_tile(C, tile * height, flat, base + lines // 2 * height)


@njit(nogil=True, cache=True)
def _empty_tiles(tiles, F, first, last):
    flat = tiles.reshape(-1)
    lines, height = tiles.shape[1], tiles.shape[2]
    for tile in range(first, last):
        scatter_tile(flat, tile * lines * height, F, tile * height)


@njit(nogil=True, cache=True)
def _block_slopes(tiles, G, t, slopes, first, last):
    """slopes[:, rows] = (F G - C)[rows, t : t + 4] transposed."""
    flat = tiles.reshape(-1)
    lines, height = tiles.shape[1], tiles.shape[2]
    w, n = lanes_of(tiles), slopes.shape[1]
    flatness = zeros(tiles), zeros(tiles)
    for tile in range(first, last):
        base = tile * lines * height
        found = _begin(flat, base + t * height, base + (lines // 2 + t) * height, flatness)
        found = _add_products(found, flat, base, G, t * G.shape[0], G.shape[0])
        for c in range(4):
            store(slopes, c * n + tile * height, found[2 * c])
            store(slopes, c * n + tile * height + w, found[2 * c + 1])


@njit(nogil=True, cache=True)
def _move_columns(tiles, slopes, G, t, k, weights, column, before, high, move):
    """Minimise up to four columns in turn; returns the squared norm of G_tt times their steps."""
    n_rows, height = column.size, tiles.shape[2]
    total = 0.0
    for c in range(min(4, k - t)):
        j = t + c
        if G[j, j] <= 0:
            continue
        for tile in range(tiles.shape[0]):
            for lane in range(min(height, n_rows - tile * height)):
                before[tile * height + lane] = tiles[tile, j, lane]
        for i in range(n_rows):
            column[i] = max(before[i] - slopes[c, i] / G[j, j], 0)
        level = column.dtype.type(_level(column, weights[j] / np.float64(G[j, j]), high))
        for i in range(n_rows):
            column[i] = min(column[i], level)
            before[i] = column[i] - before[i]
            total += np.float64(G[j, j] * before[i]) ** 2
        if not move:
            continue
        for tile in range(tiles.shape[0]):
            for lane in range(min(height, n_rows - tile * height)):
                tiles[tile, j, lane] = column[tile * height + lane]
        for later in range(c + 1, 4):
            for i in range(n_rows):
                slopes[later, i] += before[i] * G[j, t + later]
    return total


@njit(nogil=True, cache=True)
def _level(column, bound, high):
    """Where to cut a nonnegative column so that what is cut off sums to bound: 0 if all of it sums to less.

    The mean of what is above, less the bound's share, only rises as entries fall below it (Michelot).
    """
    if bound <= 0:
        return np.inf
    n, total = column.size, 0.0
    for i in range(n):
        high[i] = column[i]
        total += high[i]
    if total <= bound:
        return 0.0
    level = (total - bound) / n
    while True:
        kept, total = 0, 0.0
        for i in range(n):
            if high[i] > level:
                high[kept] = high[i]
                total += high[i]
                kept += 1
        if kept == n:
            return level
        n, level = kept, (total - bound) / kept
