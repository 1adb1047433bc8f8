"""Arrays in, arrays out: the inner loops, compiled, and their readable NumPy twins."""

from vennmf.solvers.kernels.column_maximum import sweep_column_maximum
from vennmf.solvers.kernels.coupled import sweep_coupled
from vennmf.solvers.kernels.dense import dense_product
from vennmf.solvers.kernels.gram import row_gram
from vennmf.solvers.kernels.products import accumulators, sparse_times_dense, transposed_times_dense
from vennmf.solvers.kernels.quotient import multiply
from vennmf.solvers.kernels.rows import nnls_rows
from vennmf.solvers.kernels.sums import column_squares, inner
from vennmf.solvers.kernels.sweeps import sweep
from vennmf.solvers.kernels.threads import n_threads, share, threads

__all__ = [
    "accumulators",
    "column_squares",
    "dense_product",
    "inner",
    "multiply",
    "n_threads",
    "nnls_rows",
    "row_gram",
    "share",
    "sparse_times_dense",
    "sweep",
    "sweep_column_maximum",
    "sweep_coupled",
    "threads",
    "transposed_times_dense",
]
