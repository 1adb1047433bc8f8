"""Tags as users give them: lists of words, one word for each image, a 0/1 matrix; and as the model wants them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from vennmf.errors import SourceError
from vennmf.matrices.view import canonical


def tag_matrix(tags: Any, names: Sequence[str] | None = None) -> tuple[sp.csr_array, np.ndarray[Any, Any]]:
    """A CSR 0/1 matrix of images × tags and the names of its columns.

    ``tags`` is a matrix of 0 and 1 (sparse, dense or a DataFrame whose columns name the tags), a list of lists of tags, or
    one tag for each image. ``names`` fixes the columns; words that are not among them are left out.
    """
    if tags is None or isinstance(tags, str):
        raise SourceError(
            f"PJMF requires y to be passed, but the target y is {tags!r}; give a 0/1 matrix of images × tags, or a list of "
            "tags for each image."
        )
    if not isinstance(tags, Sequence) and not sp.issparse(tags) and not hasattr(tags, "columns"):
        tags = np.asarray(tags)
    found = getattr(tags, "columns", None)
    if found is not None or is_matrix(tags):
        matrix = _checked(tags)
        if found is not None and found.dtype.kind not in "iu":
            names = [str(name) for name in found]
        labels = np.arange(matrix.shape[1]) if names is None else np.asarray(names, dtype=object)
        if len(labels) != matrix.shape[1]:
            raise SourceError(
                f"tags have {matrix.shape[1]:,} columns and {len(labels):,} names; give one name for each."
            )
        _check_distinct(labels.tolist())
        return matrix, labels
    return _from_lists(list(tags), names)


def is_matrix(tags: Any) -> bool:
    """Whether tags are a matrix of zeros and ones rather than lists of words or one word for each image."""
    if sp.issparse(tags) or hasattr(tags, "columns"):
        return True
    if isinstance(tags, np.ndarray):
        return tags.ndim == 2
    rows = [row for row in tags if np.ndim(row) == 1 and len(row)]
    return bool(rows) and len(rows) == len(tags) and all(isinstance(value, Number) for row in rows for value in row)


def _checked(tags: Any) -> sp.csr_array:
    """A matrix of zeros and ones as canonical CSR without stored zeros."""
    if not sp.issparse(tags):
        tags = np.asarray(tags)
    if tags.dtype.kind == "O":
        tags = canonical("tags", tags, nonnegative=False)
    matrix = sp.csr_array(canonical("tags", tags, nonnegative=False), copy=True)
    matrix.eliminate_zeros()
    if matrix.nnz and (matrix.data != 1).any():
        found = matrix.data[matrix.data != 1][0]
        raise SourceError(
            f"tags must be 0 or 1; found {found:g}. Pass a 0/1 matrix of images × tags, or a list of tags for each image."
        )
    return matrix


def _from_lists(lists: list[Any], names: Sequence[str] | None) -> tuple[sp.csr_array, np.ndarray[Any, Any]]:
    rows = [_words(item, i) for i, item in enumerate(lists)]
    labels = _sorted({tag for row in rows for tag in row}) if names is None else list(names)
    if not rows or not labels:
        raise SourceError(
            f"tags must name at least one tag for at least one image; found {len(rows):,} images and no tag at all."
        )
    _check_distinct(labels)
    position = {label: j for j, label in enumerate(labels)}
    columns = [sorted({position[tag] for tag in row if tag in position}) for row in rows]
    indptr = np.cumsum([0, *map(len, columns)])
    indices = np.fromiter((j for row in columns for j in row), dtype=np.int64, count=indptr[-1])
    matrix = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), len(labels)))
    return matrix, np.asarray(labels, dtype=object if isinstance(labels[0], str) else None)


def _words(item: Any, image: int) -> list[Any]:
    """The tags of one image, given as one word or as several."""
    if isinstance(item, str) or np.isscalar(item):
        return [item]
    try:
        return list(item)
    except TypeError:
        raise SourceError(
            f"the tags of image {image} are {item!r}; give a list of tags for each image, an empty one where it has none."
        ) from None


def _sorted(words: set[Any]) -> list[Any]:
    try:
        return sorted(words)
    except TypeError:
        kinds = sorted({type(word).__name__ for word in words})
        raise SourceError(f"tags must be of one kind; found {' and '.join(kinds)}. Pass all as strings.") from None


def _check_distinct(labels: list[Any]) -> None:
    if len(set(labels)) < len(labels):
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise SourceError(f"tags must have names of their own; found {twice!r} twice. Merge or rename the columns.")
