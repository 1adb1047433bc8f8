"""Curves and choices as tables and plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vennmf.applications.ranks.choice import Choice, Curve
from vennmf.applications.ranks.rules import ErrorPath
from vennmf.applications.ranks.suggestion import RankSuggestion

Rules = tuple[Sequence[tuple[str, str, int]], Sequence[tuple[str, ErrorPath]]]


def explain(
    curves: Mapping[str, list[Curve]],
    totals: Mapping[str, Choice],
    shared: Choice,
    rules: Rules,
    penalties: Sequence[tuple[float, float, float]],
) -> RankSuggestion:
    """The answer, its tables and its sentences."""
    import pandas as pd

    rows: list[tuple[str, str, int, float, float, float]] = []
    for source in totals:
        rows += _rows(source, source, curves[f"total/{source}"][0])
    for source, curve in zip(totals, curves.get("shared", []), strict=False):
        rows += _rows("shared", source, curve)
    sentences = [_total(source, choice, curves[f"total/{source}"][0]) for source, choice in totals.items()]
    if "shared" in curves:
        sentences.append(_shared(shared, dict(zip(totals, curves["shared"], strict=True))))
    found, paths = rules
    changes = [
        (of, rank, error, change)
        for of, path in paths
        for rank, error, change in zip(path.ranks, path.errors, (*path.changes, None), strict=True)
    ]
    return RankSuggestion(
        n_components={source: choice.rank for source, choice in totals.items()},
        n_shared=shared.rank,
        why=" ".join(sentences),
        curves=pd.DataFrame(rows, columns=["curve", "source", "rank", "error", "standard_error", "agreement"]),
        rules=pd.DataFrame(found, columns=["rule", "of", "value"]),
        rule_curves=pd.DataFrame(changes, columns=["of", "rank", "error", "change"]),
        orthogonality=pd.DataFrame(
            [(a, fit, penalty, fit + penalty) for a, fit, penalty in penalties],
            columns=["a", "fit", "penalty", "objective"],
        ),
        has_levelled={source: choice.has_levelled for source, choice in totals.items()},
    )


def _rows(name: str, source: str, curve: Curve) -> list[tuple[str, str, int, float, float, float]]:
    columns = (curve.ranks, curve.means.tolist(), curve.standard_errors.tolist(), curve.agreement)
    return [(name, source, *row) for row in zip(*columns, strict=True)]


def _total(source: str, choice: Choice, curve: Curve) -> str:
    at = curve.ranks.index(choice.rank)
    predicted = 1 - curve.means
    start = (
        f"{source!r} needs {choice.rank} component{'s' if choice.rank > 1 else ''}: they predict {predicted[at]:.1%} of "
        f"entries that were held out"
    )
    if choice.has_levelled:
        best = f", and no larger number up to {curve.ranks[-1]} predicts more than {predicted.max():.1%}"
        return f"{start}{best}; different folds find the same ones at a mean cosine of {curve.agreement[at]:.2f}."
    return (
        f"{start}. Larger numbers still predict more, {predicted[-1]:.1%} with {curve.ranks[-1]}, the largest tried, so this "
        f"is where the gain bends and no limit in the data; the folds agree at a mean cosine of {curve.agreement[at]:.2f}."
    )


def _shared(choice: Choice, curves: Mapping[str, Curve]) -> str:
    any_curve = next(iter(curves.values()))
    at = any_curve.ranks.index(choice.rank)
    if choice.rank == 0:
        return "Nothing should be shared: even one common component costs a source some of its prediction."
    start = (
        f"{choice.rank} of them are shared: so many pairs of alike components can be merged at no cost in prediction, and "
        f"the folds find the same ones at a mean cosine of {any_curve.agreement[at]:.2f}"
    )
    if at + 1 < len(any_curve.ranks):
        worst = max(curves, key=lambda source: curves[source].means[at + 1] - curves[source].means[at])
        rise = curves[worst].means[at + 1] - curves[worst].means[at]
        return f"{start}; one more costs {worst!r} {100 * rise:.2g} points of its held-out energy."
    return f"{start}; that is all that the smallest source has."
