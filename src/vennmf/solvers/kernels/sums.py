"""Sums of many products in float64, whatever the type of what is summed, in a fixed order."""

import numpy as np

from vennmf.solvers.kernels.threads import share

BLOCK = 1 << 15  # numbers in one partial sum; the cuts do not depend on the threads
WORTH_A_THREAD = 16  # blocks


def inner(A, B):
    """The sum of A * B over all entries of two contiguous arrays of one shape. Cost: entries."""
    a, b = A.reshape(-1), B.reshape(-1)
    return float(_by_blocks("i,i->", a, b, BLOCK).sum())


def column_squares(F):
    """The squared norm of every column. Cost: entries."""
    return _by_blocks("ij,ij->j", F, F, 1 + BLOCK // max(F.shape[1], 1)).sum(axis=0)


def _by_blocks(what, a, b, height):
    """One sum, or one for each column, of every block of so many rows."""
    n = -(-len(a) // height)
    partial = np.zeros((n, *a.shape[1:]))

    def blocks(first, last):
        for i in range(first, last):
            block = slice(i * height, (i + 1) * height)
            partial[i] = np.einsum(what, a[block], b[block], dtype=np.float64)

    share(blocks, n, WORTH_A_THREAD)
    return partial
