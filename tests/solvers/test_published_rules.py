"""``solver="mu"`` is the papers' rule: the iterates of equations (6)–(9), written out once more in plain NumPy."""

import numpy as np
import pytest

from tests.conftest import draw
from vennmf.matrices import ViewSet
from vennmf.model.presets import rjsnmf
from vennmf.solvers import Options, Problem
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Loop
from vennmf.solvers.sweeps import SWEEPS

K, R = 2, {"x": 4, "y": 3}


def iterate(X, Y, W, U, V, H, L, a):
    """One pass: H and L by (9), then W, U and V together by (6), (7), (8); columns normalised, H and L rescaled."""
    wx, wy = 1 / np.sum(X**2), 1 / np.sum(Y**2)
    alpha, beta, gamma = a / (K * U.shape[1]), a / (K * V.shape[1]), a / (U.shape[1] * V.shape[1])
    F, G = np.hstack([W, U]), np.hstack([W, V])
    H = H * (X @ F) / (H @ F.T @ F)
    L = L * (Y @ G) / (L @ G.T @ G)
    Hw, Hu, Lw, Lv = H[:, :K], H[:, K:], L[:, :K], L[:, K:]
    Xt, Yt = F @ H.T, G @ L.T
    newW = (
        W * (wx * X.T @ Hw + wy * Y.T @ Lw) / (wx * Xt @ Hw + wy * Yt @ Lw + alpha * U @ U.T @ W + beta * V @ V.T @ W)
    )
    newU = U * (wx * X.T @ Hu) / (wx * Xt @ Hu + alpha * W @ W.T @ U + gamma * V @ V.T @ U)
    newV = V * (wy * Y.T @ Lv) / (wy * Yt @ Lv + beta * W @ W.T @ V + gamma * U @ U.T @ V)
    nW, nU, nV = (np.linalg.norm(part, axis=0) for part in (newW, newU, newV))
    return newW / nW, newU / nU, newV / nV, H * np.concatenate([nW, nU]), L * np.concatenate([nW, nV])


@pytest.mark.parametrize("a", [0.0, 0.05])
def test_the_rule_visits_the_papers_iterates(a):
    data = {name: X + 0.01 for name, X in draw(3, {"x": 30, "y": 25}, 15, rank=5).items()}
    views = ViewSet.of(data)
    problem = Problem(rjsnmf(views, R, K, a), views)
    start = initialise(problem, "random", np.random.default_rng(0))
    B = start["features"]
    state = B[:, :2], B[:, 2:4], B[:, 4:], start["items:x"], start["items:y"]
    for _ in range(12):
        state = iterate(data["x"], data["y"], *state, a)
    options = Options(max_iter=12, tol=0, min_change=0, warm_start=0)
    solution = Loop(problem, start, SWEEPS["mu"], options, np.random.default_rng(0)).run()
    assert np.all(np.diff(solution.history()["objective"]) < 0)
    np.testing.assert_allclose(solution.factors["features"], np.hstack(state[:3]), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(solution.factors["items:x"], state[3], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(solution.factors["items:y"], state[4], rtol=1e-8, atol=1e-12)
