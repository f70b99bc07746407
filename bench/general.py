"""General designs: time and proven gap against S and α, beside the enumerated programme."""

import time

import numpy as np
from scipy.optimize import linprog

import pramble
from bench._figures import peak_megabytes
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.information import informative_mixture
from pramble.solvers.general.sets import Gain, all_sets

PRIORS = {"flat": 0.0, "k^-1/2": 0.5, "k^-1": 1.0}


def prior_of(size: int, power: float) -> np.ndarray:
    prior = np.arange(1, size + 1) ** -power
    return prior / prior.sum()


def enumerated(prior: np.ndarray, alpha: float) -> float:
    sets, gain = all_sets(len(prior)), Gain(alpha)
    answer = linprog(
        -gain(sets @ prior), A_eq=1 + gain.a1 * sets.T, b_eq=np.ones(len(prior)), method="highs"
    )
    return -answer.fun


def beside_enumeration() -> None:
    print("all 2^S columns (SciPy, HiGHS) beside column generation; alpha = 1, prior k^-1")
    print(f"{'S':>4} {'enumerated s':>13} {'generated s':>12} {'difference':>11}")
    for size in (6, 8, 10, 12, 14):
        prior = prior_of(size, 1.0)
        start = time.perf_counter()
        truth = enumerated(prior, 1.0)
        middle = time.perf_counter()
        found = informative_mixture(prior, 1.0, SearchBudget(1e-9)).value
        end = time.perf_counter()
        print(f"{size:>4} {middle - start:>13.3f} {end - middle:>12.3f} {found / truth - 1:>11.1e}")
    print("  beyond that the enumerated programme has a million columns and more")


def time_and_gap() -> None:
    print("\ncolumn generation: seconds, proven gap, share of the universal bound")
    print(f"{'S':>6} {'prior':>7} {'alpha':>6} {'tol':>6} {'s':>7} {'gap':>9} {'share':>9}")
    cases = [(100, (0.5, 1.0, 2.0, 4.0, 6.0), 1e-6), (1000, (0.5, 1.0, 2.0), 1e-4)]
    for size, alphas, tolerance in [*cases, (5000, (0.5, 2.0), 1e-4)]:
        for name, power in PRIORS.items():
            for alpha in alphas:
                start = time.perf_counter()
                best = informative_mixture(
                    prior_of(size, power), alpha, SearchBudget(tolerance, 60.0)
                )
                spent = time.perf_counter() - start
                gap = (best.bound - best.value) / best.value
                share = best.value / pramble.information_bound(alpha)
                print(
                    f"{size:>6} {name:>7} {alpha:>6} {tolerance:>6.0e} {spent:>7.2f} {gap:>9.1e} "
                    f"{share:>9.6f}"
                )


def arcs() -> None:
    print("\narcs: seconds and gap to the universal bound, alpha = 1")
    for size in (10_000, 100_000):
        for name, power in PRIORS.items():
            start = time.perf_counter()
            d = pramble.design(prior_of(size, power), 1.0, family="general")
            print(f"{size:>7} {name:>7} {time.perf_counter() - start:>7.2f} s  gap {d.gap:.1e}")


def estimation() -> None:
    print("\nestimation: variance x n, proven bound, against randomised response")
    for size, power, alpha in ((10, 1.0, 1.0), (31, 0.0, 0.5), (60, 0.5, 0.5), (100, 0.5, 0.5)):
        prior = prior_of(size, power)
        start = time.perf_counter()
        d = pramble.design(prior, alpha, family="general", objective="estimation")
        spent = time.perf_counter() - start
        plain = pramble.estimation_variance(prior, pramble.randomized_response(size, alpha))
        print(
            f"S = {size:>3}, alpha = {alpha}: {d.value:9.1f} (bound {d.bound:9.1f}), randomised "
            f"response {plain:9.1f}: {plain / d.value:5.2f} times less; {spent:.1f} s"
        )


def main() -> None:
    beside_enumeration()
    time_and_gap()
    arcs()
    estimation()
    memory = peak_megabytes()
    print(f"\npeak memory {memory:.0f} MB")
