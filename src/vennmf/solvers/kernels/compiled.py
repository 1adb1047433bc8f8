"""How kernels are compiled: each for the types it is called with, once, and kept on disk.

Nothing is compiled that nobody calls: no entry from C, and for what only kernels call, none from Python.
"""

from typing import Any

import numba

njit: Any = numba.njit  # its types know only some of what it takes
HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

compiled: Any = njit(**HOW, cache=True)
"""Called from Python, and kept on disk with all that it calls."""

nested: Any = njit(**HOW, no_cpython_wrapper=True)
"""Called by kernels alone."""

merged: Any = njit(nogil=True, inline="always")
"""Compiled as a part of its caller: for what one caller calls in one place, half the compiler's time of a kernel of its own."""


@merged
def smaller(a, b):
    """As ``min``, which takes the compiler longer."""
    return a if a < b else b


@merged
def larger(a, b):
    """As ``max``, likewise."""
    return a if a > b else b
