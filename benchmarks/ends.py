"""Where two solvers end that begin alike: relative errors from many starts, after 400 iterations each. A Markdown table.

    python -m benchmarks.ends [--quick]

The objective has many local minima. One start says little about which solver finds the lower ones; this says how far the ends of
ten starts lie apart, and how often ours is the lower of two from the same start.
"""

from __future__ import annotations

import argparse
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.engine import by_scikit_learn, by_vennmf, problem_of
from benchmarks.material import planted_tags, stacked_tags
from vennmf.errors import VennmfError
from vennmf.solvers import Options, Problem
from vennmf.solvers.initialise import initialise


def ours(problem: Problem, start: dict[str, Any], steps: int) -> float:
    return by_vennmf(problem, start, Options(max_iter=steps, tol=0, min_change=0)).objective


def theirs(problem: Problem, start: dict[str, Any], steps: int) -> float:
    """The end of scikit-learn's coordinate descent, by our objective."""
    return problem.objective(by_scikit_learn(problem.views["data"].X, start, steps)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="planted data, two starts, few steps")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, said = planted_tags(2_000, 1_000), "Planted tags"
    with suppress(VennmfError):
        X, said = (X, said) if quick else (stacked_tags(), "Tags of MIRFlickr and NUS-WIDE")
    starts, steps = (2, 30) if quick else (10, 400)
    print(
        "| data | solver | relative error: mean | deviation | lowest | ours is lower |\n| --- | --- | --- | --- | --- | --- |"
    )
    for k in (10,) if quick else (10, 50):
        problem = problem_of(X, k)
        found: dict[str, list[float]] = {"vennmf": [], "scikit-learn, coordinate descent": []}
        for seed in range(starts):
            start = initialise(problem, "random", np.random.default_rng(seed))
            for ends, solve in zip(found.values(), (ours, theirs), strict=True):
                ends.append(solve(problem, start, steps))
        errors = {name: np.sqrt(2 * np.array(values)) for name, values in found.items()}
        for name, error in errors.items():
            lower = "" if name == "vennmf" else f"{int(np.sum(errors['vennmf'] < error))} of {starts}"
            print(
                f"| {said}, k = {k} | {name} | {error.mean():.5f} | {error.std():.5f} | {error.min():.5f} | {lower} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
