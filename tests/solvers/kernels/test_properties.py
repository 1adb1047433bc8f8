"""What a kernel promises beyond its twin: descent, optimality, and checks that notice when something is amiss."""

import numpy as np
import pytest

from vennmf.solvers import kernels
from vennmf.solvers.kernels import reference

NONE = np.empty(0)


def form(rows=40, k=9, seed=0):
    rng = np.random.default_rng(seed)
    B = rng.random((30, k)) * (rng.random((30, k)) < 0.6)
    F = rng.random((rows, k)) * (rng.random((rows, k)) < 0.7)
    return F, B.T @ B, (rng.random((rows, 30)) - 0.2) @ B


def value(F, G, C):
    return 0.5 * np.vdot(F @ G, F) - np.vdot(F, C)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weight", [0.1, 5.0])
def test_no_column_sweep_raises_the_value(seed, weight):
    F, G, C = form(seed=seed)
    weights = np.full(F.shape[1], weight)
    values = [value(F, G, C) + weights @ F.max(axis=0)]
    for _ in range(10):
        kernels.sweep_column_maximum(F, G, C, weights, 1)
        values.append(value(F, G, C) + weights @ F.max(axis=0))
    assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))
    assert values[-1] < values[0]


@pytest.mark.parametrize("upper", [np.inf, 0.4])
def test_sweeps_end_where_nothing_pulls(upper):
    F, G, C = form()
    G += 0.1 * np.eye(9)
    F = np.minimum(F, upper)
    first = kernels.sweep(F, G, C, NONE, upper, 2000)
    assert kernels.sweep(F, G, C, NONE, upper, 0) < 1e-20 * first
    assert F.min() >= 0
    assert F.max() <= upper


def test_no_sweep_at_all_measures_and_moves_nothing():
    F, G, C = form()
    before = F.copy()
    assert kernels.sweep(F, G, C, NONE, np.inf, 0) == pytest.approx(reference.sweep(F, G, C, NONE, np.inf, 0))
    np.testing.assert_array_equal(F, before)


def test_solved_rows_meet_the_optimality_conditions_where_columns_resemble_each_other():
    F, G, C = form(rows=300)
    G, C = G + 30, C + 5 * F.sum(axis=1, keepdims=True)
    F[:] = 0
    ratio = kernels.nnls_rows(F, G, C, 1e-10, 200)
    gradient = F @ G - C
    assert ratio <= 1e-10
    assert np.abs(gradient[F > 0]).max() <= 1e-8 * np.abs(C).max()
    assert gradient[F == 0].min() >= -1e-8 * np.abs(C).max()


def test_a_row_does_not_depend_on_its_neighbours():
    F, G, C = form(rows=77)
    alone = [F[i : i + 1].copy() for i in range(77)]
    kernels.sweep(F, G, C, NONE, np.inf, 3)
    for i, f in enumerate(alone):
        kernels.sweep(f, G, C[i : i + 1], NONE, np.inf, 3)
        np.testing.assert_array_equal(f[0], F[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_a_row_ends_depends_neither_on_its_neighbours_nor_on_where_it_began(dtype):
    F, G, C = (a.astype(dtype) for a in form(rows=300, seed=2))
    from_zero, alone = np.zeros_like(F), np.zeros_like(F)
    kernels.nnls_rows(F, G, C, 1e-8, 500)
    kernels.nnls_rows(from_zero, G, C, 1e-8, 500)
    for i in range(300):
        kernels.nnls_rows(alone[i : i + 1], G, C[i : i + 1], 1e-8, 500)
    np.testing.assert_array_equal(from_zero, F)
    np.testing.assert_array_equal(alone, F)


def test_rows_that_nothing_pulls_up_end_at_zero():
    F, G, C = form(rows=200)
    F += 0.1
    assert kernels.nnls_rows(F, G, -np.abs(C), 1e-8, 500) == 0
    np.testing.assert_array_equal(F, 0)


def test_a_component_that_the_value_does_not_bend_at_leaves_the_others_exact():
    F, G, C = form(rows=100)
    without = np.delete(np.arange(9), 4)
    G[4], G[:, 4], C[:, 4], F[:, 4] = 0, 0, 0, 1
    alone = np.ascontiguousarray(F[:, without])
    kernels.nnls_rows(F, G, C, 1e-8, 500)
    kernels.nnls_rows(alone, np.ascontiguousarray(G[np.ix_(without, without)]), C[:, without], 1e-8, 500)
    np.testing.assert_allclose(F[:, without], alone, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(F[:, 4], 1)


@pytest.mark.parametrize("strange", [np.nan, np.inf])
@pytest.mark.parametrize("rows", [3, 200])
def test_what_is_no_number_spoils_its_row_and_ends(strange, rows):
    F, G, C = form(rows=rows)
    C[1, 2] = strange
    expected = F[2:3].copy()
    kernels.nnls_rows(F, G, C, 1e-8, 500)
    kernels.nnls_rows(expected, G, C[2:3], 1e-8, 500)
    np.testing.assert_allclose(F[2:3], expected, rtol=1e-9)


def test_a_cut_below_the_rounding_of_the_largest_entry_leaves_a_column_finite():
    F, C = np.array([[1.0], [0.5]]), np.array([[1.0], [0.5]])
    kernels.sweep_column_maximum(F, np.eye(1), C, np.array([1e-17]), 3)
    np.testing.assert_allclose(F, [[1.0], [0.5]])


def jacobi(F, G, C, curvature, upper, n_sweeps):
    violation = reference.sweep(F, G, C, curvature, upper, 0)
    for _ in range(n_sweeps):
        F[...] = np.clip(F - (F @ G - C) / np.diag(G), 0, upper)
    return violation


def backwards(F, G, C, curvature, upper, n_sweeps):
    turned = np.ascontiguousarray(F[:, ::-1])
    violation = reference.sweep(turned, G[::-1, ::-1], C[:, ::-1], curvature, upper, n_sweeps)
    F[...] = turned[:, ::-1]
    return violation


def measured_afterwards(F, G, C, curvature, upper, n_sweeps):
    reference.sweep(F, G, C, curvature, upper, n_sweeps)
    return reference.sweep(F, G, C, curvature, upper, 0)


MUTANTS = {
    "all coordinates from the same old values": jacobi,
    "the last coordinate first": backwards,
    "violation measured after the passes": measured_afterwards,
    "no upper bound": lambda F, G, C, d, u, n: reference.sweep(F, G, C, d, np.inf, n),
    "no curvature of rows": lambda F, G, C, d, u, n: reference.sweep(F, G, C, NONE, u, n),
    "a pass too few": lambda F, G, C, d, u, n: reference.sweep(F, G, C, d, u, n - 1),
    "half steps": lambda F, G, C, d, u, n: reference.sweep(F, G, C, d + np.diag(G).mean(), u, n),
}


def agrees(candidate):
    """Whether a sweep does what its specification does."""
    F, G, C = form()
    F, curvature = np.minimum(F, 0.1), np.linspace(0.5, 2, len(F))
    mine, theirs = F.copy(), F.copy()
    found = candidate(mine, G, C, curvature, 0.1, 2)
    expected = reference.sweep(theirs, G, C, curvature, 0.1, 2)
    return np.abs(mine - theirs).max() < 1e-10 and abs(found - expected) < 1e-10 * expected


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_the_comparison_of_twins_notices(mutant):
    assert agrees(kernels.sweep)
    assert not agrees(mutant)
