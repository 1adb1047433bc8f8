"""Search (Algorithm 2 of both papers): a query folded in on a source's blocks, cosine, the best N, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from vennmf.applications.exact import ExactMatch
from vennmf.applications.hits import Hit, Hits, Reason
from vennmf.applications.index import Index, best
from vennmf.applications.parts import Part, check_part, check_sources, column_blocks, columns, layout
from vennmf.applications.query import Reader, Reading
from vennmf.applications.tag import COLUMNS, Expected
from vennmf.applications.topics import item_names, positions, topic_words
from vennmf.errors import ParameterError, SourceError

if TYPE_CHECKING:
    import pandas as pd

REASONS = 3
BATCH = 16_000_000
"""Scores held at once while many queries are answered."""

NO_WORDS: NDArray[np.intp] = np.empty(0, dtype=np.intp)


class Retriever:
    """Search the items of a fitted model by words, by an example, or for tags.

    ``search("climate summit", source="bbc")`` reads the words with the source's vocabulary and statistics, adds all
    entries that contain them, folds the vector in by nonnegative least squares on the source's blocks, and ranks
    the items by the cosine of their encodings with it.

    Parameters
    ----------
    model : fitted VennNMF, NMF, JSNMF or RJSNMF
    sources : what the model was fitted on, optional
        Needed for the exact match alone (``exact > 0``, ``matched``), and to leave out tags that an item already has.
    exact : float from 0 to 1
        Weight w of the exact match in ``(1 - w) * latent + w * exact``; :func:`vennmf.evaluation.choose_weight` finds
        it on queries with known answers.
    match : "cosine" or "jaccard"
        What the exact match is: see :class:`~vennmf.applications.exact.ExactMatch`.
    expand : bool
        Whether a word also stands for the vocabulary entries that contain it, as in the first paper.
    """

    def __init__(
        self,
        model: Any,
        sources: Any = None,
        *,
        exact: float = 0.0,
        match: Literal["cosine", "jaccard"] = "cosine",
        expand: bool = True,
    ) -> None:
        check_sources(model)
        if match not in ("cosine", "jaccard"):
            raise ParameterError(f"match must be 'cosine' or 'jaccard'; found {match!r}.")
        self.model = model
        self.exact = _weight(exact)
        self.match = match
        self._reader = Reader(model, expand=expand)
        self._views = None if sources is None else _matching(model, sources)
        self._indexes: dict[str, Index] = {}
        self._matches: dict[str, ExactMatch] = {}
        self._words = topic_words(model)
        self._features = model.feature_names_
        self._names = {source: item_names(model, source) for source in model.sources_}
        self._metadata = {**dict(getattr(model, "metadata_", {})), **dict(getattr(self._views, "metadata", {}))}
        if self.exact:
            self._exact_match(model.sources_[0])

    # ---------------------------------------------------------------- words

    def __call__(
        self,
        query: str | Sequence[str],
        source: str | None = None,
        *,
        top: int = 10,
        part: Part = "all",
        via: str | None = None,
        exact: float | None = None,
    ) -> Hits:
        """The best items for a query: text, or a list of whole tags.

        Parameters
        ----------
        source : str, optional
            Where to search; None for all sources, each with its own reading of the query, best scores first.
        part : "all", "shared" or "private"
            Which columns are compared.
        via : str, optional
            Another source whose vocabulary statistics and blocks read the query; then only what both share is compared.
        exact : float, optional
            Weight of the exact match instead of the retriever's own.
        """
        return self.many([query], source, top=top, part=part, via=via, exact=exact)[0]

    def many(
        self,
        queries: Sequence[str | Sequence[str]],
        source: str | None = None,
        *,
        top: int = 10,
        part: Part = "all",
        via: str | None = None,
        exact: float | None = None,
    ) -> list[Hits]:
        """The hits of many queries, folded in and scored together."""
        weight = self.exact if exact is None else _weight(exact)
        _at_least_one(top)
        names = self.model.sources_ if source is None else (source,)
        check_sources(self.model, *names, *([via] if via else []))
        results: list[Hits] = []
        step = max(1, BATCH // max(len(self.model.encodings_[name]) for name in names))
        for start in range(0, len(queries), step):
            read = {name: self._read(queries[start : start + step], via or name) for name in names}
            found = {name: self._find(name, read[name], top, part, via, weight) for name in names}
            for n in range(len(read[names[0]])):
                merged = [hit for name in names for hit in found[name][n]]
                merged = sorted(merged, key=lambda hit: -hit.score)[:top]
                results.append(_result(merged, [read[name][n] for name in names]))
        return results

    def scores(
        self,
        queries: Sequence[str | Sequence[str]],
        source: str,
        *,
        part: Part = "all",
        via: str | None = None,
        exact: float | None = None,
    ) -> NDArray[np.float32]:
        """Score of every item for every query: queries × items. For measures; a search needs only the best."""
        weight = self.exact if exact is None else _weight(exact)
        check_sources(self.model, source, *([via] if via else []))
        read = self._read(queries, via or source)
        latent = self._latent(source, self._fold_in(read, via or source), part, via)[0]
        return self._mix(source, read, latent, weight)[0]

    # ---------------------------------------------------------------- examples and tags

    def more_like(
        self, item: str, source: str, *, within: str | None = None, top: int = 10, part: Part = "all"
    ) -> Hits:
        """Items like a given one, in its source or, by the shared part alone, in another (``within``)."""
        _at_least_one(top)
        target = within or source
        check_sources(self.model, source, target)
        position = int(positions(self.model, source, [item])[0])
        H = np.asarray(self.model.encodings_[source][[position]], dtype=np.float64)
        via = source if target != source else None
        latent, q, used = self._latent(target, H, part, via)
        scores = latent[0]
        if target == source:
            scores[position] = 0
        hits = [
            self._hit(target, n, float(scores[n]), float(scores[n]), None, q[0], used, NO_WORDS)
            for n in best(scores, top)
        ]
        message = (
            "" if hits else f"item {item!r} has nothing in the {'shared' if via else part} part; nothing is like it."
        )
        return Hits(hits, query=str(item), message=message)

    def suggest_tags(self, item: str | Sequence[str], source: str, *, top: int = 5) -> pd.DataFrame:
        """Tags for an item of the model (its id) or for a new one (its list of tags), with the topic that brings each.

        A tag's score is its entry in the item as the model rebuilds it. Tags that the item has are left out; for an item
        of the model this needs the sources.
        """
        import pandas as pd

        _at_least_one(top)
        check_sources(self.model, source)
        if isinstance(item, str):
            position = int(positions(self.model, source, [item])[0])
            h = np.asarray(self.model.encodings_[source][position], dtype=np.float64)
            has = self._exact_match(source).has(position) if self._views is not None else NO_WORDS
        else:
            read = self._reader.read(list(item), source, expand=False)
            h, has = self._fold_in([read], source)[0], read.literal
        return pd.DataFrame(Expected(self.model, source).of(h, has, top), columns=list(COLUMNS))

    # ---------------------------------------------------------------- how

    def _read(self, queries: Sequence[str | Sequence[str]], source: str) -> list[Reading]:
        return [self._reader.read(query, source) for query in queries]

    def _fold_in(self, read: Sequence[Reading], source: str) -> NDArray[np.float64]:
        """Encodings of queries on a source's blocks."""
        import scipy.sparse as sp

        rows = sp.vstack([query.vector for query in read], format="csr")
        return np.asarray(self.model.transform(rows, source=source), dtype=np.float64)

    def _latent(
        self, source: str, H: NDArray[np.float64], part: Part, via: str | None
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.intp]]:
        """Cosines of encoded queries with a source's items, the queries on the compared columns, and those columns."""
        check_part(part, "part")
        if via is not None and via != source and part == "private":
            raise ParameterError(
                f"part='private' has nothing that {via!r} and {source!r} both have; they are compared on what both share."
            )
        if via is None or via == source:
            used = columns(self.model, source, part)
            q = H[:, used]
        else:
            used, theirs = self._common_columns(source, via)
            q = H[:, theirs]
        if source not in self._indexes:
            self._indexes[source] = Index(self.model.encodings_[source])
        return self._indexes[source].cosines(q, used), q, used

    def _common_columns(self, source: str, via: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where the blocks that two sources share stand in the encoding of each."""
        common = [block.name for block in layout(self.model, source).blocks if via in block.sources]
        if not common:
            raise ParameterError(
                f"sources {source!r} and {via!r} share no block; nothing of one can be found in the other."
            )
        return layout(self.model, source).columns(common), layout(self.model, via).columns(common)

    def _mix(
        self, source: str, read: Sequence[Reading], latent: NDArray[np.float32], weight: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Scores from cosines and, where it has a weight, the exact match."""
        if not weight:
            return latent, None
        match = self._exact_match(source)
        if self.match == "jaccard":
            exact = np.stack([match.jaccard(query.literal) for query in read])
        else:
            exact = np.stack([match.cosine(query.literal, query.weights) for query in read])
        return (1 - weight) * latent + weight * exact, exact

    def _exact_match(self, source: str) -> ExactMatch:
        if self._views is None:
            raise ParameterError(
                "the exact match needs the items' own words, which a model does not keep; pass the sources: "
                "Retriever(model, sources)."
            )
        if source not in self._matches:
            self._matches[source] = ExactMatch(self._views[source].X)
        return self._matches[source]

    def _find(
        self, source: str, read: Sequence[Reading], top: int, part: Part, via: str | None, weight: float
    ) -> list[list[Hit]]:
        latent, q, used = self._latent(source, self._fold_in(read, via or source), part, via)
        scores, exact = self._mix(source, read, latent, weight)
        found = []
        for n, query in enumerate(read):
            hits = []
            for position in best(scores[n], top) if query.known else ():
                literal = None if exact is None else float(exact[n, position])
                values = float(scores[n, position]), float(latent[n, position]), literal
                hits.append(self._hit(source, int(position), *values, q[n], used, query.literal))
            found.append(hits)
        return found

    def _hit(
        self,
        source: str,
        position: int,
        score: float,
        latent: float,
        exact: float | None,
        q: NDArray[np.float64],
        used: NDArray[np.intp],
        literal: NDArray[np.intp],
    ) -> Hit:
        """A hit with the topics that carried it: the terms of the cosine's sum."""
        terms = q * self._indexes[source].H[position, used]
        terms = terms / total if (total := terms.sum()) > 0 else terms
        order = column_blocks(self.model, source)
        why = tuple(
            Reason(block.name, topic, block.is_shared, float(terms[n]), self._words[block.name][topic])
            for n in best(terms, REASONS)
            for block, topic in [order[used[n]]]
            if terms[n] >= 0.05
        )
        shared = float(sum(term for term, column in zip(terms, used, strict=True) if order[column][0].is_shared))
        matched: tuple[str, ...] = ()
        if self._views is not None and len(literal):
            own = np.intersect1d(self._exact_match(source).has(position), literal)
            matched = tuple(str(word) for word in self._features[own])
        name = str(self._names[source][position])
        metadata = self._metadata_of(source, position)
        return Hit(source, name, position, score, latent, exact, shared, why, matched, metadata)

    def _metadata_of(self, source: str, position: int) -> dict[str, Any]:
        table = self._metadata.get(source)
        if table is None:
            return {}
        return {str(name): _plain(table[name].iloc[position]) for name in table.columns}


def _plain(value: Any) -> Any:
    """A cell as plain Python; nothing for a missing one."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is None or value != value else value


def _matching(model: Any, sources: Any) -> Any:
    """The sources as views, which must be those of the fit."""
    from vennmf.matrices import ViewSet

    views = ViewSet.of(sources)
    for source in model.sources_:
        if source not in views:
            raise SourceError(f"the model was fitted on source {source!r}, which is not among the sources given.")
        expected = len(model.encodings_[source]), model.n_features_in_
        if views[source].shape != expected:
            found = views[source].shape
            raise SourceError(
                f"source {source!r} is {found[0]:,} × {found[1]:,} and the model was fitted on {expected[0]:,} × "
                f"{expected[1]:,}; pass the sources of the fit."
            )
    return views


def _result(hits: list[Hit], read: Sequence[Reading]) -> Hits:
    """Hits with what the sources together made of the query: a word is unknown when none of them knows it."""
    words: dict[str, Sequence[str]] = {}
    for query in read:
        words |= {word: entries for word, entries in query.words.items() if word not in words}
    unknown = {word: near for query in read for word, near in query.unknown.items() if word not in words}
    return Hits(hits, query=read[0].text, words=words, unknown=unknown, message=_message(hits, words, unknown))


def _message(hits: list[Hit], words: Mapping[str, Sequence[str]], unknown: Mapping[str, Sequence[str]]) -> str:
    parts = [f"{w!r} is unknown{f' (near: {chr(44).join(near)})' if near else ''}" for w, near in unknown.items()]
    if not words:
        parts.append("no word of the query is in the vocabulary" if not parts else "nothing to search for")
    elif not hits:
        parts.append("the known words lie outside all topics; nothing was found")
    return "; ".join(parts)


def _weight(value: float) -> float:
    if not 0 <= value <= 1:
        raise ParameterError(f"exact, the weight of the exact match, must be between 0 and 1; found {value!r}.")
    return float(value)


def _at_least_one(top: int) -> None:
    if top < 1:
        raise ParameterError(f"top must be at least 1; found {top!r}.")
