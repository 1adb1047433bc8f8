"""What is said on stderr: progress, warnings, problems. Results go to stdout and are the business of ``output``."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def heard(verbose: bool = False) -> Iterator[None]:
    """One line for each warning and log entry; entries of this package from INFO on, with ``verbose`` from DEBUG on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("vennmf")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.INFO)
    with warnings.catch_warnings():
        warnings.showwarning = _show
        warnings.simplefilter("default")
        if not verbose:
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)


def say(message: str) -> None:
    """A line for the person who waits."""
    print(message, file=sys.stderr)


def problem(message: str) -> None:
    """Why the run ended, in red where that is possible."""
    red, plain = ("\x1b[31m", "\x1b[0m") if _in_colour() else ("", "")
    print(f"{red}error:{plain} {message}", file=sys.stderr)


def _in_colour() -> bool:
    import os

    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def _show(message: Any, category: Any, filename: Any, lineno: Any, file: Any = None, line: Any = None) -> None:
    say(f"warning: {' '.join(str(message).split())}")
