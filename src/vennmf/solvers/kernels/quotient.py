"""The multiplicative rule once the products are there: one reading of everything."""

import numpy as np

from vennmf.solvers.kernels import reference
from vennmf.solvers.kernels.compiled import compiled, smaller
from vennmf.solvers.kernels.lanes import (
    BYTES,
    add_squares,
    at_least,
    at_most,
    lanes_of,
    load,
    spread_number,
    store,
    where_positive,
    zeros,
)
from vennmf.solvers.kernels.sweeps import aligned, contiguous, projected
from vennmf.solvers.kernels.threads import share

BLOCK = 1 << 14  # numbers whose violation is summed at once; up to so many are left to NumPy, which needs no compiler
WORTH_A_THREAD = 8  # blocks


def multiply(F, down, C, pull, upper):
    """The compiled twin of ``reference.multiply``."""
    if F.size <= BLOCK:
        return reference.multiply(F, down, C, pull, upper)
    contiguous(F, "F")
    f, down, C, pull = (
        np.ascontiguousarray([] if a is None else a, dtype=F.dtype).reshape(-1) for a in (F, down, C, pull)
    )
    height = BYTES // F.itemsize
    cut = f.size - f.size % height
    violations = np.zeros(-(-cut // BLOCK) + 1)
    violations[-1] = reference.multiply(f[cut:], down[cut:], C[cut:], pull[cut:] if pull.size else None, upper)

    def blocks(first, last):
        squares, top, tiny = aligned(height, np.float64), F.dtype.type(upper), np.finfo(F.dtype).tiny
        _multiply(f, down, C, pull, top, tiny, squares, violations, cut, first, last)

    share(blocks, len(violations) - 1, WORTH_A_THREAD)
    return float(violations.sum())


@compiled
def _multiply(f, down, c, pull, upper, tiny, squares, violations, cut, first, last):
    """Blocks of the rule, a vector at a time, up to the cut; an empty pull is none."""
    w, none = lanes_of(f), zeros(f)
    top, least, pulled = spread_number(upper), spread_number(tiny), zeros(f)
    for block in range(first, last):
        for i in range(w):
            squares[i] = 0
        for n in range(block * BLOCK, smaller((block + 1) * BLOCK, cut), w):
            now, cross, push = load(f, n), load(c, n), load(down, n)
            if pull.size:
                pulled = load(pull, n)
            add_squares(squares, 0, projected(push - cross - pulled, now, top))
            push = push - at_most(none, cross)
            moved = now * ((at_least(none, cross) + pulled) / push)
            store(f, n, at_most(top, where_positive(push - least, moved, now)))
        total = 0.0
        for i in range(w):
            total += squares[i]
        violations[block] = total
