"""What does orthogonality cost where the true parts of different blocks overlap? Prints the table of docs/orthogonality.md.

python examples/what_does_orthogonality_cost.py
"""

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment

import vennmf as vn

DRAWS = 8


def worst_match(model, truth):
    """The smallest cosine between a planted part and the component of its own block that it is matched with."""
    worst = 1.0
    for ours, theirs in {"shared": "all", "x": "x", "y": "y"}.items():
        planted = truth.components[theirs] / np.linalg.norm(truth.components[theirs], axis=1, keepdims=True)
        cosines = model.components_[ours] @ planted.T
        worst = min(worst, cosines[linear_sum_assignment(-cosines)].min())
    return worst


def main():
    warnings.simplefilter("ignore", vn.ConvergenceWarning)
    print(
        "| overlap of the true parts | a | draws with every part found (cosine ≥ 0.97) | median worst cosine | explained |"
    )
    print("| --- | --- | --- | --- | --- |")
    for overlap in (0.0, 0.2, 0.4):
        for a in (0, 0.1, 1, 10, 100):
            worst, explained = [], []
            for seed in range(DRAWS):
                truth = vn.datasets.planted(
                    {"all": 4, "x": 3, "y": 3}, {"x": 400, "y": 300}, 120, overlap=overlap, random_state=seed
                )
                model = vn.RJSNMF(
                    {"x": 7, "y": 7},
                    4,
                    orthogonality=a,
                    n_init=3,
                    max_iter=1000,
                    tol=1e-6,
                    min_change=0,
                    random_state=seed,
                ).fit(truth.sources)
                worst.append(worst_match(model, truth))
                explained.append(model.score(truth.sources))
            found = sum(w >= 0.97 for w in worst)
            print(f"| {overlap:g} | {a:g} | {found} of {DRAWS} | {np.median(worst):.2f} | {np.mean(explained):.3f} |")


if __name__ == "__main__":
    main()
