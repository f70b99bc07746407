"""A central promise: protected tables and complete records beside what others make of a file.

* Errors of tables, in people a cell (root mean square over all cells of all tables): Gaussian noise
  on each table (Balle and Wang 2018, at the sensitivity of all tables together), OpenDP's Gaussian
  mechanism at the scale that its own accounting needs, and the bound of all linear Gaussian
  mechanisms (ResidualPlanner, Xiao and others 2023).
* Errors of complete records, Σ|error|/n, the mean over tables: MST and AIM as packages have them.
* What is promised of the tables of a census file beside what came out.

Rows are drawn from the New Yorkers of 2024. Peers are no part of the project: PEERS_PYTHON names
interpreters that have them, with colons between; each peer runs in the first that has it. Runs that
``bench/results/central_runs.jsonl`` holds are not repeated: peers take minutes each. PEERS names
those to run (with commas; all unless given), PRAMBLE_BENCH_RUNS the seeds, five unless given, and
PRAMBLE_BENCH_MINUTES when a run is given up, 30 unless given.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np

import pramble
from bench._figures import Claim

FILE = "acs2024_ten_ny.parquet"
TEN = ("OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST", "RACESING", "EDUC", "EMPSTAT", "DISABWRK",
       "VETSTAT")  # fmt: skip
DELTA, EPSILONS, ROWS = 1e-6, (1.0, 0.1, 4.0), (2_000, 20_000, 200_000)
WAYS = {2: "45 pairs", 3: "120 triples"}
SEEDS = range(int(os.environ.get("PRAMBLE_BENCH_RUNS", "5")))
MINUTES = float(os.environ.get("PRAMBLE_BENCH_MINUTES", "30"))
RUNS = Path(__file__).parent / "results" / "central_runs.jsonl"
PEER = Path(__file__).parent / "_peer.py"
OURS = {"pramble": 2, "pramble with all triples measured": 3}
LINEAR = "no linear Gaussian mechanism is below"
PEERS = ("MST (dpmm)", "AIM (dpmm)", "MST (smartnoise)", "AIM (smartnoise)")


def shared(name):
    """A file of the data beside the repository."""
    for folder in Path(__file__).resolve().parents:
        if (path := folder / "shared" / "data" / name).exists():
            return path
    sys.exit(f"This benchmark needs shared/data/{name} beside the repository.")


def coded(path):
    """The ten columns as integer codes, and the labels of each."""
    import pandas as pd

    frame = pd.read_parquet(path, columns=list(TEN)).astype(str)
    labels, codes = {}, []
    for name in TEN:
        own, its = np.unique(frame[name].to_numpy().astype(str), return_inverse=True)
        labels[name] = own.tolist()
        codes.append(its)
    return np.column_stack(codes), labels


def codes_of(frame, labels):
    """Complete records as codes."""
    codes = {name: {label: k for k, label in enumerate(labels[name])} for name in TEN}
    return np.column_stack([[codes[n][x] for x in frame[n].to_pylist()] for n in TEN])


def frame_of(rows, labels):
    """Codes as columns of labels."""
    return {name: np.array(labels[name])[rows[:, j]] for j, name in enumerate(TEN)}


def counts_of(rows, sizes, ways):
    """The counts of every table of so many columns."""
    found = {}
    for table in combinations(range(len(sizes)), ways):
        shape = [sizes[j] for j in table]
        flat = np.ravel_multi_index([rows[:, j] for j in table], shape)
        found[table] = np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
    return found


def distance(rows, made, sizes, ways):
    """Σ|error|/n, the mean over all tables of so many columns."""
    true, found = counts_of(rows, sizes, ways), counts_of(made, sizes, ways)
    return float(np.mean([np.abs(found[t] - true[t]).sum() / len(rows) for t in true]))


def gaussian_deviation(sensitivity, epsilon, delta):
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


@cache
def interpreter(who):
    """The first of PEERS_PYTHON that has a peer, and its version; None where none has."""
    for python in filter(None, os.environ.get("PEERS_PYTHON", "").split(":")):
        told = subprocess.run([python, str(PEER), who], capture_output=True, text=True, check=False)
        if not told.returncode:
            return python, told.stdout.split()[-1]
    return None


def asked(who, *arguments):
    """What a peer prints; None if it fails or is too slow."""
    python, _ = interpreter(who)
    command = [python, str(PEER), who, *map(str, arguments)]
    try:
        told = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60 * MINUTES
        )
    except subprocess.TimeoutExpired:
        print(f"   {who}: no end in {MINUTES:g} minutes")
    except subprocess.CalledProcessError as failed:
        print(f"   {who}: {failed.stderr.strip().splitlines()[-1:]}")
    else:
        return told.stdout
    return None


def records(who, rows, labels, epsilon, seed):
    """Complete records of one run, as codes; None where a peer fails."""
    if ways := OURS.get(who):
        design = pramble.design_tables(labels, epsilon, DELTA, tables=ways)
        measured = pramble.measure(frame_of(rows, labels), design, key=seed.to_bytes(32, "big"))
        made = pramble.synthesize(measured, rows=len(rows), seed=seed)
        return codes_of(made, labels)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "rows.npy", Path(folder) / "made.npy"
        np.save(source, rows)
        sizes = ",".join(str(len(labels[name])) for name in TEN)
        asked(who, source, sizes, epsilon, DELTA, seed, target)
        return np.load(target) if target.exists() else None


def known():
    """The runs that were made before: errors of pairs and triples by who, n, ε and seed."""
    if not RUNS.exists():
        return {}
    lines = map(json.loads, RUNS.read_text("utf-8").splitlines())
    return {(r["who"], r["n"], r["epsilon"], r["seed"]): r for r in lines}


def run_missing(people, labels):
    """Make every run that is missing, and write each down when it ends."""
    sizes = [len(labels[name]) for name in TEN]
    chosen = os.environ.get("PEERS", ",".join([*OURS, *PEERS])).split(",")
    wanted = [who for who in chosen if who in OURS or interpreter(who)]
    for who in set(chosen) - set(wanted):
        print(f"   {who}: not installed")
    for seed, epsilon, n, who in product(SEEDS, EPSILONS, ROWS, wanted):
        if (who, n, epsilon, seed) in known():
            continue
        rows = people[np.random.default_rng(seed).choice(len(people), n, replace=False)]
        start = time.perf_counter()
        made = records(who, rows, labels, epsilon, seed)
        run = {"who": who, "n": n, "epsilon": epsilon, "seed": seed}
        run["minutes"] = round((time.perf_counter() - start) / 60, 1)
        for ways, what in WAYS.items():
            run[what] = None if made is None else round(distance(rows, made, sizes, ways), 6)
        with RUNS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")
        print("  ", run, flush=True)


def attained(people, labels, ways, epsilon):
    """The root mean square error of measured tables over some keys, and the proven least of it."""
    design = pramble.design_tables(labels, epsilon, DELTA, tables=ways)
    sizes, squares = [len(labels[name]) for name in TEN], []
    rows = people[np.random.default_rng(0).choice(len(people), 20_000, replace=False)]
    counts = counts_of(rows, sizes, ways)
    for seed in SEEDS:
        measured = pramble.measure(frame_of(rows, labels), design, key=seed.to_bytes(32, "big"))
        for table, own in counts.items():
            squares.append((measured.table([TEN[j] for j in table]) - own).ravel() ** 2)
    cells = sum(own.size for own in counts.values())
    return math.sqrt(np.concatenate(squares).mean()), math.sqrt(design.bound / cells)


def additive(claim, people, labels):
    """Noise on tables, at the same promise for one record in the place of another."""
    note = (
        f"Root mean square over all cells of all tables, whatever the number of people. pramble "
        f"promises the bound; its figure is what came out in {len(SEEDS)} releases, which vary by "
        "some per cent around it. The others are the deviation of their noise. OpenDP adds the "
        "same noise as Gaussian noise, at the scale that its zero-concentrated accounting needs."
    )
    claim.table("Tables at the same promise", "people a cell", "less", note)
    for epsilon in sorted(EPSILONS):
        for ways, what in WAYS.items():
            case, many = f"{what}, ε = {epsilon:g}", math.comb(len(TEN), ways)
            ours, bound = attained(people, labels, ways, epsilon)
            claim.add(case, "pramble", ours)
            claim.add(case, LINEAR, bound)
            claim.add(
                case, "Gaussian noise", gaussian_deviation(math.sqrt(2 * many), epsilon, DELTA)
            )
            if interpreter("OpenDP"):
                claim.add(case, "OpenDP", float(asked("OpenDP", epsilon, DELTA, many)))


def complete(claim, people, labels):
    """Complete records, from the runs that there are: on the draws that all in a case have."""
    runs = [run for run in known().values() if all(run[what] for what in WAYS.values())]
    found = defaultdict(dict)
    for run in runs:
        found[run["who"], run["epsilon"], run["n"]][run["seed"]] = run
    for ours, ways in OURS.items():
        title = f"Complete records, {WAYS[ways].split()[1]} measured"
        claim.table(title, "Σ|error|/n", "less", f"{noted(runs)} {yardstick(people, labels)}")
        for what, epsilon, n in product(WAYS.values(), sorted(EPSILONS), ROWS):
            there = {
                "pramble" if who == ours else who: found[who, epsilon, n]
                for who in (ours, *PEERS)
                if found[who, epsilon, n]
            }
            seeds = set.intersection(*map(set, there.values())) if len(there) > 1 else ()
            for who, own in there.items() if seeds else ():
                error = np.mean([own[seed][what] for seed in seeds])
                claim.add(f"{what}, ε = {epsilon:g}, n = {n:,}", who, error)


def noted(runs):
    """What there is to know of the runs: seeds, promises, settings, what took too long."""
    many = Counter((run["who"], run["n"]) for run in runs if run["who"] in PEERS)
    told = "; ".join(f"{count} of {who} at n = {n:,}" for (who, n), count in sorted(many.items()))
    late = sum(run["who"] in PEERS for run in known().values()) - many.total()
    return (
        "The mean over the draws of people that all in a row have; runs of peers, over all ε: "
        f"{told}; {late} more failed or took too long, and are left out. Peers have the default "
        "settings of their packages. Their promise is the weaker one: of one record more or less, "
        "where pramble's is of one record in the place of another."
    )


def yardstick(people, labels):
    """How far records are off that know each column exactly and nothing of two together."""
    rng, sizes = np.random.default_rng(0), [len(labels[name]) for name in TEN]
    alone = np.column_stack([rng.permutation(column) for column in people.T])
    off = [f"{distance(people, alone, sizes, ways):.3f} ({what})" for ways, what in WAYS.items()]
    return f"Exact columns that are independent of one another would err by {' and '.join(off)}."


def census(claim):
    """What is promised of all pairs of a census file beside what came out."""
    rows, labels = coded(shared("acs2024_ten_us_srs953076.parquet"))
    n, sizes = len(rows), [len(labels[name]) for name in TEN]
    frame, counts = frame_of(rows, labels), counts_of(rows, sizes, 2)
    cells = sum(own.size for own in counts.values())
    design = pramble.design_tables(labels, 1.0, DELTA)
    twice = pramble.design_tables(labels, 1.0, DELTA, rows_per_person=2)
    squares, doubled, inside, far = [], [], [], []
    for seed in SEEDS:
        key = seed.to_bytes(32, "big")
        measured, of_two = (pramble.measure(frame, one, key=key) for one in (design, twice))
        for table, own in counts.items():
            by = [TEN[j] for j in table]
            squares.append((measured.table(by) - own).ravel() ** 2)
            doubled.append((of_two.table(by) - own).ravel() ** 2)
            e = pramble.estimate(measured, by=by, covers="randomisation")
            inside.append((n * e.lower <= own.ravel() + 1e-6) & (own.ravel() <= n * e.upper + 1e-6))
        far.append(
            distance(rows, codes_of(pramble.synthesize(measured, seed=seed), labels), sizes, 2)
        )
    promised = math.sqrt(design.value / cells)
    found = {
        "promised, root mean square": promised,
        "the proven least of linear Gaussian mechanisms": math.sqrt(design.bound / cells),
        "attained": math.sqrt(np.concatenate(squares).mean()),
        "promised with two rows a person": math.sqrt(twice.value / cells),
        "attained with two rows a person": math.sqrt(np.concatenate(doubled).mean()),
        "noise of the number of rows, with two rows a person": twice.plan.precision[()] ** -0.5,
    }
    title = f"45 pairs of {n:,} people at ε = 1 and δ = 1e-6, {len(SEEDS)} releases"
    claim.parts(title, "people a cell", found)
    covered = 100 * np.concatenate(inside).mean()
    claim.parts(
        "Intervals of 95 % that hold the count", "per cent of cells", {"all 45 pairs": covered}
    )
    claim.parts("Complete records, mean over pairs", "Σ|error|/n", {"pramble": np.mean(far)})


def main() -> None:
    claim = Claim("central", "Central promises", "python -m bench central")
    people, labels = coded(shared(FILE))
    run_missing(people, labels)
    additive(claim, people, labels)
    complete(claim, people, labels)
    census(claim)
    for who in (*PEERS, "OpenDP"):
        if there := interpreter(who):
            claim.versions[who] = there[1]
    claim.write()
