"""Image taggers that mend the tag matrix: by smoothing it over images and tags, or by factorising it.

Each knows the relevance of the images of its fit alone; a new image is rebuilt from them by a sparse ℓ1 fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils import check_random_state

from vennmf.baselines.tagging import TagBaseline
from vennmf.errors import ParameterError
from vennmf.model.affinity import normalised_laplacian
from vennmf.model.unified_space import Features

Array = NDArray[Any]


# ---------------------------------------------------------------- smoothing the tag matrix


@dataclass(eq=False, repr=False)
class TWTV(TagBaseline):
    r"""Two-view tag weighting (Zhuang & Hoi, WSDM 2011): tag weights that are smooth over images and over tags.

    .. math:: \min_R \tfrac12 \lVert R - Y \rVert^2 + \tfrac a2 \operatorname{tr} R^\top L_S R + \tfrac b2 \operatorname{tr} R L_C R^\top

    The linear system (I + a L_S) R + b R L_C = Y is solved by conjugate gradients.
    """

    a: float = 1.0
    b: float = 1.0
    n_neighbors: int = 50

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        L_S, L_C = (normalised_laplacian(S) for S in self._graphs(X, Y, self.n_neighbors))

        def product(flat: Array) -> Array:
            R = flat.reshape(Y.shape)
            return np.asarray(R + self.a * (L_S @ R) + self.b * (L_C @ R.T).T).ravel()

        T = Y.toarray().ravel()
        return np.asarray(cg(LinearOperator((T.size, T.size), matvec=product), T, rtol=1e-6)[0]).reshape(Y.shape)


@dataclass(eq=False, repr=False)
class LRES(TagBaseline):
    r"""Low rank plus sparse error, with image and tag consistency (Zhu, Yan & Ma, ACM MM 2010).

    .. math:: \min_{R, E} \tau \lVert R \rVert_* + \lambda \lVert E \rVert_1 + \tfrac12 \lVert Y - R - E \rVert^2
        + \tfrac a2 \operatorname{tr} R^\top L_S R + \tfrac b2 \operatorname{tr} R L_C R^\top

    by accelerated proximal gradient with steps 1 / (2 + 2a + 2b).
    """

    tau: float = 1.0
    lam: float = 0.2
    a: float = 0.1
    b: float = 0.1
    n_neighbors: int = 50
    max_iter: int = 60

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        L_S, L_C = (normalised_laplacian(S) for S in self._graphs(X, Y, self.n_neighbors))
        T = Y.toarray()
        length = 1 / (2 + 2 * self.a + 2 * self.b)
        R, E = np.zeros_like(T), np.zeros_like(T)
        at_R, at_E, momentum = R, E, 1.0
        for _ in range(self.max_iter):
            residual = at_R + at_E - T
            slope = residual + self.a * (L_S @ at_R) + self.b * (L_C @ at_R.T).T
            new_R = shrink_singular_values(at_R - length * slope, length * self.tau)
            moved = at_E - length * residual
            new_E = np.sign(moved) * np.maximum(np.abs(moved) - length * self.lam, 0)
            next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            push = (momentum - 1) / next_momentum
            at_R, at_E = new_R + push * (new_R - R), new_E + push * (new_E - E)
            R, E, momentum = new_R, new_E, next_momentum
        return R


def shrink_singular_values(M: Array, threshold: float) -> Array:
    """The proximal map of threshold · ‖·‖_*: singular values lessened by it, by way of the smaller gram matrix."""
    if M.shape[0] < M.shape[1]:
        return shrink_singular_values(M.T, threshold).T
    squares, V = eigh(M.T @ M, subset_by_value=(threshold**2, np.inf))
    return np.asarray((M @ V) * (1 - threshold / np.sqrt(squares)) @ V.T)


# ---------------------------------------------------------------- factorising the tag matrix


@dataclass(eq=False, repr=False)
class TagFactors(TagBaseline):
    """What the two factor models share: Y ≈ V Uᵀ by L-BFGS over both factors; a new image's V is rebuilt from V."""

    n_components: int = 50
    a: float = 0.1
    b: float = 0.1
    l2: float = 0.1
    n_neighbors: int = 50
    max_iter: int = 200
    random_state: Any = None

    def _learn(self, X: Features, Y: sp.csr_array) -> Array:
        n, m, p = Y.shape[0], Y.shape[1], self.n_components
        self._prepare(*self._graphs(X, Y, self.n_neighbors))

        def value_and_gradient(flat: Array) -> tuple[float, Array]:
            V, U = flat[: n * p].reshape(n, p), flat[n * p :].reshape(m, p)
            YU, VtV, UtU = Y @ U, V.T @ V, U.T @ U
            value = 0.5 * (Y.nnz - 2 * np.vdot(YU, V) + np.vdot(VtV, UtU))
            value += 0.5 * self.l2 * (np.trace(VtV) + np.trace(UtU))
            more, more_V, more_U = self._consistency(V, U, VtV, UtU)
            gradient_V = V @ UtU - YU + self.l2 * V + more_V
            gradient_U = U @ VtV - Y.T @ V + self.l2 * U + more_U
            return float(value) + more, np.concatenate([gradient_V.ravel(), gradient_U.ravel()])

        start = 0.1 * check_random_state(self.random_state).standard_normal((n + m) * p)
        found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": self.max_iter})
        self.images_, self.tags_ = found.x[: n * p].reshape(n, p), found.x[n * p :].reshape(m, p)
        self.objective_ = float(found.fun)
        return np.asarray(self.images_ @ self.tags_.T)

    def _prepare(self, S: sp.csr_array, C: sp.csr_array) -> None:
        """Take in the two graphs."""

    def _consistency(self, V: Array, U: Array, VtV: Array, UtU: Array) -> tuple[float, Array, Array]:
        raise ParameterError(f"{type(self).__name__} does not say how its factors are kept consistent.")


@dataclass(eq=False, repr=False)
class CCPMF(TagFactors):
    r"""Correlation-consistent probabilistic matrix factorisation: the factors are smooth over both graphs.

    .. math:: \min_{V, U} \tfrac12 \lVert Y - V U^\top \rVert^2 + \tfrac a2 \operatorname{tr} V^\top L_S V
        + \tfrac b2 \operatorname{tr} U^\top L_C U + \tfrac l2 (\lVert V \rVert^2 + \lVert U \rVert^2)
    """

    def _prepare(self, S: sp.csr_array, C: sp.csr_array) -> None:
        self._L_S, self._L_C = normalised_laplacian(S), normalised_laplacian(C)

    def _consistency(self, V: Array, U: Array, VtV: Array, UtU: Array) -> tuple[float, Array, Array]:
        slope_V, slope_U = self.a * (self._L_S @ V), self.b * (self._L_C @ U)
        return 0.5 * float(np.vdot(V, slope_V) + np.vdot(U, slope_U)), slope_V, slope_U


@dataclass(eq=False, repr=False)
class MPMF(TagFactors):
    r"""Multi-correlation probabilistic matrix factorisation (Li et al., ACM MM 2010): three matrices from two factors.

    .. math:: \min_{V, U} \tfrac12 \lVert Y - V U^\top \rVert^2 + \tfrac a2 \lVert S - V V^\top \rVert^2
        + \tfrac b2 \lVert C - U U^\top \rVert^2 + \tfrac l2 (\lVert V \rVert^2 + \lVert U \rVert^2)
    """

    def _prepare(self, S: sp.csr_array, C: sp.csr_array) -> None:
        self._S, self._C = S, C

    def _consistency(self, V: Array, U: Array, VtV: Array, UtU: Array) -> tuple[float, Array, Array]:
        SV, CU = self._S @ V, self._C @ U
        value = 0.5 * self.a * (float((self._S.data**2).sum()) - 2 * np.vdot(SV, V) + np.vdot(VtV, VtV))
        value += 0.5 * self.b * (float((self._C.data**2).sum()) - 2 * np.vdot(CU, U) + np.vdot(UtU, UtU))
        return float(value), 2 * self.a * (V @ VtV - SV), 2 * self.b * (U @ UtU - CU)
