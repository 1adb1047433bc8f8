"""Coordinate descent on a tile of rows at a time: one row is one lane, the tile stays in the first cache.

A tile is two vectors wide. Slopes are computed for four coordinates from one reading of the tile, then the
four are moved one after the other: the iterates are those of the plain cyclic sweep.
"""

import numpy as np

from vennmf.solvers.kernels.compiled import compiled, larger, merged, nested, smaller
from vennmf.solvers.kernels.lanes import (
    BYTES,
    add_squares,
    at_least,
    at_most,
    lanes_of,
    less_products,
    load,
    load_eight,
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
    G, upper = padded_gram(G, F.dtype), F.dtype.type(upper)
    f, c = F.reshape(-1), np.ascontiguousarray(C, dtype=F.dtype).reshape(-1)
    bends = np.ascontiguousarray(curvature, dtype=F.dtype)
    n_tiles, cut = whole_tiles(F)
    violation = _sweep_shared(f, c, bends, G, k, upper, n_sweeps, n_tiles)
    if cut < n_rows:  # the last rows, with rows of zeros up to a whole tile, and a vector to read past the end
        rest = tiles_for(n_rows - cut, F.dtype)
        rows, spare = rest * tile_height(F.dtype), BYTES // F.itemsize
        f_rest, c_rest = padded(f[cut * k :], rows * k + spare), padded(c[cut * k :], rows * k + spare)
        bends = padded(bends[cut:], rows) if bends.size else bends
        violation += _sweep_shared(f_rest, c_rest, bends, G, k, upper, n_sweeps, rest)
        f[cut * k :] = f_rest[: (n_rows - cut) * k]
    return violation


def _sweep_shared(f, c, bends, G, k, upper, n_sweeps, n_tiles):
    """Sweep the first tiles of a factor in flat memory; returns its squared violation."""
    height = tile_height(f.dtype)
    violations = np.empty(n_tiles)
    grain = WORTH_A_THREAD // (k * k * height * max(n_sweeps, 1)) + 1
    size, spare = G.shape[0] * height, height * height // 2  # what narrow tiles write past their last line

    def tiles(first, last):
        scratch, squares = aligned(3 * size + spare, f.dtype), aligned(height, np.float64)
        _sweep_tiles(f, c, bends, G, k, upper, n_sweeps, violations, scratch, squares, first, last)

    share(tiles, n_tiles, grain)
    return float(violations.sum())


def tile_height(dtype):
    """Rows of a tile: two vectors of them."""
    return 2 * BYTES // dtype.itemsize


def tiles_for(n_rows, dtype):
    """How many tiles so many rows fill, the last perhaps in part."""
    return -(-n_rows // tile_height(dtype))


def whole_tiles(F):
    """How many tiles can be read a vector at a time without leaving F, however short its rows; and their rows."""
    n_rows, k = F.shape
    past = -(-max(BYTES // F.itemsize - k, 0) // k)
    n_tiles = max(n_rows - past, 0) // tile_height(F.dtype)
    return n_tiles, n_tiles * tile_height(F.dtype)


def padded(values, size):
    """A copy of some numbers, with zeros after them."""
    out = np.zeros(size, values.dtype)
    out[: values.size] = values
    return out


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


@nested
def _turn(source, at, stride, target, to, step):
    """The ``transpose`` of one square: compiled once, for all that call it."""
    transpose(source, at, stride, target, to, step)


@nested
def gather_tile(f, row, k, T, base):
    """T[base + j * height + lane] = f[(row + lane) * k + j] for the rows of a tile; lines up to a multiple of four are zero.

    Where rows are shorter than a vector, each is read with what follows it, and lines after those four are overwritten.
    """
    w = lanes_of(f)
    height = 2 * w
    for half in range(0, height, w):
        for j in range(0, k, w):  # the last square may overlap the one before
            line = larger(smaller(j, k - w), 0)
            _turn(f, (row + half) * k + line, k, T, base + line * height + half, height)
    for i in range(base + k * height, base + (k + -k % 4) * height, w):
        store(T, i, zeros(T))


@merged
def scatter_tile(T, base, room, f, row, k):
    """The way back; where rows are shorter than a vector, through T from ``room`` on."""
    w = lanes_of(f)
    height = 2 * w
    for half in range(0, height, w):
        for j in range(0, k, w):
            line = larger(smaller(j, k - w), 0)
            if k < w:
                _turn(T, base + half, height, T, room + half * k, k)
            else:
                _turn(T, base + line * height + half, height, f, (row + half) * k + line, k)
    if k < w:
        for i in range(0, height * k, w):
            store(f, row * k + i, load(T, room + i))


@compiled
def _sweep_tiles(f, c, bends, G, k, upper, n_sweeps, violations, scratch, squares, first, last):
    """Scratch holds, one after the other, a tile of F, of C, and of F as it was."""
    w = lanes_of(f)
    height, size = 2 * w, G.shape[0] * 2 * w
    now, cross, old = np.intp(0), size, 2 * size  # a literal would have its callers compiled apart
    bend = zeros(f), zeros(f)
    for tile in range(first, last):
        row = tile * height
        gather_tile(f, row, k, scratch, now)
        gather_tile(c, row, k, scratch, cross)
        for i in range((row + height) * k, (row + 2 * height) * k, w):  # the next tile, meanwhile
            prefetch(f, i)
            prefetch(c, i)
        for i in range(0, size, w):
            store(scratch, old + i, load(scratch, now + i))
        if bends.size:
            bend = load(bends, row), load(bends, row + w)
        for i in range(height):
            squares[i] = 0
        for n in range(larger(n_sweeps, 1)):
            _pass(scratch, now, cross, old, G, bend, upper, squares, n == 0, n_sweeps > 0)
        total = 0.0
        for i in range(height):
            total += squares[i]
        violations[tile] = total
        if n_sweeps:
            scatter_tile(scratch, now, old, f, row, k)


@merged
def _pass(T, now, cross, old, G, bend, upper, squares, measure, move):
    """One pass over the coordinates of a tile, four at a time; the first also adds up the violation."""
    k, w = G.shape[0], lanes_of(T)
    height = 2 * w
    top = spread_number(upper)
    for t in range(0, k, 4):
        at, row = now + t * height, t * k
        pulls = less_rows(load_eight(T, cross + t * height), T, at, G, row + t, k - t)
        if measure:
            before = less_rows(pulls, T, old, G, row, t)
            for n in range(8):
                f, lane = load(T, at + n * w), n % 2 * w
                add_squares(squares, lane, projected(bend[n % 2] * f - before[n], f, top))
        if move:
            pulls = less_rows(pulls, T, now, G, row, t)
            _move(pulls, T, at, G, row + t, bend, top)


@nested
def less_rows(sums, T, at, G, g, n):
    """sums - (four rows of G, n numbers of each from g) (n lines of T): eight accumulators for six loads."""
    k, w = G.shape[0], lanes_of(T)
    for j in range(n):
        line = at + j * 2 * w
        sums = less_products(sums, (load(T, line), load(T, line + w)), G, g + j, k)
    return sums


@merged
def _move(pulls, T, at, G, g, bend, top):
    """Move four coordinates in turn, each telling the pulls on those after it; g is the first's place in G."""
    k, height = G.shape[0], 2 * lanes_of(T)
    pulls = less_products(pulls, _step(T, at, pulls[0], pulls[1], spread(G, g), bend, top), G, g, k)
    at, pivot = at + height, spread(G, g + k + 1)
    pulls = less_products(pulls, _step(T, at, pulls[2], pulls[3], pivot, bend, top), G, g + 1, k)
    at, pivot = at + height, spread(G, g + 2 * (k + 1))
    pulls = less_products(pulls, _step(T, at, pulls[4], pulls[5], pivot, bend, top), G, g + 2, k)
    at, pivot = at + height, spread(G, g + 3 * (k + 1))
    _step(T, at, pulls[6], pulls[7], pivot, bend, top)


@nested
def _step(T, at, p, q, pivot, bend, top):
    """Both vectors f of a line <- clip(f + (pull - d f) / (pivot + d), 0, top) where there is curvature; returns the steps."""
    w = lanes_of(T)
    f, g = load(T, at), load(T, at + w)
    a, b = pivot + bend[0], pivot + bend[1]
    none = zeros(T)
    moved = where_positive(a, at_most(top, at_least(none, f + (p - bend[0] * f) / a)), f)
    other = where_positive(b, at_most(top, at_least(none, g + (q - bend[1] * g) / b)), g)
    store(T, at, moved)
    store(T, at + w, other)
    return moved - f, other - g


@merged
def projected(gradient, f, top):
    """The gradient where the coordinate may follow it; towards the inside only, at a bound."""
    zero = gradient - gradient
    inwards = where_positive(f, gradient, at_most(zero, gradient))
    return where_positive(top - f, inwards, at_least(zero, inwards))
