"""What the demo tells its story about: news of two outlets, or planted articles where there is no network."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SAID = """
    said says say saying told mr mrs ms people just like new year years time ve ll don didn doesn isn wasn lot really
    think know going went got make way come want day
"""
"""Words of every article, beside the usual stop words."""

SHARED = ("election", "weather", "football", "markets", "climate")
FIRST = ("railways", "hospitals", "theatre")
SECOND = ("wildfires", "baseball", "congress")


@dataclass(frozen=True)
class Story:
    """Two sources, how they are read and fitted, and what is asked of them."""

    names: tuple[str, str]
    titles: Mapping[str, str]
    about: str
    tables: Mapping[str, Any]
    read: Mapping[str, Any]
    n_components: int
    n_shared: int
    queries: Sequence[str]
    labels: str


def news() -> Story:
    """BBC and CNN, winter 2016/17; an error where they are not here and cannot be fetched."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    from vennmf.sources import datasets

    logging.getLogger("vennmf.datasets").setLevel(logging.ERROR)  # licence and citation stand in the story itself
    loaded = datasets.load("news_channels_2017").only("bbc", "cnn")
    stop = sorted(ENGLISH_STOP_WORDS | set(SAID.split()))
    return Story(
        ("bbc", "cnn"),
        {"bbc": "the BBC", "cnn": "CNN"},
        f"News of winter 2016/17. {loaded.citation}",
        loaded.tables,
        {"text": "text", "item": "id", "stop_words": stop, "min_count": 5, "drop_repeated": 5, "max_share": 0.25},
        18,
        10,
        ("dutch election", "travel ban"),
        "label",
    )


def planted_news() -> Story:
    """Articles of two invented outlets: five themes of both, three of each alone, with noise and missing words."""
    import pandas as pd

    from vennmf.sources.planted import planted

    themes = {"all": SHARED, "north": FIRST, "south": SECOND}
    truth = planted(
        {name: len(parts) for name, parts in themes.items()},
        {"north": 160, "south": 140},
        132,
        sparse=True,
        noise=0.01,
        missing=0.2,
        random_state=4,
    )
    word = {}
    for feature in truth.words:
        part, _, number = str(feature).partition("/w")
        block, _, at = part.partition(".")
        word[feature] = f"{themes[block][int(at)]}-{number}"
    tables = {}
    for source, items in truth.tags().items():
        parts = [theme for block in truth.blocks if source in truth.members[block] for theme in themes[str(block)]]
        shares = truth.encodings[source] / truth.encodings[source].sum(axis=1, keepdims=True)
        strongest = [parts[n] for n in shares.argmax(axis=1)]
        themes_of = [" and ".join(parts[n] for n in (-row).argsort() if row[n] > 0.2) for row in shares]
        tables[source] = pd.DataFrame(
            {
                "id": [f"{source}-{n}" for n in range(len(items))],
                "tags": [[word[tag] for tag in tags] for tags in items],
                "title": [f"No. {n}, on {named}" for n, named in enumerate(themes_of, start=1)],
                "label": strongest,
            }
        )
    return Story(
        ("north", "south"),
        {"north": "the North Post", "south": "the South Post"},
        "Planted articles of two invented papers: which themes both have and which are one's own is known.",
        tables,
        {"tags": "tags", "item": "id"},
        8,
        5,
        ("election", "railways"),
        "label",
    )
