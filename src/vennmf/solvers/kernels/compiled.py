"""How kernels are compiled: each for the types it is called with, once, and kept on disk."""

from typing import Any

from numba import njit

compiled: Any = njit(nogil=True, cache=True)
"""Compiled by itself."""

merged: Any = njit(nogil=True, inline="always")
"""Compiled as a part of its caller: for what one caller calls in one place, half the compiler's time of a kernel of its own."""
