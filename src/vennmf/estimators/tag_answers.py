"""What points of images and tags in one space answer: tags of an image, images for a tag, new tags."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from vennmf.errors import ParameterError, SourceError
from vennmf.estimators.feature_scaling import apply_scaling, row_names
from vennmf.estimators.tag_lists import is_matrix, tag_matrix
from vennmf.model.unified_space import BLOCK_ENTRIES
from vennmf.solvers.unified_space import fold_in_tags

Array = NDArray[Any]


class Suggestion(NamedTuple):
    """A tag for an image; the score is Ŷ, from 0 to 1."""

    tag: Any
    score: float


class Found(NamedTuple):
    """An image for a tag: its name, which is its row number where it has none, its row, and Ŷ, from 0 to 1."""

    item: Any
    position: int
    score: float


class UnifiedSpaceAnswers(ABC):
    """The nearest tags of images and the nearest images of tags, by ``projection_``, ``tag_embedding_`` and ``sigma_``.

    Scores are worked out for runs of images, so that nothing of size images × tags is held unless it is asked for.
    """

    top: int
    gamma: float
    n_threads: int | None
    classes_: Array
    projection_: Array
    tag_embedding_: Array
    embedding_: Array
    image_names_: Array
    sigma_: float
    scaling_: dict[str, Any]

    @abstractmethod
    def _views(self, X: Any, *, reset: bool) -> dict[str, Any]:
        """Features by view; ``reset`` remembers their shape instead of comparing it."""

    def transform(self, X: Any) -> Array:
        """Images as points of the unified space, (n, p)."""
        check_is_fitted(self)
        return apply_scaling(self._views(X, reset=False), self.scaling_).times(self.projection_)

    def decision_function(self, X: Any) -> Array:
        """log Ŷ = -‖v - u‖² / 2σ² of every image and tag, (n, m)."""
        return self._log_relevance(self.transform(X), self.tag_embedding_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """An indicator of the ``top`` nearest tags of every image, (n, m)."""
        V = self.transform(X)
        chosen = np.zeros((len(V), len(self.classes_)), dtype=np.int64)
        for rows, best, _ in self._best_tags(V, self.top):
            np.put_along_axis(chosen[rows], best, 1, axis=1)
        return chosen

    def annotate(self, X: Any, top: int = 5) -> list[list[Suggestion]]:
        """The ``top`` nearest tags of every image, best first."""
        return self._suggestions(self.transform(X), top)

    def refine(self, top: int = 5) -> list[list[Suggestion]]:
        """Better tags for the images of the fit: the ``top`` nearest of each, best first."""
        check_is_fitted(self)
        return self._suggestions(self.embedding_, top)

    def search(self, tag: Any, top: int = 10, X: Any = None) -> list[Found]:
        """The images nearest to a tag, best first: of the fit, or of X.

        Images have the names that the index of a DataFrame of features gave them, and row numbers else.
        """
        check_is_fitted(self)
        _at_least_one(top)
        V = self.embedding_ if X is None else self.transform(X)
        names = self.image_names_ if X is None else row_names(X, len(V))
        scores = self._log_relevance(V, self.tag_embedding_[[self._position(tag)]])[:, 0]
        best = np.argsort(-scores, kind="stable")[:top].tolist()
        items = names[best].tolist()
        return [Found(item, at, float(np.exp(scores[at]))) for item, at in zip(items, best, strict=True)]

    def score(self, X: Any, y: Any) -> float:
        """Label-ranking average precision: how near the top each image's own tags stand. Images without tags are left out."""
        scores = self.decision_function(X)
        Y, _ = tag_matrix(y, None if is_matrix(y) else list(self.classes_))
        tagged = np.diff(Y.indptr) > 0
        if not tagged.any():
            raise SourceError("no image has a tag that the model knows; score needs at least one.")
        return float(label_ranking_average_precision_score(Y[tagged].toarray(), scores[tagged]))

    def add_tags(self, X: Any, y: Any, *, tag_names: Sequence[str] | None = None) -> Self:
        """Fold new tags in: each is placed where its images ask for, all else stays as it is.

        X are features of images, y their new tags as in ``fit``. The points minimise the fit and the distance term; the
        tag graph does not reach them, and the centre of all points is no longer fixed.
        """
        V = self.transform(X)
        Y, names = tag_matrix(y, tag_names)
        if both := [name for name in names if name in set(self.classes_.tolist())]:
            raise SourceError(f"tag {both[0]!r} is in the model already; fold in new tags only.")
        if len(V) != Y.shape[0]:
            raise SourceError(f"features have {len(V):,} images and tags {Y.shape[0]:,}; give the tags of each image.")
        with threadpool_limits(self.n_threads, "blas"):
            U = fold_in_tags(V, Y.astype(V.dtype), self.gamma, self.sigma_)
        self.tag_embedding_ = np.vstack([self.tag_embedding_, U.astype(V.dtype)])
        self.classes_ = np.concatenate([self.classes_, names])
        return self

    def _position(self, tag: Any) -> int:
        where = np.flatnonzero(self.classes_ == tag)
        if where.size:
            return int(where[0])
        near = difflib.get_close_matches(str(tag), [str(name) for name in self.classes_], n=3)
        hint = f"; near to it are {', '.join(map(repr, near))}" if near else ""
        raise ParameterError(f"there is no tag {tag!r} among the {len(self.classes_):,} of the model{hint}.")

    def _log_relevance(self, V: Array, U: Array) -> Array:
        squares = np.einsum("ij,ij->i", V, V)[:, None] + np.einsum("ij,ij->i", U, U)
        squares -= 2 * (V @ U.T)
        return np.minimum(-squares / (2 * self.sigma_**2), 0.0).astype(V.dtype, copy=False)

    def _best_tags(self, V: Array, top: int) -> Iterator[tuple[slice, Array, Array]]:
        """Runs of images with the positions and log relevance of their nearest tags, best first; never all at once."""
        _at_least_one(top)
        step = max(64, BLOCK_ENTRIES // len(self.classes_))
        for start in range(0, len(V), step):
            rows = slice(start, min(start + step, len(V)))
            scores = self._log_relevance(V[rows], self.tag_embedding_)
            best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
            yield rows, best, np.take_along_axis(scores, best, axis=1)

    def _suggestions(self, V: Array, top: int) -> list[list[Suggestion]]:
        names = self.classes_.tolist()
        return [
            [Suggestion(names[j], float(np.exp(score))) for j, score in zip(row, values, strict=True)]
            for _, best, scores in self._best_tags(V, top)
            for row, values in zip(best, scores, strict=True)
        ]


def _at_least_one(top: int) -> None:
    if top < 1:
        raise ParameterError(f"top must be at least 1; found {top}.")
