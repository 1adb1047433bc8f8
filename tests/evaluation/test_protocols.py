"""Protocols: the folds, the F test on a case worked out by hand, intervals, repeated runs."""

import numpy as np
import pytest
from scipy.stats import f

from vennmf.errors import ParameterError
from vennmf.evaluation import bootstrap_interval, f_test_5x2, five_by_two, repeated, summary


def test_five_by_two_halves_every_class_and_uses_each_half_once():
    labels = np.repeat([0, 1, 2], [20, 10, 6])
    folds = list(five_by_two(labels))
    assert [(fold.split, fold.fold) for fold in folds] == [(s, h) for s in range(5) for h in range(2)]
    for first, second in zip(folds[::2], folds[1::2], strict=True):
        assert np.array_equal(first.train, second.test)
        assert np.array_equal(np.bincount(labels[first.train]), [10, 5, 3])
        assert np.array_equal(np.sort(np.concatenate([first.train, first.test])), np.arange(36))


def test_a_class_of_one_item_cannot_be_halved():
    with pytest.raises(ParameterError, match="'b'"):
        next(five_by_two(list("aab")))


def test_combined_f_by_hand():
    differences = np.array([[1, 3], [2, 2], [0, 2], [1, 1], [2, 4]], dtype=float)
    # squares 10 + 8 + 4 + 2 + 20 = 44; variances 2 + 0 + 2 + 0 + 2 = 6
    found = f_test_5x2(differences + 7, np.full((5, 2), 7.0))
    assert found.statistic == pytest.approx(44 / 12)
    assert found.p_value == pytest.approx(f.sf(44 / 12, 10, 5))


def test_equal_methods_do_not_differ_and_a_constant_lead_does():
    scores = np.arange(10.0).reshape(5, 2)
    assert f_test_5x2(scores, scores) == (0, 1)
    assert f_test_5x2(scores + 1, scores).p_value == 0


def test_the_f_test_wants_ten_scores():
    with pytest.raises(ParameterError, match="5 splits"):
        f_test_5x2(np.ones(10), np.zeros(10))


def test_bootstrap_interval_holds_the_mean_and_narrows():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=20), rng.normal(size=2000)
    low, high = bootstrap_interval(few)
    assert low < few.mean() < high
    assert np.diff(bootstrap_interval(many)) < np.diff((low, high)) / 3


def test_bootstrap_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(3)
    covered = [low < 0 < high for low, high in (bootstrap_interval(rng.normal(size=60)) for _ in range(300))]
    assert 0.90 < np.mean(covered) < 0.98


def test_bootstrap_leaves_out_what_is_missing():
    assert bootstrap_interval([2.0, np.nan, 2.0]) == (2.0, 2.0)
    assert np.isnan(bootstrap_interval([np.nan])).all()


def test_repeated_runs_and_their_summary():
    results = repeated(lambda seed: {"accuracy": seed / 10}, n_runs=3)
    assert list(results.index) == [0, 1, 2]
    line = summary(results).loc["accuracy"]
    assert line["mean"] == pytest.approx(0.1)
    assert line["deviation"] == pytest.approx(0.1)
    assert line["n"] == 3
    with pytest.raises(ParameterError, match="n_runs"):
        repeated(lambda seed: {}, n_runs=0)
