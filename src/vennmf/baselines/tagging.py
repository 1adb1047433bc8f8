"""Image tagging beside PJMF: what its paper compares with, and what a user would reach for today.

All take features and tags as PJMF does, scale features alike, and give ``relevance_`` (images of the fit × tags) and
``decision_function`` (new images × tags). Where the relevance is known for the images of the fit alone, a new image is
rebuilt from them by a sparse ℓ1 fit, and takes the same mixture of their relevance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator
from sklearn.linear_model import lasso_path
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from vennmf.errors import ParameterError, SourceError
from vennmf.estimators.feature_scaling import apply_scaling, learn_scaling, named_views
from vennmf.estimators.tag_lists import tag_matrix
from vennmf.model.affinity import given_graph, image_graph, mean_distance, tag_graph
from vennmf.model.unified_space import Features

Array = NDArray[Any]


@dataclass(eq=False, repr=False)
class TagBaseline(BaseEstimator):  # type: ignore[misc]
    """Scaling, checks and the tagging of new images that all share; a subclass learns the relevance of the fit's images."""

    scaling: str | None = field(default="standard", kw_only=True)
    unit_length: bool = field(default=False, kw_only=True)
    top: int = field(default=5, kw_only=True)

    def fit(self, X: Any, y: Any, *, tag_names: Any = None, neighbors: Any = None) -> Self:
        """Learn from image features (n, d) and their tags, given as for :class:`vennmf.PJMF`."""
        views = named_views(X)
        Y, self.classes_ = tag_matrix(y, tag_names)
        self.scaling_ = learn_scaling(views, self.scaling, {}, unit_length=self.unit_length)
        self._X = apply_scaling(views, self.scaling_)
        if self._X.shape[0] != Y.shape[0]:
            raise SourceError(
                f"features have {self._X.shape[0]:,} images and tags {Y.shape[0]:,}; give the tags of each image."
            )
        self._neighbors = neighbors
        self.relevance_ = self._learn(self._X, sp.csr_array(Y.astype(np.float64)))
        return self

    def decision_function(self, X: Any, weights: sp.csr_array | None = None) -> Array:
        """Relevance of every tag to every new image; ``weights`` are those of :meth:`reconstruction`, if at hand."""
        check_is_fitted(self)
        return self._score(self.scaled(X), weights)

    def predict(self, X: Any) -> Array:
        """An indicator of the ``top`` best tags of every image."""
        scores = self.decision_function(X)
        chosen = np.zeros(scores.shape, dtype=np.int64)
        np.put_along_axis(chosen, np.argsort(-scores, axis=1, kind="stable")[:, : self.top], 1, axis=1)
        return chosen

    def scaled(self, X: Any) -> Features:
        return apply_scaling(named_views(X), self.scaling_)

    def reconstruction(self, X: Any) -> sp.csr_array:
        """How new images are mixed from those of the fit, (new images × images of the fit)."""
        return sparse_reconstruction(_dense(self.scaled(X)), _dense(self._X))

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        raise ParameterError(f"{type(self).__name__} does not say how it learns.")

    def _score(self, X: Features, weights: sp.csr_array | None) -> Array:
        weights = sparse_reconstruction(_dense(X), _dense(self._X)) if weights is None else weights
        return np.asarray(weights @ self.relevance_)

    def _graphs(self, X: Features, Y: sp.csr_array, n_neighbors: int) -> tuple[sp.csr_array, sp.csr_array]:
        """PJMF's two graphs: K nearest neighbours with a heat kernel, and the tags' Jaccard index."""
        if self._neighbors is not None:
            return given_graph(self._neighbors, X.shape[0]).astype(np.float64), tag_graph(Y)
        width = mean_distance(X, np.random.default_rng(0)).value
        return image_graph(X, n_neighbors, width).astype(np.float64), tag_graph(Y)


def sparse_reconstruction(new: Array, known: Array, *, penalty: float = 0.1, n_candidates: int = 200) -> sp.csr_array:
    r"""Every new image as a sparse mixture of known ones: :math:`\min_w \tfrac12 \lVert x - K^\top w \rVert^2 + \lambda \lVert w \rVert_1`.

    Among the ``n_candidates`` nearest known images; λ is ``penalty`` times the value from which on nothing is left.
    """
    n_candidates = min(n_candidates, len(known))
    near = (
        NearestNeighbors(n_neighbors=n_candidates, algorithm="brute").fit(known).kneighbors(new, return_distance=False)
    )
    rows = []
    for x, candidates in zip(new.astype(np.float64), near, strict=True):
        K = np.asfortranarray(known[candidates].T, dtype=np.float64)
        strongest = float(np.abs(K.T @ x).max()) / len(x)
        if strongest == 0.0:
            rows.append(np.zeros(n_candidates))
            continue
        rows.append(lasso_path(K, x, alphas=[penalty * strongest], tol=1e-3, max_iter=2000)[1][:, 0])
    indptr = np.arange(0, near.size + 1, n_candidates)
    weights = sp.csr_array((np.ravel(rows), near.ravel(), indptr), shape=(len(new), len(known)))
    weights.eliminate_zeros()
    return weights


def _dense(X: Features) -> Array:
    raw = X.raw.toarray() if sp.issparse(X.raw) else X.raw
    return np.asarray(raw if X.shift is None else raw - X.shift)


@dataclass(eq=False, repr=False)
class OriginalTags(TagBaseline):
    """The tags as users gave them; equal scores are broken by how common a tag is. There are none for new images."""

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        common = np.asarray(Y.mean(axis=0)).ravel()
        return np.asarray(Y.toarray() + 1e-3 * common)

    def _score(self, X: Features, weights: sp.csr_array | None) -> Array:
        raise ParameterError("new images have no original tags; OriginalTags knows the images of the fit alone.")


@dataclass(eq=False, repr=False)
class NeighborVoting(TagBaseline):
    r"""Tag relevance by neighbour voting (Li, Snoek & Worring, IEEE TMM 2009).

    .. math:: r(t, x) = \#\{\text{neighbours of } x \text{ with } t\} - k\, \#\{\text{images with } t\} / n

    No image votes for itself. A new image's neighbours vote for it, or it is rebuilt as the others are
    (``reconstruct=True``), which is what PJMF's paper does. Users are unknown here, so that each image has one vote.
    """

    n_neighbors: int = 50
    reconstruct: bool = False

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        self._Y = Y
        k = min(self.n_neighbors, X.shape[0] - 1)
        self._prior = k * np.asarray(Y.mean(axis=0)).ravel()
        self._search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(_dense(X))
        votes = self._search.kneighbors_graph() @ Y
        return np.asarray(votes.toarray() - self._prior)

    def _score(self, X: Features, weights: sp.csr_array | None) -> Array:
        if self.reconstruct:
            return super()._score(X, weights)
        votes = self._search.kneighbors_graph(_dense(X)) @ self._Y
        return np.asarray(votes.toarray() - self._prior)


@dataclass(eq=False, repr=False)
class NearestImages(TagBaseline):
    """k nearest neighbours as anyone would use them: tags of the k nearest images, weighted by a heat kernel.

    The kernel's width is the mean distance of an image to its k-th neighbour. No image of the fit counts for itself.
    """

    n_neighbors: int = 10

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        self._Y = Y
        k = min(self.n_neighbors, X.shape[0] - 1)
        self._search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(_dense(X))
        graph = self._search.kneighbors_graph(mode="distance")
        self._width = float(np.maximum.reduceat(graph.data, graph.indptr[:-1]).mean()) or 1.0
        return self._votes(graph)

    def _score(self, X: Features, weights: sp.csr_array | None) -> Array:
        return self._votes(self._search.kneighbors_graph(_dense(X), mode="distance"))

    def _votes(self, graph: Any) -> Array:
        graph.data = np.exp(-((graph.data / self._width) ** 2))
        return np.asarray((graph @ self._Y).toarray())


@dataclass(eq=False, repr=False)
class TagRegression(TagBaseline):
    r"""One-vs-rest logistic regression, all tags at once.

    .. math:: \min_{W, b} \sum_{ij} \log(1 + e^{-\pm (x_i^\top w_j + b_j)}) + \tfrac1{2C} \lVert W \rVert^2

    which is scikit-learn's ``OneVsRestClassifier(LogisticRegression(C))``, in one run of L-BFGS over all columns.
    """

    C: float = 1.0
    max_iter: int = 200

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        D = _dense(X)
        T = Y.toarray().astype(D.dtype)
        d, m = D.shape[1], T.shape[1]

        def value_and_gradient(flat: Array) -> tuple[float, Array]:
            W, b = flat[: d * m].reshape(d, m), flat[d * m :]
            Z = D @ W.astype(D.dtype) + b.astype(D.dtype)
            likely = expit(Z)
            loss = -float(np.sum(log_expit(np.where(T > 0, Z, -Z)), dtype=np.float64))
            slope_W = D.T @ (likely - T) + W / self.C
            slope_b = np.sum(likely - T, axis=0, dtype=np.float64)
            return loss + 0.5 / self.C * float(np.vdot(W, W)), np.concatenate([slope_W.ravel(), slope_b])

        start = np.zeros(d * m + m)
        found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": self.max_iter})
        self.coef_, self.intercept_ = found.x[: d * m].reshape(d, m), found.x[d * m :]
        return np.asarray(D @ self.coef_ + self.intercept_)

    def _score(self, X: Features, weights: sp.csr_array | None) -> Array:
        return np.asarray(_dense(X) @ self.coef_ + self.intercept_)
