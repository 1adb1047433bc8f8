"""``vennmf fit --dry-run``: memory of a fit from its sizes, time from a few of its iterations."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

from vennmf.cli.messages import say
from vennmf.cli.output import Form, show
from vennmf.cli.recipe import Recipe

TIMED = 4
"""Iterations, after the multiplicative ones that a fit begins with, by which a forecast tells what one takes."""


class Cost(NamedTuple):
    """Seconds of a step of a short fit, and of the rest of it."""

    step: float
    rest: float


def forecast(recipe: Recipe, views: Any, form: Form) -> None:
    """Show what the fit of a recipe will cost; keep nothing of it."""
    import pandas as pd

    estimator = recipe.estimator()
    memory = estimator.forecast(views)
    say("running a few iterations to see what they cost")
    cost = probe(estimator, views)
    steps = estimator.max_iter * estimator.n_init
    table = pd.DataFrame(
        [
            ("items", sum(view.shape[0] for view in views.values()), ""),
            ("words", len(next(iter(views.values())).features), ""),
            ("nonzeros", sum(view.nnz for view in views.values()), ""),
            ("data", memory.data / 2**20, "MiB"),
            ("factors", memory.factors / 2**20, "MiB"),
            ("data and fit at its peak", memory.peak / 2**20, "MiB"),
            ("an iteration", cost.step, "s"),
            (f"at most {steps:,} iterations", cost.rest + steps * cost.step, "s"),
        ],
        columns=["what", "value", "unit"],
        dtype=object,
    )
    show(table, form, "Forecast; nothing was fitted or written")


def probe(estimator: Any, views: Any) -> Cost:
    """Fit twice for a few iterations, since the first fit may compile, and measure the second."""
    from sklearn.base import clone

    from vennmf.solvers import Options

    first = Options().warm_start
    short = clone(estimator).set_params(max_iter=first + TIMED, tol=0, min_change=0, n_init=min(estimator.n_init, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short.fit(views)
        begin = time.perf_counter()
        fitted = short.fit(views)
        whole = time.perf_counter() - begin
    noted = fitted.history_["seconds"]
    step = float(noted[-1] - noted[min(first, len(noted)) - 1]) / max(len(noted) - first, 1)
    return Cost(step, max(whole - short.n_init * len(noted) * step, 0.0))
