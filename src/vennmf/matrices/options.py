"""What ``load_sources`` may be told, checked before a file is opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, InvalidParameterError, validate_parameter_constraints

from vennmf.errors import ParameterError

NAMES = [str, list, tuple]
OPTIONS: dict[str, list[Any]] = {
    "tags": [str, None],
    "text": [*NAMES, None],
    "item": [str, None],
    "weight": [str, None],
    "split_tags": [str, None],
    "min_count": [Interval(Integral, 0, None, closed="left"), Mapping],
    "max_share": [Interval(Real, 0, 1, closed="right")],
    "max_features": [Interval(Integral, 1, None, closed="left"), None],
    "stop_words": [Iterable, None],
    "ngram": [Integral, list, tuple],
    "lowercase": ["boolean"],
    "drop_repeated": [Interval(Integral, 2, None, closed="left"), None],
    "metadata": ["boolean", *NAMES],
    "memory_limit": [str, None],
}


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse what means nothing, in one line."""
    try:
        validate_parameter_constraints(OPTIONS, {name: given[name] for name in OPTIONS}, caller_name="load_sources")
    except InvalidParameterError as error:
        raise ParameterError(str(error)) from None
    for name in ("text", "metadata", "stop_words"):
        parts = given[name]
        if isinstance(parts, list | tuple) and not all(isinstance(part, str) for part in parts):
            raise ParameterError(f"{name}={parts!r}; expected text only, such as ['title', 'text'].")
    if given["split_tags"] == "":
        raise ParameterError("split_tags=''; expected what stands between tags, such as ' ', ',' or '|'.")
    if isinstance(given["min_count"], Mapping):
        for source, least in given["min_count"].items():
            if not isinstance(least, Integral):
                raise ParameterError(f"min_count of source {source!r} is {least!r}; expected a whole number.")
    _check_dtype(given["dtype"])


def _check_dtype(dtype: Any) -> None:
    try:
        known = np.dtype(dtype) in (np.dtype(np.float32), np.dtype(np.float64))
    except TypeError:
        known = False
    if not known:
        raise ParameterError(f"dtype={dtype!r}; expected float32 or float64.")
