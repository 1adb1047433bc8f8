"""Nonnegative semi-supervised learning: one view or tensor and a few labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vennmf.errors import ParameterError, SourceError
from vennmf.estimators.base import ONE_SOURCE, FactorModel
from vennmf.estimators.labels import class_numbers
from vennmf.matrices import View, ViewSet, is_named
from vennmf.matrices.graphs import between_class_graph, checked_graph, neighbour_graph, same_class_graph
from vennmf.model import Block, Model
from vennmf.model.form import Form
from vennmf.model.presets_labels import n2s2l
from vennmf.solvers import Options, Problem, encode, kernels
from vennmf.solvers.minimise import fold_in
from vennmf.solvers.products import khatri_rao


@dataclass(eq=False, repr=False)
class N2S2L(FactorModel):
    r"""Nonnegative semi-supervised learning (Wang et al., AISTATS 2009), of matrices and of tensors of any order.

    .. math:: \min \tfrac12 \lVert X - [V_1|V_2][U_1|U_2]^\top \rVert_F^2
        + \tfrac12 \operatorname{tr} V_1^\top (\alpha L + \beta L^s) V_1 + \tfrac{\alpha}{2} \operatorname{tr} V_2^\top L^p V_2,
        \qquad U, V \ge 0,\; \lVert u_j \rVert = 1

    half of the paper's (10) and (12). L joins items of one class, L^p close items of different classes, L^s neighbours,
    labelled or not. V₁ carries what tells the classes apart, V₂ the rest of the reconstruction. All terms are quadratic in
    the data's unit, so that α and β do not depend on it. An array of order above two is factorised as a tensor (52), one
    factor for each axis.

    Parameters
    ----------
    n_components : int, default=None
        Columns of V; None for the paper's N_l m / (N_l + m), with N_l labelled items of m features, but one more than there
        are classes at least; 2 without labels.
    n_discriminative : int, default=None
        Columns of V₁; None for the number of classes.
    alpha : float, default=10
        Weight of the two graphs of labelled items.
    beta : float, default=0.1
        Weight of the smoothness graph of all items.
    n_neighbors : int, default=5
        Neighbours of each item in the smoothness graph.
    n_between : int, default=20
        Closest pairs with other classes, for each class.
    n_within : int, default=None
        Neighbours of its own class to which a labelled item is joined; None for all n_c − 1 of them, for which no edges are made.
    within, between, smooth : sparse matrix, default=None
        Graphs over the items of the fit in place of those built from the labels.
    n_vote : int, default=1
        Neighbours on V₁ that ``predict`` asks.
    solver : {"cd", "mu"}, default="cd"
        Coordinate descent, or the multiplicative rules (25), (44) and (54) as published.

    All other parameters are those of :class:`vennmf.VennNMF`.

    Attributes
    ----------
    components_ : ndarray (n_components, n_features), or (n_components, d₁, d₂, ...) for a tensor
        The discriminative ones first.
    factors_ : tuple of ndarray
        For each feature axis its factor, (size of the axis, n_components).
    encodings_ : ndarray (n_items, n_components)
        V of the fit, which knows the labels. ``fit_transform`` gives what ``transform`` gives instead, which does not.
    classes_, class_numbers_ : ndarray
        The classes; each item's, -1 where unknown.
    sparsity_ : ndarray (n_components,)
        Hoyer's sparsity of each component: 1 for a single nonzero entry, 0 where all are equal.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_discriminative": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_between": [Interval(Integral, 1, None, closed="left")],
        "n_within": [Interval(Integral, 1, None, closed="left"), None],
        "n_vote": [Interval(Integral, 1, None, closed="left")],
        "within": ["sparse matrix", "array-like", None],
        "between": ["sparse matrix", "array-like", None],
        "smooth": ["sparse matrix", "array-like", None],
        "solver": [StrOptions({"cd", "mu"})],
    }

    n_components: int | None = None
    n_discriminative: int | None = None
    alpha: float = 10.0
    beta: float = 0.1
    n_neighbors: int = 5
    n_between: int = 20
    n_within: int | None = field(default=None, kw_only=True)
    n_vote: int = field(default=1, kw_only=True)
    within: Any = field(default=None, kw_only=True)
    between: Any = field(default=None, kw_only=True)
    smooth: Any = field(default=None, kw_only=True)

    # ---------------------------------------------------------------- fit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a matrix of items × features or an array whose first axis is the items; ``y`` holds -1 where unknown."""
        self._validate_params()
        if is_named(X):
            raise SourceError("N2S2L takes one matrix or array, and was given several by name; vennmf.MCL takes views.")
        self._check_features(X, reset=True)
        with kernels.threads(self.n_threads):
            return self._fit(View.of_tensor(ONE_SOURCE, X), y)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """``fit(X, y).transform(X)``: encodings that do not see the items' own labels. ``encodings_`` do."""
        return self.fit(X, y).transform(X)

    def _fit(self, view: View, y: Any) -> Self:
        self.class_numbers_, self.classes_ = class_numbers(y, view.shape[0])
        k, q = self._sizes(view)
        views = ViewSet([view])
        model = n2s2l(views, k, q, alpha=self.alpha, beta=self.beta, y=self.class_numbers_, **self._graphs(view))
        problem = Problem(model, views)
        factors = self._minimise(problem).factors
        loss = problem.model.losses[0]
        self.shape_ = tuple(len(mode) for mode in view.modes) or (view.features.size,)
        self.factors_ = tuple(factors[axis] for axis in loss.column_axes)
        self.components_ = np.ascontiguousarray(khatri_rao(list(self.factors_)).T).reshape(-1, *self.shape_)
        self.encodings_ = factors[loss.left]
        self.n_discriminative_ = q
        self.feature_ids_ = view.features.ids
        self.sparsity_ = hoyer(self.components_.reshape(k, -1))
        self._n_features_out = k
        return self

    def _sizes(self, view: View) -> tuple[int, int]:
        """Number of components and of discriminative ones."""
        labelled, m = int(np.sum(self.class_numbers_ >= 0)), view.features.size
        n_classes = len(self.classes_)
        k = self.n_components
        if k is None:
            k = max(labelled * m // (labelled + m), n_classes + 1, 2) if labelled else 2
        q = self.n_discriminative if self.n_discriminative is not None else min(max(n_classes, 1), k)
        if q > k:
            raise ParameterError(
                f"n_discriminative={q} is larger than n_components={k}; the discriminative components are part of all."
            )
        return k, q

    def _graphs(self, view: View) -> dict[str, Any]:
        """Graphs given or built; that of all pairs of a class needs no edges, so that its labels stand for it."""
        n, y = view.shape[0], self.class_numbers_
        few = self.alpha and self.n_within is not None
        build: dict[str, tuple[Any, Callable[[], Any]]] = {
            "within": (self.within, lambda: same_class_graph(view.X, y, self.n_within) if few else None),
            "between": (self.between, lambda: between_class_graph(view.X, y, self.n_between) if self.alpha else None),
            "smooth": (self.smooth, lambda: neighbour_graph(view.X, self.n_neighbors) if self.beta else None),
        }
        return {
            name: make() if given is None else checked_graph(given, n, name) for name, (given, make) in build.items()
        }

    def _options(self) -> Options:
        options = super()._options()
        if self.solver == "mu":
            options = Options(**{**options.__dict__, "inner_sweeps": 1})
        return options

    # ---------------------------------------------------------------- encode

    def transform(self, X: Any, *, method: str = "nnls", mask: Any = None) -> Any:
        """Encode items on the learnt basis.

        ``method="nnls"``: nonnegative least squares, to convergence. ``"pinv"``: the pseudo-inverse of the basis, as LNMF
        and the paper do; its codes may be negative. ``mask``, of the shape of X, is False where an entry is not to be
        trusted, such as an occluded pixel: such entries take no part in the fit (``"nnls"`` only).
        """
        check_is_fitted(self)
        view = self._view(X)
        basis = self.components_.reshape(len(self.components_), -1)
        if method == "pinv":
            if mask is not None:
                raise ParameterError("mask= needs method='nnls'; the pseudo-inverse takes whole items.")
            return np.asarray(view.X @ np.linalg.pinv(basis.astype(np.float64)).astype(basis.dtype))
        if method != "nnls":
            raise ParameterError(f"method={method!r}; expected 'nnls' or 'pinv'.")
        if mask is not None:
            return self._masked(view, self._mask(mask, len(view.items)), basis)
        model = Model.of(ViewSet([view]), [Block("all", len(basis), (ONE_SOURCE,))], (), {ONE_SOURCE: 1.0})
        problem = Problem(model, ViewSet([view]), allow_empty=True)
        with kernels.threads(self.n_threads):
            return encode(problem, {view.features.name: np.ascontiguousarray(basis.T)}, view.items.name)

    def _masked(self, view: View, mask: Any, basis: Any) -> Any:
        """Least squares over each item's trusted entries; items of one mask together."""
        codes = np.zeros((len(view.items), len(basis)), dtype=basis.dtype)
        patterns, which = np.unique(mask, axis=0, return_inverse=True)
        with kernels.threads(self.n_threads):
            for number, seen in enumerate(patterns):
                rows = np.flatnonzero(which.ravel() == number)
                parts, part = np.ascontiguousarray(basis[:, seen]), np.zeros((len(rows), len(basis)), basis.dtype)
                fold_in(part, Form([(None, parts @ parts.T)], np.ascontiguousarray(view.X[rows][:, seen] @ parts.T)))
                codes[rows] = part
        return codes

    def _mask(self, mask: Any, n_items: int) -> Any:
        """A mask for each item, or one for all, unfolded like the items."""
        mask = np.asarray(mask, dtype=bool)
        if mask.shape not in (self.shape_, (n_items, *self.shape_)):
            expected = " × ".join(map(str, (n_items, *self.shape_)))
            raise ParameterError(
                f"mask has shape {' × '.join(map(str, mask.shape))} and the items {expected}; give one of that shape, or "
                "of one item's for all of them."
            )
        return np.broadcast_to(mask, (n_items, *self.shape_)).reshape(n_items, -1)

    def _view(self, X: Any) -> View:
        """New items, unfolded, checked against the fit."""
        self._check_features(X, reset=False)
        whole = View.of_tensor(ONE_SOURCE, X)
        if (tuple(len(mode) for mode in whole.modes) or (whole.features.size,)) != self.shape_:
            raise SourceError(
                f"items have shape {' × '.join(map(str, np.shape(X)[1:]))}, but {' × '.join(map(str, self.shape_))} was fitted."
            )
        return View.of(ONE_SOURCE, whole.X.astype(self.components_.dtype, copy=False))

    # ---------------------------------------------------------------- classify

    def predict(self, X: Any, **how: Any) -> Any:
        """The class of each item by its nearest labelled neighbours on V₁; ``how`` is passed to :meth:`transform`."""
        votes = self.predict_proba(X, **how)
        return self.classes_[np.argmax(votes, axis=1)]

    def predict_proba(self, X: Any, **how: Any) -> Any:
        """Share of each class among the ``n_vote`` nearest labelled items on V₁, nearer ones counting more."""
        from sklearn.neighbors import NearestNeighbors

        check_is_fitted(self)
        known = np.flatnonzero(self.class_numbers_ >= 0)
        if not len(known):
            raise ParameterError("the model was fitted without labels, so it cannot classify; fit it with y.")
        search = NearestNeighbors(n_neighbors=min(self.n_vote, len(known)))
        search.fit(self.encodings_[known, : self.n_discriminative_])
        distances, found = search.kneighbors(self.transform(X, **how)[:, : self.n_discriminative_])
        weights = 1 / np.maximum(distances, np.finfo(np.float64).tiny ** 0.5)
        votes = np.zeros((len(found), len(self.classes_)))
        for column, voters in zip(weights.T, found.T, strict=True):
            votes[np.arange(len(found)), self.class_numbers_[known[voters]]] += column
        return votes / votes.sum(axis=1, keepdims=True)

    def score(self, X: Any, y: Any, **how: Any) -> float:
        """Share of the items whose class is predicted, of those that have a label in ``y``."""
        found = self.predict(X, **how)
        numbers, classes = class_numbers(y, len(found))
        known = np.flatnonzero(numbers >= 0)
        if not len(known):
            raise ParameterError("no item has a label in y, so there is nothing to score.")
        return float(np.mean(found[known] == classes[numbers[known]]))

    def inverse_transform(self, V: Any) -> Any:
        """Items from their encodings, in the shape of the fit."""
        check_is_fitted(self)
        V = np.asarray(V)
        if V.ndim != 2 or V.shape[1] != len(self.components_):
            raise ParameterError(f"encodings have {len(self.components_)} columns; found shape {V.shape}.")
        return np.tensordot(V, self.components_, axes=1)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """discriminative0, ..., rest0, ..."""
        check_is_fitted(self)
        return np.array([f"{block.name}{j}" for block in self.blocks_ for j in range(block.size)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.classifier_tags = ClassifierTags()
        return tags


def hoyer(components: Any) -> Any:
    """Hoyer's sparsity of each row: (√m − ‖b‖₁/‖b‖₂) / (√m − 1); NaN for a row of zeros or of one entry."""
    m = components.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.abs(components).sum(axis=1) / np.linalg.norm(components, axis=1)
        return (np.sqrt(m) - ratio) / (np.sqrt(m) - 1)
