"""Commands that ask a saved model: topics, search, cluster, encode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vennmf
from vennmf.cli.messages import say
from vennmf.cli.output import Form, show, show_json
from vennmf.cli.recipe import named_values, sizes
from vennmf.errors import ParameterError, SourceError

if TYPE_CHECKING:
    import pandas as pd


def topics(path: Path, top: int, block: str | None, ways: Sequence[str], form: Form) -> None:
    """The topics of a model, in one of several ways."""
    from vennmf.applications.topics import topic_items, topic_sizes
    from vennmf.applications.topics import topics as topic_table

    if len(ways) > 1:
        raise ParameterError(f"choose one of {' and '.join('--' + way for way in ways)}.")
    model = vennmf.load(path)
    show_as = {"long": topic_table, "items": topic_items, "by-item": _by_item}
    table = show_as[ways[0]](model, top) if ways else shares(topic_sizes(model, top))
    if block is not None:
        known = list(dict.fromkeys(table["block"]))
        if block not in known:
            raise ParameterError(f"there is no block {block!r}; the model has {', '.join(map(repr, known))}.")
        table = table[table["block"] == block]
    show(table, form, f"Topics of {path.name}")


def _by_item(model: Any, top: int) -> pd.DataFrame:
    """The topics that each item of each source uses."""
    import pandas as pd

    from vennmf.applications.topics import item_topics

    tables = []
    for source in model.sources_:
        table = item_topics(model, source, top=top)
        table.insert(0, "source", source)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def shares(sizes: pd.DataFrame) -> pd.DataFrame:
    """One row for each topic, a column for its share of each source."""
    sources = list(dict.fromkeys(sizes["source"]))
    wide = sizes.pivot_table(index=["block", "topic", "words"], columns="source", values="share", sort=False)
    return wide[sources].reset_index()[["block", "topic", *sources, "words"]].rename_axis(columns=None)


@dataclass(frozen=True)
class Search:
    """Where and how to search."""

    source: str | None
    top: int
    part: str
    via: str | None
    like: str | None
    within: str | None
    exact: float | None
    data: Sequence[str]


def search(path: Path, queries: Sequence[str], wanted: Search, form: Form) -> None:
    """Hits of each query, or of an example."""
    if bool(queries) == (wanted.like is not None):
        raise ParameterError("give words to search for, or an item with --like, one of the two.")
    if wanted.within is not None and wanted.like is None:
        raise ParameterError("--in says where to look for items like the one of --like; for words, use --source.")
    model = vennmf.load(path)
    found = retriever(model, wanted.data, wanted.exact)
    part: Any = wanted.part
    if wanted.like is not None:
        if wanted.source is None:
            raise ParameterError("--like needs --source, the source that the item is in.")
        results = [found.more_like(wanted.like, wanted.source, within=wanted.within, top=wanted.top, part=part)]
    else:
        results = found.many(queries, wanted.source, top=wanted.top, part=part, via=wanted.via)
    if form is Form.JSON:
        show_json([_as_json(hits) for hits in results])
        return
    import pandas as pd

    for hits in results:
        if hits.message:
            say(f"{hits.query!r}: {hits.message}")
    if form is not Form.TABLE:
        tables = [hits.to_frame().assign(query=hits.query) for hits in results]
        show(pd.concat([t for t in tables if len(t)] or tables[:1], ignore_index=True), form)
        return
    for hits in results:
        if len(hits):
            show(_readable(hits), form, hits.query)


def _as_json(hits: Any) -> dict[str, Any]:
    said = {"query": hits.query, "words": hits.words, "unknown": hits.unknown, "message": hits.message}
    return said | {"hits": hits.to_dicts()}


def _readable(hits: Any) -> pd.DataFrame:
    """What a person wants to see of hits."""
    import pandas as pd

    rows = []
    for hit in hits:
        name = next((str(hit.metadata[key]) for key in ("title", "name") if hit.metadata.get(key)), hit.item)
        why = f"{hit.why[0].block}: {' '.join(hit.why[0].words[:4])}" if hit.why else ""
        rows.append((f"{hit.score:.3f}", hit.source, hit.item, name[:70], f"{hit.shared:.0%}", why))
    table = pd.DataFrame(rows, columns=["score", "source", "item", "title", "shared", "why"])
    return table if (table["title"] != table["item"]).any() else table.drop(columns="title")


def retriever(model: Any, data: Sequence[str], exact: float | None) -> Any:
    """A retriever, with the data of its sources where they are named."""
    from vennmf.applications.retrieve import Retriever

    if not data:
        if exact:
            raise ParameterError("--exact compares the items' own words; pass their files with --data NAME=FILE.")
        return Retriever(model)
    places = named_values(data, "--data")
    missing = [source for source in model.sources_ if source not in places]
    if missing:
        raise SourceError(f"--data lacks source {missing[0]!r}; the exact match needs the file of every source.")
    for source in places:
        if source not in model.encoders_:
            raise SourceError(f"--data names {source!r}, which was not read from a file; it cannot be read again.")
    rows = {source: model.encoders_[source].encode(place) for source, place in places.items()}
    return Retriever(model, rows, exact=exact or 0.0)


@dataclass(frozen=True)
class Clustering:
    """What to cluster, into how many, and what to show of it."""

    k: str
    space: Any
    source: str | None
    together: bool
    items: bool
    labels: str | None
    common: bool
    seed: int

    def run(self, model: Any, space: Any) -> Any:
        """The clusters of each source in one space."""
        from vennmf.applications.cluster import joint_cluster

        names = None if self.source is None else [self.source]
        return joint_cluster(
            model, sizes(self.k, "-k"), space=space, sources=names, together=self.together, random_state=self.seed
        )


def cluster(path: Path, wanted: Clustering, form: Form) -> None:
    """Clusters of the items of each source, and how they meet known classes."""
    if wanted.items and wanted.labels is not None:
        raise ParameterError("--items shows items and --labels measures clusters; choose one.")
    if wanted.common and wanted.labels is None:
        raise ParameterError("--common says which classes are common; name their column with --labels.")
    model = vennmf.load(path)
    if wanted.common:
        shared, private = wanted.run(model, "shared"), wanted.run(model, "private")
        show(_common(model, shared, private, str(wanted.labels)), form, f"Which classes of {wanted.labels} are common")
        return
    found = wanted.run(model, wanted.space)
    if wanted.labels is not None:
        show(_measured(model, found, wanted.labels), form, f"Clusters against {wanted.labels}")
    elif wanted.items:
        show(found.to_frame(), form)
    else:
        show(found.summary(), form, f"Clusters of {path.name}, {wanted.space} columns")


def _classes(model: Any, sources: Iterable[str], labels: str) -> Iterator[tuple[str, Any, Any]]:
    """The sources with known classes: name, which items have one, and these."""
    some = False
    for source in sources:
        table = model.metadata_.get(source)
        if table is None or labels not in table.columns:
            known = "none" if table is None else ", ".join(map(repr, table.columns))
            raise ParameterError(f"source {source!r} has no metadata column {labels!r}; it has {known}.")
        filled = table[labels].notna().to_numpy()
        if filled.any():
            some = True
            yield source, filled, table[labels][filled].astype(str)
    if not some:
        raise ParameterError(f"no source has a value in column {labels!r}.")


def _measured(model: Any, found: Any, labels: str) -> pd.DataFrame:
    import pandas as pd

    from vennmf.evaluation import clustering_scores

    return pd.DataFrame(
        [
            {"source": source, "items": int(filled.sum()), **clustering_scores(classes, found[source][filled])}
            for source, filled, classes in _classes(model, found, labels)
        ]
    )


def _common(model: Any, shared: Any, private: Any, labels: str) -> pd.DataFrame:
    """The second paper's test, class by class: purer in the shared part than in the private one."""
    import pandas as pd

    from vennmf.evaluation import purity_ratios

    tables = []
    for source, filled, classes in _classes(model, shared, labels):
        table = purity_ratios(classes, shared[source][filled], private[source][filled]).reset_index()
        table.insert(0, "source", source)
        table["common"] = table["common"].astype(object).where(table["purity_ratio"].notna(), None)
        tables.append(table.drop(columns="entropy_ratio"))
    return pd.concat(tables, ignore_index=True)


def encode(
    path: Path,
    data: str,
    source: str,
    top: int,
    encodings: bool,
    append: bool,
    output: Path | None,
    force: bool,
    form: Form,
) -> None:
    """Encodings of new items; with ``append`` a model that has them."""
    from vennmf.applications.encode import append_items, encode_items
    from vennmf.cli.fit import writable

    if append != (output is not None):
        raise ParameterError("--append and -o belong together: the grown model goes to the file after -o.")
    if output is not None:
        writable(output, force)
    model = vennmf.load(path)
    given = data if "://" in data else Path(data)  # a file, never a text to encode
    if output is not None:
        grown, new = append_items(model, given, source=source)
        grown.save(output)
        say(f"saved {output}, {len(grown.encodings_[source]):,} items of {source!r}")
    else:
        new = encode_items(model, given, source=source)
    say(str(new.drift))
    show(
        new.to_frame() if encodings else _strongest(model, new, top),
        form,
        "" if encodings else "Topics of the new items",
    )


def _strongest(model: Any, new: Any, top: int) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    from vennmf.applications.index import best
    from vennmf.applications.parts import column_blocks
    from vennmf.applications.topics import topic_words

    short, order = topic_words(model), column_blocks(model, new.source)
    rows = []
    for item, h in zip(new.items, np.asarray(new.encodings, dtype=float) ** 2, strict=True):
        for rank, column in enumerate(best(h, top), start=1):
            block, topic = order[column]
            words = " ".join(short[block.name][topic])
            rows.append((item, rank, block.name, topic, float(h[column] / h.sum()), words))
    return pd.DataFrame(rows, columns=["item", "rank", "block", "topic", "share", "words"])
