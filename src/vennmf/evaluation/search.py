"""How good a search is on queries with known answers, and how much weight the exact match should have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vennmf.applications.parts import Part
from vennmf.applications.topics import positions
from vennmf.errors import ParameterError
from vennmf.evaluation.retrieval import average_precision, evaluate_rankings, ranking

if TYPE_CHECKING:
    import pandas as pd

Answers = Mapping[Any, Iterable[str]]
"""The relevant items of each query: ids, or a boolean vector with an entry for each item of the source."""


WEIGHTS = tuple(step / 20 for step in range(21))


class Choice(NamedTuple):
    """The weight of the exact match that ranks best on average, and MAP at every weight tried."""

    weight: float
    curve: pd.DataFrame


def evaluate_search(
    search: Any,
    answers: Answers,
    source: str,
    *,
    exact: float | None = None,
    part: Part = "all",
    via: str | None = None,
    top: Sequence[int] = (10, 20, 50, 100),
    random_state: int | None = 0,
) -> pd.DataFrame:
    """One row for each query: AP, nDCG, P@N and the 11-point curve over the ranking of all items of a source.

    Text or lists of tags are queries; a query that is not understood ranks the items at random.
    """
    relevant = _relevant(search, answers, source)
    scores = search.scores(list(answers), source, exact=exact, part=part, via=via)
    names = [query if isinstance(query, str) else " ".join(query) for query in answers]
    return evaluate_rankings(scores, relevant, queries=names, top=top, random_state=random_state)


def choose_weight(
    search: Any,
    answers: Answers,
    source: str,
    *,
    weights: Sequence[float] = WEIGHTS,
    random_state: int | None = 0,
) -> Choice:
    """The weight of the exact match with the largest MAP on validation queries; the smallest of equal ones.

    Use other queries than those that the result is measured on.
    """
    import pandas as pd

    relevant = _relevant(search, answers, source)
    latent = search.scores(list(answers), source, exact=0.0)
    literal = search.scores(list(answers), source, exact=1.0)
    found = [_map((1 - w) * latent + w * literal, relevant, random_state) for w in weights]
    curve = pd.DataFrame({"weight": list(weights), "MAP": found})
    return Choice(float(weights[int(np.argmax(found))]), curve)


def _map(scores: NDArray[Any], relevant: NDArray[np.bool_], seed: int | None) -> float:
    values = [average_precision(ranking(s, r, seed)) for s, r in zip(scores, relevant, strict=True) if r.any()]
    return float(np.mean(values))


def _relevant(search: Any, answers: Answers, source: str) -> NDArray[np.bool_]:
    """Queries × items: who is relevant."""
    n_items = len(search.model.encodings_[source])
    made = np.zeros((len(answers), n_items), dtype=bool)
    for row, (query, items) in enumerate(answers.items()):
        if isinstance(items, np.ndarray) and items.dtype == bool:
            if items.shape != (n_items,):
                raise ParameterError(
                    f"query {query!r} has {items.shape} marks for the {n_items:,} items of source {source!r}; give one each."
                )
            made[row] = items
        else:
            made[row, positions(search.model, source, [str(item) for item in items])] = True
    if not made.any():
        raise ParameterError("no query has a relevant item; give the ids of at least one.")
    return made
