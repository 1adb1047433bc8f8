"""One solver in a process of its own: python -m benchmarks.peers.worker JOB.json writes what it found beside it.

Objective against seconds, and the peak memory of the solver above that of the process with data and start loaded.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.memory import Memory
from benchmarks.peers.files import read
from benchmarks.peers.objective import relative_error
from benchmarks.peers.solvers import SOLVERS, Data, Factors, Solver, parts

CALIBRATION = 0.2
"""Share of the time limit up to which one more iteration is spent on finding whether one thread is faster."""


def small(kind: str) -> tuple[Data, Factors]:
    """A problem of a moment to import and compile with, just large enough that nothing of it is left to NumPy."""
    rng, n, k = np.random.default_rng(0), 1100, 16

    def factors(**sizes: int) -> Factors:
        return {name: rng.random((size, k), dtype=np.float32) for name, size in sizes.items()}

    if kind == "matrix":
        X = sp.random_array((n, n), density=0.02, format="csr", dtype=np.float32, rng=rng)
        return [X], factors(H=n, B=n)
    if kind == "tensor":
        return [rng.random((n, 20, 20), dtype=np.float32)], factors(H=n, B0=20, B1=20)
    return [rng.random((n, 50), dtype=np.float32) for _ in range(2)], factors(W=n, V0=n, V1=n, B0=50, B1=50)


def run(solver: Solver, data: Data, start: Factors, job: dict[str, Any]) -> dict[str, Any]:
    """Calls of growing length until the limit, or until the job's goal is passed and a quarter of the limit spent."""
    from threadpoolctl import threadpool_limits

    kind, limit, goal = job["kind"], job["limit"], job["goal"]
    made, begin = small(kind)
    solver.advance(solver.prepare(made), begin, 2, 1)
    memory = Memory()
    memory.reset()
    prepared = solver.prepare(data)

    def timed(factors: Factors, n: int, threads: int) -> tuple[float, Factors]:
        with threadpool_limits(threads):
            began = time.perf_counter()
            found = solver.advance(prepared, factors, n, threads)
            return time.perf_counter() - began, found

    threads = best_threads(timed, start, limit)
    curve: list[tuple[int, float, float]] = []
    done, spent, factors, n, peak = 0, 0.0, start, 1, 0
    while n:
        memory.reset()
        seconds, found = timed(factors, n, threads)
        peak = max(peak, memory.peak())
        done, spent = (done + n, spent + seconds) if solver.resumes else (n, seconds)
        curve.append((done, spent, relative_error(parts(data, found))))
        factors = found if solver.resumes else start
        del found  # or it would count as memory of the next call
        still = len(curve) > 1 and curve[-1][2] == curve[-2][2]  # it had converged before
        past = goal is not None and curve[-1][2] <= goal and spent >= limit / 4
        n = 0 if past or still else next_step(solver, done, spent, limit, job["max_iter"])
    return {"curve": curve, "peak": peak, "threads": threads}


def best_threads(timed: Callable[[Factors, int, int], Any], start: Factors, limit: float) -> int:
    """All the processors, or one where that is faster: some packages lose by waking the others."""
    everyone = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    together, _ = timed(start, 1, everyone)
    if everyone == 1 or together > CALIBRATION * limit:
        return everyone
    together = min(together, timed(start, 1, everyone)[0])
    alone = min(timed(start, 1, 1)[0], timed(start, 1, 1)[0])
    return 1 if alone < 0.95 * together else everyone


def next_step(solver: Solver, done: int, spent: float, limit: float, max_iter: int) -> int:
    """Iterations of the next call so that calls grow and the limit is met; 0 to end."""
    affordable = int(limit * done / max(spent, 1e-9))
    wanted = min(max(done + 1, int(solver.growth * done)), max_iter, affordable)
    if wanted <= done or (affordable < 1.1 * done and done > 1):
        return 0
    return wanted - done if solver.resumes else wanted


def main() -> None:
    job_file = Path(sys.argv[1])
    job = json.loads(job_file.read_text())
    solver = SOLVERS[job["solver"]]
    warnings.simplefilter("ignore")
    try:
        found: dict[str, Any] = {"version": version(solver.package)}
    except PackageNotFoundError:
        found = {"missing": f"{solver.package} is not installed"}
    if "missing" not in found:
        data, start = read(Path(job["folder"]))
        try:
            found |= run(solver, data, start, job)
        except ImportError as error:
            found["missing"] = f"{solver.package} cannot be imported: {str(error).splitlines()[0]}"
    job_file.with_suffix(".found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
