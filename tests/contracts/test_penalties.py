"""What every registered penalty promises; a new one is held to it by being added to the list."""

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.model import (
    L1,
    L2,
    Block,
    Box,
    ColumnMaximum,
    GraphSmooth,
    LabelScatter,
    Layout,
    MutuallyOrthogonal,
    WithinScatter,
)
from vennmf.model.form import Form

N = 12
LAYOUT = Layout((Block("shared", 2, ("a", "b")), Block("a", 3, ("a",)), Block("b", 1, ("b",))))


def graph(seed=3):
    S = np.random.default_rng(seed).random((N, N)) * (np.random.default_rng(seed + 1).random((N, N)) < 0.3)
    S = np.triu(S, 1)
    return sp.csr_array(S + S.T)


LABELS = np.array([0, 0, 1, 1, 2, -1, -1, 2, 0, 1, -1, 2])
SMOOTH = [
    L1(0.7),
    L1(0.7, blocks=("a",)),
    L2(1.3),
    L2(1.3, blocks=("shared", "b")),
    MutuallyOrthogonal(5.0),
    MutuallyOrthogonal(5.0, blocks=("shared", "a")),
    GraphSmooth(graph(), 0.9),
    GraphSmooth(graph(), 0.9, blocks=("a",)),
    GraphSmooth(graph(), -0.4),
    LabelScatter(LABELS, 0.8),
    LabelScatter(LABELS, 0.8, blocks=("shared",)),
    LabelScatter(np.full(N, -1), 0.8),
    WithinScatter(LABELS, 0.8),
    WithinScatter(LABELS, 0.8, blocks=("a", "b")),
    WithinScatter(np.full(N, -1), 0.8),
]
ALL = [*SMOOTH, Box(2.0), ColumnMaximum(0.5)]


def drawn(seed):
    return np.random.default_rng(seed).random((N, LAYOUT.width))


def numeric_gradient(penalty, F, step=1e-6):
    out = np.zeros_like(F)
    for at in np.ndindex(F.shape):
        up, down = F.copy(), F.copy()
        up[at] += step
        down[at] -= step
        out[at] = (penalty.value(up, LAYOUT) - penalty.value(down, LAYOUT)) / (2 * step)
    return out


def form_of(penalty, F):
    form = Form.zeros(*F.shape)
    penalty.add_form(form, F, LAYOUT)
    return form


def bound(form, F):
    """The value of a form at F, up to a constant."""
    value = 0.5 * np.sum((F @ form.gram) * F) - np.sum(F * form.cross)
    for columns, curvature in form.bends:
        value += 0.5 * np.sum(curvature[:, None] * (F if columns is None else F[:, columns]) ** 2)
    if form.coupling is not None:
        value += 0.25 * np.sum(form.coupling * (F.T @ F) ** 2)
    return value


@pytest.mark.parametrize("penalty", SMOOTH, ids=repr)
def test_the_form_is_the_gradient_of_the_value(penalty):
    F = drawn(1)
    np.testing.assert_allclose(form_of(penalty, F).gradient(F), numeric_gradient(penalty, F), atol=1e-7)


@pytest.mark.parametrize("penalty", SMOOTH, ids=repr)
def test_the_form_lies_nowhere_below_the_value(penalty):
    F = drawn(1)
    form = form_of(penalty, F)
    at = penalty.value(F, LAYOUT) - bound(form, F)
    for seed in range(2, 40):
        other = drawn(seed) * 10.0 ** np.random.default_rng(seed).integers(-2, 2)
        assert bound(form, other) + at >= penalty.value(other, LAYOUT) - 1e-9


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_forms_add_to_what_is_there(penalty):
    F = drawn(1)
    form = form_of(penalty, F)
    penalty.add_form(form, F, LAYOUT)
    twice = form.gradient(F)
    np.testing.assert_allclose(twice, 2 * form_of(penalty, F).gradient(F), atol=1e-12)


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_float32_factors_keep_float32_forms(penalty):
    F = drawn(1).astype(np.float32)
    form = Form.zeros(*F.shape, np.float32)
    penalty.add_form(form, F, LAYOUT)
    assert form.gradient(F).dtype == np.float32
    assert penalty.value(F, LAYOUT) == pytest.approx(penalty.value(F.astype(np.float64), LAYOUT), rel=1e-5)


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_every_penalty_typesets_itself(penalty):
    assert penalty.latex()


def test_a_wrong_constant_is_noticed():
    class Doubled(L2):
        def add_form(self, form, F, layout):
            super().add_form(form, F, layout)
            super().add_form(form, F, layout)

    with pytest.raises(AssertionError):
        test_the_form_is_the_gradient_of_the_value(Doubled(1.0))


def test_a_bound_that_is_too_low_is_noticed():
    class Optimistic(GraphSmooth):
        def add_form(self, form, F, layout):  # D where 2 D is needed
            D = np.asarray(self.graph.sum(axis=1)).ravel()
            form.add_curvature(self.weight * D)
            form.cross += self.weight * (self.graph @ F)

    with pytest.raises(AssertionError):
        test_the_form_lies_nowhere_below_the_value(Optimistic(graph(), 0.9))


def test_orthogonality_is_the_papers_term_halved():
    F = drawn(1)
    W, U, V = F[:, :2], F[:, 2:5], F[:, 5:]
    a = 7.0
    paper = a / 6 * np.sum((W.T @ U) ** 2) + a / 2 * np.sum((W.T @ V) ** 2) + a / 3 * np.sum((U.T @ V) ** 2)
    assert MutuallyOrthogonal(a).value(F, LAYOUT) == pytest.approx(paper / 2)


def test_label_scatter_is_the_papers_pair_of_laplacians():
    """tr VᵀLaV − tr VᵀLpV with the paper's weights, over labelled items, is n‖mean‖² − Σ n_c‖mean_c‖²."""
    F, known = drawn(1), LABELS >= 0
    V, y = F[known], LABELS[known]
    n, sizes = len(y), np.bincount(LABELS[known])
    same = y[:, None] == y[None, :]
    Wa, Wp = same / sizes[y][:, None], np.full((n, n), 1 / n)
    La, Lp = np.diag(Wa.sum(1)) - Wa, np.diag(Wp.sum(1)) - Wp
    paper = np.trace(V.T @ La @ V) - np.trace(V.T @ Lp @ V)
    assert LabelScatter(LABELS, 1.0).value(F, LAYOUT) == pytest.approx(paper / 2)


def test_a_box_costs_nothing_inside_and_everything_outside():
    F = drawn(1)
    assert Box(1.0).value(F, LAYOUT) == 0
    assert Box(0.5 * F.max()).value(F, LAYOUT) == np.inf
