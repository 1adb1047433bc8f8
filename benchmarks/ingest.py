"""How long, and in how much memory, does a file of ten million (item, tag) pairs become a tf-idf matrix?

    python benchmarks/ingest.py [--pairs 10_000_000] [--formats parquet csv long jsonl lists] [--json FILE]

Each format is read in a process of its own, whose peak memory is what the table shows. Tags follow Zipf's law over
100,000 words, ten an item.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

WORDS, PER_ITEM = 100_000, 10


def draw(n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Items × tags as numbers of words, Zipf's law, and the words."""
    rng = np.random.default_rng(0)
    odds = 1 / np.arange(1, WORDS + 1)
    codes = rng.choice(WORDS, size=(n_pairs // PER_ITEM, PER_ITEM), p=odds / odds.sum()).astype(np.int32)
    return codes, np.asarray([f"tag{n:x}" for n in range(WORDS)])


def write(folder: Path, n_pairs: int, formats: list[str]) -> dict[str, dict[str, str]]:
    """The same table in several formats, and how each is read."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    codes, words = draw(n_pairs)
    tags = pa.DictionaryArray.from_arrays(codes.ravel(), pa.array(words)).cast(pa.string())
    items = np.arange(len(codes))
    starts = pa.array(np.arange(0, codes.size + 1, PER_ITEM, dtype=np.int32))
    pq.write_table(
        pa.table({"item": items, "tags": pa.ListArray.from_arrays(starts, tags)}), folder / "parquet.parquet"
    )
    pq.write_table(pa.table({"item": np.repeat(items, PER_ITEM), "tag": tags}), folder / "long-parquet.parquet")
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW lists AS FROM '{folder / 'parquet.parquet'}'")
    connection.execute(f"CREATE VIEW long AS FROM '{folder / 'long-parquet.parquet'}'")
    plans = {
        "parquet": ("", "parquet.parquet", {"tags": "tags"}),
        "jsonl": ("FROM lists", "tags.jsonl", {"tags": "tags"}),
        "csv": ("SELECT item, array_to_string(tags, '|') AS tags FROM lists", "tags.csv",
                {"tags": "tags", "split_tags": "|"}),
        "long": ("FROM long", "long.csv", {"tags": "tag"}),
        "long-parquet": ("", "long-parquet.parquet", {"tags": "tag"}),
        "lists": ("", "parquet.parquet", {"tags": "tags"}),
    }  # fmt: skip
    made = {}
    for name in formats:
        query, file, options = plans[name]
        if query:
            connection.execute(f"COPY ({query}) TO '{folder / file}' (FORMAT {'json' if 'jsonl' in file else 'csv'})")
        made[name] = {"path": str(folder / file), "options": json.dumps(options | {"item": "item"})}
    return made


def read(name: str, path: str, options: str) -> None:
    """Read one file and print seconds, peak memory, shape; lists are made of the file before the clock starts."""
    import vennmf as vn

    source, kwargs = path, json.loads(options)
    if name == "lists":
        import duckdb

        rows = duckdb.connect().execute(f"SELECT tags FROM '{path}'").fetchall()
        source, kwargs = [tags for (tags,) in rows], {}
        del rows
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    X = vn.load_sources({"photos": source}, **kwargs)["photos"].X
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        json.dumps({"seconds": seconds, "peak_gb": peak, "before_gb": before / 1024**2, "shape": X.shape, "nnz": X.nnz})
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--formats", nargs="+", default=["parquet", "jsonl", "csv", "long", "long-parquet", "lists"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--read", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read(*arguments.read)
        return
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, plan in write(Path(folder), arguments.pairs, arguments.formats).items():
            command = [sys.executable, __file__, "--read", name, plan["path"], plan["options"]]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(name, done.stderr.strip().splitlines()[-1])
                continue
            results[name] = found = json.loads(done.stdout.splitlines()[-1])
            size = Path(plan["path"]).stat().st_size / 1e6
            print(
                f"{name:13s} {size:6.0f} MB {found['seconds']:6.1f} s {found['peak_gb']:5.2f} GB peak "
                f"{found['shape'][0]:,} × {found['shape'][1]:,}, {found['nnz']:,} nonzeros"
            )
    if len({found["nnz"] for found in results.values()}) > 1:
        sys.exit("the formats do not agree")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
