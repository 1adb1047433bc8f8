"""Callbacks for the fit of any estimator of this package, by scikit-learn's protocol: progress, a log, an early stop.

.. code-block:: python

    vn.JSNMF(10, 4).set_callbacks(vn.Progress(), vn.StopWhen(lambda step: step.objective < 0.3)).fit(sources)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from vennmf.errors import MissingDependencyError
from vennmf.solvers import Step


class Watcher:
    """A callback that sees each step and may ask to stop; subclasses say what :meth:`on_step` does."""

    def setup(self, estimator: Any, context: Any) -> None:
        """Called before the fit."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Called after the fit, however it ended."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Called before each task."""

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> bool:
        """Called after each task; the fit stops if the answer is True."""
        step = (metadata or {}).get("step")
        return bool(step is not None and self.on_step(estimator, step))

    def on_step(self, estimator: Any, step: Step) -> bool | None:
        """What to do after an iteration; a true answer stops the fit."""
        return None


class StopWhen(Watcher):
    """Stop as soon as ``condition(step)`` holds; a step has iteration, seconds, objective, fit, penalties, violation."""

    def __init__(self, condition: Callable[[Step], bool]) -> None:
        self.condition = condition

    def on_step(self, estimator: Any, step: Step) -> bool | None:
        return self.condition(step)


class JsonLog(Watcher):
    """One line of JSON for each iteration, to an open text file or to a path, which is appended to."""

    def __init__(self, file: str | IO[str]) -> None:
        self.file = file
        self._open: IO[str] | None = None

    def setup(self, estimator: Any, context: Any) -> None:
        self._open = Path(self.file).open("a", encoding="utf-8") if isinstance(self.file, str) else self.file  # noqa: SIM115

    def teardown(self, estimator: Any, context: Any) -> None:
        if isinstance(self.file, str) and self._open is not None:
            self._open.close()
        self._open = None

    def on_step(self, estimator: Any, step: Step) -> bool | None:
        assert self._open is not None
        line = {"estimator": type(estimator).__name__, **step._asdict()}
        self._open.write(json.dumps(line) + "\n")
        self._open.flush()
        return None


class Progress(Watcher):
    """A bar on stderr with objective and violation; silent where stderr is no terminal, unless ``always`` is set."""

    def __init__(self, *, always: bool = False) -> None:
        self.always = always
        self._bar: Any = None
        self._task: Any = None

    def setup(self, estimator: Any, context: Any) -> None:
        if not (self.always or sys.stderr.isatty()):
            return
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        except ImportError:
            raise MissingDependencyError('Progress needs rich; install it with pip install "vennmf[app]".') from None
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("objective {task.fields[objective]:.6g}  violation {task.fields[violation]:.1e}"),
            TimeElapsedColumn(),
            console=Console(stderr=True, force_terminal=self.always or None),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(
            type(estimator).__name__, total=context.max_subtasks or None, objective=float("nan"), violation=float("nan")
        )

    def on_step(self, estimator: Any, step: Step) -> bool | None:
        if self._bar is not None:
            self._bar.update(self._task, advance=1, objective=step.objective, violation=step.violation)
        return None

    def teardown(self, estimator: Any, context: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
