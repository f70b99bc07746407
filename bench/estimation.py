"""Accuracy and speed of estimates: L2 error in scenario I, seconds by size, and all pairs."""

import time
from itertools import combinations

import numpy as np

import pramble

P = pramble.paper.scenario("I")
N, RUNS = 10_000, 400
ALPHAS = (0.5, 1.0, 1.5, 2.0)
PEERS = {
    "peers: inverse of randomised response": (0.152, 0.062, 0.037, 0.023),
    "peers: subset selection, likelihood": (0.104, 0.052, 0.034, 0.024),
}


def subset_selection(alpha: float) -> pramble.Mechanism:
    """The published protocol: a set of ω categories that holds the true one with chance a·ω/…."""
    S, a = len(P), np.exp(alpha)
    size = max(1, round(S / (a + 1)))
    sets = list(combinations(range(S), size))
    rows = [[a if x in chosen else 1.0 for chosen in sets] for x in range(S)]
    matrix = np.array(rows)
    return pramble.Mechanism.from_matrix(
        matrix / matrix.sum(axis=1, keepdims=True), outputs=len(sets)
    )


def errors(m: pramble.Mechanism, method: str) -> float:
    """Mean L2 error over the runs."""
    rng = np.random.default_rng(3)
    law = P @ m.matrix
    draws = rng.multinomial(N, law / law.sum(), size=RUNS)
    fits = [pramble.estimate(c, m, counts=True, method=method).probabilities for c in draws]
    return float(np.mean([np.linalg.norm(p - P) for p in fits]))


def accuracy() -> None:
    """Print mean errors of mechanisms and methods beside the peers' figures."""
    print(f"mean L2 error, n = {N}, {RUNS} runs" + " ".join(f"{alpha:>8}" for alpha in ALPHAS))
    makers = {
        "randomised response": lambda alpha: pramble.randomized_response(10, alpha),
        "subset selection": subset_selection,
        "general design": lambda alpha: (
            pramble.design(
                P, alpha, family="general", objective="estimation", outputs="free"
            ).mechanism
        ),
    }
    for name, make in makers.items():
        mechanisms = [make(alpha) for alpha in ALPHAS]
        for method in ("inverse", "mle"):
            row = " ".join(f"{errors(m, method):>8.4f}" for m in mechanisms)
            print(f"{name + ', ' + method:<40}{row}")
    for name, figures in PEERS.items():
        print(f"{name:<40}" + " ".join(f"{figure:>8.3f}" for figure in figures))


def dense(S: int, rng: np.random.Generator) -> pramble.Mechanism:
    """A general matrix of two levels, as good designs have."""
    A = np.where(rng.random((S, S)) < 0.4, np.e, 1.0)
    return pramble.Mechanism.from_matrix(A / A.sum(axis=1, keepdims=True))


def speed() -> None:
    """Print seconds of one estimate with intervals, and the proven gap."""
    rng = np.random.default_rng(4)
    problems = [
        ("randomised response", 10**4, pramble.randomized_response(10**4, 2.0)),
        ("randomised response", 10**5, pramble.randomized_response(10**5, 2.0)),
        ("uniform rows", 10**4, pramble.keep_probabilities(rng.uniform(0.3, 0.7, 10**4))),
        ("general matrix", 300, dense(300, rng)),
        ("general matrix", 1000, dense(1000, rng)),
    ]
    print(f"{'':<22}{'S':>8}{'seconds':>9}{'gap':>10}{'zeros':>8}")
    for name, S, m in problems:
        law = pramble.released_distribution(rng.dirichlet(np.full(S, 0.3)), m)
        counts = rng.multinomial(10**6, law / law.sum())
        start = time.perf_counter()
        e = pramble.estimate(counts, m, counts=True)
        seconds = time.perf_counter() - start
        zeros = int((e.probabilities == 0).sum())
        print(f"{name:<22}{S:>8}{seconds:>9.2f}{e.gap:>10.1e}{zeros:>8}")


def tables() -> None:
    """Print the seconds for every two-way table of ten columns and 953,076 rows."""
    rng = np.random.default_rng(5)
    sizes = (3, 3, 9, 2, 5, 5, 11, 4, 3, 3)
    plan = {f"c{j}": pramble.randomized_response(S, 4.0) for j, S in enumerate(sizes)}
    frame = {f"c{j}": rng.integers(0, S, 953_076) for j, S in enumerate(sizes)}
    start = time.perf_counter(), time.process_time()
    cells = sum(
        len(pramble.estimate(frame, plan, by=pair).probabilities) for pair in combinations(plan, 2)
    )
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    print(f"45 tables, {cells} cells, 953,076 rows: {wall:.1f} s, {cpu:.1f} s of processor")


def main() -> None:
    """Print all tables."""
    tables()
    speed()
    accuracy()
