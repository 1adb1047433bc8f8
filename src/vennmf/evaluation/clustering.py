"""How well clusters meet known classes: accuracy, NMI, entropy and purity, whole and by class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vennmf.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


def clustering_accuracy(labels: ArrayLike, clusters: ArrayLike) -> float:
    """AC: the share of items right when each cluster is given one class, the best way (Hungarian method)."""
    from scipy.optimize import linear_sum_assignment

    counts = _table(labels, clusters)[0]
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


def nmi(labels: ArrayLike, clusters: ArrayLike, average: Literal["geometric", "max"] = "geometric") -> float:
    r"""Mutual information of classes and clusters over the geometric mean, or the maximum, of their entropies.

    The numerator is :math:`\sum_{pq} n_{pq} \log \frac{n\, n_{pq}}{n_p n_q}`: the second paper's eq. (11) drops the
    factor n in the logarithm, which would make it negative.
    """
    from sklearn.metrics import normalized_mutual_info_score

    _table(labels, clusters)
    if average not in ("geometric", "max"):
        raise ParameterError(f"average must be 'geometric' or 'max'; found {average!r}.")
    return float(normalized_mutual_info_score(np.asarray(labels), np.asarray(clusters), average_method=average))


def average_cluster_entropy(labels: ArrayLike, clusters: ArrayLike) -> float:
    r"""ACE: :math:`\sum_j n_j E_j / n` with :math:`E_j = -\sum_i p_{ij} \ln p_{ij}`; lower is better."""
    counts = _table(labels, clusters)[0]
    sizes = counts.sum(axis=0)
    return float(sizes @ _entropies(counts) / sizes.sum())


def cluster_purity(labels: ArrayLike, clusters: ArrayLike) -> float:
    r"""CP: :math:`\sum_j m_j / n`, m_j the items of cluster j that belong to its largest class."""
    counts = _table(labels, clusters)[0]
    return float(counts.max(axis=0).sum() / counts.sum())


def quality_by_class(labels: ArrayLike, clusters: ArrayLike) -> pd.DataFrame:
    r"""ACE_i and CP_i: entropy and purity over the clusters in which class i is the largest.

    With :math:`C_i = \{j : p_{ij} \ge p_{kj}\ \forall k\}` and :math:`N_i = \sum_{j \in C_i} n_j`,

    .. math:: ACE_i = \sum_{j \in C_i} n_j E_j / N_i \qquad CP_i = \sum_{j \in C_i} m_j / N_i .

    A cluster with two largest classes counts for both, as the definition has it. A class that is the largest in no
    cluster has no value (NaN).
    """
    import pandas as pd

    counts, classes = _table(labels, clusters)
    sizes, largest, entropies = counts.sum(axis=0), counts.max(axis=0), _entropies(counts)
    heads = counts == largest
    items = heads @ sizes
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(
            {
                "items": counts.sum(axis=1),
                "clusters": heads.sum(axis=1),
                "entropy": heads @ (sizes * entropies) / items,
                "purity": heads @ largest / items,
            },
            index=pd.Index(classes, name="class"),
        )


def purity_ratios(labels: ArrayLike, shared: ArrayLike, private: ArrayLike) -> pd.DataFrame:
    """Which classes are common: purity in clusters of the shared part over purity in clusters of the private part.

    The second paper's test: a purity ratio above one says that the class is common to the sources, below one that it
    belongs to this source alone; the entropy ratio goes the other way.
    """
    in_shared, in_private = quality_by_class(labels, shared), quality_by_class(labels, private)
    made = in_shared[["items"]].copy()
    made["purity_shared"], made["purity_private"] = in_shared["purity"], in_private["purity"]
    made["purity_ratio"] = in_shared["purity"] / in_private["purity"]
    with np.errstate(invalid="ignore", divide="ignore"):
        made["entropy_ratio"] = in_shared["entropy"] / in_private["entropy"]
    made["common"] = made["purity_ratio"] > 1
    return made.sort_values("purity_ratio", ascending=False, kind="stable")


def clustering_scores(labels: ArrayLike, clusters: ArrayLike) -> dict[str, float]:
    """All of the papers' figures for one clustering: AC, NMI (both kinds), ACE, CP."""
    return {
        "accuracy": clustering_accuracy(labels, clusters),
        "nmi": nmi(labels, clusters),
        "nmi_max": nmi(labels, clusters, "max"),
        "entropy": average_cluster_entropy(labels, clusters),
        "purity": cluster_purity(labels, clusters),
    }


def _table(labels: ArrayLike, clusters: ArrayLike) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Items of each class (rows) in each cluster (columns), and the classes' names."""
    labels, clusters = np.asarray(labels), np.asarray(clusters)
    if labels.shape != clusters.shape or labels.ndim != 1 or not labels.size:
        raise ParameterError(
            f"labels and clusters must be vectors with an entry for each item; found shapes {labels.shape} and "
            f"{clusters.shape}."
        )
    classes, rows = np.unique(labels, return_inverse=True)
    names, columns = np.unique(clusters, return_inverse=True)
    counts = np.zeros((len(classes), len(names)), dtype=np.int64)
    np.add.at(counts, (rows, columns), 1)
    return counts, classes


def _entropies(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Entropy, in nats, of the classes in each cluster."""
    from scipy.special import entr

    return entr(counts / counts.sum(axis=0)).sum(axis=0)
