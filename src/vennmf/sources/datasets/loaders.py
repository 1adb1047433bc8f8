"""One small loader for each named data set: its files become plain tables and arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from vennmf.sources.datasets.files import Files

Parts = dict[str, Any]
Loader = Callable[[Files], Parts]


# --- texts and tags: sources over one vocabulary -----------------------------------------------------------


def _texts(file: str, source: str | None = None, **columns: str) -> Loader:
    """JSON lines with a text each: one source, or one for each value of the column ``source``."""

    def load(files: Files) -> Parts:
        import pandas as pd

        table = pd.DataFrame(files.records(file))
        reads = {"text": "text", "item": "id"} | columns
        if source is None:
            return {"shares": "features", "tables": {files.name: table}, "columns": reads}
        groups = {str(name): part.reset_index(drop=True) for name, part in table.groupby(source, sort=True)}
        return {"shares": "features", "tables": groups, "columns": reads}

    return load


def _split(table: Any, column: str, separator: str | None) -> list[list[str]]:
    """The cells of a column as lists of tags."""
    return [[tag for tag in cell.split(separator) if tag] for cell in table[column]]


def _tags(*, tags: str, item: str | None, separator: str | None, more: Loader | None = None) -> Loader:
    """A table of tagged items, its cells split into lists."""

    def load(files: Files) -> Parts:
        table = files.table("items.csv.gz")
        table[tags] = _split(table, tags, separator)
        columns = {"tags": tags} | ({"item": item} if item else {})
        parts: Parts = {"shares": "features", "tables": {files.name: table}, "columns": columns}
        return parts | (more(files) if more else {})

    return load


def _tag_matrix(matrix: str, names: Callable[[Files], Any], labels: dict[str, tuple[str, str]]) -> Loader:
    """The matrix of common tags, and label matrices with the names of their classes."""

    def load(files: Files) -> Parts:
        return {
            "matrices": {files.name: files.sparse(matrix)},
            "features": {files.name: names(files)},
            "labels": {name: files.sparse(file) for name, (file, _) in labels.items()},
            "classes": {name: files.lines(listed) for name, (_, listed) in labels.items()},
        }

    return load


def _mirflickr(files: Files) -> Parts:
    tags = files.table("common_tags.csv")["tag"].to_numpy(dtype=object)
    common = _tag_matrix("tags_common1386.npz", lambda _: tags, {"concepts": ("labels24.npz", "label_names.txt")})
    return common(files) | {"arrays": files.arrays("features_first1000.npz")}


def _icons(files: Files) -> Parts:
    table = files.table("items.csv.gz")
    table["tokens"] = _split(table, "tokens", None)
    ink = files.arrays("bitmaps24.npz")["ink"]
    table["id"] = table["source"] + "/" + table["name"]
    names = sorted(table["source"].unique())
    return {
        "shares": "features",
        "tables": {name: table[table["source"] == name].reset_index(drop=True) for name in names},
        "columns": {"tags": "tokens", "item": "id"},
        "arrays": {name: ink[(table["source"] == name).to_numpy()] for name in names},
    }


def _flickr8k(files: Files) -> Parts:
    table = files.table("items.csv.gz")
    table["words"] = [
        [word for entry in cell.split() for word, _, n in [entry.rpartition(":")] for _ in range(int(n))]
        for cell in table.pop("word_counts")
    ]
    return {
        "shares": "features",
        "tables": {files.name: table},
        "columns": {"tags": "words", "item": "image"},
    }


def _bookmarks(files: Files) -> Parts:
    tables = {}
    import pandas as pd

    for site in ("delicious", "bibtex"):
        columns = {}
        for kind in ("words", "tags"):
            X, names = files.sparse(f"{site}_{kind}.npz"), files.lines(f"{site}_{kind[:-1]}_names.txt")
            columns[kind] = [list(row) for row in np.split(names[X.indices], X.indptr[1:-1])]
        tables[site] = pd.DataFrame(columns)
    return {"shares": "features", "tables": tables, "columns": {"tags": "tags"}}


def _three_sources(files: Files) -> Parts:
    """Counts on the union of the three vocabularies, sorted, with the story of each article."""
    outlets = ("bbc", "guardian", "reuters")
    terms = {name: files.lines(f"{name}_terms.txt") for name in outlets}
    words = sorted(set().union(*terms.values()))
    position = {word: n for n, word in enumerate(words)}
    stories = files.table("stories.csv")
    label = dict(zip(stories["story"].astype(str), stories["label"], strict=True))
    matrices, labels, arrays = {}, {}, {}
    for name in outlets:
        X: Any = files.sparse(f"{name}_counts.npz").tocoo()
        columns = np.asarray([position[word] for word in terms[name]])
        matrices[name] = sp.csr_array((X.data, (X.row, columns[X.col])), shape=(X.shape[0], len(words)))
        arrays[f"{name}_story"] = files.lines(f"{name}_stories.txt")
        labels[name] = np.asarray([label[story] for story in arrays[f"{name}_story"]], dtype=object)
    named = np.asarray(words, dtype=object)
    return {
        "shares": "features",
        "matrices": matrices,
        "features": dict.fromkeys(outlets, named),
        "labels": labels,
        "arrays": arrays,
    }


def _cells(files: Files) -> Parts:
    genes = files.table("genes.csv")["gene"].to_numpy(dtype=object)
    return {
        "shares": "features",
        "matrices": {name: files.sparse(f"{name}_counts.npz") for name in ("ctrl", "stim")},
        "features": dict.fromkeys(("ctrl", "stim"), genes),
        "arrays": {f"{name}_cells": files.lines(f"{name}_cells.txt") for name in ("ctrl", "stim")},
    }


# --- views of the same items -------------------------------------------------------------------------------


def _dense_views(file: str, *views: str, labels: tuple[str, ...] = ("label",)) -> Loader:
    def load(files: Files) -> Parts:
        arrays = files.arrays(file)
        return {
            "shares": "items",
            "matrices": {view: arrays[view] for view in views},
            "labels": {name: arrays[name].astype(np.int64) for name in labels},
        }

    return load


def _sparse_views(labels: str, **views: str) -> Loader:
    def load(files: Files) -> Parts:
        return {
            "shares": "items",
            "matrices": {view: files.sparse(file) for view, file in views.items()},
            "labels": {"label": files.table(labels)["label"].to_numpy()},
        }

    return load


def _images(file: str, *labels: str) -> Loader:
    """Grey images, as an array of pictures and as a matrix of pixels."""

    def load(files: Files) -> Parts:
        arrays = files.arrays(file)
        images = arrays["images"]
        return {
            "shares": "items",
            "matrices": {"pixels": images.reshape(len(images), -1)},
            "labels": {name: arrays[name] for name in labels},
            "arrays": {"images": images},
        }

    return load


def _features_and_tags(tags: str, classes: str, item: str, thumbs: str) -> Loader:
    def load(files: Files) -> Parts:
        table = files.table("items.csv.gz")
        table[tags] = _split(table, tags, "|")
        names, codes = np.unique(table[classes].to_numpy(dtype=str), return_inverse=True)
        return {
            "shares": "items",
            "tables": {files.name: table},
            "columns": {"tags": tags, "item": item},
            "matrices": {k: v.astype(np.float32) for k, v in files.arrays("features.npz").items()},
            "labels": {classes: codes},
            "classes": {classes: names.astype(object)},
            "arrays": files.arrays(thumbs),
        }

    return load


def _corel5k(files: Files) -> Parts:
    table = files.table("items.csv.gz")
    table["words"] = _split(table, "words", None)
    return {
        "shares": "items",
        "tables": {files.name: table},
        "columns": {"tags": "words"},
        "matrices": {"regions": files.sparse("visterms499.npz")},
        "labels": {"words": files.sparse("words374.npz"), "cd": table["cd"].to_numpy()},
        "classes": {"words": files.lines("word_names.txt")},
        "arrays": files.arrays("tagprop_nn100_train.npz"),
    }


def _wikipedia(files: Files) -> Parts:
    arrays = files.arrays("wikipedia_image_text.npz")
    table = files.table("items.csv")
    names = dict(zip(table["label"], table["category"], strict=True))
    return {
        "shares": "items",
        "tables": {files.name: table},
        "matrices": {v: np.vstack([arrays[f"{v}_train"], arrays[f"{v}_test"]]) for v in ("image", "text")},
        "labels": {"category": np.concatenate([arrays["label_train"], arrays["label_test"]]).astype(np.int64)},
        "classes": {"category": np.asarray([names[k] for k in sorted(names)], dtype=object)},
        "arrays": {"test": np.repeat([False, True], [len(arrays["label_train"]), len(arrays["label_test"])])},
    }


def _breast(files: Files) -> Parts:
    """The training part as views; the test part, which lacks the proteins, among the arrays."""
    views = {name: files.table(f"train_{name}.csv.gz", index_col=0) for name in ("mrna", "mirna", "protein")}
    tests = {f"test_{name}": files.table(f"test_{name}.csv.gz", index_col=0) for name in ("mrna", "mirna")}
    subtypes = {part: files.table(f"{part}_subtype.csv")["subtype"].to_numpy(str) for part in ("train", "test")}
    return {
        "shares": "items",
        "matrices": {name: table.to_numpy() for name, table in views.items()},
        "features": {name: table.columns.to_numpy(dtype=object) for name, table in views.items()},
        "labels": {"subtype": subtypes["train"]},
        "arrays": {name: table.to_numpy() for name, table in tests.items()} | {"test_subtype": subtypes["test"]},
    }


def _nutrimouse(files: Files) -> Parts:
    tables = {name: files.table(f"{name}.csv") for name in ("gene", "lipid", "diet", "genotype")}
    return {
        "shares": "items",
        "matrices": {name: tables[name].to_numpy(np.float64) for name in ("gene", "lipid")},
        "features": {name: tables[name].columns.to_numpy(dtype=object) for name in ("gene", "lipid")},
        "labels": {name: tables[name][name].to_numpy(str) for name in ("diet", "genotype")},
    }


def _reuters_multilingual(files: Files) -> Parts:
    """The 1,200 documents in five languages; the two subsets of 600 are :func:`_reuters600` and ``600b``."""
    return _sparse_views("reuters1200_labels.csv", **{f"view{n}": f"reuters1200_view{n}.npz" for n in range(1, 6)})(
        files
    )


def _reuters600(files: Files) -> Parts:
    """Full vocabularies by language, without the few columns that hold negative weights."""
    languages = dict(zip(("english", "french", "german", "italian", "spanish"), range(1, 6), strict=True))
    parts = _sparse_views(
        "reuters600_labels.csv", **{name: f"reuters600_view{n}_full.npz" for name, n in languages.items()}
    )(files)
    for name, X in parts["matrices"].items():
        lowest = X.min(axis=0).toarray().ravel()
        parts["matrices"][name] = X[:, np.flatnonzero(lowest >= 0)]
    return parts


def _digits(files: Files) -> Parts:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    return {
        "shares": "items",
        "matrices": {"pixels": bunch.data},
        "labels": {"digit": bunch.target},
        "arrays": {"images": bunch.images},
    }


LOADERS: dict[str, Loader] = {
    "bbc_multiview": _sparse_views(
        "bbc_labels.csv", **{f"segment{n}": f"bbc_seg{n}of4_counts.npz" for n in range(1, 5)}
    ),
    "bbc_news": _texts("bbc_news.jsonl.gz"),
    "breast_tcga": _breast,
    "citeseer": _sparse_views("labels.csv", citations="citations.npz", words="words.npz"),
    "cnn_news_2019": _texts("cnn_news_2019.jsonl.gz"),
    "coco_objects": _tags(tags="objects", item="row", separator=None),
    "corel5k": _corel5k,
    "digits": _digits,
    "digits_mnist_usps": _dense_views(
        "digits_mnist_usps.npz", "mnist", "usps", labels=("block", "mnist_digit", "usps_digit")
    ),
    "emoji_multiview": _features_and_tags("keywords_emojilib", "group", "emoji", "thumbs32_rgb.npz"),
    "extended_yaleb": _images("extended_yaleb_32x32.npz", "person"),
    "flickr8k_captions": _flickr8k,
    "harrison_instagram": _tags(
        tags="tags",
        item="image",
        separator=None,
        more=_tag_matrix("tags_997.npz", lambda files: files.lines("vocabulary997.txt"), {}),
    ),
    "icons_multisource": _icons,
    "mirflickr25k": _tags(tags="tags", item="image", separator=None, more=_mirflickr),
    "msrc_v1": _dense_views("msrc_v1.npz", "cm", "hog", "gist", "lbp", "centrist"),
    "news_channels_2017": _texts("news_channels_2017.jsonl.gz", source="source"),
    "newsgroups20": _texts("newsgroups20.jsonl.gz"),
    "newsgroups_ng500_3view": _sparse_views("labels.csv", **{f"view{n}": f"view{n}_counts.npz" for n in range(1, 4)}),
    "nuswide_10k5": _tags(
        tags="tags",
        item="image",
        separator=None,
        more=_tag_matrix(
            "tags_1k.npz",
            lambda files: files.lines("taglist1k.txt"),
            {
                "concepts21": ("labels21.npz", "label21_names.txt"),
                "concepts81": ("labels81.npz", "label81_names.txt"),
            },
        ),
    ),
    "nutrimouse": _nutrimouse,
    "openclipart": _features_and_tags("keywords", "top_category", "path", "thumbs32_rgb.npz"),
    "orl_faces": _images("orl_faces.npz", "person", "image_no"),
    "orl_multiview": _dense_views("orl_multiview.npz", "gist", "lbp", "hog", "centrist"),
    "pbmc_ifnb": _cells,
    "reuters21578": _texts("reuters21578.jsonl.gz"),
    "reuters_multilingual": _reuters_multilingual,
    "reuters_multilingual_600": _reuters600,
    "reuters_multilingual_600b": _sparse_views(
        "reuters600b_labels.csv", **{f"view{n}": f"reuters600b_view{n}_tfidf.npz" for n in range(1, 4)}
    ),
    "social_bookmarks": _bookmarks,
    "three_sources": _three_sources,
    "uci_mfeat": _dense_views("uci_mfeat.npz", "pix", "fou", "fac", "zer", "kar", "mor"),
    "webkb203": _sparse_views("labels.csv", content="content.npz", inbound="inbound.npz", outbound="outbound.npz"),
    "wikipedia_image_text": _wikipedia,
    "yale_faces": _images("yale_faces_64x64.npz", "person"),
    "youtube_trending_2017": _tags(tags="tags", item="video_id", separator="|"),
}
