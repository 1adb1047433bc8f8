"""The papers' experiments are listed, refused by name, and run with their reports where they should go."""

import json

import pytest

from vennmf.cli import reproduce
from vennmf.errors import SourceError

SCRIPT = '''"""A small experiment: what it shows."""
import sys
from pathlib import Path

if __name__ == "__main__":
    out = Path(sys.argv[sys.argv.index("-o") + 1])
    out.mkdir(parents=True, exist_ok=True)
    (out / "small.md").write_text(" ".join(sys.argv[3:]))
    print("to whom it may concern")
    sys.exit(Path(__file__).stem == "broken")
'''


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "small_one.py").write_text(SCRIPT)
    names = {"broken": "broken.py", "small-one": "small_one.py", "not-here": "not_here.py"}
    monkeypatch.setattr(reproduce, "EXPERIMENTS", names)
    (folder / "broken.py").write_text(SCRIPT)
    (folder / "helper.py").write_text('"""Not run alone."""\n')
    monkeypatch.setattr(reproduce.experiments, "__defaults__", (folder,))
    return folder


def test_experiments_are_listed_with_what_they_show(scripts, vennmf):
    code, out, _ = vennmf("reproduce", "--json")
    assert code == 0
    assert [(row["name"], row["what"]) for row in json.loads(out)] == [
        ("broken", "A small experiment: what it shows."),
        ("small-one", "A small experiment: what it shows."),
    ]


def test_an_experiment_writes_its_report_where_it_was_told(scripts, tmp_path, vennmf):
    code, out, _ = vennmf("reproduce", "small-one", "--quick", "-o", tmp_path / "reports", "--json")
    assert code == 0
    assert json.loads(out)[0]["result"] == "done"
    assert (tmp_path / "reports" / "small.md").read_text() == "--quick"


def test_a_failure_is_told_and_the_others_still_run(scripts, tmp_path, vennmf):
    code, out, _ = vennmf("reproduce", "--all", "-o", tmp_path, "--json")
    assert code == 1
    assert [row["result"] for row in json.loads(out)] == ["failed with exit code 1", "done"]


def test_unknown_experiments_are_refused_with_the_names_there_are(scripts, vennmf):
    code, _, err = vennmf("reproduce", "great-one")
    assert code == 2
    assert "broken, small-one" in err


def test_an_installed_package_says_where_the_experiments_are(tmp_path):
    with pytest.raises(SourceError, match="checkout"):
        reproduce.experiments(tmp_path)


def test_every_experiment_of_this_checkout_has_its_script_and_says_what_it_shows():
    found = reproduce.experiments()
    assert list(found) == list(reproduce.EXPERIMENTS)
    assert all(reproduce.about(path) for path in found.values())
