"""What PJMF's settings do, and how its two solvers compare, on the first split of a collection.

    VENNMF_DATA=... python benchmarks/papers/tagging_settings.py --sensitivity mirflickr --out sensitivity.jsonl
    python benchmarks/papers/tagging_settings.py --table sensitivity.jsonl
    VENNMF_DATA=... python benchmarks/papers/tagging_settings.py --solvers mirflickr
    VENNMF_DATA=... python benchmarks/papers/tagging_settings.py --nearness openclipart --chosen tagging.jsonl

The sensitivity is figure 2 of the paper: F1 at 5 of new images over α × β and over p; and over σ, which it searches.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import label_ranking_average_precision_score
from tagging import Settings, Views, fitted, lines, measures, splits
from tagging_collections import COLLECTIONS

import vennmf as vn
from vennmf.baselines import NearestImages
from vennmf.baselines.tagging import _dense
from vennmf.estimators.feature_scaling import apply_scaling, named_views
from vennmf.solvers.manifold import CentredStiefel

BASE: Settings = {"n_components": 50, "sigma": 0.25, "random_state": 0, "n_threads": 1}
LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
RUNS: list[Settings] = [
    *({"alpha": a, "beta": b} for a in LEVELS for b in LEVELS),
    *({"alpha": a} for a in (3.0, 10.0, 30.0)),
    *({"beta": b} for b in (3.0, 10.0, 30.0)),
    *({"sigma": sigma} for sigma in (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)),
    *({"n_components": p} for p in (10, 25, 50, 100, 150, 200, 250, 300)),
]


def sensitivity(name: str, out: Path) -> None:
    """Every run of ``RUNS`` that is not in the file yet, line by line."""
    collection = COLLECTIONS[name]()
    _, train, test = next(splits(collection, 1))
    views = Views(collection.views)
    done = [line["settings"] for line in lines(out)] if out.exists() else []
    for settings in (run for run in RUNS if run not in done):
        model = fitted("PJMF", BASE | settings, views, collection, train, last=True)
        found = measures(collection.truth[test], model.decision_function(views.rows(test)))
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"collection": name, "settings": settings} | found) + "\n")
        print(name, settings, {key: round(value, 3) for key, value in found.items()}, flush=True)


def sensitivity_tables(path: Path) -> Iterator[pd.DataFrame]:
    """F1 over α × β, then F1 and MAP over each setting alone."""
    found = pd.DataFrame([line["settings"] | {key: line[key] for key in ("F1", "MAP")} for line in lines(path)])
    pairs = found.dropna(subset=["alpha", "beta"])
    yield pairs.pivot_table(index="alpha", columns="beta", values="F1")
    for setting in ("alpha", "beta", "sigma", "n_components"):
        others = [s for s in ("alpha", "beta", "sigma", "n_components") if s != setting]
        alone = found[found[setting].notna() & found[others].isna().all(axis=1)]
        yield alone.set_index(setting)[["F1", "MAP"]].T


def solvers(name: str) -> Iterator[dict[str, Any]]:
    """Both solvers from the same start: the objective met, how feasible it is, and what it is worth for new images.

    "made feasible" is the objective after A is replaced by its orthonormal factor and the tags are centred.
    """
    collection = COLLECTIONS[name]()
    _, train, test = next(splits(collection, 1))
    views = Views(collection.views)
    runs: list[Settings] = [{"solver": "manifold", "max_iter": 200}]
    runs += [runs[0] | {"init": "random", "random_state": seed} for seed in range(3)]
    runs += [{"solver": "paper", "step": step, "max_iter": 500} for step in (0.005, 0.001, 0.0005)]
    runs += [{"solver": "paper", "step": 0.0005, "orthogonality": 50.0, "max_iter": 500}]
    for settings in runs:
        model = vn.PJMF(**(BASE | {"tol": 0, "min_change": 0} | settings))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(views.rows(train), collection.given[train])
        history = model.history_
        terms = sum(history[term] for term in ("fit", "distance", "image_graph", "tag_graph"))
        after = {f"after {n}": round(float(terms[n - 1]), 1) for n in (1, 10, 25, 50, 100, 200, 500) if n <= len(terms)}
        found = measures(collection.truth[test], model.decision_function(views.rows(test)))
        yield {
            "settings": settings,
            **after,
            "made feasible": round(made_feasible(model, views.rows(train), collection.given[train]), 1),
            "|AtA - I|": f"{history['orthonormality_error'][-1]:.1e}",
            "centre": f"{history['centring_error'][-1]:.1e}",
            **{key: round(value, 3) for key, value in found.items()},
            "seconds a step": round(float(history["seconds"][-1]) / len(terms), 4),
            "ended": model.stop_reason_,
        }


def made_feasible(model: vn.PJMF, views: dict[str, np.ndarray], tags: Any) -> float:
    """The objective (16) where the model's A and U are brought back to both constraints."""
    X = apply_scaling(named_views(views), model.scaling_)
    problem = model._problem(X, tags.astype(X.dtype), None, np.random.default_rng(0))
    space = CentredStiefel(X.sum(), problem.n_tags)
    point = space.feasible(model.projection_.astype(float), model.tag_embedding_.astype(float))
    return problem.terms(point.A, space.tags(point)).objective


def nearness(name: str, chosen: Path, n_groups: int = 3) -> pd.DataFrame:
    """Label-ranking average precision of new images, in groups by how near their nearest training image is.

    Methods have the settings that the benchmark chose on its first split, from its file.
    """
    collection = COLLECTIONS[name]()
    _, train, test = next(splits(collection, 1))
    views = Views(collection.views)
    settings = {
        line["method"]: line["settings"]
        for line in lines(chosen)
        if line["collection"] == name and line["split"] == 0 and line["method"] != "original tags"
    }
    whitened = NearestImages(1, scaling="whiten", unit_length=True).fit(views.rows(train), collection.given[train])
    distance = whitened._search.kneighbors(_dense(whitened.scaled(views.rows(test))), 1)[0].ravel()
    tagged = np.diff(collection.truth[test].indptr) > 0
    groups = np.array_split(np.flatnonzero(tagged)[np.argsort(distance[tagged])], n_groups)
    truth = collection.truth[test].toarray() > 0
    rows = {"distance": [f"{distance[group].min():.2f} to {distance[group].max():.2f}" for group in groups]}
    for method, chosen_settings in settings.items():
        scores = views.scores(fitted(method, chosen_settings, views, collection, train, last=True), train, test)
        ranked = [label_ranking_average_precision_score(truth[group], scores[group]) for group in groups]
        rows[method] = [f"{value:.3f}" for value in ranked]
    return pd.DataFrame(rows, index=["nearest third", "middle third", "farthest third"]).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sensitivity", choices=list(COLLECTIONS))
    parser.add_argument("--solvers", choices=list(COLLECTIONS))
    parser.add_argument("--nearness", choices=list(COLLECTIONS))
    parser.add_argument("--chosen", type=Path, default=Path("tagging.jsonl"), help="a file of the benchmark")
    parser.add_argument("--out", type=Path, default=Path("sensitivity.jsonl"))
    parser.add_argument("--table", type=Path, help="print the tables of a sensitivity file")
    given = parser.parse_args()
    if given.table:
        for shown in sensitivity_tables(given.table):
            print(shown.round(3).to_string(), end="\n\n")
    if given.sensitivity:
        sensitivity(given.sensitivity, given.out)
    if given.nearness:
        print(nearness(given.nearness, given.chosen).to_string())
    if given.solvers:
        for line in solvers(given.solvers):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
