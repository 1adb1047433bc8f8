"""Sums of many products in float64, whatever the type of what is summed, in a fixed order."""

import numpy as np

from vennmf.solvers.kernels.threads import share

BLOCK = 1 << 15  # numbers in one partial sum; the cuts do not depend on the threads
WORTH_A_THREAD = 16  # blocks


def inner(A, B):
    """The sum of A * B over all entries of two contiguous arrays of one shape. Cost: entries."""
    a, b = A.reshape(-1), B.reshape(-1)
    partial = np.zeros(-(-a.size // BLOCK))

    def blocks(first, last):
        for n in range(first, last):
            block = slice(n * BLOCK, (n + 1) * BLOCK)
            partial[n] = np.einsum("i,i->", a[block], b[block], dtype=np.float64)

    share(blocks, partial.size, WORTH_A_THREAD)
    return float(partial.sum())
