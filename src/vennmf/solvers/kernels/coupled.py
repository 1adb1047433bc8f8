r"""Coordinate descent where rows are coupled by overlaps between columns: S = F^T F enters the slopes.

While row i is being changed, from f0 to f, the entries of S are S0 - f0 f0^T + f f^T. With M = G + A * S0,

    slope_t = (f M)_t - c_t + f_t u_t - f0_t v_t        u = A f^2,  v = A (f0 f)
    bend_t  = G_tt + u_t

so M stays as it is until the row is done. Columns with equal rows of A form a block, and share u and v.
M is kept as panels, one vector of columns wide; all arithmetic is in float64.
"""

import numpy as np

from vennmf.solvers.kernels.compiled import compiled, larger, merged, nested, smaller
from vennmf.solvers.kernels.gram import row_gram
from vennmf.solvers.kernels.lanes import BYTES, load, spread, spread_number, store, zeros
from vennmf.solvers.kernels.sweeps import aligned, contiguous
from vennmf.solvers.kernels.threads import share

WORTH_A_THREAD = 2_000_000  # multiplications that outweigh waking another thread


def sweep_coupled(F, G, C, A, n_sweeps):
    """The compiled twin of ``reference.sweep_coupled``."""
    n_rows, k = F.shape
    if not n_rows or not k:
        return 0.0
    contiguous(F, "F")
    C = np.ascontiguousarray(C, dtype=F.dtype)
    A = np.asarray(A, dtype=np.float64)
    M = panels(G + A * row_gram(F))
    violations = np.empty(n_rows)

    def rows(first, last):
        _measure_rows(F, C, M, aligned(M.shape[0] * M.shape[2], np.float64), violations, first, last)

    share(rows, n_rows, 1 + WORTH_A_THREAD // (k * k))
    if n_sweeps:
        blocks, block_of = np.unique(A, axis=0, return_inverse=True)
        block_of = block_of.reshape(-1).astype(np.int64)
        between = np.ascontiguousarray(blocks[:, np.unique(block_of, return_index=True)[1]])
        slopes = aligned(M.shape[0] * M.shape[2], np.float64)
        diagonal = np.diagonal(G).astype(np.float64)
        _sweep_rows(F, C, diagonal, panels(blocks), M, between, block_of, slopes, n_sweeps)
    return float(violations.sum())


def panels(M):
    """The columns of M, one vector of them after the other, as (panel, row, lane); zeros fill the last."""
    (rows, k), w = M.shape, BYTES // 8
    n = -(-k // w)
    out = aligned(n * rows * w, np.dtype(np.float64)).reshape(n, rows, w)
    out[...] = np.pad(M, ((0, 0), (0, n * w - k))).reshape(rows, n, w).swapaxes(0, 1)
    return out


@nested
def _slopes(M, panel, f, live, n, slopes):
    """slopes = f M for one panel of columns, over the n entries of f that live."""
    k, w = M.shape[1], M.shape[2]
    place = panel * k * w
    a = b = zeros(M)
    for i in range(0, n - 1, 2):
        a = a + spread(f, live[i]) * load(M, place + live[i] * w)
        b = b + spread(f, live[i + 1]) * load(M, place + live[i + 1] * w)
    if n % 2:
        a = a + spread(f, live[n - 1]) * load(M, place + live[n - 1] * w)
    store(slopes, panel * w, a + b)


@nested
def _read_row(F, i, f, live):
    """f = F[i]; live[:n] = the positions of its positive entries; returns n."""
    n = 0
    for t in range(F.shape[1]):
        f[t] = F[i, t]
        if f[t] > 0:
            live[n] = t
            n += 1
    return n


@compiled
def _measure_rows(F, C, M, slopes, violations, first, last):
    """violations = squared norms of the rows' projected gradients."""
    k = F.shape[1]
    f, live = np.empty(k), np.empty(k, dtype=np.int64)
    for i in range(first, last):
        n = _read_row(F, i, f, live)
        for panel in range(M.shape[0]):
            _slopes(M, panel, f, live, n, slopes)
        total = 0.0
        for t in range(k):
            slope = slopes[t] - C[i, t]
            if f[t] > 0 or slope < 0:
                total += slope * slope
        violations[i] = total


@compiled
def _sweep_rows(F, C, diagonal, pairs, M, between, block_of, slopes, n_sweeps):
    """Panel after panel, M learns what the row before has become, then the row moves: one reading of M for both."""
    n_rows, k = F.shape
    f, start, live = np.zeros(slopes.size), np.zeros(slopes.size), np.empty(k, dtype=np.int64)
    before, after, changed, n_changed = start.copy(), start.copy(), live.copy(), 0
    u, v = np.empty(between.shape[0]), np.empty(between.shape[0])
    for _ in range(n_sweeps):
        for i in range(n_rows):
            n = _read_row(F, i, f, live)
            _overlaps(f, start, live, n, u, v, between, block_of)
            for panel in range(M.shape[0]):
                if 2 * (n + n_changed) > k:
                    _follow_and_slopes(M, panel, pairs, block_of, after, before, f, slopes)
                else:
                    _follow(M, panel, pairs, block_of, after, before, changed, n_changed)
                    _slopes(M, panel, f, live, n, slopes)
                n = _move(panel, f, start, live, n, slopes, C, i, u, v, diagonal, M, between, block_of)
            n_changed = n
            for t in range(k):
                F[i, t] = f[t]
                before[t], after[t] = start[t], F[i, t]
            for a in range(n):
                changed[a] = live[a]


@merged
def _overlaps(f, start, live, n, u, v, between, block_of):
    """start = f, and u = v = A f^2 for each block."""
    for b in range(u.size):
        u[b] = 0
    for t in range(f.size):
        start[t] = f[t]
    for a in range(n):
        t = live[a]
        for b in range(u.size):
            u[b] += between[block_of[t], b] * f[t] * f[t]
    for b in range(u.size):
        v[b] = u[b]


@merged
def _follow(M, panel, pairs, block_of, after, before, changed, n):
    """M += A * (f f^T - f0 f0^T) in one panel, for the row before."""
    k, w = M.shape[1], M.shape[2]
    new, old = load(after, panel * w), load(before, panel * w)
    for a in range(n):
        t = changed[a]
        line = (panel * k + t) * w
        change = spread(after, t) * new - spread(before, t) * old
        weight = load(pairs, (panel * pairs.shape[1] + block_of[t]) * w)
        store(M, line, load(M, line) + weight * change)


@merged
def _move(panel, f, start, live, n, slopes, C, i, u, v, diagonal, M, between, block_of):
    """Move the coordinates of one panel in turn, each telling the slopes of those after it; returns the new n."""
    k, w = M.shape[1], M.shape[2]
    for t in range(panel * w, smaller(k, panel * w + w)):
        block = block_of[t]
        bend, old = diagonal[t] + u[block], f[t]
        slope = slopes[t] - C[i, t] + old * u[block] - start[t] * v[block]
        if bend <= 0 or (old == 0 and slope >= 0):
            continue
        new = larger(0.0, old - slope / bend)
        step = new - old
        if step == 0:
            continue
        if start[t] == 0 and old == 0:
            live[n] = t
            n += 1
        f[t] = new
        for b in range(u.size):
            u[b] += between[block, b] * step * (new + old)
            v[b] += between[block, b] * step * start[t]
        told = load(slopes, panel * w) + spread_number(step) * load(M, (panel * k + t) * w)
        store(slopes, panel * w, told)
    return n


@merged
def _follow_and_slopes(M, panel, pairs, block_of, after, before, f, slopes):
    """Both at once, over all entries: less work than twice over those that live, once they are many."""
    k, w = M.shape[1], M.shape[2]
    new, old = load(after, panel * w), load(before, panel * w)
    total = zeros(M)
    t = 0
    while t < k:
        block = block_of[t]
        weight = load(pairs, (panel * pairs.shape[1] + block) * w)
        gained, lost = weight * new, weight * old
        while t < k and block_of[t] == block:
            line = (panel * k + t) * w
            m = load(M, line) + spread(after, t) * gained - spread(before, t) * lost
            store(M, line, m)
            total = total + spread(f, t) * m
            t += 1
    store(slopes, panel * w, total)
