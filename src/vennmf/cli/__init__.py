"""The command line. Importing this loads nothing heavy; each command imports what it runs."""


def main() -> None:
    """Run ``vennmf`` and exit with its code."""
    import os
    import sys

    if sys.stdout is None:  # closed by whoever started the command
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        from vennmf.cli.run import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before, or just after, the command itself
        code = 130
    sys.exit(code)
