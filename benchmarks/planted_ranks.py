"""How often suggest_ranks and the papers' rules find the ranks that were planted: python benchmarks/planted_ranks.py."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

import vennmf as vn
from vennmf.sources.planted import Planted, planted

FIRST, DRAWS = 100, 20
MAX_COMPONENTS = 20


def draw(seed: int) -> tuple[Planted, int, dict[str, int], str]:
    """Two or three sources, dense or sparse, with noise, some with parts that overlap: data, K, private ranks, kind."""
    rng = np.random.default_rng(seed)
    names = ["a", "b", "c"][: 2 + seed % 2]
    n_shared = int(rng.integers(1, 7))
    private = {name: int(rng.integers(1, 6)) for name in names}
    sparse = bool((seed // 2) % 2)
    noise, overlap = float(rng.uniform(0.1, 0.6)), float(rng.choice([0.0, 0.2, 0.4]))
    items = {name: int(rng.integers(80, 300)) for name in names}
    density = float(rng.uniform(0.2, 0.5))
    data = planted(
        {"all": n_shared, **private},
        n_items=items,
        n_features=150,
        density=density,
        noise=noise,
        overlap=overlap,
        sparse=sparse,
        random_state=seed,
    )
    return data, n_shared, private, f"{'sparse' if sparse else 'dense'}, noise {noise:.2f}, overlap {overlap:.1f}"


def main(out: str | None) -> None:
    rows = []
    for seed in range(FIRST, FIRST + DRAWS):
        data, n_shared, private, kind = draw(seed)
        start = time.perf_counter()
        found = vn.suggest_ranks(data.sources, max_components=MAX_COMPONENTS, papers_rules=False, n_threads=1)
        seconds = time.perf_counter() - start
        rules = vn.suggest_ranks(data.sources, max_components=MAX_COMPONENTS, n_threads=1).table()
        truth = [*(size + n_shared for size in private.values()), n_shared]
        rows.append({"seed": seed, "kind": kind, "truth": truth, "seconds": round(seconds, 2), "found": {}})
        for rule in rules.index:
            rows[-1]["found"][rule] = [int(value) if value > 0 else None for value in rules.loc[rule].fillna(0)]
        ours = [*(size - n_shared for size in truth[:-1]), n_shared]
        mine = [*found.n_private.values(), found.n_shared]
        rows[-1]["within one"] = all(abs(x - y) <= 1 for x, y in zip(ours, mine, strict=True))
        rows[-1]["exact"] = ours == mine
        print(seed, kind, "truth", truth, rows[-1]["found"], f"{seconds:.1f} s", flush=True)
    print(f"within one for shared and private ranks: {sum(r['within one'] for r in rows)} of {len(rows)}")
    print(f"exact: {sum(r['exact'] for r in rows)} of {len(rows)}")
    for rule in rows[0]["found"]:
        of_shared = [abs(r["found"][rule][-1] - r["truth"][-1]) <= 1 for r in rows if r["found"][rule][-1] is not None]
        of_total = [
            abs(x - y) <= 1
            for r in rows
            for x, y in zip(r["found"][rule][:-1], r["truth"][:-1], strict=True)
            if x is not None
        ]
        total = f"{sum(of_total)} of {len(of_total)} totals" if of_total else "says nothing of totals"
        print(f"{rule}: {sum(of_shared)} of {len(of_shared)} shared ranks within one, {total}")
    if out:
        Path(out).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
