"""Sources beside each other: sizes, what they have in common, how far their tags diverge."""

import numpy as np
import pytest

import vennmf as vn
from vennmf.errors import DataWarning
from vennmf.matrices.describe import jensen_shannon


def test_the_divergence_is_its_definition():
    p, q = np.asarray([4.0, 4, 2, 0]), np.asarray([1.0, 0, 1, 2])
    P, Q = p / p.sum(), q / q.sum()
    M = (P + Q) / 2

    def entropy(d):
        return -(d[d > 0] * np.log2(d[d > 0])).sum()

    assert jensen_shannon(p, q) == pytest.approx(entropy(M) - (entropy(P) + entropy(Q)) / 2, abs=1e-14)
    assert jensen_shannon(p, q) == pytest.approx(jensen_shannon(q, p), abs=1e-15)


def test_equal_distributions_do_not_diverge_and_disjoint_ones_do_fully():
    assert jensen_shannon(np.asarray([1, 2]), np.asarray([2, 4])) == pytest.approx(0, abs=1e-12)
    assert jensen_shannon(np.asarray([1, 0]), np.asarray([0, 3])) == pytest.approx(1, abs=1e-12)
    assert np.isnan(jensen_shannon(np.asarray([0, 0]), np.asarray([0, 3])))


def test_the_tables_say_items_tags_overlap_and_divergence():
    lists = {"a": [["x", "y"], ["x"], ["gone"]], "b": [["y", "z"], ["z"], ["z"], ["y", "z"]]}
    with pytest.warns(DataWarning):
        found = vn.load_sources(lists, min_count=2).describe()
    assert found.sources.to_dict("index") == {
        "a": {"items": 3, "empty_items": 1, "tags": 2, "tags_per_item": 1.0, "only_here": 1},
        "b": {"items": 4, "empty_items": 0, "tags": 2, "tags_per_item": 1.5, "only_here": 1},
    }
    pair = found.pairs.set_index(["source", "other"]).loc[("a", "b")]
    assert pair["common"] == 1
    assert pair["overlap"] == pytest.approx(1 / 3, abs=1e-4)
    expected = jensen_shannon(np.asarray([2, 1, 0]), np.asarray([0, 2, 4]))
    assert pair["divergence"] == pytest.approx(expected, abs=1e-4)
    assert len(found.pairs) == 3
    assert "divergence" in str(found)
    assert "<table" in found._repr_html_()


def test_sources_with_more_in_common_diverge_less_than_others_and_more_than_halves_of_one():
    blocks = {"all": 3, ("near", "close"): 5, "far": 6, "near": 1, "close": 1}
    truth = vn.datasets.planted(blocks, 400, 90, sparse=True, random_state=0)
    pairs = vn.ViewSet.of(truth.sources).describe().pairs.set_index(["source", "other"])["divergence"]
    assert pairs["near", "near"] < pairs["near", "close"] < pairs["near", "far"]
