"""The index finds what a plain cosine and a full sort find."""

import numpy as np
import pytest

from vennmf.applications.index import Index, best


@pytest.mark.parametrize("values", [250, 1_000_000])
@pytest.mark.parametrize("n", [5, 1000, 50_000])
def test_best_equals_a_full_stable_sort(n, values):
    scores = np.random.default_rng(n).integers(-50, values, size=n).astype(np.float32)
    order = np.argsort(-scores, kind="stable")
    expected = order[scores[order] > 0][:20]
    assert np.array_equal(best(scores, 20), expected)


def test_best_gives_nothing_where_nothing_is_above_zero():
    assert len(best(np.zeros(100_000, np.float32), 5)) == 0
    assert len(best(np.ones(3), 0)) == 0


def test_cosines_equal_the_definition():
    rng = np.random.default_rng(0)
    H, q = rng.random((50, 6)), rng.random((3, 6))
    expected = (q / np.linalg.norm(q, axis=1, keepdims=True)) @ (H / np.linalg.norm(H, axis=1, keepdims=True)).T
    assert Index(H).cosines(q, np.arange(6)) == pytest.approx(expected, rel=1e-5)
    assert Index(H).cosines(q[:1], np.arange(6))[0] == pytest.approx(expected[0], rel=1e-5)


def test_an_item_with_next_to_nothing_in_the_compared_columns_is_no_perfect_match():
    H = np.array([[1.0, 1e-6], [1.0, 1.0]])
    scores = Index(H).cosines(np.array([[1.0]]), np.array([1]))[0]
    assert scores[0] < 1e-5
    assert scores[1] == pytest.approx(np.sqrt(0.5))


def test_empty_items_and_empty_queries_score_zero():
    H = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert Index(H).cosines(np.array([[1.0, 1.0]]), np.arange(2))[0, 0] == 0
    assert (Index(H).cosines(np.zeros((1, 2)), np.arange(2)) == 0).all()
