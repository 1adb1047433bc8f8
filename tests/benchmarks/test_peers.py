"""What the comparison with other packages rests on: one objective, one start, honest ratios."""

import numpy as np
import pytest
import scipy.sparse as sp
from benchmarks.material import planted_tags, sorted_rows
from benchmarks.peers.__main__ import against, needed
from benchmarks.peers.files import read, write_data
from benchmarks.peers.objective import relative_error
from benchmarks.peers.solvers import SOLVERS, parts
from benchmarks.peers.tasks import START, write_start
from benchmarks.peers.worker import next_step, small

HERE = [name for name, solver in SOLVERS.items() if solver.package in ("vennmf", "scikit-learn", "numpy")]


def test_the_objective_is_the_norm_of_the_residual_however_the_data_are_stored():
    rng = np.random.default_rng(0)
    X, L, R = rng.random((60, 40)), rng.random((60, 5)), rng.random((40, 5))
    expected = np.linalg.norm(X - L @ R.T) / np.linalg.norm(X)
    assert relative_error([(X, L, R)]) == pytest.approx(expected, rel=1e-12)
    assert relative_error([(sp.csr_array(X), L, R)]) == pytest.approx(expected, rel=1e-12)
    halves = [(X[:, :15], L, R[:15]), (X[:, 15:], L, R[15:])]
    assert relative_error(halves) == pytest.approx(expected, rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*stopped by max_iter", "ignore:Maximum number of iterations")
@pytest.mark.parametrize("name", HERE)
def test_every_solver_lowers_the_objective_from_the_start_it_is_given(name):
    solver = SOLVERS[name]
    data, start = small(solver.kinds[0])
    kept = {key: F.copy() for key, F in start.items()}
    found = solver.advance(solver.prepare(data), start, 5, 1)
    assert relative_error(parts(data, found)) < relative_error(parts(data, start))
    assert all(np.array_equal(start[key], F) for key, F in kept.items())


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize("name", [name for name in HERE if SOLVERS[name].resumes])
def test_what_resumes_goes_on_where_it_was(name):
    solver = SOLVERS[name]
    data, start = small(solver.kinds[0])
    prepared = solver.prepare(data)
    whole = solver.advance(prepared, start, 6, 1)
    halves = solver.advance(prepared, solver.advance(prepared, start, 2, 1), 4, 1)
    for key, F in whole.items():
        np.testing.assert_allclose(halves[key], F, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", list(START))
def test_every_process_reads_the_same_data_and_start(kind, tmp_path):
    data, _ = small(kind)
    write_data(data, tmp_path)
    write_start(data, kind, 3, tmp_path)
    (again, start), (_, second) = read(tmp_path), read(tmp_path)
    for X, Y in zip(data, again, strict=True):
        assert np.array_equal(X.toarray() if sp.issparse(X) else X, Y.toarray() if sp.issparse(Y) else Y)
    assert all(np.array_equal(F, second[key]) and F.min() >= 0 for key, F in start.items())


def test_a_ratio_compares_the_seconds_to_the_same_error():
    ours = [[1, 1.0, 0.9], [2, 2.0, 0.7], [4, 4.0, 0.6]]
    assert needed(ours, 0.8) == pytest.approx(1.5)
    assert np.isnan(needed(ours, 0.5))
    theirs = [[1, 5.0, 0.9], [2, 20.0, 0.8], [3, 30.0, 0.7]]
    assert against(theirs, ours, "other") == ("2.00 s", "15.0 × (13.3)")
    assert against([[1, 5.0, 0.5]], ours, "other") == ("ends above, at 4.0 s", "—")


def test_calls_grow_and_keep_to_the_limit():
    solver, done, seconds = SOLVERS["sklearn-cd"], 0, 0.0
    n = 1
    while n:
        done, seconds = done + n, seconds + 0.1 * n
        n = next_step(solver, done, seconds, limit=5.0, max_iter=1000)
    assert 40 <= done <= 50


def test_planted_tags_have_the_asked_size_and_repeat():
    X = planted_tags(500, 2_000)
    assert X.shape == (500, 2_000)
    assert X.dtype == np.float32
    assert 4_000 < X.nnz <= 5_000
    assert (planted_tags(500, 2_000) != X).nnz == 0


def test_sorted_rows_are_what_every_package_takes():
    X = sorted_rows(sp.csc_array(np.arange(6.0).reshape(2, 3)))
    assert X.dtype == np.float32
    assert X.has_sorted_indices
    assert isinstance(X, sp.csr_array)
