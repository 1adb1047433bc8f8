"""A view: one named nonnegative matrix of items by features, sparse or dense, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.errors import SourceError
from vennmf.matrices.axis import Axis

Matrix: TypeAlias = Any
"""What a view holds: a C-contiguous dense array or a CSR array, of float32 or float64."""


@dataclass(frozen=True, eq=False)
class View:
    """One nonnegative matrix, items by features, with named axes.

    ``X`` is canonical: float32 or float64, finite, nonnegative, C-contiguous dense or sorted CSR without duplicates.
    Build it with :meth:`View.of`, which checks.
    """

    name: str
    X: Matrix
    items: Axis
    features: Axis
    rows: NDArray[np.intp] | None = None
    """Which of the items each row of X stands for, where the view lacks some of them; None when it has them all."""
    modes: tuple[Axis, ...] = ()
    """The axes whose product the columns of X stand for, last one fastest, where the view is an unfolded tensor."""

    @classmethod
    def of(
        cls,
        name: str,
        X: Any,
        *,
        items: Axis | None = None,
        features: Axis | None = None,
        rows: Any = None,
        dtype: Any = None,
        modes: Sequence[Axis] = (),
    ) -> View:
        """Check a matrix, DataFrame or sparse matrix of any format and name its axes."""
        item_ids = feature_ids = None
        if hasattr(X, "iloc"):  # a DataFrame; its index and columns are ids when they are labels
            if X.index.dtype.kind not in "iu":
                item_ids = list(X.index)
            if X.columns.dtype.kind not in "iu":
                feature_ids = list(X.columns)
            X = X.sparse.to_coo() if all(hasattr(t, "fill_value") for t in X.dtypes) else X.to_numpy()
        X = canonical(name, X, dtype)
        items = items or Axis(f"items:{name}", X.shape[0], item_ids)
        features = features or Axis("features", X.shape[1], feature_ids)
        if rows is not None:
            rows = _rows_on(name, np.asarray(rows), X.shape[0], items.size)
        if (items.size if rows is None else len(rows), features.size) != X.shape:
            raise SourceError(
                f"source {name!r} is {X.shape[0]:,} × {X.shape[1]:,} and its axes name {items.size:,} items and "
                f"{features.size:,} features; one name is needed for each row and column."
            )
        if modes and prod(len(mode) for mode in modes) != features.size:
            raise SourceError(
                f"source {name!r} has {features.size:,} columns and modes of {' × '.join(str(len(m)) for m in modes)}; "
                "the columns of an unfolded tensor are the product of its modes."
            )
        return cls(name, X, items, features, rows, tuple(modes))

    @classmethod
    def of_tensor(cls, name: str, X: Any, *, dtype: Any = None) -> View:
        """An array of any order whose first axis is the items, unfolded; a matrix as it is."""
        if getattr(X, "ndim", 2) <= 2:
            return cls.of(name, X, dtype=dtype)
        X = np.asarray(X)
        modes = tuple(Axis(f"mode{n}", size) for n, size in enumerate(X.shape[1:], start=1))
        return cls.of(name, X.reshape(len(X), -1), dtype=dtype, modes=modes)

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    @property
    def nnz(self) -> int:
        """Stored entries: nonzeros of a sparse matrix, all entries of a dense one."""
        return int(self.X.nnz) if sp.issparse(self.X) else int(self.X.size)

    def squared_norm(self) -> float:
        """Sum of squared entries, accumulated in float64."""
        values = self.X.data if sp.issparse(self.X) else self.X
        return float(np.einsum("i,i->", values.ravel(), values.ravel(), dtype=np.float64))

    def __repr__(self) -> str:
        kind = f"sparse, {self.nnz:,} nonzeros" if sp.issparse(self.X) else "dense"
        return f"View({self.name!r}, {self.shape[0]:,} × {self.shape[1]:,}, {self.X.dtype}, {kind})"


def _rows_on(name: str, rows: NDArray[Any], found: int, size: int) -> NDArray[np.intp]:
    """Positions of a view's rows on the items' axis, from positions or a mask."""
    if rows.dtype == bool:
        if len(rows) != size:
            raise SourceError(
                f"view {name!r} has a mask over {len(rows):,} items, and there are {size:,}; say of each whether the view has it."
            )
        rows = np.flatnonzero(rows)
    if (
        len(rows) != found
        or len(np.unique(rows)) != len(rows)
        or (len(rows) and not 0 <= rows.min() <= rows.max() < size)
    ):
        raise SourceError(
            f"view {name!r} has {found:,} rows for {len(rows):,} named items of {size:,}; name each row's item once, "
            "by position or by a mask over all items."
        )
    return rows.astype(np.intp)


def canonical(name: str, X: Any, dtype: Any = None, *, nonnegative: bool = True) -> Matrix:
    """A matrix as the engine wants it, or one line that names the source, the place and the way out."""
    if isinstance(X, str) or X is None:
        raise SourceError(
            f"source {name!r} must be a matrix or a DataFrame, items × features; found {type(X).__name__}."
        )
    if sp.issparse(X):
        X = sp.csr_array(X)
    else:
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise SourceError(
                f"source {name!r} is not a rectangular matrix ({error}); give rows of equal length."
            ) from None
    if X.ndim == 1 and X.dtype.kind in "OUS":
        X = _numbers(name, X)
    if X.ndim != 2:
        raise SourceError(
            f"source {name!r} must have two dimensions, items × features; found shape {X.shape}. Reshape your data "
            "with X.reshape(-1, 1) if it has one feature or X.reshape(1, -1) if it is one item."
        )
    if X.dtype.kind == "c":
        raise SourceError(f"source {name!r} has complex entries. Complex data not supported; give real numbers.")
    if X.dtype.kind not in "fiub":
        X = _numbers(name, X)
    if X.shape[0] == 0 or X.shape[1] == 0:
        what = "item(s) (0 sample(s)" if X.shape[0] == 0 else "column(s) (0 feature(s)"
        raise SourceError(
            f"source {name!r} has 0 {what} (shape={X.shape}) while a minimum of 1 is required); give it some."
        )
    wanted = (
        np.dtype(dtype)
        if dtype is not None
        else (X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64))
    )
    if sp.issparse(X):
        X = X.astype(wanted, copy=False)
        if not (X.has_canonical_format and X.has_sorted_indices):
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.require(X, dtype=wanted, requirements=["C", "A"])
    _check_values(name, X, nonnegative)
    return X


def _numbers(name: str, X: Any) -> Any:
    """An object or string matrix as numbers, or an error that shows the entry that is none."""
    if X.dtype.kind == "O":
        try:
            return X.astype(np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, TypeError) and "argument must be" not in str(error):
                raise SourceError(f"source {name!r} has entries that are no numbers: {error}.") from None
            if "argument must be" in str(error):
                raise TypeError(f"source {name!r} has entries that are no numbers: {error}.") from None
    entry = next((v for v in np.ravel(np.asarray(X)) if not _is_number(v)), X.dtype)
    raise SourceError(
        f"source {name!r} must hold numbers; found {str(entry)[:40]!r}. Lists of tags or texts become a matrix with "
        "vennmf.load_sources(...)."
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str)


def _check_values(name: str, X: Matrix, nonnegative: bool) -> None:
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(np.sum(values, dtype=np.float64)) and not np.isfinite(values).all():
        row, column, value = _first(X, ~np.isfinite(values))
        what = "NaN" if np.isnan(value) else "infinity"
        raise SourceError(
            f"source {name!r} has {what} at row {row:,}, column {column:,} (Input contains {what}); vennmf needs finite "
            "numbers. Drop or fill such entries first."
        )
    if nonnegative and values.size and values.min() < 0:
        row, column, value = _first(X, values < 0)
        raise SourceError(
            f"source {name!r} has a negative entry, {value:.6g} at row {row:,}, column {column:,} (Negative values in data); "
            "nonnegative factorisation needs entries >= 0. Shift or clip the features first."
        )


def _first(X: Matrix, bad: NDArray[np.bool_]) -> tuple[int, int, float]:
    """Row, column and value of the first entry that a mask over the stored values marks."""
    if sp.issparse(X):
        where = int(np.argmax(bad))
        return (
            int(np.searchsorted(X.indptr, where, side="right") - 1),
            int(X.indices[where]),
            float(X.data[where]),
        )
    row, column = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return int(row), int(column), float(X[row, column])
