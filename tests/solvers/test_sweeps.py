"""Sweeps on forms whose columns have curvatures of their own, by group."""

import numpy as np
import pytest

from vennmf.model.form import Form
from vennmf.solvers.sweeps import coordinate_descent, projected_square


@pytest.mark.parametrize("rows", [None, np.arange(12)])
def test_groups_of_columns_with_their_own_curvature_end_at_one_stationary_point(rows):
    rng = np.random.default_rng(0)
    B = rng.random((30, 5))
    F, gram = rng.random((20, 5)), B.T @ B
    parts = [(None, gram)] if rows is None else [(rows, gram), (np.arange(12, 20), 2 * gram)]
    form = Form(parts, (rng.random((20, 30)) - 0.2) @ B)
    form.add_curvature(rng.random(20), np.array([0, 2]))
    form.add_curvature(rng.random(20), np.array([2, 3]))
    before = projected_square(F, form.gradient(F))
    assert coordinate_descent(F, form, 1) > 0
    for _ in range(40):
        coordinate_descent(F, form, 50)
    assert F.min() == 0
    assert projected_square(F, form.gradient(F)) <= 1e-16 * before
