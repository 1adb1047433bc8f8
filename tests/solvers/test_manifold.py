"""Descents on the manifold of PJMF: always feasible, never rising, and at the planted truth in the end."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from vennmf.model.affinity import normalised_laplacian
from vennmf.model.unified_space import Features, UnifiedSpace
from vennmf.solvers import Options
from vennmf.solvers.manifold import CentredStiefel, Point, QuasiNewton, descend, orthonormal
from vennmf.solvers.unified_space import (
    Batches,
    PaperRule,
    descend_by_paper,
    descend_in_batches,
    fold_in_tags,
    random_directions,
    tag_directions,
    tag_means,
)


def planted(
    n: int = 120, d: int = 8, m: int = 15, p: int = 3, *, centred: bool = True, seed: int = 0, **constants: float
):
    """A problem whose objective is zero at a known point: Y is Ŷ there."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + (0 if centred else 0.3)
    X = X - X.mean(axis=0) if centred else X
    A = orthonormal(rng.standard_normal((d, p)))
    V, U = X @ A, rng.standard_normal((m, p))
    U -= U.mean(axis=0) + V.sum(axis=0) / m
    sigma = 1.5
    Y = np.exp(-((V[:, None, :] - U[None, :, :]) ** 2).sum(axis=2) / (2 * sigma**2))
    empty = sp.csr_array((n, n)), sp.csr_array((m, m))
    given = {"alpha": 0.0, "beta": 0.0, "gamma": 0.0, "sigma": sigma} | constants
    problem = UnifiedSpace.of(Features(X), sp.csr_array(Y), *empty, **given)
    return problem, CentredStiefel(X.sum(axis=0), m), A, U


def start_of(problem: UnifiedSpace, space: CentredStiefel, p: int = 3) -> Point:
    A = tag_directions(problem.X, problem.Y, p, np.random.default_rng(0))
    return space.feasible(A, tag_means(problem.X, problem.Y, A))


def test_the_planted_space_is_found_up_to_rotation() -> None:
    problem, space, A, U = planted()
    found = descend(problem, space, start_of(problem, space), Options(max_iter=500, tol=1e-9, min_change=0))
    assert found.objective < 1e-10
    rotation = found.A.T @ A
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-5)
    np.testing.assert_allclose(found.U @ rotation, U, atol=1e-4)


@pytest.mark.parametrize("centred", [True, False])
def test_every_step_is_feasible_and_none_rises(centred: bool) -> None:
    problem, space, _, _ = planted(centred=centred, gamma=0.01)
    history = descend(problem, space, start_of(problem, space), Options(max_iter=60, tol=0, min_change=0)).history()
    assert np.all(np.diff(history["objective"]) <= 0)
    assert history["orthonormality_error"].max() <= 1e-10
    assert history["centring_error"].max() <= 1e-10


def test_the_gradient_on_the_manifold_is_the_slope_along_every_tangent() -> None:
    problem, space, _, _ = planted(centred=False, gamma=0.01)
    rng = np.random.default_rng(1)
    at = space.feasible(rng.standard_normal((8, 3)), rng.standard_normal((15, 3)))
    gradient = space.gradient(at, problem.evaluate(at.A, space.tags(at)))

    def value(length: float) -> float:
        moved = space.move(at, direction, length)
        return problem.terms(moved.A, space.tags(moved)).objective

    for _ in range(5):
        direction = space.tangent(at, rng.standard_normal(at.flat().size))
        measured = (value(1e-5) - value(-1e-5)) / 2e-5
        assert float(gradient @ direction) == pytest.approx(measured, rel=1e-6)


def test_the_retraction_leaves_a_feasible_point_where_it_is() -> None:
    _, space, A, U = planted()
    at = space.feasible(A, U)
    np.testing.assert_allclose(at.A, A, atol=1e-14)
    np.testing.assert_allclose(space.tags(at).sum(axis=0), -(space.s @ A), atol=1e-12)


def test_a_stationary_start_ends_at_once() -> None:
    problem, space, A, U = planted(m=1)
    found = descend(problem, space, space.feasible(A, U), Options())
    assert found.stop_reason in ("converged", "no_decrease", "small_change")
    assert found.n_iter <= 6


def test_curvature_pairs_are_kept_only_where_curvature_is_positive() -> None:
    problem, space, _, _ = planted()
    state = QuasiNewton(problem, space, start_of(problem, space))
    for _ in range(12):
        state.step()
    assert len(state.pairs) == 10
    assert all(curvature > 0 for _, _, curvature in state.pairs)


def test_batches_never_raise_what_they_report_and_reach_what_all_images_reach() -> None:
    problem, space, _, _ = planted(n=2000, m=12, gamma=0.01)
    start = start_of(problem, space)
    whole = descend(problem, space, start, Options(max_iter=200, tol=1e-7, min_change=0))
    parts = descend_in_batches(
        problem, space, start, Options(max_iter=200, tol=1e-7, min_change=0), Batches(100), np.random.default_rng(0)
    )
    assert np.all(np.diff(parts.history()["objective"]) <= 0)
    assert parts.history()["orthonormality_error"].max() <= 1e-10
    assert parts.history()["centring_error"].max() <= 1e-10
    assert parts.objective == pytest.approx(whole.objective, rel=1e-3)


def test_the_papers_gradients_are_the_finite_differences_of_its_lagrangian() -> None:
    """Eqs. (20) and (21) against eq. (19), all terms together."""
    problem, space, _, _ = planted(n=30, centred=False, gamma=0.05)
    rng = np.random.default_rng(0)
    linked = [
        normalised_laplacian(sp.csr_array(np.triu(S, 1) + np.triu(S, 1).T))
        for S in map(rng.random, [(30, 30), (15, 15)])
    ]
    problem = UnifiedSpace.of(problem.X, problem.Y, *linked, alpha=0.6, beta=0.4, gamma=0.05, sigma=problem.sigma)
    rule = PaperRule(orthogonality=0.7, centring=0.3)
    A, U = rng.random((8, 3)), rng.random((15, 3))

    def lagrangian() -> float:
        return problem.terms(A, U).objective + sum(rule.penalties(A, U, space.s)[0].values())

    evaluation = problem.evaluate(A, U)
    _, more_A, more_U = rule.penalties(A, U, space.s)
    for F, gradient in ((A, evaluation.gradient_A + more_A), (U, evaluation.gradient_U + more_U)):
        measured = np.zeros_like(F)
        for at in np.ndindex(F.shape):
            kept = F[at]
            F[at] = kept + 1e-5
            above = lagrangian()
            F[at] = kept - 1e-5
            measured[at] = (above - lagrangian()) / 2e-5
            F[at] = kept
        np.testing.assert_allclose(gradient, measured, rtol=1e-6, atol=1e-6)


def test_the_papers_rule_takes_a_fixed_step_against_the_gradient() -> None:
    problem, space, _, _ = planted(gamma=0.01)
    start, rule = start_of(problem, space), PaperRule(step=1e-4)
    A, U = start.A, space.tags(start)
    evaluation = problem.evaluate(A, U)
    _, more_A, more_U = rule.penalties(A, U, space.s)
    found = descend_by_paper(problem, space, start, Options(max_iter=2, tol=0), rule)
    np.testing.assert_allclose(found.A, A - 1e-4 * (evaluation.gradient_A + more_A), atol=1e-14)
    np.testing.assert_allclose(found.U, U - 1e-4 * (evaluation.gradient_U + more_U), atol=1e-14)


def test_the_manifold_reaches_a_better_objective_than_the_papers_rule() -> None:
    problem, space, _, _ = planted(gamma=0.01)
    start = start_of(problem, space)
    ours = descend(problem, space, start, Options(max_iter=60, tol=0, min_change=0))
    papers = descend_by_paper(problem, space, start, Options(max_iter=60, tol=0, min_change=0), PaperRule(step=0.002))
    assert ours.objective < papers.objective
    assert papers.history()["orthonormality_error"].max() > 1e-6


def test_too_long_a_fixed_step_ends_with_the_lowest_point_met() -> None:
    problem, space, _, _ = planted(gamma=0.5)
    start = start_of(problem, space)
    found = descend_by_paper(problem, space, start, Options(), PaperRule(step=1.0))
    assert found.stop_reason == "no_decrease"
    assert problem.terms(found.A, found.U).objective == pytest.approx(
        min(found.history()["objective"] - found.history()["orthogonality"] - found.history()["centring"])
    )


def test_new_tags_come_to_where_they_were_planted() -> None:
    problem, _, A, U = planted(n=400)
    V = problem.X.times(A)
    found = fold_in_tags(V, problem.Y[:, [0, 3]], 0.0, problem.sigma)
    np.testing.assert_allclose(found, U[[0, 3]], atol=1e-3)


def test_starts_are_orthonormal_even_where_tags_are_fewer_than_components() -> None:
    problem, _, _, _ = planted(m=2)
    rng = np.random.default_rng(0)
    for A in (tag_directions(problem.X, problem.Y, 6, rng), random_directions(problem.X, 6, rng)):
        assert A.shape == (8, 6)
        np.testing.assert_allclose(A.T @ A, np.eye(6), atol=1e-12)
