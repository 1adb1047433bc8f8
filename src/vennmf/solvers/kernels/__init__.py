"""Arrays in, arrays out: the inner loops, compiled, and their readable NumPy twins."""

from vennmf.solvers.kernels.reference import sweep, sweep_column_maximum, sweep_coupled

__all__ = ["sweep", "sweep_column_maximum", "sweep_coupled"]
