"""From a person's files to sources: one vocabulary, each source's own statistics, everything needed to come back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from vennmf.errors import DataWarning, ParameterError, SourceError
from vennmf.matrices.axis import Axis
from vennmf.matrices.counting import Counts, count
from vennmf.matrices.encoder import Encoder
from vennmf.matrices.options import check_options
from vennmf.matrices.view import View
from vennmf.matrices.viewset import ViewSet
from vennmf.matrices.vocabulary import Vocabulary
from vennmf.matrices.weighting import Scheme, Weighting, require_scheme
from vennmf.matrices.words import Analysis, read_ngram, read_stop_words
from vennmf.sources.read import read
from vennmf.sources.rows import Columns, Rows


def load_sources(
    sources: Any,
    *,
    tags: str | None = None,
    text: str | Sequence[str] | None = None,
    item: str | None = None,
    weight: str | None = None,
    split_tags: str | None = None,
    min_count: int | Mapping[str, int] = 1,
    max_share: float = 1.0,
    max_features: int | None = None,
    stop_words: str | Sequence[str] | None = None,
    ngram: int | tuple[int, int] = 1,
    lowercase: bool = True,
    drop_repeated: int | None = None,
    metadata: bool | str | Sequence[str] = True,
    weighting: Scheme = "tfidf",
    dtype: DTypeLike = np.float32,
    memory_limit: str | None = None,
) -> ViewSet:
    """Read sources into matrices over one vocabulary, each weighted with its own statistics.

    Parameters
    ----------
    sources : mapping of name to data
        A path to CSV, TSV, JSON lines, Parquet (also ``.gz``), SQLite or DuckDB (``"news.db::articles"``), a folder of
        text files, a pattern such as ``"news/*.jsonl"``, a list of Paths, ``"postgresql://…::table"``; a pandas,
        polars or Arrow table; a list of tag lists, of texts or of dicts; a dict of item to tags or text;
        ``(matrix, words)`` or ``(matrix, words, items)``. A :class:`vennmf.datasets.Dataset` with tables goes too.
    tags, text : str
        The column of tags (lists; text joined by ``split_tags``; or one tag a row where items repeat), or of running
        text (several columns are read one after the other). One of the two for every table.
    item : str, optional
        The column of ids; without it items are numbered.
    weight : str, optional
        The column of weights of a long (item, tag, weight) table.
    min_count : int or mapping of source to int
        A word belongs to the vocabulary when this many items of at least one source have it.
    max_share : float
        Words that more than this share of all items have are left out.
    max_features : int, optional
        Keep the words that the largest share of a source's items have.
    stop_words : "english" or list of str
    ngram : int or (int, int)
        Fewest and most words of an entry, for text.
    drop_repeated : int, optional
        For text: leave out sentences that this many items of one source have, such as calls to subscribe.
    metadata : bool, str or list of str
        Which other columns travel along; True for all.
    weighting : "tfidf", "counts" or "binary"
        See :class:`vennmf.matrices.weighting.Weighting`.
    memory_limit : str
        What reading may hold in memory, such as ``"2GB"``.

    Returns
    -------
    ViewSet
        With ``metadata`` (a table by source, a row an item) and ``encoders`` (what reads new items).
    """
    check_options(locals())
    require_scheme(weighting)
    data, named = _unpack(sources)
    tags, text, item = tags or named.get("tags"), text or named.get("text"), item or named.get("item")
    if tags is not None and text is not None:
        raise ParameterError(f"tags={tags!r} and text={text!r} are both given; a source is read as one of them.")
    texts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
    kept: bool | tuple[str, ...] = metadata if isinstance(metadata, bool) else _names(metadata)
    columns = Columns(tags, texts, item, weight, split_tags, kept)
    analysis = Analysis("tags", lowercase, read_stop_words(stop_words), read_ngram(ngram), split_tags)
    parts: dict[str, tuple[Rows, Analysis, Counts]] = {}
    for name, place in data.items():
        rows = read(name, place, columns, memory_limit)
        mine = _analysis_of(rows, analysis, drop_repeated)
        parts[name] = rows, mine, count(rows, mine)
    vocabulary = _choose({name: counts for name, (_, _, counts) in parts.items()}, min_count, max_share, max_features)
    axis = Axis("features", len(vocabulary), vocabulary.words)
    views, tables, encoders = [], {}, {}
    for name, (rows, mine, counts) in parts.items():
        X = counts.on(vocabulary)
        weights = Weighting.of(weighting, X)
        encoders[name] = Encoder(name, vocabulary, mine, weights, columns, np.dtype(dtype).name)
        views.append(View.of(name, weights.weigh(X, dtype), items=_items(name, rows), features=axis))
        tables[name] = rows.metadata
        _report_empty(name, rows, X)
    return ViewSet(views, metadata=tables, encoders=encoders)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _unpack(sources: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The sources by name, and what their columns mean where a named data set says so."""
    if hasattr(sources, "tables") and hasattr(sources, "columns") and hasattr(sources, "licence"):
        if sources.tables:
            return dict(sources.tables), dict(sources.columns)
        if sources.shares != "features" or not set(sources.matrices) <= set(sources.features):
            raise SourceError(f"data set {sources.name!r} has no words to read; its matrices are in dataset.views().")
        return {name: (X, sources.features[name]) for name, X in sources.matrices.items()}, {}
    if not isinstance(sources, Mapping):
        raise SourceError(
            f"sources must be a dict of names and data, such as {{'bbc': 'bbc.jsonl'}}; found {type(sources).__name__}."
        )
    if not sources:
        raise SourceError("no sources were given; pass at least one, such as {'bbc': 'bbc.jsonl'}.")
    named = {str(name): data for name, data in sources.items()}
    if len(named) < len(sources) or "" in named:
        raise SourceError(
            "every source needs a name of its own, such as {'bbc': 'bbc.jsonl'}; one is empty or twice there."
        )
    return named, {}


def _analysis_of(rows: Rows, analysis: Analysis, drop_repeated: int | None) -> Analysis:
    """The analysis that fits the kind of a source, with its boilerplate."""
    if rows.texts is None:
        return replace(analysis, ngram=(1, 1))
    mine = replace(analysis, kind="text", split=None)
    return mine if drop_repeated is None else mine.without_repeated(list(rows.texts), drop_repeated)


def _choose(
    counts: Mapping[str, Counts], min_count: int | Mapping[str, int], max_share: float, max_features: int | None
) -> Vocabulary:
    """The words that enough items of a source have, sorted."""
    words = np.asarray(sorted(set().union(*(part.words.tolist() for part in counts.values()))), dtype=object)
    everything = Vocabulary(words)
    frequency = {name: _frequency(part, everything) for name, part in counts.items()}
    sizes = {name: part.X.shape[0] for name, part in counts.items()}
    if isinstance(min_count, Mapping):
        for name in min_count:
            if name not in counts:
                raise ParameterError(f"min_count names {name!r}; the sources are {', '.join(map(repr, counts))}.")
    least = {name: min_count.get(name, 1) if isinstance(min_count, Mapping) else min_count for name in counts}
    kept = np.any([found >= max(least[name], 1) for name, found in frequency.items()], axis=0)
    kept &= sum(frequency.values()) <= max_share * sum(sizes.values())
    if max_features is not None and int(kept.sum()) > max_features:
        share = np.max([found / sizes[name] for name, found in frequency.items()], axis=0)
        order = np.lexsort((np.arange(len(words)), -share, ~kept))
        kept[order[max_features:]] = False
    if not kept.any():
        most = max((int(found.max()) for found in frequency.values() if found.size), default=0)
        raise SourceError(
            f"no word is left for the vocabulary: min_count={min_count}, max_share={max_share} and stop words drop all "
            f"{len(words):,}; the most common one is in {most:,} items. Lower min_count."
        )
    return Vocabulary(words[kept])


def _frequency(part: Counts, everything: Vocabulary) -> NDArray[np.int64]:
    """How many items of a source have each word of all sources."""
    frequency = np.zeros(len(everything), np.int64)
    frequency[everything.columns(part.words)] = np.bincount(part.X.indices, minlength=part.X.shape[1])
    return frequency


def _items(name: str, rows: Rows) -> Axis:
    return Axis(f"items:{name}", rows.n_items, rows.items)


def _report_empty(name: str, rows: Rows, X: sp.csr_array) -> None:
    """Say which items have nothing left; they stay, as empty rows."""
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    if not len(empty):
        return
    shown = [repr(str(rows.items[row])) if rows.items is not None else f"row {row + 1:,}" for row in empty[:3]]
    warnings.warn(
        f"source {name!r}: {len(empty):,} of {rows.n_items:,} items have no words left ({', '.join(shown)}"
        f"{', …' if len(empty) > 3 else ''}); they stay as empty rows.",
        DataWarning,
        stacklevel=3,
    )
