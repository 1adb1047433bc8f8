"""F^T F in a fixed order: its bits depend on F alone, as those of a matrix product from a library may not.

Four rows of the result, two vectors wide, are summed in registers over a stretch of rows of F, then in float64.
What is small is left to NumPy, in float64.
"""

import numpy as np

from vennmf.solvers.kernels.compiled import compiled, merged, smaller
from vennmf.solvers.kernels.lanes import BYTES, lanes_of, less_products, load, load_eight, store, store_eight, zeros
from vennmf.solvers.kernels.sweeps import aligned
from vennmf.solvers.kernels.threads import share

STRETCH, MOST_PARTS, MOST_NUMBERS = 1024, 64, 1_000_000
SMALL = 50_000  # multiplications that NumPy has done before a kernel would have begun


def row_gram(F):
    """The compiled twin of ``reference.row_gram``."""
    k = F.shape[1]
    if F.size * k <= SMALL:
        columns = np.ascontiguousarray(F.T, dtype=np.float64)
        return np.einsum("ji,ki->jk", columns, columns)
    wide = max(k, BYTES // F.itemsize, 4)
    most = max(1, min(MOST_PARTS, MOST_NUMBERS // (k * k + 1)))
    height = STRETCH * max(1, -(-len(F) // (STRETCH * most)))
    parts = np.zeros((-(-len(F) // height), wide, wide))

    def rows(first, last):
        block = aligned(8 * BYTES // F.itemsize, F.dtype)
        for i in range(first, last):
            part = widened(F[i * height : (i + 1) * height], wide)
            _less_gram(part, parts[i], block, 0, len(part))

    share(rows, len(parts), 1 + 2_000_000 // (height * k * k + 1))
    upper = -np.triu(parts.sum(axis=0)[:k, :k])
    return upper + np.triu(upper, 1).T


def widened(F, width):
    """F, contiguous, with zero columns up to a width."""
    if F.shape[1] == width:
        return np.ascontiguousarray(F)
    out = np.zeros((len(F), width), F.dtype)
    out[:, : F.shape[1]] = F
    return out


@compiled
def _less_gram(F, total, block, first, last):
    """total -= F[first:last]^T F[first:last], on the diagonal and right of it."""
    k = F.shape[1]
    w = lanes_of(F)
    for begin in range(first, last, STRETCH):
        end = smaller(begin + STRETCH, last)
        for t in range(0, k, 4):
            top = smaller(t, k - 4)
            for s in range(t - t % (2 * w), k, 2 * w):
                _less_products(F, begin, end, top, s, block)
                for a in range(t - top, 4):
                    for c in range(s, smaller(s + 2 * w, k)):
                        half = (c - s) // w
                        lane = c - smaller(s + half * w, k - w)
                        total[top + a, c] += block[(2 * a + half) * w + lane]


@merged
def _less_products(F, begin, end, t, s, block):
    """Minus four rows of the gram, from t, in two vectors from s; what would pass the end overlaps the last."""
    k = F.shape[1]
    w = lanes_of(F)
    left, right = smaller(s, k - w), smaller(s + w, k - w)
    for i in range(0, block.size, w):
        store(block, i, zeros(F))
    sums = load_eight(block, 0)
    for i in range(begin, end):
        row = i * k
        sums = less_products(sums, (load(F, row + left), load(F, row + right)), F, row + t, 1)
    store_eight(block, 0, sums)
