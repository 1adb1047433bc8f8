"""Clusterings worked out by hand."""

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from vennmf.errors import ParameterError
from vennmf.evaluation import (
    average_cluster_entropy,
    cluster_purity,
    clustering_accuracy,
    clustering_scores,
    nmi,
    purity_ratios,
    quality_by_class,
)

# cluster 0: a a a b; cluster 1: b b; cluster 2: a b
LABELS = list("aaabbbab")
CLUSTERS = [0, 0, 0, 0, 1, 1, 2, 2]
QUARTER = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))


def test_accuracy_gives_each_class_one_cluster():
    assert clustering_accuracy(LABELS, CLUSTERS) == 5 / 8


def test_accuracy_is_one_under_any_renaming():
    assert clustering_accuracy([0, 0, 1, 2], ["z", "z", "x", "y"]) == 1


def test_entropy_and_purity_by_hand():
    assert average_cluster_entropy(LABELS, CLUSTERS) == pytest.approx((4 * QUARTER + 2 * 0 + 2 * np.log(2)) / 8)
    assert cluster_purity(LABELS, CLUSTERS) == (3 + 2 + 1) / 8


def test_entropy_and_purity_by_class_by_hand():
    table = quality_by_class(LABELS, CLUSTERS)
    # cluster 2 is a tie: it counts for both classes
    assert table.loc["a", "clusters"] == 2
    assert table.loc["a", "purity"] == pytest.approx((3 + 1) / 6)
    assert table.loc["a", "entropy"] == pytest.approx((4 * QUARTER + 2 * np.log(2)) / 6)
    assert table.loc["b", "purity"] == pytest.approx((2 + 1) / 4)
    assert table.loc["b", "entropy"] == pytest.approx(2 * np.log(2) / 4)


def test_a_class_that_heads_no_cluster_has_no_value():
    table = quality_by_class(list("aab"), [0, 0, 0])
    assert np.isnan(table.loc["b", "purity"])
    assert np.isnan(table.loc["b", "entropy"])


def test_nmi_over_either_mean():
    information = mutual_info_score(LABELS, CLUSTERS)
    of_labels, of_clusters = np.log(2), -(0.5 * np.log(0.5) + 2 * 0.25 * np.log(0.25))
    assert nmi(LABELS, CLUSTERS) == pytest.approx(information / np.sqrt(of_labels * of_clusters))
    assert nmi(LABELS, CLUSTERS, "max") == pytest.approx(information / of_clusters)


def test_a_perfect_clustering():
    scores = clustering_scores(LABELS, LABELS)
    assert scores == pytest.approx({"accuracy": 1, "nmi": 1, "nmi_max": 1, "entropy": 0, "purity": 1})


def test_purity_ratio_tells_common_classes_from_private_ones():
    labels = list("aaaabbbb")
    shared = [0, 0, 0, 0, 1, 1, 1, 0]  # a: 4/5, b: 3/3
    private = [0, 0, 1, 0, 1, 1, 1, 1]  # a: 3/3, b: 4/5
    table = purity_ratios(labels, shared, private)
    assert table.loc["a", "purity_ratio"] == pytest.approx((4 / 5) / 1)
    assert table.loc["b", "purity_ratio"] == pytest.approx(1 / (4 / 5))
    assert table["common"].to_dict() == {"b": True, "a": False}
    assert list(table.index) == ["b", "a"]


@pytest.mark.parametrize(("labels", "clusters"), [([0, 1], [0]), ([], []), ([[0, 1]], [[0, 1]])])
def test_labels_and_clusters_must_match(labels, clusters):
    with pytest.raises(ParameterError):
        clustering_accuracy(labels, clusters)


def test_an_unknown_mean_is_refused():
    with pytest.raises(ParameterError, match="geometric"):
        nmi([0, 1], [0, 1], "arithmetic")
