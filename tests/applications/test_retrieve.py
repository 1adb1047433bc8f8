"""Search: exact folding in, cosine, reasons, the shared part alone, the exact match, and what is said when nothing is known."""

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import nnls

import vennmf as vn
from vennmf.applications.parts import basis, column_blocks
from vennmf.applications.query import Reader
from vennmf.applications.retrieve import Retriever
from vennmf.errors import ParameterError, SourceError
from vennmf.sources.planted import planted


@pytest.fixture(scope="module")
def search(model, sources):
    return Retriever(model, sources)


def made_of(truth, source, block):
    """Items that are made of one planted part more than of any other."""
    names = [f"{b}.{j}" for b, size in truth.blocks.items() if source in truth.members[b] for j in range(size)]
    return {f"{source}-{n}" for n in np.flatnonzero(truth.encodings[source].argmax(axis=1) == names.index(block))}


def test_scores_are_cosines_of_nnls_encodings(model, search):
    """An independent implementation: scipy's nnls and a plain cosine."""
    words = ["all.0/w3", "bbc.1/w2"]
    vector = Reader(model, expand=False).read(words, "bbc").vector.toarray()[0]
    h, _ = nnls(basis(model, "bbc").T.astype(float), vector.astype(float))
    H = model.encodings_["bbc"].astype(float)
    expected = H @ h / np.linalg.norm(h) / np.linalg.norm(H, axis=1)
    found = Retriever(model, expand=False).scores([words], "bbc")[0]
    assert found == pytest.approx(expected, abs=1e-3)


def test_hits_are_the_items_made_of_the_part_a_word_belongs_to(truth, search):
    for block in ("all.1", "bbc.0"):
        hits = search([f"{block}/w2"], "bbc", top=10)
        assert {hit.item for hit in hits} <= made_of(truth, "bbc", block)
        assert all(a.score >= b.score for a, b in pairwise(hits))


def test_reasons_name_the_topic_and_whether_it_is_shared(search):
    shared, private = search(["all.1/w2"], "bbc", top=1)[0], search(["bbc.0/w2"], "bbc", top=1)[0]
    assert shared.shared == pytest.approx(1, abs=0.02)
    assert private.shared == pytest.approx(0, abs=0.02)
    assert shared.why[0].block == "shared"
    assert private.why[0].block == "bbc"
    assert all(word.startswith("all.1/") for word in shared.why[0].words)


def test_reasons_add_up_to_the_cosine(model, search):
    hit = search(["all.1/w2", "bbc.0/w2"], "bbc", top=30)[-1]
    query = Reader(model).read(["all.1/w2", "bbc.0/w2"], "bbc").vector
    q, h = model.transform(query, source="bbc")[0], model.encodings_["bbc"][hit.position]
    terms = q * h / np.linalg.norm(q) / np.linalg.norm(h)
    named = {(block.name, n): term for (block, n), term in zip(column_blocks(model, "bbc"), terms, strict=True)}
    for reason in hit.why:
        assert reason.share * hit.latent == pytest.approx(named[reason.block, reason.topic], abs=1e-3)


def test_a_word_of_one_source_finds_items_of_another_by_the_shared_part_alone(truth, search):
    hits = search(["all.2/w1"], "cnn", via="bbc", top=10)
    assert {hit.item for hit in hits} <= made_of(truth, "cnn", "all.2")
    assert all(hit.source == "cnn" and hit.shared == pytest.approx(1) for hit in hits)
    private = search(["bbc.0/w1"], "cnn", via="bbc", top=5)
    assert max((hit.score for hit in private), default=0) < 0.2


def test_a_search_in_all_sources_merges_them_by_score(search):
    hits = search(["all.2/w1"], top=10)
    assert {hit.source for hit in hits} == {"bbc", "cnn"}
    best = max((search(["all.2/w1"], name, top=1)[0] for name in ("bbc", "cnn")), key=lambda hit: hit.score)
    assert hits[0].score == pytest.approx(best.score)


def test_a_batch_gives_what_single_queries_give(search):
    queries = [["all.0/w1"], ["nonsense"], ["cnn.1/w3", "all.2/w5"]] * 100
    together = search.many(queries, "cnn", top=5)
    for n in (0, 1, 2, 299):
        alone = search(queries[n], "cnn", top=5)
        assert [hit.item for hit in together[n]] == [hit.item for hit in alone]
        assert [hit.score for hit in together[n]] == pytest.approx([hit.score for hit in alone], rel=1e-4)


def test_unknown_words_are_said_with_near_spellings(search):
    hits = search(["all.1/w2", "bbc.0/ww3"], "bbc", top=3)
    assert len(hits) == 3
    assert "bbc.0/w3" in hits.unknown["bbc.0/ww3"]
    assert "'bbc.0/ww3' is unknown" in hits.message
    assert list(hits.words) == ["all.1/w2"]


def test_a_query_without_a_known_word_returns_nothing_and_says_so(search):
    for query in (["zzz"], "", []):
        hits = search(query, "bbc")
        assert len(hits) == 0
        assert hits.message
        assert hits.to_frame().empty


def test_a_word_expands_to_the_entries_that_contain_it(model, search):
    hits = search(["all.1/"], "bbc", top=3)
    assert len(hits.words["all.1/"]) > 5
    assert len(Retriever(model, expand=False)(["all.1/"], "bbc")) == 0


def test_exact_match_is_the_cosine_with_the_items_own_weights(search, sources):
    words = ["all.0/w1", "bbc.0/w2"]
    q = np.isin(sources["bbc"].features.ids, words).astype(float)
    X = sources["bbc"].X.toarray()
    norms = np.maximum(np.linalg.norm(X, axis=1), 1e-12)
    assert search.scores([words], "bbc", exact=1.0)[0] == pytest.approx(X @ q / norms / np.sqrt(2), rel=1e-5)


def test_jaccard_is_the_papers_baseline(truth, model, sources):
    words = ["all.0/w1", "all.0/w2"]
    scores = Retriever(model, sources, match="jaccard").scores([words], "bbc", exact=1.0)[0]
    wanted = {"all.0/w1", "all.0/w2"}
    for n, tags in enumerate(truth.tags()["bbc"]):
        assert scores[n] == pytest.approx(len(wanted & set(tags)) / len(wanted | set(tags)))


def test_the_hybrid_score_is_the_weighted_sum(search):
    words = [["all.0/w1"]]
    latent, exact = search.scores(words, "bbc", exact=0.0), search.scores(words, "bbc", exact=1.0)
    assert search.scores(words, "bbc", exact=0.3) == pytest.approx(0.7 * latent + 0.3 * exact, rel=1e-5)
    hit = search(["all.0/w1"], "bbc", exact=0.3)[0]
    assert hit.score == pytest.approx(0.7 * hit.latent + 0.3 * hit.exact)


def test_more_like_this_leaves_the_item_out_and_crosses_sources(truth, search):
    item = sorted(made_of(truth, "bbc", "all.0"))[0]
    hits = search.more_like(item, "bbc", top=8)
    assert item not in {hit.item for hit in hits}
    strongest = [name for name in made_of(truth, "bbc", "all.0") if truth.encodings["bbc"][int(name[4:])].max() > 0]
    assert hits[0].item in strongest or hits[0].score > 0.9
    across = search.more_like(item, "bbc", within="cnn", top=5)
    assert {hit.source for hit in across} == {"cnn"}


def test_suggested_tags_belong_to_the_items_parts_and_are_new(truth, search):
    item = sorted(made_of(truth, "bbc", "bbc.1"))[0]
    has = set(truth.tags()["bbc"][int(item[4:])])
    assert not has & set(search.suggest_tags(item, "bbc", top=5)["tag"])
    table = search.suggest_tags(["bbc.1/w1", "bbc.1/w2"], "bbc", top=3)
    assert all(tag.startswith("bbc.1/") for tag in table["tag"])
    assert not {"bbc.1/w1", "bbc.1/w2"} & set(table["tag"])


def test_hits_become_tables_and_json(search):
    hits = search(["all.0/w1"], "bbc", top=4)
    assert hits.to_frame()["rank"].tolist() == [1, 2, 3, 4]
    assert json.loads(json.dumps(hits.to_dicts()))[0]["item"] == hits[0].item
    assert hits[:2] == (hits[0], hits[1])
    assert hits[0].item in repr(hits)
    assert hits[0].item in hits._repr_html_()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s("x", "itv"), SourceError),
        (lambda s: s("x", "bbc", via="itv"), SourceError),
        (lambda s: s("x", "bbc", top=0), ParameterError),
        (lambda s: s("x", "bbc", exact=1.5), ParameterError),
        (lambda s: s(["all.0/w1"], "bbc", part="own"), ParameterError),
        (lambda s: s.more_like("bbc-999", "bbc"), ParameterError),
        (lambda s: Retriever(s.model)(["all.0/w1"], "bbc", exact=0.5), ParameterError),
        (lambda s: Retriever(s.model, exact=0.5), ParameterError),
        (lambda s: Retriever(s.model, {"bbc": np.ones((3, 3)), "cnn": np.ones((3, 3))}), SourceError),
    ],
)
def test_what_means_nothing_is_refused_in_one_line(search, call, error):
    with pytest.raises(error) as raised:
        call(search)
    assert "\n" not in str(raised.value)


def test_two_of_three_sources_meet_in_every_block_that_both_have():
    truth = planted({"all": 1, ("a", "b"): 1, "a": 1, "b": 1, "c": 1}, 60, 60, sparse=True, random_state=0)
    features = vn.Axis("features", 60, truth.words)
    views = vn.ViewSet([vn.View(name, X, vn.Axis(f"items:{name}", 60), features) for name, X in truth.sources.items()])
    blocks = {"all": 1, ("a", "b"): 1, "a": 1, "b": 1, "c": 1}
    search = Retriever(vn.VennNMF(blocks, n_init=5, random_state=0).fit(views))
    assert search(["a+b.0/w1"], "b", via="a")[0].shared == pytest.approx(1)
    assert search(["a+b.0/w1"], "b", via="a")[0].why[0].block == "a&b"
    assert max((hit.score for hit in search(["a+b.0/w1"], "c", via="a")), default=0) < 0.2
    with pytest.raises(ParameterError, match="private"):
        search(["c.0/w1"], "c", part="own")


def test_a_model_of_views_of_the_same_items_is_refused():
    rng = np.random.default_rng(0)
    views = {"a": rng.random((20, 6)), "b": rng.random((20, 5))}
    with pytest.raises(ParameterError, match="views"):
        Retriever(vn.VennNMF({"all": 2}, shared="items", random_state=0, max_iter=500, tol=1e-2).fit(views))
