"""When a gain of one method over another counts: paired over seeds or queries, with a bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from vennmf.evaluation import bootstrap_interval


class Gain(NamedTuple):
    """Mean difference and its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def paired(first: Any, second: Any) -> Gain:
    """The gain of the first over the second, pair by pair."""
    difference = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    return Gain(float(np.nanmean(difference)), *bootstrap_interval(difference))


def by_seed(scores: pd.DataFrame, method: str, other: str, source: str, measure: str = "accuracy") -> Gain:
    """The gain of a method over another on one source, seed by seed."""
    wide = scores[scores["source"] == source].pivot(index="seed", columns="method", values=measure)
    return paired(wide[method], wide[other])


def verdict(gains: Sequence[Gain]) -> str:
    """A gain counts where its interval is above zero."""
    return of_cases([gain.low > 0 for gain in gains])


def of_cases(right: Sequence[bool]) -> str:
    """In all cases, in some, or in none."""
    return "holds" if all(right) else "holds in part" if any(right) else "does not hold here"


def told(gains: Sequence[Gain], names: Sequence[str]) -> str:
    return "; ".join(
        f"{name} {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]" for name, gain in zip(names, gains, strict=True)
    )


def spread(values: Any, digits: int = 3) -> str:
    """Mean ± sample deviation."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if len(known) < 2:
        return f"{known.mean():.{digits}f}" if len(known) else ""
    return f"{known.mean():.{digits}f} ± {known.std(ddof=1):.{digits}f}"
