"""What do the figures look like? Draws docs/gallery/*.png from public data: python examples/gallery.py [folder]."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import vennmf as vn
from vennmf import plots
from vennmf.evaluation import purity_ratios
from vennmf.sources.planted import planted, planted_views

mpl.use("Agg")
FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
OUTLETS = ("bbc", "cnn")


def news() -> Any:
    """BBC and CNN, winter 2016 to 2017, as tf-idf over one vocabulary."""
    tables = vn.datasets.load("news_channels_2017").only(*OUTLETS)
    return vn.load_sources(tables, text="text", item="id", min_count=5, max_share=0.5, stop_words="english")


def draw(save: Callable[[str, Any], None]) -> None:
    sources = news()
    fit = {"random_state": 0, "max_iter": 100, "tol": 1e-3}
    model = vn.RJSNMF(n_components={"bbc": 16, "cnn": 14}, n_shared=10, orthogonality=10, **fit).fit(sources)
    save("topic-words", plots.topic_words(model))
    save("energy", plots.energy(model))
    save("block-overlaps", plots.block_overlaps(model))
    fits = {
        rule: vn.JSNMF(16, 10, solver=rule, random_state=0, max_iter=60, tol=0.0, min_change=0.0)
        for rule in ("mu", "cd")
    }
    names = {"mu": "multiplicative rule", "cd": "vennmf"}
    fitted = {names[rule]: joint.fit(sources) for rule, joint in fits.items()}
    save("convergence", plots.convergence(fitted, gap=True))
    save("item-map", plots.item_map(model))
    by_section(save, sources, model)
    ranks(save)
    search(save)
    faces(save)
    views(save)


def by_section(save: Callable[[str, Any], None], sources: Any, model: Any) -> None:
    known = np.asarray(sources.metadata["bbc"]["label"].fillna("other"))
    parts = [vn.joint_cluster(model, 8, space=space, random_state=0)["bbc"] for space in ("shared", "private", "all")]
    save("purity-ratio", plots.purity_ratio(purity_ratios(known, parts[0], parts[1])))
    save("confusion", plots.confusion(known, parts[2]))


def ranks(save: Callable[[str, Any], None]) -> None:
    data = planted({"all": 3, "a": 2, "b": 4}, 200, 150, noise=0.3, sparse=True, random_state=1)
    found = vn.suggest_ranks(data.sources, max_components=12, papers_rules=False, n_threads=1)
    save("rank-curves", found.plot())


def search(save: Callable[[str, Any], None]) -> None:
    """Each of sixty articles asks for others of its section: by the words themselves, and by encodings."""
    table = vn.datasets.load("bbc_news").tables["bbc_news"].drop_duplicates("text").iloc[::3]
    sources = vn.load_sources({"bbc": table}, text="text", item="id", min_count=5, stop_words="english")
    labels = np.asarray(table["label"])
    X = sources["bbc"].X
    H = vn.NMF(20, random_state=0, max_iter=100, tol=1e-3).fit_transform(X)
    asked = np.random.default_rng(0).choice(len(labels), 60, replace=False)
    rankings = {"words": ranked(X.toarray(), labels, asked), "20 topics": ranked(H, labels, asked)}
    save("precision-recall", plots.precision_recall(rankings))
    save("precision-at-n", plots.precision_at_n(rankings))


def ranked(rows: Any, labels: Any, asked: Any) -> list[Any]:
    units = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    hits = []
    for query in asked:
        order = np.argsort(-(units @ units[query]), kind="stable")
        hits.append((labels[order] == labels[query])[order != query])
    return hits


def faces(save: Callable[[str, Any], None]) -> None:
    images = vn.datasets.load("orl_faces").arrays["images"][:, ::3, ::3].astype(np.float32) / 255
    model = vn.NMF(40, random_state=0, max_iter=300, tol=1e-3, penalties=[vn.L1(5.0, on="encodings")])
    model.fit(images.reshape(len(images), -1))
    save("basis-images", plots.basis_images(model.components_["shared"], images.shape[1:], columns=10))


def views(save: Callable[[str, Any], None]) -> None:
    data = planted_views(
        {"all": 4, ("text", "image"): 3, ("image", "sound"): 2, "text": 3, "image": 2, "sound": 2},
        150,
        {"text": 60, "image": 50, "sound": 40},
        n_classes=3,
        noise=0.05,
        random_state=0,
    )
    model = vn.MCL(n_components=20, random_state=0, max_iter=200).fit(data.views, data.labels)
    save("factor-views", plots.factor_views(model.views_of_factors_))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)

    def save(name: str, ax: Any) -> None:
        path = folder / f"{name}.png"
        ax.figure.savefig(path, dpi=100)
        print(f"{path}: {path.stat().st_size / 1024:.0f} KB", flush=True)

    warnings.simplefilter("ignore", vn.ConvergenceWarning)
    draw(save)


if __name__ == "__main__":
    main()
