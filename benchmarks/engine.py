"""The engine against scikit-learn and against the papers' rules written plainly: a Markdown table of ratios, one run.

    VENNMF_DATA=folder python -m benchmarks.engine [--quick]

Wants the data sets newsgroups20, mirflickr25k and nuswide_10k5; planted data stand in for what is not to be had, and for all
with --quick. Every pair starts from the same factors, on the same data, in the same process; seconds are of this machine,
the ratios are what counts.
"""

import argparse
import time
import warnings
from contextlib import suppress

import numpy as np
from sklearn.decomposition import NMF
from sklearn.decomposition._cdnmf_fast import _update_cdnmf_fast
from sklearn.exceptions import ConvergenceWarning

import vennmf as vn
from benchmarks.kernels import best
from benchmarks.material import newsgroups, planted_tags, tags
from vennmf.errors import VennmfError
from vennmf.model import Model, sharing_pattern
from vennmf.model.presets import rjsnmf
from vennmf.solvers import Options, Problem, kernels
from vennmf.solvers.initialise import initialise
from vennmf.solvers.loop import Loop
from vennmf.solvers.minimise import minimise
from vennmf.solvers.sweeps import SWEEPS

LONG = 200


def against_scikit_learn(X, long, n_starts, k=50):
    """Rows: one iteration with identical iterates, and the time to scikit-learn's objective after ``long`` of its iterations."""
    problem = problem_of(X, k)
    starts = [initialise(problem, "random", np.random.default_rng(seed)) for seed in range(n_starts)]
    one_iteration(problem, X, starts[0], k)
    races = [both_ways(problem, X, start, long) for start in starts]
    lengths = [np.sqrt(2 * value * problem.squared_norms["data"]) for value in np.mean(races, axis=0)[:2]]
    said = f"to scikit-learn's objective after {long} iterations (‖X − HBᵀ‖ = {lengths[0]:.4f}; ours ends at {lengths[1]:.4f}; "
    race(said, races)


def race(said, races):
    """A row of means over starts: each a goal, our end, the other's seconds, and ours to the goal, NaN where it is not reached."""
    there = [one for one in races if np.isfinite(one[3])]
    _, _, theirs, ours = np.mean(there or [[np.nan] * 4], axis=0)
    ratios = [slow / fast for _, _, slow, fast in there] or [np.nan]
    print(
        f"| {said}{len(races)} starts, there from {len(there)}) | {theirs:.1f} s | {ours:.2f} s "
        f"| {np.mean(ratios):.0f} × ({min(ratios):.0f}–{max(ratios):.0f}) |",
        flush=True,
    )


def by_scikit_learn(X, start, n):
    """Seconds and factors of scikit-learn's coordinate descent from a start."""
    H, B = start["items:data"], np.ascontiguousarray(start["features"].T)
    began = time.perf_counter()
    model = NMF(H.shape[1], init="custom", max_iter=n, tol=0)
    encodings = model.fit_transform(X, W=H.copy(), H=B.copy())
    seconds = time.perf_counter() - began
    return seconds, {"items:data": encodings, "features": np.ascontiguousarray(model.components_.T)}


def by_vennmf(problem, start, options):
    factors = {name: F.copy() for name, F in start.items()}
    return Loop(problem, factors, SWEEPS["cd"], options, np.random.default_rng(0)).run()


def one_iteration(problem, X, start, k, few=10):
    plain = Options(max_iter=few, tol=0, min_change=0, inner_sweeps=1, extrapolation=0, warm_start=0)
    by_vennmf(problem, start, plain)
    rounds = [
        (by_scikit_learn(X, start, 1), by_scikit_learn(X, start, 1 + few), by_vennmf(problem, start, plain))
        for _ in range(3)
    ]
    theirs = min((long[0] - short[0]) / few for short, long, _ in rounds)
    ours = min(float(np.median(np.diff(solution.history()["seconds"]))) for *_, solution in rounds)
    B = by_scikit_learn(X, start, few)[1]["features"]
    difference = np.abs(rounds[0][2].factors["features"] - B / np.linalg.norm(B, axis=0))[:2000].max()
    print(
        f"| one iteration, k = {k}, identical iterates (largest difference {difference:.0e}) | {theirs:.3f} s | {ours:.3f} s "
        f"| {theirs / ours:.1f} × |"
    )


def both_ways(problem, X, start, long):
    """scikit-learn's objective after ``long`` iterations, ours at the end; its seconds, and ours to its objective."""
    seconds, factors = by_scikit_learn(X, start, long)
    goal = problem.objective(factors)
    return goal, *reached(by_vennmf(problem, start, Options(max_iter=long, tol=0, min_change=0)), goal, seconds)


def reached(solution, goal, seconds):
    """Our last objective; the other's seconds; ours to the goal, NaN where it is not reached."""
    history = solution.history()
    there = np.flatnonzero(history["objective"] <= goal)
    return float(history["objective"][-1]), seconds, float(history["seconds"][there[0]]) if len(there) else np.nan


def inner_sweep(n=400_000, k=60, rounds=5):
    """The inner loop alone, float32: scikit-learn's on a part of the rows, a matrix product of the size, and ours; GF/s."""
    rng = np.random.default_rng(0)
    B = rng.random((2 * k, k))
    G, F = (B.T @ B).astype(np.float32), rng.random((n, k), dtype=np.float32)
    C, some, order = F @ G * rng.random((n, k), dtype=np.float32), slice(0, n // 20), np.arange(k)
    part, none = F[some].copy(), np.empty(0, np.float32)
    ways = {
        "ours": (n * 4, lambda: kernels.sweep(F, G, C, none, np.inf, 4)),
        "product": (n, lambda: np.matmul(F, G)),
        "scikit": (n // 20, lambda: _update_cdnmf_fast(part, G, C[some], order)),
    }
    least = best({name: way for name, (_, way) in ways.items()}, rounds)
    speed = {name: 2 * k * k * rows / least[name] / 1e9 for name, (rows, _) in ways.items()}
    print(
        f"| the inner sweep, {n // 1000} k rows, k = {k}, float32 (a matrix product of the size: {speed['product']:.0f} GF/s) "
        f"| {speed['scikit']:.1f} GF/s | {speed['ours']:.0f} GF/s | {speed['ours'] / speed['scikit']:.0f} × |"
    )


def problem_of(X, k):
    views = vn.ViewSet([vn.View.of("data", X)])
    return Problem(Model.of(views, sharing_pattern({"data": k}, ("data",))), views)


def papers_rule(views, R, K, a, start, n_iter):
    """Equations (6)–(9) of the paper in NumPy and SciPy, float64, columns normalised and H rescaled after each iteration."""
    (x, X), (y, Y) = ((name, view.X.astype(np.float64)) for name, view in views.items())
    wx, wy = 1 / (X.data @ X.data), 1 / (Y.data @ Y.data)
    B = start["features"].astype(np.float64)
    W, U, V = B[:, :K].copy(), B[:, K : R[0]].copy(), B[:, R[0] :].copy()
    H, L = start[f"items:{x}"].astype(np.float64), start[f"items:{y}"].astype(np.float64)
    alpha, beta, gamma = a / (K * U.shape[1]), a / (K * V.shape[1]), a / (U.shape[1] * V.shape[1])
    tiny, seconds, values = 1e-300, [], []
    began = time.perf_counter()
    for _ in range(n_iter):
        Hw, Hu, Lw, Lv = H[:, :K], H[:, K:], L[:, :K], L[:, K:]
        XH, YL, HH, LL = X.T @ H, Y.T @ L, H.T @ H, L.T @ L
        F, G = np.hstack([W, U]), np.hstack([W, V])
        up = wx * XH[:, :K] + wy * YL[:, :K]
        down = wx * (F @ HH[:, :K]) + wy * (G @ LL[:, :K]) + alpha * (U @ (U.T @ W)) + beta * (V @ (V.T @ W))
        W *= up / (down + tiny)
        F, G = np.hstack([W, U]), np.hstack([W, V])
        U *= wx * XH[:, K:] / (wx * (F @ HH[:, K:]) + alpha * (W @ (W.T @ U)) + gamma * (V @ (V.T @ U)) + tiny)
        G = np.hstack([W, V])
        V *= wy * YL[:, K:] / (wy * (G @ LL[:, K:]) + beta * (W @ (W.T @ V)) + gamma * (U @ (U.T @ V)) + tiny)
        F, G = np.hstack([W, U]), np.hstack([W, V])
        H *= (X @ F) / (H @ (F.T @ F) + tiny)
        L *= (Y @ G) / (L @ (G.T @ G) + tiny)
        norms = [np.linalg.norm(part, axis=0) + tiny for part in (W, U, V)]
        for part, norm in zip((W, U, V), norms, strict=True):
            part /= norm
        H *= np.concatenate([norms[0], norms[1]])
        L *= np.concatenate([norms[0], norms[2]])
        seconds.append(time.perf_counter() - began)
        del Hw, Hu, Lw, Lv
    values = {f"items:{x}": H, f"items:{y}": L, "features": np.hstack([W, U, V])}
    return seconds, values


def against_the_papers_rule(views, long, n_seeds, R=(65, 56), K=40):
    names = views.names
    for a in (0, 100):
        problem = Problem(rjsnmf(views, dict(zip(names, R, strict=True)), K, a), views)
        races = []
        for seed in range(n_seeds):
            start = initialise(problem, "random", np.random.default_rng(seed).spawn(1)[0])
            seconds, factors = papers_rule(views, R, K, a, start, long)
            goal = problem.objective({axis: F.astype(np.float32) for axis, F in factors.items()})
            options, rng = Options(max_iter=long, tol=0, min_change=0), np.random.default_rng(seed)
            races.append((goal, *reached(minimise(problem, options=options, rng=rng), goal, seconds[-1])))
        goal, end = np.mean(races, axis=0)[:2]
        name = "RJSNMF, a = 100" if a else "JSNMF"
        race(
            f"{name}, to the objective of {long} iterations of the paper's rule ({goal:.4f}; ours ends at {end:.4f}; ",
            races,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small planted data, a tenth of the iterations")
    quick = parser.parse_args().quick
    long, seeds = (20, 1) if quick else (LONG, 10)
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, said = matrix(quick)
    print(f"{said} {X.shape[0]:,} × {X.shape[1]:,}, {X.nnz:,} nonzeros, float32\n")
    print("| what | peer | vennmf | ratio |\n| --- | --- | --- | --- |")
    against_scikit_learn(X, long, 1 if quick else 5)
    inner_sweep(40_000 if quick else 400_000)
    views, said = sources(quick)
    shapes = "; ".join(f"{name} {v.shape[0]:,} × {v.shape[1]:,}, {v.nnz:,} nonzeros" for name, v in views.items())
    against_the_papers_rule(views, long, seeds)
    print(f"\n{said}: {shapes}, float32 (the rule in float64)")


def matrix(quick):
    """20 Newsgroups, or planted tags in their place, and which."""
    if not quick:
        with suppress(VennmfError):
            return newsgroups(), "20 Newsgroups"
    return planted_tags(20_000, 5_000), "Planted tags"


def sources(quick):
    """The two collections of tags, or planted ones over one vocabulary, and which."""
    if not quick:
        with suppress(VennmfError):
            return tags(), "Tags"
    both = planted_tags(20_000, 5_000)
    return vn.ViewSet.of({"first": both[:12_000], "second": both[12_000:]}), "Planted tags"


if __name__ == "__main__":
    main()
