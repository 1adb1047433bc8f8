"""Nonnegative least squares for every row: swept together in tiles first, which finds most positive entries, then one by one.

A sweep of a tile costs a row a tenth of what a pass over it alone does. Alone, a row's gradient is kept up to date, so
coordinates that rest at zero cost nothing, and the best values of its positive entries are computed at once, in float64.
"""

import numpy as np

from vennmf.solvers.kernels.compiled import compiled, larger, merged, nested, smaller
from vennmf.solvers.kernels.lanes import BYTES, lanes_of, load, spread_number, store
from vennmf.solvers.kernels.sums import inner
from vennmf.solvers.kernels.sweeps import contiguous, sweep, tile_height
from vennmf.solvers.kernels.threads import share

WORTH_A_THREAD = 200_000  # multiplications that outweigh waking another thread
SETTLED, PAUSE = 2, 40  # an exact solve after so many passes without, or with, a change of the positive entries
ROUND, MOST_ROUNDS = 4, 12  # sweeps of all rows together
PART = 4096  # rows of which a copy is made at once
WORTH_A_ROUND = 0.7  # while a round leaves at most this of their squared violation


def nnls_rows(F, G, C, tol, max_sweeps):
    """The compiled twin of ``reference.nnls_rows``."""
    n_rows, k = F.shape
    if not n_rows or not k:
        return 0.0
    contiguous(F, "F")
    padded = np.zeros((k, k + -k % (BYTES // 8)))  # not numpy.pad, which takes as long as a row
    padded[:, :k] = G
    C = np.ascontiguousarray(C, dtype=F.dtype)
    if n_rows >= 2 * tile_height(F.dtype):
        _sweep_together(F, G, C, tol, min(MOST_ROUNDS, max_sweeps // ROUND))
    ratios = np.empty(n_rows)

    def rows(first, last):  # scratch is made here: an allocation takes the compiler longer than it takes a row
        f, c, trial = np.empty((3, k))
        g, support = np.zeros(padded.shape[1]), np.empty(k, dtype=np.int64)
        factor = np.zeros((k, k + 1 + 2 * BYTES // 8))  # two vectors may begin at the last column
        _solve_rows(F, padded, C, float(tol), max_sweeps, f, g, c, support, factor, trial, ratios, first, last)

    share(rows, n_rows, 1 + WORTH_A_THREAD // (k * k))
    return float(ratios.max())


def _sweep_together(F, G, C, tol, rounds):
    """Sweep all rows, until they are there or make little way."""
    none, upper = np.empty(0, F.dtype), np.inf
    parts = np.split(C, range(PART, len(C), PART))
    goal, before = tol * tol * sum(inner(np.maximum(part, 0), part) for part in parts), np.inf
    for _ in range(rounds):
        left = sweep(F, G, C, none, upper, ROUND)
        if left <= goal or left > WORTH_A_ROUND * before:
            return
        before = left


@compiled
def _solve_rows(F, G, C, tol, max_sweeps, f, g, c, support, factor, trial, ratios, first, last):
    """Each row f minimises 1/2 f G f - c f over f >= 0; ratios are its projected gradient's norm over that at zero.

    The best values of the positive entries are computed at once: so where a row ends does not depend on where it began, as long
    as one minimiser is better than all others.
    Where that leaves a violation, passes find out which entries are positive, and it is tried again.
    """
    for i in range(first, last):
        at_zero = left = 0.0
        for t in range(f.size):
            f[t] = F[i, t]
            c[t] = C[i, t]
            at_zero += larger(0.0, c[t]) * c[t]
        enough, n = tol * tol * at_zero, 0
        while True:
            _solve_on_support(f, c, G, support, factor, trial)
            left = _violation(f, g, c, G)
            if n >= max_sweeps or not left > enough:  # which what is not a number is not
                break
            settled, pause = 0, smaller(n + PAUSE, max_sweeps)
            while n < pause and settled < SETTLED and left > enough:
                switched, left = _pass_over_row(f, g, G)
                settled, n = 0 if switched else settled + 1, n + 1
        ratios[i] = np.sqrt(left / at_zero) if at_zero > 0 else 0.0
        for t in range(f.size):
            F[i, t] = f[t]


@nested
def _add_line(g, step, G, t):
    """g += step * G[t]; G is padded to whole vectors."""
    w, much = lanes_of(g), spread_number(step)
    for j in range(0, g.size, w):
        store(g, j, load(g, j) + much * load(G, t * g.size + j))


@merged
def _violation(f, g, c, G):
    """g = f G - c; returns the squared norm of the projected gradient."""
    for t in range(f.size):
        g[t] = -c[t]
    for t in range(f.size):
        if f[t] != 0:
            _add_line(g, f[t], G, t)
    total = 0.0
    for t in range(f.size):
        if f[t] > 0 or g[t] < 0:
            total += g[t] * g[t]
    return total


@merged
def _pass_over_row(f, g, G):
    """One cyclic pass; returns whether an entry left or reached zero, and the squared slopes met."""
    switched, met = False, 0.0
    for t in range(f.size):
        slope, old = g[t], f[t]
        if (old == 0 and slope >= 0) or G[t, t] <= 0:
            continue
        met += slope * slope
        new = larger(0.0, old - slope / G[t, t])
        step = new - old
        if step != 0:
            switched |= (new == 0) != (old == 0)
            f[t] = new
            _add_line(g, step, G, t)
    return switched, met


@merged
def _solve_on_support(f, c, G, support, factor, trial):
    """Move f to the exact minimiser over its positive entries, dropping those that reach zero on the way.

    Each stretch goes straight towards a minimiser, so the value never rises (Lawson and Hanson's inner loop).
    """
    while True:
        n = _positive(f, G, support)
        if not _solve(G, c, support, n, factor, trial):
            return
        stretch, first = 1.0, -1
        for a in range(n):
            old = f[support[a]]
            if trial[a] <= 0 and old <= stretch * (old - trial[a]):
                stretch, first = old / (old - trial[a]), a
        for a in range(n):
            t = support[a]
            f[t] = larger(0.0, f[t] + stretch * (trial[a] - f[t])) if first >= 0 else trial[a]
        if first < 0:
            return
        f[support[first]] = 0


@nested
def _positive(f, G, support):
    """support[:n] = the places of the positive entries of f that the value bends at; returns n."""
    n = 0
    for t in range(f.size):
        if f[t] > 0 and G[t, t] > 0:
            support[n] = t
            n += 1
    return n


@nested
def _solve(G, c, support, n, factor, trial):
    """trial = the solution of G trial = c on the support; False where G is not safely positive.

    Line by line, G becomes L^T D L with D L in ``factor`` and 1 / D in ``trial``; c is one more column of it.
    """
    w, wide = lanes_of(trial), factor.shape[1]
    for a in range(n):
        line, own = a * wide, support[a]
        for b in range(a, n):
            factor[a, b] = G[own, support[b]]
        factor[a, n] = c[own]
        for b in range(a - a % w, n + 1, 2 * w):
            p, q = load(factor, line + b), load(factor, line + b + w)
            for j in range(a):
                much, above = spread_number(factor[j, a] * trial[j]), j * wide + b
                p, q = p - much * load(factor, above), q - much * load(factor, above + w)
            store(factor, line + b, p)
            store(factor, line + b + w, q)
        if not factor[a, a] > 1e-12 * G[own, own]:
            return False
        trial[a] = 1 / factor[a, a]
    for a in range(n - 1, -1, -1):
        trial[a] *= factor[a, n]
        for b in range(a):
            factor[b, n] -= trial[a] * factor[b, a]
    return True
