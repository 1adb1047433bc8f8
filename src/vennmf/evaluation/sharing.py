"""Does an auxiliary source help a target? Asked of the target's own entries, so that no labels are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.errors import ParameterError, SourceError
from vennmf.evaluation.retrieval import average_precision, ranking
from vennmf.matrices import ViewSet

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]


class Sharing(NamedTuple):
    """How much a target shares with the other sources: components, and the others' weight, 1 for the usual equal say."""

    n_shared: int
    weight: float = 1.0

    def __str__(self) -> str:
        return f"{self.n_shared} shared, weight {self.weight:g}" if self.n_shared else "target alone"


ALONE = Sharing(0)
STARTS = 3
"""Of each model: one bad start of the target alone would look like a gain of the others."""
SURE = 2
"""Standard errors that a gain must exceed: the best of several candidates is above one by chance more often than not."""


class Judged(NamedTuple):
    """A sharing's mean average precision, its gain over the target alone and the standard error of that gain."""

    precision: float
    gain: float
    error: float

    @classmethod
    def of(cls, found: Array, alone: Array) -> Judged:
        gains = found - alone
        error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else float("inf")
        return cls(float(found.mean()), float(gains.mean()), error)


@dataclass(frozen=True, eq=False)
class SharingChoice:
    """What was chosen and why; ``table`` has a row for each sharing that was tried.

    Columns of the table: AP (mean over the hidden tags), gain over the target alone, the gain's standard error.
    """

    target: str
    sharing: Sharing
    parameters: dict[str, Any]
    table: pd.DataFrame
    why: str

    @property
    def alone(self) -> bool:
        """Whether the target is better left alone."""
        return self.sharing == ALONE

    def fit(self, sources: Any, **options: Any) -> Any:
        """The chosen model, fitted from as many starts: a JSNMF of all sources, or a VennNMF of the target alone."""
        views = ViewSet.of(sources)
        if self.alone:
            kept = {what: {self.target: of[self.target]} for what, of in _companions(views) if self.target in of}
            views = ViewSet([views[self.target]], **kept)
        return _fitted(views, self.target, self.parameters, {"n_init": STARTS, **options})


def choose_sharing(
    sources: Any,
    target: str,
    n_components: int | Mapping[str, int],
    *,
    candidates: Sequence[Sharing] | None = None,
    n_folds: int = 3,
    n_queries: int = 60,
    random_state: int | None = 0,
    **options: Any,
) -> SharingChoice:
    r"""Choose how much a target should share with its auxiliary sources, none included, so that search in it gets no worse.

    Half of the target's entries are hidden. For each fold of the target's items a model is fitted to all its other items
    and to the auxiliaries; the fold's items are encoded by what is left of them, and for each of the ``n_queries`` features
    hidden most often the items where it is hidden should be found among those that do not show it:

    .. math:: AP(q) = \frac1{|R_q|} \sum_{i \in R_q} \text{precision at the rank of } i, \qquad \text{score} = \cos(h_i, h_q)

    A sharing is taken if its mean gain over the target alone exceeds two standard errors of the gains by query, and it gains
    most; otherwise the target stays alone. Each model is the best of three starts, since one bad start of the target alone
    would look like a gain. For sparse sources of tags or words.

    Parameters
    ----------
    candidates : sequence of Sharing, optional
        By default a quarter, two thirds and all of the target's components shared with equal say, and all of
        them with a weight of 0.3 and 0.1 for the auxiliaries.
    options
        For the models: ``n_threads``, ``max_iter``, ``tol``, ``n_init``.
    """
    import pandas as pd

    views = _checked(sources, target)
    sizes = {name: n_components if isinstance(n_components, int) else n_components[name] for name in views}
    tried = [ALONE, *(_usual(sizes[target]) if candidates is None else candidates)]
    hidden = _Hidden.of(views[target].X, n_folds, n_queries, np.random.default_rng(random_state))
    options = {"random_state": random_state, "n_init": STARTS, **options}
    precision = {
        sharing: hidden.precision(views, target, _parameters(views, target, sizes, sharing), options)
        for sharing in tried
    }
    judged = {sharing: Judged.of(found, precision[ALONE]) for sharing, found in precision.items()}
    sure = [sharing for sharing in tried[1:] if judged[sharing].gain > SURE * judged[sharing].error]
    best = max(sure, key=lambda sharing: judged[sharing].gain, default=ALONE)
    table = pd.DataFrame(list(judged.values()), index=pd.Index(list(map(str, judged)), name="sharing"))
    table = table.set_axis(["AP", "gain", "standard error"], axis=1)
    return SharingChoice(target, best, _parameters(views, target, sizes, best), table, _why(judged, target, best))


def _usual(size: int) -> list[Sharing]:
    parts = sorted({max(size // 4, 1), max(2 * size // 3, 1), size})
    return [*(Sharing(part) for part in parts), Sharing(size, 0.3), Sharing(size, 0.1)]


def _checked(sources: Any, target: str) -> ViewSet:
    views = ViewSet.of(sources)
    if target not in views:
        raise SourceError(f"there is no source {target!r}; the sources are {', '.join(map(repr, views))}.")
    if len(views) < 2:
        raise SourceError(f"source {target!r} is the only one; give an auxiliary source to choose the sharing with.")
    if not sp.issparse(views[target].X):
        raise ParameterError(
            f"source {target!r} is dense; entries can be hidden of sparse sources, such as tags or words. "
            "For dense ones use suggest_ranks."
        )
    return views


def _parameters(views: ViewSet, target: str, sizes: Mapping[str, int], sharing: Sharing) -> dict[str, Any]:
    """What the model of a sharing is made with: JSNMF's parameters, or the blocks of the target alone."""
    if not sharing.n_shared:
        return {"blocks": {target: sizes[target]}}
    wide = {name: max(size, sharing.n_shared) if name != target else size for name, size in sizes.items()}
    if sharing.n_shared > sizes[target] or not sharing.weight > 0:
        raise ParameterError(
            f"a sharing needs at most the target's {sizes[target]} components and a weight above 0; found {sharing}."
        )
    weights = {name: sharing.weight / views[name].squared_norm() for name in views if name != target}
    return {"n_components": wide, "n_shared": sharing.n_shared, "weights": weights}


def _fitted(views: Mapping[str, Any], target: str, parameters: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    from vennmf.estimators.joint import JSNMF, VennNMF

    if "blocks" in parameters:
        alone = views if isinstance(views, ViewSet) else {target: views[target]}
        return VennNMF(**parameters, **options).fit(alone)
    return JSNMF(**parameters, **options).fit(views)


def _companions(views: ViewSet) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    return ("metadata", views.metadata), ("encoders", views.encoders)


@dataclass(frozen=True, eq=False)
class _Hidden:
    """The target's matrix, what is left of it when half of its entries are hidden, folds, and the features asked for."""

    X: Any
    shown: Any
    hidden: Any
    fold: Array
    queries: Array

    @classmethod
    def of(cls, X: Any, n_folds: int, n_queries: int, rng: np.random.Generator) -> _Hidden:
        X = sp.csr_array(X)
        taken = rng.random(X.nnz) < 0.5
        shown, hidden = X.copy(), X.copy()
        shown.data, hidden.data = X.data * ~taken, X.data * taken
        shown.eliminate_zeros()
        hidden.eliminate_zeros()
        counts = np.bincount(hidden.indices, minlength=X.shape[1])
        queries = np.argsort(-counts, kind="stable")[:n_queries]
        queries = queries[counts[queries] >= n_folds]
        if not len(queries):
            raise SourceError(
                f"no feature of the target is hidden in {n_folds} items or more; it is too small to judge a sharing by."
            )
        return cls(X, shown, hidden, rng.permutation(X.shape[0]) % n_folds, queries)

    def precision(
        self, views: ViewSet, target: str, parameters: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Array:
        """Average precision of each query over the items that do not show it, each scored by a model that never saw it."""
        scores = np.empty((len(self.queries), self.X.shape[0]))
        asked = sp.csr_array(sp.eye_array(self.X.shape[1], format="csr", dtype=self.X.dtype)[self.queries])
        for fold in np.unique(self.fold):
            inside = self.fold == fold
            parts = {name: self.X[~inside] if name == target else view.X for name, view in views.items()}
            model = _fitted(parts, target, parameters, options)
            items, queries = (_unit(model.transform(rows, source=target)) for rows in (self.shown[inside], asked))
            scores[:, inside] = queries @ items.T
        return np.array([self._one(row, query) for row, query in zip(scores, self.queries, strict=True)])

    def _one(self, scores: Array, query: int) -> float:
        open_ = self.shown[:, [query]].toarray().ravel() == 0
        missing = self.hidden[:, [query]].toarray().ravel() > 0
        return average_precision(ranking(scores[open_], missing[open_], 0))


def _unit(rows: Array) -> Array:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)


def _why(judged: Mapping[Sharing, Judged], target: str, best: Sharing) -> str:
    if best == ALONE:
        top = max((sharing for sharing in judged if sharing != ALONE), key=lambda sharing: judged[sharing].gain)
        return (
            f"{target!r} stays alone: the best sharing ({top}) finds its hidden entries {judged[top].gain:+.4f} better, "
            f"which is not beyond {SURE} standard errors of {judged[top].error:.4f}."
        )
    found = judged[best]
    return (
        f"{best}: finds {target!r}'s hidden entries {found.gain:+.4f} ± {found.error:.4f} better than the target alone "
        f"(AP {found.precision:.4f} against {judged[ALONE].precision:.4f})."
    )
