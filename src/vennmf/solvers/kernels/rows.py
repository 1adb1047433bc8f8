"""One row at a time: the row's gradient is kept up to date, so coordinates that rest at zero cost nothing.

Made for rows that end with few positive entries, run to the optimum of each row. Arithmetic is in float64.
"""

import numpy as np
from numba import njit

from vennmf.solvers.kernels.compiled import compiled, merged
from vennmf.solvers.kernels.lanes import BYTES, lanes_of, load, spread_number, store
from vennmf.solvers.kernels.sweeps import contiguous
from vennmf.solvers.kernels.threads import share

WORTH_A_THREAD = 200_000  # multiplications that outweigh waking another thread
SETTLED, PAUSE = 2, 40  # an exact solve after so many passes without, or with, a change of the positive entries


def nnls_rows(F, G, C, tol, max_sweeps):
    """The compiled twin of ``reference.nnls_rows``."""
    n_rows, k = F.shape
    if not n_rows or not k:
        return 0.0
    contiguous(F, "F")
    padded = np.zeros((k, k + -k % (BYTES // 8)))  # not numpy.pad, which takes as long as a row
    padded[:, :k] = G
    C = np.ascontiguousarray(C, dtype=F.dtype)
    ratios = np.empty(n_rows)

    def rows(first, last):  # scratch is made here: an allocation takes the compiler longer than it takes a row
        f, c, trial = np.empty((3, k))
        g, factor, support = np.zeros(padded.shape[1]), np.empty((k, k)), np.empty(k, dtype=np.int64)
        _solve_rows(F, padded, C, float(tol), max_sweeps, f, g, c, support, factor, trial, ratios, first, last)

    share(rows, n_rows, 1 + WORTH_A_THREAD // (k * k))
    return float(ratios.max())


@compiled
def _solve_rows(F, G, C, tol, max_sweeps, f, g, c, support, factor, trial, ratios, first, last):
    """Each row f minimises 1/2 f G f - c f over f >= 0; ratios are its projected gradient's last norm over its first.

    Passes find out which entries are positive; now and then the best values of those are computed at once.
    """
    for i in range(first, last):
        for t in range(f.size):
            f[t] = F[i, t]
            c[t] = C[i, t]
        start = left = -1.0
        settled, wait, exact = 0, PAUSE, False
        for n in range(max_sweeps + 1):
            if not exact or n == max_sweeps:
                left, exact = _violation(f, g, c, G), True
                start = left if start < 0 else start
            if left <= tol * tol * start or n == max_sweeps:
                break
            switched, left = _pass_over_row(f, g, G)
            settled = 0 if switched else settled + 1
            wait -= 1
            if left <= tol * tol * start or settled == SETTLED or not wait:
                settled, wait, exact = 0, PAUSE, False
                _solve_on_support(f, c, G, support, factor, trial)
        ratios[i] = np.sqrt(left / start) if start > 0 else 0.0
        for t in range(f.size):
            F[i, t] = f[t]


@compiled
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
        new = max(0.0, old - slope / G[t, t])
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
        n = _positive(f, support)
        if not _solve(G, c, support, n, factor, trial):
            return
        stretch, first = 1.0, -1
        for a in range(n):
            old = f[support[a]]
            if trial[a] <= 0 and old <= stretch * (old - trial[a]):
                stretch, first = old / (old - trial[a]), a
        for a in range(n):
            t = support[a]
            f[t] = max(0.0, f[t] + stretch * (trial[a] - f[t])) if first >= 0 else trial[a]
        if first < 0:
            return
        f[support[first]] = 0


@compiled
def _positive(f, support):
    """support[:n] = the places of the positive entries of f; returns n."""
    n = 0
    for t in range(f.size):
        if f[t] > 0:
            support[n] = t
            n += 1
    return n


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _solve(G, c, support, n, factor, trial):
    """trial = the solution of G trial = c on the support, by Cholesky; False where G is not safely positive."""
    for a in range(n):
        for b in range(a + 1):
            total = G[support[a], support[b]]
            for j in range(b):
                total -= factor[a, j] * factor[b, j]
            if a > b:
                factor[a, b] = total * factor[b, b]
            elif total > 1e-12 * G[support[a], support[a]]:
                factor[a, a] = 1 / np.sqrt(total)  # the diagonal is kept inverted
            else:
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
    return True
