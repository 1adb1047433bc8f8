"""One row at a time: the row's gradient is kept up to date, so coordinates that rest at zero cost nothing.

Made for rows that end with few positive entries, run to the optimum of each row. Arithmetic is in float64.
"""

import numpy as np
from numba import njit

from vennmf.solvers.kernels.sweeps import contiguous
from vennmf.solvers.kernels.threads import share

WORTH_A_THREAD = 200_000  # multiplications that outweigh waking another thread


def nnls_rows(F, G, C, tol, max_sweeps):
    """The compiled twin of ``reference.nnls_rows``."""
    n_rows, k = F.shape
    if not n_rows or not k:
        return 0.0
    contiguous(F, "F")
    G = np.ascontiguousarray(G, dtype=np.float64)
    C = np.ascontiguousarray(C, dtype=F.dtype)
    ratios = np.empty(n_rows)

    def rows(first, last):
        _solve_rows(F, G, C, float(tol), max_sweeps, ratios, first, last)

    share(rows, n_rows, 1 + WORTH_A_THREAD // (k * k))
    return float(ratios.max())


@njit(nogil=True, cache=True)
def _solve_rows(F, G, C, tol, max_sweeps, ratios, first, last):
    k = F.shape[1]
    f, g, c = np.empty(k), np.empty(k), np.empty(k)
    support, factor, trial = np.empty(k, dtype=np.int64), np.empty((k, k)), np.empty(k)
    for i in range(first, last):
        for t in range(k):
            f[t] = F[i, t]
            c[t] = C[i, t]
        ratios[i] = _solve_row(f, g, c, G, tol, max_sweeps, support, factor, trial)
        for t in range(k):
            F[i, t] = f[t]


@njit(nogil=True, cache=True)
def _solve_row(f, g, c, G, tol, max_sweeps, support, factor, trial):
    """Minimise 1/2 f G f - c f over f >= 0; returns the projected gradient's norm relative to its first."""
    _gradient(f, g, c, G)
    start = _violation(f, g)
    if start == 0:
        return 0.0
    goal = tol * tol * start
    changed, patience = 0, 2
    for n in range(max_sweeps):
        switched, met = _pass_over_row(f, g, G)
        changed = n + 1 if switched else changed
        if met <= goal or n + 1 - changed >= patience:
            patience *= 2
            changed = n + 1
            if _solve_on_support(f, c, G, support, factor, trial):
                _gradient(f, g, c, G)
            if _violation(f, g) <= goal:
                break
    _gradient(f, g, c, G)
    return np.sqrt(_violation(f, g) / start)


@njit(nogil=True, cache=True)
def _gradient(f, g, c, G):
    """g = f G - c."""
    for t in range(f.size):
        g[t] = -c[t]
    for t in range(f.size):
        if f[t] != 0:
            for j in range(f.size):
                g[j] += f[t] * G[t, j]


@njit(nogil=True, cache=True)
def _violation(f, g):
    """Squared norm of the projected gradient."""
    total = 0.0
    for t in range(f.size):
        if f[t] > 0 or g[t] < 0:
            total += g[t] * g[t]
    return total


@njit(nogil=True, cache=True)
def _pass_over_row(f, g, G):
    """One cyclic pass; returns whether an entry left or reached zero, and the squared slopes met."""
    switched, met = False, 0.0
    for t in range(f.size):
        slope, old = g[t], f[t]
        if (old == 0 and slope >= 0) or G[t, t] <= 0:
            continue
        met += slope * slope
        new = max(0.0, old - slope / G[t, t])
        step = new - old
        if step != 0:
            switched |= (new == 0) != (old == 0)
            f[t] = new
            for j in range(f.size):
                g[j] += step * G[t, j]
    return switched, met


@njit(nogil=True, cache=True)
def _solve_on_support(f, c, G, support, factor, trial):
    """Replace f by the exact minimiser among the vectors with its support, if that is positive and unique."""
    n = 0
    for t in range(f.size):
        if f[t] > 0:
            support[n] = t
            n += 1
    if not _factorise(G, support, n, factor):
        return False
    for a in range(n):
        total = c[support[a]]
        for j in range(a):
            total -= factor[a, j] * trial[j]
        trial[a] = total * factor[a, a]
    for a in range(n - 1, -1, -1):
        total = trial[a]
        for j in range(a + 1, n):
            total -= factor[j, a] * trial[j]
        trial[a] = total * factor[a, a]
        if not trial[a] > 0:
            return False
    for a in range(n):
        f[support[a]] = trial[a]
    return True


@njit(nogil=True, cache=True)
def _factorise(G, support, n, factor):
    """Cholesky factor of G on the support, its diagonal inverted; False where it is not safely positive."""
    for a in range(n):
        for b in range(a + 1):
            total = G[support[a], support[b]]
            for j in range(b):
                total -= factor[a, j] * factor[b, j]
            if a > b:
                factor[a, b] = total * factor[b, b]
            elif total > 1e-12 * G[support[a], support[a]]:
                factor[a, a] = 1 / np.sqrt(total)
            else:
                return False
    return True
