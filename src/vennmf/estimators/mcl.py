"""Multi-view concept learning: several views of the same items and a few labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vennmf.errors import DataWarning, ParameterError, SourceError
from vennmf.estimators.base import ONE_SOURCE, FactorModel
from vennmf.estimators.labels import class_numbers
from vennmf.matrices import Axis, View, ViewSet, is_named
from vennmf.matrices.graphs import checked_graph
from vennmf.model import Block, Model
from vennmf.model.presets_labels import mcl
from vennmf.solvers import Options, Problem, encode, kernels

if TYPE_CHECKING:
    import pandas as pd

PAPER_ALPHA_SHARE = 1 / 5_000
"""What one unit of α is of an average component's mass where ``scale="data"``: the paper's 150 stand for 3 %."""


@dataclass(eq=False, repr=False)
class MCL(FactorModel):
    r"""Multi-view concept learning (Guan et al., TKDE 2015): one encoding of the items under all views.

    .. math:: \min \tfrac12 \sum_v w_v \lVert X_v - V B_v^\top \rVert_F^2 + \alpha \sum_v \lVert B_v \rVert_{1,\infty}
        + \tfrac{\beta}{2} \bigl( \operatorname{tr} V_l^\top L^a V_l - \operatorname{tr} V_l^\top L^p V_l \bigr)
        + \gamma \lVert V \rVert_1, \qquad B_v \ge 0,\; 0 \le V \le 1

    V_l are the rows of labelled items. Their classes are drawn together and apart by the paper's graphs (6) and (7), which are
    minus the between-class scatter and cost no more than the class means. ‖B‖₁,∞ sums the largest entries of the columns, so
    that a view lets go of the factors that it does not need.

    Parameters
    ----------
    n_components : int, default=2
        Number of latent factors.
    alpha, beta, gamma : float, default=150, 0.02, 0.005
        Weights of the column maxima, of the labels and of the sum of V, as in the paper. They depend on the scale of the
        data: see ``scale``.
    scale : {"paper", "data"}, default="paper"
        ``"paper"``: w_v = 1 and the weights as given; a warning with numbers says where they mean nothing for the data.
        ``"data"``: w_v = n / ‖X_v‖², so that an item has energy 1 in each view, and α/5,000 of the mass of an average
        component, ΣX_v / n_components, is where a view lets go; then the result does not depend on the unit of any view.
    label_term : {"scatter", "within"}, default="scatter"
        ``"scatter"``: both graphs, as published. ``"within"``: only that of items of one class, with a larger ``beta`` (0.1 to
        1 with ``scale="data"``); it classified better in most cases tried (docs/labels.md).
    within, between : sparse matrix, default=None
        Graphs over all items in place of the paper's: similar items to draw together, and to drive apart.
    solver : {"cd", "paper"}, default="cd"
        Exact block steps, or composite gradient mapping and the rules (25) and (26) as published.

    All other parameters are those of :class:`vennmf.VennNMF`.

    Attributes
    ----------
    components_ : dict of str to ndarray (n_components, n_features of the view)
    encodings_ : ndarray (n_items, n_components)
        V of the fit, which knows the labels. ``fit_transform`` gives what ``transform`` gives instead, which does not: the
        same function of an item, labelled or not.
    classes_ : ndarray
    views_of_factors_ : DataFrame of bool, factors × views
        Which views each factor is part of.
    history_, n_iter_, stop_reason_, objective_, violation_, weights_, model_
        As in :class:`vennmf.VennNMF`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "solver": [StrOptions({"cd", "paper"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "scale": [StrOptions({"paper", "data"})],
        "label_term": [StrOptions({"scatter", "within"})],
        "within": ["sparse matrix", "array-like", None],
        "between": ["sparse matrix", "array-like", None],
    }

    n_components: int = 2
    alpha: float = 150.0
    beta: float = 0.02
    gamma: float = 0.005
    scale: str = field(default="paper", kw_only=True)
    label_term: str = field(default="scatter", kw_only=True)
    within: Any = field(default=None, kw_only=True)
    between: Any = field(default=None, kw_only=True)

    # ---------------------------------------------------------------- fit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, rows: Mapping[str, Any] | None = None) -> Self:
        """Learn bases and encodings.

        X is a dict of views of the same items, a :class:`ViewSet`, or one matrix. ``y`` holds a label for each item, -1
        where it is unknown. ``rows`` says which items a view has, by mask or position, for those that lack some.
        """
        self._validate_params()
        with kernels.threads(self.n_threads):
            return self._fit(X, y, rows)

    def fit_transform(self, X: Any, y: Any = None, *, rows: Mapping[str, Any] | None = None) -> Any:
        """``fit(X, y).transform(X)``: encodings that do not see the items' own labels. ``encodings_`` do."""
        return self.fit(X, y, rows=rows).transform(X, rows=rows)

    def _fit(self, X: Any, y: Any, rows: Mapping[str, Any] | None) -> Self:
        refuse_list(X)
        if not is_named(X):
            self._check_features(X, reset=True)
            X = {ONE_SOURCE: X}
        views = aligned(X, rows, n_items=None if y is None else len(np.asarray(y)))
        items = next(iter(views.values())).items
        self.sources_ = views.names
        numbers, self.classes_ = class_numbers(y, items.size)
        problem = Problem(self._model(views, numbers), views)
        factors = self._minimise(problem).factors
        self.encodings_ = factors[items.name]
        self.components_ = {name: np.ascontiguousarray(factors[v.features.name].T) for name, v in views.items()}
        self.feature_ids_ = {name: view.features.ids for name, view in views.items()}
        self.energies_ = {name: self._energies(view) for name, view in views.items()}
        self._n_features_out = self.n_components
        return self

    def _model(self, views: ViewSet, y: Any) -> Model:
        n = next(iter(views.values())).items.size
        weights = dict.fromkeys(views, 1.0)
        alpha: float | dict[str, float] = self.alpha
        if self.scale == "data":
            weights = {name: view.shape[0] / (view.squared_norm() or 1.0) for name, view in views.items()}
            share = self.alpha * PAPER_ALPHA_SHARE / self.n_components
            alpha = {name: share * weights[name] * float(view.X.sum()) for name, view in views.items()}
        else:
            self._warn_of_scale(views)
        graphs = {
            name: None if graph is None else checked_graph(graph, n, name)
            for name, graph in (("within", self.within), ("between", self.between))
        }
        return mcl(
            views,
            self.n_components,
            y,
            alpha=alpha,
            beta=self.beta,
            gamma=self.gamma,
            label_term=self.label_term,
            weights=weights,
            **graphs,
        )

    def _warn_of_scale(self, views: ViewSet) -> None:
        """Say with numbers where α, β or γ cannot have the effect that they have in the paper."""
        found = []
        energy = sum(view.squared_norm() / view.shape[0] for view in views.values())
        for name, view in views.items():
            mass = float(view.X.sum()) / self.n_components
            if self.alpha and not 1e-4 * mass <= self.alpha <= 0.2 * mass:
                effect = "has next to no effect" if self.alpha < mass else "empties most components"
                effect = "is strong" if 0.2 * mass < self.alpha < mass else effect
                found.append(
                    f"alpha={self.alpha:g} {effect} in view {name!r}, whose average component has mass {mass:.3g}"
                )
        for parameter in ("beta", "gamma"):
            value = getattr(self, parameter)
            if value and value < 1e-5 * energy:
                found.append(
                    f"{parameter}={value:g} has next to no effect beside an average item's energy of {energy:.3g}"
                )
            elif value > energy:
                found.append(f"{parameter}={value:g} outweighs an average item's energy of {energy:.3g}")
        if found:
            warnings.warn(
                f"MCL's penalties depend on the scale of the data: {'; '.join(found)}. Scale the data or the weights, or pass "
                "scale='data'.",
                DataWarning,
                stacklevel=5,
            )

    def _options(self) -> Options:
        options = super()._options()
        if self.solver == "paper":  # T = T' = 10
            options = Options(**{**options.__dict__, "inner_sweeps": 10})
        return options

    def _energies(self, view: View) -> Any:
        """‖V_k B_kᵀ‖² / ‖X‖² of each factor in one view."""
        V = self.encodings_ if view.rows is None else self.encodings_[view.rows]
        B = self.components_[view.name]
        norms = np.einsum("ij,ij->j", V, V, dtype=np.float64) * np.einsum("ji,ji->j", B, B, dtype=np.float64)
        return norms / view.squared_norm()

    # ---------------------------------------------------------------- encode

    def transform(self, X: Any, *, rows: Mapping[str, Any] | None = None) -> Any:
        """Encode items that are given in any one or more of the views: nonnegative least squares in the box, with γ."""
        check_is_fitted(self)
        if not is_named(X):
            if len(self.sources_) > 1:
                raise ParameterError(
                    f"transform needs a dict with one or more of the views {', '.join(self.sources_)}."
                )
            self._check_features(X, reset=False)
            X = {self.sources_[0]: X}
        for name in X:
            if name not in self.sources_:
                raise SourceError(f"there is no view {name!r} in this model; its views are {', '.join(self.sources_)}.")
        dtype = next(iter(self.components_.values())).dtype
        views = aligned(X, rows, dtype=dtype)
        for name, view in views.items():
            expected = self.components_[name].shape[1]
            if view.features.size != expected:
                raise SourceError(f"view {name!r} has {view.features.size} features, but {expected} were fitted.")
        model = Model.of(
            views,
            [Block("shared", self.n_components, views.names)],
            [p for p in self.model_.penalties if getattr(p, "on", None) == "encodings"],
            {name: self.weights_[name] for name in views},
        )
        bases = {view.features.name: np.ascontiguousarray(self.components_[name].T) for name, view in views.items()}
        with kernels.threads(self.n_threads):
            return encode(Problem(model, views, allow_empty=True), bases, model.row_axes[0])

    def inverse_transform(self, V: Any) -> dict[str, Any]:
        """The views of items from their encodings."""
        check_is_fitted(self)
        V = np.asarray(V)
        if V.ndim != 2 or V.shape[1] != self.n_components:
            raise ParameterError(f"encodings have {self.n_components} columns; found shape {V.shape}.")
        return {name: V @ B for name, B in self.components_.items()}

    # ---------------------------------------------------------------- report

    @property
    def views_of_factors_(self) -> pd.DataFrame:
        """Which views each factor is part of: a boolean table, factors × views."""
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame({name: B.max(axis=1) > 0 for name, B in self.components_.items()})

    def factor_report(self) -> pd.DataFrame:
        """A row for each factor and view: whether the view uses it, its largest entry, its share of the view's energy."""
        import pandas as pd

        used = self.views_of_factors_
        kinds = used.apply(lambda row: _kind([name for name in used.columns if row[name]], len(used.columns)), axis=1)
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "factor": np.arange(self.n_components),
                        "kind": kinds,
                        "view": name,
                        "used": used[name],
                        "largest": B.max(axis=1),
                        "energy": self.energies_[name],
                    }
                )
                for name, B in self.components_.items()
            ],
            ignore_index=True,
        ).sort_values(["factor", "view"], ignore_index=True)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """factor0, factor1, ..."""
        check_is_fitted(self)
        return np.array([f"factor{j}" for j in range(self.n_components)], dtype=object)


def _kind(views: list[str], n_views: int) -> str:
    if not views:
        return "unused"
    if len(views) == n_views:
        return "shared by all"
    return "private to " + views[0] if len(views) == 1 else "shared by " + ", ".join(views)


def refuse_list(X: Any) -> None:
    """Views go by name; a list of matrices has none."""
    if isinstance(X, list | tuple) and any(len(getattr(M, "shape", ())) == 2 for M in X):
        raise SourceError(f"{len(X)} views came without names; pass a dict, such as {{'english': X1, 'italian': X2}}.")


def aligned(
    X: Mapping[str, Any], rows: Mapping[str, Any] | None, *, n_items: int | None = None, dtype: Any = None
) -> ViewSet:
    """Views on one axis of items, each with the items that it has."""
    if isinstance(X, ViewSet):
        if rows:
            raise ParameterError(
                "rows= is for a dict of views; the views of a ViewSet say themselves which items they have."
            )
        return X
    if not rows:
        return ViewSet.of(dict(X), shared="items", dtype=dtype)
    unknown = sorted(set(rows) - set(X))
    if unknown:
        raise SourceError(f"rows names {unknown[0]!r}, which is no view; the views are {', '.join(map(repr, X))}.")
    views = [View.of(str(name), M, dtype=dtype) for name, M in X.items()]
    whole = [view for view in views if view.name not in rows]
    sizes = [view.shape[0] for view in whole] + [
        len(np.asarray(r)) for r in rows.values() if np.asarray(r).dtype == bool
    ]
    size = n_items if n_items is not None else sizes[0] if sizes else 1 + max(int(np.max(r)) for r in rows.values())
    widest = np.result_type(*(view.X.dtype for view in views))
    items = Axis("items", size, whole[0].items.ids if whole and whole[0].shape[0] == size else None)
    return ViewSet(
        [
            View.of(
                view.name,
                view.X.astype(widest, copy=False),
                items=items,
                features=Axis(f"features:{view.name}", view.features.size, view.features.ids),
                rows=rows.get(view.name),
            )
            for view in views
        ]
    )
