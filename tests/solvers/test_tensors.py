"""A tensor view has one factor for each axis, and a matrix is a tensor of order two."""

import numpy as np
import pytest

from vennmf.errors import ModelError, SourceError
from vennmf.matrices import Axis, View, ViewSet
from vennmf.model.blocks import Block
from vennmf.model.model import Model
from vennmf.model.penalties import L1
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Options
from vennmf.solvers.minimise import minimise
from vennmf.solvers.problem import Problem

SIZES = (8, 5, 4, 3)


def problem(shape=SIZES, k=3, penalties=(), seed=0):
    X = np.random.default_rng(seed).random(shape)
    views = ViewSet([View.of_tensor("data", X)])
    return X, Problem(Model.of(views, [Block("all", k, ("data",))], penalties, {"data": 1.0}), views)


def product(factors):
    letters = "abcdefg"[: len(factors)]
    return np.einsum(",".join(f"{c}k" for c in letters) + "->" + letters, *factors)


@pytest.mark.parametrize("shape", [SIZES[:2], SIZES[:3], SIZES])
def test_gram_and_cross_are_those_of_the_cp_model(shape):
    X, bound = problem(shape)
    factors = initialise(bound, "random", np.random.default_rng(1))
    for axis in bound.model.axes:
        others = [F for name, F in factors.items() if name != axis]
        form = bound.form(axis, factors)
        gram = np.prod([F.T @ F for F in others], axis=0)
        step = 1e-5
        slope = np.zeros_like(factors[axis])
        for entry in np.ndindex(*slope.shape):
            values = []
            for sign in (1, -1):
                moved = {name: F.copy() for name, F in factors.items()}
                moved[axis][entry] += sign * step
                values.append(0.5 * np.sum((X - product(list(moved.values()))) ** 2))
            slope[entry] = (values[0] - values[1]) / (2 * step)
        assert np.max(np.abs(form.gram - gram)) <= 1e-12 * np.max(gram)
        assert np.max(np.abs(form.gradient(factors[axis]) - slope)) <= 1e-6 * np.max(np.abs(slope))


def test_objective_is_the_squared_error_of_the_cp_model():
    X, bound = problem(penalties=(L1(0.3),))
    factors = initialise(bound, "random", np.random.default_rng(1))
    expected = 0.5 * np.sum((X - product(list(factors.values()))) ** 2) + 0.3 * factors["items:data"].sum()
    assert bound.objective(factors) == pytest.approx(expected, rel=1e-10)


def test_every_mode_has_unit_norm_and_the_product_keeps_its_size():
    _, bound = problem()
    rng = np.random.default_rng(2)
    factors = {axis: rng.random((bound.sizes[axis], 3)) for axis in bound.model.axes}
    before = product(list(factors.values()))
    bound.normalise(factors)
    for axis in bound.model.column_axes:
        assert np.linalg.norm(factors[axis], axis=0) == pytest.approx(np.ones(3))
    assert np.max(np.abs(product(list(factors.values())) - before)) <= 1e-12 * before.max()


@pytest.mark.parametrize("solver", ["cd", "mu"])
@pytest.mark.parametrize("penalties", [(), (L1(0.05),)])
def test_objective_of_a_tensor_never_increases(solver, penalties):
    _, bound = problem(penalties=penalties)
    solution = minimise(bound, solver=solver, options=Options(max_iter=60, tol=0), rng=np.random.default_rng(0))
    objective = solution.history()["objective"]
    assert np.all(np.diff(objective) <= 1e-10 * objective[0])
    assert solution.objective == pytest.approx(bound.objective(solution.factors), rel=1e-9)


@pytest.mark.parametrize("shape", [SIZES[:3], SIZES])
def test_a_tensor_of_few_parts_is_found_again(shape):
    rng = np.random.default_rng(3)
    X = product([rng.random((size, 2)) for size in shape])
    views = ViewSet([View.of_tensor("data", X)])
    bound = Problem(Model.of(views, [Block("all", 2, ("data",))]), views)
    solution = minimise(
        bound, n_init=3, options=Options(max_iter=2000, tol=1e-9, min_change=0), rng=np.random.default_rng(0)
    )
    assert 2 * solution.objective <= 1e-6


def test_a_matrix_gives_the_same_bits_as_a_tensor_of_order_two():
    X = np.random.default_rng(4).random((12, 7))
    plain = View.of("data", X)
    tensor = View.of("data", X, modes=(Axis("features", 7),))
    found = []
    for view in (plain, tensor):
        views = ViewSet([view])
        bound = Problem(Model.of(views, [Block("all", 3, ("data",))], (L1(0.1),)), views)
        found.append(minimise(bound, options=Options(max_iter=30), rng=np.random.default_rng(0)))
    for axis, F in found[0].factors.items():
        assert np.array_equal(F, found[1].factors[axis])


def test_modes_that_do_not_multiply_to_the_columns_are_refused():
    with pytest.raises(SourceError, match="modes of 3 × 2"):
        View.of("data", np.ones((4, 7)), modes=(Axis("a", 3), Axis("b", 2)))


def test_a_mode_belongs_to_one_view():
    items, mode, other = Axis("items", 4), Axis("a", 3), Axis("b", 2)
    views = ViewSet(
        [
            View.of("cube", np.ones((4, 6)), items=items, modes=(mode, other)),
            View.of("flat", np.ones((4, 2)), items=items, features=other),
        ]
    )
    with pytest.raises(ModelError, match="mode of a tensor"):
        Model.of(views, [Block("all", 2, ("cube", "flat"))])
