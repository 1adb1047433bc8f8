"""``vennmf evaluate``: a search measured on a person's own judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import vennmf
from vennmf.cli.ask import retriever
from vennmf.cli.messages import say
from vennmf.cli.output import Form, show
from vennmf.cli.tables import read_table
from vennmf.errors import ParameterError, SourceError

if TYPE_CHECKING:
    import pandas as pd

WEIGHTS = tuple(step / 10 for step in range(1, 10))
"""Weights of the exact match that are tried."""

ENOUGH = 4
"""Queries from which on a weight is chosen on one half of them and measured on the other."""


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
    tables = {"latent": evaluate_search(found, answers, source, exact=0.0)}
    if data:
        tables["exact"] = evaluate_search(found, answers, source, exact=1.0)
        mixed = {weight: evaluate_search(found, answers, source, exact=weight) for weight in WEIGHTS}
        tables |= _hybrids(mixed)
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


def _hybrids(mixed: Mapping[float, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The best mixture, and what a weight chosen on half of the queries gives on the other half, both ways round."""
    import pandas as pd

    precision = pd.DataFrame({weight: table["AP"] for weight, table in mixed.items()})
    best = _best(precision)
    say(f"on these queries --exact {best} is the best mixture")
    tables = {f"hybrid {best}": mixed[best]}
    if len(precision) >= ENOUGH:
        halves = [slice(0, None, 2), slice(1, None, 2)]
        chosen = [
            mixed[_best(precision.iloc[other])].iloc[half] for half, other in zip(halves, halves[::-1], strict=True)
        ]
        tables["hybrid, chosen on other queries"] = pd.concat(chosen)
    return tables


def _best(precision: pd.DataFrame) -> float:
    """The weight whose column has the largest mean."""
    return float(precision.columns[int(precision.mean().argmax())])


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
