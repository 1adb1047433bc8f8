"""Every penalty's form has its value's gradient at the current factor and nowhere lies below the penalty."""

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.model.blocks import Block, Layout
from vennmf.model.form import Form
from vennmf.model.penalties import (
    L1,
    L2,
    ColumnMaximum,
    GraphSmooth,
    LabelScatter,
    MutuallyOrthogonal,
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
    "L1": L1(0.7),
    "L1 on one block": L1(0.7, blocks=("b",)),
    "L2": L2(0.7),
    "orthogonal": MutuallyOrthogonal(3.0),
    "smooth": GraphSmooth(ring(ROWS), 0.8),
    "smooth on one block": GraphSmooth(ring(ROWS), 0.8, blocks=("a",)),
    "rough": GraphSmooth(ring(ROWS), -0.8),
    "rough on one block": GraphSmooth(ring(ROWS), -0.8, blocks=("b",)),
    "scatter": LabelScatter(LABELS, 1.3),
    "scatter on one block": LabelScatter(LABELS, 1.3, blocks=("a",)),
    "within": WithinScatter(LABELS, 1.3),
    "within on one block": WithinScatter(LABELS, 1.3, blocks=("b",)),
}


def factor(seed=0):
    return np.random.default_rng(seed).random((ROWS, LAYOUT.width))


def quadratic(form, F):
    """The form's value, up to a constant."""
    value = 0.5 * np.sum(F @ form.gram * F) - np.sum(form.cross * F)
    for columns, d in form.bends:
        part = F if columns is None else F[:, columns]
        value += 0.5 * np.sum(d[:, None] * part**2)
    if form.coupling is not None:
        value += 0.25 * np.sum(form.coupling * (F.T @ F) ** 2)
    return value


def slopes(function, F, step=1e-6):
    out = np.zeros_like(F)
    for at in np.ndindex(*F.shape):
        E = np.zeros_like(F)
        E[at] = step
        out[at] = (function(F + E) - function(F - E)) / (2 * step)
    return out


@pytest.mark.parametrize("name", PENALTIES)
def test_gradient_of_the_form_is_that_of_the_value(name):
    penalty, F = PENALTIES[name], factor()
    form = Form.zeros(*F.shape)
    penalty.add_form(form, F, LAYOUT)
    expected = slopes(lambda Z: penalty.value(Z, LAYOUT), F)
    assert np.max(np.abs(form.gradient(F) - expected)) <= 1e-7 * np.max(np.abs(expected))


@pytest.mark.parametrize("name", PENALTIES)
def test_the_form_lies_nowhere_below_the_penalty(name):
    penalty, F = PENALTIES[name], factor()
    form = Form.zeros(*F.shape)
    penalty.add_form(form, F, LAYOUT)
    offset = penalty.value(F, LAYOUT) - quadratic(form, F)
    for seed in range(1, 40):
        Z = 3 * factor(seed)
        assert penalty.value(Z, LAYOUT) <= quadratic(form, Z) + offset + 1e-9


@pytest.mark.parametrize("name", [n for n, p in PENALTIES.items() if hasattr(p, "add_rule")])
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


def test_column_maximum_is_the_sum_of_the_columns_largest_entries():
    F = factor()
    form = Form.zeros(*F.shape)
    penalty = ColumnMaximum(2.0, blocks=("b",))
    penalty.add_form(form, F, LAYOUT)
    assert penalty.value(F, LAYOUT) == pytest.approx(2 * F[:, 2:].max(axis=0).sum())
    assert form.column_maximum.tolist() == [0, 0, 2, 2, 2]
