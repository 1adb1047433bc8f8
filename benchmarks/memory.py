"""Peak memory of this process above what it held before."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Memory:
    """Resident bytes above those at the start; the peak since the last reset where the system can forget a peak."""

    def __init__(self) -> None:
        give_back()
        self.baseline = resident("VmRSS")

    def reset(self) -> None:
        with suppress(
            OSError
        ):  # where it cannot be forgotten, the peak is that of the whole process: a bound from above
            FORGET.write_text("5")

    def peak(self) -> int:
        return max(0, resident("VmHWM") - self.baseline)


def give_back() -> None:
    """Return freed memory to the system, so that what comes next cannot hide in it."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def resident(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at the peak; where the system does not say, the largest it ever had."""
    if not STATUS.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return 1024 * int(line.split()[1])
