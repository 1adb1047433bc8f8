"""Rankings worked out by hand, and scikit-learn where it has the same measure."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from vennmf.errors import ParameterError
from vennmf.evaluation import (
    average_precision,
    evaluate_rankings,
    interpolated_precision,
    mean_average_precision,
    ndcg,
    precision_at,
    precision_at_recall,
    precision_recall,
    ranking,
)

# hits at ranks 1, 3, 6; precision there 1, 2/3, 1/2; recall there 1/3, 2/3, 1
HITS = [1, 0, 1, 0, 0, 1, 0, 0]


def test_precision_and_recall_after_each_item():
    precision, recall = precision_recall(HITS)
    assert precision == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2, 2 / 5, 1 / 2, 3 / 7, 3 / 8])
    assert recall == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3, 1, 1, 1])


def test_average_precision_is_the_mean_of_the_precisions_at_hits():
    assert average_precision(HITS) == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)


def test_relevant_items_that_a_cut_ranking_misses_count_zero():
    assert average_precision(HITS, n_relevant=6) == pytest.approx((1 + 2 / 3 + 1 / 2) / 6)


def test_eleven_points_by_hand():
    assert interpolated_precision(HITS) == pytest.approx([1] * 4 + [2 / 3] * 3 + [1 / 2] * 4)


def test_interpolation_takes_the_best_precision_beyond():
    assert interpolated_precision([0, 1, 1]) == pytest.approx([2 / 3] * 11)


def test_levels_beyond_a_cut_ranking_are_zero():
    assert interpolated_precision([1, 1], n_relevant=4) == pytest.approx([1] * 6 + [0] * 5)


def test_the_curve_never_rises():
    ranked = np.random.default_rng(0).random(200) < 0.2
    assert (np.diff(interpolated_precision(ranked)) <= 0).all()


def test_precision_at_fixed_recall_is_a_point_of_the_curve():
    assert precision_at_recall(HITS, 0.5) == interpolated_precision(HITS)[5]


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (2, 1 / 2), (3, 2 / 3), (6, 1 / 2), (16, 3 / 16)])
def test_precision_at_n(n, expected):
    assert precision_at(HITS, n) == pytest.approx(expected)


def test_average_precision_agrees_with_scikit_learn_without_ties():
    rng = np.random.default_rng(1)
    scores, relevant = rng.permutation(300).astype(float), rng.random(300) < 0.1
    assert average_precision(ranking(scores, relevant)) == pytest.approx(average_precision_score(relevant, scores))


def test_map_leaves_out_queries_without_relevant_items():
    assert mean_average_precision([HITS, [0, 0], [1, 0]]) == pytest.approx((average_precision(HITS) + 1) / 2)
    assert np.isnan(mean_average_precision([[0, 0]]))


def test_ndcg_by_hand():
    # gains 3, 2, 0 in the order 2, 3, 0: DCG = 2 + 3 / log2(3), ideal = 3 + 2 / log2(3)
    assert ndcg([3.0, 2.0, 1.0], [2, 3, 0]) == pytest.approx((2 + 3 / np.log2(3)) / (3 + 2 / np.log2(3)))


def test_ties_keep_the_order_of_items_or_are_shuffled():
    relevant = np.arange(100) < 10
    assert ranking(np.zeros(100), relevant)[:10].all()
    assert not ranking(np.zeros(100), relevant, random_state=0)[:10].all()


def test_table_of_queries():
    rng = np.random.default_rng(2)
    relevant = rng.random((4, 60)) < 0.2
    table = evaluate_rankings(relevant + 0.1 * rng.random((4, 60)), relevant, queries=list("abcd"), top=(5,))
    assert list(table.index) == list("abcd")
    assert table["AP"].to_numpy() == pytest.approx(np.ones(4))
    assert table["P@5"].to_numpy() == pytest.approx(np.ones(4))
    assert table["relevant"].tolist() == relevant.sum(axis=1).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: precision_at(HITS, 0),
        lambda: precision_at([[1, 0]], 1),
        lambda: average_precision(HITS, n_relevant=2),
        lambda: ranking([1.0, 2.0], [True]),
        lambda: evaluate_rankings(np.ones(3), np.ones(3)),
    ],
)
def test_what_means_nothing_is_refused(call):
    with pytest.raises(ParameterError):
        call()
