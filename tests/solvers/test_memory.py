"""What a fit holds and reads, counted: forecasts that hold, copies that are worth it, never items × features."""

import numpy as np
import pytest
import scipy.sparse as sp

import vennmf as vn
from tests.conftest import peak_of
from vennmf.matrices import View, ViewSet
from vennmf.model import L1, L2, Box, Model, sharing_pattern
from vennmf.solvers import Options, Problem, forecast, memory, products
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Loop
from vennmf.solvers.sweeps import SWEEPS

pytestmark = pytest.mark.filterwarnings("ignore::vennmf.ConvergenceWarning")


def sparse(rows, columns, per_row):
    rng = np.random.default_rng(0)
    indices = np.sort(rng.integers(0, columns, (rows, per_row), dtype=np.int32), axis=1).ravel()
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    X = sp.csr_array((rng.random(rows * per_row, dtype=np.float32), indices, indptr), shape=(rows, columns))
    X.sum_duplicates()
    return X


def dense(rows, columns):
    return np.random.default_rng(0).random((rows, columns), dtype=np.float32)


CASES = {
    "many items, few tags": (vn.NMF(20, max_iter=8), {"data": lambda: sparse(200_000, 2_000, 5)}),
    "more features than items": (vn.NMF(20, max_iter=8), {"data": lambda: sparse(20_000, 60_000, 60)}),
    "dense": (vn.NMF(16, max_iter=8), {"data": lambda: dense(20_000, 500)}),
    "two orthogonal sources": (
        vn.RJSNMF(24, 12, max_iter=8),
        {"a": lambda: sparse(60_000, 5_000, 10), "b": lambda: sparse(60_000, 5_000, 10)},
    ),
    "several starts": (vn.NMF(20, n_init=2, max_iter=8), {"data": lambda: sparse(100_000, 2_000, 10)}),
}


def held_by_a_fit(estimator, views):
    """Bytes of data and of all that a fit holds at most."""
    estimator.fit(views)  # what is compiled or cached now is not counted
    return views.nbytes + peak_of(lambda: estimator.fit(views))


@pytest.mark.parametrize("case", CASES)
def test_the_forecast_is_right_within_a_fifth(case):
    estimator, makers = CASES[case]
    views = ViewSet.of({name: make() for name, make in makers.items()})
    found = estimator.set_params(random_state=0, tol=0, min_change=0).forecast(views)
    held = held_by_a_fit(estimator, views)
    assert found.data == views.nbytes
    assert found.peak == pytest.approx(held, rel=0.2)


@pytest.mark.parametrize("case", ["many items, few tags", "more features than items", "dense"])
def test_a_large_fit_holds_at_most_twice_its_data_and_factors(case, monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)  # so that these count as large
    monkeypatch.setattr(products, "STRETCH", 1 << 17)
    estimator, makers = CASES[case]
    views = ViewSet.of({name: make() for name, make in makers.items()})
    expected = estimator.forecast(views)
    held = held_by_a_fit(estimator, views)
    assert held <= 2.1 * (expected.data + expected.factors)  # a tenth for what does not grow with the problem


def problem_of(X, penalties=(), k=7):
    views = ViewSet([View.of("data", X)])
    return Problem(Model.of(views, sharing_pattern({"data": k}, ("data",)), penalties), views)


def solve(problem, solver, n_iter=9):
    rng = np.random.default_rng(0)
    options = Options(max_iter=n_iter, tol=0, min_change=0)
    return Loop(problem, initialise(problem, "random", rng), SWEEPS[solver], options, rng).run()


def cuts(problem, axis):
    return len(problem.stretches(axis, problem.model.penalties_on(axis)))


PENALTIES = {
    "none": (),
    "L1 and L2": (L1(0.001), L2(0.01), L1(0.002, on="components")),
    "box": (Box(1.0), L2(0.01, on="components")),
}


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("kind", [lambda: sparse(1_100, 1_050, 8), lambda: dense(1_100, 1_050)])
@pytest.mark.parametrize("penalties", PENALTIES)
def test_a_stretch_of_rows_at_a_time_ends_where_all_at_once_do(penalties, kind, solver, monkeypatch):
    X = kind().astype(np.float64)
    whole = solve(problem_of(X, PENALTIES[penalties]), solver)
    monkeypatch.setattr(products, "STRETCH", 1)
    for limit in (memory.COPY_LIMIT, 0):  # with a copy by columns, and scattered
        monkeypatch.setattr(memory, "COPY_LIMIT", limit)
        problem = problem_of(X, PENALTIES[penalties])
        assert cuts(problem, "items:data") == cuts(problem, "features") == 2
        parted = solve(problem, solver)
        for axis, F in whole.factors.items():
            np.testing.assert_allclose(parted.factors[axis], F, rtol=1e-8, atol=1e-10)
        assert parted.objective == pytest.approx(whole.objective, rel=1e-12)


def test_what_sees_other_rows_is_never_taken_by_stretches(monkeypatch):
    monkeypatch.setattr(products, "STRETCH", 1)
    problem = problem_of(sparse(3_000, 2_500, 8), (vn.MutuallyOrthogonal(1.0),))
    assert cuts(problem, "features") == 1
    assert cuts(problem, "items:data") == 3


@pytest.mark.parametrize("copied", [True, False])
def test_an_iteration_reads_the_data_twice_and_makes_nothing_as_large_as_they_would_be_dense(copied, monkeypatch):
    """Counts, not seconds: entries of X multiplied, rows swept, bytes of the arrays made."""
    X = sparse(20_000, 9_000, 6)
    if not copied:
        monkeypatch.setattr(memory, "COPY_LIMIT", 0)
    problem = problem_of(X, k=16)
    entries, swept = [], []

    def counting(kernel):
        def product(data, indices, indptr, right, out):
            entries.append(int(indptr[-1] - indptr[0]))
            return kernel(data, indices, indptr, right, out)

        return product

    for name in ("sparse_times_dense", "transposed_times_dense"):
        monkeypatch.setattr(products.kernels, name, counting(getattr(products.kernels, name)))
    sweep = products.kernels.sweep

    def counted(F, G, C, curvature, upper, n_sweeps):
        swept.append(len(F) * n_sweeps)
        return sweep(F, G, C, curvature, upper, n_sweeps)

    monkeypatch.setattr(products.kernels, "sweep", counted)
    rng = np.random.default_rng(0)
    options = Options(max_iter=30, tol=0, min_change=0, warm_start=0, inner_sweeps=2)
    loop = Loop(problem, initialise(problem, "random", rng), SWEEPS["cd"], options, rng)
    loop._step(1)
    entries.clear()
    swept.clear()
    peak = peak_of(lambda: loop._step(2))
    assert sum(entries) == 2 * X.nnz
    assert sum(swept) == 2 * (20_000 + 9_000)
    one_set = problem.nbytes()
    assert peak <= 3 * one_set + 8 * products.STRETCH
    assert peak < 20_000 * 9_000 * 4 / 50


def test_stretches_of_a_dense_product_are_computed_once_each(monkeypatch):
    problem, seen = problem_of(dense(3_000, 2_500)), []
    monkeypatch.setattr(products, "STRETCH", 1)
    multiply = products.kernels.dense_product

    def counted(A, B, part):
        out = multiply(A, B, part)
        seen.append(len(out))
        return out

    monkeypatch.setattr(products.kernels, "dense_product", counted)
    rng = np.random.default_rng(0)
    loop = Loop(problem, initialise(problem, "random", rng), SWEEPS["cd"], Options(warm_start=0), rng)
    seen.clear()
    loop._step(1)
    assert seen == [1024, 1024, 952, 1024, 1024, 452]


def test_several_starts_and_copies_are_forecast():
    X = sparse(2_000, 1_000, 5)
    problem = problem_of(X)
    assert forecast(problem, 3).peak == forecast(problem).peak + problem.nbytes()
    assert problem.plan.copied == {"data"}
    assert "at the peak" in str(forecast(problem))
