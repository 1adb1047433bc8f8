"""Several named views, and which axes they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.errors import SourceError
from vennmf.matrices.axis import Axis
from vennmf.matrices.view import View

Sharing = Literal["features", "items"]


def is_named(X: Any) -> bool:
    """Whether X is several named sources rather than one matrix (a sparse matrix by keys is a mapping, too)."""
    return isinstance(X, Mapping) and not sp.issparse(X)


class ViewSet(Mapping[str, View]):
    """Named views in a fixed order. Views that share an axis hold the *same* :class:`Axis` object.

    ``metadata`` and ``encoders`` travel along for the applications: a table by source with a row for each item, and
    what is needed to turn new raw items into rows of the matrix.
    """

    def __init__(
        self,
        views: Sequence[View],
        *,
        metadata: Mapping[str, Any] | None = None,
        encoders: Mapping[str, Any] | None = None,
    ) -> None:
        self._views = {view.name: view for view in views}
        if len(self._views) != len(views):
            names = [view.name for view in views]
            twice = next(name for name in names if names.count(name) > 1)
            raise SourceError(f"source {twice!r} is given twice; every source needs a name of its own.")
        if not views:
            raise SourceError("no sources were given; pass at least one, such as {'bbc': X}.")
        self.metadata = dict(metadata or {})
        self.encoders = dict(encoders or {})

    @classmethod
    def of(cls, data: Any, *, shared: Sharing = "features", dtype: Any = None) -> ViewSet:
        """Views from a mapping of names to matrices or DataFrames; all of one dtype.

        ``shared="features"``: the columns of all sources stand for the same words or tags, items differ.
        ``shared="items"``: the rows of all views stand for the same items, features differ.
        """
        if isinstance(data, ViewSet):
            return data
        if not is_named(data):
            raise SourceError(
                f"sources must be a dict of named matrices, such as {{'bbc': X, 'cnn': Y}}; found {type(data).__name__}."
            )
        views = [View.of(str(name), X, dtype=dtype) for name, X in data.items()]
        if not views:
            raise SourceError("no sources were given; pass at least one, such as {'bbc': X}.")
        widest = np.result_type(*(view.X.dtype for view in views))
        axis = _common_axis(views, shared)
        made = []
        for view in views:
            X = view.X if view.X.dtype == widest else view.X.astype(widest)
            if shared == "features":
                made.append(View(view.name, X, view.items, axis))
            else:
                features = Axis(f"features:{view.name}", view.features.size, view.features.ids)
                made.append(View(view.name, X, axis, features))
        return cls(made)

    @classmethod
    def stacked(cls, X: Any, labels: Any, *, dtype: Any = None) -> ViewSet:
        """Sources from one matrix and a label for each row."""
        whole = View.of("X", X, dtype=dtype)
        labels = source_labels(labels, whole.shape[0])
        views = []
        for name in dict.fromkeys(labels.tolist()):
            rows = np.flatnonzero(labels == name)
            ids = None if whole.items.ids is None else whole.items.ids[rows]
            views.append(View(name, whole.X[rows], Axis(f"items:{name}", len(rows), ids), whole.features))
        return cls(views)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._views)

    @property
    def dtype(self) -> np.dtype[Any]:
        return next(iter(self._views.values())).X.dtype

    @property
    def nbytes(self) -> int:
        """Bytes that the matrices hold."""
        return sum(
            view.X.data.nbytes + view.X.indices.nbytes + view.X.indptr.nbytes if sp.issparse(view.X) else view.X.nbytes
            for view in self.values()
        )

    def describe(self) -> Any:
        """Sizes, overlap and divergence of the sources, as two tables; see :mod:`vennmf.matrices.describe`."""
        from vennmf.matrices.describe import describe

        return describe(self)

    def __getitem__(self, name: str) -> View:
        try:
            return self._views[name]
        except KeyError:
            raise SourceError(
                f"there is no source {name!r}; the sources are {', '.join(map(repr, self.names))}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._views

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __repr__(self) -> str:
        return f"ViewSet({', '.join(map(repr, self.values()))})"


def source_labels(labels: Any, n_rows: int | None = None) -> NDArray[np.object_]:
    """The source of each row of a stacked matrix, by name."""
    given = np.asarray(labels)
    if given.ndim != 1 or n_rows not in (None, len(given)):
        rows = "" if n_rows is None else f" of the {n_rows:,} rows"
        raise SourceError(f"sources= needs one label for each{rows}; found shape {given.shape}.")
    for row, label in enumerate(given.tolist()):
        if label is None or label != label:
            raise SourceError(f"sources= has no label at row {row:,}; name the source of every row.")
    return np.array([str(label) for label in given.tolist()], dtype=object)


def _common_axis(views: Sequence[View], shared: Sharing) -> Axis:
    """The one axis that all views share, with ids where any view brings them."""
    if shared not in ("features", "items"):
        raise SourceError(f"shared must be 'features' or 'items'; found {shared!r}.")
    sides = [view.features if shared == "features" else view.items for view in views]
    first = next((axis for axis in sides if axis.ids is not None), sides[0])
    for view, axis in zip(views, sides, strict=True):
        if axis.matches(first):
            continue
        other = views[sides.index(first)].name
        if axis.size != first.size:
            found = f"source {view.name!r} has {axis.size:,} {shared} and source {other!r} has {first.size:,}"
        else:
            assert axis.ids is not None
            assert first.ids is not None
            at = int(np.argmax(axis.ids != first.ids))
            found = f"column {at:,} is {axis.ids[at]!r} in {view.name!r} and {first.ids[at]!r} in {other!r}"
            if shared == "items":
                found = found.replace("column", "row", 1)
        way = (
            "joint sources share one vocabulary. Build them together with vennmf.load_sources(), or align the columns."
            if shared == "features"
            else "views describe the same items in the same order. Align the rows."
        )
        raise SourceError(f"{found}; {way}")
    return Axis(shared, first.size, first.ids)
