"""How long until something happens: imports, help, the first fit, the next. A Markdown table.

    python -m benchmarks.startup [--quick]

Every line is the median of several fresh processes, files already read once by the system; the fits are timed inside.
The cold first fit compiles its kernels into an empty cache; all others find them there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIT = """
import time
began = time.perf_counter()
import numpy as np, vennmf as vn
X = {name: np.random.default_rng(0).random((200, 100)) for name in "ab"}
imported = time.perf_counter()
fit = lambda: vn.JSNMF(6, 3, max_iter=50, tol=0, min_change=0, random_state=0).fit(X)
import warnings; warnings.simplefilter("ignore")
fit(); first = time.perf_counter()
fit(); second = time.perf_counter()
print(first - imported, second - first)
"""


def seconds(command: list[str], rounds: int) -> float:
    """Median wall time of a process."""
    subprocess.run(command, capture_output=True, check=True)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def fits(cache: str) -> tuple[float, float]:
    """Seconds of the first and of the second fit of a fresh process that keeps compiled kernels in this folder."""
    done = subprocess.run(
        [sys.executable, "-c", FIT],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
    )
    first, second = map(float, done.stdout.split())
    return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    rounds = 3 if parser.parse_args().quick else 5
    python = sys.executable
    command = str(Path(python).with_name("vennmf"))
    called = [command] if Path(command).is_file() else [python, "-m", "vennmf.cli"]
    print("| what | seconds |\n| --- | --- |")
    for name, run in {
        "`python -c pass`": [python, "-c", "pass"],
        "`import numpy`": [python, "-c", "import numpy"],
        "`import sklearn.decomposition`": [python, "-c", "import sklearn.decomposition"],
        "`import vennmf`": [python, "-c", "import vennmf"],
        "`import vennmf; vennmf.JSNMF`, all that a fit needs": [python, "-c", "import vennmf; vennmf.JSNMF"],
        "`vennmf --help`": [*called, "--help"],
    }.items():
        print(f"| {name} | {seconds(run, rounds):.2f} |", flush=True)
    with tempfile.TemporaryDirectory() as cache:
        first, _ = fits(cache)
        print(f"| a small first fit, kernels compiled | {first:.2f} |", flush=True)
        again = [fits(cache) for _ in range(rounds)]
    print(f"| the first fit of a later process | {statistics.median(f for f, _ in again):.3f} |")
    print(f"| the second fit | {statistics.median(s for _, s in again):.3f} |")


if __name__ == "__main__":
    main()
