"""``vennmf tag``: tags for new items, by the topics of a joint model or the unified space of images and tags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import vennmf
from vennmf.cli.output import Form, show
from vennmf.cli.tables import read_table
from vennmf.errors import ParameterError, SourceError

if TYPE_CHECKING:
    import pandas as pd


def tag(path: Path, data: str, source: str | None, item: str | None, top: int, form: Form) -> None:
    """The best tags of every new item."""
    model = vennmf.load(path)
    if hasattr(model, "annotate"):
        if source is not None:
            raise ParameterError(f"{path.name} knows images by their features, not sources; leave --source out.")
        table = _of_images(model, Path(data), item, top)
    else:
        table = _of_items(model, data, source, item, top)
    show(_readable(table) if form is Form.TABLE else table, form, "Suggested tags")


def _readable(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each item, its tags with their scores."""
    words = table["tag"] + " " + table["score"].map("{:.2f}".format)
    return words.groupby(table["item"], sort=False).agg(", ".join).rename("tags").reset_index()


def _of_items(model: Any, data: str, source: str | None, item: str | None, top: int) -> pd.DataFrame:
    from vennmf.applications.tag import tag_items

    names: list[str] = list(getattr(model, "sources_", []))
    source = names[0] if source is None and len(names) == 1 else source
    if source is None:
        raise ParameterError(f"say with --source whose items these are: {', '.join(map(repr, names))}.")
    if item is not None:
        raise ParameterError("--item is for features of images; items of a source are read as when it was fitted.")
    given = data if "://" in data else Path(data)
    return tag_items(model, given, source=source, top=top)


def _of_images(model: Any, path: Path, item: str | None, top: int) -> pd.DataFrame:
    import pandas as pd

    features, ids = read_features(path, item)
    rows = [
        (ids[n], rank, str(name), float(score))
        for n, suggestions in enumerate(model.annotate(features, top=top))
        for rank, (name, score) in enumerate(suggestions, start=1)
    ]
    return pd.DataFrame(rows, columns=["item", "rank", "tag", "score"])


def read_features(path: Path, item: str | None) -> tuple[Any, list[str]]:
    """Rows of features and their ids, from an array (.npy), a sparse matrix (.npz) or a table of numbers."""
    if path.suffix in (".npy", ".npz"):
        if item is not None:
            raise ParameterError(f"--item names a column; {path.name} is an array without names.")
        features = _array(path)
        return features, [str(n) for n in range(features.shape[0])]
    import pandas as pd

    table = read_table(path)
    if item is not None and item not in table.columns:
        raise SourceError(f"{path.name} has no column {item!r}; it has {', '.join(map(repr, table.columns[:12]))}.")
    ids = [str(n) for n in range(len(table))] if item is None else table[item].astype(str).tolist()
    numbers = table if item is None else table.drop(columns=item)
    for name in numbers.columns:
        if pd.to_numeric(numbers[name], errors="coerce").isna().any():
            raise SourceError(f"{path.name}: column {name!r} is not all numbers; name the column of ids with --item.")
    return numbers.apply(pd.to_numeric).to_numpy(dtype=np.float64), ids


def _array(path: Path) -> Any:
    import scipy.sparse as sp

    if not path.is_file():
        raise SourceError(f"there is no file {str(path)!r}.")
    try:
        found = np.load(path, allow_pickle=False) if path.suffix == ".npy" else sp.csr_array(sp.load_npz(path))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise SourceError(f"{path.name} cannot be read: {error}") from None
    if found.ndim != 2 or found.dtype.kind not in "iufb":
        raise SourceError(f"{path.name} holds {found.ndim} axes of {found.dtype}; expected items × features, numbers.")
    return found
