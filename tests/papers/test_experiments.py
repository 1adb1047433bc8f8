"""The experiments themselves, on planted data; and the quick ones on real data where there are any."""

import numpy as np
import pytest
import scipy.sparse as sp

import vennmf as vn
from vennmf.cli.output import Form
from vennmf.cli.reproduce import EXPERIMENTS, reproduce
from vennmf.errors import SourceError
from vennmf.matrices import ViewSet
from vennmf.sources import datasets
from vennmf.sources.planted import planted

import joint_clustering  # isort: skip
import multiview  # isort: skip
import tag_search  # isort: skip
from test_reports import check  # isort: skip

pytestmark = pytest.mark.filterwarnings("ignore::vennmf.errors.ConvergenceWarning")

NEEDS = {
    "tag-search": ("mirflickr25k", "nuswide_10k5", "coco_objects"),
    "rec-talk": ("newsgroups20",),
    "bbc-cnn": ("bbc_news", "cnn_news_2019"),
    "convergence": ("newsgroups20", "bbc_news", "cnn_news_2019"),
    "faces": ("yale_faces",),
    "occlusion": ("yale_faces",),
    "tagging": ("mirflickr25k",),
    "multiview": ("msrc_v1",),
    "toy": (),
}


@pytest.fixture(scope="module")
def task():
    """Two sources with three classes each, one part a class, all shared."""
    data = planted({"all": 3}, {"a": 60, "b": 50}, 60, density=0.01, random_state=0)
    labels = {name: H.argmax(axis=1) for name, H in data.encodings.items()}
    views = ViewSet.of({name: sp.csr_array(X) for name, X in data.sources.items()})
    return joint_clustering.Task(views, labels, {"a": 3, "b": 3}, {"a": 4, "b": 4}, 3)


@pytest.mark.parametrize("method", joint_clustering.METHODS)
def test_every_method_of_joint_clustering_finds_planted_classes(task, method):
    scores = joint_clustering.compare(task, 1, {method: joint_clustering.METHODS[method]})
    assert scores["source"].to_list() == ["a", "b"]
    assert {"accuracy", "nmi", "entropy", "purity"} <= set(scores)
    assert scores["accuracy"].min() > 0.6


def test_the_papers_figures_stand_beside_ours(task):
    scores = joint_clustering.compare(task, 2, {"KM": joint_clustering.k_means})
    table = joint_clustering.table(scores, "a", {"accuracy": "AC"}, {"KM": {"accuracy": "0.5 ± 0.1"}})
    assert table.columns.to_list() == ["AC", "paper: AC"]
    assert table.at["KM", "paper: AC"] == "0.5 ± 0.1"


@pytest.mark.parametrize("method", ["NMF", "JSNMF", "RJSNMF", "chosen", "Jaccard", "hybrid"])
def test_tag_search_ranks_all_items_though_it_fits_few(monkeypatch, method):
    rng = np.random.default_rng(0)
    themes = [["sea", "beach", "sand", "wave"], ["city", "street", "night", "car"], ["tree", "forest", "leaf", "moss"]]
    of = rng.integers(0, 3, 120)
    tags = {f"i{n}": list(rng.choice(themes[t], 2, replace=False)) for n, t in enumerate(of)}
    views = vn.load_sources({"target": list(tags.values()), "auxiliary": themes * 20})
    answers = {"beach": of == 0, "street": of == 1, "forest": of == 2}
    monkeypatch.setattr(tag_search, "sources_of", lambda *_: (views, answers))
    monkeypatch.setattr(tag_search, "R", 3)
    monkeypatch.setattr(tag_search, "R_AUX", 3)
    monkeypatch.setattr(tag_search, "CANDIDATES", (tag_search.Sharing(3),))
    whole = method in ("Jaccard", "hybrid")
    case = {"target": "t", "n": None if whole else 40, "seed": 0, "method": method, "auxiliary": "x", "K": 2}
    found = tag_search.once(case)
    assert len(found["queries"]) == 3
    assert found["AP"] == pytest.approx(np.mean(found["queries"]), abs=1e-4)
    assert found["AP"] > 0.5
    assert set(tag_search.COLUMNS) <= set(found)


def test_multiview_labels_lie_in_one_half_alone(monkeypatch):
    y = np.repeat([0, 1, 2], 20)
    rng = np.random.default_rng(0)
    views = {"a": np.eye(3)[y] + 0.1 * rng.random((60, 3)), "b": np.eye(3)[y][:, ::-1] + 0.1 * rng.random((60, 3))}
    monkeypatch.setattr(multiview, "views_of", lambda name: (views, y))
    monkeypatch.setitem(multiview.MULTIVIEW, "planted", 3)
    data = multiview.Collection("planted")
    for share, each in ((0.1, 2), (0.5, 10)):
        first, second = (data.labels(0, fold, share) for fold in (0, 1))
        assert not np.any((first >= 0) & (second >= 0))
        assert np.bincount(first[first >= 0]).tolist() == [each] * 3
    found = multiview.measurer()({"data": "planted", "split": 0, "fold": 0, "method": "MCL", "share": 0.5})
    assert found["accuracy"] > 90
    assert set(found) == {"accuracy", "k-means accuracy", "NMI"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Retry downloading")  # without a network, before it is given up
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_experiments_give_whole_reports(name, tmp_path):
    for dataset in NEEDS[name]:
        try:
            datasets.load(dataset)
        except SourceError as error:
            pytest.skip(f"{name} needs {dataset}: {error}")
    reproduce([name], False, True, tmp_path, Form.JSON)
    assert check(tmp_path, name)["claims"]
