"""Scaling of image features, learnt once and stored with the model: without it a decay rate σ means nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from vennmf.errors import ParameterError, SourceError
from vennmf.matrices import is_named
from vennmf.matrices.view import canonical
from vennmf.model.unified_space import Features

ONE_VIEW = "features"
"""The name of the only view where a plain matrix is given."""

SHRINKAGE = 1.0
"""Whitening adds this share of the mean variance to every direction, so that noise is not blown up."""

WIDEST_WHITENED = 4096
"""Up to this many dense features ``scaling="auto"`` whitens, if images are at least as many."""


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


def learn_scaling(
    views: Mapping[str, Any], scaling: str | None, weights: Mapping[str, float], *, unit_length: bool
) -> dict[str, Any]:
    """Scales, one shift and, for whitening, one symmetric matrix, such that the mean squared norm of an image is 1.

    ``"standard"`` gives every feature unit variance, ``"center"`` keeps their proportions; each view then has its weight's
    share of the whole. ``"whiten"`` goes on to give every direction nearly the same variance. ``None`` changes nothing.
    With ``unit_length`` every image is brought to norm 1 at the end; sparse ones before they are centred, so that they
    stay sparse.
    """
    sparse = all(sp.issparse(X) for X in views.values())
    width = sum(X.shape[1] for X in views.values())
    if scaling == "auto":
        n = next(iter(views.values())).shape[0]
        scaling = "standard" if sparse or width > WIDEST_WHITENED or n < width else "whiten"
    if scaling == "whiten" and sparse:
        raise ParameterError(
            "scaling='whiten' would fill in sparse features; pass them dense, or use scaling='standard' or 'center'."
        )
    learnt: dict[str, Any] = {"scales": {}, "shift": np.zeros(width), "whitening": None, "sparse": sparse}
    learnt["unit_length"] = unit_length and scaling is not None
    if scaling is None:
        return learnt | {"scales": {name: np.ones(X.shape[1]) for name, X in views.items()}}
    total = sum(weights.get(name, 1.0) for name in views)
    moments = {name: _moments(X) for name, X in views.items()}
    for name, (_, variance) in moments.items():
        learnt["scales"][name] = _scales(variance, scaling) * np.sqrt(weights.get(name, 1.0) / total)
    learnt["shift"] = np.concatenate([mean * learnt["scales"][name] for name, (mean, _) in moments.items()])
    if sparse and unit_length:
        raw = apply_scaling(views, learnt | {"shift": np.zeros(width)}).raw
        learnt["shift"] = np.asarray(raw.mean(axis=0, dtype=np.float64)).ravel()
    if scaling == "whiten":
        learnt["whitening"] = _whitening(apply_scaling(views, learnt | {"unit_length": False}))
    return learnt


def apply_scaling(views: Mapping[str, Any], learnt: Mapping[str, Any]) -> Features:
    """All views side by side as the model sees them."""
    scales, shift = np.concatenate(list(learnt["scales"].values())), learnt["shift"]
    chosen = [views[name] for name in learnt["scales"]]
    if learnt["sparse"]:
        raw = sp.csr_array(sp.hstack([sp.csr_array(X) for X in chosen], format="csr"))
        raw = sp.csr_array(raw @ sp.diags_array(scales.astype(raw.dtype)))
        if learnt["unit_length"]:
            lengths = np.sqrt(raw.multiply(raw).sum(axis=1))
            raw = sp.csr_array(sp.diags_array(_inverse(lengths)) @ raw).astype(raw.dtype)
        return Features(raw, shift if shift.any() else None)
    X = np.hstack([X.toarray() if sp.issparse(X) else np.asarray(X) for X in chosen])
    X *= scales.astype(X.dtype)
    X -= shift.astype(X.dtype)
    if learnt["whitening"] is not None:
        X = X @ learnt["whitening"].astype(X.dtype)
    if learnt["unit_length"]:
        X *= _inverse(np.sqrt(np.einsum("ij,ij->i", X, X)))[:, None]
    return Features(np.ascontiguousarray(X))


def _inverse(lengths: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """1 / length; 0 where only rounding keeps an image from the mean, whose length is 0."""
    lengths = np.asarray(lengths).ravel()
    apart = lengths > np.sqrt(np.finfo(lengths.dtype).eps)
    return np.where(apart, 1 / np.where(apart, lengths, 1), 0).astype(lengths.dtype)


def _moments(X: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Mean and variance of every column, in float64."""
    n = X.shape[0]
    if sp.issparse(X):
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
        squares = np.asarray(X.multiply(X).sum(axis=0, dtype=np.float64)).ravel() / n
        return mean, np.maximum(squares - mean**2, 0.0)
    mean = X.mean(axis=0, dtype=np.float64)
    squares = sum(np.square(block - mean).sum(axis=0) for block in _blocks(X))
    return mean, np.asarray(squares / n)


def _blocks(X: np.ndarray[Any, Any], size: int = 1 << 14) -> Iterator[np.ndarray[Any, Any]]:
    """Runs of rows, so that float64 copies stay small."""
    for start in range(0, len(X), size):
        yield X[start : start + size]


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
    wide = (block.astype(np.float64) for block in _blocks(X.raw))
    covariance = sum(block.T @ block for block in wide) / len(X.raw)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    if not values.any():
        return np.eye(len(values))
    shrunk = values + SHRINKAGE * values.mean()
    size = np.sqrt(np.sum(values / shrunk))
    return np.asarray((vectors / (np.sqrt(shrunk) * size)) @ vectors.T)
