"""What an iteration needs, what this machine delivers, and how far apart they are: Markdown tables.

    VENNMF_DATA=folder python -m benchmarks.roofline [--quick] [--k 50]

The machine, all threads: bytes a second of a long sum (two arrays read, one written), of the same over arrays that together
are as large as the basis and so stay in the caches, and operations a second of a matrix product. A part of an iteration can
take no less than its arrays streamed once, or its operations. Products with sparse data also gather a row of the other factor
for each nonzero: beside them stands how many bytes a second these gathers reach, to be held against the caches'. Data: 20 Newsgroups, or planted tags of the same size where these are not to be had.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.material import newsgroups, planted_tags
from vennmf.errors import VennmfError
from vennmf.matrices import View, ViewSet
from vennmf.model import Model, sharing_pattern
from vennmf.solvers import Options, Problem, kernels
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Loop
from vennmf.solvers.sweeps import SWEEPS

NONE = np.empty(0, np.float32)


@dataclass(frozen=True)
class Machine:
    """Bytes and operations a second, all threads."""

    stream: float
    cached: float
    product: float


@dataclass(frozen=True)
class Part:
    """One part of an iteration: bytes streamed once, bytes gathered, operations, and how it is done here."""

    name: str
    stream: float
    gather: float
    operations: float
    work: Callable[[], Any]

    def least(self, machine: Machine) -> float:
        return max(self.stream / machine.stream, self.operations / machine.product)


def best(work: Callable[[], Any], rounds: int) -> float:
    """Least seconds of several calls after one to warm up."""
    work()
    least = np.inf
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - began)
    return least


def together(work: Callable[[int], Any]) -> Callable[[], None]:
    """The same work on every thread at once."""
    n = kernels.n_threads()
    pool = ThreadPoolExecutor(n)
    return lambda: list(pool.map(work, range(n))) and None


def machine(basis: int, rounds: int) -> Machine:
    """Measure; ``basis`` is the size of the basis in bytes."""
    A = np.random.default_rng(0).random((2_000, 2_000), dtype=np.float32)
    return Machine(sums(192 << 20, rounds), sums(basis, 10 * rounds), 2 * 2_000**3 / best(lambda: A @ A, rounds))


def sums(size: int, rounds: int) -> float:
    """Bytes a second of a sum over arrays of this many bytes together."""
    n = kernels.n_threads()
    arrays = [[np.ones(size // (12 * n), np.float32) for _ in range(3)] for _ in range(n)]
    times = max(1, (32 << 20) // size)

    def repeat(t: int) -> None:
        for _ in range(times):
            np.add(*arrays[t])

    return times * 3 * n * arrays[0][0].nbytes / best(together(repeat), rounds)


def parts(X: Any, k: int) -> list[Part]:
    """The parts of one plain iteration, one sweep each, and what each cannot do without."""
    (n, m), stored, size = X.shape, X.nnz, 4
    rng = np.random.default_rng(0)
    H, B = rng.random((n, k), dtype=np.float32), rng.random((m, k), dtype=np.float32)
    turned = X.T.tocsr()
    rows, columns = ((a.data, a.indices, a.indptr) for a in (X, turned))
    G = kernels.row_gram(B).astype(np.float32)
    cross_H, cross_B = np.empty_like(H), np.empty_like(B)
    kernels.sparse_times_dense(*rows, B, cross_H)
    kernels.sparse_times_dense(*columns, H, cross_B)
    entries = stored * (X.data.itemsize + X.indices.itemsize)
    tall, wide, gathered = size * n * k, size * m * k, size * stored * k

    def sweep(F: Any, cross: Any) -> Callable[[], Any]:
        return lambda: kernels.sweep(F, G, cross, NONE, np.inf, 1)

    return [
        Part("X B", entries + wide + tall, gathered, 2 * stored * k,
             lambda: kernels.sparse_times_dense(*rows, B, cross_H)),
        Part("sweep of H", 3 * tall, 0, 2 * n * k * k, sweep(H.copy(), cross_H)),
        Part("XᵀH", entries + tall + wide, gathered, 2 * stored * k,
             lambda: kernels.sparse_times_dense(*columns, H, cross_B)),
        Part("sweep of B", 3 * wide, 0, 2 * m * k * k, sweep(B.copy(), cross_B)),
        Part("HᵀH and BᵀB", tall + wide, 0, (n + m) * k * k,
             lambda: (kernels.row_gram(H), kernels.row_gram(B))),
    ]  # fmt: skip


def iterations(X: Any, k: int, rounds: int) -> dict[str, float]:
    """Seconds of whole iterations: plain ones, and those of the defaults."""
    views = ViewSet([View.of("data", X)])
    problem = Problem(Model.of(views, sharing_pattern({"data": k}, ("data",))), views)
    start = initialise(problem, "random", np.random.default_rng(0))
    found = {}
    plain = Options(max_iter=3 + 2 * rounds, tol=0, min_change=0, inner_sweeps=1, extrapolation=0, warm_start=0)
    for name, options in {"plain": plain, "default": Options(max_iter=8 + 2 * rounds, tol=0, min_change=0)}.items():
        factors = {axis: F.copy() for axis, F in start.items()}
        solution = Loop(problem, factors, SWEEPS["cd"], options, np.random.default_rng(0)).run()
        found[name] = float(np.median(np.diff(solution.history()["seconds"])[options.warm_start :]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--k", type=int, default=50)
    given = parser.parse_args()
    rounds = 3 if given.quick else 10
    try:
        X, said = newsgroups(), "20 Newsgroups"
    except VennmfError:
        X, said = planted_tags(19_000, 52_000, 110), "Planted tags (20 Newsgroups are not to be had)"
    here = machine(4 * X.shape[1] * given.k, rounds)
    print(f"This machine, {kernels.n_threads()} threads: {here.stream / 1e9:.1f} GB/s streamed, {here.cached / 1e9:.1f} GB/s "
          f"over {4e-6 * X.shape[1] * given.k:.0f} MB again and again, {here.product / 1e9:.0f} GF/s in a matrix product.\n")  # fmt: skip
    print(f"{said}, {X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} nonzeros, k = {given.k}, float32:\n")
    print(
        "| part of an iteration | MB streamed | operations, M | least, ms | measured, ms | share reached | gathered, GB/s |"
    )
    print("|" + " --- |" * 7)
    needed = taken = 0.0
    for part in parts(X, given.k):
        least, seconds = part.least(here), best(part.work, rounds)
        needed, taken = needed + least, taken + seconds
        gathered = f"{part.gather / seconds / 1e9:.0f}" if part.gather else ""
        print(f"| {part.name} | {part.stream / 1e6:.1f} | {part.operations / 1e6:.0f} | {1e3 * least:.1f} "
              f"| {1e3 * seconds:.1f} | {least / seconds:.0%} | {gathered} |")  # fmt: skip
    whole = iterations(X, given.k, rounds)
    print(f"| all of them | | | {1e3 * needed:.1f} | {1e3 * taken:.1f} | {needed / taken:.0%} | |")
    print(f"| a plain iteration of the loop, with objective and violation | | | {1e3 * needed:.1f} "
          f"| {1e3 * whole['plain']:.1f} | {needed / whole['plain']:.0%} | |")  # fmt: skip
    print(f"\nAn iteration at the defaults (several sweeps, extrapolation) takes {1e3 * whole['default']:.1f} ms.")


if __name__ == "__main__":
    main()
