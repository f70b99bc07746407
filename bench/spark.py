"""Randomising on Spark, beside Spark's own copy of the same Parquet files, on this machine's cores.

Three columns, two of them randomised. The copy and perturb of the frame take
turns in one session, after a small run of each; then the way of a frame is timed up to some points,
each ending in Spark's sink that writes nothing.
Last come whole releases, each once after a small one: of a path that workers read, of a frame, in a
secret order, and on one machine; and how long the parts of each took.
PRAMBLE_BENCH_ROWS sets the rows: 30 million unless given (300 million is the large case);
PRAMBLE_BENCH_TURNS how often they take turns, three times unless given.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pramble
from bench._figures import Claim

KEY = bytes(range(32))
REGIONS = [f"region {i}" for i in range(10)]
PLAN = {
    "sex": pramble.randomized_response(["female", "male"], 1.0),
    "region": pramble.randomized_response(REGIONS, 1.0),
}
TURNS = int(os.environ.get("PRAMBLE_BENCH_TURNS", "3"))
FILE_ROWS = 5_000_000


def make_files(folder: Path, rows: int) -> None:
    """Write the table, a file for every five million rows."""
    rng = np.random.default_rng(0)
    sexes, regions = pa.array(["female", "male"]), pa.array(REGIONS)
    folder.mkdir()
    for start in range(0, rows, FILE_ROWS):
        with pq.ParquetWriter(
            folder / f"part-{start // FILE_ROWS:05}.parquet",
            pa.schema([("id", pa.int64()), ("sex", pa.string()), ("region", pa.string())]),
        ) as writer:
            for first in range(start, min(start + FILE_ROWS, rows), 1 << 20):
                n = min(1 << 20, start + FILE_ROWS - first, rows - first)
                columns = [
                    pa.array(np.arange(first, first + n)),
                    sexes.take(pa.array(rng.integers(0, 2, n))),
                    regions.take(pa.array(rng.integers(0, 10, n))),
                ]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=writer.schema))


def session(folder: Path, master: str = "local[*]") -> Any:
    """Start Spark, on all cores unless told otherwise."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.local.dir", str(folder))
        .config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    rows = int(os.environ.get("PRAMBLE_BENCH_ROWS", "30000000"))
    claim = Claim("spark", "Spark", "python -m bench spark", ("pyspark",))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder / "in", rows)
        make_files(folder / "small", 200_000)
        spark = session(folder / "local")

        def written(frame: Any) -> None:
            shutil.rmtree(folder / "out", ignore_errors=True)
            frame.write.parquet(str(folder / "out"))

        def read(which: str = "in") -> Any:
            return spark.read.parquet(str(folder / which))

        def perturbed(which: str = "in") -> Any:
            return pramble.perturb(read(which), PLAN, key=KEY)

        ways = {"copy": read, "perturb a frame": perturbed}
        for _ in range(2):
            for way in ways.values():
                written(way("small"))
        turns = [
            {what: seconds(lambda: written(way())) for what, way in ways.items()}  # noqa: B023
            for _ in range(TURNS)
        ]
        taken = {what: statistics.median(turn[what] for turn in turns) for what in ways}
        copy = taken.pop("copy")
        print(f"{rows:,} rows; the median of {TURNS} turns, and of its ratios to the copy")
        print(f"  {'copy':<44} {copy:>6.1f} s")
        for what, took in taken.items():
            ratio = statistics.median(turn[what] / turn["copy"] for turn in turns)
            print(f"  {what:<44} {took:>6.1f} s {ratio:>6.2f}")
        print("whole releases")
        for what, took in (whole := releases(spark, folder)).items():
            print(f"  {what:<44} {took:>6.1f} s")
        spark.stop()
    note = (
        f"{rows:,} rows of three columns, two of them randomised, on all cores of one machine. "
        "A release also counts, checks what it wrote and hashes it; the copy does not."
    )
    claim.table("Time", "seconds", "less", note)
    both = {f"{what} and write it": took for what, took in taken.items()}
    both |= {f"release {what}": took for what, took in whole.items() if what[0] != " "}
    for what, took in both.items():
        claim.add(what, "pramble", took)
        claim.add(what, "Spark's copy", copy)
    claim.write()


def releases(spark: Any, folder: Path) -> dict[str, float]:
    """Return the seconds of whole releases, and of their parts as progress tells of them."""
    columns = {"sex": {"categories": ["female", "male"]}, "region": {"categories": REGIONS}}

    def release(source: Any, number: int, told: list[tuple[str, float]], **options: Any) -> None:
        pramble.release(
            source,
            folder / f"release {number}",
            columns=columns,
            alpha=2.0,
            design="paper",
            prior="uniform",
            rows_per_file=1 << 20,
            key=KEY,
            ledger=False,
            pages=False,
            progress=lambda one: told.append((one.what, time.perf_counter())),
            **options,
        )

    def sources(which: str) -> dict[str, tuple[Any, dict[str, Any]]]:
        path = folder / which
        return {
            "of a path, on Spark": (path, {"spark": spark}),
            "of a frame": (spark.read.parquet(str(path)), {}),
            "of a path in a secret order, on Spark": (path, {"spark": spark, "shuffle": True}),
            "on one machine": (path, {}),
            "on one machine in a secret order": (path, {"shuffle": True}),
        }

    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (source, options) in enumerate(sources("small").values()):
            release(source, -1 - number, [], **options)
        for number, (what, (source, options)) in enumerate(sources("in").items()):
            told: list[tuple[str, float]] = [("before", time.perf_counter())]
            found[what] = seconds(lambda: release(source, number, told, **options))  # noqa: B023
            for (_, start), (part, end) in pairwise(told):
                name = f"    {part}, {number + 1}"
                found[name] = found.get(name, 0.0) + end - start
    return found


if __name__ == "__main__":
    main()
