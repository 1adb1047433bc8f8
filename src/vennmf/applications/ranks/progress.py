"""How a search for ranks tells where it stands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vennmf.errors import MissingDependencyError

OnStep = Callable[[str, int, float, float], Any]
"""Called after each rank with the stage, the rank, the mean held-out error and the agreement of the folds."""


@contextmanager
def reporter(progress: bool | OnStep) -> Iterator[OnStep]:
    """What to call after each rank: nothing, a status line on a terminal, or what the caller gave."""
    if callable(progress):
        yield progress
    elif progress and sys.stderr.isatty():
        try:
            from rich.console import Console
        except ImportError:
            raise MissingDependencyError(
                'progress=True needs rich; install it with pip install "vennmf[app]".'
            ) from None
        with Console(stderr=True).status("cutting folds") as status:
            yield lambda stage, rank, error, agreement: status.update(
                f"{stage}: rank {rank}, error {error:.4f}, agreement {agreement:.2f}"
            )
    else:
        yield lambda stage, rank, error, agreement: None
