"""What is factorised, and from which start: written to a folder once, read by every solver's process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import material
from benchmarks.peers.files import write_factors
from benchmarks.peers.objective import squared_norm
from benchmarks.peers.solvers import SOLVERS, Data, Factors, parts


@dataclass(frozen=True)
class Task:
    """One collection, how it is made, at which ranks and for how long it is factorised."""

    title: str
    make: Callable[[], Data]
    kind: str = "matrix"
    ranks: tuple[int, ...] = (50, 10, 200)
    seconds: float = 6.0
    without: tuple[str, ...] = ()

    @property
    def solvers(self) -> list[str]:
        return [name for name, solver in SOLVERS.items() if self.kind in solver.kinds and name not in self.without]


TASKS: dict[str, Task] = {
    "newsgroups": Task("20 Newsgroups, tf-idf", lambda: [material.newsgroups()], seconds=12),
    "tags": Task("Tags of MIRFlickr and NUS-WIDE, tf-idf", lambda: [material.stacked_tags()]),
    "cells": Task("Blood cells, log(1 + counts)", lambda: [material.cells()]),
    "planted": Task(
        "Planted tags, ten an item",
        lambda: [material.planted_tags(1_000_000)],
        seconds=12,
        without=("nmf-torch", "sklearn-mu"),
    ),
    "faces": Task("ORL faces, a tensor", lambda: [material.faces()], kind="tensor"),
    "views": Task(
        "Two planted views of the same items, dense", material.two_views, kind="views", ranks=(20,), seconds=15
    ),
    "small": Task("Planted tags, ten an item", lambda: [material.planted_tags(20_000, 5_000)], ranks=(20,), seconds=2),
}
EVERY = [name for name in TASKS if name != "small"]


def write_start(data: Data, kind: str, k: int, folder: Path) -> None:
    """Save random factors, the same for every solver, read-only."""
    start = START[kind](data, k, np.random.default_rng(0))
    write_factors(start, folder)


def of_matrix(data: Data, k: int, rng: np.random.Generator) -> Factors:
    n, m = data[0].shape
    return best_length(data, {"H": drawn(rng, n, k), "B": drawn(rng, m, k)})


def of_tensor(data: Data, k: int, rng: np.random.Generator) -> Factors:
    n, height, width = data[0].shape
    return best_length(data, {"H": drawn(rng, n, k), "B0": drawn(rng, height, k), "B1": drawn(rng, width, k)})


def of_views(data: Data, k: int, rng: np.random.Generator) -> Factors:
    """Columns of unit norm, squares of uniform numbers, as iMML starts."""

    def unit(size: int) -> Any:
        F = rng.random((size, k)) ** 2
        return F / np.linalg.norm(F, axis=0)

    n = data[0].shape[0]
    start = {"W": unit(n)}
    for v, X in enumerate(data):
        start |= {f"V{v}": unit(n), f"B{v}": unit(X.shape[1])}
    return start


START: dict[str, Callable[[Data, int, np.random.Generator], Factors]] = {
    "matrix": of_matrix,
    "tensor": of_tensor,
    "views": of_views,
}


def drawn(rng: np.random.Generator, size: int, k: int) -> Any:
    return np.abs(rng.standard_normal((size, k), dtype=np.float32))


def best_length(data: Data, start: Factors) -> Factors:
    """The start scaled so that its product has the length that fits best, the same for each factor."""
    ((X, L, R),) = parts(data, start)
    product = float(np.vdot(L.T @ L, R.T @ R))
    scale = float(np.vdot(X @ R, L)) / product
    assert scale > 0, f"data of squared norm {squared_norm(X):.3g} do not meet their start"
    return {name: F * np.float32(scale ** (1 / len(start))) for name, F in start.items()}
