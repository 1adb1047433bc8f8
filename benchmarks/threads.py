"""What more processors are worth: one fit and one fold-in at growing numbers of threads. A Markdown table.

    python -m benchmarks.threads [--items 1000000] [--k 50] [--threads 1 2 4 8 16] [--quick]

Planted tags (benchmarks/material.py), float32. The bits of every run are held to those of one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

import numpy as np

import vennmf as vn
from benchmarks.material import planted_tags
from vennmf.solvers import kernels

ITERATIONS, WARM, SWEEPS = 12, 5, 4


def sweep_speed(k: int, n: int = 400_000) -> float:
    """GF/s of the inner sweep on random rows, float32, the best of five."""
    rng = np.random.default_rng(0)
    B = rng.random((2 * k, k), dtype=np.float32)
    F, G = rng.random((n, k), dtype=np.float32), B.T @ B
    C, none, least = F @ G, np.empty(0, np.float32), np.inf
    for _ in range(5):
        began = time.perf_counter()
        kernels.sweep(F, G, C, none, np.inf, SWEEPS)
        least = min(least, time.perf_counter() - began)
    return SWEEPS * 2 * k * k * n / least / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--threads", type=int, nargs="+", default=None)
    parser.add_argument("--quick", action="store_true", help="20,000 items")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    counts = given.threads or [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cores]
    items = 20_000 if given.quick else given.items
    X = planted_tags(items)
    print(f"{items:,} × {X.shape[1]:,}, {X.nnz:,} nonzeros, k = {given.k}, float32; {cores} processors\n")
    print(
        "| threads | a whole fit, s | an iteration, ms | faster | new items, thousands a second | inner sweep, GF/s | same bits |"
    )
    print("| --- " * 7 + "|")
    settings = {"max_iter": ITERATIONS, "tol": 0, "min_change": 0, "random_state": 0}
    vn.NMF(given.k, **settings).fit(X[:20_000]).transform(X[:1_000])  # compiles
    first = None
    for n in counts:
        began = time.perf_counter()
        model = vn.NMF(given.k, n_threads=n, **settings).fit(X)
        whole = time.perf_counter() - began
        step = float(np.median(np.diff(model.history_["seconds"])[WARM:]))
        began = time.perf_counter()
        H = model.transform(X)
        rate = items / (time.perf_counter() - began) / 1e3
        with kernels.threads(n):
            speed = sweep_speed(given.k)
        bits = b"".join(part.tobytes() for part in (*model.components_.values(), H))
        first = first or (step, bits)
        same = "yes" if bits == first[1] else "no"
        print(
            f"| {n} | {whole:.1f} | {1e3 * step:.0f} | {first[0] / step:.1f} × | {rate:,.0f} | {speed:.0f} | {same} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
