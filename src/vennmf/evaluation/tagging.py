"""How good suggested tags are: precision, recall and F1 of each tag, averaged over tags."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from vennmf.errors import ParameterError


class TagScores(NamedTuple):
    """Mean precision and recall over tags, their F1, and the number of tags found at least once."""

    precision: float
    recall: float
    f1: float
    n_found: int


def tag_scores(truth: Any, scores: ArrayLike, top: int = 5) -> TagScores:
    r"""Mean per-tag precision and recall when each item gets its ``top`` best tags.

    ``truth`` and ``scores`` are items × tags. For a tag t with n_t true, p_t predicted and c_t correct items:
    precision c_t / p_t (0 where never predicted), recall c_t / n_t, both averaged over the tags that any item has;
    F1 is :math:`2PR/(P+R)` of the two means, as the tagging papers have it.
    """
    scores = np.asarray(scores, dtype=float)
    known = np.asarray(truth.toarray() if sp.issparse(truth) else truth).astype(bool)
    if known.shape != scores.shape or scores.ndim != 2:
        raise ParameterError(
            f"truth and scores must both be items × tags; found shapes {known.shape} and {scores.shape}."
        )
    if top < 1:
        raise ParameterError(f"top must be at least 1; found {top}.")
    suggested = top_tags(scores, top)
    used = known.any(axis=0)
    if not used.any():
        return TagScores(float("nan"), float("nan"), float("nan"), 0)
    correct = (known & suggested).sum(axis=0)[used]
    precision = float(np.mean(correct / np.maximum(suggested.sum(axis=0)[used], 1)))
    recall = float(np.mean(correct / known.sum(axis=0)[used]))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return TagScores(precision, recall, f1, int(np.count_nonzero(correct)))


def top_tags(scores: NDArray[np.float64], top: int) -> NDArray[np.bool_]:
    """A mask of the best ``top`` tags of each item; equal scores go to the earlier tag."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    mask = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(mask, best, True, axis=1)
    return mask
