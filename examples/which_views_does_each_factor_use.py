"""Which views does each factor use, and which class? The toy problem of MCL's paper (section 5.1), and its Figure 2.

python examples/which_views_does_each_factor_use.py [figure.svg]

Two views of 20 items of two classes, 6 factors: for each class one that only view 1 shows, one that only view 2 shows and a
shared one. Five items of each class are labelled. The figure shows one draw; left to right: the truth, MCL with strong and with
weak column maxima, without labels (β = 0), without column maxima (α = 0, and γ = 0, without which the scale would run away).
MCL has α = 0.6 where nothing else is said. The table is of ten draws.
"""

import sys
import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment

import vennmf as vn

USED = {"view 1": np.array([1, 0, 1, 1, 0, 1], bool), "view 2": np.array([0, 1, 1, 0, 1, 1], bool)}
MODELS = {
    "MCL": {"alpha": 0.6, "beta": 0.2, "gamma": 0.01},
    "MCL, α = 0.1": {"alpha": 0.1, "beta": 0.2, "gamma": 0.01},
    "β = 0": {"alpha": 0.6, "beta": 0.0, "gamma": 0.01},
    "α = 0": {"alpha": 0.0, "beta": 0.2, "gamma": 0.0},
}
DRAWS = range(10)
SHARE = 0.01  # of a view's energy, from which on a factor counts


def toy(seed=0):
    """Views, labels, classes, true encodings and true bases."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 10)
    V = np.zeros((20, 6))
    for c in (0, 1):
        V[np.ix_(y == c, np.arange(3 * c, 3 * c + 3))] = rng.uniform(0.4, 1, (10, 3))
    bases, views = {}, {}
    for name, used in USED.items():
        B = rng.gamma(1, 1 / 0.9, (6, 10))
        B[rng.random((6, 10)) < 0.35] = 0
        B[~used] = 0
        bases[name] = B
        views[name] = np.maximum(V @ B + 0.05 * rng.standard_normal((20, 10)), 0)
    return views, np.where(np.arange(20) % 10 < 5, y, -1), y, V, bases


def best(views, labels, **parameters):
    """The lowest objective of eight starts."""
    models = [vn.MCL(6, **parameters, random_state=seed, max_iter=500).fit(views, labels) for seed in range(8)]
    return min(models, key=lambda model: model.objective_)


def from_the_truth(views, labels, V, bases, **parameters):
    """Where the solver ends that is led to the truth: what the objective prefers, wherever one starts."""
    start = {"items": np.minimum(V + 0.01, 1), **{f"features:{name}": B.T + 0.01 for name, B in bases.items()}}
    return vn.MCL(6, **parameters, init=start, max_iter=1000).fit(views, labels)


def in_true_order(model, V):
    """Learnt factors in the order of the true ones that they are most like."""
    true, found = (A / np.maximum(np.linalg.norm(A, axis=0), 1e-12) for A in (V, model.encodings_))
    order = linear_sum_assignment(-(true.T @ found))[1]
    return model.encodings_[:, order], {name: B[order] for name, B in model.components_.items()}


def leak(V, y):
    """How much of the classes' mean encodings lies on factors that the other class uses more."""
    means = np.array([V[y == c].mean(axis=0) for c in (0, 1)])
    return means.min(axis=0).sum() / means.sum()


def draw(panels, path):
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "vennmf"  # the same bytes each time
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        3, len(panels), figsize=(2.2 * len(panels), 6), height_ratios=[2, 1, 1], layout="constrained"
    )
    for column, (title, (V, bases)) in enumerate(panels.items()):
        axes[0, column].set_title(title)
        for row, (name, M, top) in enumerate([("items", V, 1.0), *((n, B.T, 1.5) for n, B in bases.items())]):
            ax = axes[row, column]
            ax.imshow(M, cmap="Greys", vmin=0, vmax=top, aspect="auto", interpolation="nearest")
            ax.set_xticks(range(6), range(1, 7))
            ax.set_yticks([])
            if column == 0:
                ax.set_ylabel(f"{name}" if row == 0 else f"features of {name}")
    for ax in axes[-1]:
        ax.set_xlabel("factor")
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def measures(V, bases, y, true_encodings):
    """Views right of 12, by entries and by energy; mean cosine with the true encodings, leak, largest entry of a basis."""
    used = np.array([B.max(axis=1) > 0 for B in bases.values()])
    energies = np.array([np.sum(V**2, axis=0) * np.sum(B**2, axis=1) / np.sum((V @ B) ** 2) for B in bases.values()])
    truth = np.array(list(USED.values()))
    lengths = np.linalg.norm(V, axis=0) * np.linalg.norm(true_encodings, axis=0)
    cosines = np.sum(V * true_encodings, axis=0) / np.maximum(lengths, 1e-12)
    return (
        np.sum(used == truth),
        np.sum((energies > SHARE) == truth),
        cosines.mean(),
        leak(V, y),
        max(B.max() for B in bases.values()),
    )


def main():
    warnings.simplefilter("ignore")
    led, parameters = next(iter(MODELS.items()))
    found = {title: [] for title in (*MODELS, f"{led}, from the truth")}
    panels = {}
    for draw_number in DRAWS:
        views, labels, y, V, bases = toy(draw_number)
        learnt = {title: in_true_order(best(views, labels, **p), V) for title, p in MODELS.items()}
        panels = panels or {"truth": (V, bases), **learnt}
        learnt[f"{led}, from the truth"] = in_true_order(from_the_truth(views, labels, V, bases, **parameters), V)
        for title, (encodings, parts) in learnt.items():
            found[title].append(measures(encodings, parts, y, V))
    print(
        "| | views right, of 12 | those of 1 % of the energy | cosine with the truth | on the other class | largest entry |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for title, rows in found.items():
        right, strong, cosine, leaked, largest = np.mean(rows, axis=0)
        print(f"| {title} | {right:.1f} | {strong:.1f} | {cosine:.2f} | {leaked:.3f} | {largest:.1f} |")
    if len(sys.argv) > 1:
        draw(panels, sys.argv[1])


if __name__ == "__main__":
    main()
