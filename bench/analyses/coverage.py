"""How often 95 % intervals hold the truth, by simulation: every quantity under every plan.

Files of n adults are drawn with replacement from the built-in population and released; the truth
is what the same analysis says of the whole population. So intervals must cover sampling and
randomisation, which is the default.
"""

import os
import time
import warnings

import numpy as np

import pramble
from bench.analyses.people import ALPHA, plans, population
from bench.analyses.quantities import QUANTITIES

SIZES = (2_000, 20_000)
RUNS = int(os.environ.get("RUNS", "120"))
ONLY = [name for name in os.environ.get("ONLY", "").split(",") if name]
SEED = int(os.environ.get("SEED", "0"))
SLOW = {"imputations": 5}
"""Quantities that are estimated in every fifth run only."""


class Tally:
    """What became of the intervals of one quantity: one row of cells for each run."""

    def __init__(self, truth):
        self.names, self.truth = truth.names, truth.values
        self.inside, self.open, self.failed = [], [], 0

    def add(self, found):
        """Compare one answer with the truth, cell by cell."""
        own = {name: i for i, name in enumerate(found.names)}
        at = [own[name] for name in self.names]
        lower, upper = found.lower[at], found.upper[at]
        slack = 1e-12 * np.abs(self.truth)
        self.inside.append((lower <= self.truth + slack) & (self.truth - slack <= upper))
        self.open.append(~np.isfinite(upper - lower) | ((lower == 0) & (upper == 1)))

    def row(self):
        """Return the figures under `HEAD` as text."""
        inside, is_open = np.array(self.inside, dtype=float), np.array(self.open)
        runs, cells = inside.mean(axis=1), inside.mean(axis=0)
        error = runs.std(ddof=1) / np.sqrt(len(runs))
        least = int(cells.argmin())
        return (
            f"{len(cells):>5} {len(runs):>5} {100 * inside.mean():>6.1f} {100 * error:>5.1f}"
            f" {100 * cells[least]:>6.1f} {100 * cells.max():>6.1f}"
            f" {100 * is_open.mean():>5.1f} {100 * inside[~is_open].mean():>6.1f}"
            f" {self.failed:>6}  {self.names[least]}"
        )


HEAD = f"{'':<22} cells  runs   mean     ±  least   most  open closed failed  least is"
"""Coverage over all cells and its Monte Carlo error; of the cell with the least and the most; how
many intervals say nothing (no end, or all from 0 to 1), and the coverage of the others; how many
releases gave no answer."""


def releases(frame, plan, n, runs, *, seed):
    """Yield released files of n people drawn with replacement."""
    rng = np.random.default_rng([seed + 100 * SEED, n])
    for _ in range(runs):
        drawn = frame.iloc[rng.integers(0, len(frame), n)].reset_index(drop=True)
        yield pramble.perturb(drawn, plan, key=rng.bytes(32))


def covered(files, plan, truths):
    """Return a tally for each quantity, estimated from files by a plan."""
    tallies = {name: Tally(truth) for name, truth in truths.items()}
    for run, released in enumerate(files):
        for name, tally in tallies.items():
            if run % SLOW.get(name, 1):
                continue
            try:
                found = QUANTITIES[name](released, plan)
            except pramble.errors.PrambleError:
                tally.failed += 1
            else:
                tally.add(found)
    return tallies


def shown(title, files, plan, truths):
    """Print the table of one size and plan."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pramble.errors.PrambleWarning)
        tallies = covered(files, plan, truths)
    print(f"\n{title} ({time.perf_counter() - start:.0f} s)\n{HEAD}")
    for name, tally in tallies.items():
        print(f"{name:<22} {tally.row()}", flush=True)


def main():
    """Print one table for each size and plan, and one of what ignores its plan."""
    frame = population()
    truths = {name: QUANTITIES[name](frame, {}) for name in ONLY or QUANTITIES}
    print(f"coverage of 95 % intervals, per cent; {len(frame):,} adults, alpha = {ALPHA:g}")
    print(f"one cell has a Monte Carlo error of {100 * np.sqrt(0.95 * 0.05 / RUNS):.1f}")
    made = plans(frame)
    for seed, (label, plan) in enumerate(made.items()):
        for n in SIZES:
            files = releases(frame, plan, n, RUNS, seed=seed)
            shown(f"{label}, n = {n:,}", files, plan, truths)
    files = releases(frame, made["columns"], SIZES[-1], RUNS // 6, seed=9)
    shown(f"columns, n = {SIZES[-1]:,}, released values taken for originals", files, {}, truths)
