"""Clustering several sources jointly, with the second paper's method and its baselines: one run for one seed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from claims import spread
from kept import Kept
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import normalize

import vennmf as vn
from vennmf.baselines import LSSMTC
from vennmf.evaluation import clustering_accuracy, clustering_scores

SUBSPACE = 16
"""Dimensions of LSSMTC's and ASI's subspace, and λ = 0.3: the second paper's for CNN and BBC."""

FIT = {"max_iter": 100, "tol": 1e-3, "n_threads": 1}
Clusters = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """Sources, their labels, how many clusters each, and the ranks of the factor models."""

    views: Any
    labels: Mapping[str, Any]
    n_clusters: Mapping[str, int]
    n_components: Mapping[str, int]
    n_shared: int

    def matrices(self) -> dict[str, Any]:
        return {name: view.X for name, view in self.views.items()}

    def n_classes(self) -> int:
        """Different classes in all sources."""
        return len(set().union(*(np.unique(labels) for labels in self.labels.values())))

    def together(self) -> tuple[Any, Any]:
        """All rows stacked, and the source of each."""
        parts = self.matrices()
        return sp.vstack(list(parts.values())).tocsr(), np.repeat(list(parts), [X.shape[0] for X in parts.values()])


def kmeans(rows: Any, k: int, seed: int) -> Any:
    """k-means on rows of unit length, ten starts, for every method alike."""
    return KMeans(k, n_init=10, random_state=seed).fit_predict(normalize(rows))


def _each(task: Task, encode: Callable[[Any, int], Any], seed: int) -> Clusters:
    """Encode and cluster each source alone."""
    found = {}
    for name, X in task.matrices().items():
        found[name] = kmeans(encode(X, task.n_components[name]), task.n_clusters[name], seed)
    return found


def _stacked(task: Task, encode: Callable[[Any, int], Any], seed: int) -> Clusters:
    """Encode all rows together, then cluster each source's rows."""
    X, source = task.together()
    rows = encode(X, max(task.n_components.values()))
    return {name: kmeans(rows[source == name], task.n_clusters[name], seed) for name in task.views}


def k_means(task: Task, seed: int) -> Clusters:
    return _each(task, lambda X, k: X, seed)


def pca(task: Task, seed: int) -> Clusters:
    return _each(task, lambda X, k: _pca(X, k, seed), seed)


def stacked_pca(task: Task, seed: int) -> Clusters:
    return _stacked(task, lambda X, k: _pca(X, k, seed), seed)


def _pca(X: Any, k: int, seed: int) -> Any:
    return PCA(k, svd_solver="arpack", random_state=seed).fit_transform(X)


def nmf(task: Task, seed: int) -> Clusters:
    return _each(task, lambda X, k: _nmf(X, k, seed), seed)


def stacked_nmf(task: Task, seed: int) -> Clusters:
    return _stacked(task, lambda X, k: _nmf(X, k, seed), seed)


def _nmf(X: Any, k: int, seed: int) -> Any:
    return vn.NMF(k, random_state=seed, **FIT).fit_transform(X)


def lssmtc(own_weight: float, n_components: int) -> Callable[[Task, int], Clusters]:
    """As many clusters in every source as there are classes in all of them together: the method needs one number."""

    def run(task: Task, seed: int) -> Clusters:
        model = LSSMTC(task.n_classes(), n_components, own_weight, random_state=seed)
        return dict(model.fit(task.matrices()).labels_)

    return run


def asi(task: Task, seed: int) -> Clusters:
    """Each source alone: LSSMTC without centroids of its own, as the second paper has it."""
    found = {}
    for name, X in task.matrices().items():
        model = LSSMTC(task.n_clusters[name], SUBSPACE, 0.0, random_state=seed)
        found |= model.fit({name: X}).labels_
    return found


def normalised_cut(task: Task, seed: int) -> Clusters:
    found = {}
    for name, X in task.matrices().items():
        model = SpectralClustering(task.n_clusters[name], affinity="precomputed", random_state=seed)
        found[name] = model.fit_predict(np.maximum(cosine_similarity(X), 1e-6))
    return found


def jsnmf(task: Task, seed: int) -> Clusters:
    return _joint(vn.JSNMF(task.n_components, task.n_shared, random_state=seed, **FIT), task, seed)


def rjsnmf(a: float) -> Callable[[Task, int], Clusters]:
    def run(task: Task, seed: int) -> Clusters:
        return _joint(
            vn.RJSNMF(task.n_components, task.n_shared, orthogonality=a, random_state=seed, **FIT), task, seed
        )

    return run


def _joint(model: Any, task: Task, seed: int) -> Clusters:
    model.fit(task.views)
    return {name: kmeans(model.encodings_[name], task.n_clusters[name], seed) for name in task.views}


METHODS: dict[str, Callable[[Task, int], Clusters]] = {
    "KM": k_means,
    "PCA+KM": pca,
    "Aug-PCA+KM": stacked_pca,
    "Ncut": normalised_cut,
    "ASI": asi,
    "Aug-ASI": lssmtc(0.0, SUBSPACE),
    "LSSMTC": lssmtc(0.3, SUBSPACE),
    "NMF+KM": nmf,
    "Aug-NMF+KM": stacked_nmf,
    "JSNMF+KM": jsnmf,
    "RJSNMF+KM, a=1": rjsnmf(1.0),
    "RJSNMF+KM, a=10": rjsnmf(10.0),
    "RJSNMF+KM, a=100": rjsnmf(100.0),
}


def compare(
    task: Task, runs: int, methods: Mapping[str, Callable[[Task, int], Clusters]] = METHODS, kept: Kept | None = None
) -> pd.DataFrame:
    """Scores of every method, source and seed: method, source, seed, accuracy, nmi, entropy, purity. Whole seeds alone."""

    def once(case: dict[str, Any]) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clusters = methods[case["method"]](task, case["seed"])
        return {"scores": {source: clustering_scores(task.labels[source], c) for source, c in clusters.items()}}

    cases = [{"method": method, "seed": seed} for seed in range(runs) for method in methods]
    found = (kept or Kept()).measure(cases, once)
    whole = found.groupby("seed")["method"].transform("size") == len(methods)
    rows = [
        {"method": row.method, "source": source, "seed": row.seed, **scores}
        for row in found[whole].itertuples()
        for source, scores in row.scores.items()
    ]
    return pd.DataFrame(rows)


def table(
    scores: pd.DataFrame, source: str, measures: Mapping[str, str], paper: Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Mean ± sample deviation over seeds, methods by measures; the paper's own figures in columns beside them."""
    mine = scores[scores["source"] == source]
    made = {}
    for method, part in mine.groupby("method", sort=False):
        theirs = paper.get(str(method).split(",")[0] if str(method) not in paper else str(method), {})
        made[method] = {label: spread(part[key]) for key, label in measures.items()}
        made[method] |= {f"paper: {label}": theirs.get(key, "") for key, label in measures.items() if _any(paper, key)}
    frame = pd.DataFrame.from_dict(made, orient="index")
    frame.index.name = "method"
    return frame


def _any(paper: Mapping[str, Mapping[str, str]], key: str) -> bool:
    return any(key in row for row in paper.values())


def best_lssmtc(task: Task, kept: Kept, seeds: range = range(1000, 1003)) -> tuple[float, int]:
    """λ and l of LSSMTC with the best mean accuracy: chosen by the labels, in the baseline's favour, on seeds of its own."""

    def once(case: dict[str, Any]) -> dict[str, Any]:
        found = [lssmtc(case["own"], case["size"])(task, seed) for seed in seeds]
        right = [clustering_accuracy(task.labels[s], clusters) for each in found for s, clusters in each.items()]
        return {"accuracy": float(np.mean(right))}

    settings = [{"own": own, "size": size} for own, size in product((0.2, 0.3), (2, 12, 16, 30))]
    found = kept.measure(settings, once)
    best = found.loc[found["accuracy"].idxmax()]
    return float(best["own"]), int(best["size"])
