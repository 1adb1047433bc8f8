"""``vennmf evaluate``: a search measured on a person's own judgements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import vennmf
from vennmf.cli.ask import retriever
from vennmf.cli.messages import say
from vennmf.cli.output import Form, show
from vennmf.cli.tables import read_table
from vennmf.errors import ParameterError, SourceError

WEIGHTS = (0.3, 0.5, 0.7)


def evaluate(path: Path, qrels: Path, source: str, data: Sequence[str], by_query: bool, form: Form) -> None:
    """Latent search, and with the data also the exact match and mixtures of both."""
    import pandas as pd

    from vennmf.applications.topics import item_names
    from vennmf.evaluation import bootstrap_interval, evaluate_search

    model = vennmf.load(path)
    if source not in model.sources_:
        raise SourceError(f"there is no source {source!r}; the model has {', '.join(map(repr, model.sources_))}.")
    answers, unknown = read_answers(qrels, set(item_names(model, source).astype(str)))
    if unknown:
        say(f"warning: {unknown:,} judged items are not in source {source!r}; they are left out")
    found = retriever(model, data, 0.0)
    ways = {"latent": 0.0}
    if data:
        ways |= {"exact": 1.0, **{f"hybrid {weight}": weight for weight in WEIGHTS}}
    tables = {way: evaluate_search(found, answers, source, exact=weight) for way, weight in ways.items()}
    if by_query:
        parts = [table.reset_index().assign(way=way) for way, table in tables.items()]
        show(pd.concat(parts, ignore_index=True), form, f"Search in {source}")
        return
    rows = []
    for way, table in tables.items():
        low, high = bootstrap_interval(table["AP"])
        means = table[[name for name in table.columns if name.startswith("P@") or name == "nDCG"]].mean()
        rows.append({"way": way, "queries": len(table), "MAP": table["AP"].mean(), "low": low, "high": high, **means})
    show(pd.DataFrame(rows), form, f"Search in {source}: means over queries, 95 % interval of MAP")


def read_answers(path: Path, known: set[str]) -> tuple[dict[str, list[str]], int]:
    """The relevant items of each query, and how many judged items the source does not have."""
    table = read_table(path)
    for column in ("query", "item"):
        if column not in table.columns:
            raise SourceError(
                f"{path.name} has no column {column!r}; it has {', '.join(map(repr, table.columns))}. Expected query, item "
                "and, if you like, relevance."
            )
    if "relevance" in table.columns:
        import pandas as pd

        relevance = pd.to_numeric(table["relevance"], errors="coerce")
        if relevance.isna().any():
            row = int(relevance.isna().to_numpy().argmax())
            raise SourceError(f"{path.name}, row {row + 1}: relevance {table['relevance'].iloc[row]!r} is no number.")
        table = table[relevance > 0]
    answers: dict[str, list[str]] = {}
    unknown = 0
    for query, item in zip(table["query"].astype(str), table["item"].astype(str), strict=True):
        if item in known:
            answers.setdefault(query, []).append(item)
        else:
            unknown += 1
    if not answers:
        raise ParameterError(
            f"{path.name} names no relevant item of the source; check its ids ({unknown:,} are unknown)."
        )
    return answers, unknown
