"""Seconds of one pass over images × tags, and peak memory, of PJMF on a planted problem of the paper's sizes.

    python benchmarks/tagging_scale.py --images 10000 --steps 5
    python benchmarks/tagging_scale.py --images 270000 --steps 2 --batch-size 1024

The image graph is given (neighbours within planted groups): finding 50 exact neighbours of 270,000 images is a cost of its own.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np
import scipy.sparse as sp

import vennmf as vn


def planted(n: int, m: int, d: int, per_image: int = 6) -> tuple[np.ndarray, sp.csr_array, np.ndarray]:
    """Float32 features in groups, tags mostly of the group, and 50 neighbours within it."""
    rng = np.random.default_rng(0)
    n_groups = min(200, n // 60)
    group = rng.integers(0, n_groups, n)
    X = rng.standard_normal((n_groups, d), dtype=np.float32)[group]
    X += 0.7 * rng.standard_normal((n, d), dtype=np.float32)
    own = rng.integers(0, m, (n_groups, 12))
    columns = np.where(rng.random((n, per_image)) < 0.8, own[group][:, :per_image], rng.integers(0, m, (n, per_image)))
    Y = sp.csr_array(
        (np.ones(n * per_image), columns.ravel(), np.arange(0, n * per_image + 1, per_image)), shape=(n, m)
    )
    Y.sum_duplicates()
    Y.data[:] = 1
    order = np.argsort(group, kind="stable")
    place = np.argsort(order)
    neighbors = order[(place[:, None] + np.arange(1, 51)) % n].astype(np.int32)
    return X, Y, neighbors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--tags", type=int, default=3_000)
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("--components", type=int, default=300)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=None)
    given = parser.parse_args()
    X, Y, neighbors = planted(given.images, given.tags, given.features)
    data = X.nbytes + Y.data.nbytes + Y.indices.nbytes + neighbors.nbytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    model = vn.PJMF(
        given.components, max_iter=given.steps, batch_size=given.batch_size, tol=0, min_change=0, random_state=0
    )
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y, neighbors=neighbors)
    whole = time.perf_counter() - began
    seconds = model.history_["seconds"]
    print(
        f"{given.images:,} images × {given.tags:,} tags × {given.components} components, {given.features} features, float32"
    )
    print(f"data {data / 2**30:.2f} GiB; peak before the fit {before:.2f} GiB")
    print(f"whole fit {whole:.1f} s, {model.n_iter_} records at {np.round(seconds, 1).tolist()} s")
    print(f"objective {np.round(model.history_['objective'], 1).tolist()}")
    print(
        f"largest faults {model.history_['orthonormality_error'].max():.1e} {model.history_['centring_error'].max():.1e}"
    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
