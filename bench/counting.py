"""Protected tables of a billion rows: what counting costs, by its slope.

``measure`` of all 45 pairs of ten census columns, of Parquet read by pyarrow, by polars, by DuckDB
and by Spark on two cores, at 1, 4 and 16 million rows; beside each what the engine takes for its
own count of the groups of all ten columns. Everything is CPU seconds of this process and of those
it started, the least of some turns, so that a busy machine matters less. The slope from the fewest
rows to the most, times a billion, is an extrapolation: what a start costs cancels.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pramble
from bench._figures import Claim
from bench.central import DELTA, TEN, coded, shared
from bench.spark import session

ROWS = (1_000_000, 4_000_000, 16_000_000)
BILLION = 10**9
TURNS = int(os.environ.get("PRAMBLE_BENCH_TURNS", "2"))
KEY = bytes(32)
FILE_ROWS = 1 << 20


def cpu_seconds(known={}):  # noqa: B006 - what has ended since is remembered
    """CPU seconds so far of this process and all that descend from it."""
    parents, ticks = {}, {}
    for told in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = told.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[told.parent.name] = fields[1]
        ticks[told.parent.name] = sum(map(int, fields[11:13]))
    family, before = {str(os.getpid())}, set()
    while family != before:
        before, family = family, family | {pid for pid in parents if parents[pid] in family}
    known |= {pid: ticks[pid] for pid in family}
    return sum(known.values()) / os.sysconf("SC_CLK_TCK")


def spent(work):
    start = cpu_seconds()
    work()
    return cpu_seconds() - start


def make_files(folder, rows, people, labels):
    """Write people drawn from the census file, texts in every column, a million to a file."""
    folder.mkdir()
    rng, texts = np.random.default_rng(0), [pa.array(labels[name]) for name in TEN]
    for start in range(0, rows, FILE_ROWS):
        drawn = people[rng.integers(0, len(people), min(FILE_ROWS, rows - start))]
        columns = [own.take(pa.array(drawn[:, j])) for j, own in enumerate(texts)]
        table = pa.table(dict(zip(TEN, columns, strict=True)))
        pq.write_table(table, folder / f"part-{start // FILE_ROWS:05}.parquet")


def ways(design, spark):
    """Who counts: pramble's way of a folder, and the engine's own count of ten columns."""
    import duckdb
    import polars as pl

    def polars_frame(folder):
        return pl.scan_parquet(folder / "*.parquet")

    def duckdb_frame(folder):
        return duckdb.read_parquet(str(folder / "*.parquet"))

    def grouped_by_duckdb(folder):
        names = ", ".join(TEN)
        duckdb_frame(folder).aggregate(f"{names}, count(*)", names).to_arrow_table()

    def grouped_by_spark(folder):
        spark.read.parquet(str(folder)).groupBy(*TEN).count().toArrow()

    return {
        "pyarrow": (
            lambda f: pramble.measure(f, design, key=KEY),
            lambda f: pq.read_table(f).group_by(list(TEN)).aggregate([([], "count_all")]),
        ),
        "polars": (
            lambda f: pramble.measure(polars_frame(f), design, key=KEY),
            lambda f: polars_frame(f).group_by(TEN).len().collect(engine="streaming"),
        ),
        "DuckDB": (lambda f: pramble.measure(duckdb_frame(f), design, key=KEY), grouped_by_duckdb),
        "Spark": (
            lambda f: pramble.measure(f, design, key=KEY, spark=spark),
            grouped_by_spark,
        ),
    }


def main() -> None:
    claim = Claim(
        "counting",
        "A billion rows",
        "python -m bench counting",
        ("pyarrow", "polars", "duckdb", "pyspark"),
    )
    people, labels = coded(shared("acs2024_ten_us_srs953076.parquet"))
    design = pramble.design_tables(labels, 1.0, DELTA)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rows in ROWS:
            make_files(folder / str(rows), rows, people, labels)
        spark = session(folder / "local", "local[2]")
        taken = {}
        for engine, (ours, own) in ways(design, spark).items():
            for who, way in {"pramble": ours, f"{engine}'s count": own}.items():
                way(folder / str(ROWS[0]))
                for rows in ROWS:
                    turns = [spent(lambda: way(folder / str(rows))) for _ in range(TURNS)]  # noqa: B023
                    taken[engine, who, rows] = min(turns)
                    print(
                        f"   {engine:<8} {who:<16} {rows:>11,} {min(turns):8.2f} CPU s", flush=True
                    )
        spark.stop()
    write(claim, taken)


def write(claim, taken):
    note = (
        f"By the slope from {ROWS[0]:,} to {ROWS[-1]:,} rows, an extrapolation. pramble counts 45 "
        "tables and adds their noise; the engine beside it counts the groups of all ten columns."
    )
    claim.table("A billion rows of ten columns", "CPU seconds", "less", note)
    lines = {}
    for engine, who in dict.fromkeys((engine, who) for engine, who, _ in taken):
        points = [(rows, taken[engine, who, rows]) for rows in ROWS]
        slope = (points[-1][1] - points[0][1]) / (ROWS[-1] - ROWS[0])
        print(f"   {engine:<8} {who:<16} a billion rows: {slope * BILLION / 60:.0f} CPU minutes")
        claim.add(engine, who, slope * BILLION)
        if who == "pramble":
            lines[engine] = points
    claim.curve("measure, 45 pairs of ten columns", "rows", "CPU seconds", lines)
    claim.write()
