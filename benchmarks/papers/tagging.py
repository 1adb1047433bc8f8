"""Tag refinement, tagging of new images and retrieval by tag: PJMF beside what its paper compares with.

    VENNMF_DATA=... python benchmarks/papers/tagging.py --collections emoji icons --splits 5 --out tagging.jsonl
    python benchmarks/papers/tagging.py --table tagging.jsonl
    VENNMF_DATA=... python benchmarks/papers/tagging.py --sensitivity mirflickr --out sensitivity.jsonl
    VENNMF_DATA=... python benchmarks/papers/tagging.py --solvers mirflickr

Each split holds out a fifth of the images (or the standard test images). A quarter of the rest, 300 at most, is held out once
more, and each method takes the settings with the best F1 at 5 there, *on the users' tags*, when fitted on 900 others at most:
neither the truth nor the held-out fifth is seen by any choice. It is then fitted anew on all training images and measured against the truth: on them
(refinement) and on the held-out fifth (new images). P, R and F1 at 5 are means over tags; MAP ranks images for each tag.
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
from vennmf.estimators.feature_scaling import apply_scaling, named_views
from vennmf.evaluation import average_precision, ranking, tag_scores
from vennmf.solvers.manifold import CentredStiefel

Settings = dict[str, Any]


def grid(**choices: list[Any]) -> list[Settings]:
    found: list[Settings] = [{}]
    for name, values in choices.items():
        found = [settings | {name: value} for settings in found for value in values]
    return found


METHODS: dict[str, tuple[Any, list[Settings]]] = {
    "original tags": (OriginalTags, [{}]),
    "neighbour voting": (
        NeighborVoting,
        grid(n_neighbors=[5, 15, 50, 150], scaling=["standard", "whiten"], reconstruct=[False, True]),
    ),
    "TWTV": (TWTV, grid(a=[0.3, 3.0], b=[0.1], scaling=["standard", "whiten"])),
    "LRES": (LRES, grid(tau=[0.3, 1.0], lam=[1.0], a=[0.1, 1.0], b=[0.1])),
    "MPMF": (MPMF, grid(n_components=[50], a=[0.001, 0.01], b=[0.01], l2=[0.01, 0.3], random_state=[0])),
    "CCPMF": (CCPMF, grid(n_components=[50], a=[0.1, 1.0], b=[0.1], l2=[0.03, 0.3], random_state=[0])),
    "k nearest": (NearestImages, grid(n_neighbors=[3, 5, 10, 20, 50], scaling=["standard", "whiten"])),
    "logistic": (TagRegression, grid(C=[3.0, 10.0, 30.0, 100.0], max_iter=[100])),
    "PJMF": (
        vn.PJMF,
        grid(n_components=[25, 100], sigma=[0.12, 0.25, 0.4], scaling=["whiten", "standard"], random_state=[0]),
    ),
}

SECOND: dict[str, list[Settings]] = {"PJMF": [{"gamma": 0.05}, {"alpha": 0.0}, {"alpha": 5.0}, {"beta": 5.0}]}
"""Changes that are tried on the best settings of the first round."""


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
        key = (model.scaling, train.tobytes(), new.tobytes())
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
    method: str, settings: Settings, views: Views, Y: sp.csr_array, rows: np.ndarray, graph: Any, steps: int
) -> Any:
    kind = METHODS[method][0]
    model = kind(**settings, max_iter=steps, n_threads=1) if kind is vn.PJMF else kind(**settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(views.rows(rows), Y[rows], neighbors=graph)


def chosen(method: str, collection: Collection, views: Views, train: np.ndarray, seed: int) -> Settings:
    """The settings with the best F1 at 5 on the users' tags of a quarter of the training images."""
    candidates = METHODS[method][1]
    if len(candidates) == 1:
        return candidates[0]
    order = np.random.default_rng(100 + seed).permutation(len(train))
    n_held = min(len(train) // 4, 300)
    held, rest = np.sort(train[order[:n_held]]), np.sort(train[order[n_held : n_held + 900]])

    def f1(settings: Settings) -> float:
        model = fitted(method, settings, views, collection.given, rest, None, 40)
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


def run(name: str, methods: list[str], n_splits: int, out: Path) -> None:
    collection = COLLECTIONS[name]()
    for seed, train, test in splits(collection, n_splits):
        views = Views(collection.views)
        for method in methods:
            if method == "original tags" and not collection.refines:
                continue
            began = time.perf_counter()
            settings = chosen(method, collection, views, train, seed)
            choosing = time.perf_counter() - began
            graph = None if collection.neighbors is None else collection.neighbors[:, :50]
            began = time.perf_counter()
            model = fitted(method, settings, views, collection.given, train, graph, 100)
            seconds = time.perf_counter() - began
            line = {"collection": name, "method": method, "split": seed, "settings": settings}
            line |= {"seconds": round(seconds, 2), "choosing": round(choosing, 1)}
            if collection.refines:
                own = model.decision_function(views.rows(train)) if method == "PJMF" else model.relevance_
                line["refinement"] = measures(collection.truth[train], own)
            if method != "original tags":
                line["new"] = measures(collection.truth[test], views.scores(model, train, test))
            with out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            short = {
                task: {k: round(v, 3) for k, v in line[task].items()} for task in ("refinement", "new") if task in line
            }
            print(name, seed, method, settings, line["seconds"], line["choosing"], short, flush=True)


def sensitivity(name: str, out: Path) -> None:
    """F1 of new images over α × β, over σ and over p, on the first split: figure 2 of the paper."""
    collection = COLLECTIONS[name]()
    _, train, test = next(splits(collection, 1))
    views = Views(collection.views)
    base = {"scaling": "standard", "n_components": 25, "sigma": 0.25, "random_state": 0}
    levels = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    runs = [{"alpha": a, "beta": b} for a in levels for b in levels]
    runs += [{"alpha": a} for a in (3.0, 10.0, 30.0)] + [{"beta": b} for b in (3.0, 10.0, 30.0)]
    runs += [{"sigma": sigma} for sigma in (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)]
    runs += [{"n_components": p} for p in (10, 25, 50, 100, 150, 200, 250, 300)]
    done = len(out.read_text().splitlines()) if out.exists() else 0
    for settings in runs[done:]:
        model = fitted("PJMF", base | settings, views, collection.given, train, None, 60)
        line = {
            "collection": name,
            **settings,
            **measures(collection.truth[test], model.decision_function(views.rows(test))),
        }
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)


def solvers(name: str) -> None:
    """Both solvers on the first split: what they reach, whether it is feasible, what it is worth for new images.

    "made feasible" is the objective after A is replaced by its orthonormal factor and the tags are centred.
    """
    collection = COLLECTIONS[name]()
    _, train, test = next(splits(collection, 1))
    views = Views(collection.views)
    base = {"n_components": 50, "sigma": 0.25, "random_state": 0, "tol": 0, "min_change": 0, "n_threads": 1}
    runs: list[Settings] = [{"solver": "manifold", "max_iter": 200}]
    runs += [runs[0] | {"init": "random", "random_state": seed} for seed in range(3)]
    runs += [{"solver": "paper", "step": step, "max_iter": 500} for step in (0.005, 0.001)]
    runs += [{"solver": "paper", "step": 0.0005, "orthogonality": 50.0, "max_iter": 500}]
    for settings in runs:
        model = vn.PJMF(**(base | settings))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(views.rows(train), collection.given[train])
        history = model.history_
        terms = sum(history[term] for term in ("fit", "distance", "image_graph", "tag_graph"))
        at = [min(i, len(terms) - 1) for i in (0, 9, 24, 49, 99, 499)]
        X = apply_scaling(named_views(views.rows(train)), model.scaling_)
        problem = model._problem(X, collection.given[train].astype(X.dtype), None, np.random.default_rng(0))
        space = CentredStiefel(X.sum(), problem.n_tags)
        point = space.feasible(model.projection_.astype(float), model.tag_embedding_.astype(float))
        feasible = problem.terms(point.A, space.tags(point)).objective
        found = measures(collection.truth[test], model.decision_function(views.rows(test)))
        print(settings, model.stop_reason_, f"{history['seconds'][-1]:.1f} s")
        print(
            "  after 1, 10, 25, 50, 100, 500 steps:", np.round(terms[at], 1).tolist(), f"made feasible {feasible:.1f}"
        )
        faults = history["orthonormality_error"][-1], history["centring_error"][-1]
        print(
            f"  |AtA - I| {faults[0]:.1e}, centre {faults[1]:.1e};",
            {k: round(v, 3) for k, v in found.items()},
            flush=True,
        )


def table(path: Path) -> str:
    """Mean ± standard deviation over splits, one markdown table for each collection; the best mean of a column in bold."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    text = []
    for name in dict.fromkeys(line["collection"] for line in lines):
        mine = [line for line in lines if line["collection"] == name]
        tasks = [task for task in ("refinement", "new") if any(task in line for line in mine)]
        columns = [(task, measure) for task in tasks for measure in ("P", "R", "F1", "MAP")]
        n = max(line["split"] for line in mine) + 1
        text += ["", f"**{COLLECTIONS[name]().name}**, {n} split{'s' if n > 1 else ''}", ""]
        text += ["| method | " + " | ".join(f"{task} {measure}" for task, measure in columns) + " | fit, s |"]
        text += ["|---|" + "---:|" * (len(columns) + 1)]
        methods = [m for m in METHODS if any(line["method"] == m for line in mine)]
        cells = {
            m: [[line[t][k] for line in mine if line["method"] == m and t in line] for t, k in columns] for m in methods
        }
        best = [max(np.mean(cells[m][c]) for m in methods if cells[m][c]) for c in range(len(columns))]
        for method in methods:
            row = []
            for values, top in zip(cells[method], best, strict=True):
                if not values:
                    row.append("")
                    continue
                shown = f"{np.mean(values):.3f}" + (f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else "")
                row.append(f"**{shown}**" if np.mean(values) == top else shown)
            seconds = np.mean([line["seconds"] for line in mine if line["method"] == method])
            text.append(f"| {method} | " + " | ".join(row) + f" | {seconds:.1f} |")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--collections", nargs="*", default=list(COLLECTIONS), choices=list(COLLECTIONS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("tagging.jsonl"))
    parser.add_argument("--sensitivity", choices=list(COLLECTIONS))
    parser.add_argument("--solvers", choices=list(COLLECTIONS))
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    if given.table:
        print(table(given.table))
    elif given.solvers:
        solvers(given.solvers)
    elif given.sensitivity:
        sensitivity(given.sensitivity, given.out)
    else:
        for name in given.collections:
            run(name, given.methods, given.splits, given.out)


if __name__ == "__main__":
    main()
