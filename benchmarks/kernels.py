"""Speed of the inner loops, as a Markdown table: beside matrix products, and beside scikit-learn's on the same work.

    VENNMF_DATA=folder python benchmarks/kernels.py [--quick]

Best of several interleaved runs. GF/s counts 2 k^2 for each row and sweep, whatever else is done (the first sweep also
measures the violation). The sparse part needs newsgroups20/newsgroups20.jsonl.gz in the folder; it is left out otherwise.
"""

from __future__ import annotations

import gzip
import json
import operator
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition._cdnmf_fast import _update_cdnmf_fast
from sklearn.feature_extraction.text import TfidfVectorizer

from vennmf.solvers import kernels

NONE = {np.dtype(t): np.empty(0, t) for t in ("f4", "f8")}


def best(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least seconds of each way, run in turns."""
    least = dict.fromkeys(ways, np.inf)
    for way in ways.values():
        way()
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            least[name] = min(least[name], time.perf_counter() - start)
    return least


def sweeps(rounds: int, rows: list[int]) -> None:
    print("\n| k | dtype | rows | sweep, GF/s | 4 sweeps, GF/s | matrix product, GF/s | scikit-learn, GF/s | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for k in (5, 20, 60, 100, 256):
        for dtype in (np.float32, np.float64):
            for n in (min(some, 4_000_000_000 // k**2) for some in rows):
                B = rng.random((2 * k, k))
                G, F = (B.T @ B).astype(dtype), rng.random((n, k), dtype=dtype)
                C = F @ G * rng.random((n, k), dtype=dtype)
                none, order = NONE[F.dtype], np.arange(k)
                some = max(1, min(n, 20_000_000 // k**2))  # scikit-learn is slow: a part of the rows tells
                part, cross = F[:some].copy(), C[:some]
                ways = {
                    "one": partial(kernels.sweep, F, G, C, none, np.inf, 1),
                    "four": partial(kernels.sweep, F, G, C, none, np.inf, 4),
                    "product": partial(np.matmul, F, G),
                    "sklearn": partial(_update_cdnmf_fast, part, G, cross, order),
                }
                took = best(ways, rounds)
                work = 2e-9 * n * k * k
                one, four, product = work / took["one"], 4 * work / took["four"], work / took["product"]
                theirs = work * some / n / took["sklearn"]
                print(
                    f"| {k} | {dtype.__name__} | {n:,} | {one:.1f} | {four:.1f} | {product:.1f} "
                    f"| {theirs:.1f} | {one / theirs:.1f} × |",
                    flush=True,
                )


def newsgroups() -> Any:
    path = Path(os.environ.get("VENNMF_DATA", "")) / "newsgroups20" / "newsgroups20.jsonl.gz"
    if not path.is_file():
        return None
    with gzip.open(path, "rt") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    X = TfidfVectorizer(min_df=3, dtype=np.float32, stop_words="english", sublinear_tf=True).fit_transform(texts)
    X.sort_indices()
    return X


def products(X: Any, rounds: int) -> None:
    n, m = X.shape
    print(f"\n20 Newsgroups tf-idf, {n:,} × {m:,}, {X.nnz:,} entries; milliseconds\n")
    print("| k | dtype | X B | scipy | XᵀH, scattered | XᵀH from a copy by columns | scipy, same copy |")
    print("|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for k in (5, 20, 50, 100):
        for dtype in (np.float32, np.float64):
            mine = X.astype(dtype)
            turned = mine.T.tocsr()
            H, B = rng.random((n, k), dtype=dtype), rng.random((m, k), dtype=dtype)
            by_item, by_word = np.empty_like(H), np.empty_like(B)
            rows, columns = ((a.data, a.indices, a.indptr) for a in (mine, turned))
            ways = {
                "XB": partial(kernels.sparse_times_dense, *rows, B, by_item),
                "scipy XB": partial(operator.matmul, mine, B),
                "scatter": partial(kernels.transposed_times_dense, *rows, H, by_word),
                "copy": partial(kernels.sparse_times_dense, *columns, H, by_word),
                "scipy copy": partial(operator.matmul, turned, H),
            }
            took = best(ways, rounds)
            cells = " | ".join(f"{1e3 * took[way]:.1f}" for way in ways)
            print(f"| {k} | {dtype.__name__} | {cells} |", flush=True)


def iteration(X: Any, rounds: int, k: int = 50) -> None:
    """One sweep of H and one of B on the same starts: the same iterates as scikit-learn's in the same order."""
    n, m = X.shape
    rng = np.random.default_rng(0)
    H0, B0 = rng.random((n, k), dtype=np.float32), rng.random((m, k), dtype=np.float32)
    cross_H, cross_B = np.empty_like(H0), np.empty_like(B0)
    rows = X.data, X.indices, X.indptr
    turned = X.T.tocsr()
    columns = turned.data, turned.indices, turned.indptr
    order, none = np.arange(k), NONE[H0.dtype]

    def ours(second: Callable[..., Any], parts: tuple[Any, ...]) -> Any:
        H, B = H0.copy(), B0.copy()
        kernels.sparse_times_dense(*rows, B, cross_H)
        kernels.sweep(H, kernels.row_gram(B).astype("f4"), cross_H, none, np.inf, 1)
        second(*parts, H, cross_B)
        kernels.sweep(B, kernels.row_gram(H).astype("f4"), cross_B, none, np.inf, 1)
        return H, B

    def theirs() -> Any:
        H, B = H0.copy(), B0.copy()
        _update_cdnmf_fast(H, B.T @ B, X @ B, order)
        _update_cdnmf_fast(B, H.T @ H, turned @ H, order)
        return H, B

    gap = max(
        float(abs(a - b).max() / abs(b).max())
        for a, b in zip(ours(kernels.sparse_times_dense, columns), theirs(), strict=True)
    )
    took = best(
        {
            "ours, with a copy by columns": lambda: ours(kernels.sparse_times_dense, columns),
            "ours, scattered": lambda: ours(kernels.transposed_times_dense, rows),
            "scikit-learn": theirs,
        },
        rounds,
    )
    print(
        f"\nOne iteration, k = {k}, float32; iterates agree to {gap:.0e}\n\n| way | ms | times faster |\n|---|---|---|"
    )
    for name, seconds in took.items():
        print(f"| {name} | {1e3 * seconds:.1f} | {took['scikit-learn'] / seconds:.1f} |")


def queries(rounds: int, n: int = 20_000, k: int = 60) -> None:
    rng = np.random.default_rng(0)
    B = rng.random((1000, k)) * (rng.random((1000, k)) < 0.3)
    truth = rng.random((n, k)) * (rng.random((n, k)) < 8 / k)
    G, C = B.T @ B, (truth @ B.T * (1 + 0.1 * rng.standard_normal((n, 1000)))) @ B

    def solve(last: int) -> Any:
        F = np.zeros((last, k))
        return F, kernels.nnls_rows(F, G, C[:last], 1e-6, 500)

    F, ratio = solve(n)
    took = best({"many": partial(solve, n), "one": partial(solve, 1)}, max(rounds, 5))
    print(
        f"\nNonnegative least squares, k = {k}, {np.mean(np.sum(F > 0, axis=1)):.1f} positive entries an item, projected "
        f"gradient at most {ratio:.0e} of that at zero: {n / took['many'] / 1e3:.0f} thousand items/s; "
        f"one item {1e6 * took['one']:.0f} µs"
    )


def main() -> None:
    quick = "--quick" in sys.argv
    print(f"{kernels.n_threads()} threads")
    sweeps(3 if quick else 5, [20_000] if quick else [1_000, 400_000])
    queries(3)
    X = newsgroups()
    if X is not None:
        products(X, 3 if quick else 9)
        iteration(X, 5 if quick else 15)


if __name__ == "__main__":
    main()
