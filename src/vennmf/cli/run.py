"""How a command runs and ends: options that may stand anywhere, one line for each failure, exit codes 0, 1, 2, 130."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130

_USAGE_ERROR = typer.BadParameter.__mro__[2]
"""What typer raises for anything wrong on the command line; it has no public name in every version."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line and say how it ended. Nothing but ``--debug`` shows a traceback."""
    from vennmf.cli.app import app
    from vennmf.cli.messages import heard

    given, flags = _hoisted(arguments)
    try:
        with heard("--verbose" in flags):
            code = app(args=given, prog_name="vennmf", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as ended:  # a command that has said all there is to say
        return ended.code if isinstance(ended.code, int) else FAILED
    except BrokenPipeError:
        _silence_stdout()
        return 0
    except Exception as error:
        if "--debug" in flags:
            raise
        return _report(error)
    if code == INTERRUPTED:
        return _say("interrupted; nothing was written", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _hoisted(arguments: Sequence[str]) -> tuple[list[str], set[str]]:
    """The options of all commands, wherever they stand before a ``--``, and the rest."""
    known = {"-v": "--verbose", "--verbose": "--verbose", "--debug": "--debug"}
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    flags = {known[a] for a in arguments[:end] if a in known}
    return [a for a in arguments[:end] if a not in known] + list(arguments[end:]), flags


def _report(error: Exception) -> int:
    from vennmf.errors import StorageError, VennmfError

    if isinstance(error, _USAGE_ERROR):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "vennmf"
        message = str(getattr(error, "format_message", error.__str__)())
        return _say(f"{message.strip().rstrip('.')}. See {path} --help.", BAD_INPUT)
    if isinstance(error, StorageError) and "cannot write" in str(error):
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


def _silence_stdout() -> None:
    """The reader has gone (``| head``): nothing more can or need be written."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
