"""Records: pramble's plans beside what is published, analytic variances in one run.

* SPL: every column by randomised response with its part of alpha. SMP: one column, drawn for each
  record, at the full alpha. RS+FD (Arcolezi et al. 2021): one column drawn and the others filled
  with uniform fakes, at the alpha that it really spends on records that differ in all columns.
  SMP and RS+FD tell single columns alone (multi-freq-ldpy).
* CALM (Zhang et al. 2018): every pair drawn alike often, by the better of randomised response and
  optimised unary encoding.
* WFM (McKenna, Maity, Mazumdar and Miklau 2020): projected gradient descent on the matrix for the
  workload at a uniform prior, written to the paper.

Values are n times the summed variance of all cells of all wanted tables, sampling included. The
people are the built-in ones; PRAMBLE_BENCH_CENSUS=1 takes the New York file if it is there.
"""

import math
import os
import time
from itertools import combinations
from pathlib import Path

import numpy as np

import pramble
from bench._figures import Claim

FILE = "acs2024_ten_ny.parquet"
TEN = ("OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
       "VETSTAT")  # fmt: skip
THREE = ("SEX", "MARST", "EDUC")

NOTE = (
    "n × the summed variance of all cells of the tables, sampling included: worked out, not "
    "simulated."
)

PUBLISHED = {0.5: 11_908, 1.0: 3_044, 2.0: 692}
"""Beyond sampling, what WFM's own code reached for three-way tables of six binary columns."""


def people():
    """People drawn from the built-in model, or the New York file where it is asked for."""
    if os.environ.get("PRAMBLE_BENCH_CENSUS"):
        for folder in Path(__file__).resolve().parents:
            for path in (folder / "shared" / "data" / FILE, folder / "data" / FILE):
                if path.exists():
                    import pandas as pd

                    return pd.read_parquet(path, columns=list(TEN)), "the New York file"
    from pramble.datasets import synthetic_new_york

    return synthetic_new_york(200_000).select(TEN).to_pandas().astype(str), "built-in people"


def growth(claim):
    """Processor seconds of a plan for all pairs against the number of columns, without limit."""
    points = []
    for used in (2, 4, 6, 8, 10):
        start = time.process_time()
        pramble.design_record({f"c{j}": 3 for j in range(used)}, 2.0, tables=2)
        points.append((used, time.process_time() - start))
    title = "A plan for all pairs of columns of three categories"
    claim.curve(title, "columns", "CPU seconds", {"pramble": points})


def law_of(frame, names):
    """Labels of some columns and the probabilities of their cells."""
    labels, codes = {}, []
    for name in names:
        labels[name], inverse = np.unique(frame[name].to_numpy(), return_inverse=True)
        codes.append(inverse)
    shape = tuple(len(labels[name]) for name in names)
    flat = np.ravel_multi_index(codes, shape)
    counts = np.bincount(flat, minlength=math.prod(shape))
    plain = {name: own.tolist() for name, own in labels.items()}
    return plain, (counts / counts.sum()).reshape(shape)


def margin(prior, keep):
    return prior.sum(axis=tuple(i for i in range(prior.ndim) if i not in keep))


def response(size, alpha):
    a = math.exp(alpha)
    return (np.ones((size, size)) + (a - 1) * np.eye(size)) / (a + size - 1)


def inverted(matrix, p):
    """The cost of a square matrix: released shares times the inverse."""
    inverse = np.linalg.inv(matrix)
    released = p @ matrix
    return float((inverse**2).sum(axis=1) @ released - p @ p)


def split_cost(prior, alpha, tables):
    total = 0.0
    for table in tables:
        matrix = np.ones((1, 1))
        for j in table:
            matrix = np.kron(matrix, response(prior.shape[j], alpha / prior.ndim))
        total += inverted(matrix, margin(prior, table).ravel())
    return total


def sampled_columns(prior, alpha):
    d = prior.ndim
    return d * sum(
        inverted(response(prior.shape[j], alpha), margin(prior, (j,)).ravel()) for j in range(d)
    )


def fakes(prior, alpha):
    """RS+FD with the local alpha at which the whole record spends ``alpha``."""
    sizes, d = prior.shape, prior.ndim

    def spent(local):
        a = math.exp(local)
        kept = sum(n * a / (a + n - 1) for n in sizes)
        return math.log(kept / sum(n / (a + n - 1) for n in sizes))

    low, high = 0.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) < alpha else (low, middle)
    total = 0.0
    for j in range(d):
        matrix = response(sizes[j], low) / d + (1 - 1 / d) / sizes[j]
        total += inverted(matrix, margin(prior, (j,)).ravel())
    return total


def calm(prior, alpha):
    tables = list(combinations(range(prior.ndim), 2))
    a, total = math.exp(alpha), 0.0
    for table in tables:
        p = margin(prior, table).ravel()
        low = 1 / (a + 1)
        ones = p / 2 + (1 - p) * low
        unary = float((ones * (1 - ones)).sum()) / (0.5 - low) ** 2
        total += min(inverted(response(len(p), alpha), p), unary)
    return len(tables) * total


def workload_of(shape, tables):
    codes = np.unravel_index(np.arange(math.prod(shape)), shape)
    rows = []
    for table in tables:
        flat = np.ravel_multi_index([codes[j] for j in table], [shape[j] for j in table])
        rows.append(np.arange(flat.max() + 1)[:, None] == flat[None, :])
    return np.concatenate(rows).astype(float)


def cost(matrix, p, workload):
    """tr W(J^-1 - pp')W' of a mechanism with one row for each cell."""
    p = np.maximum(p, 1e-12)
    p = p / p.sum()
    root = np.sqrt(p)
    scaled = root[:, None] * matrix
    J = scaled / (p @ matrix) @ scaled.T
    W = workload * root
    spread = np.trace(W @ np.linalg.pinv(J, rcond=1e-12, hermitian=True) @ W.T)
    return float(spread - ((workload @ p) ** 2).sum())


def factorised(size, alpha, workload, *, steps=1500, seed=0):
    """WFM: gradient descent on Q (outputs by cells) and its row bounds z, with projections.

    The step grows while the value falls, and is halved and taken back when it does not.
    """
    rng = np.random.default_rng(seed)
    a, m, gram = math.exp(alpha), 4 * size, workload.T @ workload
    z = np.full(m, (1 + 1 / a) / (2 * m))
    Q, state = projected(rng.random((m, size)), z, a)
    value, slope = loss(Q, gram)
    rate = 0.1 * np.abs(Q).mean() / np.abs(slope).mean()
    for _ in range(steps):
        centred = slope - (slope * state[0]).sum(axis=0) / np.maximum(state[0].sum(axis=0), 1)
        by_bound = (centred * (state[1] + a * state[2])).sum(axis=1)
        tried = np.clip(z - rate / size * by_bound, 1e-9, None)
        tried *= min(1.0, 0.999 / tried.sum())
        tried *= max(1.0, 1.001 / (a * tried.sum()))
        new, free = projected(Q - rate * slope, tried, a)
        found, its_slope = loss(new, gram)
        if found < value:
            Q, z, state, value, slope, rate = new, tried, free, found, its_slope, 1.2 * rate
        else:
            rate /= 2
    return Q.T


def loss(Q, gram):
    """tr W(Q'D^-1 Q)^-1 W' with D the row sums of Q, and its gradient."""
    scaled = Q / Q.sum(axis=1)[:, None]
    inverse = np.linalg.inv(scaled.T @ Q + 1e-12 * np.eye(Q.shape[1]))
    K = inverse @ gram @ inverse
    slope = -2 * scaled @ K + ((scaled @ K) * scaled).sum(axis=1, keepdims=True)
    return float((gram * inverse).sum()), slope


def projected(raw, z, a):
    """Columns within [z, az] that sum to one, nearest to the given ones, and what is free."""
    low, high = z[:, None], a * z[:, None]
    under, over = (low - raw).min(axis=0) - 1, (high - raw).max(axis=0) + 1
    for _ in range(60):
        shift = (under + over) / 2
        total = np.clip(raw + shift, low, high).sum(axis=0)
        under, over = np.where(total < 1, shift, under), np.where(total < 1, over, shift)
    Q = np.clip(raw + (under + over) / 2, low, high)
    Q = Q / Q.sum(axis=0)
    at_low, at_high = low * (1 + 1e-9) >= Q, high * (1 - 1e-9) <= Q
    return Q, (~(at_low | at_high), at_low, at_high)


def told(claim, name, value, ours):
    claim.add(claim.case, name, value)
    print(f"   {name:<34} {value:>14,.4g}   {value / ours:>10.3g} times")


def ours(claim, labels, alpha, **asked):
    start = time.process_time()
    d = pramble.design_record(labels, alpha, **asked)
    spent = time.process_time() - start
    print(
        f"   {'pramble':<34} {d.value:>14,.4g}            1 (bound {d.bound:,.4g}; {spent:.1f} s)"
    )
    claim.add(claim.case, "pramble", d.value)
    claim.add(claim.case, "no mechanism is below", d.bound)
    return d


def ten_columns(claim, frame):
    labels, prior = law_of(frame, [name for name in TEN if name in frame])
    pairs = list(combinations(range(prior.ndim), 2))
    claim.table("Ten columns, all pairs", "variance", "less", NOTE)
    for alpha in (1.0, 2.0, 4.0):
        print(f"\nall pairs of {prior.ndim} columns, alpha = {alpha:g}")
        claim.case = f"all pairs of {prior.ndim} columns, α = {alpha:g}"
        d = ours(claim, labels, alpha, prior=prior)
        told(claim, "CALM's scheme", calm(prior, alpha), d.value)
        told(claim, "SPL", split_cost(prior, alpha, pairs), d.value)
    claim.table("Ten columns, each alone", "variance", "less", NOTE)
    for alpha in (1.0, 2.0, 4.0):
        print(f"\nsingle columns (SMP and RS+FD tell no pairs), alpha = {alpha:g}")
        claim.case = f"{prior.ndim} single columns, α = {alpha:g}"
        d = ours(claim, labels, alpha, prior=prior, tables=1)
        told(claim, "SMP", sampled_columns(prior, alpha), d.value)
        told(claim, "RS+FD at the α it spends", fakes(prior, alpha), d.value)
        told(claim, "SPL", split_cost(prior, alpha, [(j,) for j in range(prior.ndim)]), d.value)


def three_columns(claim, frame):
    labels, prior = law_of(frame, THREE)
    pairs = list(combinations(range(3), 2))
    workload = workload_of(prior.shape, pairs)
    claim.table("Three columns", "variance", "less", NOTE)
    for alpha in (1.0, 3.0):
        print(f"\nall pairs of {' x '.join(THREE)}, {prior.size} cells, alpha = {alpha:g}")
        claim.case = f"pairs of {' × '.join(THREE)}, α = {alpha:g}"
        d = ours(claim, labels, alpha, prior=prior)
        matrix = factorised(prior.size, alpha, workload)
        told(claim, "WFM, written to its paper", cost(matrix, prior.ravel(), workload), d.value)
        joint = cost(response(prior.size, alpha), prior.ravel(), workload)
        told(claim, "one randomised response", joint, d.value)
        told(claim, "CALM's scheme", calm(prior, alpha), d.value)
        told(claim, "SPL", split_cost(prior, alpha, pairs), d.value)


def binary_columns(claim):
    claim.table("Six binary columns, uniform law", "variance", "less", NOTE)
    for alpha in (0.5, 1.0, 2.0):
        shape = (2,) * 6
        tables = list(combinations(range(6), 3))
        workload = workload_of(shape, tables)
        print(f"\nall three-way tables of 6 binary columns, uniform prior, alpha = {alpha:g}")
        claim.case = f"triples of 6 binary columns, α = {alpha:g}"
        d = ours(claim, {f"b{i}": 2 for i in range(6)}, alpha, tables=3)
        matrix = factorised(64, alpha, workload)
        told(
            claim, "WFM, written to its paper", cost(matrix, np.full(64, 1 / 64), workload), d.value
        )
        told(claim, "WFM, its authors' code", PUBLISHED[alpha] + len(tables) * 7 / 8, d.value)
        told(claim, "SPL", split_cost(np.full(shape, 1 / 64), alpha, tables), d.value)


def simulated():
    """One simulation checks the analytic variance: the squared error of estimates times n."""
    rng = np.random.default_rng(3)
    labels = {"sex": ["f", "m"], "ill": ["no", "yes"], "age": ["young", "middle", "old"]}
    prior = rng.dirichlet(np.full(12, 3.0)).reshape(2, 2, 3)
    d = pramble.design_record(labels, 1.0, prior=prior)
    n, rounds, error = 20_000, 20, 0.0
    for _ in range(rounds):
        cells = np.unravel_index(rng.choice(12, n, p=prior.ravel()), prior.shape)
        columns = zip(labels, cells, strict=True)
        data = {name: [labels[name][code] for code in codes] for name, codes in columns}
        released = pramble.perturb(data, d.plan)
        for table in d.costs:
            e = pramble.estimate(released, d.plan, by=list(table), method="inverse")
            keep = tuple(list(labels).index(name) for name in table)
            error += n * float(((e.probabilities - margin(prior, keep).ravel()) ** 2).sum())
    print(f"\nsimulation, {rounds} releases of {n:,} records: n x squared error "
          f"{error / rounds:.4g}, promised {d.value:.4g}")  # fmt: skip


def main() -> None:
    frame, what = people()
    print(f"records of {what}: n x summed variance, and how many times pramble's")
    claim = Claim("records", "Records", "python -m bench records")
    claim.case = ""
    ten_columns(claim, frame)
    three_columns(claim, frame)
    binary_columns(claim)
    growth(claim)
    claim.write()
    simulated()
