"""Tag search on real data: latent, exact and hybrid scores on MIRFlickr, judged by its 24 concepts.

    VENNMF_DATA=... python benchmarks/tag_search.py

Every query is a concept's word. The weight of the exact match is chosen on one half of the queries and used on the other,
both ways round, so no query is measured with a weight that it helped to choose. Figures are means over queries of means
over seeds.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd

import vennmf as vn
from vennmf.evaluation import bootstrap_interval, choose_weight, evaluate_search

WORDS = {"animals": "animal", "plant_life": "plant", "structures": "building", "transport": "vehicle"}
WORDS |= {"female": "woman", "male": "man"}
SEEDS = (0, 1, 2)
COLUMNS = ["AP", "P@10", "P@100", "P@recall 0.1"]


def sources() -> tuple[vn.ViewSet, dict[str, vn.ViewSet], dict[str, np.ndarray]]:
    """The target alone, the target with each auxiliary, and who is relevant for each query."""
    target = vn.datasets.load("mirflickr25k")
    flickr, coco = target.tables["mirflickr25k"], vn.datasets.load("coco_objects").tables["coco_objects"]
    auxiliaries = {
        "NUS-WIDE tags": vn.datasets.load("nuswide_10k5").tables["nuswide_10k5"][["image", "tags"]],
        "COCO objects": coco.sample(8000, random_state=0).rename(columns={"row": "image", "objects": "tags"}),
    }
    read = {"tags": "tags", "item": "image", "min_count": 20}
    alone = vn.load_sources({"flickr": flickr}, **read)
    joint = {name: vn.load_sources({"flickr": flickr, "aux": table}, **read) for name, table in auxiliaries.items()}
    labels = target.labels["concepts"]
    labels = np.asarray(labels.toarray() if hasattr(labels, "toarray") else labels).astype(bool)
    answers = {WORDS.get(str(n), str(n)): labels[:, i] for i, n in enumerate(target.classes["concepts"])}
    return alone, joint, answers


def chosen(search: vn.Retriever, answers: dict[str, np.ndarray]) -> tuple[pd.DataFrame, list[float]]:
    """The hybrid's row for each query, the weight taken from the other half of the queries."""
    names = sorted(answers)
    halves = [{n: answers[n] for n in names[start::2]} for start in (0, 1)]
    parts, weights = [], []
    for measured, validation in (halves, halves[::-1]):
        weight = choose_weight(search, validation, "flickr").weight
        parts.append(evaluate_search(search, measured, "flickr", exact=weight))
        weights.append(weight)
    return pd.concat(parts).loc[names], weights


def main() -> None:
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    alone, joint, answers = sources()
    found: dict[str, list[pd.DataFrame]] = {}
    weights: dict[str, list[float]] = {}
    for seed in SEEDS:
        fits = {"NMF, MIRFlickr alone": (vn.NMF(60, random_state=seed), alone)}
        for name, views in joint.items():
            fits[f"JSNMF with {name}"] = vn.JSNMF({"flickr": 60, "aux": 40}, 20, random_state=seed), views
            fits[f"RJSNMF with {name}"] = vn.RJSNMF({"flickr": 60, "aux": 40}, 20, random_state=seed), views
        for name, (estimator, views) in fits.items():
            search = vn.Retriever(estimator.fit(views), views)
            if name.startswith("NMF") and seed == 0:
                literal = vn.Retriever(search.model, views, match="jaccard")
                found["exact match, Jaccard"] = [evaluate_search(literal, answers, "flickr", exact=1)]
                found["exact match, tf-idf cosine"] = [evaluate_search(search, answers, "flickr", exact=1)]
            found.setdefault(f"{name}: latent", []).append(evaluate_search(search, answers, "flickr", exact=0))
            table, weight = chosen(search, answers)
            found.setdefault(f"{name}: hybrid", []).append(table)
            weights.setdefault(f"{name}: hybrid", []).extend(weight)
    print("| ranking | MAP | 95 % interval | P@10 | P@100 | P at recall 0.1 | weights |\n|---|---|---|---|---|---|---|")
    for name, tables in found.items():
        mean = sum(table.loc[sorted(answers), COLUMNS] for table in tables) / len(tables)
        low, high = bootstrap_interval(mean["AP"])
        cells = " | ".join(f"{mean[column].mean():.3f}" for column in COLUMNS[1:])
        used = ", ".join(f"{w:g}" for w in sorted(set(weights.get(name, []))))
        print(f"| {name} | {mean['AP'].mean():.3f} | {low:.3f}–{high:.3f} | {cells} | {used} |")
    print(f"\n{len(answers)} queries, {len(SEEDS)} seeds, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
