"""F^T F in a fixed order: its bits depend on F alone, as those of a matrix product from a library may not.

Four rows of the result, four vectors wide, are summed in registers over a stretch of rows of F, then in float64.
"""

import numpy as np
from numba import njit

from vennmf.solvers.kernels.lanes import BYTES, lanes_of, load, spread, store, zeros
from vennmf.solvers.kernels.products import widened
from vennmf.solvers.kernels.sweeps import aligned
from vennmf.solvers.kernels.threads import share

STRETCH, MOST_PARTS, MOST_NUMBERS = 1024, 64, 8_000_000


def row_gram(F):
    """The compiled twin of ``reference.row_gram``."""
    k = F.shape[1]
    wide = max(k, BYTES // F.itemsize)
    most = max(1, min(MOST_PARTS, MOST_NUMBERS // (k * k + 1)))
    height = STRETCH * max(1, -(-len(F) // (STRETCH * most)))
    parts = np.zeros((-(-len(F) // height), wide, wide))

    def rows(first, last):
        block = aligned(16 * BYTES // F.itemsize, F.dtype)
        for i in range(first, last):
            part = widened(F[i * height : (i + 1) * height], F.dtype)
            _add_gram(part, parts[i], block, 0, len(part))

    share(rows, len(parts), 1 + 2_000_000 // (height * k * k + 1))
    upper = np.triu(parts.sum(axis=0)[:k, :k])
    return upper + np.triu(upper, 1).T


@njit(nogil=True, cache=True)
def _add_gram(F, total, block, first, last):
    """total += F[first:last]^T F[first:last], on the diagonal and right of it."""
    k = F.shape[1]
    w = lanes_of(F)
    for begin in range(first, last, STRETCH):
        end = min(begin + STRETCH, last)
        for t in range(0, k, 4):
            top = min(t, k - 4)
            for s in range(t - t % (4 * w), k, 4 * w):
                for a in range(0, 4, 2):
                    _sum_rows(F, begin, end, top + a, s, block, a * 4 * w)
                for a in range(t - top, 4):
                    for c in range(s, min(s + 4 * w, k)):
                        vector = (c - s) // w
                        lane = c - min(s + vector * w, k - w)
                        total[top + a, c] += block[(a * 4 + vector) * w + lane]


@njit(nogil=True, cache=True)
def _sum_rows(F, begin, end, t, s, block, at):
    """Two rows of the gram, from t, in four vectors from s; those that would pass the end overlap the last."""
    k = F.shape[1]
    w = lanes_of(F)
    s0, s1, s2, s3 = min(s, k - w), min(s + w, k - w), min(s + 2 * w, k - w), min(s + 3 * w, k - w)
    p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = zeros(F)
    for i in range(begin, end):
        row = i * k
        p, q = spread(F, row + t), spread(F, row + t + 1)
        a, b, c, d = load(F, row + s0), load(F, row + s1), load(F, row + s2), load(F, row + s3)
        p0, p1, p2, p3 = p0 + p * a, p1 + p * b, p2 + p * c, p3 + p * d
        q0, q1, q2, q3 = q0 + q * a, q1 + q * b, q2 + q * c, q3 + q * d
    store(block, at, p0)
    store(block, at + w, p1)
    store(block, at + 2 * w, p2)
    store(block, at + 3 * w, p3)
    store(block, at + 4 * w, q0)
    store(block, at + 5 * w, q1)
    store(block, at + 6 * w, q2)
    store(block, at + 7 * w, q3)
