"""Who works: how many threads, and how the chunks of a kernel are shared out among them.

Kernels release the interpreter's lock and are run by ordinary Python threads. So no OpenMP or TBB runtime is
needed or disturbed, two callers at once are safe, a forked child starts its own, and idle threads sleep.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import pairwise

from threadpoolctl import threadpool_limits

_asked: ContextVar[int | None] = ContextVar("vennmf_threads", default=None)
_pools: dict[int, ThreadPoolExecutor] = {}


def available() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_threads() -> int:
    """The threads a kernel called here will use."""
    return _asked.get() or available()


@contextmanager
def threads(n: int | None) -> Iterator[None]:
    """Within the block, kernels use n threads, as many as around it where None, and the matrix library uses one.

    Large products are cut into pieces and shared out like all else: so the bits do not depend on n.
    """
    if n is not None and n < 1:
        raise ValueError(f"threads: expected at least 1, found {n}; None means all that are available")
    token = _asked.set(n or _asked.get())
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _asked.reset(token)


def share(work: Callable[[int, int], None], n_items: int, grain: int) -> None:
    """Call work(first, last) on consecutive ranges that cover range(n_items), each of grain items or more.

    Ranges go to whoever is free, so what work computes must not depend on where ranges are cut.
    """
    n_workers = min(n_threads(), n_items // max(grain, 1))
    if n_workers <= 1:
        work(0, n_items)
        return
    n_ranges = min(n_items // max(grain, 1), 8 * n_workers)
    cuts = [n_items * i // n_ranges for i in range(n_ranges + 1)]
    waiting = deque(partial(work, *ends) for ends in pairwise(cuts))

    def drain() -> None:  # knows its work by the queue alone: a helper that never began must not keep the arrays alive
        while True:
            try:
                piece = waiting.popleft()
            except IndexError:
                return
            piece()

    pool = _pool(n_workers - 1)
    helpers = [pool.submit(drain) for _ in range(n_workers - 1)]
    try:
        drain()
    finally:
        waiting.clear()
        for helper in helpers:
            if not helper.cancel():  # one that never began has nothing left to do
                helper.result()


def _pool(n_helpers: int) -> ThreadPoolExecutor:
    if n_helpers not in _pools:
        _pools[n_helpers] = ThreadPoolExecutor(n_helpers, thread_name_prefix="vennmf")
    return _pools[n_helpers]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads do not survive a fork
