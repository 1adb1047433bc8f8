"""Joint factorisation of several sources: NMF, JSNMF, RJSNMF and any other sharing pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vennmf.errors import ModelError, ParameterError, SourceError
from vennmf.estimators.base import ONE_SOURCE, FactorModel
from vennmf.estimators.sharing import energy_shares
from vennmf.matrices import Axis, View, ViewSet, is_named
from vennmf.model import Block, Model, Penalty, sharing_pattern
from vennmf.model.penalties import MutuallyOrthogonal
from vennmf.model.presets import shared_and_private
from vennmf.solvers import Problem, encode, kernels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(eq=False, repr=False)
class JointModel(FactorModel):
    """What NMF, JSNMF, RJSNMF and VennNMF share: fit, transform, inverse_transform, score, report.

    A subclass says which blocks its parameters ask for, and which penalties.
    """

    weights: Mapping[str, float] | None = field(default=None, kw_only=True)

    # ---------------------------------------------------------------- fit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, *, sources: Any = None) -> Self:
        """Learn the blocks.

        X is a dict of named matrices, a :class:`ViewSet`, or one matrix; ``sources`` labels its rows where it stacks
        several sources.
        """
        self._fit(X, sources)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit_transform(self, X: Any, y: Any = None, *, sources: Any = None) -> Any:
        """Learn the blocks and return the encodings, as ``fit(X).transform(X)`` would."""
        return self._fit(X, sources)

    def _fit(self, X: Any, sources: Any) -> Any:
        self._validate_params()
        with kernels.threads(self.n_threads):
            return self._fit_views(X, self._views_of(X, sources), sources)

    def _fit_views(self, X: Any, views: ViewSet, sources: Any) -> Any:
        self.sources_ = views.names
        model = Model.of(views, self._blocks(views.names), self._penalties(), dict(self.weights or {}))
        self._check_sizes(model, views)
        problem = Problem(model, views)
        factors = self._minimise(problem).factors
        self._keep(problem, factors)
        if is_named(X):
            return dict(self.encodings_)
        if sources is None:
            return next(iter(self.encodings_.values()))
        return self._stacked(self.encodings_, np.asarray(sources))

    def _views_of(self, X: Any, sources: Any) -> ViewSet:
        if is_named(X):
            if sources is not None:
                raise ParameterError("sources= labels the rows of one matrix; X already is a dict of named sources.")
            return self._sharing_one_axis(ViewSet.of(X, shared=self._sharing()))
        self._check_features(X, reset=True)
        if sources is None:
            return ViewSet([View.of(ONE_SOURCE, X)])
        if self._sharing() == "items":
            raise ParameterError("sources= labels rows, so the features are shared; pass a dict for shared='items'.")
        return ViewSet.stacked(X, sources)

    def _sharing_one_axis(self, views: ViewSet) -> ViewSet:
        """Views that share what the model says, or an error: a ready-made ViewSet may share anything."""
        side = self._sharing()
        axes = {id(view.features if side == "features" else view.items) for view in views.values()}
        if len(axes) > 1:
            raise ModelError(
                f"{type(self).__name__} expects views that share their {side}; these have {len(axes)} different axes of "
                f"{side}. Set shared='{'items' if side == 'features' else 'features'}' if they share those, or build a "
                "vennmf.model.Model for views that share some of both."
            )
        return views

    def _sharing(self) -> Literal["features", "items"]:
        return "features"

    def _blocks(self, names: tuple[str, ...]) -> tuple[Block, ...]:
        """The sharing pattern that the parameters ask for."""
        raise ParameterError(f"{type(self).__name__} does not say what its blocks are.")

    def _penalties(self) -> tuple[Penalty, ...]:
        return ()

    def _check_sizes(self, model: Model, views: ViewSet) -> None:
        for loss in model.losses:
            view = views[loss.view]
            width = sum(block.size for block in model.blocks if block.name in loss.blocks)
            if width > max(view.shape):
                raise ModelError(
                    f"source {view.name!r} is asked for {width} components and has n_samples = {view.shape[0]}, "
                    f"n_features = {view.shape[1]}; more components than items and features cannot be told apart. "
                    "Lower n_components."
                )

    def _keep(self, problem: Problem, factors: dict[str, Any]) -> None:
        """Turn tall factors into the attributes that users see."""
        model, views = problem.model, problem.views
        first = views[self.sources_[0]]
        self.metadata_ = dict(views.metadata)
        self.encoders_ = dict(views.encoders)
        self.item_ids_ = {name: view.items.ids for name, view in views.items()}
        if self._sharing() == "features":
            B = factors[first.features.name]
            slices = model.layouts[first.features.name].slices()
            self.components_ = {name: np.ascontiguousarray(B[:, s].T) for name, s in slices.items()}
            self.encodings_ = {name: factors[view.items.name] for name, view in views.items()}
            self.feature_names_: Any = first.features.names()
            self.n_features_in_ = first.features.size
        else:
            H = factors[first.items.name]
            slices = model.layouts[first.items.name].slices()
            self.components_ = {name: np.ascontiguousarray(factors[v.features.name].T) for name, v in views.items()}
            self.encodings_ = {name: np.ascontiguousarray(H[:, s]) for name, s in slices.items()}
            self.feature_names_ = {name: view.features.names() for name, view in views.items()}
        self._n_features_out = sum(block.size for block in model.blocks)
        self.sharing_ = energy_shares(problem, factors)

    # ---------------------------------------------------------------- encode

    def transform(self, X: Any, *, source: str | None = None, sources: Any = None) -> Any:
        """Encode items by nonnegative least squares on their source's own blocks, to convergence.

        One matrix with ``source`` gives (n_items, n_components of the source); a dict gives a dict; a matrix with
        ``sources`` gives all blocks side by side, zero where a source has no part. With ``shared="items"``, a dict with any
        subset of the views gives all blocks side by side, zero where no given view tells. Raw texts or tag lists are encoded
        with the vocabulary of the fit where there is one.
        """
        check_is_fitted(self)
        if self._sharing() == "items":
            return self._transform_items(X)
        if is_named(X):
            return {name: self._transform_one(part, self._known(name)) for name, part in X.items()}
        if sources is not None:
            labels = np.asarray(sources)
            names = list(dict.fromkeys(labels.tolist()))
            parts = {str(name): self._transform_one(X[labels == name], self._known(str(name))) for name in names}
            return self._stacked(parts, labels)
        if source is None:
            if len(self.sources_) > 1:
                raise ParameterError(
                    f"transform needs source= (or sources= for each row), one of {', '.join(map(repr, self.sources_))}."
                )
            source = self.sources_[0]
        return self._transform_one(X, self._known(source))

    def _known(self, name: str) -> str:
        if name not in self.sources_:
            raise SourceError(
                f"there is no source {name!r} in this model; its sources are {', '.join(map(repr, self.sources_))}."
            )
        return name

    def _transform_one(self, X: Any, source: str) -> Any:
        X = self._encoded(X, source)
        self._check_features(X, reset=False)
        view = View.of(source, X)
        axis = Axis("features", self.n_features_in_)
        views = ViewSet([View(source, self._typed(view.X), view.items, axis)])
        blocks = tuple(block for block in self.blocks_ if source in block.sources)
        basis = np.hstack([self.components_[block.name].T for block in blocks])
        return self._encode(views, blocks, {"features": basis}, view.items.name)

    def _transform_items(self, X: Any) -> Any:
        if not is_named(X):
            if len(self.sources_) > 1:
                raise ParameterError(
                    f"transform needs a dict with one or more of the views {', '.join(self.sources_)}."
                )
            X = {self.sources_[0]: X}
        for name in X:
            self._known(name)
        given = ViewSet.of(dict(X), shared="items")
        views = ViewSet([View(v.name, self._typed(v.X), v.items, v.features) for v in given.values()])
        for view in views.values():
            expected = self.components_[view.name].shape[1]
            if view.features.size != expected:
                raise SourceError(f"view {view.name!r} has {view.features.size} features, but {expected} were fitted.")
        blocks = tuple(block for block in self.blocks_ if set(block.sources) & set(views.names))
        basis = {view.features.name: self.components_[view.name].T for view in views.values()}
        found = self._encode(views, blocks, basis, "items")
        out = np.zeros((len(found), self._n_features_out), found.dtype)
        edges = np.cumsum([0, *(block.size for block in self.blocks_)])
        used = [np.arange(edges[n], edges[n + 1]) for n, block in enumerate(self.blocks_) if block in blocks]
        out[:, np.concatenate(used)] = found
        return out

    def _encode(self, views: ViewSet, blocks: tuple[Block, ...], basis: dict[str, Any], axis: str) -> Any:
        """Fold items in; the model is the fitted one restricted to the given views and their blocks."""
        penalties = [p for p in self.model_.penalties if getattr(p, "on", None) == "encodings"]
        names = {block.name for block in blocks}
        penalties = [
            p for p in penalties if getattr(p, "blocks", None) is None or set(getattr(p, "blocks", ())) <= names
        ]
        model = Model.of(views, blocks, penalties, {name: self.weights_[name] for name in views})
        factors = {name: np.ascontiguousarray(B, dtype=views.dtype) for name, B in basis.items()}
        return encode(Problem(model, views, allow_empty=True), factors, axis)

    def _typed(self, X: Any) -> Any:
        return X.astype(next(iter(self.components_.values())).dtype, copy=False)

    def _encoded(self, X: Any, source: str) -> Any:
        """Raw items through the encoder of their source; matrices as they are."""
        encoder = self.encoders_.get(source)
        if encoder is None or sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub"):
            return X
        return encoder.encode(X)

    def _stacked(self, parts: Mapping[str, Any], labels: Any) -> Any:
        """Rows of several sources in the order of their labels, all blocks side by side."""
        dtype = next(iter(parts.values())).dtype
        out = np.zeros((len(labels), self._n_features_out), dtype)
        edges = np.cumsum([0, *(block.size for block in self.blocks_)])
        for name, part in parts.items():
            columns = np.concatenate(
                [np.arange(edges[n], edges[n + 1]) for n, block in enumerate(self.blocks_) if name in block.sources]
            )
            out[np.ix_(np.flatnonzero(labels.astype(str) == name), columns)] = part
        return out

    def inverse_transform(self, H: Any, *, source: str | None = None) -> Any:
        """Items from their encodings: H times the source's components. A dict gives a dict."""
        check_is_fitted(self)
        if self._sharing() == "items":
            return {name: self._items_columns(np.asarray(H), name) @ self.components_[name] for name in self.sources_}
        if is_named(H):
            return {name: self.inverse_transform(part, source=name) for name, part in H.items()}
        if source is None and len(self.sources_) > 1:
            raise ParameterError(f"inverse_transform needs source=, one of {', '.join(map(repr, self.sources_))}.")
        name = self._known(source or self.sources_[0])
        basis = np.vstack([self.components_[block.name] for block in self.blocks_ if name in block.sources])
        H = np.asarray(H)
        if H.ndim != 2 or H.shape[1] != len(basis):
            raise ParameterError(f"encodings of {name!r} have {len(basis)} columns; found shape {H.shape}.")
        return H @ basis

    def _items_columns(self, H: Any, view: str) -> Any:
        edges = np.cumsum([0, *(block.size for block in self.blocks_)])
        return H[
            :,
            np.concatenate(
                [
                    np.arange(a, b)
                    for a, b, block in zip(edges, edges[1:], self.blocks_, strict=False)
                    if view in block.sources
                ]
            ),
        ]

    def score(self, X: Any, y: Any = None, *, sources: Any = None) -> float:
        """Share of the energy that the model explains: 1 − ‖X − H Bᵀ‖² / ‖X‖², averaged over the sources."""
        check_is_fitted(self)
        if self._sharing() == "items":
            views = ViewSet.of(X if is_named(X) else {self.sources_[0]: X}, shared="items")
            H = self._transform_items({name: view.X for name, view in views.items()})
            parts = {
                name: (view.X, self._items_columns(H, name), self.components_[name]) for name, view in views.items()
            }
        else:
            if is_named(X):
                views = ViewSet.of(X)
            else:
                views = ViewSet([View.of(self.sources_[0], X)]) if sources is None else ViewSet.stacked(X, sources)
            parts = {}
            for name, view in views.items():
                basis = np.vstack([self.components_[b.name] for b in self.blocks_ if self._known(name) in b.sources])
                parts[name] = (view.X, self._transform_one(view.X, name), basis)
        from vennmf.solvers.products import squared_residual

        shares = [
            1 - squared_residual(M, H.astype(M.dtype), B.T.astype(M.dtype)) / views[n].squared_norm()
            for n, (M, H, B) in parts.items()
        ]
        return float(np.mean(shares))

    # ---------------------------------------------------------------- report

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """One name for each column of a stacked encoding: block and number."""
        check_is_fitted(self)
        return np.array([f"{block.name}{j}" for block in self.blocks_ for j in range(block.size)], dtype=object)

    def shared_report(self) -> pd.DataFrame:
        """What each block explains of each source, how far blocks overlap, how far the sources differ.

        Columns ``measure``, ``first``, ``second``, ``value``. Measures: ``explained`` (share of a source's energy that the
        whole model explains), ``energy`` (a block's own part of it, ‖H_b B_bᵀ‖²/‖X‖², which would be lost if it were left out), ``max cosine`` and ``mean cosine`` between the components of two blocks (the
        leakage), ``Jensen-Shannon`` divergence between two sources' distributions over the features, in bits.
        """
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self.sharing_, columns=["measure", "first", "second", "value"])


@dataclass(eq=False, repr=False)
class VennNMF(JointModel):
    r"""Nonnegative factors of several sources, in blocks that belong to any sets of sources.

    .. math:: \min_{H, B \ge 0} \sum_v \tfrac{w_v}{2} \Bigl\lVert X_v - \sum_{b \ni v} H_{v,b} B_b^\top \Bigr\rVert_F^2
        + \text{penalties}, \qquad \lVert B_{:,j} \rVert = 1

    Parameters
    ----------
    blocks : dict, default=None
        Number of components of each block. A key is ``"all"``, a source's name or a tuple of names:
        ``{"all": 20, ("bbc", "cnn"): 10, "bbc": 8}``. None: two components that all sources share.
    penalties : sequence of penalties, default=()
        Such as ``vennmf.MutuallyOrthogonal(100)`` or ``vennmf.L1(0.1, on="encodings")``.
    weights : dict of str to float, default=None
        Weight w_v of each source; 1 / ‖X_v‖² for those not named.
    shared : {"features", "items"}, default="features"
        What the matrices have in common: their columns (the words of several collections) or their rows (several
        descriptions of the same items).
    solver : {"cd", "mu"}, default="cd"
        Coordinate descent with warm start and extrapolation, or the multiplicative rules as the papers print them.
    init : {"random", "means", "nndsvd"} or dict, default="random"
        Starting factors; a dict gives one tall array for each axis.
    n_init : int, default=1
        Number of different starts, of which the best is kept.
    max_iter, tol, min_change, time_limit
        Stop after so many iterations; when the norm of the projected gradient falls under ``tol`` times the first; when five
        steps in a row lower the objective by less than ``min_change`` of itself each; after so many seconds.
    random_state : int, RandomState or None
        Seed of everything random; the same seed gives the same bits at any number of threads.
    n_threads : int, default=None
        Threads of the kernels; None for all available cores.

    Attributes
    ----------
    components_ : dict of str to ndarray (size, n_features)
        The basis by block, rows of unit norm. With ``shared="items"``: by view, all components of that view.
    encodings_ : dict of str to ndarray (n_items, n_components of the source)
        The items of each source, columns of wider shared blocks first. With ``shared="items"``: by block.
    blocks_, sources_, weights_, model_
        What was minimised; ``print(model_)`` states it, ``model_.latex()`` typesets it.
    history_ : dict of equally long arrays
        iteration, seconds, objective, fit, each penalty, violation.
    n_iter_, stop_reason_, objective_, violation_, dead_components_
        How the fit went. ``stop_reason_`` is one of converged, small_change, max_iter, time_limit, callback, interrupted,
        no_decrease.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "blocks": [dict, None],
        "penalties": ["array-like"],
        "weights": [dict, None],
        "shared": [StrOptions({"features", "items"})],
    }

    blocks: Mapping[str | tuple[str, ...], int] | None = None
    penalties: Sequence[Penalty] = field(default=(), kw_only=True)
    shared: str = field(default="features", kw_only=True)

    def _sharing(self) -> Literal["features", "items"]:
        return "items" if self.shared == "items" else "features"

    def _blocks(self, names: tuple[str, ...]) -> tuple[Block, ...]:
        return sharing_pattern({"all": 2} if self.blocks is None else self.blocks, names)

    def _penalties(self) -> tuple[Penalty, ...]:
        return tuple(self.penalties)


@dataclass(eq=False, repr=False)
class NMF(JointModel):
    r"""Plain nonnegative matrix factorisation, of one matrix or of several sources that share everything.

    .. math:: \min_{H, B \ge 0} \tfrac12 \sum_v w_v \lVert X_v - H_v B^\top \rVert_F^2
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "penalties": ["array-like"],
        "weights": [dict, None],
    }

    n_components: int = 2
    penalties: Sequence[Penalty] = field(default=(), kw_only=True)

    def _blocks(self, names: tuple[str, ...]) -> tuple[Block, ...]:
        return sharing_pattern({"all" if "shared" in names else "shared": self.n_components}, names)

    def _penalties(self) -> tuple[Penalty, ...]:
        return tuple(self.penalties)


@dataclass(eq=False, repr=False)
class JSNMF(JointModel):
    r"""Joint shared NMF (Gupta et al., KDD 2010): a subspace that all sources share and one of each source alone.

    .. math:: \min_{H, B \ge 0} \tfrac12 \sum_v w_v \lVert X_v - H_v [W \,|\, U_v]^\top \rVert_F^2, \qquad
        w_v = 1 / \lVert X_v \rVert_F^2

    The value is half of that printed in the paper. ``n_components`` is R, the components of each source in all, or a dict of
    them by source; ``n_shared`` is K, how many of these all sources share, None for half of the smallest. All other
    parameters and the attributes are those of :class:`VennNMF`; the shared block is called ``"shared"`` and a private
    one by its source.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FactorModel._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), dict],
        "n_shared": [Interval(Integral, 0, None, closed="left"), None],
        "weights": [dict, None],
    }

    n_components: int | Mapping[str, int] = 2
    n_shared: int | None = None

    def _blocks(self, names: tuple[str, ...]) -> tuple[Block, ...]:
        sizes = self.n_components.values() if isinstance(self.n_components, Mapping) else [self.n_components]
        n_shared = min(sizes) // 2 if self.n_shared is None else self.n_shared
        return shared_and_private(names, self.n_components, n_shared)


@dataclass(eq=False, repr=False)
class RJSNMF(JSNMF):
    r"""Regularised joint shared NMF (Gupta et al., DMKD 2011): JSNMF with mutually orthogonal subspaces.

    .. math:: \min_{H, B \ge 0} \tfrac12 \sum_v w_v \lVert X_v - H_v [W \,|\, U_v]^\top \rVert_F^2
        + \tfrac12 \sum_{s<t} \tfrac{a}{K_s K_t} \lVert B_s^\top B_t \rVert_F^2

    over the shared and the private bases B_s, columns of unit norm. ``orthogonality`` is a, 100 as in the paper; 0 is JSNMF.
    Where the true parts of different blocks overlap, a large a bends them: see the page on orthogonality.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **JSNMF._parameter_constraints,
        "orthogonality": [Interval(Real, 0, None, closed="left")],
    }

    orthogonality: float = field(default=100.0, kw_only=True)

    def _penalties(self) -> tuple[Penalty, ...]:
        return (MutuallyOrthogonal(self.orthogonality),) if self.orthogonality else ()
