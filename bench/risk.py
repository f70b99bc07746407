"""Time and memory of assessing risk, each in a process of its own.

Beside them stand the figures published with this project for sdcMicro 5.8.1's ``modRisk`` (R), all
two-way interactions, on a machine of the same kind: 88 CPU-seconds at 28,800 cells, 2.7 GB at 10⁶.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CENSUS = DATA / "acs2024_ten_us_srs953076.parquet"
TEN = (
    "OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
    "VETSTAT",
)  # fmt: skip
SHAPE = (3, 2, 5, 5, 4, 3, 4, 4)
STATED = {"two-way, 28,800 cells": "88 CPU-s", "two-way, 1.6 million cells": "2.7 GB at 10⁶"}


def made_up(n: int = 20_000):
    """Eight keys with 28,800 cells whose every pair depends a little."""
    rng = np.random.default_rng(1)
    trait = rng.normal(size=n)
    return {
        f"k{i}": np.clip((trait + rng.normal(size=n)) * size / 4 + size / 2, 0, size - 1).astype(
            int
        )
        for i, size in enumerate(SHAPE)
    }


def job(name: str) -> None:
    """Run one assessment and print what it took."""
    import pramble

    start, cpu = time.perf_counter(), time.process_time()
    cells = 0
    if name == "two-way, 28,800 cells":
        data = made_up()
        cells = pramble.assess(data, list(data), population_size=2_000_000).cells
    elif name.endswith("million cells"):
        model = name.split(",", maxsplit=1)[0]
        a = pramble.assess(CENSUS, list(TEN), population_size=19_867_248, model=model)
        cells = a.cells
    elif name == "risk left, ten columns":
        a = pramble.assess(CENSUS, list(TEN), population_size=19_867_248)
        plan = {
            key: pramble.randomized_response(levels, 1.0)
            for key, levels in zip(a.keys, a.table.levels, strict=True)
        }
        start, cpu = time.perf_counter(), time.process_time()
        a.after(plan)
        cells = a.cells
    elif name == "individual risk, 10⁶ classes":
        from pramble.risk.individual import individual_risk

        rng = np.random.default_rng(2)
        sizes = rng.integers(1, 200, 10**6)
        individual_risk(sizes, sizes * rng.uniform(1, 1000, 10**6))
    took = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "cells": cells,
    }
    print(json.dumps(took))


JOBS = (
    "two-way, 28,800 cells",
    "independence, 1.6 million cells",
    "two-way, 1.6 million cells",
    "risk left, ten columns",
    "individual risk, 10⁶ classes",
)


def main() -> None:
    """Print one row per job."""
    print(f"{'job':<34} {'seconds':>8} {'CPU-s':>7} {'peak MB':>8}  sdcMicro")
    for name in JOBS:
        if ("million" in name or "ten columns" in name) and not CENSUS.exists():
            print(f"{name:<34} needs the census files in ../shared/data")
            continue
        code = f"from bench.risk import job; job({name!r})"
        run = [sys.executable, "-c", code]
        answer = subprocess.run(run, capture_output=True, text=True, check=True)
        took = json.loads(answer.stdout)
        print(
            f"{name:<34} {took['seconds']:>8.2f} {took['cpu']:>7.2f} {took['megabytes']:>8.0f}  "
            f"{STATED.get(name, '')}"
        )


if __name__ == "__main__":
    main()
