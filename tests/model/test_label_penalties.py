"""Penalties that read labels or graphs are those of the papers, and their rules divide the papers' halves."""

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.errors import ModelError
from vennmf.model.blocks import Block, Layout
from vennmf.model.form import Form
from vennmf.model.penalties import (
    ColumnMaximum,
    GraphSmooth,
    LabelScatter,
    WithinScatter,
)

ROWS = 9
LAYOUT = Layout((Block("a", 2, ("x",)), Block("b", 3, ("x",))))
LABELS = np.array([0, 0, 1, -1, 2, 1, -1, 0, 2])


def ring(n):
    rows = np.arange(n)
    S = sp.csr_array((np.linspace(0.5, 1.5, n), (rows, (rows + 1) % n)), shape=(n, n))
    return sp.csr_array(S + S.T)


PENALTIES = {
    "smooth": GraphSmooth(ring(ROWS), 0.8),
    "smooth on one block": GraphSmooth(ring(ROWS), 0.8, blocks=("a",)),
    "rough": GraphSmooth(ring(ROWS), -0.8),
    "rough on one block": GraphSmooth(ring(ROWS), -0.8, blocks=("b",)),
    "scatter": LabelScatter(LABELS, 1.3),
    "scatter on one block": LabelScatter(LABELS, 1.3, blocks=("a",)),
    "within": WithinScatter(LABELS, 1.3),
    "all pairs of a class": WithinScatter(LABELS, 1.3, blocks=("b",), pairs="ones"),
}


def factor(seed=0):
    return np.random.default_rng(seed).random((ROWS, LAYOUT.width))


def slopes(function, F, step=1e-6):
    out = np.zeros_like(F)
    for at in np.ndindex(*F.shape):
        E = np.zeros_like(F)
        E[at] = step
        out[at] = (function(F + E) - function(F - E)) / (2 * step)
    return out


@pytest.mark.parametrize("name", PENALTIES)
def test_the_halves_of_a_rule_are_nonnegative_and_differ_by_the_gradient(name):
    penalty, F = PENALTIES[name], factor()
    form = Form.zeros(*F.shape)
    penalty.add_rule(form, F, LAYOUT)
    assert form.push.min() >= 0
    assert form.pull.min() >= 0
    expected = slopes(lambda Z: penalty.value(Z, LAYOUT), F)
    assert np.max(np.abs(form.gradient(F) - expected)) <= 1e-7 * np.max(np.abs(expected))


def papers_graphs(y):
    """Within-class and between-class weights of the paper's equations (6) and (7), all pairs of labelled items."""
    n = len(y)
    same = y[:, None] == y[None, :]
    sizes = np.array([np.sum(y == c) for c in y])
    return np.where(same, 1 / sizes - 1 / n, 0), np.where(same, 0, 1 / n)


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def test_the_label_scatter_is_the_papers_pair_of_graphs():
    F, labelled = factor(), LABELS >= 0
    Wa, Wp = papers_graphs(LABELS[labelled])
    V = F[labelled]
    within, between = (np.trace(V.T @ laplacian(W) @ V) for W in (Wa, Wp))
    assert LabelScatter(LABELS, 2.0).value(F, LAYOUT) == pytest.approx(within - between, rel=1e-12)
    assert WithinScatter(LABELS, 2.0).value(F, LAYOUT) == pytest.approx(within, rel=1e-12)


def test_the_label_scatters_rule_divides_the_papers_halves():
    F, labelled = factor(), LABELS >= 0
    Wa, Wp = papers_graphs(LABELS[labelled])
    V = F[labelled]
    form = Form.zeros(*F.shape)
    LabelScatter(LABELS, 2.0).add_rule(form, F, LAYOUT)
    push, pull = (np.diag(W.sum(axis=1)) @ V + X @ V for W, X in ((Wa, Wp), (Wp, Wa)))
    assert np.max(np.abs(form.push[labelled] - 2 * push)) <= 1e-12
    assert np.max(np.abs(form.pull[labelled] - 2 * pull)) <= 1e-12
    assert not form.push[~labelled].any()


def test_all_pairs_of_a_class_need_no_edges():
    same = (LABELS[:, None] == LABELS[None, :]) & (LABELS >= 0)[:, None] & ~np.eye(ROWS, dtype=bool)
    F, blocks = factor(), ("a",)
    by_labels = WithinScatter(LABELS, 0.7, blocks=blocks, pairs="ones")
    by_edges = GraphSmooth(sp.csr_array(same.astype(float)), 0.7, blocks=blocks)
    assert by_labels.value(F, LAYOUT) == pytest.approx(by_edges.value(F, LAYOUT), rel=1e-12)
    forms = Form.zeros(*F.shape), Form.zeros(*F.shape)
    for penalty, form in zip((by_labels, by_edges), forms, strict=True):
        penalty.add_rule(form, F, LAYOUT)
    assert np.max(np.abs(forms[0].push - forms[1].push)) <= 1e-12
    assert np.max(np.abs(forms[0].pull - forms[1].pull)) <= 1e-12
    with pytest.raises(ModelError, match="'shares' or 'ones'"):
        WithinScatter(LABELS, pairs="two", weight=1.0)


def test_column_maximum_is_the_sum_of_the_columns_largest_entries():
    F = factor()
    form = Form.zeros(*F.shape)
    penalty = ColumnMaximum(2.0, blocks=("b",))
    penalty.add_form(form, F, LAYOUT)
    assert penalty.value(F, LAYOUT) == pytest.approx(2 * F[:, 2:].max(axis=0).sum())
    assert form.column_maximum.tolist() == [0, 0, 2, 2, 2]
