"""Designs: time against S, and against what a user would otherwise write.

The rival maximises the same information over the same constraints with SciPy's SLSQP from many
random starts, which is a local method for a problem with exponentially many local maxima. For
general matrices it is the linear programme over all 2^S columns. PRAMBLE_BENCH_S bounds S.
"""

import os
import time

import numpy as np

import pramble
from bench._figures import Claim
from bench.general import enumerated
from pramble_study import paper

MOST = int(os.environ.get("PRAMBLE_BENCH_S", "1000000"))
SIZES = tuple(S for S in (10, 100, 1_000, 10_000, 100_000, 1_000_000) if S <= MOST)
RIVAL_SIZES = tuple(S for S in (10, 30, 100) if S <= MOST)
STARTS = 10


def prior_of(size: int, power: float = 1.0) -> np.ndarray:
    p = (1.0 + np.arange(size)) ** -power
    return p / p.sum()


def timed(function, *arguments, repeat: int = 3):
    """The answer and the least seconds."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        answer = function(*arguments)
        best = min(best, time.perf_counter() - start)
    return answer, best


def information(q: np.ndarray, p: np.ndarray) -> float:
    off = (1 - q) / (len(p) - 1)
    m = p @ off + p * (q - off)
    rows = q * np.log(q) + (1 - q) * np.log(off)
    return float(p @ rows - m @ np.log(m))


def gradient(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    n = len(p) - 1
    off = (1 - q) / n
    log_m = np.log(p @ off + p * (q - off))
    return p * (np.log(q) - np.log(off) - log_m + (log_m.sum() - log_m) / n)


def local_search(p: np.ndarray, alpha: float, starts: int, seed: int = 0) -> float:
    """The best of several SLSQP runs; constraints that a user would pass, with Jacobians."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    C, b = paper.privacy_constraints(len(p), alpha)
    levels = paper.keep_levels(len(p), alpha)
    best = 0.0
    for _ in range(starts):
        start = rng.uniform(levels.v_minus_alpha, levels.v_alpha, size=len(p))
        found = minimize(
            lambda q: -information(q, p),
            start,
            jac=lambda q: -gradient(q, p),
            bounds=[(1e-9, 1 - 1e-9)] * len(p),
            constraints={"type": "ineq", "fun": lambda q: b - C @ q, "jac": lambda _: -C},
            method="SLSQP",
            options={"maxiter": 50},
        )
        q = np.clip(found.x, 1e-12, 1 - 1e-12)
        if (C @ q <= b + 1e-9).all():
            best = max(best, information(q, p))
    return best


def uniform_growth(claim: Claim) -> None:
    """Print and keep the time of the uniform family against S."""
    print("Time against S, p ∝ 1/k")
    print(f"{'S':>9} {'α':>5} {'seconds':>9} {'gap':>9} {'nodes':>6}")
    lines: dict[str, list] = {}
    for size in SIZES:
        for alpha in (0.5, 2.0, 8.0):
            repeat = 5 if size <= 10_000 else 1
            d, seconds = timed(pramble.design, prior_of(size), alpha, repeat=repeat)
            nodes = d.details["nodes"]
            print(f"{size:>9} {alpha:>5} {seconds:>9.4f} {d.gap:>9.1e} {nodes:>6}", flush=True)
            lines.setdefault(f"α = {alpha:g}", []).append((size, seconds))
    claim.curve("The paper's family, prior ∝ 1/k", "categories", "seconds", lines)


def beside_local_search(claim: Claim) -> None:
    """Print and keep time and value beside SLSQP."""
    print(f"\nAgainst {STARTS} SLSQP runs from random starts, α = 2")
    print(
        f"{'S':>5} {'prior':>8} {'ours':>10} {'s':>8} {'SLSQP':>10} {'s':>8} {'ratio of time':>14}"
    )
    found = []
    for size in RIVAL_SIZES:
        for name, power in (("flat", 0.1), ("1/k", 1.0), ("1/k²", 2.0)):
            p = prior_of(size, power)
            d, ours = timed(pramble.design, p, 2.0)
            starts = STARTS if size <= 30 else 1
            value, theirs = timed(local_search, p, 2.0, starts, repeat=1)
            theirs *= STARTS / starts
            row = f"{size:>5} {name:>8} {d.value:>10.6f} {ours:>8.4f} {value:>10.6f} {theirs:>8.2f}"
            print(f"{row} {theirs / ours:>14.0f}", flush=True)
            found.append((f"S = {size}, prior {name}", d.value, ours, value, theirs))
    print("(at S = 100 one SLSQP run is timed and counted ten times)")
    rival = f"SciPy's SLSQP, {STARTS} starts"
    note = "At S = 100 one start is run: its time is counted ten times, its value is that of one."
    claim.table("The paper's family, α = 2: time", "seconds", "less", note)
    for case, _, ours, _, theirs in found:
        claim.add(case, "pramble", ours)
        claim.add(case, rival, theirs)
    claim.table("The paper's family, α = 2: information found", "nats", "more", note)
    for case, value, _, other, _ in found:
        claim.add(case, "pramble", value)
        claim.add(case, rival, other)


def beside_all_columns(claim: Claim) -> None:
    """Print and keep the time of general designs beside the enumerated programme."""
    print("\nGeneral matrices, α = 1, prior ∝ 1/k")
    ours, theirs = [], []
    sizes = [S for S in (4, 6, 8, 10, 12, 14, 30, 100, 300, 1000) if S <= MOST]
    note = (
        "SciPy's solver (HiGHS) on all columns, two to the power of S, is exact; pramble stops "
        "where its bound proves 0.01 %."
    )
    claim.table("All matrices: time to within 0.01 % of a proven bound", "seconds", "less", note)
    for size in sizes:
        p = prior_of(size)
        d, seconds = timed(general_design, p, repeat=1)
        print(f"{size:>9} {seconds:>9.3f} s, gap {d.gap:.1e}, {d.stopped}", flush=True)
        ours.append((size, seconds))
        if size <= 14:
            _, other = timed(enumerated, p, 1.0, repeat=1)
            theirs.append((size, other))
        if 8 <= size <= 14:
            claim.add(f"S = {size}", "pramble", seconds)
            claim.add(f"S = {size}", "linear programme, all columns", other)
    lines = {"pramble, to 0.01 %": ours, "linear programme, all columns": theirs}
    claim.curve("All matrices, α = 1, prior ∝ 1/k", "categories", "seconds", lines)


def general_design(p: np.ndarray):
    return pramble.design(p, 1.0, family="general", tolerance=1e-4, time_limit=30.0)


def main() -> None:
    """Print the tables and write them."""
    claim = Claim("designing", "Designing", "python -m bench design", ("scipy",))
    pramble.design([0.5, 0.5], 1.0)
    pramble.design([0.5, 0.3, 0.2], 1.0, family="general")
    uniform_growth(claim)
    beside_local_search(claim)
    beside_all_columns(claim)
    claim.write()
