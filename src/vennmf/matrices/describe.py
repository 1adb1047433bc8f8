"""What sources look like beside each other: sizes, overlap of vocabularies, divergence of tag distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.matrices.view import View


@dataclass(frozen=True, eq=False)
class Description:
    """Two pandas tables: ``sources``, a row each, and ``pairs``, a row for each two sources.

    A pair of a source with itself compares two random halves of its items, as Table 1 of the first paper does.
    """

    sources: Any
    pairs: Any

    def __str__(self) -> str:
        return f"{self.sources.to_string()}\n\n{self.pairs.to_string(index=False)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"{self.sources.to_html()}\n{self.pairs.to_html(index=False)}"


def describe(views: Mapping[str, View], random_state: int = 0) -> Description:
    r"""Items, distinct tags, tags an item, overlap, and the Jensen–Shannon divergence of every pair, in bits.

    The distribution of tags of a source is the share of its (item, tag) pairs that each tag has. With
    :math:`M = (P + Q)/2`,

    .. math:: \mathrm{JSD}(P, Q) = \tfrac12 \mathrm{KL}(P \Vert M) + \tfrac12 \mathrm{KL}(Q \Vert M) \in [0, 1].
    """
    import pandas as pd

    frequency = {name: _frequency(view.X) for name, view in views.items()}
    sources = pd.DataFrame([_row(name, view, frequency) for name, view in views.items()]).set_index("source")
    pairs = [_pair(a, b, frequency[a], frequency[b]) for a, b in combinations(views, 2)]
    rng = np.random.default_rng(random_state)
    for name, view in views.items():
        halves = np.array_split(rng.permutation(view.shape[0]), 2)
        one, two = (_frequency(view.X[np.sort(half)]) for half in halves)
        pairs.append(_pair(name, name, one, two))
    columns = ["source", "other", "common", "overlap", "divergence"]
    return Description(sources, pd.DataFrame(pairs, columns=columns))


def jensen_shannon(p: NDArray[Any], q: NDArray[Any]) -> float:
    """The Jensen–Shannon divergence of two distributions or counts, in bits: 0 for equal ones, 1 for disjoint ones."""
    if not p.sum() or not q.sum():
        return float("nan")
    from scipy.spatial.distance import jensenshannon

    return float(jensenshannon(p.astype(np.float64), q.astype(np.float64), base=2) ** 2)


def _frequency(X: Any) -> NDArray[np.int64]:
    """How many items have each feature."""
    if sp.issparse(X):
        return np.bincount(X.indices[X.data != 0], minlength=X.shape[1]).astype(np.int64)
    return np.count_nonzero(X, axis=0).astype(np.int64)


def _row(name: str, view: View, frequency: Mapping[str, NDArray[np.int64]]) -> dict[str, Any]:
    mine = frequency[name]
    others = np.sum([f for other, f in frequency.items() if other != name], axis=0) if len(frequency) > 1 else None
    X = view.X
    lengths = np.diff(X.indptr) if sp.issparse(X) else np.count_nonzero(X, axis=1)
    return {
        "source": name,
        "items": view.shape[0],
        "empty_items": int((lengths == 0).sum()),
        "tags": int((mine > 0).sum()),
        "tags_per_item": round(float(lengths.mean()), 2),
        "only_here": int(((mine > 0) & (others == 0)).sum()) if others is not None else int((mine > 0).sum()),
    }


def _pair(a: str, b: str, one: NDArray[np.int64], two: NDArray[np.int64]) -> tuple[str, str, int, float, float]:
    """Common tags, their share of all tags of the two, and the divergence."""
    common, either = int(((one > 0) & (two > 0)).sum()), int(((one > 0) | (two > 0)).sum())
    return a, b, common, round(common / either, 4) if either else 0.0, round(jensen_shannon(one, two), 4)
