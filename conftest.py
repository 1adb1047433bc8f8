"""Run the Python of README.md and of every page under docs/, each page in a folder of its own with small files to read."""

import os
import tempfile
from pathlib import Path

import numpy as np
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

TOPICS = {
    "election": "vote party minister poll candidate parliament ballot campaign leader",
    "climate": "summit climate carbon emissions warming treaty energy scientists forest",
    "travel": "ban airport visa judge border flight passengers order court",
    "football": "goal league match striker coach club penalty season fans",
    "health": "hospital nurses patients doctors ward waiting surgery care trust",
    "congress": "senate committee congress intelligence hearing wiretap chairman",
}
"""Words of the toy articles; the first three topics are in both sources."""


def articles(name, topics, n, seed):
    import pandas as pd

    rng = np.random.default_rng(seed)
    texts, sections = [], []
    for _ in range(n):
        chosen = rng.choice(topics, size=2, p=None)
        words = [w for topic in chosen for w in rng.choice(TOPICS[topic].split(), 12)]
        texts.append(" ".join(words))
        sections.append(chosen[0])
    return pd.DataFrame({"id": [f"{name}{i}" for i in range(n)], "text": texts, "section": sections})


def setup(namespace):
    folder = tempfile.TemporaryDirectory()
    namespace["_folder"], namespace["_before"] = folder, Path.cwd()
    os.chdir(folder.name)
    bbc = articles("bbc", ["election", "climate", "travel", "football", "health"], 120, 0)
    cnn = articles("cnn", ["election", "climate", "travel", "congress"], 100, 1)
    bbc.to_json("bbc.jsonl", orient="records", lines=True)
    cnn.to_parquet("cnn.parquet")


def teardown(namespace):
    os.chdir(namespace["_before"])
    namespace["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md"],
    setup=setup,
    teardown=teardown,
).pytest()
