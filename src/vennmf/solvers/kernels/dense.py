"""Dense products in pieces of a fixed size, each by one thread of the matrix library.

Left to share a product among its own threads, the library cuts it by their number, and the bits follow.
"""

import numpy as np

from vennmf.solvers.kernels.threads import share

PIECE = 4_000_000  # multiplications


def dense_product(A, B):
    """A B for A of any layout, a transposed view too. Cost: rows * inner * k."""
    rows, k = A.shape[0], B.shape[1]
    out = np.empty((rows, k), dtype=np.result_type(A, B))
    height = max(32, PIECE // (A.shape[1] * k + 1))
    n = max(1, -(-rows // height))

    def pieces(first, last):
        for i in range(first, last):
            np.matmul(A[i * height : (i + 1) * height], B, out=out[i * height : (i + 1) * height])

    share(pieces, n, 1)
    return out
