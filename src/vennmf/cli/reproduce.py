"""``vennmf reproduce``: the papers' experiments, run from a checkout, which holds their scripts."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from vennmf.cli.messages import say
from vennmf.cli.output import Form, show
from vennmf.errors import ParameterError, SourceError

SCRIPTS = Path(__file__).parents[3] / "benchmarks" / "papers"
STDERR = 2

EXPERIMENTS = {
    "tag-search": "tag_search.py",
    "rec-talk": "rec_talk.py",
    "bbc-cnn": "bbc_cnn.py",
    "convergence": "convergence.py",
    "faces": "faces.py",
    "occlusion": "occlusion.py",
    "tagging": "tagging_report.py",
    "multiview": "multiview.py",
    "toy": "toy.py",
}
"""Scripts in the order of the papers; each takes ``-o FOLDER`` and ``--quick`` and writes its own report."""


def experiments(folder: Path = SCRIPTS) -> dict[str, Path]:
    """The scripts that can be run, by name."""
    found = {name: folder / script for name, script in EXPERIMENTS.items() if (folder / script).is_file()}
    if not found:
        raise SourceError(
            f"there are no experiments in {folder}; they are part of a checkout of the project, not of the package."
        )
    return found


def about(path: Path) -> str:
    """The first line of what a script says of itself."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def chosen(names: Sequence[str], everything: bool, known: Sequence[str]) -> list[str]:
    """The experiments asked for; an error names the first that there is not."""
    for name in names:
        if name not in known:
            raise ParameterError(f"there is no experiment {name!r}; there are {', '.join(known)}.")
    if names and everything:
        raise ParameterError("pass names of experiments or --all, not both.")
    return list(known) if everything else list(names)


def reproduce(names: Sequence[str], everything: bool, quick: bool, output: Path, form: Form) -> None:
    """Run the chosen experiments and write a report of each; without any, list them."""
    known = experiments()
    wanted = chosen(names, everything, list(known))
    if not wanted:
        show(pd.DataFrame([(n, about(p)) for n, p in known.items()], columns=["name", "what"]), form, "Experiments")
        return
    rows = []
    for name in wanted:
        code = _run(name, known[name], output, quick)
        rows.append((name, "done" if code == 0 else f"failed with exit code {code}", str(output)))
    show(pd.DataFrame(rows, columns=["name", "result", "reports"]), form, "Reports")
    if any(result != "done" for _, result, _ in rows):
        raise SystemExit(1)


def _run(name: str, script: Path, output: Path, quick: bool) -> int:
    """One script, in a process of its own; what it says goes to stderr."""
    say(f"running {name}: {script.name}")
    command = [sys.executable, str(script), "-o", str(output.absolute()), *(["--quick"] if quick else [])]
    return subprocess.run(command, stdout=STDERR, check=False).returncode
