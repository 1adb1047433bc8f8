"""How long a query takes over a million items × 64, folded in exactly, top 20; against a plain matrix product.

python benchmarks/queries.py [--items 1000000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import vennmf as vn
from vennmf.applications.index import best


def fitted(n_items: int, n_features: int, k: int) -> vn.JSNMF:
    """A model with made factors, as sparse as fitted ones: a fit of a million items is another benchmark."""
    rng = np.random.default_rng(0)
    small = {name: rng.random((200, n_features), dtype=np.float32) for name in ("target", "other")}
    model = vn.JSNMF(k, k // 2, max_iter=5, tol=1.0, random_state=0).fit(small)
    H = rng.random((n_items, k), dtype=np.float32)
    H *= rng.random((n_items, k), dtype=np.float32) < 0.2
    model.encodings_["target"] = H
    for name, B in model.components_.items():
        made = rng.random(B.shape, dtype=np.float32) ** 4 * (rng.random(B.shape, dtype=np.float32) < 0.1)
        model.components_[name] = made / np.linalg.norm(made, axis=1, keepdims=True)
    model.item_ids_["target"] = np.arange(n_items).astype(str).astype(object)
    return model


def milliseconds(calls: dict[str, object], rounds: int = 21) -> dict[str, tuple[float, float]]:
    """Median and best time of each call, interleaved."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()  # type: ignore[operator]
            times[name].append(1e3 * (time.perf_counter() - start))
    return {name: (float(np.median(found)), min(found)) for name, found in times.items()}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--items", type=int, default=1_000_000)
    arguments.add_argument("--features", type=int, default=5_000)
    given = arguments.parse_args()
    model = fitted(given.items, given.features, 64)
    search = vn.Retriever(model)
    words = [str(n) for n in (17, 400, 999)]
    search(words, "target", top=20)
    found = model.transform(search._reader.read(words, "target").vector, source="target")
    print(f"topics of the query: {np.count_nonzero(found)} of 64")
    H, q = model.encodings_["target"], np.random.default_rng(1).random(64, dtype=np.float32)
    scores = H @ q
    queries = [[str(n), str(n + 1)] for n in range(256)]
    calls = {
        "query, folded in, top 20, with reasons": lambda: search(words, "target", top=20),
        "matrix-vector product alone": lambda: H @ q,
        "top 20 of the scores alone": lambda: best(scores, 20),
        "full sort of the scores": lambda: np.argsort(-scores)[:20],
    }
    print(f"{given.items:,} items × 64, {given.features:,} words")
    for name, (median, least) in milliseconds(calls).items():
        print(f"{name:<42} median {median:7.2f} ms   best {least:7.2f} ms")
    start = time.perf_counter()
    search.many(queries, "target", top=20)
    print(f"{'a query in a batch of 256':<42} {1e3 * (time.perf_counter() - start) / len(queries):14.2f} ms")


if __name__ == "__main__":
    main()
