"""A search measured against known answers, and the weight of the exact match chosen on them."""

import numpy as np
import pytest

from vennmf.errors import ParameterError
from vennmf.evaluation import choose_weight, evaluate_search


class FixedSearch:
    """Two queries over four items; the latent score is right for the first, the exact one for the second."""

    LATENT = np.array([[0.9, 0.8, 0.1, 0.0], [0.9, 0.8, 0.1, 0.2]])
    EXACT = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.8, 0.7]])

    class model:
        encodings_ = {"s": np.zeros((4, 1))}  # noqa: RUF012
        item_ids_ = {"s": np.array(["a", "b", "c", "d"])}  # noqa: RUF012

    def scores(self, queries, source, *, exact=None, part="all", via=None):
        weight = exact or 0.0
        return (1 - weight) * self.LATENT + weight * self.EXACT


ANSWERS = {"one": ["a", "b"], ("two", "words"): ["c", "d"]}


def test_each_query_is_measured_on_the_ranking_of_all_items():
    table = evaluate_search(FixedSearch(), ANSWERS, "s", top=(2,))
    assert list(table.index) == ["one", "two words"]
    assert table["P@2"].tolist() == [1, 0]
    assert table["AP"].tolist() == pytest.approx([1, (1 / 3 + 2 / 4) / 2])


def test_answers_may_be_marks():
    marks = {"one": np.array([True, True, False, False])}
    assert evaluate_search(FixedSearch(), {**marks, "two": ["c"]}, "s", top=(2,))["P@2"].tolist() == [1, 0]


def test_the_chosen_weight_is_the_smallest_of_the_best():
    choice = choose_weight(FixedSearch(), ANSWERS, "s")
    curve = choice.curve.set_index("weight")["MAP"]
    assert curve[choice.weight] == curve.max() == 1
    assert (curve[curve.index < choice.weight] < 1).all()
    assert 0 < choice.weight < 1


@pytest.mark.parametrize("answers", [{"one": []}, {"one": ["zzz"]}, {"one": np.array([True])}])
def test_answers_must_be_of_the_source(answers):
    with pytest.raises(ParameterError):
        evaluate_search(FixedSearch(), answers, "s")
