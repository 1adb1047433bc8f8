"""Reports: what one holds, when a claim holds, runs that go on, and that the reports in the documentation keep to it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from claims import Gain, by_seed, of_cases, paired, spread, verdict  # isort: skip
from kept import Kept  # isort: skip
from report import VERDICTS, Report  # isort: skip

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
COMMITTED = sorted(path for path in EVIDENCE.glob("*.json") if "setup" in json.loads(path.read_text()))
MOST_BYTES = 60_000


def check(folder, name):
    """The structure that every report has, its tables in text and data alike."""
    data = json.loads((folder / f"{name}.json").read_text())
    text = (folder / f"{name}.md").read_text()
    assert {"name", "title", "command", "versions", "setup", "claims", "tables", "seconds"} <= set(data)
    assert {"data", "protocol", "seeds", "differs"} <= set(data["setup"])
    assert data["setup"]["seeds"]
    assert data["setup"]["differs"]
    assert data["tables"]
    assert data["command"].startswith("python benchmarks/papers/")
    for claim in data["claims"]:
        assert claim["verdict"] in VERDICTS
        assert f"| {claim['claim']} | **{claim['verdict']}** | {claim['figures']} |" in text
    for table in data["tables"].values():
        assert all(f"| {row} |" in text for row in table)
    for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", text):
        assert 0 < (folder / picture).stat().st_size < MOST_BYTES
    return data


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_reports_in_the_documentation_are_whole(path):
    data = check(EVIDENCE, path.stem)
    assert data["name"] == path.stem
    assert "/work" not in path.read_text() + path.with_suffix(".md").read_text()


def test_the_index_counts_the_verdicts_of_the_reports():
    index = (EVIDENCE / "README.md").read_text()
    for path in COMMITTED:
        verdicts = [claim["verdict"] for claim in json.loads(path.read_text())["claims"]]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in VERDICTS)
        assert re.search(rf"\[{path.stem}\]\({path.stem}\.md\) \|.*\| {re.escape(counts)} \|", index), path.stem


def test_a_report_is_written_for_people_and_for_programs(tmp_path):
    report = Report("small", "A small one", tmp_path)
    report.setup(data="None.", protocol="Looking.", seeds=range(3), differs=["All of it."])
    report.table("scores", pd.DataFrame({"accuracy": [0.5, np.nan]}, index=["a", "b"]), "scores of two")
    report.claim("a is better", "holds in part", "a +0.1")
    report.write()
    data = check(tmp_path, "small")
    assert data["tables"]["scores"]["a"]["accuracy"] == 0.5
    assert data["setup"]["seeds"] == [0, 1, 2]
    assert "| b |  |" in (tmp_path / "small.md").read_text()


def test_a_gain_counts_where_its_interval_is_above_zero():
    sure, unsure = Gain(0.1, 0.05, 0.15), Gain(0.1, -0.05, 0.2)
    assert verdict([sure, sure]) == "holds"
    assert verdict([sure, unsure]) == "holds in part"
    assert verdict([unsure]) == "does not hold here"
    assert [of_cases(c) for c in ([True, True], [True, False], [False])] == list(VERDICTS)


def test_gains_are_paired_by_seed():
    scores = pd.DataFrame(
        [("a", 0, 0.9), ("b", 0, 0.5), ("a", 1, 0.3), ("b", 1, 0.1)], columns=["method", "seed", "accuracy"]
    ).assign(source="s")
    assert by_seed(scores, "a", "b", "s").mean == pytest.approx(0.3)
    assert paired([1, 2, np.nan], [0, 0, 0]).mean == pytest.approx(1.5)


def test_spread_is_mean_and_sample_deviation():
    assert spread([1.0, 3.0]) == "2.000 ± 1.414"
    assert spread([1.0, np.nan], 1) == "1.0"
    assert spread([]) == ""


def test_runs_go_on_where_they_were_stopped(tmp_path):
    path, asked = tmp_path / "runs.jsonl", []

    def once(case):
        asked.append(case["n"])
        return {"double": 2 * case["n"]}

    Kept(path).measure([{"n": 1}, {"n": 2}], once)
    found = Kept(path).measure([{"n": 1}, {"n": 2}, {"n": 3}], once)
    assert asked == [1, 2, 3]
    assert found["double"].to_list() == [2, 4, 6]
    assert Kept(path, closed=True).measure([{"n": 2}, {"n": 9}], once)["n"].to_list() == [2]


@pytest.mark.slow
def test_the_toy_of_the_fifth_paper_is_told(tmp_path):
    script = ROOT / "benchmarks" / "papers" / "toy.py"
    subprocess.run([sys.executable, str(script), "--runs", "2", "-o", str(tmp_path)], check=True, capture_output=True)
    data = check(tmp_path, "toy")
    rows = data["tables"]["recovered"]
    assert set(rows) == {"MCL", "MCL, α = 0.1", "β = 0", "α = 0"}
    verdicts = {claim["claim"].split(" (")[0]: claim["verdict"] for claim in data["claims"]}
    assert verdicts["without the column maxima"] != "does not hold here"
