"""The command line. Importing this loads nothing heavy; each command imports what it runs."""


def main() -> None:
    """Run ``vennmf`` and exit with its code."""
    import sys

    from vennmf.cli.run import run

    sys.exit(run(sys.argv[1:]))
