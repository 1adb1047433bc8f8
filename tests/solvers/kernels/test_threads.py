"""Kernels share work among Python threads: whoever calls, from wherever, gets the same and is never stuck."""

import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from vennmf.solvers import kernels
from vennmf.solvers.kernels.threads import _pool, n_threads, share


def work(seed=0):
    rng = np.random.default_rng(seed)
    F, B = rng.random((20_000, 24)), rng.random((50, 24))
    kernels.sweep(F, B.T @ B, rng.random((20_000, 50)) @ B, np.empty(0), np.inf, 2)
    return F.tobytes()


def test_the_asked_number_of_threads_holds_within_the_block():
    outside = n_threads()
    with kernels.threads(3):
        assert n_threads() == 3
        with kernels.threads(None):
            assert n_threads() == 3
        with kernels.threads(1):
            assert n_threads() == 1
            assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")
    assert n_threads() == outside


def test_no_threads_at_all_are_refused():
    with pytest.raises(ValueError, match="at least 1, found 0"), kernels.threads(0):
        pass


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("n_items", [1, 7, 100])
def test_every_item_is_worked_on_once(n, n_items):
    seen = np.zeros(n_items, dtype=int)

    def mark(first, last):
        seen[first:last] += 1

    with kernels.threads(n):
        share(mark, n_items, 1)
    assert np.all(seen == 1)


@pytest.mark.parametrize("n", [1, 4])
def test_an_error_in_the_work_reaches_the_caller(n):
    def fail(first, last):
        raise RuntimeError("from the work")

    with kernels.threads(n), pytest.raises(RuntimeError, match="from the work"):
        share(fail, 50, 1)


def test_callers_in_several_threads_do_not_disturb_each_other():
    expected = [work(seed) for seed in range(4)]
    found = [b""] * 4

    def call(seed):
        with kernels.threads(2):
            found[seed] = work(seed)

    callers = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert found == expected


def test_a_busy_helper_keeps_no_array_of_a_call_that_is_done():
    free = threading.Event()
    busy = _pool(1).submit(free.wait, 60)  # so that what is submitted next never begins
    try:
        array = np.zeros((100, 10))
        seen = weakref.ref(array)

        def add(first, last, F=array):
            F[first:last] += 1

        with kernels.threads(2):
            share(add, 100, 1)
        assert array.sum() == 1000
        del array, add
        assert seen() is None
    finally:
        free.set()
        busy.result(60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_can_work_after_its_parent_did():
    script = """
import multiprocessing, sys
sys.path.insert(0, {here!r})
from test_threads import kernels, work
if __name__ == "__main__":
    with kernels.threads(2):
        expected = work()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(work, [0, 0], chunksize=1) == [expected, expected]
"""
    here = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, "-c", script.format(here=here)], capture_output=True, timeout=120, text=True)
    assert done.returncode == 0, done.stderr
