"""Scaling of image features, learnt once and stored with the model: without it a decay rate σ means nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from vennmf.errors import ParameterError, SourceError
from vennmf.matrices import is_named
from vennmf.matrices.view import canonical
from vennmf.model.unified_space import Features

ONE_VIEW = "features"
"""The name of the only view where a plain matrix is given."""

SHRINKAGE = 0.1
"""Whitening adds this share of the mean variance to every direction, so that noise is not blown up."""

WIDEST_WHITENED = 4096
"""Up to this many dense features ``scaling="auto"`` whitens, if images are at least twice as many."""


def named_views(features: Any) -> dict[str, Any]:
    """Feature matrices by name, checked: dense or CSR, finite, of one number of images; all float32 or all float64."""
    given = dict(features) if is_named(features) else {ONE_VIEW: features}
    if not given:
        raise SourceError("no features were given; pass a matrix of images × features, or a dict of them by name.")
    views = {str(name): canonical(str(name), X, nonnegative=False) for name, X in given.items()}
    first = next(iter(views))
    for name, X in views.items():
        if X.shape[0] != views[first].shape[0]:
            raise SourceError(
                f"view {name!r} has {X.shape[0]:,} images and view {first!r} has {views[first].shape[0]:,}; views "
                "describe the same images in the same order. Align the rows."
            )
    widest = np.result_type(*(X.dtype for X in views.values()))
    return {name: X.astype(widest, copy=False) for name, X in views.items()}


def row_names(features: Any, n: int) -> np.ndarray[Any, Any]:
    """The n images as the index of a DataFrame of features, or of the first view, names them; row numbers else."""
    first = next(iter(dict(features).values())) if is_named(features) else features
    index = getattr(first, "index", None) if hasattr(first, "columns") else None
    if index is None:
        return np.arange(n)
    return np.asarray(index) if index.dtype.kind in "iu" else np.asarray([str(name) for name in index], dtype=object)


def learn_scaling(views: Mapping[str, Any], scaling: str | None, weights: Mapping[str, float]) -> dict[str, Any]:
    """Means, scales and, for whitening, one symmetric matrix, such that the mean squared norm of an image is 1.

    ``"standard"`` gives every feature unit variance, ``"center"`` keeps their proportions; each view then has its weight's
    share of the whole. ``"whiten"`` goes on to give every direction nearly the same variance. ``None`` changes nothing.
    """
    sparse = all(sp.issparse(X) for X in views.values())
    width = sum(X.shape[1] for X in views.values())
    if scaling == "auto":
        n = next(iter(views.values())).shape[0]
        scaling = "standard" if sparse or width > WIDEST_WHITENED or n < 2 * width else "whiten"
    if scaling == "whiten" and sparse:
        raise ParameterError(
            "scaling='whiten' would fill in sparse features; pass them dense, or use scaling='standard' or 'center'."
        )
    learnt: dict[str, Any] = {"means": {}, "scales": {}, "whitening": None, "sparse": sparse}
    total = sum(weights.get(name, 1.0) for name in views)
    for name, X in views.items():
        mean, variance = _moments(X)
        learnt["means"][name] = mean if scaling else np.zeros_like(mean)
        learnt["scales"][name] = _scales(variance, scaling) * np.sqrt(weights.get(name, 1.0) / total)
    if scaling is None:
        learnt["scales"] = {name: np.ones(X.shape[1]) for name, X in views.items()}
    if scaling == "whiten":
        learnt["whitening"] = _whitening(apply_scaling(views, learnt))
    return learnt


def apply_scaling(views: Mapping[str, Any], learnt: Mapping[str, Any]) -> Features:
    """All views side by side as the model sees them."""
    names = list(learnt["means"])
    scaled = [views[name] * learnt["scales"][name].astype(views[name].dtype) for name in names]
    shift = np.concatenate([learnt["means"][name] * learnt["scales"][name] for name in names])
    if learnt["sparse"]:
        raw = sp.csr_array(sp.hstack([sp.csr_array(X) for X in scaled], format="csr"))
        return Features(raw, shift if shift.any() else None)
    X = np.hstack([X.toarray() if sp.issparse(X) else np.asarray(X) for X in scaled])
    X = X - shift.astype(X.dtype)
    if learnt["whitening"] is not None:
        X = X @ learnt["whitening"].astype(X.dtype)
    return Features(np.ascontiguousarray(X))


def _moments(X: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Mean and variance of every column, in float64."""
    n = X.shape[0]
    if sp.issparse(X):
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
        squares = np.asarray(X.multiply(X).sum(axis=0, dtype=np.float64)).ravel() / n
        return mean, np.maximum(squares - mean**2, 0.0)
    return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)


def _scales(variance: np.ndarray[Any, Any], scaling: str | None) -> np.ndarray[Any, Any]:
    """What to multiply each column by, so that the view's variance is 1 in all; constant columns by 0."""
    varies = variance > 1e-12 * max(float(variance.max(initial=0.0)), 1e-300)
    if not varies.any() or scaling is None:
        return np.zeros_like(variance)
    if scaling == "center":
        return np.where(varies, 1 / np.sqrt(variance.sum()), 0.0)
    return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0) * varies.sum()), 0.0)


def _whitening(X: Features) -> np.ndarray[Any, Any]:
    """The symmetric matrix (C + ε I)^-1/2, scaled so that images keep a mean squared norm of 1."""
    raw = X.raw.astype(np.float64, copy=False)
    covariance = raw.T @ raw / len(raw)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    if not values.any():
        return np.eye(len(values))
    shrunk = values + SHRINKAGE * values.mean()
    size = np.sqrt(np.sum(values / shrunk))
    return np.asarray((vectors / (np.sqrt(shrunk) * size)) @ vectors.T)
