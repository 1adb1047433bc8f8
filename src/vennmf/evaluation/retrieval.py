"""How good a ranking is: precision–recall, precision at N, average precision, nDCG.

A *ranking* is a boolean vector: whether the item at rank 1, 2, 3 ... is relevant. It may be cut short; then
``n_relevant`` says how many relevant items there are in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vennmf.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

ELEVEN_POINTS = tuple(level / 10 for level in range(11))


def ranking(scores: ArrayLike, relevant: ArrayLike, random_state: int | None = None) -> NDArray[np.bool_]:
    """Whether each item is relevant, from the best score to the worst.

    Equal scores keep the order of the items; with ``random_state`` they are shuffled, which matters for measures
    that tie many items, such as the literal match of tags.
    """
    scores, relevant = np.asarray(scores, dtype=float), np.asarray(relevant, dtype=bool)
    if scores.shape != relevant.shape or scores.ndim != 1:
        raise ParameterError(
            f"scores and relevant must be vectors with an entry for each item; found shapes {scores.shape} and "
            f"{relevant.shape}."
        )
    if random_state is None:
        return relevant[np.argsort(-scores, kind="stable")]
    shuffled = np.random.default_rng(random_state).permutation(len(scores))
    return relevant[shuffled[np.argsort(-scores[shuffled], kind="stable")]]


def precision_at(ranked: ArrayLike, n: int) -> float:
    """P@N: the share of relevant items among the first N. A ranking shorter than N counts as filled with misses."""
    if n < 1:
        raise ParameterError(f"n must be at least 1; found {n}.")
    return float(np.count_nonzero(_checked(ranked)[:n]) / n)


def precision_recall(
    ranked: ArrayLike, n_relevant: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Precision and recall after each item of a ranking."""
    ranked = _checked(ranked)
    found = np.cumsum(ranked)
    total = _total(ranked, n_relevant)
    precision = found / np.arange(1, len(ranked) + 1)
    return precision, found / total if total else np.full(len(ranked), np.nan)


def interpolated_precision(
    ranked: ArrayLike, recall: ArrayLike = ELEVEN_POINTS, n_relevant: int | None = None
) -> NDArray[np.float64]:
    """The 11-point curve: at each recall level the best precision at that recall or beyond.

    0 at levels that a cut ranking never reaches; NaN everywhere for a query without relevant items.
    """
    precision, reached = precision_recall(ranked, n_relevant)
    best = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    if np.isnan(reached).any() or not len(reached):
        return np.full(np.shape(recall), np.nan)
    return best[np.searchsorted(reached, np.asarray(recall) - 1e-12)]


def precision_at_recall(ranked: ArrayLike, recall: float = 0.1, n_relevant: int | None = None) -> float:
    """Interpolated precision at one recall level: the papers' precision at fixed recall 0.1."""
    return float(interpolated_precision(ranked, [recall], n_relevant)[0])


def average_precision(ranked: ArrayLike, n_relevant: int | None = None) -> float:
    """Mean, over all relevant items, of the precision at their rank; items that were not found count 0."""
    ranked = _checked(ranked)
    total = _total(ranked, n_relevant)
    if not total:
        return float("nan")
    return float(precision_recall(ranked, total)[0][ranked].sum() / total)


def mean_average_precision(rankings: Sequence[ArrayLike], n_relevant: Sequence[int] | None = None) -> float:
    """MAP over queries. Queries without a relevant item say nothing and are left out."""
    totals: Sequence[int | None] = [None] * len(rankings) if n_relevant is None else n_relevant
    values = [average_precision(ranked, total) for ranked, total in zip(rankings, totals, strict=True)]
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def ndcg(scores: ArrayLike, gains: ArrayLike, top: int | None = None) -> float:
    """Normalised discounted cumulated gain of one query (scikit-learn's, which averages over ties)."""
    from sklearn.metrics import ndcg_score

    return float(ndcg_score(np.atleast_2d(np.asarray(gains)), np.atleast_2d(np.asarray(scores)), k=top))


def evaluate_rankings(
    scores: ArrayLike,
    relevant: ArrayLike,
    *,
    queries: Sequence[str] | None = None,
    top: Sequence[int] = (10, 20, 50, 100),
    random_state: int | None = 0,
) -> pd.DataFrame:
    """One row for each query: its AP, nDCG, P@N, precision at recall 0.1 and the 11-point curve.

    ``scores`` and ``relevant`` are queries × items. Ties are broken at random, in the same way for every query.
    """
    import pandas as pd

    scores, relevant = np.asarray(scores, dtype=float), np.asarray(relevant, dtype=bool)
    if scores.shape != relevant.shape or scores.ndim != 2:
        raise ParameterError(
            f"scores and relevant must both be queries × items; found shapes {scores.shape} and {relevant.shape}."
        )
    rows: list[dict[str, Any]] = []
    for query_scores, query_relevant in zip(scores, relevant, strict=True):
        ranked = ranking(query_scores, query_relevant, random_state)
        row: dict[str, Any] = {"relevant": int(query_relevant.sum()), "AP": average_precision(ranked)}
        row["nDCG"] = ndcg(query_scores, query_relevant) if query_relevant.any() and len(ranked) > 1 else float("nan")
        row |= {f"P@{n}": precision_at(ranked, n) for n in top}
        row["P@recall 0.1"] = precision_at_recall(ranked)
        row |= {f"recall {level / 10:.1f}": p for level, p in enumerate(interpolated_precision(ranked))}
        rows.append(row)
    return pd.DataFrame(rows, index=pd.Index(range(len(rows)) if queries is None else queries, name="query"))


def _checked(ranked: ArrayLike) -> NDArray[np.bool_]:
    ranked = np.asarray(ranked)
    if ranked.ndim != 1:
        raise ParameterError(f"a ranking must be a vector of hits and misses; found shape {ranked.shape}.")
    return ranked.astype(bool)


def _total(ranked: NDArray[np.bool_], n_relevant: int | None) -> int:
    found = int(ranked.sum())
    if n_relevant is not None and n_relevant < found:
        raise ParameterError(f"n_relevant is {n_relevant} and the ranking alone holds {found} relevant items.")
    return found if n_relevant is None else n_relevant
