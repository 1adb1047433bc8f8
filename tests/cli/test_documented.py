"""Every command of the page on the command line runs as printed, in its order."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import vennmf as vn
from vennmf.cli import demo
from vennmf.cli.run import run

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the page says lies in the folder."""
    folder = tmp_path_factory.mktemp("page")
    themes = {
        "climate": "summit climate carbon emissions warming treaty energy forest",
        "election": "vote party minister poll ballot parliament campaign leader",
        "football": "goal league match striker coach club penalty season",
        "travel": "airport visa border flight passengers order judge court",
        "health": "hospital nurses patients doctors ward surgery care trust",
    }
    for source, own, n in (("bbc", "football", 40), ("cnn", "health", 36)):
        rows = []
        for i in range(n):
            theme = ("climate", "election", own, "travel")[i % 4]
            words = themes[theme].split()
            text = " ".join([*words[i % 5 :], *words[: i % 4 + 1]] * 2)
            rows.append({"id": f"{source}{i}", "text": f"Report {text} today", "section": theme})
        table = pd.DataFrame(rows)
        if source == "bbc":
            table.to_json(folder / "bbc.jsonl", orient="records", lines=True)
        else:
            table.to_parquet(folder / "cnn.parquet")
    (folder / "new.jsonl").write_text('{"id": "n1", "text": "a climate summit on carbon", "section": "climate"}\n')
    (folder / "judged.csv").write_text(
        "query,item,relevance\nsummit,bbc0,1\nsummit,bbc3,2\nballot,bbc1,1\nballot,bbc0,0\n"
    )
    rng = np.random.default_rng(0)
    features = np.eye(2, 6)[np.arange(40) % 2] + 0.1 * rng.standard_normal((40, 6))
    vn.PJMF(n_components=2, n_neighbors=5, random_state=0).fit(features, [["sea"], ["city"]] * 20).save(
        folder / "tagger.venn"
    )
    pd.DataFrame(features[:3]).add_prefix("f").assign(id=list("abc")).to_csv(folder / "features.csv", index=False)
    return folder


def tiny(name):
    """A data set of one text, for a page that runs without a network."""
    tables = {"bbc": pd.DataFrame({"id": ["1"], "text": ["a climate summit"]})}
    return vn.datasets.Dataset(name, "t", "l", "c", "features", tables, {"text": "text", "item": "id"})


def test_the_page_has_every_command():
    assert {line.split()[1] for line in COMMANDS} >= {
        "demo", "fit", "ranks", "topics", "search", "cluster", "encode", "tag", "report", "compare", "evaluate", "datasets",
    }  # fmt: skip


def test_every_command_of_the_page_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(demo, "news", demo.planted_news)
    monkeypatch.setattr(demo, "SEEDS", 1)
    monkeypatch.setattr("vennmf.sources.datasets.load", tiny)
    for line in COMMANDS:
        program, *arguments = shlex.split(line)
        assert program == "vennmf"
        code = run(arguments)
        out, err = capsys.readouterr()
        assert code == 0, f"{line}: {err}"
        assert out or "wrote" in err, line
