"""What all factor models have in common as scikit-learn estimators."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from vennmf.errors import ConvergenceWarning, ParameterError
from vennmf.matrices.axis import names_or_positions
from vennmf.solvers import Options, Problem, Solution, Step, minimise

ONE_SOURCE = "data"
"""The name of the only source where a plain matrix is given."""

CALLER = 6
"""How many calls lie between a warning and the line that called ``fit``: _warn, _minimise, _fit, fit, scikit-learn's wrapper."""

ADVICE = {
    "max_iter": "raise max_iter, or tol if this is near enough",
    "time_limit": "raise time_limit, or tol if this is near enough",
    "interrupted": "the best factors met are kept",
}


@dataclass(eq=False, repr=False)
class FactorModel(CallbackSupportMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Parameters, validation, history and warnings that every factor model shares.

    A subclass builds a :class:`~vennmf.model.Model` and views in ``fit`` and hands them to :meth:`_minimise`.
    """

    solver: str = field(default="cd", kw_only=True)
    init: str | Mapping[str, Any] = field(default="random", kw_only=True)
    n_init: int = field(default=1, kw_only=True)
    max_iter: int = field(default=200, kw_only=True)
    tol: float = field(default=1e-4, kw_only=True)
    min_change: float = field(default=1e-6, kw_only=True)
    time_limit: float | None = field(default=None, kw_only=True)
    random_state: Any = field(default=None, kw_only=True)
    n_threads: int | None = field(default=None, kw_only=True)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"cd", "mu"})],
        "init": [StrOptions({"random", "means", "nndsvd"}), dict],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "min_change": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
    }

    def _options(self) -> Options:
        return Options(
            max_iter=self.max_iter,
            tol=self.tol,
            min_change=self.min_change,
            time_limit=np.inf if self.time_limit is None else self.time_limit,
        )

    def _minimise(self, problem: Problem) -> Solution:
        """Run the solver under the callbacks, set the attributes that tell how it went, warn where it fell short."""
        context = self._init_callback_context(max_subtasks=self.n_init * self.max_iter)
        context.call_on_fit_task_begin(estimator=self)
        random = check_random_state(self.random_state)
        solution = minimise(
            problem,
            solver=self.solver,
            init=self._initial_factors(problem),
            n_init=self.n_init,
            options=self._options(),
            rng=np.random.default_rng(random.randint(np.iinfo(np.int32).max)),
            on_step=self._reporter(context),
        )
        context.call_on_fit_task_end(estimator=self)
        self.model_ = problem.model
        self.blocks_ = problem.model.blocks
        self.weights_ = dict(problem.weights)
        self.history_ = solution.history()
        self.n_iter_ = solution.n_iter
        self.stop_reason_ = solution.stop_reason
        self.objective_ = solution.objective
        self.violation_ = solution.steps[-1].violation
        self.dead_components_ = solution.dead
        self._warn(solution)
        return solution

    def _initial_factors(self, problem: Problem) -> str | Mapping[str, Any]:
        return self.init

    def _reporter(self, context: Any) -> Callable[[Step], bool] | None:
        """Tell the callbacks of each step; True when one of them asks to stop."""
        if not getattr(self, "_skl_callbacks", []):
            return None

        def report(step: Step) -> bool:
            iteration = context.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self)
            return bool(iteration.call_on_fit_task_end(estimator=self, metadata={"step": step}))

        return report

    def _warn(self, solution: Solution) -> None:
        last = solution.steps[-1]
        if solution.stop_reason in ADVICE:
            warnings.warn(
                f"{type(self).__name__} stopped by {solution.stop_reason} after {solution.n_iter} iterations: violation "
                f"{last.violation:.2e} of {solution.first_violation:.2e} at first, tol={self.tol:g}, objective {last.objective:.6g}; "
                f"{ADVICE[solution.stop_reason]}.",
                ConvergenceWarning,
                stacklevel=CALLER,
            )
        if solution.dead:
            found = ", ".join(f"{len(numbers)} of block {name!r}" for name, numbers in solution.dead.items())
            warnings.warn(
                f"{type(self).__name__} left components unused that could not be revived: {found}. The data or the "
                "penalties support fewer; lower n_components or the penalties, or try another random_state.",
                ConvergenceWarning,
                stacklevel=CALLER,
            )

    # ---------------------------------------------------------------- scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Remember or compare number and names of the features of a plain matrix, as scikit-learn does."""
        if not (sp.issparse(X) or hasattr(X, "shape")):
            X = np.asarray(X)
        if getattr(X, "ndim", 0) != 2:
            return
        _check_feature_names(self, X, reset=reset)
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise ParameterError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                "input; encode new items with the vocabulary of the fit."
            )

    @property
    def feature_names_(self) -> Any:
        """The names of the features, positions as text where they have none; by view where each has its own."""
        check_is_fitted(self)
        ids, components = self.feature_ids_, self.components_
        if isinstance(ids, dict):
            return {name: names_or_positions(ids[name], components[name].shape[1]) for name in ids}
        first = next(iter(components.values())) if isinstance(components, dict) else components
        return names_or_positions(ids, int(np.prod(first.shape[1:])))

    # ---------------------------------------------------------------- storage

    def save(self, path: Any) -> None:
        """Write the fitted model to one file, atomically; read it back with :func:`vennmf.load`."""
        from vennmf.estimators.storage import save

        check_is_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model that :meth:`save` wrote, of this very class."""
        from vennmf.errors import StorageError
        from vennmf.estimators.storage import load

        model = load(path)
        if not isinstance(model, cls):
            raise StorageError(f"{path} holds a {type(model).__name__}, not a {cls.__name__}; use vennmf.load(path).")
        return model
