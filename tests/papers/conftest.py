"""The scripts of the papers' experiments are not part of the package: put their folder where Python looks."""

import sys
from pathlib import Path

PAPERS = Path(__file__).parents[2] / "benchmarks" / "papers"
sys.path.insert(0, str(PAPERS))
