"""Time and memory of assessing risk, each in a process of its own.

Beside the log-linear model stands the same fit as a general linear model of statsmodels, which a
user of Python would write: a dense matrix of all cells by all two-way effects.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench._figures import Claim, peak_megabytes

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CENSUS = DATA / "acs2024_ten_us_srs953076.parquet"
TEN = (
    "OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
    "VETSTAT",
)  # fmt: skip
SHAPE = (3, 2, 5, 5, 4, 3, 4, 4)


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


def dense_fit(data) -> int:
    """All two-way effects by statsmodels, over all cells; how many cells there are."""
    from itertools import combinations

    import statsmodels.api as sm

    codes = np.unravel_index(np.arange(np.prod(SHAPE)), SHAPE)
    single = [np.eye(size)[:, 1:][code] for size, code in zip(SHAPE, codes, strict=True)]
    pairs = [
        (one[:, :, None] * two[:, None, :]).reshape(len(one), -1)
        for one, two in combinations(single, 2)
    ]
    X = np.hstack([np.ones((len(codes[0]), 1)), *single, *pairs])
    flat = np.ravel_multi_index([data[name] for name in data], SHAPE)
    counts = np.bincount(flat, minlength=len(X))
    sm.GLM(counts, X, family=sm.families.Poisson()).fit()
    return len(X)


def job(name: str) -> None:
    """Run one assessment and print what it took."""
    import pramble

    start, cpu = time.perf_counter(), time.process_time()
    cells = 0
    if name == "two-way, 28,800 cells":
        data = made_up()
        cells = pramble.assess(data, list(data), population_size=2_000_000).cells
    elif name == "two-way, 28,800 cells, statsmodels":
        cells = dense_fit(made_up())
    elif name.startswith("growth"):
        used = int(name.split()[1])
        data = dict(list(made_up().items())[:used])
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
        from pramble.risk.models import individual_risk

        rng = np.random.default_rng(2)
        sizes = rng.integers(1, 200, 10**6)
        individual_risk(sizes, sizes * rng.uniform(1, 1000, 10**6))
    took = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "megabytes": peak_megabytes(),
        "cells": cells,
    }
    print(json.dumps(took))


JOBS = (
    "two-way, 28,800 cells",
    "two-way, 28,800 cells, statsmodels",
    *(f"growth {used} keys" for used in (2, 4, 6, 8)),
    "individual risk, 10⁶ classes",
)
CENSUS_JOBS = (
    "independence, 1.6 million cells",
    "two-way, 1.6 million cells",
    "risk left, ten columns",
)


def main() -> None:
    """Print one row per job; those of the census file come last."""
    claim = Claim("risk", "Risk", "python -m bench risk", ("statsmodels",))
    print(f"{'job':<34} {'seconds':>8} {'CPU-s':>7} {'peak MB':>8}")
    found = {name: ran(name) for name in JOBS}
    case = "all two-way effects, 28,800 cells"
    for title, unit, key in (
        ("Processor time", "CPU seconds", "cpu"),
        ("Most memory", "MB", "megabytes"),
    ):
        note = "20,000 people, eight keys. pramble also gives τ1, τ2 and tests of the fit."
        claim.table(title, unit, "less", note)
        claim.add(case, "pramble", found["two-way, 28,800 cells"][key])
        claim.add(case, "statsmodels", found["two-way, 28,800 cells, statsmodels"][key])
    points = [(one["cells"], one["cpu"]) for name, one in found.items() if "keys" in name]
    claim.curve("All two-way effects", "cells", "CPU seconds", {"pramble": points})
    claim.write()
    for name in CENSUS_JOBS if CENSUS.exists() else ():
        ran(name)


def ran(name: str) -> dict[str, float] | None:
    """What a job took in a process of its own."""
    code = f"from bench.risk import job; job({name!r})"
    run = [sys.executable, "-c", code]
    answer = subprocess.run(run, capture_output=True, text=True, check=False)
    if answer.returncode:
        print(f"{name:<34} failed: {answer.stderr.strip().splitlines()[-1]}")
        return None
    took = json.loads(answer.stdout)
    print(f"{name:<34} {took['seconds']:>8.2f} {took['cpu']:>7.2f} {took['megabytes']:>8.0f}")
    return took


if __name__ == "__main__":
    main()
