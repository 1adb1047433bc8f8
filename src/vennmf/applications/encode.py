"""New items of a fitted model: encode them, add them, and say how far they have drifted from what was fitted."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.applications.parts import basis, check_sources, column_blocks
from vennmf.applications.topics import item_names
from vennmf.errors import SourceError

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]


@dataclass(frozen=True)
class Drift:
    """How far new items of a source are from those of the fit.

    ``unknown``: share of their words that the vocabulary lacks (None where they came as a matrix). ``explained`` and
    ``explained_in_fit``: share of energy that the model explains, of the new items and of those it was fitted on, which
    is always a little higher. ``divergence``: Jensen–Shannon divergence, in bits, between the use of the topics then
    and now.
    """

    source: str
    n_items: int
    unknown: float | None
    explained: float
    explained_in_fit: float
    divergence: float

    @property
    def refit_advised(self) -> bool:
        """Many new words, or the topics explain less than two thirds of what they did."""
        return (self.unknown or 0) > 0.3 or self.explained < 2 / 3 * self.explained_in_fit

    def __str__(self) -> str:
        words = "" if self.unknown is None else f"{self.unknown:.0%} of their words are new to it, "
        advice = "refit with the new items" if self.refit_advised else "the model still fits"
        return (
            f"{self.n_items:,} new items of {self.source!r}: {words}the topics explain {self.explained:.0%} of them "
            f"({self.explained_in_fit:.0%} in the fit), topic use differs by {self.divergence:.2f} bits; {advice}."
        )


@dataclass(frozen=True, eq=False)
class Encoded:
    """New items: their encodings, ids, metadata (a table or None) and drift."""

    source: str
    encodings: Array
    items: Array
    metadata: Any
    drift: Drift
    columns: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row for each item: item, then one column for each component, such as ``shared 3``."""
        import pandas as pd

        table = pd.DataFrame(self.encodings, columns=list(self.columns))
        table.insert(0, "item", self.items)
        return table


def encode_items(model: Any, data: Any, *, source: str) -> Encoded:
    """Encode new items of a source: a file, a table, lists of tags or texts, or rows of its matrix."""
    check_sources(model, source)
    X, items, metadata, unknown = read_items(model, data, source)
    H = np.asarray(model.transform(X, source=source))
    if items is None:
        items = np.array([f"new-{n}" for n in range(len(H))], dtype=object)
    names = tuple(f"{block.name} {number}" for block, number in column_blocks(model, source))
    return Encoded(source, H, np.asarray(items, dtype=object), metadata, _drift(model, source, X, H, unknown), names)


def append_items(model: Any, data: Any, *, source: str) -> tuple[Any, Encoded]:
    """A model with new items added to one source, its topics as they are, and what was added.

    The given model is left alone. The new items can be searched, clustered and suggested tags for like all others.
    """
    new = encode_items(model, data, source=source)
    known = item_names(model, source)
    twice = np.intersect1d(known.astype(str), new.items.astype(str))
    if len(twice):
        raise SourceError(
            f"source {source!r} already has item {str(twice[0])!r}{f' and {len(twice) - 1:,} others of the new' if len(twice) > 1 else ''}"
            "; ids must be distinct. Leave known items out, or give new ids."
        )
    grown = copy.copy(model)
    H = model.encodings_[source]
    grown.encodings_ = {**model.encodings_, source: np.vstack([H, new.encodings.astype(H.dtype)])}
    ids = np.concatenate([known, new.items]).astype(object)
    grown.item_ids_ = {**getattr(model, "item_ids_", {}), source: ids}
    table = getattr(model, "metadata_", {}).get(source)
    if table is not None:
        grown.metadata_ = {**model.metadata_, source: _joined(table, new.metadata, len(new.items))}
    return grown, new


def read_items(model: Any, data: Any, source: str) -> tuple[Any, Any, Any, float | None]:
    """Raw items through the source's encoder; matrices as they are."""
    is_matrix = sp.issparse(data) or (isinstance(data, np.ndarray) and data.dtype.kind in "fiub")
    if is_matrix:
        return data, None, None, None
    encoder = getattr(model, "encoders_", {}).get(source)
    if encoder is None:
        raise SourceError(
            f"source {source!r} was fitted on a plain matrix, so raw items cannot be read; pass rows of a matrix over the "
            "same features, or fit on vennmf.load_sources(...)."
        )
    new = encoder.read(data)
    return new.X, new.ids, new.metadata, new.unknown_share


def _drift(model: Any, source: str, X: Any, H: Array, unknown: float | None) -> Drift:
    from scipy.spatial.distance import jensenshannon

    from vennmf.solvers.products import squared_residual

    B = basis(model, source)
    values = X.data if sp.issparse(X) else np.asarray(X)
    total = float(np.sum(np.square(values, dtype=np.float64)))
    rows = sp.csr_array(X).astype(B.dtype) if sp.issparse(X) else np.ascontiguousarray(X, dtype=B.dtype)
    residual = squared_residual(rows, H.astype(B.dtype), np.ascontiguousarray(B.T)) if total else 0.0
    in_fit = {first: value for measure, first, _, value in model.sharing_ if measure == "explained"}
    then, now = ((part.astype(np.float64) ** 2).sum(axis=0) for part in (model.encodings_[source], H))
    bits = float(jensenshannon(then, now, base=2) ** 2) if then.any() and now.any() else 1.0
    return Drift(source, len(H), unknown, 1 - residual / total if total else 0.0, in_fit[source], bits)


def _joined(table: Any, new: Any, n_new: int) -> Any:
    """Metadata of old and new items, on the columns of the old; missing cells stay empty."""
    import pandas as pd

    added = pd.DataFrame(index=range(n_new)) if new is None else new.reset_index(drop=True)
    return pd.concat([table, added.reindex(columns=table.columns)], ignore_index=True)
