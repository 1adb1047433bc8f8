"""How a fit should begin: what multiplicative and relaxed iterations are worth. A Markdown table for each question.

    python -m benchmarks.first_steps [--draws 30] [--only parts objectives]

Parts: how many planted draws are found whole (each part's cosine at least 0.99), of one start and of the best of three.
Objectives: after so many iterations, the warm start counted and the relaxed steps not; means of three starts.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import vennmf as vn
from benchmarks import material
from benchmarks.engine import problem_of
from vennmf.model.presets import rjsnmf
from vennmf.solvers import Options, Problem, minimise
from vennmf.sources.planted import Planted, planted

WARM = (0, 2, 3, 5, 8)
RELAXED = (0, 10, 20, 30)
USUAL = Options()
STARTS = 3
FOUND = 0.99


def worst_cosine(draw: Planted, problem: Problem, factors: dict[str, Any]) -> float:
    """The cosine of the planted part that was found worst, each in its own block."""
    slices = problem.model.layouts["features"].slices()
    worst = []
    for block, theirs in (("shared", "all"), ("x", "x"), ("y", "y")):
        found, truth = factors["features"][:, slices[block]].T, draw.components[theirs]
        lengths = np.linalg.norm(found, axis=1)[:, None] * np.linalg.norm(truth, axis=1)
        cosines = found @ truth.T / np.maximum(lengths, 1e-30)
        worst.append(cosines[linear_sum_assignment(-cosines)].min())
    return float(min(worst))


def parts(draws: int) -> None:
    print(
        "| planted parts | multiplicative | relaxed | found, of one start | found, best of three |\n"
        + "| --- " * 5
        + "|"
    )
    for name, a, overlap in (("JSNMF", 0, 0.0), ("JSNMF, parts overlap by 0.3", 0, 0.3), ("RJSNMF, a = 100", 100, 0.0)):
        for warm, relaxed in dict.fromkeys(
            [(w, USUAL.relaxed_steps) for w in WARM] + [(w, r) for w in (3, USUAL.warm_start) for r in RELAXED]
        ):
            if not a and relaxed != USUAL.relaxed_steps:
                continue
            options = Options(max_iter=1000, tol=1e-6, min_change=0, warm_start=warm, relaxed_steps=relaxed)
            single, best = [], []
            for seed in range(draws):
                draw = planted(
                    {"all": 4, "x": 3, "y": 3}, {"x": 400, "y": 300}, 120, overlap=overlap, random_state=seed
                )
                views = vn.ViewSet.of(draw.sources)
                problem = Problem(rjsnmf(views, {"x": 7, "y": 7}, 4, a), views)
                ends = [
                    minimise(problem, options=options, rng=np.random.default_rng([seed, start]))
                    for start in range(STARTS)
                ]
                cosines = [worst_cosine(draw, problem, end.factors) for end in ends]
                single += [cosine >= FOUND for cosine in cosines]
                best.append(cosines[int(np.argmin([end.objective for end in ends]))] >= FOUND)
            said = relaxed if a else "—"
            print(f"| {name} | {warm} | {said} | {np.mean(single):.0%} | {sum(best)} of {draws} |", flush=True)


def real_problems() -> dict[str, Problem]:
    tags, groups = material.tags(), material.two_newsgroups()
    ranks = dict(zip(tags.names, (65, 56), strict=True))
    return {
        "20 Newsgroups, k = 50": problem_of(material.newsgroups(), 50),
        "PBMC, k = 30": problem_of(material.cells(), 30),
        "ORL faces, k = 49": problem_of(material.faces().reshape(400, -1), 49),
        "tags, JSNMF": Problem(rjsnmf(tags, ranks, 40, 0), tags),
        "tags, RJSNMF, a = 100": Problem(rjsnmf(tags, ranks, 40, 100), tags),
        "rec and talk, RJSNMF, a = 100": Problem(rjsnmf(groups, dict.fromkeys(groups.names, 30), 18, 100), groups),
    }


def objectives(at: tuple[int, ...] = (8, 20, 50, 150)) -> None:
    print(
        f"| data | multiplicative | relaxed | {' | '.join(f'after {n}' for n in at)} |\n"
        + "| --- " * (3 + len(at))
        + "|"
    )
    for name, problem in real_problems().items():
        orthogonal = problem.relaxed() is not None
        choices = [(w, r) for w in (3, USUAL.warm_start) for r in RELAXED] if orthogonal else [(w, 0) for w in WARM]
        for warm, relaxed in choices:
            options = Options(max_iter=max(at), tol=0, min_change=0, warm_start=warm, relaxed_steps=relaxed)
            paths = []
            for start in range(STARTS):
                steps = minimise(problem, options=options, rng=np.random.default_rng(start)).history()["objective"]
                paths.append([steps[min(n, len(steps)) - 1] for n in at])
            found = " | ".join(f"{value:.5f}" for value in np.mean(paths, axis=0))
            print(f"| {name} | {warm} | {relaxed if orthogonal else '—'} | {found} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=30)
    parser.add_argument("--only", nargs="+", choices=("parts", "objectives"), default=("parts", "objectives"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if "objectives" in given.only:
        objectives()
        print()
    if "parts" in given.only:
        parts(given.draws)


if __name__ == "__main__":
    main()
