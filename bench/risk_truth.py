"""Estimated against true risk: census files as populations, samples drawn from them.

Prints the table of ``docs/risk.rst``. Every model sees the same samples.
"""

import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import pramble
from pramble.risk.cells import cross_classify

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
POPULATIONS = {"New York": "acs2024_ten_ny", "USA": "acs2024_ten_us_srs953076"}
TEN = (
    "OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
    "VETSTAT",
)  # fmt: skip
KEYS = {"eight": TEN[2:], "ten": TEN}
FRACTIONS = (0.01, 0.05)
LARGE = 500_000
SEEDS = {"independence": range(5), "two-way": range(5), "search": range(2), "membership": range(1)}
FEWER = {"independence": range(5), "two-way": range(5), "search": range(1, 2)}
"""The samples that each model sees, and for large populations: some models take minutes."""


def truth(counts, sample):
    """The sample's own τ1 and τ2, its population counts being known."""
    F = counts[sample.sizes[sample.table.cell_of] == 1]
    return (F == 1).sum(), (1 / F).sum()


def compare(population, keys, fraction, model, seeds):
    """Mean ratios of estimated to true τ1 and τ2, mean truth, and seconds, over some samples."""
    whole = cross_classify(population, keys).table
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        chosen = np.flatnonzero(rng.random(whole.n) < fraction)
        sample = population.take(chosen)
        start = time.perf_counter()
        a = pramble.assess(sample, keys, population_size=whole.n, model=model, rng=rng)
        seconds = time.perf_counter() - start
        tau1, tau2 = truth(whole.counts[whole.cell_of[chosen]], a.classes)
        rows.append((tau1, tau2, a.tau1 / tau1, a.tau2 / tau2, seconds))
    return np.mean(rows, axis=0)


def main() -> None:
    """Print one row per population, keys, fraction and model."""
    if not DATA.exists():
        print("needs the census files in ../shared/data")
        return
    print("population  keys   sample  model         true τ1  true τ2  τ̂1/τ1  τ̂2/τ2  seconds")
    for place, name in POPULATIONS.items():
        population = pq.read_table(DATA / f"{name}.parquet", columns=list(TEN))
        for label, keys in KEYS.items():
            for fraction in FRACTIONS:
                for model, seeds in (FEWER if len(population) > LARGE else SEEDS).items():
                    found = compare(population, list(keys), fraction, model, seeds)
                    tau1, tau2, ratio1, ratio2, seconds = found
                    print(
                        f"{place:<11} {label:<6} {fraction:<7.0%} {model:<13} {tau1:7.1f} "
                        f"{tau2:8.1f} {ratio1:7.2f} {ratio2:7.2f} {seconds:8.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
