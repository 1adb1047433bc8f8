"""Factorisations that MCL and N2S2L are compared with: presets of the engine, and two whose objective is another."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from vennmf.errors import ParameterError
from vennmf.estimators.base import ONE_SOURCE, FactorModel
from vennmf.estimators.labels import class_numbers
from vennmf.estimators.mcl import aligned, refuse_list
from vennmf.matrices import View, ViewSet, is_named
from vennmf.matrices.graphs import neighbour_graph
from vennmf.model import Block, Model
from vennmf.model.form import Form
from vennmf.model.presets_labels import LABELS, gnmf, sulf
from vennmf.solvers import Problem, encode, products
from vennmf.solvers.sweeps import coordinate_descent


@dataclass(eq=False, repr=False)
class ConcatNMF(FactorModel):
    r"""NMF of all views side by side.

    .. math:: \min_{V, B \ge 0} \tfrac12 \sum_v \lVert X_v - V B_v^\top \rVert_F^2 = \tfrac12 \lVert [X_1|X_2|\dots] - V B^\top \rVert_F^2
    """

    n_components: int = 2

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a dict of views of the same items, or one matrix; ``y`` holds -1 where a label is unknown."""
        self._validate_params()
        refuse_list(X)
        if not is_named(X):
            self._check_features(X, reset=True)
        views = self._views(X)
        items = next(iter(views.values())).items
        numbers, self.classes_ = class_numbers(y, items.size)
        model, whole = self._model(views, numbers)
        factors = self._minimise(Problem(model, whole)).factors
        self.sources_ = views.names
        self.encodings_ = factors[items.name]
        self.components_ = {name: np.ascontiguousarray(factors[v.features.name].T) for name, v in views.items()}
        self._n_features_out = self.n_components
        if LABELS in whole:
            self.label_components_ = np.ascontiguousarray(factors[whole[LABELS].features.name].T)
        return self

    def _views(self, X: Any) -> ViewSet:
        return aligned(X if is_named(X) else {ONE_SOURCE: X}, None)

    def _model(self, views: ViewSet, y: Any) -> tuple[Model, ViewSet]:
        return gnmf(views, self.n_components), views

    def transform(self, X: Any) -> Any:
        """Encode items given in any of the views by nonnegative least squares."""
        check_is_fitted(self)
        if not is_named(X):
            self._check_features(X, reset=False)
        views = self._views(X)
        weights = {name: self.weights_[name] for name in views}
        model = Model.of(views, [Block("shared", self.n_components, views.names)], (), weights)
        bases = {v.features.name: np.ascontiguousarray(self.components_[n].T) for n, v in views.items()}
        return encode(Problem(model, views, allow_empty=True), bases, model.row_axes[0])


@dataclass(eq=False, repr=False)
class BestViewNMF(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """NMF of each view alone, of which the one is kept whose encodings tell the labelled items apart best.

    Each labelled item is left out in turn and given the class of its nearest labelled neighbour. ``accuracies_`` holds the
    share that is right by view, ``view_`` the best, ``nmf_`` its model.
    """

    n_components: int = 2
    max_iter: int = field(default=200, kw_only=True)
    random_state: Any = field(default=None, kw_only=True)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from a dict of views of the same items and labels ``y``, -1 where unknown."""
        views = aligned(X if is_named(X) else {ONE_SOURCE: X}, None)
        numbers, self.classes_ = class_numbers(y, next(iter(views.values())).items.size)
        known = np.flatnonzero(numbers >= 0)
        if len(known) < 2:
            raise ParameterError(f"{len(known)} items have a label; at least 2 are needed to tell which view is best.")
        fits = {
            name: ConcatNMF(self.n_components, max_iter=self.max_iter, random_state=self.random_state).fit(
                {name: view.X}
            )
            for name, view in views.items()
        }
        self.accuracies_ = {
            name: left_out_accuracy(model.encodings_[known], numbers[known]) for name, model in fits.items()
        }
        self.view_ = max(self.accuracies_, key=self.accuracies_.__getitem__)
        self.nmf_ = fits[self.view_]
        self.encodings_, self.components_ = self.nmf_.encodings_, self.nmf_.components_
        return self

    def transform(self, X: Any) -> Any:
        """Encode items, of which the best view is looked at."""
        check_is_fitted(self)
        X = X if is_named(X) else {ONE_SOURCE: X}
        if self.view_ not in X:
            raise ParameterError(f"the best view, {self.view_!r}, is missing; found {', '.join(map(repr, X))}.")
        return self.nmf_.transform({self.view_: X[self.view_]})


def left_out_accuracy(V: Any, classes: Any) -> float:
    """Share of the items whose nearest neighbour is of their class."""
    from sklearn.neighbors import NearestNeighbors

    nearest = NearestNeighbors(n_neighbors=1).fit(V).kneighbors(return_distance=False)[:, 0]
    return float(np.mean(classes[nearest] == classes))


@dataclass(eq=False, repr=False)
class GNMF(ConcatNMF):
    r"""Graph regularised NMF (Cai et al., TPAMI 2011), of one view or several.

    .. math:: \min \tfrac12 \sum_v \lVert X_v - V B_v^\top \rVert_F^2 + \tfrac{\lambda}{2} \operatorname{tr} V^\top L V

    With ``supervised`` L is that of the within-class graph of the labels (MCL's eq. 6), the semi-supervised multi-view form
    that MCL is compared with; otherwise that of the ``n_neighbors`` nearest neighbours in all views side by side.
    """

    smoothness: float = field(default=1.0, kw_only=True)
    supervised: bool = field(default=False, kw_only=True)
    n_neighbors: int = field(default=5, kw_only=True)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConcatNMF._parameter_constraints,
        "smoothness": [Interval(Real, 0, None, closed="left")],
        "supervised": ["boolean"],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def _model(self, views: ViewSet, y: Any) -> tuple[Model, ViewSet]:
        if self.supervised:
            return gnmf(views, self.n_components, y=y, smoothness=self.smoothness), views
        graph = neighbour_graph(side_by_side(views), self.n_neighbors)
        return gnmf(views, self.n_components, graph=graph, smoothness=self.smoothness), views


@dataclass(eq=False, repr=False)
class SULF(ConcatNMF):
    r"""Semi-supervised unified latent factors (Jiang et al., 2013): labels are one more factorised view.

    .. math:: \min \tfrac12 \sum_v \lVert X_v - V B_v^\top \rVert_F^2 + \tfrac{\beta}{2} \lVert Y_l - V_l W^\top \rVert_F^2
        + \tfrac{\rho}{2} \lVert V \rVert_F^2

    The ``ridge`` ρ decides what unlabelled items hold of factors that only the labels use. ``label_components_`` is Wᵀ.
    """

    strength: float = field(default=1.0, kw_only=True)
    ridge: float = field(default=0.01, kw_only=True)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConcatNMF._parameter_constraints,
        "strength": [Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 0, None, closed="left")],
    }

    def _model(self, views: ViewSet, y: Any) -> tuple[Model, ViewSet]:
        if LABELS in views:
            raise ParameterError(f"a view is called {LABELS!r}, which SULF keeps for the labels; give it another name.")
        if not np.any(y >= 0):
            return gnmf(views, self.n_components), views
        return sulf(views, self.n_components, y, strength=self.strength, ridge=self.ridge)


@dataclass(eq=False, repr=False)
class MultiNMF(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Multi-view NMF with a consensus (Liu et al., SDM 2013).

    .. math:: \min \sum_v \lVert X_v - V_v U_v^\top \rVert_F^2 + \lambda \sum_v \lVert V_v Q_v - V^* \rVert_F^2,
        \qquad Q_v = \operatorname{diag}(1^\top U_v)

    Each view is scaled to sum 1, as in the paper. U_v is brought to column sums 1 after each of its steps, so that Q_v = I
    there; the consensus is the mean of the V_v. Both steps are exact coordinate descent.
    """

    n_components: int = 2
    consensus: float = field(default=0.01, kw_only=True)
    max_iter: int = field(default=100, kw_only=True)
    tol: float = field(default=1e-5, kw_only=True)
    random_state: Any = field(default=None, kw_only=True)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a dict of views of the same items; ``y`` is not used."""
        views = aligned(X if is_named(X) else {ONE_SOURCE: X}, None, dtype=np.float64)
        rng = check_random_state(self.random_state)
        data = {name: view.X / view.X.sum() for name, view in views.items()}
        U = {name: rng.random_sample((M.shape[1], self.n_components)) for name, M in data.items()}
        U = {name: B / B.sum(axis=0) for name, B in U.items()}
        V = {name: rng.random_sample((M.shape[0], self.n_components)) / M.shape[0] for name, M in data.items()}
        self.objectives_: list[float] = []
        mean = np.mean(list(V.values()), axis=0)
        for _ in range(self.max_iter):
            for name, M in data.items():
                self._row_step(M, U[name], V[name], mean)
                self._column_step(M, U[name], V[name], mean)
            mean = np.mean(list(V.values()), axis=0)
            self.objectives_.append(sum(self._value(M, U[n], V[n], mean) for n, M in data.items()))
            if (
                len(self.objectives_) > 5
                and self.objectives_[-6] - self.objectives_[-1] <= self.tol * self.objectives_[-1]
            ):
                break
        self.encodings_ = mean
        self.components_ = {name: B.T for name, B in U.items()}
        self.view_encodings_ = V
        return self

    def _row_step(self, M: Any, U: Any, V: Any, mean: Any) -> None:
        gram = U.T @ U + self.consensus * np.eye(self.n_components)
        cross = products.times(M, U) + self.consensus * mean
        coordinate_descent(V, Form([(None, gram)], cross), 3)

    def _column_step(self, M: Any, U: Any, V: Any, mean: Any) -> None:
        """A step on U of which the consensus is aware through Q, then column sums 1; undone if the objective rose."""
        before, old = self._value(M, U, V, mean), (U.copy(), V.copy())
        gram = V.T @ V
        coordinate_descent(U, Form([(None, gram)], products.transposed_times(M, V)), 2)
        sums = np.where(U.sum(axis=0) > 0, U.sum(axis=0), 1.0)
        U /= sums
        V *= sums
        step = 1.0
        new = U.copy(), V.copy()
        while self._value(M, U, V, mean) > before and step > 1e-6:
            step /= 2
            for now, a, b in zip((U, V), old, new, strict=True):
                now[...] = a + step * (b - a)
        if step <= 1e-6:
            U[...], V[...] = old

    def _value(self, M: Any, U: Any, V: Any, mean: Any) -> float:
        return products.squared_residual(M, V, U) + self.consensus * float(np.sum((V - mean) ** 2))

    def transform(self, X: Any) -> Any:
        """Encodings of the items of the fit; the model has none for others."""
        raise ParameterError("MultiNMF encodes the items of its fit only, in encodings_; fit it with all items.")

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        return self.fit(X, y).encodings_


@dataclass(eq=False, repr=False)
class LNMF(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Local NMF (Li et al., CVPR 2001): parts that are local and encodings that are expressive.

    .. math:: \min \sum_{ij} \Bigl( X_{ij} \log \frac{X_{ij}}{(V U^\top)_{ij}} - X_{ij} + (V U^\top)_{ij} \Bigr)
        + \alpha \sum_{jl} (U^\top U)_{jl} - \beta \sum_j (V^\top V)_{jj}, \qquad 1^\top U = 1

    by its published rules, in which α and β do not appear. New items are encoded by the pseudo-inverse of the basis, as there.
    """

    n_components: int = 2
    max_iter: int = field(default=200, kw_only=True)
    random_state: Any = field(default=None, kw_only=True)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one dense nonnegative matrix; ``y`` is not used."""
        view = View.of(ONE_SOURCE, X, dtype=np.float64)
        M = view.X.toarray() if hasattr(view.X, "toarray") else view.X
        rng = check_random_state(self.random_state)
        tiny = np.finfo(float).eps
        U = rng.random_sample((M.shape[1], self.n_components))
        U /= U.sum(axis=0)
        V = rng.random_sample((M.shape[0], self.n_components)) * M.sum(axis=1, keepdims=True) / self.n_components
        for _ in range(self.max_iter):
            V = np.sqrt(V * ((M / (V @ U.T + tiny)) @ U))
            U = U * ((M / (V @ U.T + tiny)).T @ V) / (V.sum(axis=0) + tiny)
            U /= U.sum(axis=0) + tiny
        self.components_, self.encodings_ = U.T, V
        return self

    def transform(self, X: Any) -> Any:
        check_is_fitted(self)
        return np.asarray(X @ np.linalg.pinv(self.components_))


def side_by_side(views: ViewSet) -> Any:
    """All views as one matrix; every view must have all items."""
    import scipy.sparse as sp

    parts = [view.X for view in views.values()]
    return sp.hstack(parts, format="csr") if any(sp.issparse(part) for part in parts) else np.hstack(parts)
