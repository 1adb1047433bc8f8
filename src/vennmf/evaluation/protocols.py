"""How methods are compared: five times two folds, Alpaydın's F test, repeated runs, intervals over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vennmf.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


class Fold(NamedTuple):
    """One of the ten cases of a 5 × 2 evaluation."""

    split: int
    fold: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]


class FTest(NamedTuple):
    """The statistic of the combined 5 × 2 cv F test and its p value under F(10, 5)."""

    statistic: float
    p_value: float


def five_by_two(labels: ArrayLike, random_state: int | None = 0) -> Iterator[Fold]:
    """The papers' scheme: five random halvings, half of every class on each side, each half once for training."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    labels = np.asarray(labels)
    names, sizes = np.unique(labels, return_counts=True)
    if sizes.min() < 2:
        raise ParameterError(f"class {names[sizes.argmin()]!r} has one item; halving every class needs at least two.")
    halves = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=random_state)
    for case, (train, test) in enumerate(halves.split(np.zeros((len(labels), 1)), labels)):
        yield Fold(case // 2, case % 2, train, test)


def f_test_5x2(first: ArrayLike, second: ArrayLike) -> FTest:
    r"""Combined 5 × 2 cv F test of two methods' scores, each 5 splits × 2 folds.

    With the differences :math:`p_i^{(1)}, p_i^{(2)}` and their variance :math:`s_i^2` in split i,

    .. math:: f = \frac{\sum_i \sum_j (p_i^{(j)})^2}{2 \sum_i s_i^2} \sim F_{10, 5} .

    E. Alpaydın, *Combined 5 × 2 cv F test for comparing supervised classification learning algorithms*, 1999.
    Two methods with the same scores everywhere do not differ: statistic 0, p value 1.
    """
    from scipy.stats import f

    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    if differences.shape != (5, 2):
        raise ParameterError(f"scores must be 5 splits × 2 folds; found shape {differences.shape}.")
    squares = float((differences**2).sum())
    spread = float(((differences - differences.mean(axis=1, keepdims=True)) ** 2).sum())
    if not squares:
        return FTest(0.0, 1.0)
    statistic = squares / (2 * spread) if spread else float("inf")
    return FTest(statistic, float(f.sf(statistic, 10, 5)))


def bootstrap_interval(
    values: ArrayLike, confidence: float = 0.95, n_resamples: int = 2000, random_state: int | None = 0
) -> tuple[float, float]:
    """Interval of the mean over queries (or runs): percentiles of means of resampled queries. NaNs are left out."""
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return float("nan"), float("nan")
    rng = np.random.default_rng(random_state)
    means = known[rng.integers(len(known), size=(n_resamples, len(known)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def repeated(run: Callable[[int], Mapping[str, float]], n_runs: int = 10, random_state: int = 0) -> pd.DataFrame:
    """Run an experiment with ``n_runs`` seeds; a row for each seed. :func:`summary` makes it mean ± deviation."""
    import pandas as pd

    if n_runs < 1:
        raise ParameterError(f"n_runs must be at least 1; found {n_runs}.")
    seeds = [random_state + n for n in range(n_runs)]
    return pd.DataFrame([dict(run(seed)) for seed in seeds], index=pd.Index(seeds, name="seed"))


def summary(results: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Mean, sample deviation, number of values and bootstrap interval of every numeric column."""
    import pandas as pd

    rows: dict[Any, dict[str, float]] = {}
    for name, column in results.select_dtypes("number").items():
        low, high = bootstrap_interval(column.to_numpy(), confidence)
        rows[name] = {
            "mean": float(column.mean()),
            "deviation": float(column.std()),
            "n": int(column.count()),
            "low": low,
            "high": high,
        }
    return pd.DataFrame.from_dict(rows, orient="index")
