"""The first two papers' tag search: does another source help to search noisy tags, how much to share, and when not to."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from kept import Kept
from report import Report, arguments
from tag_report import write
from tag_sources import auxiliary, target

import vennmf as vn
from vennmf.evaluation import Sharing, choose_weight, evaluate_search
from vennmf.matrices import Axis, View, ViewSet

R, R_AUX = 60, 40
"""Components of the target and of an auxiliary: the first paper's for Flickr and LabelMe."""
PATH, TWO = (5, 10, 15, 20, 30, 40), (15, 40)
"""Shared components: the whole path to full sharing; the paper's best and full sharing."""
SIZES: tuple[int | None, ...] = (300, None, 1000, 2000)
"""Items of the target that the model is fitted to; None for all. All are searched."""
WEIGHTS = (1.0, 0.3, 0.1, 0.03)
"""Of an auxiliary that shares all of the target's components; 1 is equal say."""
CANDIDATES = (Sharing(15), Sharing(40), Sharing(60), Sharing(60, 0.1))
MAIN = ("NUS-WIDE tags", "COCO objects", "internal")
MORE = ("NUS-WIDE concepts", "caption words", "Instagram", "YouTube")
COLUMNS = ("AP", "P@10", "P@20", "P@50", "P@100", "P@recall 0.1", *(f"recall {level / 10:.1f}" for level in range(11)))
Case = dict[str, Any]


def cases(seeds: range, quick: bool) -> Iterator[Case]:
    """What is measured, seed by seed; the second target has one seed and the main questions only."""
    for seed in seeds:
        yield from of_target("MIRFlickr", (*MAIN, *(() if quick else MORE)), seed, quick)
        if not quick and not seed:
            yield from of_target("NUS-WIDE", ("MIRFlickr tags", "COCO objects", "internal"), seed, quick)


def of_target(name: str, sources: tuple[str, ...], seed: int, quick: bool) -> Iterator[Case]:
    main = name == "MIRFlickr"
    for baseline in ("Jaccard", "hybrid"):
        yield {"target": name, "n": None, "seed": seed, "method": baseline, "auxiliary": "internal", "K": 0}
    for source, weight in product(MAIN[:2], WEIGHTS) if main and not quick else ():
        case = {"target": name, "n": 1000, "seed": seed, "method": "weighted", "auxiliary": source}
        yield {**case, "K": R, "weight": weight}
    sizes = (300, None) if quick or not main else SIZES
    for size in sizes:
        base = {"target": name, "n": size, "seed": seed}
        for source in sources if size in (300, None) else MAIN:
            yield {**base, "method": "NMF", "auxiliary": source, "K": 0}
            path = PATH if main and size is None and source in MAIN and not quick else TWO
            for K in path:
                yield {**base, "method": "JSNMF", "auxiliary": source, "K": K}
            if source in MAIN[:2] and main:
                yield {**base, "method": "RJSNMF", "auxiliary": source, "K": 15}
            if size in (300, 1000) or (size is None and source in MAIN and not quick):
                yield {**base, "method": "chosen", "auxiliary": source, "K": -1}


@cache
def sources_of(name: str, other: str) -> tuple[ViewSet, dict[str, np.ndarray]]:
    """Tf-idf over the tags that 20 items of both sources have, and the answers; the same for every method, the target alone included."""
    whole = target(name)
    table = auxiliary(other, whole)
    views = vn.load_sources(
        {"target": whole.items, "auxiliary": table[["image", "tags"]]}, tags="tags", item="image", min_count=20
    )
    return views, whole.answers


def once(case: Case) -> dict[str, Any]:
    """Fit to some items of the target, encode the others, rank all for every query."""
    views, answers = sources_of(case["target"], case["auxiliary"])
    X = views["target"].X
    order = np.random.default_rng(case["seed"]).permutation(X.shape[0])
    n = case["n"] or X.shape[0]
    given = few(views, order[:n])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, told = fitted(case, given)
        if n < X.shape[0]:
            model = vn.append_items(model, X[order[n:]], source="target")[0]
        table = ranked(case, model, given, {query: marks[order] for query, marks in answers.items()})
    found = {column: float(table[column].mean()) for column in COLUMNS}
    return {**found, "queries": table["AP"].round(5).to_list(), "names": list(map(str, table.index)), **told}


def few(views: ViewSet, rows: np.ndarray) -> ViewSet:
    """The same sources with some of the target's items."""
    whole = views["target"]
    part = View("target", whole.X[rows], Axis("items:target", len(rows)), whole.features)
    return ViewSet([part, views["auxiliary"]], encoders=views.encoders)


def fitted(case: Case, views: ViewSet) -> tuple[Any, dict[str, Any]]:
    seed, sizes = case["seed"], {"target": R, "auxiliary": R_AUX}
    how = {"random_state": seed, "n_threads": 1}
    if case["method"] == "chosen":
        sizes = {"target": R, "auxiliary": R}
        choice = vn.choose_sharing(
            views, "target", sizes, candidates=CANDIDATES, n_folds=2, random_state=seed, n_threads=1
        )
        return choice.fit(views, **how), {"chosen": str(choice.sharing)}
    if case["method"] == "weighted":
        weight = case["weight"] / views["auxiliary"].squared_norm()
        return vn.JSNMF(dict.fromkeys(sizes, R), R, weights={"auxiliary": weight}, **how).fit(views), {}
    if case["method"] in ("JSNMF", "RJSNMF"):
        a = 100.0 if case["method"] == "RJSNMF" else 0.0
        return vn.RJSNMF(sizes, case["K"], orthogonality=a, **how).fit(views), {}
    alone = ViewSet([views["target"]], encoders={"target": views.encoders["target"]})
    return vn.VennNMF({"target": R}, **how).fit(alone), {}


def ranked(case: Case, model: Any, views: ViewSet, answers: dict[str, np.ndarray]) -> Any:
    """One row for each query. The hybrid's weight is chosen on the other half of the queries."""
    top = (10, 20, 50, 100)
    alone = ViewSet([views["target"]], encoders={"target": views.encoders["target"]})
    if case["method"] == "Jaccard":
        return evaluate_search(vn.Retriever(model, alone, match="jaccard"), answers, "target", exact=1, top=top)
    if case["method"] != "hybrid":
        return evaluate_search(vn.Retriever(model), answers, "target", top=top)
    import pandas as pd

    search, names = vn.Retriever(model, alone), sorted(answers)
    halves = [{name: answers[name] for name in names[start::2]} for start in (0, 1)]
    parts = [
        evaluate_search(search, own, "target", exact=choose_weight(search, other, "target").weight, top=top)
        for own, other in (halves, halves[::-1])
    ]
    return pd.concat(parts).loc[list(answers)]


def main() -> None:
    given = arguments(__doc__ or "", runs=3, quick_runs=1, keep=True)
    report = Report("tag-search", "Tag search with another source's help (papers 1 and 2)", given.out)
    wanted = list(cases(range(given.runs), given.quick))
    scores = Kept(given.keep, closed=given.shown).measure(wanted, once)
    write(report, scores, given.runs)


if __name__ == "__main__":
    main()
