"""N2S2L's and MCL's published rules against the default, in time to the same objective: python benchmarks/label_solvers.py.

    VENNMF_DATA=... python benchmarks/label_solvers.py [seeds]

Prints a table of docs/labels.md. Both solvers of a row start from the same factors and run one after the other on one thread.
The rules of N2S2L get 500 iterations, Algorithm 2 with (25) and (26) of MCL 100 of ten inner steps each; the default is asked
when it is past the objective where these end.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

import vennmf as vn

STOPS = {"tol": 0.0, "min_change": 0.0, "n_threads": 1}


def faces() -> tuple[Any, Any]:
    """ORL's images at a quarter of their size, two labels a person."""
    data = vn.datasets.load("orl_faces")
    images = data.arrays["images"].astype(np.float64).reshape(400, 28, 4, 23, 4).mean(axis=(2, 4)) / 255
    return images, partial(data, 2)


def views(name: str) -> tuple[dict[str, Any], Any]:
    """The nonnegative views with columns in [0, 1] and rows of unit length, a third of the labels."""
    data = vn.datasets.load(name)
    found = {}
    for view, X in data.views().items():
        if X.min() >= 0:
            found[view] = normalize((X - X.min(axis=0)) / np.maximum(np.ptp(X.astype(float), axis=0), 1e-12))
    return found, partial(data, None)


def partial(data: Any, each: int | None) -> Any:
    y = np.unique(np.asarray(next(iter(data.labels.values()))), return_inverse=True)[1]
    rng, out = np.random.default_rng(0), np.full(len(y), -1)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        out[rows[: each or len(rows) // 3]] = c
    return out


def cases() -> Iterator[tuple[str, Callable[[str, int], Any], str]]:
    """A name, a fit by solver and seed, and the name of the published solver."""
    images, y = faces()

    def n2s2l(X: Any) -> Callable[[str, int], Any]:
        steps = {"mu": 500, "cd": 200}
        return lambda solver, seed: vn.N2S2L(
            71, 40, solver=solver, random_state=seed, max_iter=steps[solver], **STOPS
        ).fit(X, y)

    def mcl(X: Any, labels: Any) -> Callable[[str, int], Any]:
        steps = {"paper": 100, "cd": 60}
        return lambda solver, seed: vn.MCL(
            40, scale="data", solver=solver, random_state=seed, max_iter=steps[solver], **STOPS
        ).fit(X, labels)

    yield "N2S2L, ORL faces, 400 × 644, k = 71", n2s2l(images.reshape(400, -1)), "mu"
    yield "N2S2L, ORL faces as a tensor, 400 × 28 × 23, k = 71", n2s2l(images), "mu"
    for name, size in (("msrc_v1", "210 items"), ("uci_mfeat", "2,000 items")):
        yield f"MCL, {name}, {size}, five views, k = 40", mcl(*views(name)), "paper"


def main(seeds: int) -> None:
    print(f"vennmf {vn.__version__}, numpy {np.__version__}; medians of {seeds} seeds")
    print(
        "| problem | rule's end | its seconds | default past it after | times as fast | default's end | any step up |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, fit, published in cases():
        fit("cd", 0), fit(published, 0)  # compiled and warm
        rows = []
        for seed in range(seeds):
            rule, ours = fit(published, seed).history_, fit("cd", seed).history_
            end = rule["objective"][-1]
            at = int(np.argmax(ours["objective"] <= end))
            if ours["objective"][at] > end:
                print(f"{name}, seed {seed}: the default did not get there", file=sys.stderr)
                continue
            rises = any(np.any(np.diff(h["objective"]) > 0) for h in (rule, ours))
            seconds = rule["seconds"][-1], ours["seconds"][at]
            rows.append((end, *seconds, seconds[0] / seconds[1], ours["objective"][-1], rises, at + 1))
        end, slow, fast, ratio, last, _, iterations = np.median(np.array(rows, dtype=float), axis=0)
        up = "yes" if any(row[5] for row in rows) else "none"
        print(
            f"| {name} | {end:.4g} | {slow:.2f} | {fast:.2f} s, {iterations:.0f} iterations | {ratio:.0f} | {last:.4g} | {up} |",
            flush=True,
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
