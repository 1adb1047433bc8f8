"""Few labels on real data, MCL and N2S2L beside what their papers compare with: python benchmarks/papers/few_labels.py.

    VENNMF_DATA=... python benchmarks/papers/few_labels.py [multiview|faces|occlusion] [data set ...]

Prints the tables of docs/labels.md. Items without a label take part in the fit of the semi-supervised and of the unsupervised
factorisations; their labels are seen by the final count alone. Strengths are chosen on a split of their own (seed 100), never
on those that are reported (seeds 0, 1, 2).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

import vennmf as vn
from vennmf.baselines import GNMF, LNMF, SULF, ConcatNMF, HarmonicFields, MarginalFisher, MultiNMF

SEEDS, TUNING = (0, 1, 2), 100
MULTIVIEW, FRACTIONS = {"reuters_multilingual": 50, "uci_mfeat": 40, "msrc_v1": 40}, (0.1, 0.3, 0.5)
EACH = {"reuters_multilingual": 100, "uci_mfeat": 50}
FACES, LABELLED = ("orl_faces", "yale_faces"), (1, 2, 3, 5)
MAX_ITER = 60

Table = dict[str, dict[Any, list[float]]]


# ---------------------------------------------------------------- data


def views_of(name: str) -> tuple[dict[str, Any], Any]:
    """Nonnegative views, dense columns brought to [0, 1], rows to unit length; and class numbers. Of large sets, some items."""
    data = vn.datasets.load(name)
    y = np.unique(np.asarray(next(iter(data.labels.values()))), return_inverse=True)[1]
    chosen = np.flatnonzero(hidden(y, lambda n: EACH.get(name, n), TUNING) >= 0)
    views = {}
    for view, X in data.views().items():
        if X.min() >= 0:
            X = X if sp.issparse(X) else (X - X.min(axis=0)) / np.maximum(np.ptp(X.astype(float), axis=0), 1e-12)
            views[view] = normalize(X.astype(np.float64))[chosen]
    return views, y[chosen]


def faces_of(name: str) -> tuple[Any, Any]:
    """Images of about 30 × 25 pixels in [0, 1], and persons."""
    data = vn.datasets.load(name)
    images = data.arrays["images"].astype(np.float64) / 255
    size = 4 if images.shape[1] == 112 else 2
    n, height, width = images.shape
    images = images.reshape(n, height // size, size, width // size, size).mean(axis=(2, 4))
    return images, np.unique(np.asarray(next(iter(data.labels.values()))), return_inverse=True)[1]


def hidden(y: Any, keep: Callable[[int], int], seed: int) -> Any:
    """Labels of some random items of each class, -1 for all others."""
    rng = np.random.default_rng(seed)
    labels = np.full(len(y), -1)
    for c in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == c))
        labels[rows[: keep(len(rows))]] = c
    return labels


# ---------------------------------------------------------------- several views


def nearest(V: Any, labels: Any, y: Any, k: int = 9) -> float:
    """Accuracy of the k nearest labelled items on those without a label, in percent."""
    known = labels >= 0
    k = min(k, int(np.bincount(labels[known]).min()))
    return 100 * KNeighborsClassifier(k).fit(V[known], y[known]).score(V[~known], y[~known])


def best_view(encodings: Mapping[str, Any], labels: Any) -> str:
    """The view whose encodings classify the labelled items best, each left out in turn."""
    known = np.flatnonzero(labels >= 0)

    def right(V: Any) -> float:
        found = KNeighborsClassifier(2).fit(V[known], labels[known]).kneighbors(V[known], return_distance=False)[:, 1]
        return float(np.mean(labels[known[found]] == labels[known]))

    return max(encodings, key=lambda view: right(encodings[view]))


def mcl(k: int, seed: int, alpha: float, beta: float, gamma: float = 0.005, term: str = "scatter") -> vn.MCL:
    return vn.MCL(k, alpha, beta, gamma, scale="data", label_term=term, random_state=seed, max_iter=MAX_ITER)


def multiview(names: list[str]) -> None:
    for name in names or MULTIVIEW:
        multiview_of(name)


def multiview_of(name: str) -> None:
    views, y = views_of(name)
    k, started = MULTIVIEW[name], time.perf_counter()
    how = {"max_iter": MAX_ITER}
    tuning = hidden(y, lambda n: round(0.3 * n), TUNING)

    def tuned(make: Callable[..., Any], *grids: Any) -> Any:
        return max(product(*grids), key=lambda p: nearest(make(*p).fit(views, tuning).encodings_, tuning, y))

    (strength,) = tuned(lambda s: SULF(k, strength=s, random_state=TUNING, **how), (0.1, 1.0, 10.0))
    (smooth,) = tuned(lambda s: GNMF(k, smoothness=s, supervised=True, random_state=TUNING, **how), (0.01, 0.1, 1.0))
    near = tuned(lambda a, b: mcl(k, TUNING, a, b, term="within"), (150.0, 450.0), (0.3, 1.0))
    alpha, beta = tuned(lambda a, b: mcl(k, TUNING, a, b), (150.0, 450.0), (0.005, 0.02))
    table: Table = {}
    for seed in SEEDS:
        alone = {v: ConcatNMF(k, random_state=seed, **how).fit({v: X}).encodings_ for v, X in views.items()}
        free = {
            "ConcatNMF": ConcatNMF(k, random_state=seed, **how).fit(views).encodings_,
            "MultiNMF": MultiNMF(k, random_state=seed, **how).fit(views).encodings_,
            "MCL, β = 0": mcl(k, seed, alpha, 0.0).fit(views).encodings_,
        }
        for fraction in FRACTIONS:
            labels = hidden(y, lambda n, f=fraction: round(f * n), seed)
            concept = mcl(k, seed, alpha, beta).fit(views, labels)
            found = {
                "NMF, best view": alone[best_view(alone, labels)],
                **free,
                "SULF": SULF(k, strength=strength, random_state=seed, **how).fit(views, labels).encodings_,
                "GNMF, by labels": GNMF(k, smoothness=smooth, supervised=True, random_state=seed, **how)
                .fit(views, labels)
                .encodings_,
                "MCL, α = 0": mcl(k, seed, 0.0, beta, 0.0).fit(views, labels).encodings_,
                "MCL": concept.encodings_,
                "MCL, by transform": concept.transform(views),
                "MCL, label_term='within'": mcl(k, seed, *near, term="within").fit(views, labels).encodings_,
            }
            for method, V in found.items():
                table.setdefault(method, {}).setdefault(f"{fraction:.0%}", []).append(nearest(V, labels, y))
    chosen = (
        f"SULF {strength:g}, GNMF {smooth:g}, MCL α {alpha:g}, β {beta:g}, within α {near[0]:g}, β {near[1]:g}, γ 0.005"
    )
    show(f"{name}: {len(y):,} items, {len(views)} views, {k} factors ({chosen})", table, started)


# ---------------------------------------------------------------- faces


def one_nearest(V: Any, labels: Any, y: Any) -> float:
    return nearest(V, labels, y, 1)


def discriminant(X: Any, labels: Any) -> Any:
    """LDA after PCA to the number of labelled items less that of classes, as in the paper."""
    known = labels >= 0
    n_classes = len(np.unique(labels[known]))
    if known.sum() <= n_classes:
        return None
    pca = PCA(min(int(known.sum()) - n_classes, X.shape[1])).fit(X[known])
    return LinearDiscriminantAnalysis().fit(pca.transform(X[known]), labels[known]).transform(pca.transform(X))


def n2s2l(labels: Any, m: int, seed: int, alpha: float, beta: float) -> vn.N2S2L:
    known, classes = int(np.sum(labels >= 0)), len(np.unique(labels[labels >= 0]))
    k = max(known * m // (known + m), classes + 1)
    return vn.N2S2L(k, classes, alpha, beta, random_state=seed, max_iter=100)


def faces(names: list[str]) -> None:
    for name in names or FACES:
        images, y = faces_of(name)
        X, started = images.reshape(len(images), -1), time.perf_counter()
        m = X.shape[1]
        tuning = hidden(y, lambda n: 2, TUNING)
        alpha, beta = max(
            product((0.1, 10.0), (0.01, 0.1)),
            key=lambda p: one_nearest(discriminative(n2s2l(tuning, m, TUNING, *p).fit(X, tuning)), tuning, y),
        )
        smooth = max(
            (0.01, 0.1, 1.0),
            key=lambda b: one_nearest(MarginalFisher(smoothness=b).fit(X, tuning).transform(X), tuning, y),
        )
        table: Table = {}
        for seed, each in product(SEEDS, LABELLED):
            labels = hidden(y, lambda n, e=each: e, seed)
            known = labels >= 0
            plain = n2s2l(labels, m, seed, 0, 0).fit(X)
            ours = n2s2l(labels, m, seed, alpha, beta).fit(X, labels)
            k = len(ours.components_)
            found = {
                "pixels": X,
                "PCA": PCA(min(k, len(X) - 1), random_state=0).fit_transform(X),
                "NMF (N2S2L, α = β = 0)": plain.encodings_,
                "LNMF": LNMF(k, random_state=seed).fit(X).transform(X),
                "LDA": discriminant(X, labels),
                "MFA": MarginalFisher().fit(X, labels).transform(X) if each > 1 else None,
                "sMFA": MarginalFisher(smoothness=smooth).fit(X, labels).transform(X),
                "N2S2L": discriminative(ours),
                "N2S2L, V of transform": ours.transform(X),
            }
            right = {method: one_nearest(V, labels, y) for method, V in found.items() if V is not None}
            right["N2S2L, predict on new items"] = 100 * np.mean(ours.predict(X[~known]) == y[~known])
            for method, fields in {
                "harmonic fields": HarmonicFields(),
                "harmonic fields, class mass": HarmonicFields(class_mass=True),
                "local and global consistency": LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.5, max_iter=200),
            }.items():
                right[method] = 100 * np.mean(fields.fit(X, labels).transduction_[~known] == y[~known])
            for method, accuracy in right.items():
                table.setdefault(method, {}).setdefault(f"{each} a person", []).append(accuracy)
        size = " × ".join(map(str, images.shape[1:]))
        show(
            f"{name}: {len(y)} images of {size}, {len(np.unique(y))} persons (sMFA β {smooth:g}, N2S2L α {alpha:g}, β {beta:g})",
            table,
            started,
        )


def discriminative(model: vn.N2S2L) -> Any:
    return model.encodings_[:, : model.n_discriminative_]


def occlusion(names: list[str]) -> None:
    """Two clean labelled images a person; all others have a black square at a random place when they are encoded."""
    for name in names or FACES[:1]:
        images, y = faces_of(name)
        X, started = images.reshape(len(images), -1), time.perf_counter()
        table: Table = {}
        for seed in SEEDS:
            labels = hidden(y, lambda n: 2, seed)
            known = labels >= 0
            ours, plain = (
                n2s2l(labels, X.shape[1], seed, 10, 0.1).fit(X, labels),
                n2s2l(labels, X.shape[1], seed, 0, 0).fit(X),
            )
            k, q = len(ours.components_), ours.n_discriminative_
            pca, fisher = PCA(k, random_state=0).fit(X), MarginalFisher(smoothness=0.1).fit(X, labels)
            for side in (0, 4, 7, 10, 13):
                mask = squares(images.shape, side, known, np.random.default_rng(seed))
                spoilt = np.where(mask, images, 0).reshape(X.shape)
                flat = mask.reshape(X.shape)
                found = {
                    "pixels": spoilt,
                    "PCA": pca.transform(spoilt),
                    "sMFA": fisher.transform(spoilt),
                    "NMF, NNLS": plain.transform(spoilt),
                    "N2S2L, pseudo-inverse": ours.transform(spoilt, method="pinv")[:, :q],
                    "N2S2L, NNLS": ours.transform(spoilt)[:, :q],
                    "N2S2L, occluded pixels masked": ours.transform(spoilt, mask=flat)[:, :q],
                    "NMF, occluded pixels masked": plain.transform(spoilt, mask=flat),
                }
                for method, V in found.items():
                    table.setdefault(method, {}).setdefault(f"{side} × {side}", []).append(one_nearest(V, labels, y))
        show(
            f"{name}, occluded: images of {' × '.join(map(str, images.shape[1:]))}, 2 labelled a person", table, started
        )


def squares(shape: tuple[int, ...], side: int, spared: Any, rng: Any) -> Any:
    """True outside a square at a random place of each image, everywhere in the spared ones."""
    mask = np.ones(shape, dtype=bool)
    for n in np.flatnonzero(~spared):
        top, left = rng.integers(shape[1] - side + 1), rng.integers(shape[2] - side + 1)
        mask[n, top : top + side, left : left + side] = False
    return mask


# ---------------------------------------------------------------- print


def show(title: str, table: Table, started: float) -> None:
    columns = list(dict.fromkeys(column for row in table.values() for column in row))
    print(
        f"\n**{title}**; accuracy in percent, mean ± deviation of {len(SEEDS)} splits, {time.perf_counter() - started:.0f} s\n"
    )
    print("| method | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for method, row in table.items():
        cells = [f"{np.mean(row[c]):.1f} ± {np.std(row[c]):.1f}" if c in row else "–" for c in columns]
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, *names = sys.argv[1:] or ["all"]
    print(f"vennmf {vn.__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    for task in (multiview, faces, occlusion):
        if what in (task.__name__, "all"):
            task(names)
