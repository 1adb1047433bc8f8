"""Photos with their users' tags and what is really on them, and sources that may help to search them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import vennmf as vn

WORDS = {"animals": "animal", "plant_life": "plant", "structures": "building", "transport": "vehicle"}
WORDS |= {"female": "woman", "male": "man"}
"""What is typed to find a concept whose name is no tag."""
SIZE = 7000
"""Items of an auxiliary source, as in the first paper; all of it where it has fewer."""
ASIDE = {"MIRFlickr": 7000, "NUS-WIDE": 3500}
"""Items of a target that are set aside as its internal auxiliary."""


@dataclass(frozen=True, eq=False)
class Target:
    """Items to be searched, others of the same site set aside, and which of the items each query should find."""

    items: pd.DataFrame
    aside: pd.DataFrame
    answers: dict[str, np.ndarray]


def target(name: str) -> Target:
    dataset, labels = {"MIRFlickr": ("mirflickr25k", "concepts"), "NUS-WIDE": ("nuswide_10k5", "concepts21")}[name]
    data = vn.datasets.load(dataset)
    table, marks = data.tables[dataset][["image", "tags"]], data.labels[labels]
    relevant = np.asarray(marks.toarray() if hasattr(marks, "toarray") else marks).astype(bool)
    order = np.random.default_rng(0).permutation(len(table))
    aside, items = np.sort(order[: ASIDE[name]]), np.sort(order[ASIDE[name] :])
    names = [WORDS.get(str(concept), str(concept)) for concept in data.classes[labels]]
    answers = {query: relevant[items, column] for column, query in enumerate(names)}
    return Target(table.iloc[items].reset_index(drop=True), table.iloc[aside].reset_index(drop=True), answers)


def auxiliary(name: str, of: Target) -> pd.DataFrame:
    """A sample of another source as a table with ``image`` and ``tags``; items without tags are left out."""
    table = of.aside if name == "internal" else READERS[name]()
    table = table[[len(tags) > 0 for tags in table["tags"]]]
    sample = table.sample(min(SIZE, len(table)), random_state=0).reset_index(drop=True)
    return sample.assign(image=[f"aux {n}" for n in range(len(sample))])


def _of(dataset: str, image: str, tags: str) -> pd.DataFrame:
    table = vn.datasets.load(dataset).tables[dataset].rename(columns={image: "image"})
    return pd.DataFrame({"image": table["image"], "tags": [_list(cell) for cell in table[tags]]})


def _list(cell: Any) -> list[str]:
    return cell.split() if isinstance(cell, str) else list(cell) if isinstance(cell, list | np.ndarray) else []


def _youtube() -> pd.DataFrame:
    """Tags of several words are cut into words, as photo tags are single ones."""
    table = _of("youtube_trending_2017", "video_id", "tags")
    return table.assign(tags=[[word for tag in tags for word in tag.split()] for tags in table["tags"]])


READERS = {
    "NUS-WIDE tags": lambda: _of("nuswide_10k5", "image", "tags"),
    "NUS-WIDE concepts": lambda: _of("nuswide_10k5", "image", "labels81"),
    "MIRFlickr tags": lambda: _of("mirflickr25k", "image", "tags"),
    "COCO objects": lambda: _of("coco_objects", "row", "objects"),
    "caption words": lambda: _of("flickr8k_captions", "image", "words"),
    "Instagram": lambda: _of("harrison_instagram", "image", "tags"),
    "YouTube": _youtube,
}
