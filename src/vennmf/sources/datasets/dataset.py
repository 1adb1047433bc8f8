"""What a named data set is once loaded: plain tables and arrays, with whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vennmf.errors import SourceError

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """One named data set.

    Attributes
    ----------
    shares : "features" or "items"
        Whether its matrices or tables are sources of one vocabulary, or views of the same items.
    tables : dict of source name to pandas.DataFrame
        Raw items, one a row: what :func:`vennmf.load_sources` turns into sources, read as ``columns`` says.
    matrices : dict of source or view name to array or CSR array, items × features
    features : dict of source or view name to the names of its columns, where known
    labels : dict of label name to an array (one class an item) or a CSR array (items × classes)
    classes : dict of label name to the names of the classes, where known
    arrays : dict of name to whatever else belongs to it, such as images of (items, height, width)
    """

    name: str
    title: str
    licence: str
    citation: str
    shares: Literal["features", "items"]
    tables: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    matrices: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Array] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    classes: Mapping[str, Array] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def views(self) -> dict[str, Any]:
        """Its matrices by name, as estimators take them."""
        if not self.matrices:
            ways = ", ".join(f"{k}={v!r}" for k, v in self.columns.items())
            raise SourceError(
                f"data set {self.name!r} holds raw items, no matrices; make them with "
                f"vennmf.load_sources(dataset.tables, {ways})."
            )
        return dict(self.matrices)

    def only(self, *names: str) -> Dataset:
        """The same data set with some of its sources or views."""
        known = list(self.tables) or list(self.matrices)
        for name in names:
            if name not in known:
                raise SourceError(f"data set {self.name!r} has no {name!r}; it has {', '.join(map(repr, known))}.")
        tables = {name: self.tables[name] for name in names if name in self.tables}
        matrices = {name: self.matrices[name] for name in names if name in self.matrices}
        features = {name: self.features[name] for name in names if name in self.features}
        return replace(self, tables=tables, matrices=matrices, features=features)

    def __repr__(self) -> str:
        parts = [f"{name} {len(table):,} items" for name, table in self.tables.items()]
        parts += [f"{name} {' × '.join(f'{n:,}' for n in X.shape)}" for name, X in self.matrices.items()]
        parts += [f"{name} {' × '.join(f'{n:,}' for n in np.shape(A))}" for name, A in self.arrays.items()]
        return f"Dataset({self.name!r}: {', '.join(parts)})"
