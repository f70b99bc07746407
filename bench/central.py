"""Central promises: proven ε beside the guide, and records beside noisy tables at one (ε, δ).

* Randomised response at n = 1e6 and δ = 1e-6: the proven ε over the guide's (normal margins), what
  no proof can go below, and CPU seconds.
* A census file, all 45 two-way tables of ten columns, ε = 1 and δ = 1e-6: noise on the tables
  themselves, Gaussian (Balle and Wang 2018, at the sensitivity of all tables together), discrete
  Laplace, and OpenDP's if it is there, beside records under a local promise.
* The same where one table is all that is wanted, and a single column: one shuffled file is
  designed, released and estimated.

Errors are in people, root mean square over all cells, against the confidential counts; beside it
over cells of fewer than 1,000 people, and of 100,000 or more.
"""

import math
import time
from itertools import combinations
from pathlib import Path

import numpy as np

import pramble

FILE = "acs2024_ten_us_srs953076.parquet"
TEN = ("OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
       "VETSTAT")  # fmt: skip
GUIDE = {10: (0.0019, 0.0066, 0.032, 0.102), 100: (0.0006, 0.0024, 0.020, 0.092)}
ALPHAS = (1.0, 2.0, 4.0, 6.0)
EPSILON, DELTA, LOCAL = 1.0, 1e-6, 6.0
SMALL, LARGE = 1_000, 100_000
ALONE = {("SEX",): 400, ("AGE", "EDUC"): 100}
"""Single tables, and how often each is released: few cells tell too little by one release."""


def people():
    """The census file if it lies beside the repository, else people drawn from the model."""
    for folder in Path(__file__).resolve().parents:
        for path in (folder / "shared" / "data" / FILE, folder / "data" / FILE):
            if path.exists():
                import pandas as pd

                return pd.read_parquet(path, columns=list(TEN)), "the census file"
    print("the census file is absent: people drawn from pramble.datasets.synthetic_new_york")
    from pramble.datasets import synthetic_new_york

    frame = synthetic_new_york(953_076)
    return frame[[name for name in TEN if name in frame]], "synthetic New York"


def proven():
    print("randomised response, n = 1e6, delta = 1e-6")
    print("    S  alpha    guide     proven   ratio     attack   CPU s")
    for size, guides in GUIDE.items():
        for alpha, guide in zip(ALPHAS, guides, strict=True):
            mechanism = pramble.randomized_response(size, alpha)
            start = time.process_time()
            g = pramble.central_guarantee(mechanism, rows=10**6, delta=1e-6)
            spent = time.process_time() - start
            print(
                f"{size:>5} {alpha:>6g} {guide:>8g} {g.epsilon:>10.6f} {g.epsilon / guide:>7.3f}"
                f" {g.lower:>10.6f} {spent:>7.2f}"
            )


def counted(frame, tables):
    """Labels of each column, and the counts of some tables."""
    labels, codes = {}, {}
    for name in frame:
        own, codes[name] = np.unique(frame[name].to_numpy(), return_inverse=True)
        labels[name] = own.tolist()
    counts = {}
    for table in tables:
        shape = tuple(len(labels[name]) for name in table)
        flat = np.ravel_multi_index([codes[name] for name in table], shape)
        counts[table] = np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
    return labels, counts


def gaussian_deviation(sensitivity, epsilon=EPSILON, delta=DELTA):
    """The least deviation of Gaussian noise with (ε, δ) at this sensitivity (Balle and Wang)."""
    from scipy.special import log_ndtr, ndtr

    def above(deviation):
        ratio = sensitivity / deviation
        there = math.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio))
        return ndtr(ratio / 2 - epsilon / ratio) - there > delta

    low, high = 1e-3, 1e6
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if above(middle) else (low, middle)
    return high


def rms(rounds, counts):
    """Root mean square error over all cells, over small ones and over large ones."""
    size = np.concatenate([table.ravel() for table in counts.values()])
    squares = np.mean([
        np.concatenate([(estimates[t] - counts[t]).ravel() ** 2 for t in counts])
        for estimates in rounds
    ], axis=0)  # fmt: skip
    kinds = (size >= 0, size < SMALL, size >= LARGE)
    return [math.sqrt(squares[kind].mean()) if kind.any() else math.nan for kind in kinds]


def consistent(noisy, labels, n):
    """Pairs that agree on single columns and on n, by least squares, without negative cells."""
    weight = {name: sum(1 / len(labels[o]) for o in labels if o != name) for name in labels}
    singles = dict.fromkeys(labels, 0.0)
    for pair, table in noisy.items():
        for side, name in enumerate(pair):
            own = table.sum(axis=1 - side) / table.shape[1 - side]
            singles[name] = singles[name] + (own - own.mean()) / weight[name]
    made = {}
    for (a, b), table in noisy.items():
        both = table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()
        rows, columns = singles[a][:, None] / table.shape[1], singles[b] / table.shape[0]
        made[a, b] = np.maximum(both + rows + columns + n / table.size, 0)
    return made


def noisy_tables(labels, counts, n, *, rounds=1):
    """Errors of noise on the tables themselves, simulated."""
    rng, many = np.random.default_rng(1), len(counts)
    deviation = gaussian_deviation(math.sqrt(2 * many))
    print(f"   Gaussian noise: deviation {deviation:.2f} people a cell")
    draws = {
        "Gaussian": lambda shape: rng.normal(0, deviation, shape),
        "discrete Laplace": lambda shape: two_sided(rng, EPSILON / (2 * many), shape),
    }
    found = {}
    for name, draw in draws.items():
        noisy = [
            {table: own + draw(own.shape) for table, own in counts.items()} for _ in range(rounds)
        ]
        found[name] = rms(noisy, counts)
        if many > 1:
            better = [consistent(tables, labels, n) for tables in noisy]
            found[f"{name}, consistent, none negative"] = rms(better, counts)
    found["OpenDP, Gaussian"] = opendp_error(counts, deviation, rounds=rounds, name="gaussian")
    found["OpenDP, Laplace"] = opendp_error(
        counts, 2 * many / EPSILON, rounds=rounds, name="laplace"
    )
    return found


def two_sided(rng, rate, shape):
    """The difference of two geometric numbers: discrete Laplace noise."""
    return rng.geometric(-math.expm1(-rate), shape) - rng.geometric(-math.expm1(-rate), shape)


def opendp_error(counts, scale, *, rounds, name):
    """The error of OpenDP's discrete noise of a scale; None without it."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if name == "gaussian":
        noise = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    else:
        noise = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    noisy = [
        {
            table: np.array(noise(own.ravel().tolist())).reshape(own.shape)
            for table, own in counts.items()
        }
        for _ in range(rounds)
    ]
    return rms(noisy, counts)


def released(frame, plan, counts, *, what, rounds=1):
    """Errors of estimates from releases; prints coverage and seconds."""
    start = time.perf_counter()
    keys = np.random.default_rng(2)
    files = [pramble.perturb(frame, plan, key=keys.bytes(32)) for _ in range(rounds)]
    drawn, found = time.perf_counter() - start, {}
    for method in ("inverse", "mle"):
        made = [estimated(one, plan, counts, n=len(frame), method=method) for one in files]
        found[f"{what}, {method}"] = rms([tables for tables, _ in made], counts)
    inside = np.mean([share for _, share in made])
    spent = time.perf_counter() - start - drawn
    print(
        f"   {what}: {inside:.1%} of {rounds} x {sum(t.size for t in counts.values())} intervals "
        f"(95 %) hold the confidential count; {drawn:.0f} s to perturb, {spent:.0f} s to estimate "
        "twice"
    )
    return found


def estimated(files, plan, counts, *, n, method):
    """Every table, in people, and the share of cells whose interval holds the count."""
    made, inside = {}, []
    for table, own in counts.items():
        e = pramble.estimate(files, plan, by=list(table), method=method, covers="randomisation")
        made[table] = n * e.probabilities.reshape(own.shape)
        inside.append((n * e.lower - 1e-6 <= own.ravel()) & (own.ravel() <= n * e.upper + 1e-6))
    return made, np.concatenate(inside).mean()


def told(found):
    print(f"   {'rms error, people a cell':<45} {'all':>8} {'< 1,000':>8} {'>= 100k':>8} "
          f"{'x Gaussian':>11}")  # fmt: skip
    for name, errors in found.items():
        if errors is None:
            print(f"   {name:<45} not installed")
        else:
            figures = " ".join(f"{error:>8.1f}" for error in errors)
            print(f"   {name:<45} {figures} {errors[0] / found['Gaussian'][0]:>11.2f}")


def designed(labels, n, tables):
    start = time.process_time()
    d = pramble.design_record(labels, central=(EPSILON, DELTA), rows=n, tables=list(tables))
    print(f"   one file designed in {time.process_time() - start:.0f} CPU s: epsilon "
          f"{d.central.epsilon:.4f} proven, {d.central.lower:.4f} by an attack, "
          f"alpha {d.alpha:.4g}; {promised(d, n):.1f} people a cell promised")  # fmt: skip
    return d


def promised(d, n):
    """The root mean square error that randomising costs by the design's own figures."""
    labels = d.plan.column_labels()
    cells = [math.prod(len(labels[name].labels) for name in table) for table in d.costs]
    return math.sqrt(n * (d.value - sum(1 - 1 / size for size in cells)) / sum(cells))


def census():
    frame, what = people()
    n = len(frame)
    labels, counts = counted(frame, combinations(frame, 2))
    print(f"\n{what}: {n:,} people, {len(counts)} two-way tables of {frame.shape[1]} columns, "
          f"epsilon = {EPSILON:g}, delta = {DELTA:g}")  # fmt: skip
    others = noisy_tables(labels, counts, n)
    local = pramble.design_record(labels, LOCAL)
    told({**others, **released(frame, local.plan, counts, what=f"alpha = {LOCAL:g}")})
    for wanted, rounds in ALONE.items():
        few = frame[list(wanted)]
        labels, counts = counted(few, [wanted])
        print(f"\n{' x '.join(wanted)} alone")
        d = designed(labels, n, counts)
        ours = released(few, d.plan, counts, what="records", rounds=rounds)
        told({**ours, **noisy_tables(labels, counts, n, rounds=10 * rounds)})


def main() -> None:
    proven()
    census()
