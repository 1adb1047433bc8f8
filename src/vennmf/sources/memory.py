"""Rows from what is in memory: lists, dicts, pandas, polars and Arrow tables, matrices with names."""

from __future__ import annotations

import ast
import json
import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vennmf.errors import SourceError
from vennmf.sources.rows import (
    MAX_TAG,
    Columns,
    Pairs,
    Rows,
    check_tag,
    numbering,
    refuse_unsplit,
    require_columns,
    require_distinct,
)


def read_lists(source: str, data: Sequence[Any], split: str | None, items: Any = None) -> Rows:
    """A list of tag lists, or of texts: one an item."""
    import pandas as pd

    first = next((row for row in data if not is_missing(row)), None)
    ids = None if items is None else text_ids(source, items)
    require_distinct(source, ids, len(data))
    nothing = pd.DataFrame(index=range(len(data)))
    if isinstance(first, str) and split is None:
        wrong = next((n for n, row in enumerate(data) if not (isinstance(row, str) or is_missing(row))), None)
        if wrong is not None:
            raise SourceError(
                f"source {source!r} mixes texts and lists: row 1 is text and row {wrong + 1:,} is "
                f"{type(data[wrong]).__name__}; give one kind."
            )
        return Rows(len(data), None, ["" if is_missing(row) else row for row in data], ids, nothing)
    return Rows(len(data), explode(source, data, split), None, ids, nothing)


def read_frame(source: str, table: Any, columns: Columns) -> Rows:
    """A pandas, polars or Arrow table, or anything that becomes a pandas one."""
    table = as_pandas(source, table)
    if columns.item is not None and columns.item == table.index.name and columns.item not in table.columns:
        table = table.reset_index()
    names = [str(name) for name in table.columns]
    table = table.set_axis(names, axis=1)
    require_columns(source, names, columns)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SourceError(f"source {source!r} has two columns {twice!r}; every column needs its own name.")
    if len(table) == 0:
        raise SourceError(f"source {source!r} has columns and no rows; there is nothing to read.")
    items = None if columns.item is None else text_ids(source, table[columns.item].tolist(), columns.item)
    if columns.text:
        require_distinct(source, items, len(table))
        texts = join_texts(source, [table[name].tolist() for name in columns.text], columns.text)
        return Rows(len(table), None, texts, items, plain(table[columns.kept(names)]))
    assert columns.tags is not None
    cells = table[columns.tags].tolist()
    kind = layout(source, columns, cells, items)
    if kind == "long":
        weights = None if columns.weight is None else read_weights(source, columns.weight, table[columns.weight])
        return _long(source, table, columns, cells, items, weights)
    require_distinct(source, items, len(table))
    pairs = explode(source, cells, columns.split)
    return Rows(len(table), pairs, None, items, plain(table[columns.kept(names)]))


def as_pandas(source: str, table: Any) -> Any:
    """The table as a pandas.DataFrame, without asking for another package."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "to_pydict"):  # an Arrow table or batch
        table = table.to_pydict()
    elif hasattr(table, "get_column") and hasattr(table, "to_dict"):  # polars
        table = table.to_dict(as_series=False)
    try:
        return pd.DataFrame(table, dtype=object)
    except ValueError as error:
        raise SourceError(f"source {source!r} is no table: {error}.") from None


def layout(source: str, columns: Columns, cells: Iterable[Any], items: NDArray[np.object_] | None) -> str:
    """How a column holds tags: ``"lists"``, ``"joined"`` (text to split or parse) or ``"long"`` (one a row)."""
    scalars = [cell for cell in cells if not is_missing(cell)]
    lists = sum(not is_scalar(cell) for cell in scalars)
    if lists and lists < len(scalars):
        row = next(n for n, cell in enumerate(cells) if not is_missing(cell) and is_scalar(cell))
        raise SourceError(
            f"source {source!r}, row {row + 1:,}: column {columns.tags!r} mixes lists of tags with single "
            "values; "
            "give lists in every row."
        )
    if lists:
        return "lists"
    if columns.weight is not None:
        if items is None:
            raise SourceError(
                f"source {source!r}: weight={columns.weight!r} needs item=, the column that says whose weight it is."
            )
        return "long"
    if columns.split is not None or (scalars and all(is_bracketed(cell) for cell in scalars)):
        return "joined"
    if items is not None and len(set(items.tolist())) < len(items):
        return "long"
    if not scalars:
        return "lists"
    raise refuse_unsplit(source, str(columns.tags), str(scalars[0]))


def explode(source: str, cells: Iterable[Any], split: str | None) -> Pairs:
    """Lists of tags, or text that holds lists, as pairs of item and tag."""
    codes = numbering()
    found, lengths = array("i"), array("i")
    for row, cell in enumerate(cells):
        tags = tags_of(source, row, cell, split)
        lengths.append(len(tags))
        found.extend(map(codes.__getitem__, tags))
    rows = np.repeat(np.arange(len(lengths), dtype=np.int32), np.frombuffer(lengths, np.int32))
    for tag, code in codes.items():
        if len(tag) > MAX_TAG:
            check_tag(source, int(rows[found.index(code)]), tag)
    return Pairs(rows, np.frombuffer(found, np.int32), list(codes))


def tags_of(source: str, row: int, cell: Any, split: str | None) -> list[str]:
    """The tags of one cell, raw."""
    if isinstance(cell, str):
        if split is None and is_bracketed(cell):
            cell = _parse(source, row, cell)
        else:
            return cell.split(split) if split is not None else [cell]
    elif is_missing(cell):
        return []
    elif is_scalar(cell):
        return [str(cell)]
    elif isinstance(cell, Mapping):
        raise SourceError(f"source {source!r}, row {row + 1:,}: expected a list of tags, found a dict.")
    cell = list(cell)
    if split is None and set(map(type, cell)) <= {str}:
        return cell
    tags = []
    for tag in cell:
        if is_missing(tag):
            continue
        if not is_scalar(tag):
            raise SourceError(
                f"source {source!r}, row {row + 1:,}: a tag is a {type(tag).__name__}; tags must be text."
            )
        text = tag if isinstance(tag, str) else as_text(tag)
        tags.extend([text] if split is None else text.split(split))
    return tags


def _parse(source: str, row: int, cell: str) -> Any:
    """A list written out as JSON or as Python."""
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list):
            return found
    raise SourceError(
        f"source {source!r}, row {row + 1:,}: {cell[:40]!r} looks like a list and is none; write it as "
        "JSON, such as "
        '["sea", "sky"], or pass split_tags=.'
    )


def is_bracketed(cell: Any) -> bool:
    if not isinstance(cell, str):
        return False
    trimmed = cell.strip()
    return trimmed.startswith("[") and trimmed.endswith("]")


def is_scalar(value: Any) -> bool:
    return isinstance(value, str) or not hasattr(value, "__iter__")


def is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    return (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or type(value).__name__ in ("NAType", "NaTType")
    )


def as_text(value: Any) -> str:
    """A value as readers of files write it."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return storable(str(value))


def storable(text: str) -> str:
    """Text as UTF-8 can hold it: halves of characters, as damaged data have them, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def text_ids(source: str, values: Sequence[Any], column: str | None = None) -> NDArray[np.object_]:
    """Ids as text, none missing."""
    ids = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        if is_missing(value):
            raise SourceError(
                f"source {source!r}, row {row + 1:,}: the id{f' in column {column!r}' if column else ''} is "
                "missing; "
                "every item needs one, or leave item= out to number the rows."
            )
        ids[row] = as_text(value)
    return ids


def join_texts(source: str, parts: Sequence[Sequence[Any]], names: Sequence[str]) -> list[str]:
    """The text of every item, several columns one after the other; what is missing is empty."""
    for name, part in zip(names, parts, strict=True):
        row = next((n for n, cell in enumerate(part) if not is_missing(cell) and not isinstance(cell, str)), None)
        if row is not None:
            kind = type(part[row]).__name__
            way = f"pass tags={name!r} for lists of tags" if not is_scalar(part[row]) else "make it text"
            place = f"row {row + 1:,}: column {name!r}"
            raise SourceError(f"source {source!r}, {place} holds {kind}, no text; {way}.")
    return ["\n".join(cell for cell in cells if not is_missing(cell)) for cells in zip(*parts, strict=True)]


def read_weights(source: str, column: str, values: Any) -> NDArray[np.float64]:
    """Weights as numbers, finite and not negative."""
    weights = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            weights[row] = math.nan if is_missing(value) else float(value)
        except (TypeError, ValueError):
            weights[row] = math.nan
        if not 0 <= weights[row] < math.inf:
            raise SourceError(
                f"source {source!r}, row {row + 1:,}: the weight in column {column!r} is "
                f"{str(value)[:30]!r}; expected a "
                "finite number >= 0."
            )
    return weights


def _long(source: str, table: Any, columns: Columns, cells: list[Any], items: Any, weights: Any) -> Rows:
    """A long table: one tag a row, items in the order of their first row."""
    position: dict[str, int] = {}
    owner = np.asarray([position.setdefault(item, len(position)) for item in items], dtype=np.int32)
    pairs = explode(source, cells, columns.split)
    first = np.unique(owner, return_index=True)[1]
    kept = table[columns.kept(list(table.columns))].iloc[first]
    ids = np.asarray(list(position), dtype=object)
    chosen = None if weights is None else weights[pairs.rows]
    return Rows(len(ids), Pairs(owner[pairs.rows], pairs.codes, pairs.terms, chosen), None, ids, plain(kept))


def read_matrix(source: str, X: Any, features: Sequence[Any] | None, items: Sequence[Any] | None) -> Rows:
    """A matrix of counts or weights with a name for each column."""
    import pandas as pd

    if features is None:
        raise SourceError(
            f"source {source!r} is a matrix without names for its {X.shape[1]:,} columns; pass (matrix, "
            "words), or a "
            "DataFrame with the words as columns. Matrices whose columns agree go to an estimator's fit as "
            "they are."
        )
    if len(features) != X.shape[1]:
        raise SourceError(
            f"source {source!r} has {X.shape[1]:,} columns and {len(features):,} names; give one name for each column."
        )
    ids = None if items is None else text_ids(source, list(items))
    if ids is not None and len(ids) != X.shape[0]:
        raise SourceError(f"source {source!r} has {X.shape[0]:,} rows and {len(ids):,} ids; give one id for each row.")
    require_distinct(source, ids, X.shape[0])
    entries = sp.coo_array(X)
    data = np.asarray(entries.data, dtype=np.float64)
    if data.size and not (np.isfinite(data).all() and data.min() >= 0):
        at = int(np.argmax(~(np.isfinite(data) & (data >= 0))))
        raise SourceError(
            f"source {source!r} has {data[at]:.6g} at row {int(entries.row[at]) + 1:,}, column "
            f"{str(features[entries.col[at]])!r}; expected finite numbers >= 0."
        )
    rows, codes = entries.row.astype(np.int32), entries.col.astype(np.int32)
    words = [as_text(name) for name in features]
    return Rows(X.shape[0], Pairs(rows, codes, words, data), None, ids, pd.DataFrame(index=range(X.shape[0])))


NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def typed(cells: list[str | None]) -> list[Any]:
    """A column of text as numbers or truth values where every cell is one as it stands; "007" stays text."""
    filled = [cell for cell in cells if cell is not None]
    if filled and all(NUMBER.fullmatch(cell) for cell in filled):
        whole = all(cell.lstrip("-").isdigit() for cell in filled)
        return [None if cell is None else int(cell) if whole else float(cell) for cell in cells]
    if filled and all(cell in ("true", "false") for cell in filled):
        return [None if cell is None else cell == "true" for cell in cells]
    return list(cells)


def plain(table: Any) -> Any:
    """Metadata as text, numbers, truth values and lists, from whatever reader; what is missing is None."""
    import pandas as pd

    columns = {name: [_plain(value) for value in table[name].tolist()] for name in table.columns}
    return pd.DataFrame(columns, index=range(len(table)), dtype=object)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bool | int):
        return value
    if not is_scalar(value):
        if isinstance(value, Mapping):
            return {str(key): _plain(part) for key, part in value.items()}
        return [_plain(part) for part in value]
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return as_text(value)
