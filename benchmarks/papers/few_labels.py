"""Few labels on real data, MCL and N2S2L beside what their papers compare with: python benchmarks/papers/few_labels.py.

    VENNMF_DATA=... python benchmarks/papers/few_labels.py [multiview|faces|occlusion] [data set ...]

Prints the tables of docs/labels.md. Items without a label take part in the fits; their labels are seen by the final count alone.
Every strength of every method is chosen anew for each split from the labelled items of that split: half of them are hidden, the
grid's fits are asked for them, then the other half. Where a class has one labelled item nothing can be hidden, and the first
of the grid is taken.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

import vennmf as vn
from vennmf.baselines import GNMF, LNMF, SULF, ConcatNMF, HarmonicFields, MarginalFisher, MultiNMF

SEEDS, SAMPLE = (0, 1, 2), 100
MULTIVIEW, FRACTIONS = {"reuters_multilingual": 50, "uci_mfeat": 40, "msrc_v1": 40}, (0.1, 0.3, 0.5)
EACH = {"reuters_multilingual": 100, "uci_mfeat": 100}
FACES, LABELLED = ("orl_faces", "yale_faces"), (1, 2, 3, 5)
OCCLUSIONS = (0, 4, 7, 10, 13)
MAX_ITER = 60


# ---------------------------------------------------------------- data


def views_of(name: str) -> tuple[dict[str, Any], Any]:
    """Nonnegative views, dense columns brought to [0, 1], rows to unit length; and class numbers. Of large sets, some items."""
    data = vn.datasets.load(name)
    y = np.unique(np.asarray(next(iter(data.labels.values()))), return_inverse=True)[1]
    chosen = np.flatnonzero(hidden(y, lambda n: EACH.get(name, n), SAMPLE) >= 0)
    views = {}
    for view, X in data.views().items():
        if X.min() >= 0:
            X = X if sp.issparse(X) else (X - X.min(axis=0)) / np.maximum(np.ptp(X.astype(float), axis=0), 1e-12)
            views[view] = normalize(X.astype(np.float32))[chosen]
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


# ---------------------------------------------------------------- protocol


@dataclass(frozen=True)
class Method:
    """From partial labels and strengths to a class for every item; of the grid of strengths the first is the default."""

    predict: Callable[..., Any]
    grid: Sequence[tuple[Any, ...]] = ((),)


@dataclass
class Table:
    """Accuracies in percent and chosen strengths, by method and column."""

    accuracies: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    strengths: dict[str, Counter[tuple[Any, ...]]] = field(default_factory=dict)

    def add(self, column: str, methods: dict[str, Method], labels: Any, y: Any, seed: int) -> None:
        for name, method in methods.items():
            strengths = choose(method, labels, seed)
            right = method.predict(labels, *strengths)[labels < 0] == y[labels < 0]
            self.put(name, column, 100 * float(np.mean(right)))
            self.strengths.setdefault(name, Counter())[strengths] += 1
        print(f"seed {seed}, {column}: done", file=sys.stderr, flush=True)

    def put(self, name: str, column: str, accuracy: float) -> None:
        self.accuracies.setdefault(name, {}).setdefault(column, []).append(accuracy)


def choose(method: Method, labels: Any, seed: int) -> tuple[Any, ...]:
    """The strengths that predict hidden labelled items best, each half of them hidden once; no other label is looked at."""
    known = np.flatnonzero(labels >= 0)
    if len(method.grid) == 1 or np.bincount(labels[known]).min() < 2:
        return method.grid[0]
    right = np.zeros(len(method.grid))
    for _, half in StratifiedKFold(2, shuffle=True, random_state=seed).split(known, labels[known]):
        asked = known[half]
        partial = labels.copy()
        partial[asked] = -1
        right += [np.sum(method.predict(partial, *strengths)[asked] == labels[asked]) for strengths in method.grid]
    return method.grid[int(np.argmax(right))]


def neighbours(V: Any, labels: Any, k: int = 9) -> Any:
    """The class of every item by its nearest labelled ones, at most as many as the smallest class has."""
    known = labels >= 0
    k = min(k, int(np.bincount(labels[known]).min()))
    return KNeighborsClassifier(k).fit(V[known], labels[known]).predict(V)


def kept(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The same fit again for the same labels and strengths, so that several readings share it."""
    found: dict[Any, Any] = {}

    def get(labels: Any, *strengths: Any) -> Any:
        key = (None if labels is None else labels.tobytes(), strengths)
        if key not in found:
            found[key] = fit(labels, *strengths)
        return found[key]

    return get


def grid(*values: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
    return list(product(*values))


# ---------------------------------------------------------------- several views


def multiview(names: list[str]) -> None:
    for name in names or MULTIVIEW:
        views, y = views_of(name)
        k, table = MULTIVIEW[name], Table()
        for seed in SEEDS:
            methods = of_views(views, k, seed)
            for fraction in FRACTIONS:
                labels = hidden(y, lambda n, f=fraction: round(f * n), seed)
                table.add(f"{fraction:.0%}", methods, labels, y, seed)
        show(f"{name}: {len(y):,} items, {len(views)} views, {k} factors", table)
        compare(table, "MCL", "MCL, β = 0")
        compare(table, "MCL, label_term='within'", "MCL, β = 0")


def of_views(views: dict[str, Any], k: int, seed: int) -> dict[str, Method]:
    """MCL and what its paper compares with, each with three values of its one strength; α and γ are the paper's.

    The unsupervised ones are fitted once for all labels.
    """
    how = {"max_iter": MAX_ITER, "random_state": seed}

    def mcl(labels: Any, alpha: float, beta: float, gamma: float = 0.005, term: str = "scatter") -> vn.MCL:
        return vn.MCL(k, alpha, beta, gamma, scale="data", label_term=term, **how).fit(views, labels)

    alone = kept(lambda _, view: ConcatNMF(k, **how).fit({view: views[view]}))
    concat = kept(lambda _: ConcatNMF(k, **how).fit(views))
    multi = kept(lambda _, c: MultiNMF(k, consensus=c, **how).fit(views))
    sulf = kept(lambda labels, s: SULF(k, strength=s, **how).fit(views, labels))
    gnmf = kept(lambda labels, s: GNMF(k, smoothness=s, supervised=True, **how).fit(views, labels))
    concepts, betas = kept(mcl), grid((0.02, 0.005, 0.001))
    return {
        "NMF, best view": Method(lambda y, view: neighbours(alone(None, view).encodings_, y), grid(views)),
        "ConcatNMF": Method(lambda y: neighbours(concat(None).encodings_, y)),
        "MultiNMF": Method(lambda y, c: neighbours(multi(None, c).encodings_, y), grid((0.01, 0.1, 1.0))),
        "SULF": Method(lambda y, s: neighbours(sulf(y, s).encodings_, y), grid((1.0, 0.1, 10.0))),
        "GNMF, by labels": Method(lambda y, s: neighbours(gnmf(y, s).encodings_, y), grid((0.1, 0.01, 1.0))),
        "MCL, β = 0": Method(lambda y: neighbours(concepts(None, 150.0, 0.0).encodings_, y)),
        "MCL, α = 0": Method(lambda y, b: neighbours(concepts(y, 0.0, b, 0.0).encodings_, y), betas),
        "MCL": Method(lambda y, b: neighbours(concepts(y, 150.0, b).encodings_, y), betas),
        "MCL, by transform": Method(lambda y, b: neighbours(concepts(y, 150.0, b).transform(views), y), betas),
        "MCL, label_term='within'": Method(
            lambda y, b: neighbours(concepts(y, 150.0, b, 0.005, "within").encodings_, y), grid((0.3, 1.0, 0.1))
        ),
    }


# ---------------------------------------------------------------- faces


def faces(names: list[str]) -> None:
    for name in names or FACES:
        images, y = faces_of(name)
        X, table = images.reshape(len(images), -1), Table()
        for seed, each in product(SEEDS, LABELLED):
            labels = hidden(y, lambda n, e=each: e, seed)
            table.add(f"{each} a person", of_faces(X, labels, seed), labels, y, seed)
        size = " × ".join(map(str, images.shape[1:]))
        show(f"{name}: {len(y)} images of {size}, {len(np.unique(y))} persons", table)
        compare(table, "N2S2L", "NMF (N2S2L, α = β = 0)")


def of_faces(X: Any, labels: Any, seed: int) -> dict[str, Method]:
    """N2S2L and what its paper compares with; as many components as the paper has for these labels."""
    n_labelled, n_classes = int(np.sum(labels >= 0)), int(labels.max()) + 1
    k = max(n_labelled * X.shape[1] // (n_labelled + X.shape[1]), n_classes + 1)

    def n2s2l(labels: Any, alpha: float, beta: float) -> vn.N2S2L:
        return vn.N2S2L(k, n_classes, alpha, beta, random_state=seed, max_iter=100).fit(X, labels)

    def spread(model: Any, y: Any) -> Any:
        return model.fit(X, y).transduction_

    ours, local = kept(n2s2l), kept(lambda _: LNMF(k, random_state=seed).fit(X))
    strengths, reach = grid((10.0, 0.1), (0.1, 0.01)), grid((7, 3))
    methods = {
        "pixels": Method(lambda y: neighbours(X, y, 1)),
        "PCA": Method(lambda y: neighbours(PCA(min(k, len(X) - 1), random_state=0).fit_transform(X), y, 1)),
        "NMF (N2S2L, α = β = 0)": Method(lambda y: neighbours(ours(None, 0.0, 0.0).encodings_, y, 1)),
        "LNMF": Method(lambda y: neighbours(local(None).transform(X), y, 1)),
        "sMFA": Method(
            lambda y, s: neighbours(MarginalFisher(smoothness=s).fit(X, y).transform(X), y, 1), grid((0.1, 0.01, 1.0))
        ),
        "N2S2L": Method(lambda y, a, b: neighbours(discriminative(ours(y, a, b)), y, 1), strengths),
        "N2S2L, V of transform": Method(lambda y, a, b: neighbours(ours(y, a, b).transform(X), y, 1), strengths),
        "N2S2L, predict on new items": Method(lambda y, a, b: ours(y, a, b).predict(X), strengths),
        "harmonic fields": Method(lambda y, p: spread(HarmonicFields(p), y), reach),
        "harmonic fields, class mass": Method(lambda y, p: spread(HarmonicFields(p, class_mass=True), y), reach),
        "local and global consistency": Method(
            lambda y, a: spread(LabelSpreading(kernel="knn", n_neighbors=7, alpha=a, max_iter=500), y),
            grid((0.5, 0.1, 0.9, 0.99)),
        ),
    }
    if n_labelled > n_classes:  # neither is defined by one image a person
        methods["LDA"] = Method(lambda y: neighbours(Fisherfaces(X, y)(X), y, 1))
        methods["MFA"] = Method(lambda y: neighbours(MarginalFisher().fit(X, y).transform(X), y, 1))
    return methods


class Fisherfaces:
    """LDA's directions of unit length after PCA to the number of labelled items less that of classes, as in the paper.

    At their usual length, 1 over the deviation within classes, a few images a person leave directions of no deviation, and
    nothing but noise: 35 % of ORL right with two labels a person in place of 76.
    """

    def __init__(self, X: Any, labels: Any) -> None:
        known = labels >= 0
        size = min(int(known.sum()) - len(np.unique(labels[known])), X.shape[1])
        self.pca = PCA(size, random_state=0).fit(X[known])
        directions = LinearDiscriminantAnalysis().fit(self.pca.transform(X[known]), labels[known]).scalings_
        self.directions = directions / np.linalg.norm(directions, axis=0)

    def __call__(self, X: Any) -> Any:
        return self.pca.transform(X) @ self.directions


def discriminative(model: vn.N2S2L) -> Any:
    return model.encodings_[:, : model.n_discriminative_]


# ---------------------------------------------------------------- occluded faces


def occlusion(names: list[str]) -> None:
    """Two labelled images a person; of the others half take part in the fit, half are new and have a black square."""
    for name in names or FACES[:1]:
        images, y = faces_of(name)
        X, table = images.reshape(len(images), -1), Table()
        for seed in SEEDS:
            labels = hidden(y, lambda n: 2, seed)
            new = hidden(y, lambda n: 2 + (n - 2) // 2, seed) < 0
            encoders = occlusion_encoders(X[~new], labels[~new], seed)
            for side in OCCLUSIONS:
                mask = squares(images[new].shape, side, np.random.default_rng(seed)).reshape(int(new.sum()), -1)
                spoilt = np.where(mask, X[new], 0)
                for method, (encode, codes, known) in encoders.items():
                    found = KNeighborsClassifier(1).fit(codes, known).predict(encode(spoilt, mask))
                    table.put(method, f"{side} × {side}", 100 * float(np.mean(found == y[new])))
        size = " × ".join(map(str, images.shape[1:]))
        show(f"{name}, occluded: images of {size}, 2 labelled a person, {int(new.sum())} new", table)


def occlusion_encoders(X: Any, labels: Any, seed: int) -> dict[str, tuple[Callable[..., Any], Any, Any]]:
    """For each method how it encodes new images with a mask, the codes of the labelled images and their persons."""
    methods, known = of_faces(X, labels, seed), labels >= 0
    n_classes = int(labels.max()) + 1
    k = max(int(known.sum()) * X.shape[1] // (int(known.sum()) + X.shape[1]), n_classes + 1)
    alpha, beta = choose(methods["N2S2L"], labels, seed)
    (smooth,) = choose(methods["sMFA"], labels, seed)
    ours = vn.N2S2L(k, n_classes, alpha, beta, random_state=seed, max_iter=100).fit(X, labels)
    plain = vn.N2S2L(k, n_classes, 0, 0, random_state=seed, max_iter=100).fit(X)
    pca, local = PCA(k, random_state=0).fit(X), LNMF(k, random_state=seed).fit(X)
    marginal, semi = MarginalFisher().fit(X, labels), MarginalFisher(smoothness=smooth).fit(X, labels)
    fisher, q = Fisherfaces(X, labels), ours.n_discriminative_
    encoders: dict[str, Callable[..., Any]] = {
        "pixels": lambda Z, mask: Z,
        "PCA": lambda Z, mask: pca.transform(Z),
        "LDA": lambda Z, mask: fisher(Z),
        "MFA": lambda Z, mask: marginal.transform(Z),
        "sMFA": lambda Z, mask: semi.transform(Z),
        "LNMF": lambda Z, mask: local.transform(Z),
        "NMF, NNLS": lambda Z, mask: plain.transform(Z),
        "N2S2L, pseudo-inverse": lambda Z, mask: ours.transform(Z, method="pinv")[:, :q],
        "N2S2L, NNLS": lambda Z, mask: ours.transform(Z)[:, :q],
        "NMF, occluded pixels masked": lambda Z, mask: plain.transform(Z, mask=mask),
        "N2S2L, occluded pixels masked": lambda Z, mask: ours.transform(Z, mask=mask)[:, :q],
        "N2S2L, masked, all of V": lambda Z, mask: ours.transform(Z, mask=mask),
    }
    whole = np.ones_like(X[known], dtype=bool)
    return {name: (encode, encode(X[known], whole), labels[known]) for name, encode in encoders.items()}


def squares(shape: tuple[int, ...], side: int, rng: Any) -> Any:
    """True outside a square at a random place of each image."""
    mask = np.ones(shape, dtype=bool)
    for n in range(len(mask)):
        top, left = rng.integers(shape[1] - side + 1), rng.integers(shape[2] - side + 1)
        mask[n, top : top + side, left : left + side] = False
    return mask


# ---------------------------------------------------------------- print


def show(title: str, table: Table) -> None:
    columns = list(dict.fromkeys(column for row in table.accuracies.values() for column in row))
    print(f"\n**{title}**; accuracy in percent, mean ± deviation of {len(SEEDS)} splits\n")
    print("| method | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for method, row in table.accuracies.items():
        cells = [f"{np.mean(row[c]):.1f} ± {np.std(row[c]):.1f}" if c in row else "–" for c in columns]
        print(f"| {method} | " + " | ".join(cells) + " |")
    chosen = [
        f"{method} " + " or ".join("/".join(map(str, s)) for s, _ in counts.most_common(2))
        for method, counts in table.strengths.items()
        if any(counts)
    ]
    print("\nChosen most often: " + "; ".join(chosen) + "." if chosen else "", flush=True)


def compare(table: Table, ours: str, theirs: str) -> None:
    """By how much one method is ahead of another in each column, and in how many of the splits."""
    cells = []
    for column, right in table.accuracies[ours].items():
        ahead = np.subtract(right, table.accuracies[theirs][column])
        cells.append(f"{ahead.mean():+.1f} at {column} ({np.sum(ahead > 0)} of {len(ahead)} splits)")
    print(f"\n{ours} less {theirs}: " + ", ".join(cells) + ".", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, *names = sys.argv[1:] or ["all"]
    print(f"vennmf {vn.__version__}, numpy {np.__version__}, scikit-learn {sklearn.__version__}")
    for task in (multiview, faces, occlusion):
        if what in (task.__name__, "all"):
            task(names)
