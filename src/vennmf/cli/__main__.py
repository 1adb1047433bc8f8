"""``python -m vennmf.cli``."""

from vennmf.cli import main

if __name__ == "__main__":
    main()
