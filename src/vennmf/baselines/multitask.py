"""Clustering several sources in one learnt subspace: LSSMTC (Gu & Zhou, ICDM 2009) and ASI (Li, Ma & Ogihara, SIGIR 2004)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import svds
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from vennmf.errors import ParameterError
from vennmf.matrices import ViewSet

Array = NDArray[np.float64]
SMALL = 1e-12


@dataclass(eq=False, repr=False)
class LSSMTC(BaseEstimator):  # type: ignore[misc]
    r"""Clusters of several sources with centroids of their own, and common ones in a subspace that all share.

    .. math:: \min_{P \ge 0, M, N, W^\top W = I}
        \lambda \sum_s \lVert X_s - P_s M_s \rVert_F^2 + (1 - \lambda) \sum_s \lVert X_s W - P_s N \rVert_F^2

    X_s (items × features), P_s (items × clusters), M_s (clusters × features), W (features × ``n_components``), N (clusters
    × ``n_components``). ``own_weight`` is λ. With λ = 0 and one source it is ASI; with several, ASI of the stacked sources.
    P follows the rule of semi-nonnegative factorisation, M and N are least squares, W eigenvectors of the scatter within
    clusters; an item goes to the cluster of its largest entry in P.

    The literal W is useless where features outnumber items: directions in which every cluster is a point exist for any
    clusters, and the fit ends where it began. So W is looked for among the ``span`` leading right singular vectors of
    the stacked sources, twice ``n_components`` by default.
    """

    n_clusters: int = 2
    n_components: int = 2
    own_weight: float = 0.5
    span: int | None = None
    max_iter: int = 100
    tol: float = 1e-6
    random_state: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster a dict of matrices over the same features, or a :class:`ViewSet`."""
        parts = {name: view.X.astype(np.float64) for name, view in ViewSet.of(X).items()}
        bounds = np.cumsum([0, *(part.shape[0] for part in parts.values())])
        self._rows = {name: slice(a, b) for name, a, b in zip(parts, bounds, bounds[1:], strict=False)}
        stacked = sp.vstack([sp.csr_array(part) for part in parts.values()]).tocsr()
        Z = self._projected(stacked)
        P = self._start(Z)
        history: list[float] = []
        for _ in range(self.max_iter):
            W, N = subspace(Z, P, self.n_components)
            attraction, coupling = self._forms(parts, Z @ W, P, N)
            for name, rows in self._rows.items():
                P[rows] = semi_nmf_step(P[rows], attraction[rows], coupling[name])
            history.append(self._value(parts, Z, P))
            if len(history) > 1 and history[-2] - history[-1] <= self.tol * history[0]:
                break
        self.subspace_ = self._basis @ subspace(Z, P, self.n_components)[0]
        self.memberships_ = {name: P[rows] for name, rows in self._rows.items()}
        self.labels_ = {name: part.argmax(axis=1) for name, part in self.memberships_.items()}
        self.history_, self.objective_ = np.array(history), history[-1]
        return self

    def _projected(self, stacked: Any) -> Array:
        """The rows on the leading right singular vectors, in whose span W is looked for."""
        span = min(self.span or 2 * self.n_components, min(stacked.shape) - 1)
        if not 1 <= self.n_components <= span:
            raise ParameterError(
                f"n_components is {self.n_components} and the subspace lies in a span of {span}; raise span or lower it."
            )
        start = np.random.default_rng(self.random_state).standard_normal(min(stacked.shape))
        self._basis = svds(stacked, k=span, v0=start)[2].T
        return np.asarray(stacked @ self._basis)

    def _start(self, Z: Array) -> Array:
        """Memberships from k-means, ten starts, on all rows together, so that clusters mean the same in every source."""
        rows = Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), SMALL)
        found = KMeans(self.n_clusters, n_init=10, random_state=self.random_state).fit_predict(rows)
        return np.eye(self.n_clusters)[found] + 0.2

    def _forms(self, parts: Mapping[str, Any], Y: Array, P: Array, N: Array) -> tuple[Array, dict[str, Array]]:
        """Cross terms of all rows, and the Gram matrix of the centroids of each source."""
        own = self.own_weight
        cross = (1 - own) * (Y @ N.T)
        coupling = {}
        for name, rows in self._rows.items():
            M = centroids(parts[name], P[rows])
            cross[rows] += own * (parts[name] @ M.T)
            coupling[name] = own * (M @ M.T) + (1 - own) * (N @ N.T)
        return cross, coupling

    def _value(self, parts: Mapping[str, Any], Z: Array, P: Array) -> float:
        """The objective at the best M, N and W for these memberships."""
        W, N = subspace(Z, P, self.n_components)
        shared = float(np.sum((Z @ W - P @ N) ** 2))
        own = sum(_residual(parts[name], P[rows]) for name, rows in self._rows.items()) if self.own_weight else 0.0
        return self.own_weight * own + (1 - self.own_weight) * shared


def subspace(Z: Array, P: Array, k: int) -> tuple[Array, Array]:
    r"""W and N: the eigenvectors of :math:`Z^\top (I - P P^+) Z` with the k smallest eigenvalues, and their centroids."""
    N = centroids(Z, P)
    within = Z.T @ Z - N.T @ (P.T @ P) @ N
    W = np.linalg.eigh((within + within.T) / 2)[1][:, :k]
    return W, N @ W


def centroids(X: Any, P: Array) -> Array:
    r"""Least squares for X ≈ P M: :math:`(P^\top P)^+ P^\top X`."""
    return np.asarray(np.linalg.pinv(P.T @ P) @ np.asarray((X.T @ P).T))


def semi_nmf_step(P: Array, cross: Array, gram: Array) -> Array:
    r"""One multiplicative step for :math:`\min_{P \ge 0} \tfrac12 \langle P G, P \rangle - \langle P, C \rangle`.

    .. math:: P \leftarrow P \sqrt{(C^+ + P G^-) / (C^- + P G^+)}

    C. Ding, T. Li & M. I. Jordan, *Convex and semi-nonnegative matrix factorizations*, TPAMI 2010.
    """
    above = np.maximum(cross, 0) + P @ np.maximum(-gram, 0)
    below = np.maximum(-cross, 0) + P @ np.maximum(gram, 0)
    return P * np.sqrt(above / np.maximum(below, SMALL))


def _residual(X: Any, P: Array) -> float:
    M = centroids(X, P)
    energy = float((X.data**2).sum()) if sp.issparse(X) else float(np.sum(X**2))
    return energy - 2 * float(np.sum(P * (X @ M.T))) + float(np.sum((M @ M.T) * (P.T @ P)))
