"""What the joint factorisations have in common: fit, transform, inverse_transform, score, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.callback import with_callbacks
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils._set_output import ADAPTERS_MANAGER, _get_output_config
from sklearn.utils.validation import check_is_fitted

from vennmf.errors import ModelError, ParameterError, SourceError
from vennmf.estimators.base import ONE_SOURCE, FactorModel
from vennmf.estimators.sharing import energy_shares
from vennmf.matrices import Axis, View, ViewSet, is_named
from vennmf.matrices.viewset import source_labels
from vennmf.model import Block, Model, Penalty
from vennmf.solvers import Forecast, Problem, encode, forecast, kernels
from vennmf.solvers.products import squared_residual

if TYPE_CHECKING:
    import pandas as pd

Blocks = tuple[Block, ...]


@dataclass(eq=False, repr=False)
class JointModel(FactorModel, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """What NMF, JSNMF, RJSNMF and VennNMF share.

    A subclass says which blocks its parameters ask for, and which penalties. Encodings are put into the tables that
    ``set_output`` asks for here and not by scikit-learn, which knows of one matrix with one set of columns only.
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
        self._fit(X, sources)
        if self._sharing() == "items":
            H = np.hstack([self.encodings_[block.name] for block in self.blocks_])
            return self._table(H, X, self.blocks_)
        if is_named(X):
            given = zip(self.sources_, X.values(), strict=True)
            return {name: self._table(self.encodings_[name], part, self._of(name)) for name, part in given}
        if sources is None:
            return self._table(self.encodings_[ONE_SOURCE], X, self.blocks_)
        return self._table(self._stacked(self.encodings_, source_labels(sources)), X, self.blocks_)

    def check(self, sources: Sequence[str]) -> None:
        """Refuse parameters that no fit of sources with these names could use, before their data are read."""
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise ParameterError(str(error)) from None
        self._blocks(tuple(sources))

    def _fit(self, X: Any, sources: Any) -> None:
        self._validate_params()
        with kernels.threads(self.n_threads):
            views = self._views_of(X, sources)
            self.sources_ = views.names
            problem = self._problem(views)
            self._keep(problem, self._minimise(problem).factors)

    def _problem(self, views: ViewSet) -> Problem:
        model = Model.of(views, self._blocks(views.names), self._penalties(), dict(self.weights or {}))
        self._check_sizes(model, views)
        return Problem(model, views)

    def forecast(self, X: Any, *, sources: Any = None) -> Forecast:
        """Bytes that ``fit`` will hold: of the data, of the factors, and of everything at its peak. Nothing is fitted."""
        self._validate_params()
        return forecast(self._problem(self._views_of(X, sources)), self.n_init)

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

    def _blocks(self, names: tuple[str, ...]) -> Blocks:
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
            self.feature_ids_: Any = first.features.ids
            self.n_features_in_ = first.features.size
        else:
            H = factors[first.items.name]
            slices = model.layouts[first.items.name].slices()
            self.components_ = {name: np.ascontiguousarray(factors[v.features.name].T) for name, v in views.items()}
            self.encodings_ = {name: np.ascontiguousarray(H[:, s]) for name, s in slices.items()}
            self.feature_ids_ = {name: view.features.ids for name, view in views.items()}
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
        if is_named(X) and not (source is None and sources is None):
            raise ParameterError("source= and sources= tell of one matrix; X already is a dict of named sources.")
        with kernels.threads(self.n_threads):
            if self._sharing() == "items":
                return self._table(self._encode_views(X), X, self.blocks_)
            if is_named(X):
                return {
                    name: self._table(self._encode_one(part, name), part, self._of(name)) for name, part in X.items()
                }
            if sources is not None:
                labels = source_labels(sources, _n_rows(X))
                X = X.tocsr() if sp.issparse(X) else X
                parts = {
                    name: self._encode_one(_safe_indexing(X, np.flatnonzero(labels == name)), name)
                    for name in dict.fromkeys(labels.tolist())
                }
                return self._table(self._stacked(parts, labels), X, self.blocks_)
            name = self._only(source, "transform")
            return self._table(self._encode_one(X, name), X, self._of(name))

    def _only(self, source: Any, asked: str) -> str:
        """The source that is meant where one was named, or where there is but one."""
        if source is None and len(self.sources_) > 1:
            raise ParameterError(
                f"{asked} needs source= (or a dict by source), one of {', '.join(map(repr, self.sources_))}."
            )
        return self._known(self.sources_[0] if source is None else source)

    def _known(self, name: Any) -> str:
        if str(name) not in self.sources_:
            raise SourceError(
                f"there is no source {name!r} in this model; its sources are {', '.join(map(repr, self.sources_))}."
            )
        return str(name)

    def _of(self, source: Any) -> Blocks:
        """The blocks that a source has components of, in the order of its encodings' columns."""
        name = self._known(source)
        return tuple(block for block in self.blocks_ if name in block.sources)

    def _encode_one(self, X: Any, source: Any) -> Any:
        blocks = self._of(source)
        source = self._known(source)
        view = self._with_features_of_fit(source, self._encoded(X, source))
        views = ViewSet([View(source, self._typed(view.X), view.items, Axis("features", self.n_features_in_))])
        basis = np.hstack([self.components_[block.name].T for block in blocks])
        return self._encode(views, blocks, {"features": basis}, view.items.name)

    def _with_features_of_fit(self, source: str, X: Any) -> View:
        """Items as a view whose features are those of the fit: in number and, where both have names, by name."""
        if self.sources_ == (ONE_SOURCE,) or (hasattr(self, "feature_names_in_") and not isinstance(X, View)):
            self._check_features(X, reset=False)
        view = X if isinstance(X, View) else View.of(source, X)
        if view.shape[1] != self.n_features_in_:
            raise SourceError(
                f"source {source!r} has {view.shape[1]:,} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_:,} features as input; encode new items with the vocabulary of the fit."
            )
        _check_names(source, view.features.ids, self.feature_ids_)
        return view

    def _encode_views(self, X: Any) -> Any:
        """Items from any subset of their views, all blocks side by side."""
        if not is_named(X):
            X = {self._only(None, "transform"): X}
        known = {self._known(name): part for name, part in X.items()}
        given = X if isinstance(X, ViewSet) else ViewSet.of(known, shared="items")
        views = ViewSet([View(v.name, self._typed(v.X), v.items, v.features) for v in given.values()])
        for view in views.values():
            expected = self.components_[view.name].shape[1]
            if view.features.size != expected:
                raise SourceError(f"view {view.name!r} has {view.features.size} features, but {expected} were fitted.")
            _check_names(view.name, view.features.ids, self.feature_ids_[view.name])
        blocks = tuple(block for block in self.blocks_ if set(block.sources) & set(views.names))
        basis = {view.features.name: self.components_[view.name].T for view in views.values()}
        found = self._encode(views, blocks, basis, next(iter(views.values())).items.name)
        out = np.zeros((len(found), self._n_features_out), found.dtype)
        out[:, self._columns([block.name for block in blocks])] = found
        return out

    def _encode(self, views: ViewSet, blocks: Blocks, basis: dict[str, Any], axis: str) -> Any:
        """Fold items in: the fitted model restricted to the given views and their blocks, with the items' penalties."""
        model = Model.of(views, blocks, (), {name: self.weights_[name] for name in views})
        fitted = next(loss.left for loss in self.model_.losses if loss.view in views)
        factors = {name: np.ascontiguousarray(B, dtype=views.dtype) for name, B in basis.items()}
        return encode(Problem(model, views, allow_empty=True), factors, axis, self.model_.penalties_on(fitted))

    def _typed(self, X: Any) -> Any:
        with np.errstate(over="ignore"):  # what is too large for the type is refused with its size
            return X.astype(next(iter(self.components_.values())).dtype, copy=False)

    def _encoded(self, X: Any, source: str) -> Any:
        """Raw items through the encoder of their source; matrices as they are."""
        encoder = self.encoders_.get(source)
        if (
            encoder is None
            or sp.issparse(X)
            or isinstance(X, View)
            or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")
        ):
            return X
        return encoder.encode(X)

    def _stacked(self, parts: Mapping[str, Any], labels: Any) -> Any:
        """Rows of several sources in the order of their labels, all blocks side by side."""
        dtype = next(iter(parts.values())).dtype
        out = np.zeros((len(labels), self._n_features_out), dtype)
        for name, part in parts.items():
            columns = self._columns([block.name for block in self._of(name)])
            out[np.ix_(np.flatnonzero(labels == name), columns)] = part
        return out

    def _columns(self, blocks: Sequence[str]) -> Any:
        """Where the components of some blocks stand when all blocks are side by side."""
        edges = np.cumsum([0, *(block.size for block in self.blocks_)])
        spans = [np.arange(edges[n], edges[n + 1]) for n, b in enumerate(self.blocks_) if b.name in blocks]
        return np.concatenate(spans)

    # ---------------------------------------------------------------- decode

    def inverse_transform(self, H: Any, *, source: str | None = None) -> Any:
        """Items from their encodings: H times the source's components. A dict gives a dict."""
        check_is_fitted(self)
        if self._sharing() == "items":
            H = self._of_width(H, self._n_features_out, "all views")
            return {name: self._seen_by(name, H) @ self.components_[name] for name in self.sources_}
        if is_named(H):
            return {name: self.inverse_transform(part, source=name) for name, part in H.items()}
        name = self._only(source, "inverse_transform")
        basis = self._basis(name)
        return self._of_width(H, len(basis), repr(name)) @ basis

    def _of_width(self, H: Any, width: int, whose: str) -> Any:
        H = np.asarray(H)
        if H.ndim != 2 or H.shape[1] != width:
            raise ParameterError(f"encodings of {whose} have {width} columns; found shape {H.shape}.")
        return H

    def _basis(self, source: str) -> Any:
        """All components of one source, in the order of its encodings' columns."""
        return np.vstack([self.components_[block.name] for block in self._of(source)])

    def _seen_by(self, view: str, H: Any) -> Any:
        """The columns of encodings of all blocks that a view uses."""
        return H[:, self._columns([block.name for block in self._of(view)])]

    def score(self, X: Any, y: Any = None, *, sources: Any = None) -> float:
        """Share of the energy that the model explains: 1 − ‖X − H Bᵀ‖² / ‖X‖², averaged over the sources."""
        check_is_fitted(self)
        with kernels.threads(self.n_threads):
            if self._sharing() == "items":
                views = ViewSet.of(X if is_named(X) else {self.sources_[0]: X}, shared="items")
                H = self._encode_views(X)
                parts = {name: (self._seen_by(name, H), self.components_[name]) for name in views}
            else:
                views = self._views_to_score(X, sources)
                parts = {name: (self._encode_one(view.X, name), self._basis(name)) for name, view in views.items()}
            shares = [
                1 - squared_residual(M, H.astype(M.dtype), B.T.astype(M.dtype)) / views[name].squared_norm()
                for name, (H, B) in parts.items()
                for M in (views[name].X,)
            ]
        return float(np.mean(shares))

    def _views_to_score(self, X: Any, sources: Any) -> ViewSet:
        if is_named(X):
            views = ViewSet.of(X)
        elif sources is not None:
            views = ViewSet.stacked(X, sources)
        else:
            views = ViewSet([View.of(self._only(None, "score"), X)])
        for view in views.values():
            _check_names(self._known(view.name), view.features.ids, self.feature_ids_)
        return views

    # ---------------------------------------------------------------- report

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """One name for each column of a stacked encoding: block and number."""
        check_is_fitted(self)
        return _column_names(self.blocks_)

    def _table(self, H: Any, X: Any, blocks: Blocks) -> Any:
        """Encodings as ``set_output`` asks for them, with the names of the blocks' components."""
        library = _get_output_config("transform", self)["dense"]
        if library == "default":
            return H
        return ADAPTERS_MANAGER.adapters[library].create_container(H, X, columns=_column_names(blocks))

    def shared_report(self) -> pd.DataFrame:
        """What each block explains of each source, how far blocks overlap, how far the sources differ.

        Columns ``measure``, ``first``, ``second``, ``value``. Measures: ``explained`` (share of a source's energy that the
        whole model explains), ``energy`` (a block's own part of it, ‖H_b B_bᵀ‖²/‖X‖², which would be lost if it were left out), ``max cosine`` and ``mean cosine`` between the components of two blocks (the
        leakage), ``Jensen-Shannon`` divergence between two sources' distributions over the features, in bits.
        """
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self.sharing_, columns=["measure", "first", "second", "value"])


def _column_names(blocks: Blocks) -> Any:
    return np.array([f"{block.name}{j}" for block in blocks for j in range(block.size)], dtype=object)


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _check_names(source: str, found: Any, fitted: Any) -> None:
    """Refuse columns in another order than those of the fit, where both have names."""
    if found is None or fitted is None or np.array_equal(found, fitted):
        return
    if len(found) != len(fitted):
        raise SourceError(f"source {source!r} has {len(found):,} features and the fit has {len(fitted):,}.")
    at = int(np.argmax(found != fitted))
    raise SourceError(
        f"column {at:,} of source {source!r} is {str(found[at])!r} and that of the fit is {str(fitted[at])!r}; give the columns of "
        "the fit in their order, such as X[list(model.feature_names_)]."
    )
