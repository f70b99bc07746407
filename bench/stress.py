"""Designs at their edges: priors, sizes, α and options; every claim of every answer is checked.

One line for each kind of case: how many, exceptions, the worst gap, gaps above the tolerance with
and without their reason, values below the best known, time limits overrun. ``PRAMBLE_STRESS`` is
the number of priors of each kind and size (1 unless given).
"""

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pramble
from pramble.data.labels import as_labels
from pramble.solvers.general.columns.arcs import best_arcs

TOLERANCE = 1e-6
TIME_LIMIT = 4.0
SPARE = 0.5
"""Seconds for what comes before and after a search: set-up, rounding, certificate."""

SIZES = (2, 3, 5, 10, 30, 100, 300)
ALPHAS = (1e-6, 1e-4, 1e-2, 0.3, 1.0, 3.0, 8.0, 20.0)

PRIORS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "flat": lambda size, _: np.ones(size),
    "nearly flat": lambda size, rng: 1 + 1e-3 * rng.standard_normal(size),
    "Dirichlet 1": lambda size, rng: rng.dirichlet(np.ones(size)),
    "Dirichlet 0.2": lambda size, rng: rng.dirichlet(np.full(size, 0.2)) + 1e-12,
    "dominated": lambda size, rng: np.append(9.0, rng.dirichlet(np.ones(size - 1))),
    "zeros": lambda size, rng: np.append(
        rng.dirichlet(np.ones(size - size // 2)), [0] * (size // 2)
    ),
    "ties": lambda size, rng: rng.integers(1, 4, size),
}

Design = pramble.Design


@dataclass
class Kind:
    """An objective with its options: what is asked, up to which size, and what it must beat."""

    name: str
    options: dict[str, Any]
    most: int = 300
    at_least: Callable[[np.ndarray, float, dict[str, Design]], float] | None = None


@dataclass
class Tally:
    """What became of the cases of one kind."""

    cases: int = 0
    failed: list[str] = field(default_factory=list)
    open_gaps: int = 0
    worst_gap: float = 0.0
    unexplained: list[str] = field(default_factory=list)
    beaten: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    seconds: float = 0.0


def free_rivals(prior: np.ndarray, alpha: float, known: dict[str, Design]) -> float:
    """The best of the uniform family, randomised response and arcs, none of which may be better."""
    values = [known["uniform"].value] if "uniform" in known else []
    labels = as_labels(len(prior))
    rivals = [pramble.randomized_response(len(prior), alpha)]
    if len(prior) >= 3:
        rivals.append(best_arcs(prior, alpha, labels))
    return max([*values, *(pramble.mutual_information(prior, one) for one in rivals)])


def invariant_rivals(_: np.ndarray, __: float, known: dict[str, Design]) -> float:
    """The invariant matrix of the uniform family, or its kin."""
    return known["uniform invariant"].value if "uniform invariant" in known else 0.0


def kinds() -> list[Kind]:
    """The information objective; an objective is added by a list of kinds like these."""
    general = {"family": "general"}
    return [
        Kind("uniform", {}),
        Kind("uniform symmetric", {"symmetric": True}),
        Kind("uniform invariant", {"invariant": True}),
        Kind("general", general, at_least=free_rivals),
        Kind("general free", {**general, "outputs": "free"}, at_least=free_rivals),
        Kind("general 95 %", {**general, "information_at_least": 0.95}, most=30),
        Kind("general invariant", {**general, "invariant": True}, 100, invariant_rivals),
    ]


def cases(priors: int) -> Iterator[tuple[str, np.ndarray, float]]:
    """Every kind of prior, every size and α."""
    rng = np.random.default_rng(0)
    for size in SIZES:
        for name, draw in PRIORS.items():
            for _ in range(priors):
                prior = np.asarray(draw(size, rng), dtype=float)
                for alpha in ALPHAS:
                    yield name, prior / prior.sum(), alpha


def check(kind: Kind, case: tuple[str, np.ndarray, float], known: dict[str, Design]) -> Tally:
    """Design once and check what is claimed."""
    name, prior, alpha = case
    tally = Tally(cases=1)
    what = f"{kind.name}, {name}, S = {len(prior)}, alpha = {alpha:g}"
    start, processor = time.monotonic(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            d = pramble.design(prior, alpha, time_limit=TIME_LIMIT, **kind.options)
    except Exception as error:  # noqa: BLE001
        tally.failed.append(f"{what}: {error!r}")
        return tally
    tally.seconds = time.process_time() - processor
    known[kind.name] = d
    if min(time.monotonic() - start, 2 * tally.seconds) > TIME_LIMIT * 1.2 + SPARE:
        tally.late.append(f"{what}: {tally.seconds:.1f} s")
    if not d.certificate.satisfies(alpha) or d.value > d.bound * (1 + 1e-12):
        tally.failed.append(f"{what}: not private, or above its bound")
    if d.gap > TOLERANCE:
        tally.open_gaps, tally.worst_gap = 1, d.gap
        if d.stopped == "tolerance" or not any("gap" in note for note in d.notes):
            tally.unexplained.append(f"{what}: gap {d.gap:.1e}, stopped {d.stopped}")
    if d.details["rank"] < len(prior) and not any("rank" in note for note in d.notes):
        tally.unexplained.append(f"{what}: rank {d.details['rank']}")
    rival = kind.at_least(prior, alpha, known) if kind.at_least else -math.inf
    if d.value < rival * (1 - TOLERANCE) - 1e-30:
        tally.beaten.append(f"{what}: {d.value:.8g} where {rival:.8g} is known")
    return tally


def add(total: Tally, one: Tally) -> None:
    """Add the tally of one case."""
    total.cases += one.cases
    total.open_gaps += one.open_gaps
    total.worst_gap = max(total.worst_gap, one.worst_gap)
    total.seconds = max(total.seconds, one.seconds)
    for name in ("failed", "unexplained", "beaten", "late"):
        getattr(total, name).extend(getattr(one, name))


def run(asked: list[Kind], priors: int) -> dict[str, Tally]:
    """Return the tally of each kind over all cases."""
    total = {kind.name: Tally() for kind in asked}
    pramble.design([0.5, 0.3, 0.2] + [0.0] * 20, 1.0, family="general")  # compile first
    for case in cases(priors):
        known: dict[str, Design] = {}
        for kind in asked:
            if len(case[1]) <= kind.most:
                add(total[kind.name], check(kind, case, known))
    return total


def show(total: dict[str, Tally]) -> None:
    """Print the table, then what went wrong."""
    print(
        f"{'':>18} {'cases':>6} {'failed':>7} {'open gaps':>10} {'worst':>8} {'unexplained':>12} "
        f"{'beaten':>7} {'late':>5} {'most s':>7}"
    )
    for name, t in total.items():
        print(
            f"{name:>18} {t.cases:>6} {len(t.failed):>7} {t.open_gaps:>10} {t.worst_gap:>8.1e} "
            f"{len(t.unexplained):>12} {len(t.beaten):>7} {len(t.late):>5} {t.seconds:>7.2f}"
        )
    for t in total.values():
        for line in [*t.failed, *t.unexplained, *t.beaten, *t.late]:
            print("  ", line)


def main() -> None:
    show(run(kinds(), int(os.environ.get("PRAMBLE_STRESS", "1"))))
