"""How a command runs and ends: options that may stand anywhere, one line for each failure, exit codes 0, 1, 2, 130."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

_USAGE_ERROR = typer.BadParameter.__mro__[2]
"""What typer raises for anything wrong on the command line; it has no public name in every version."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and say how it ended. Nothing but ``--debug`` shows a traceback."""
    given, flags = _hoisted(arguments)
    try:
        with _terminable():
            code = _run(given, "--verbose" in flags)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer turns it into an exit with 1
            return _reader_gone()
        return ended.code if isinstance(ended.code, int) else FAILED  # the command has said all there is to say
    except BrokenPipeError:
        return _reader_gone()
    except Exception as error:
        if "--debug" in flags:
            raise
        return _report(error)
    if code == INTERRUPTED:
        return _say("interrupted; nothing was written", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _run(given: Sequence[str], verbose: bool) -> object:
    from vennmf.cli.app import app
    from vennmf.cli.messages import heard

    with heard(verbose):
        return app(args=list(given), prog_name="vennmf", standalone_mode=False)


@contextmanager
def _terminable() -> Iterator[None]:
    """A polite request to end, SIGTERM, does what Ctrl-C does: a fit keeps its best model, nothing stays half-written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            raise KeyboardInterrupt
        signal.raise_signal(signal.SIGINT)

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _hoisted(arguments: Sequence[str]) -> tuple[list[str], set[str]]:
    """The options of all commands, wherever they stand before a ``--``, and the rest."""
    known = {"-v": "--verbose", "--verbose": "--verbose", "--debug": "--debug"}
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    flags = {known[a] for a in arguments[:end] if a in known}
    return [a for a in arguments[:end] if a not in known] + list(arguments[end:]), flags


def _report(error: Exception) -> int:
    from vennmf.errors import VennmfError, WriteError

    if isinstance(error, _USAGE_ERROR):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "vennmf"
        message = str(getattr(error, "format_message", error.__str__)())
        ended = message.strip() if message.strip().endswith("?") else f"{message.strip().rstrip('.')}."
        return _say(f"{ended} See {path} --help.", BAD_INPUT)
    if isinstance(error, WriteError):
        return _say(str(error), FAILED)
    if isinstance(error, VennmfError | ImportError):
        return _say(str(error), BAD_INPUT)
    if isinstance(error, MemoryError):
        return _say("out of memory; fit fewer components, or a smaller vocabulary with --min-count.", FAILED)
    if isinstance(error, OSError):
        where = f" {error.filename}" if error.filename else ""
        return _say(f"{error.strerror or error}{where}", FAILED)
    return _say(f"failed: {type(error).__name__}: {error} (run again with --debug for the traceback)", FAILED)


def _say(message: str, code: int) -> int:
    from vennmf.cli.messages import problem

    problem(" ".join(message.split()))
    return code


def _reader_gone() -> int:
    """The reader of a pipe has all it wants (``| head``): nothing more can or need be written."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
