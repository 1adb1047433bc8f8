"""Dense products in pieces of a fixed size, each by one thread of the matrix library.

Left to share a product among its own threads, the library cuts it by their number, and the bits follow.
"""

import numpy as np

from vennmf.solvers.kernels.threads import share

PIECE = 4_000_000  # multiplications


def dense_product(A, B, part=slice(None)):
    """A B, or some rows of it, for A of any layout, a transposed view too. Cost: rows * inner * k."""
    begin, end, _ = part.indices(A.shape[0])
    rows, k = end - begin, B.shape[1]
    out = np.empty((rows, k), dtype=np.result_type(A, B))
    height = max(32, PIECE // (A.shape[1] * k + 1))
    n = max(1, -(-rows // height))

    def pieces(first, last):
        for i in range(first, last):
            top, bottom = i * height, min((i + 1) * height, rows)
            np.matmul(A[begin + top : begin + bottom], B, out=out[top:bottom])

    share(pieces, n, 1)
    return out
