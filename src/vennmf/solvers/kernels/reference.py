"""The kernels, said in NumPy: the specification that the compiled twins are tested against.

Rows are entities of one axis, columns are components. ``F`` is changed in place; one number is returned.
"""

import numpy as np


def projected(F, gradient, upper=np.inf):
    """The part of a gradient at F that the bounds 0 and upper do not hold back."""
    return np.where(F <= 0, np.minimum(gradient, 0), np.where(upper <= F, np.maximum(gradient, 0), gradient))


def sweep(F, G, C, curvature, upper, n_sweeps):
    """Cyclic passes of exact coordinate descent over the columns of F, rows independent, in place.

    F[:, t] <- clip(F[:, t] - (F G + diag(d) F - C)[:, t] / (G[t, t] + d), 0, upper)     d = curvature

    Reads G (k, k) symmetric, C (rows, k), curvature (rows,) or empty for zeros; writes F (rows, k).
    A coordinate whose curvature is zero stays where it is.
    Returns the squared norm of the projected gradient before the first pass, in float64.
    Cost: n_sweeps * rows * k^2.
    """
    d = curvature if curvature.size else np.zeros(F.shape[0], dtype=F.dtype)
    gradient = F @ G + d[:, None] * F - C
    violation = float(np.sum(projected(F, gradient, upper).astype(np.float64) ** 2))
    for _ in range(n_sweeps):
        for t in range(F.shape[1]):
            bend = G[t, t] + d
            slope = F @ G[:, t] + d * F[:, t] - C[:, t]
            moved = np.clip(F[:, t] - slope / np.where(bend > 0, bend, 1), 0, upper)
            F[:, t] = np.where(bend > 0, moved, F[:, t])
    return violation


def sweep_coupled(F, G, C, A, n_sweeps):
    """Cyclic passes of exact coordinate descent where rows are coupled by overlaps between columns, in place.

    value = 1/2 <F G, F> - <F, C> + 1/4 sum_jk A_jk (F_j . F_k)^2        S = F^T F, kept up to date
    F_it <- max(0, F_it - (sum_k F_ik (G_kt + A_tk S_tk) - C_it) / (G_tt + sum_k A_tk F_ik^2))

    Reads G (k, k), C (rows, k), A (k, k) symmetric, nonnegative, zero diagonal; writes F. Rows in order.
    Returns the squared norm of the projected gradient before the first pass, in float64.
    Cost: n_sweeps * rows * 3 k^2.
    """
    S = F.T.astype(np.float64) @ F.astype(np.float64)
    gradient = F @ (G + A * S) - C
    violation = float(np.sum(np.where(F > 0, gradient, np.minimum(gradient, 0)).astype(np.float64) ** 2))
    for _ in range(n_sweeps):
        for i in range(F.shape[0]):
            for t in range(F.shape[1]):
                bend = G[t, t] + A[t] @ F[i] ** 2
                if bend <= 0:
                    continue
                slope = F[i] @ (G[:, t] + A[t] * S[t]) - C[i, t]
                moved = max(0.0, F[i, t] - slope / bend)
                step = moved - F[i, t]
                F[i, t] = moved
                S[t] += step * F[i]
                S[t, t] += step * (moved - step)  # S_tt gains moved^2 - old^2 = step * (moved + old)
                S[:, t] = S[t]
    return violation


def clip_by_maximum(z, bound):
    """argmin over f >= 0 of 1/2 |f - z|^2 + bound * max(f): the positive part of z, cut off at a level.

    Zero if the positive part sums to at most bound; else min(z, level) with sum(max(z - level, 0)) = bound.
    """
    z = np.maximum(z, 0)
    if z.sum(dtype=np.float64) <= bound:
        return np.zeros_like(z)
    high = -np.sort(-z)
    levels = (np.cumsum(high, dtype=np.float64) - bound) / np.arange(1, len(z) + 1)
    return np.minimum(z, levels[np.flatnonzero(levels <= high)[-1]]).astype(z.dtype)


def sweep_column_maximum(F, G, C, weights, n_sweeps):
    """Cyclic passes over the columns of F, each minimised exactly under a penalty on its largest entry, in place.

    value = 1/2 <F G, F> - <F, C> + sum_t weights_t max_i F_it
    F_t <- clip_by_maximum(F_t - (F G - C)_t / G_tt, weights_t / G_tt)

    Reads G (k, k), C (rows, k), weights (k,); writes F. A column whose curvature is zero stays where it is.
    Returns the squared norm of G_tt (F_t - what F_t would become) over all columns before the first pass, in float64.
    Cost: n_sweeps * rows * k^2.
    """

    def minimiser(t):
        return clip_by_maximum(F[:, t] - (F @ G[:, t] - C[:, t]) / G[t, t], weights[t] / G[t, t])

    active = [t for t in range(F.shape[1]) if G[t, t] > 0]
    violation = float(sum(np.sum((G[t, t] * (F[:, t] - minimiser(t))).astype(np.float64) ** 2) for t in active))
    for _ in range(n_sweeps):
        for t in active:
            F[:, t] = minimiser(t)
    return violation


def nnls_rows(F, G, C, tol, max_sweeps):
    """For every row the minimiser of 1/2 f G f - c f over f >= 0, starting from the row of F, in place.

    Stops at a row when its projected gradient's norm is tol times what it is at zero, or after max_sweeps.
    Reads G (k, k) symmetric, C (rows, k); writes F (rows, k).
    Returns the largest ratio, over the rows, of the last norm to that at zero (0 where there is none at zero).
    """
    worst, none = 0.0, np.empty(0)
    for i in range(F.shape[0]):
        f, c = F[i : i + 1].astype(np.float64), C[i : i + 1].astype(np.float64)
        wide = G.astype(np.float64)
        at_zero = float(np.sum(np.maximum(c, 0) ** 2))
        for _ in range(max_sweeps):
            last = sweep(f, wide, c, none, np.inf, 0)
            if last <= tol**2 * at_zero:
                break
            sweep(f, wide, c, none, np.inf, 1)
        F[i] = f[0]
        last = sweep(f, wide, c, none, np.inf, 0)
        worst = max(worst, np.sqrt(last / at_zero) if at_zero > 0 else 0.0)
    return worst


def multiply(F, down, C, pull, upper):
    """The multiplicative rule, in place: the halves of the gradient that pull entries up and push them down, divided.

    F <- min(upper, F * ([C]+ + pull) / (down + [C]-))        gradient = down - C - pull

    Reads down, C and, if not None, pull, all (rows, k); writes F. A quotient of two zeros leaves the entry where it is. Returns the squared norm of the projected gradient before the step, in float64. Cost: rows * k.
    """
    up = np.maximum(C, 0) + (0 if pull is None else pull)
    gradient = down - C - (0 if pull is None else pull)
    violation = float(np.sum(projected(F, gradient, upper).astype(np.float64) ** 2))
    down = down + np.maximum(-C, 0)
    F *= np.divide(up, down, out=np.ones_like(up), where=down > np.finfo(F.dtype).tiny)
    np.minimum(F, F.dtype.type(upper), out=F)
    return violation


def sparse_times_dense(data, indices, indptr, B, out):
    """out = X B for X (rows, columns) in compressed rows. Writes out (rows, k), and returns it."""
    for i in range(out.shape[0]):
        entries = slice(indptr[i], indptr[i + 1])
        out[i] = data[entries] @ B[indices[entries]]
    return out


def transposed_times_dense(data, indices, indptr, F, out):
    """out = X^T F for X (rows, columns) in compressed rows. Writes out (columns, k), and returns it."""
    out[...] = 0
    for i in range(F.shape[0]):
        entries = slice(indptr[i], indptr[i + 1])
        np.add.at(out, indices[entries], data[entries, None] * F[i])
    return out


def row_gram(F):
    """F^T F, summed in float64."""
    return F.astype(np.float64).T @ F.astype(np.float64)
