"""The curator's whole job on 953,076 × 10, beside reading and writing the same file unchanged."""

import tempfile
import time
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq

import pramble

COLUMNS = ["SEX", "AGE", "EDUC"]


def cpu(job) -> tuple[float, float]:
    """CPU seconds and seconds of one call."""
    start, clock = time.process_time(), time.perf_counter()
    job()
    return time.process_time() - start, time.perf_counter() - clock


def main() -> None:
    """Print one row per job."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'job':<34} {'CPU s':>7} {'seconds':>8}")

        def row(title: str, job) -> None:
            print(f"{title:<34} {'{:>7.2f} {:>8.2f}'.format(*cpu(job))}", flush=True)

        def release(source: str, target: str, **options) -> None:
            pramble.release(
                folder / source,
                folder / target,
                columns=COLUMNS,
                alpha=3.0,
                ledger=False,
                **options,
            )

        people = pramble.datasets.synthetic_new_york()
        row("draw the people", pramble.datasets.synthetic_new_york)
        pq.write_table(people, folder / "p.parquet")
        pacsv.write_csv(people, folder / "p.csv")
        release("p.parquet", "warm", pages=False)
        row(
            "copy Parquet",
            lambda: pq.write_table(pq.read_table(folder / "p.parquet"), folder / "copy.parquet"),
        )
        row(
            "copy CSV",
            lambda: pacsv.write_csv(pacsv.read_csv(folder / "p.csv"), folder / "copy.csv"),
        )
        row("dry run", lambda: release("p.parquet", "none", dry_run=True))
        row("release, no pages", lambda: release("p.parquet", "a", pages=False))
        row("release with pages", lambda: release("p.parquet", "b"))
        row(
            "release of a CSV, with a copy as CSV, no pages",
            lambda: release("p.csv", "c", pages=False, copies=["csv"]),
        )
        row("open and check", lambda: pramble.open_release(folder / "a"))
