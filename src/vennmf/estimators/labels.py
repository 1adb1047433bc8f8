"""Partial labels as the models want them: class numbers, -1 where unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vennmf.errors import ParameterError

UNKNOWN = -1


def class_numbers(y: Any, n_items: int) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """A number for each item's class, -1 where its label is -1 (or "-1", None, NaN), and the classes in order.

    Labels may be numbers, strings or booleans; None for ``y`` is no labels at all.
    """
    if y is None:
        return np.full(n_items, UNKNOWN), np.empty(0, dtype=int)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.shape != (n_items,):
        raise ParameterError(
            f"y has shape {labels.shape} and there are {n_items} items; give one label for each, -1 where it is unknown."
        )
    known = _known(labels)
    if labels.dtype.kind == "f" and np.any(labels[known] % 1):
        raise ParameterError(
            f"y holds {labels[known][labels[known] % 1 != 0][0]:g}; labels are classes (Unknown label type: continuous). "
            "Pass whole numbers or strings, -1 where the class is unknown."
        )
    values = labels[known]
    if labels.dtype.kind == "O" and len({type(v) for v in values.tolist()}) > 1:
        values = values.astype(str)
    classes, numbers = np.unique(values, return_inverse=True)
    out = np.full(n_items, UNKNOWN)
    out[known] = numbers
    return out, classes


def _known(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return ~np.isnan(labels) & (labels != UNKNOWN)
    if labels.dtype.kind in "iu":
        return labels != UNKNOWN
    if labels.dtype.kind == "b":
        return np.ones(len(labels), dtype=bool)
    return np.array([not (v is None or v != v or str(v) == str(UNKNOWN)) for v in labels.tolist()], dtype=bool)
