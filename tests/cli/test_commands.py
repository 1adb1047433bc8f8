"""Every command does what its help says, in every form."""

import csv
import io
import json
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import vennmf as vn


def rows(out):
    return json.loads(out)


def test_fit_saves_a_model_and_shows_what_each_block_carries(model, files, vennmf):
    code, out, err = vennmf(
        "fit", "-s", f"bbc={files}/bbc.jsonl", "-s", f"cnn={files}/cnn.jsonl", "--tags", "tags", "--item", "id",
        "--n-components", "bbc=3,cnn=4", "--n-shared", 2, "--seed", 0, "-o", files / "other.venn", "--json",
    )  # fmt: skip
    assert code == 0
    assert [row["source"] for row in rows(out)] == ["bbc", "cnn"]
    assert all(0 < row["by shared"] < row["explained"] <= 1 for row in rows(out))
    assert "saved" in err
    assert vn.load(files / "other.venn").encodings_["cnn"].shape == (50, 4)


def test_the_same_seed_saves_the_same_bits(model, files, vennmf):
    given = ["-s", f"bbc={files}/bbc.jsonl", "-s", f"cnn={files}/cnn.jsonl", "--tags", "tags", "--item", "id"]
    code, *_ = vennmf("fit", *given, "--n-components", 3, "--n-shared", 2, "--seed", 0, "-o", files / "again.venn")
    assert code == 0
    first, second = vn.load(model), vn.load(files / "again.venn")
    assert np.array_equal(first.encodings_["bbc"], second.encodings_["bbc"])


def test_topics_in_every_form_are_the_same_table(model, vennmf):
    table, as_json, as_csv = (
        vennmf("topics", model),
        vennmf("topics", model, "--json"),
        vennmf("topics", model, "--csv"),
    )
    assert table[0] == as_json[0] == as_csv[0] == 0
    listed = rows(as_json[1])
    assert [row["block"] for row in listed] == ["shared", "shared", "bbc", "cnn"]
    assert listed[2]["cnn"] is None
    found = list(csv.DictReader(io.StringIO(as_csv[1])))
    assert [row["words"] for row in found] == [row["words"] for row in listed]
    assert all(row["words"] in table[1] for row in listed)


def test_topics_long_with_items_and_of_one_block(model, vennmf):
    assert {"word", "weight", "exclusivity"} <= set(rows(vennmf("topics", model, "--long", "--json")[1])[0])
    assert rows(vennmf("topics", model, "--items", "--top", 2, "--json")[1])[0]["item"].startswith("bbc")
    assert {row["block"] for row in rows(vennmf("topics", model, "--block", "bbc", "--json")[1])} == {"bbc"}
    used = rows(vennmf("topics", model, "--by-item", "--top", 1, "--json")[1])
    assert [row["item"] for row in used] == [f"bbc{n}" for n in range(60)] + [f"cnn{n}" for n in range(50)]


def test_a_long_table_with_weights_is_fitted_from_flags(tmp_path, vennmf):
    (tmp_path / "long.csv").write_text("id,tag,n\na,sea,1\na,sky,2\nb,sea,1\nb,boat,3\n")
    given = ["-s", f"a={tmp_path}/long.csv", "--tags", "tag", "--item", "id", "--method", "NMF", "--n-components", 1]
    assert vennmf("fit", *given, "--weight", "n", "-o", tmp_path / "m.venn")[0] == 0
    assert vn.load(tmp_path / "m.venn").item_ids_["a"].tolist() == ["a", "b"]
    assert vn.load(tmp_path / "m.venn").encoders_["a"].columns.weight == "n"


def test_search_finds_items_with_reasons_and_metadata(model, vennmf):
    code, out, _ = vennmf("search", model, "all1w2", "--source", "bbc", "--top", 3, "--json")
    assert code == 0
    answer = rows(out)[0]
    assert len(answer["hits"]) == 3
    assert answer["hits"][0]["metadata"]["title"].startswith("Story")
    assert answer["hits"][0]["why"][0]["block"] == "shared"
    table = vennmf("search", model, "all1w2", "--source", "bbc", "--top", 3)[1]
    assert answer["hits"][0]["metadata"]["title"] in table


def test_search_says_what_it_does_not_know(model, vennmf):
    code, out, err = vennmf("search", model, "all1ww2")
    assert code == 0
    assert out == ""
    assert "unknown" in err
    assert "all1w2" in err


def test_search_takes_several_queries_as_csv(model, vennmf):
    _, out, _ = vennmf("search", model, "all0w1", "all1w2", "--top", 2, "--csv")
    assert {row["query"] for row in csv.DictReader(io.StringIO(out))} == {"all0w1", "all1w2"}


def test_search_by_example_and_through_another_source(model, vennmf):
    like = rows(vennmf("search", model, "--like", "bbc0", "--source", "bbc", "--in", "cnn", "--json")[1])[0]["hits"]
    assert {hit["source"] for hit in like} <= {"cnn"}
    via = rows(vennmf("search", model, "all0w1", "--source", "cnn", "--via", "bbc", "--json")[1])[0]["hits"]
    assert all(hit["shared"] == pytest.approx(1) for hit in via)


def test_search_with_the_exact_match_reads_the_files_again(model, files, vennmf):
    data = ["--data", f"bbc={files}/bbc.jsonl", "--data", f"cnn={files}/cnn.jsonl"]
    code, out, _ = vennmf("search", model, "all0w1", "-s", "bbc", *data, "--exact", 0.5, "--json")
    assert code == 0
    hit = rows(out)[0]["hits"][0]
    assert hit["score"] == pytest.approx((hit["latent"] + hit["exact"]) / 2)
    assert hit["matched"] == ["all0w1"]


def test_cluster_shows_clusters_items_and_measures(model, vennmf):
    summary = rows(vennmf("cluster", model, "-k", "bbc=3,cnn=2", "--json")[1])
    assert len(summary) == 5
    assert len(rows(vennmf("cluster", model, "-k", 3, "--items", "--json")[1])) == 110
    measured = rows(vennmf("cluster", model, "-k", 3, "--labels", "section", "--json")[1])
    assert all(0.45 < row["accuracy"] <= row["purity"] <= 1 for row in measured)


def test_cluster_says_which_classes_are_common(model, vennmf):
    found = rows(vennmf("cluster", model, "-k", 2, "--labels", "section", "--common", "--json")[1])
    assert {(row["source"], row["class"]) for row in found} == {
        (s, f"part {n}") for s in ("bbc", "cnn") for n in range(3)
    }
    for row in found:
        assert row["common"] == (None if row["purity_ratio"] is None else row["purity_ratio"] > 1)


def test_a_named_data_set_becomes_files_that_fit(tmp_path, vennmf, monkeypatch):
    texts = {
        name: pd.DataFrame({"id": ["1", "2"], "text": ["Rain in Spain", f"Sun in {name} é"]}) for name in ("x", "y")
    }
    loaded = vn.datasets.Dataset("two", "t", "l", "c", "features", texts, {"text": "text", "item": "id"})
    monkeypatch.setattr("vennmf.sources.datasets.load", lambda name: loaded)
    code, _, err = vennmf("datasets", "orl_faces", "--to", tmp_path / "two")
    assert code == 0
    given = err.strip().splitlines()[-1].removeprefix("next: vennmf ").split()
    given[given.index("20")], given[given.index("10")] = "2", "1"
    assert vennmf(*given)[0] == 0
    assert vn.load(tmp_path / "two" / "two.venn").sources_ == ("x", "y")
    code, _, err = vennmf("datasets", "orl_faces", "--to", tmp_path / "two")
    assert code == 2
    assert "exists" in err


def test_encode_shows_topics_and_drift_and_grows_a_model(model, files, vennmf):
    new = files / "new.jsonl"
    new.write_text('{"id": "n1", "tags": ["all0w1", "all0w2"], "title": "New", "section": "x"}\n')
    code, out, err = vennmf("encode", model, new, "--source", "bbc", "--json")
    assert code == 0
    assert rows(out)[0]["block"] == "shared"
    assert "1 new items of 'bbc'" in err
    grown = files / "grown.venn"
    assert vennmf("encode", model, new, "--source", "bbc", "--append", "-o", grown)[0] == 0
    assert "New" in vennmf("search", grown, "all0w2", "--source", "bbc", "--top", 60)[1]
    full = rows(vennmf("encode", model, new, "--source", "bbc", "--encodings", "--json")[1])
    assert set(full[0]) == {"item", "shared 0", "shared 1", "bbc 0"}


def test_tags_are_suggested_for_new_items_by_their_topics(model, files, vennmf):
    (files / "short.jsonl").write_text('{"id": "n1", "tags": ["all0w1", "all0w2"]}\n{"id": "n2", "tags": []}\n')
    code, out, _ = vennmf("tag", model, files / "short.jsonl", "--source", "bbc", "--top", 3, "--json")
    assert code == 0
    found = rows(out)
    assert {row["item"] for row in found} == {"n1"}
    assert [row["rank"] for row in found] == [1, 2, 3]
    assert all(row["tag"].startswith("all0") and row["shared"] for row in found)
    assert found[0]["tag"] in vennmf("tag", model, files / "short.jsonl", "--source", "bbc")[1]


def test_tags_are_suggested_for_images_by_their_features(tmp_path, vennmf):
    rng = np.random.default_rng(0)
    theme = np.arange(60) % 3
    features = np.eye(3, 8)[theme] + 0.1 * rng.standard_normal((60, 8))
    tags = [[["sea", "beach"], ["city", "street"], ["tree", "forest"]][t] for t in theme]
    vn.PJMF(n_components=3, n_neighbors=5, random_state=0).fit(features, tags).save(tmp_path / "tagger.venn")
    table = pd.DataFrame(features[:3], columns=[f"f{n}" for n in range(8)]).assign(id=list("abc"))
    table.to_parquet(tmp_path / "new.parquet")
    np.save(tmp_path / "new.npy", features[:3])
    sp.save_npz(tmp_path / "new.npz", sp.csr_array(features[:3]))
    code, out, _ = vennmf(
        "tag", tmp_path / "tagger.venn", tmp_path / "new.parquet", "--item", "id", "--top", 2, "--json"
    )
    assert code == 0
    assert [row["item"] for row in rows(out)] == ["a", "a", "b", "b", "c", "c"]
    assert {row["tag"] for row in rows(out)[:2]} == {"sea", "beach"}
    for file in ("new.npy", "new.npz"):
        plain = rows(vennmf("tag", tmp_path / "tagger.venn", tmp_path / file, "--top", 2, "--json")[1])
        assert [row["tag"] for row in plain] == [row["tag"] for row in rows(out)]


def test_two_models_are_compared_topic_by_topic(model, files, vennmf):
    code, out, err = vennmf("compare", model, model, "--json")
    assert code == 0
    assert all(row["cosine"] == pytest.approx(1) for row in rows(out))
    assert all((row["block"], row["topic"]) == (row["other_block"], row["other_topic"]) for row in rows(out))
    assert "4 topics are the same" in err


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_a_report_shows_blocks_topics_items_and_clusters(suffix, model, tmp_path, vennmf):
    page = tmp_path / f"news.{suffix}"
    assert vennmf("report", model, "-k", 3, "-o", page)[0] == 0
    text = page.read_text()
    for heading in ("What each block carries", "Topics", "Items of each topic", "Clusters", "How the fit went"):
        assert heading in text
    assert "Story" in text
    assert ("data:image/png;base64," in text) == (suffix == "html")
    code, _, err = vennmf("report", model, "-o", page)
    assert code == 2
    assert "--force" in err


def test_a_report_runs_nothing_that_stands_in_the_data(files, tmp_path, vennmf):
    rows = [
        {"id": str(n), "tags": ["<script>alert(1)</script>", f"a|b{n % 2}"], "title": "<img src=x>"} for n in range(4)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["-s", f"a={tmp_path}/a.jsonl", "--tags", "tags", "--item", "id", "--method", "NMF", "--n-components", 1]
    assert vennmf("fit", *given, "-o", tmp_path / "m.venn")[0] == 0
    assert vennmf("report", tmp_path / "m.venn", "-k", 1, "-o", tmp_path / "m.html")[0] == 0
    page = (tmp_path / "m.html").read_text()
    assert "<script" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;" in page


def test_evaluate_measures_a_search_on_judgements(model, files, vennmf):
    judged = files / "judged.csv"
    search = rows(vennmf("search", model, "all0w1", "-s", "bbc", "--top", 5, "--json")[1])[0]["hits"]
    lines = ["query,item,relevance", *(f"all0w1,{hit['item']},1" for hit in search), "all0w1,bbc1,0", "all0w1,zzz,2"]
    judged.write_text("\n".join(lines))
    code, out, err = vennmf("evaluate", model, "--qrels", judged, "-s", "bbc", "--json")
    assert code == 0
    assert rows(out)[0]["way"] == "latent"
    assert rows(out)[0]["MAP"] > 0.5
    assert "1 judged items are not in source" in err
    data = ["--data", f"bbc={files}/bbc.jsonl", "--data", f"cnn={files}/cnn.jsonl"]
    more = rows(vennmf("evaluate", model, "--qrels", judged, "-s", "bbc", *data, "--json")[1])
    ways = [row["way"] for row in more]
    assert ways[:2] == ["latent", "exact"]
    assert ways[2].startswith("hybrid 0.")
    assert more[2]["MAP"] >= more[0]["MAP"] - 1e-9
    assert "recall 0.5" in rows(vennmf("evaluate", model, "--qrels", judged, "-s", "bbc", "--by-query", "--json")[1])[0]


def test_a_weight_chosen_on_half_of_the_queries_is_measured_on_the_other(model, files, vennmf, capsys):
    judged = files / "many.csv"
    words = ["all0w1", "all1w2", "all0w3", "all1w4", "bbc0w1"]
    lines = ["query,item"]
    for word in words:
        hits = rows(vennmf("search", model, word, "-s", "bbc", "--top", 4, "--json")[1])[0]["hits"]
        lines += [f"{word},{hit['item']}" for hit in hits]
    judged.write_text("\n".join(lines))
    data = ["--data", f"bbc={files}/bbc.jsonl", "--data", f"cnn={files}/cnn.jsonl"]
    code, out, err = vennmf("evaluate", model, "--qrels", judged, "-s", "bbc", *data, "--json")
    assert code == 0
    assert "--exact 0." in err
    found = {row["way"]: row for row in rows(out)}
    chosen = found.pop("hybrid, chosen on other queries")
    best = max(row["MAP"] for way, row in found.items() if way.startswith("hybrid"))
    assert chosen["queries"] == len(words)
    assert chosen["MAP"] <= best + 1e-9


def test_datasets_are_listed_and_described(vennmf):
    listed = rows(vennmf("datasets", "--json")[1])
    assert "news_channels_2017" in {row["name"] for row in listed}
    assert "Licence" in vennmf("datasets", "orl_faces")[1] or "licence" in vennmf("datasets", "orl_faces")[1]


def test_init_writes_a_recipe_that_fits(files, tmp_path, vennmf, monkeypatch):
    recipe = tmp_path / "news.toml"
    given = ["-s", f"bbc={files}/bbc.jsonl", "-s", f"cnn={files}/cnn.jsonl"]
    assert vennmf("fit", recipe, "--init", *given)[0] == 0
    text = recipe.read_text()
    assert 'tags = "tags"' in text
    assert 'item = "id"' in text
    assert vennmf("fit", "--init", *given)[1].splitlines()[1] == text.splitlines()[1]
    monkeypatch.chdir(tmp_path.parent)
    flags = ["--n-components", 3, "--n-shared", 2, "--min-count", 1, "-o", tmp_path / "m.venn"]
    assert vennmf("fit", recipe, *flags)[0] == 0
    assert (tmp_path / "m.venn").exists()


def test_a_recipe_says_where_columns_disagree_and_quotes_odd_names(tmp_path, vennmf):
    import tomllib

    text = " ".join(["some running words"] * 9)
    pd.DataFrame({"id": ["1"], 'the "te\\xt"': [text]}).to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    pd.DataFrame({"id": ["1"], "body": [text]}).to_json(tmp_path / "b.jsonl", orient="records", lines=True)
    code, _, err = vennmf(
        "fit", tmp_path / "r.toml", "--init", "-s", f"a={tmp_path}/a.jsonl", "-s", f"b={tmp_path}/b.jsonl"
    )
    assert code == 0
    assert "warning: b has no column" in err
    assert tomllib.loads((tmp_path / "r.toml").read_text())["read"]["text"] == 'the "te\\xt"'


def test_a_dry_run_forecasts_and_writes_nothing(files, tmp_path, vennmf):
    given = ["-s", f"bbc={files}/bbc.jsonl", "-s", f"cnn={files}/cnn.jsonl", "--tags", "tags"]
    code, out, _ = vennmf("fit", *given, "--n-components", 3, "--n-shared", 2, "--dry-run", "--json")
    assert code == 0
    assert {row["what"] for row in rows(out)} >= {"data", "data and fit at its peak", "an iteration"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")
@pytest.mark.parametrize("n_init", [1, 3])
def test_a_forecast_of_memory_is_met_within_a_fifth(n_init):
    rng = np.random.default_rng(0)
    X, Y = (sp.random_array((n, 500), density=0.02, rng=rng, format="csr", dtype=np.float32) for n in (6000, 4000))
    views = vn.ViewSet.of({"x": X, "y": Y})
    model = vn.RJSNMF(20, 10, n_init=n_init, max_iter=15, tol=0, min_change=0, random_state=0)
    forecast = model.forecast(views).peak
    model.fit(views)  # what is compiled or cached now is not counted
    tracemalloc.start()
    model.fit(views)
    met = tracemalloc.get_traced_memory()[1] + views.nbytes
    tracemalloc.stop()
    assert forecast == pytest.approx(met, rel=0.2)


def test_ranks_are_suggested_with_a_reason(files, tmp_path, vennmf):
    given = ["-s", f"bbc={files}/bbc.jsonl", "-s", f"cnn={files}/cnn.jsonl", "--tags", "tags", "--item", "id"]
    flags = ["--max-components", 4, "--folds", 2, "--state", tmp_path / "ranks.json"]
    code, out, _ = vennmf("ranks", *given, *flags, "--json")
    assert code == 0
    found = json.loads(out)
    assert set(found["n_components"]) == {"bbc", "cnn"}
    assert found["n_shared"] <= min(found["n_components"].values())
    code, table, _ = vennmf("ranks", *given, *flags)
    assert code == 0
    assert found["why"].splitlines()[0] in table
    assert {"rank", "error"} <= set(rows(vennmf("ranks", *given, *flags, "--curves", "--json")[1])[0])


def test_help_has_examples(vennmf):
    for command in (
        "fit",
        "ranks",
        "topics",
        "search",
        "cluster",
        "encode",
        "tag",
        "compare",
        "report",
        "evaluate",
        "datasets",
    ):
        assert f"vennmf {command}" in vennmf(command, "--help")[1].split("Examples")[1]
