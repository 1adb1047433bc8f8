r"""Coordinate descent where rows are coupled by overlaps between columns: S = F^T F enters the slopes.

While row i is being changed, from f0 to f, the entries of S are S0 - f0 f0^T + f f^T. With M = G + A * S0,

    slope_t = (f M)_t - c_t + f_t u_t - f0_t v_t        u = A f^2,  v = A (f0 f)
    bend_t  = G_tt + u_t

so M stays as it is until the row is done. Columns with equal rows of A form a block, and share u and v.
All arithmetic is in float64.
"""

import numpy as np
from numba import njit

from vennmf.solvers.kernels.sweeps import contiguous
from vennmf.solvers.kernels.threads import share


def sweep_coupled(F, G, C, A, n_sweeps):
    """The compiled twin of ``reference.sweep_coupled``."""
    n_rows, k = F.shape
    if not n_rows or not k:
        return 0.0
    contiguous(F, "F")
    G = np.ascontiguousarray(G, dtype=np.float64)
    A = np.ascontiguousarray(A, dtype=np.float64)
    C = np.ascontiguousarray(C, dtype=F.dtype)
    blocks, block_of = np.unique(A, axis=0, return_inverse=True)
    between = np.ascontiguousarray(blocks[:, np.unique(block_of, return_index=True)[1]])
    block_of = block_of.reshape(-1).astype(np.int64)
    wide = F.astype(np.float64, copy=False)
    M = G + A * (wide.T @ wide)
    violations = np.empty(n_rows)
    share(lambda first, last: _violations(F, M, C, violations, first, last), n_rows, 1 + 2_000_000 // (k * k))
    _sweep_rows(F, G, C, A, M, between, block_of, n_sweeps)
    return float(violations.sum())


@njit(nogil=True, cache=True)
def _fill_slope(F, M, C, i, g):
    """g = F[i] M - C[i]."""
    k = g.size
    for t in range(k):
        g[t] = -C[i, t]
    for t in range(k):
        f = np.float64(F[i, t])
        if f != 0:
            for j in range(k):
                g[j] += f * M[t, j]


@njit(nogil=True, cache=True)
def _violations(F, M, C, violations, first, last):
    g = np.empty(F.shape[1])
    for i in range(first, last):
        _fill_slope(F, M, C, i, g)
        total = 0.0
        for t in range(g.size):
            if F[i, t] > 0 or g[t] < 0:
                total += g[t] * g[t]
        violations[i] = total


@njit(nogil=True, cache=True)
def _sweep_rows(F, G, C, A, M, between, block_of, n_sweeps):
    n_rows, k = F.shape
    g, start, f = np.empty(k), np.empty(k), np.empty(k)
    u, v = np.empty(between.shape[0]), np.empty(between.shape[0])
    for _ in range(n_sweeps):
        for i in range(n_rows):
            _fill_slope(F, M, C, i, g)
            u[:] = 0
            for t in range(k):
                start[t] = f[t] = F[i, t]
                if f[t] != 0:
                    for b in range(u.size):
                        u[b] += between[block_of[t], b] * f[t] * f[t]
            v[:] = u
            _pass_over_row(f, start, g, u, v, G, M, between, block_of)
            _follow(F, A, M, f, start, i)


@njit(nogil=True, cache=True)
def _pass_over_row(f, start, g, u, v, G, M, between, block_of):
    for t in range(f.size):
        block = block_of[t]
        bend = G[t, t] + u[block]
        old = f[t]
        slope = g[t] + old * u[block] - start[t] * v[block]
        if bend <= 0 or (old == 0 and slope >= 0):
            continue
        new = max(0.0, old - slope / bend)
        step = new - old
        if step == 0:
            continue
        f[t] = new
        for b in range(u.size):
            u[b] += between[block, b] * step * (new + old)
            v[b] += between[block, b] * step * start[t]
        for j in range(f.size):
            g[j] += step * M[t, j]


@njit(nogil=True, cache=True)
def _follow(F, A, M, f, start, i):
    """Write the row, rounded to the type of F, and bring M = G + A * (F^T F) up to date."""
    k = f.size
    for t in range(k):
        F[i, t] = f[t]
        f[t] = F[i, t]
    for t in range(k):
        after, before = f[t], start[t]
        if after != 0 or before != 0:
            for j in range(k):
                M[t, j] += A[t, j] * (after * f[j] - before * start[j])
