"""What the design promises a user can type runs as it stands there; only sizes are smaller and files are made up here."""

import numpy as np
import pandas as pd
import pytest

import vennmf as vn

WORDS = {
    "both": "summit climate carbon treaty energy emissions warming forest",
    "also": "vote party minister poll ballot parliament campaign leader",
    "bbc": "goal league match striker coach club penalty season",
    "cnn": "senate committee congress hearing wiretap chairman house caucus",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for source in ("bbc", "cnn"):
        rows = []
        for n in range(40):
            themes = rng.choice(["both", "also", source], 2)
            words = [word for theme in themes for word in rng.choice(WORDS[theme].split(), 8)]
            rows.append({"id": f"{source}{n}", "text": " ".join(words), "title": f"Story {n}"})
        table = pd.DataFrame(rows)
        if source == "bbc":
            table.to_json("bbc.jsonl", orient="records", lines=True)
        else:
            table.to_parquet("cnn.parquet")
    return tmp_path


def test_several_sources_over_one_vocabulary(folder):
    new_articles = ["the treaty of the climate summit", "a hearing of the committee"]

    sources = vn.load_sources({"bbc": "bbc.jsonl", "cnn": "cnn.parquet"}, text="text", item="id")
    model = vn.RJSNMF(n_components={"bbc": 4, "cnn": 5}, n_shared=2, random_state=0).fit(sources)
    assert model.components_["shared"].shape == (2, len(sources["bbc"].features))
    assert set(model.components_) == {"shared", "bbc", "cnn"}
    assert model.encodings_["cnn"].shape == (40, 5)
    assert model.transform(new_articles, source="cnn").shape == (2, 5)
    assert {"block", "topic", "word", "weight"} <= set(vn.topics(model, top=10))
    search = vn.Retriever(model, sources)
    hits = search("climate summit", source="bbc", top=20)
    assert hits[0].item.startswith("bbc")
    assert 0 < hits[0].score <= 1
    assert hits[0].why[0].words
    for space in ("all", "shared", "private"):
        assert set(vn.joint_cluster(model, n_clusters={"bbc": 3, "cnn": 4}, space=space)) == {"bbc", "cnn"}
    pytest.importorskip("matplotlib").use("Agg")
    assert vn.suggest_ranks(sources, max_components=4, n_folds=2).plot().lines
    model.save("news.venn")
    assert np.array_equal(vn.load("news.venn").encodings_["cnn"], model.encodings_["cnn"])


def test_several_views_and_some_labels():
    rng = np.random.default_rng(0)
    X1, X2, X3 = rng.random((30, 8)), rng.random((30, 9)), rng.random((30, 10))
    X_new, y = rng.random((4, 8)), np.repeat([0, 1, -1], 10)
    model = vn.MCL(n_components=5, scale="data", max_iter=20, tol=1, random_state=0)
    fitted = model.fit({"english": X1, "italian": X2, "spanish": X3}, y)
    assert fitted.transform({"english": X_new}).shape == (4, 5)


def test_one_view_and_some_labels():
    rng = np.random.default_rng(0)
    faces, new_faces, y = rng.random((30, 12)), rng.random((4, 12)), np.repeat([0, 1, -1], 10)
    assert (
        vn.N2S2L(n_components=6, n_discriminative=4, max_iter=20, tol=1).fit(faces, y).transform(new_faces).shape[0]
        == 4
    )


def test_images_and_tags():
    rng = np.random.default_rng(0)
    features, new_features = rng.random((30, 6)), rng.random((2, 6))
    tags = [["sea", "beach"], ["city"], ["tree", "forest"]] * 10
    tagger = vn.PJMF(n_components=3, n_neighbors=3, random_state=0).fit(features, tags)
    assert [len(suggested) for suggested in tagger.annotate(new_features, top=5)] == [5, 5]
    assert len(tagger.refine(top=5)) == 30
    assert tagger.decision_function(new_features).shape == (2, 5)


def test_any_sharing_pattern():
    rng = np.random.default_rng(0)
    sources = {name: rng.random((30, 20)) for name in ("bbc", "cnn", "rte")}
    model = vn.VennNMF(
        blocks={"all": 4, ("bbc", "cnn"): 2, "bbc": 2, "cnn": 2, "rte": 1}, penalties=[vn.MutuallyOrthogonal(100)]
    ).fit(sources)
    assert {name: H.shape[1] for name, H in model.encodings_.items()} == {"bbc": 8, "cnn": 8, "rte": 5}
