"""PJMF: images and tags in one space, for better tags, tags of new images, and images for a tag."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from vennmf.errors import ConvergenceWarning, ParameterError, SourceError
from vennmf.estimators.base import FactorModel
from vennmf.estimators.feature_scaling import apply_scaling, learn_scaling, named_views, row_names
from vennmf.estimators.tag_answers import UnifiedSpaceAnswers
from vennmf.estimators.tag_lists import tag_matrix
from vennmf.matrices import is_named
from vennmf.model.affinity import given_graph, image_graph, mean_distance, normalised_laplacian, tag_graph
from vennmf.model.unified_space import Features, UnifiedSpace
from vennmf.solvers import Options
from vennmf.solvers.manifold import CentredStiefel, ManifoldSolution, Point, descend
from vennmf.solvers.unified_space import (
    Batches,
    PaperRule,
    descend_by_paper,
    descend_in_batches,
    random_directions,
    tag_directions,
    tag_means,
)

Array = NDArray[Any]

MANY_PAIRS = 200_000_000
"""From this many pairs of image and tag on, ``batch_size="auto"`` begins with batches of images."""


class PJMF(UnifiedSpaceAnswers, ClassNamePrefixFeaturesOutMixin, FactorModel):  # type: ignore[misc]
    r"""Projective matrix factorisation with unified embedding: images and tags as points of one space (JVCIR 2014).

    An image is an orthonormal projection of its scaled features, a tag a free point, and a tag fits an image as a Gaussian
    of their distance:

    .. math::
        \min_{A, U}\; \tfrac12 \sum_{ij} (Y_{ij} - \hat Y_{ij})^2 + \tfrac\gamma2 \sum_{ij} \lVert v_i - u_j \rVert^2
        + \tfrac\alpha2 \operatorname{tr} V^\top L_S V + \tfrac\beta2 \operatorname{tr} U^\top L_C U,
        \quad V = X A,\; \hat Y_{ij} = e^{-\lVert v_i - u_j \rVert^2 / 2\sigma^2}

    subject to :math:`A^\top A = I` and :math:`\sum_j u_j + \sum_i v_i = 0`. The problem is convex in neither A nor U.

    Parameters
    ----------
    n_components : int, default=300
        Dimension p of the unified space, at most the number of features.
    alpha, beta, gamma : float
        Weights of the image graph, of the tag graph, and of the distance between all images and tags.
    sigma : float or "auto", default="auto"
        Decay rate, in units of the scaled features, whose root mean square norm is 1. "auto" is 0.3 of the root mean square norm
        of the images where the descent starts, 0.5 of it for whitened features: a start for a search, not its end.
        ``PJMF.SIGMAS`` is the grid of the paper.
    n_neighbors : int, default=50
        Neighbours of an image in the image graph, at most all others.
    scaling : "auto", "whiten", "standard", "center" or None, default="auto"
        How features are scaled before all else: every direction the same variance but for a shrinkage; every feature the same;
        centred alone; not at all. "auto" whitens dense features, up to 4,096 of them, where images are at least as many,
        and is "standard" otherwise.
    unit_length : bool, default=True
        Whether every scaled image is brought to norm 1, so that no image is near to all tags for being small.
    view_weights : dict of str to float, default=None
        Weight of each feature view, where features are given as a dict by name; 1 where none is given.
    solver : "manifold" or "paper", default="manifold"
        Quasi-Newton steps that keep both constraints exactly; or the paper's gradient descent with a fixed ``step`` and
        penalties ``orthogonality`` (λ) and ``centring`` (ξ), to compare with.
    init : "tags" or "random", default="tags"
        Start from the directions that tell tags apart, or from a random projection.
    batch_size : int, "auto" or None, default="auto"
        Begin with batches of so many images; "auto" does so, with 1,024, from 200 million pairs of image and tag on.
    top : int, default=5
        Tags of an image in :meth:`predict`.
    max_iter, tol, min_change, time_limit
        Stop after so many steps; when the norm of the gradient falls under ``tol`` times the first; when five steps in a row
        lower the objective by less than ``min_change`` of itself each; after so many seconds.
    random_state : int, RandomState or None
        Seed of the random start, of the batches and of the pairs that estimate a mean distance.
    n_threads : int, default=None
        Threads of the matrix products; None for all available cores.

    Attributes
    ----------
    projection_ : ndarray (d, p)
        A, with orthonormal columns, on the scaled features.
    tag_embedding_ : ndarray (m, p)
        U, one point for each tag.
    embedding_ : ndarray (n, p)
        V, the images of the fit.
    classes_ : ndarray (m,)
        The tags, in the order of the columns.
    image_names_ : ndarray (n,)
        The images of the fit, by the index of a DataFrame of features, or by their row numbers.
    sigma_, mean_distance_, scaling_
        The decay rate used; the width of the heat kernel, with its standard error where it was estimated from pairs; the
        scaling learnt.
    history_ : dict of equally long arrays
        iteration, seconds, objective, fit, distance, image_graph, tag_graph, violation (norm of the gradient on the
        manifold), orthonormality_error (largest entry of AᵀA - I), centring_error (largest entry of Σ u + Aᵀ Σ x), both
        of the points in float64 between which the descent moves; float32 features get float32 attributes, which are these
        points rounded. The objective never rises; only ``solver="paper"`` gives no such promise: its objective is the
        Lagrangian (19) and it returns the lowest point met.
    n_iter_, stop_reason_, objective_, violation_
        How the fit went. ``stop_reason_`` is one of converged, small_change, max_iter, time_limit, callback, interrupted,
        no_decrease.
    """

    SIGMAS: ClassVar[tuple[float, ...]] = tuple(2.0**k for k in range(-8, 9))

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "scaling": [StrOptions({"auto", "whiten", "standard", "center"}), None],
        "unit_length": ["boolean"],
        "view_weights": [dict, None],
        "solver": [StrOptions({"manifold", "paper"})],
        "init": [StrOptions({"tags", "random"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "top": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Real, 0, None, closed="neither")],
        "orthogonality": [Interval(Real, 0, None, closed="left")],
        "centring": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "min_change": [Interval(Real, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_components: int = 300,
        *,
        alpha: float = 0.6,
        beta: float = 0.4,
        gamma: float = 0.005,
        sigma: float | str = "auto",
        n_neighbors: int = 50,
        scaling: str | None = "auto",
        unit_length: bool = True,
        view_weights: Mapping[str, float] | None = None,
        solver: str = "manifold",
        init: str = "tags",
        batch_size: int | str | None = "auto",
        top: int = 5,
        step: float = 0.005,
        orthogonality: float = 0.005,
        centring: float = 0.005,
        max_iter: int = 200,
        tol: float = 1e-4,
        min_change: float = 1e-5,
        time_limit: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.sigma = sigma
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.unit_length = unit_length
        self.view_weights = view_weights
        self.solver = solver
        self.init = init
        self.batch_size = batch_size
        self.top = top
        self.step = step
        self.orthogonality = orthogonality
        self.centring = centring
        self.max_iter = max_iter
        self.tol = tol
        self.min_change = min_change
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_threads = n_threads

    # ---------------------------------------------------------------- fit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, *, tag_names: Sequence[str] | None = None, neighbors: Any = None) -> Self:
        """Learn the projection of images and the points of tags.

        Parameters
        ----------
        X : matrix (n, d), dense or sparse, or a dict of such by name
            Image features, one row for each image.
        y : 0/1 matrix (n, m), dense, sparse or a DataFrame; or a list of tags for each image
            The tags that users gave.
        tag_names : sequence of str, optional
            Names of the columns of y, or the vocabulary to which lists are restricted.
        neighbors : integer table (n, k) or sparse similarities (n, n), optional
            A ready image graph instead of the K nearest neighbours in X.
        """
        self._validate_params()
        views = self._views(X, reset=True)
        Y, self.classes_ = tag_matrix(y, tag_names)
        n = next(iter(views.values())).shape[0]
        self.image_names_ = row_names(X, n)
        if Y.shape[0] != n:
            raise SourceError(
                f"features have {n:,} images and tags {Y.shape[0]:,}; give the tags of each image, in the same order."
            )
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        with threadpool_limits(self.n_threads, "blas"):
            self.scaling_ = learn_scaling(
                views, self.scaling, dict(self.view_weights or {}), unit_length=self.unit_length
            )
            features = apply_scaling(views, self.scaling_)
            self._check_width(features)
            Y = Y.astype(features.dtype)
            start = self._start(features, Y, rng)
            solution = self._solve(self._problem(features, Y, neighbors, rng), start, rng)
        self._keep(solution, features)
        return self

    def _views(self, X: Any, *, reset: bool) -> dict[str, Any]:
        """The feature views, checked, with the names and numbers of the fit."""
        if not is_named(X):
            self._check_features(X, reset=reset)
        views = named_views(X)
        if reset:
            weights: dict[str, Any] = dict(self.view_weights or {})
            if unknown := sorted(set(weights) - set(views)):
                raise ParameterError(f"view_weights names {unknown[0]!r}; the views are {', '.join(map(repr, views))}.")
            if any(not isinstance(weight, int | float | np.number) or not weight > 0 for weight in weights.values()):
                raise ParameterError(f"view_weights must be above 0; found {weights}. Leave a view out to ignore it.")
            self.n_features_in_ = sum(v.shape[1] for v in views.values())
            return views
        widths = {name: len(scales) for name, scales in self.scaling_["scales"].items()}
        found = {name: v.shape[1] for name, v in views.items()}
        if found != widths:
            raise SourceError(
                f"the model was fitted on the feature views {widths} (name: features); found {found}. Pass the same views."
            )
        return {name: v.astype(self.projection_.dtype, copy=False) for name, v in views.items()}

    def _check_width(self, features: Features) -> None:
        if self.n_components > features.shape[1]:
            raise ParameterError(
                f"n_components={self.n_components} and there are n_features = {features.shape[1]} feature(s); an orthonormal "
                f"projection has no more columns than rows. Use n_components <= {features.shape[1]}."
            )

    def _problem(self, X: Features, Y: sp.csr_array, neighbors: Any, rng: np.random.Generator) -> UnifiedSpace:
        """Both graphs and the objective made of them."""
        n = X.shape[0]
        self.mean_distance_ = {"value": 0.0, "standard_error": 0.0}
        if neighbors is None and self.alpha:
            distance = mean_distance(X, rng)
            self.mean_distance_ = distance._asdict()
            S = image_graph(X, self.n_neighbors, distance.value)
        elif neighbors is None or not self.alpha:
            S = sp.csr_array((n, n), dtype=X.dtype)
        else:
            S = given_graph(neighbors, n).astype(X.dtype)
        return UnifiedSpace.of(
            X,
            Y,
            normalised_laplacian(S),
            normalised_laplacian(tag_graph(Y.astype(np.float64))),
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma,
            sigma=self.sigma_,
        )

    def _start(self, X: Features, Y: sp.csr_array, rng: np.random.Generator) -> Point:
        """Where the descent begins, and the decay rate, which may be measured there."""
        p = self.n_components
        A = tag_directions(X, Y, p, rng) if self.init == "tags" else random_directions(X, p, rng)
        spread = float(np.sqrt(np.mean(np.einsum("ij,ij->i", V := X.times(A), V, dtype=np.float64))))
        share = 0.3 if self.scaling_["whitening"] is None else 0.5
        self.sigma_ = float(self.sigma) if self.sigma != "auto" else share * spread or share
        return CentredStiefel(X.sum(), Y.shape[1]).feasible(A, tag_means(X, Y, A))

    def _solve(self, problem: UnifiedSpace, start: Point, rng: np.random.Generator) -> ManifoldSolution:
        X, Y = problem.X, problem.Y
        space = CentredStiefel(X.sum(), problem.n_tags)
        options = Options(
            max_iter=self.max_iter,
            tol=self.tol,
            min_change=self.min_change,
            time_limit=np.inf if self.time_limit is None else self.time_limit,
        )
        context = self._init_callback_context(max_subtasks=self.max_iter)
        context.call_on_fit_task_begin(estimator=self)
        report = self._reporter(context)
        size = self.batch_size
        if size == "auto":
            size = 1024 if Y.shape[0] * Y.shape[1] >= MANY_PAIRS else None
        if self.solver == "paper":
            rule = PaperRule(self.step, self.orthogonality, self.centring)
            solution = descend_by_paper(problem, space, start, options, rule, report)
        elif size is not None and int(size) < Y.shape[0]:
            solution = descend_in_batches(problem, space, start, options, Batches(int(size)), rng, report)
        else:
            solution = descend(problem, space, start, options, report)
        context.call_on_fit_task_end(estimator=self)
        return solution

    def _keep(self, solution: ManifoldSolution, features: Features) -> None:
        self.projection_ = solution.A.astype(features.dtype)
        self.tag_embedding_ = solution.U.astype(features.dtype)
        self.embedding_ = features.times(self.projection_)
        self._n_features_out = self.n_components
        self.history_ = solution.history()
        self.n_iter_ = solution.n_iter
        self.stop_reason_ = solution.stop_reason
        self.objective_ = solution.objective
        self.violation_ = solution.steps[-1].violation
        self._warn(solution)  # type: ignore[arg-type]
        if self.solver == "paper" and solution.stop_reason == "no_decrease":
            warnings.warn(
                f"PJMF's fixed step={self.step:g} is too long here: the Lagrangian left {solution.steps[0].objective:.6g} upwards "
                f"after {solution.n_iter} steps; lower step, or use solver='manifold'.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = False
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
