"""Sums of many products in float64, whatever the type of what is summed, in a fixed order."""

import numpy as np
from numba import njit

from vennmf.solvers.kernels.threads import share

BLOCK = 1 << 15  # numbers in one partial sum; the cuts do not depend on the threads
WORTH_A_THREAD = 16  # blocks


def inner(A, B):
    """The sum of A * B over all entries of two contiguous arrays of one shape. Cost: entries."""
    a, b = A.reshape(-1), B.reshape(-1)
    partial = np.zeros(-(-a.size // BLOCK))
    share(lambda first, last: _partial_sums(a, b, partial, first, last), partial.size, WORTH_A_THREAD)
    return float(partial.sum())


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _partial_sums(a, b, partial, first, last):
    for block in range(first, last):
        total = 0.0
        for n in range(block * BLOCK, min((block + 1) * BLOCK, a.size)):
            total += np.float64(a[n]) * np.float64(b[n])
        partial[block] = total
