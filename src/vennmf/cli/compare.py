"""``vennmf compare``: which topics of two models are the same."""

from __future__ import annotations

from pathlib import Path

import vennmf
from vennmf.cli.messages import say
from vennmf.cli.output import Form, show

SAME = 0.8
"""Cosine from which on two topics read as one."""


def compare(first: Path, second: Path, words: int, form: Form) -> None:
    """Topics matched one to one, best match first; on stderr how many of them are the same."""
    from vennmf.applications.topics import compare_models

    models = vennmf.load(first), vennmf.load(second)
    table = compare_models(*models, words=words)
    sizes = [sum(len(part) for part in model.components_.values()) for model in models]
    alike = int((table["cosine"] >= SAME).sum())
    say(
        f"{alike} topics are the same, at a cosine of {SAME} or more; {first.name} has {sizes[0]}, {second.name} {sizes[1]}"
    )
    show(table, form, f"Topics of {first.name} beside those of {second.name}")
