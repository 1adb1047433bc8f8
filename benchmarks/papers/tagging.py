"""Tag refinement, tagging of new images and retrieval by tag: PJMF beside what its paper compares with.

    VENNMF_DATA=... python benchmarks/papers/tagging.py --collections emoji icons --splits 5 --out tagging.jsonl
    python benchmarks/papers/tagging.py --table tagging.jsonl

Each split holds out a fifth of the images (or the standard test images). A quarter of the rest, 300 at most, is held out once
more, and each method takes the settings with the best F1 at 5 there, *on the users' tags*, when fitted on 1,000 others at most, in
fewer steps: neither the truth nor the held-out fifth is seen by any choice. It is then fitted anew on all training images and measured
against the truth: on them (refinement) and on the held-out fifth (new images). P, R and F1 at 5 are means over tags; MAP ranks
images for each tag. A run that was stopped goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from tagging_collections import COLLECTIONS, Collection

import vennmf as vn
from vennmf.baselines import (
    CCPMF,
    LRES,
    MPMF,
    TWTV,
    NearestImages,
    NeighborVoting,
    OriginalTags,
    TagRegression,
)
from vennmf.evaluation import average_precision, ranking, tag_scores

Settings = dict[str, Any]


def grid(**choices: list[Any]) -> list[Settings]:
    found: list[Settings] = [{}]
    for name, values in choices.items():
        found = [settings | {name: value} for settings in found for value in values]
    return found


METHODS: dict[str, tuple[Any, list[Settings]]] = {
    "original tags": (OriginalTags, [{}]),
    "neighbour voting": (NeighborVoting, grid(n_neighbors=[5, 15, 50, 150], unit_length=[False, True])),
    "TWTV": (TWTV, grid(a=[0.3, 3.0], b=[0.1], unit_length=[False, True])),
    "LRES": (LRES, grid(tau=[0.3, 1.0], lam=[1.0], a=[0.1, 1.0], b=[0.1])),
    "MPMF": (MPMF, grid(n_components=[50], a=[0.001, 0.01], b=[0.01], l2=[0.01, 0.3], random_state=[0])),
    "CCPMF": (CCPMF, grid(n_components=[50], a=[0.1, 1.0], b=[0.1], l2=[0.03, 0.3], random_state=[0])),
    "k nearest": (NearestImages, grid(n_neighbors=[3, 5, 10, 20, 50], unit_length=[False, True])),
    "logistic": (TagRegression, grid(C=[3.0, 10.0, 30.0, 100.0])),
    "PJMF": (
        vn.PJMF,
        grid(
            n_components=[30, 120],
            sigma=[0.25, 0.4],
            gamma=[0.005, 0.05],
            scaling=["whiten"],
            random_state=[0],
            n_threads=[1],
        ),
    ),
}

WHITENED: list[Settings] = [{"scaling": "whiten"}, {"scaling": "whiten", "unit_length": True}]

SECOND: dict[str, list[Settings]] = {
    "neighbour voting": [{"reconstruct": True}, *WHITENED],
    "TWTV": [{"a": 30.0}, {"b": 1.0}, *WHITENED],
    "LRES": [{"tau": 0.1}, {"lam": 0.3}, {"a": 10.0}, {"unit_length": True}, *WHITENED],
    "MPMF": [{"n_components": 20}, {"a": 0.1}, {"b": 0.1}, {"unit_length": True}, *WHITENED],
    "CCPMF": [{"n_components": 20}, {"a": 10.0}, {"l2": 1.0}, {"unit_length": True}, *WHITENED],
    "k nearest": WHITENED,
    "logistic": [{"C": 1.0}, {"C": 300.0}, {"unit_length": True}, *WHITENED],
    "PJMF": [
        {"sigma": 0.15},
        {"n_components": 60},
        {"scaling": "standard"},
        {"unit_length": False},
        {"alpha": 0.0},
        {"alpha": 5.0},
    ],
}
"""Changes that are tried on the best settings of the first round."""

MOST_HELD, MOST_FITTED = 300, 1000
"""Images on which settings are judged, and to which they are fitted for that, at most."""

STEPS = {"PJMF": (40, 100), "LRES": (30, 60), "MPMF": (60, 200), "CCPMF": (60, 200), "logistic": (50, 100)}
"""Steps while settings are chosen, and of the fit to all training images."""

TASKS = ("refinement", "new")
MEASURES = ("P", "R", "F1", "MAP")


class Views:
    """Rows of the features, and the sparse weights that rebuild some images from others, computed once."""

    def __init__(self, views: dict[str, np.ndarray]) -> None:
        self.views = views
        self._weights: dict[Any, sp.csr_array] = {}

    def rows(self, chosen: np.ndarray) -> dict[str, np.ndarray]:
        return {name: X[chosen] for name, X in self.views.items()}

    def scores(self, model: Any, train: np.ndarray, new: np.ndarray) -> np.ndarray:
        rebuilt = isinstance(model, LRES | MPMF | CCPMF | TWTV) or getattr(model, "reconstruct", False)
        if not rebuilt:
            return np.asarray(model.decision_function(self.rows(new)))
        key = (model.scaling, model.unit_length, train.tobytes(), new.tobytes())
        if key not in self._weights:
            self._weights[key] = model.reconstruction(self.rows(new))
        return np.asarray(model.decision_function(self.rows(new), self._weights[key]))


def splits(collection: Collection, n_splits: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Number, training and test images. A standard split comes once."""
    n = collection.given.shape[0]
    if collection.test is not None:
        yield 0, np.setdiff1d(np.arange(n), collection.test), collection.test
        return
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(n)
        yield seed, np.sort(order[n // 5 :]), np.sort(order[: n // 5])


def fitted(
    method: str, settings: Settings, views: Views, collection: Collection, rows: np.ndarray, *, last: bool
) -> Any:
    """A model of these images alone, with their part of the collection's graph; ``last`` is the fit that is measured."""
    if method in STEPS:
        settings = settings | {"max_iter": STEPS[method][last]}
    model = METHODS[method][0](**settings)
    graph = None if collection.graph is None else collection.graph[rows][:, rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views.rows(rows), collection.given[rows], neighbors=graph)


def chosen(method: str, collection: Collection, views: Views, train: np.ndarray, seed: int) -> Settings:
    """The settings with the best F1 at 5 on the users' tags of a quarter of the training images."""
    candidates = METHODS[method][1]
    if len(candidates) == 1:
        return candidates[0]
    order = np.random.default_rng(100 + seed).permutation(len(train))
    n_held = min(len(train) // 4, MOST_HELD)
    held, rest = np.sort(train[order[:n_held]]), np.sort(train[order[n_held : n_held + MOST_FITTED]])

    def f1(settings: Settings) -> float:
        model = fitted(method, settings, views, collection, rest, last=False)
        return tag_scores(collection.given[held], views.scores(model, rest, held)).f1

    scored = [(f1(settings), settings) for settings in candidates]
    best = max(scored, key=lambda pair: pair[0])[1]
    scored += [(f1(settings), settings) for settings in (best | change for change in SECOND.get(method, []))]
    return max(scored, key=lambda pair: pair[0])[1]


def measures(truth: sp.csr_array, scores: np.ndarray) -> dict[str, float]:
    found = tag_scores(truth, scores)
    dense = truth.toarray() > 0
    judged = np.flatnonzero(dense.any(axis=0))
    precision = np.mean([average_precision(ranking(scores[:, j], dense[:, j])) for j in judged])
    return {"P": found.precision, "R": found.recall, "F1": found.f1, "MAP": float(precision)}


def measured(name: str, methods: list[str], n_splits: int, done: set[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """What each method does on each split of a collection: its settings, its seconds and its measures by task."""
    collection = COLLECTIONS[name]()
    if not collection.refines:
        methods = [method for method in methods if method != "original tags"]
    for seed, train, test in splits(collection, n_splits):
        views = Views(collection.views)
        for method in methods:
            if (method, seed) not in done:
                yield {"collection": name, "split": seed} | measured_once(method, collection, views, train, test, seed)


def measured_once(
    method: str, collection: Collection, views: Views, train: np.ndarray, test: np.ndarray, seed: int
) -> dict[str, Any]:
    """Settings chosen within the training images, a fit to all of them, and both tasks against the truth."""
    began = time.process_time()
    settings = chosen(method, collection, views, train, seed)
    choosing = time.process_time() - began
    began = time.process_time()
    model = fitted(method, settings, views, collection, train, last=True)
    line = {"method": method, "settings": settings, "seconds": round(time.process_time() - began, 2)}
    line["choosing"] = round(choosing, 1)
    if collection.refines:
        own = model.decision_function(views.rows(train)) if method == "PJMF" else model.relevance_
        line["refinement"] = measures(collection.truth[train], own)
    if method != "original tags":
        line["new"] = measures(collection.truth[test], views.scores(model, train, test))
    return line


def run(name: str, methods: list[str], n_splits: int, out: Path) -> None:
    """Measure what is not in the file yet, line by line."""
    known = lines(out) if out.exists() else []
    done = {(line["method"], line["split"]) for line in known if line["collection"] == name}
    for line in measured(name, methods, n_splits, done):
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def results(found: list[dict[str, Any]]) -> pd.DataFrame:
    """One row for each collection, method, split and task ("refinement" or "new"), with P, R, F1 and MAP."""
    rows = [
        {key: line[key] for key in ("collection", "method", "split", "seconds")} | {"task": task} | line[task]
        for line in found
        for task in TASKS
        if task in line
    ]
    return pd.DataFrame(rows, columns=["collection", "method", "split", "task", *MEASURES, "seconds"])


def table(found: pd.DataFrame) -> pd.DataFrame:
    """Mean ± standard deviation over the splits of one collection, as text: methods × (task, measure)."""
    grouped = found.groupby(["method", "task"], sort=False)[list(MEASURES)]
    mean, deviation = grouped.mean(), grouped.std()
    shown = mean.map("{:.3f}".format)
    if found["split"].nunique() > 1:
        shown += " ± " + deviation.map("{:.3f}".format)
    best = mean.groupby("task").transform("max") == mean
    shown = shown.where(~best, "**" + shown + "**").unstack("task").swaplevel(axis=1)
    columns = [(task, measure) for task in TASKS if task in set(found["task"]) for measure in MEASURES]
    methods = [method for method in METHODS if method in shown.index]
    return shown.loc[methods, columns].fillna("")


def markdown(found: pd.DataFrame) -> str:
    """One table for each collection; the best mean of a column in bold."""
    text = []
    for name, mine in found.groupby("collection", sort=False):
        shown = table(mine)
        n = mine["split"].nunique()
        text += ["", f"**{name}**, {n} split{'s' if n > 1 else ''}", ""]
        text += ["| method | " + " | ".join(f"{task} {measure}" for task, measure in shown.columns) + " |"]
        text += ["|---|" + "---:|" * len(shown.columns)]
        text += [
            f"| {method} | " + " | ".join(row) + " |" for method, row in zip(shown.index, shown.to_numpy(), strict=True)
        ]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collections", nargs="*", default=list(COLLECTIONS), choices=list(COLLECTIONS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("tagging.jsonl"))
    parser.add_argument("--table", type=Path, nargs="+", help="print the tables of these files instead")
    given = parser.parse_args()
    if given.table:
        print(markdown(results([line for path in given.table for line in lines(path)])))
        return
    for name in given.collections:
        run(name, given.methods, given.splits, given.out)


if __name__ == "__main__":
    main()
