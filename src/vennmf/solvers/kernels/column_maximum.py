"""Whole columns at a time, each minimised exactly under a penalty on its largest entry.

Pulls on four columns come from one reading of all tiles, in parallel; the four are then moved one after the other,
since a column's cut-off level depends on all of its entries.
"""

from functools import partial

import numpy as np

from vennmf.solvers.kernels.compiled import compiled, nested, smaller
from vennmf.solvers.kernels.lanes import lanes_of, load_eight, store
from vennmf.solvers.kernels.sweeps import (
    WORTH_A_THREAD,
    aligned,
    contiguous,
    gather_tile,
    less_rows,
    padded_gram,
    scatter_tile,
    tile_height,
    tiles_for,
    whole_tiles,
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
    height, n_tiles = tile_height(F.dtype), tiles_for(n_rows, F.dtype)
    tiles = aligned(n_tiles * 2 * len(G) * height, F.dtype).reshape(n_tiles, 2 * len(G), height)
    pulls = aligned(4 * n_tiles * height, F.dtype).reshape(4, n_tiles * height)
    column, before, high = np.empty(n_rows, F.dtype), np.empty(n_rows, F.dtype), np.empty(n_rows)
    grain = 1 + WORTH_A_THREAD // (4 * k * height)
    _fill(tiles[:, : len(G)], F, tiles, 0, grain)
    _fill(tiles[:, len(G) :], C, tiles, len(G), grain)

    def cycle(move):
        total = 0.0
        for t in range(0, k, 4):
            share(partial(_block_pulls, tiles, G, t, pulls), n_tiles, grain)
            total += _move_columns(tiles, pulls, G, t, k, weights, column, before, high, move)
        return total

    violation = cycle(False)
    for _ in range(n_sweeps):
        cycle(True)
    if n_sweeps:
        n_whole, cut = _whole(F)
        share(partial(_empty_tiles, tiles, F.reshape(-1), k), n_whole, grain)
        F[cut:] = tiles[n_whole:, :k].swapaxes(1, 2).reshape(-1, k)[: n_rows - cut]
    return float(violation)


def _whole(F):
    """How many tiles can be transposed by the squares of their rows, and how many rows these have."""
    return whole_tiles(F) if F.shape[1] >= tile_height(F.dtype) // 2 else (0, 0)


def _fill(lines, F, tiles, line, grain):
    """Each tile's lines, of which the first is ``line``, hold its rows of F, transposed, then zeros."""
    n_rows, k = F.shape
    n_whole, cut = _whole(F)
    share(partial(_fill_tiles, F.reshape(-1), k, tiles, line), n_whole, grain)
    rest = np.zeros(((len(tiles) - n_whole) * tiles.shape[2], k), F.dtype)
    rest[: n_rows - cut] = F[cut:]
    lines[n_whole:, :k] = rest.reshape(-1, tiles.shape[2], k).swapaxes(1, 2)
    lines[n_whole:, k:] = 0


@compiled
def _fill_tiles(f, k, tiles, line, first, last):
    flat = tiles.reshape(-1)
    lines, height = tiles.shape[1], tiles.shape[2]
    for tile in range(first, last):
        gather_tile(f, tile * height, k, flat, (tile * lines + line) * height)


@compiled
def _empty_tiles(tiles, f, k, first, last):
    flat = tiles.reshape(-1)
    lines, height = tiles.shape[1], tiles.shape[2]
    for tile in range(first, last):
        scatter_tile(flat, tile * lines * height, 0, f, tile * height, k)


@compiled
def _block_pulls(tiles, G, t, pulls, first, last):
    """pulls[:, rows] = (C - F G)[rows, t : t + 4] transposed."""
    flat = tiles.reshape(-1)
    lines, height = tiles.shape[1], tiles.shape[2]
    w, n = lanes_of(tiles), pulls.shape[1]
    for tile in range(first, last):
        base = tile * lines * height
        found = less_rows(load_eight(flat, base + (lines // 2 + t) * height), flat, base, G, t * G.shape[0], G.shape[0])
        for c in range(4):
            store(pulls, c * n + tile * height, found[2 * c])
            store(pulls, c * n + tile * height + w, found[2 * c + 1])


@compiled
def _move_columns(tiles, pulls, G, t, k, weights, column, before, high, move):
    """Minimise up to four columns in turn; returns the squared norm of G_tt times their steps."""
    n_rows, height = column.size, tiles.shape[2]
    total = 0.0
    for c in range(smaller(4, k - t)):
        j = t + c
        if G[j, j] <= 0:
            continue
        for tile in range(tiles.shape[0]):
            for lane in range(smaller(height, n_rows - tile * height)):
                before[tile * height + lane] = tiles[tile, j, lane]
        for i in range(n_rows):
            column[i] = max(before[i] + pulls[c, i] / G[j, j], 0)
        level = column.dtype.type(_level(column, weights[j] / np.float64(G[j, j]), high))
        for i in range(n_rows):
            column[i] = min(column[i], level)
            before[i] = column[i] - before[i]
            total += np.float64(G[j, j] * before[i]) ** 2
        if not move:
            continue
        for tile in range(tiles.shape[0]):
            for lane in range(smaller(height, n_rows - tile * height)):
                tiles[tile, j, lane] = column[tile * height + lane]
        for later in range(c + 1, 4):
            for i in range(n_rows):
                pulls[later, i] -= before[i] * G[j, t + later]
    return total


@nested
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
        if kept == n or not kept:  # none: what is to be cut off is less than the largest entry is rounded by
            return level
        n, level = kept, (total - bound) / kept
