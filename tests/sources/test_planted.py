"""Planted data is what it says: the parts, who shares them, and each disturbance."""

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.errors import ParameterError, SourceError
from vennmf.sources.planted import planted, planted_views

LATTICE = {"all": 3, ("a", "b"): 2, "a": 2, "c": 1}


def cosines(*bases):
    stacked = np.vstack(bases)
    return stacked @ stacked.T


@pytest.mark.parametrize("sparse", [False, True])
def test_sources_are_their_encodings_times_their_parts(sparse):
    truth = planted(LATTICE, {"a": 40, "b": 30, "c": 20}, 60, sparse=sparse, random_state=0)
    for name, X in truth.sources.items():
        assert sp.issparse(X) is sparse
        dense = X.toarray() if sparse else X
        np.testing.assert_allclose(dense, truth.encodings[name] @ truth.parts(name), atol=1e-12)


def test_a_source_sees_the_blocks_it_shares_and_no_others():
    truth = planted(LATTICE, 25, 60, random_state=0)
    assert truth.members == {"all": ("a", "b", "c"), ("a", "b"): ("a", "b"), "a": ("a",), "c": ("c",)}
    assert {s: X.shape[1] for s, X in truth.encodings.items()} == {"a": 7, "b": 5, "c": 4}
    assert truth.columns("c") == {"all": slice(0, 3), "c": slice(3, 4)}


@pytest.mark.parametrize("overlap", [0.0, 0.3, 0.6])
def test_parts_of_different_blocks_overlap_as_told_and_parts_of_one_block_not_at_all(overlap):
    truth = planted({"all": 3, "a": 2, "b": 2}, 10, 80, overlap=overlap, random_state=1)
    inside = cosines(truth.components["all"])
    np.testing.assert_allclose(inside, np.eye(3), atol=1e-12)
    across = truth.components["a"] @ truth.components["b"].T
    np.testing.assert_allclose(across, overlap * np.eye(2), atol=1e-12)


def test_every_item_uses_a_part_even_at_density_zero():
    truth = planted({"all": 2, "a": 1, "b": 1}, 50, 12, density=0.0, random_state=0)
    for H in truth.encodings.values():
        np.testing.assert_array_equal((H > 0).sum(axis=1), 1)


def test_dense_noise_has_the_norm_it_is_given():
    quiet = planted({"all": 2, "a": 1, "b": 1}, 60, 20, random_state=3).sources["a"]
    loud = planted({"all": 2, "a": 1, "b": 1}, 60, 20, noise=0.25, random_state=3).sources["a"]
    assert np.linalg.norm(loud - quiet) / np.linalg.norm(quiet) == pytest.approx(0.25, rel=1e-12)
    assert loud.min() >= 0


def test_missing_tags_are_left_out_at_the_rate_told():
    whole = planted({"all": 2, "a": 1, "b": 1}, 400, 40, sparse=True, random_state=3).sources["a"]
    torn = planted({"all": 2, "a": 1, "b": 1}, 400, 40, missing=0.3, sparse=True, random_state=3).sources["a"]
    assert torn.nnz / whole.nnz == pytest.approx(0.7, abs=0.03)


def test_synonyms_split_a_word_over_two_columns_and_keep_its_total():
    truth = planted({"all": 2, "a": 1, "b": 1}, 300, 50, synonyms=0.2, sparse=True, random_state=3)
    words = list(truth.words)
    twin = next(w for w in words if w.endswith("'"))
    X = truth.sources["a"].toarray()
    first, second = X[:, words.index(twin[:-1])], X[:, words.index(twin)]
    assert X.shape[1] == 50
    assert not np.any((first > 0) & (second > 0))
    assert (first > 0).any() or (second > 0).any() or "b" in twin


def test_words_name_the_part_they_belong_to_and_tags_list_them():
    truth = planted({"all": 2, "a": 1, "b": 1}, 10, 12, sparse=True, random_state=0)
    assert truth.words[0] == "all.0/w0"
    assert len(set(truth.words)) == 12
    tags = truth.tags()["a"]
    assert [len(t) for t in tags] == np.diff(truth.sources["a"].indptr).tolist()


def test_the_same_seed_gives_the_same_bits_and_dtype_is_kept():
    one, two = (planted(LATTICE, 20, 40, noise=0.1, dtype=np.float32, random_state=7) for _ in range(2))
    for name in one.sources:
        np.testing.assert_array_equal(one.sources[name], two.sources[name])
        assert one.sources[name].dtype == np.float32


@pytest.mark.parametrize("sparse", [False, True])
def test_views_are_common_and_private_encodings_times_their_parts(sparse):
    truth = planted_views(
        {"all": 3, "text": 2, "image": 1}, 50, {"text": 40, "image": 20}, sparse=sparse, random_state=0
    )
    for name, X in truth.views.items():
        dense = X.toarray() if sparse else X
        np.testing.assert_allclose(dense, truth.encoding(name) @ truth.components[name], atol=1e-12)


def test_views_know_some_labels_of_every_class():
    truth = planted_views({"all": 6}, 90, {"x": 20, "y": 30}, n_classes=3, labelled=0.1, random_state=0)
    known = truth.labels >= 0
    assert known.sum() == 9
    np.testing.assert_array_equal(truth.labels[known], truth.truth[known])
    np.testing.assert_array_equal(np.unique(truth.labels[known]), [0, 1, 2])


def test_blocks_that_name_no_source_or_a_foreign_one_are_refused_in_one_line():
    with pytest.raises(SourceError, match="needs sources"):
        planted({"all": 3}, 10, 10)
    with pytest.raises(SourceError, match="'c' and the sources are 'a', 'b'"):
        planted({"all": 3, "c": 1}, {"a": 5, "b": 5}, 10)
    with pytest.raises(ParameterError, match="n_features is 3"):
        planted({"all": 3, "a": 1, "b": 1}, 10, 3)
    with pytest.raises(ParameterError, match="overlap must lie"):
        planted({"all": 3, "a": 1, "b": 1}, 10, 30, overlap=1.0)
