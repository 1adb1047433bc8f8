"""Per-tag measures and sparsity, worked out by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.errors import ParameterError
from vennmf.evaluation import hoyer_sparsity, tag_scores

TRUTH = np.array([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0]])
SCORES = np.array([[0.9, 0.8, 0.1, 0.0], [0.9, 0.8, 0.2, 0.1], [0.1, 0.8, 0.7, 0.2]])
# two best: {0, 1}, {0, 1}, {1, 2}; tag 0: 1 of 2 right, 1 of 2 found; tag 1: 2 of 3, 2 of 2; tag 2: 0 of 1, 0 of 2


@pytest.mark.parametrize("sparse", [False, True])
def test_per_tag_scores_by_hand(sparse):
    found = tag_scores(sp.csr_array(TRUTH) if sparse else TRUTH, SCORES, top=2)
    precision, recall = (1 / 2 + 2 / 3 + 0) / 3, (1 / 2 + 1 + 0) / 3
    assert found == pytest.approx((precision, recall, 2 * precision * recall / (precision + recall), 2))


def test_scores_of_no_use_have_f1_zero():
    assert tag_scores([[1, 0]], [[0.0, 1.0]], top=1) == (0.0, 0.0, 0.0, 0)


def test_without_any_tag_there_is_nothing_to_measure():
    assert np.isnan(tag_scores([[0, 0]], [[0.0, 1.0]], top=1).f1)


@pytest.mark.parametrize(("scores", "top"), [(SCORES[:2], 2), (SCORES, 0)])
def test_what_means_nothing_is_refused(scores, top):
    with pytest.raises(ParameterError):
        tag_scores(TRUTH, scores, top)


def test_sparsity_by_hand():
    found = hoyer_sparsity([[1, 1, 1, 1], [0, 3, 0, 0], [3, 4, 0, 0]])
    assert found == pytest.approx([0, 1, 2 - 7 / 5])


def test_a_dead_component_has_no_sparsity():
    assert np.isnan(hoyer_sparsity([[0, 0, 0]])[0])
    with pytest.raises(ParameterError, match="two features"):
        hoyer_sparsity([[1.0]])
