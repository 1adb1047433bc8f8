"""What every loss promises: its value, its form and the engine's objective are one and the same."""

import numpy as np
import pytest
import scipy.sparse as sp

from tests.conftest import PATTERNS, draw
from vennmf.matrices import ViewSet
from vennmf.model import Frobenius, Model, sharing_pattern
from vennmf.solvers import Problem
from vennmf.solvers.initialise import initialise

LOSSES = [Frobenius("a", "items", "features", ("all",)), Frobenius("a", "items", "features", ("all",), 0.3)]
KINDS = {"dense": np.asarray, "sparse": sp.csr_array}


def drawn(seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((9, 7)) * (rng.random((9, 7)) < 0.6), rng.random((9, 3)), rng.random((7, 3))


def weight_of(loss, X):
    return 1 / np.sum(X**2) if loss.weight is None else loss.weight


def value(loss, X, L, R):
    return loss.value(np.sum(X**2), np.sum((X @ R) * L), np.sum((L.T @ L) * (R.T @ R)), weight_of(loss, X))


def form_is_gradient(loss, X, L, R):
    """Whether gram and cross give the finite differences of the value, for either factor."""
    w = weight_of(loss, X)
    for F, (gram, cross) in ((L, loss.form(X @ R, R.T @ R, w)), (R, loss.form(X.T @ L, L.T @ L, w))):
        gradient = F @ gram - cross
        for at in np.ndindex(F.shape):
            kept, ends = F[at], []
            for step in (1e-5, -1e-5):
                F[at] = kept + step
                ends.append(value(loss, X, L, R))
            F[at] = kept
            if abs(gradient[at] - (ends[0] - ends[1]) / 2e-5) > 1e-7 * max(1, abs(gradient).max()):
                return False
    return True


@pytest.mark.parametrize("loss", LOSSES, ids=["default weight", "given weight"])
def test_the_value_is_the_weighted_squared_error(loss):
    X, L, R = drawn()
    assert value(loss, X, L, R) == pytest.approx(0.5 * weight_of(loss, X) * np.sum((X - L @ R.T) ** 2), rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=["default weight", "given weight"])
def test_gram_and_cross_are_the_gradient_of_the_value(loss):
    assert form_is_gradient(loss, *drawn())


def test_a_form_of_another_loss_is_noticed():
    class Doubled(Frobenius):
        @staticmethod
        def form(XR, RtR, weight):
            return Frobenius.form(XR, RtR, 2 * weight)

    class Turned(Frobenius):
        @staticmethod
        def form(XR, RtR, weight):
            gram, cross = Frobenius.form(XR, RtR, weight)
            return gram, -cross

    for mutant in (Doubled, Turned):
        assert not form_is_gradient(mutant("a", "items", "features", ("all",), 0.3), *drawn())


@pytest.mark.parametrize("loss", LOSSES, ids=["default weight", "given weight"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forms_keep_the_type_of_the_factors(loss, dtype):
    X, _, R = (A.astype(dtype) for A in drawn())
    gram, cross = loss.form(X @ R, (R.T @ R).astype(np.float64), weight_of(loss, X))
    assert gram.dtype == cross.dtype == dtype


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("weights", [None, {"a": 0.7}])
def test_the_objective_of_the_engine_is_the_sum_of_the_losses(kind, pattern, weights):
    items, blocks = PATTERNS[pattern]
    views = ViewSet.of({name: kind(X) for name, X in draw(1, items).items()})
    model = Model.of(views, sharing_pattern(blocks, views.names), (), weights)
    problem = Problem(model, views)
    factors = initialise(problem, "random", np.random.default_rng(0))
    expected = 0.0
    for loss in model.losses:
        X = views[loss.view].X
        X = X.toarray() if sp.issparse(X) else X
        L = factors[loss.left][:, model.layouts[loss.left].columns(loss.blocks)]
        R = factors[loss.right][:, model.layouts[loss.right].columns(loss.blocks)]
        expected += 0.5 * problem.weights[loss.view] * np.sum((X - L @ R.T) ** 2)
    assert problem.objective(factors) == pytest.approx(expected, rel=1e-12)
