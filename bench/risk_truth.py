"""Estimated against true risk: census files as populations, samples drawn from them.

Prints the table of ``docs/risk.rst``. Every model sees the same samples.
"""

import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import pramble
from pramble.risk import spread
from pramble.risk.cells import cross_classify

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
POPULATIONS = {"New York": "acs2024_ten_ny", "USA": "acs2024_ten_us_srs953076"}
TEN = (
    "OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
    "VETSTAT",
)  # fmt: skip
KEYS = {"six": TEN[2:8], "eight": TEN[2:], "ten": TEN}
FRACTIONS = (0.01, 0.05)
LARGE = 500_000
PLAIN = "pairs alone"
GAIN = spread.NEEDED
SEEDS = {
    "independence": range(5), PLAIN: range(10), "two-way": range(10),
    "membership": range(1),
}  # fmt: skip
FEWER = {"independence": range(5), PLAIN: range(8), "two-way": range(8)}
"""The samples that each model sees, and for large populations: some models take minutes."""


def truth(counts, sample):
    """The sample's own τ1 and τ2, its population counts being known."""
    F = counts[sample.counts[sample.cell_of] == 1]
    return (F == 1).sum(), (1 / F).sum()


def compare(population, keys, fraction, model, seeds):
    """Means over samples: true τ1 and τ2, estimated over true, intervals that hold, seconds."""
    spread.NEEDED = np.inf if model == PLAIN else GAIN  # no random effect is ever taken
    chosen_model = "two-way" if model == PLAIN else model
    whole = cross_classify(population, keys)
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        chosen = np.flatnonzero(rng.random(whole.n) < fraction)
        sample = population.take(chosen)
        start = time.perf_counter()
        a = pramble.assess(sample, keys, population_size=whole.n, model=chosen_model, rng=rng)
        seconds = time.perf_counter() - start
        tau1, tau2 = truth(whole.counts[whole.cell_of[chosen]], a.table)
        rows.append((tau1, tau2, a.tau1, a.tau2, *held(a.intervals, tau1, tau2), seconds))
    mean = np.mean(rows, axis=0)
    return *mean[:2], *(mean[2:4] / mean[:2]), *mean[4:]


def held(intervals, tau1, tau2):
    """Whether the intervals hold the truth; NaN where there are none."""
    if intervals is None:
        return float("nan"), float("nan")
    (low1, high1), (low2, high2) = intervals.tau1, intervals.tau2
    return low1 <= tau1 <= high1, low2 <= tau2 <= high2


def main() -> None:
    """Print one row per population, keys, fraction and model."""
    if not DATA.exists():
        print("needs the census files in ../shared/data")
        return
    print(
        "population  keys   sample  model         true τ1  true τ2  τ̂1/τ1  τ̂2/τ2  in 1  in 2  "
        "seconds"
    )
    for place, name in POPULATIONS.items():
        population = pq.read_table(DATA / f"{name}.parquet", columns=list(TEN))
        for label, keys in KEYS.items():
            for fraction in FRACTIONS:
                for model, seeds in (FEWER if len(population) > LARGE else SEEDS).items():
                    found = compare(population, list(keys), fraction, model, seeds)
                    tau1, tau2, ratio1, ratio2, in1, in2, seconds = found
                    print(
                        f"{place:<11} {label:<6} {fraction:<7.0%} {model:<13} {tau1:7.1f} "
                        f"{tau2:8.1f} {ratio1:7.2f} {ratio2:7.2f} {in1:5.2f} {in2:5.2f} "
                        f"{seconds:8.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
