"""Designs at their edges: priors, sizes, α and options; every claim of every answer is checked.

One line for each kind of case, printed when it is done: how many, exceptions, the worst gap, gaps
above the tolerance with and without their reason, values worse than the best known, time limits
overrun. ``PRAMBLE_STRESS`` (1 unless given) is the number of priors of each kind and size; each
prior is asked at a third of the α, another third for the next. ``PRAMBLE_STRESS_SIZES`` and
``PRAMBLE_STRESS_KINDS`` (comma-separated) ask for some sizes and kinds only.
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
from pramble.errors import InvalidInput
from pramble.mechanisms.operators.dense import DenseOperator
from pramble.solvers.general.arcs import best_arcs

TOLERANCE = 1e-6
TIME_LIMIT = 4.0
SPARE = 0.5
"""Seconds for what comes before and after a search: set-up, rounding, certificate."""

SIZES = (2, 3, 5, 10, 30, 100, 300)
ALPHAS = (1e-6, 1e-4, 1e-2, 0.3, 1.0, 3.0, 8.0, 20.0)
THINNED = 3

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
Case = tuple[str, np.ndarray, float]
Known = dict[str, Design]


@dataclass
class Kind:
    """A family and objective with options: what is asked, up to which size, what it must beat."""

    name: str
    options: Callable[[np.ndarray], dict[str, Any]]
    most: int = 300
    rivals: Callable[[np.ndarray, float], list[float]] = lambda _, __: []
    no_worse_than: tuple[str, ...] = ()


@dataclass
class Tally:
    """What became of the cases of one kind."""

    cases: int = 0
    refused: int = 0
    failed: list[str] = field(default_factory=list)
    open_gaps: int = 0
    worst_gap: float = 0.0
    unexplained: list[str] = field(default_factory=list)
    beaten: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    seconds: float = 0.0
    longest: float = 0.0


def most_information(prior: np.ndarray, alpha: float) -> list[float]:
    """What randomised response and arcs carry, neither of which may be better."""
    rivals = [pramble.randomized_response(len(prior), alpha)]
    if len(prior) >= 3:
        rivals.append(best_arcs(prior, alpha, as_labels(len(prior))))
    return [pramble.mutual_information(prior, one) for one in rivals]


def least_variance(prior: np.ndarray, alpha: float) -> list[float]:
    """The variance of randomised response, which no design may exceed."""
    response = pramble.randomized_response(len(prior), alpha)
    return [pramble.estimation_variance(prior, response)]


def query_variance(
    queries: Callable[[np.ndarray], np.ndarray],
) -> Callable[[np.ndarray, float], list[float]]:
    """The variance of some queries under randomised response."""

    def rivals(prior: np.ndarray, alpha: float) -> list[float]:
        response = pramble.randomized_response(len(prior), alpha)
        return [DenseOperator(response).query_variance(prior, queries(prior))]

    return rivals


def one_query(prior: np.ndarray) -> np.ndarray:
    """The share of the first half of the categories."""
    return (np.arange(len(prior)) < (len(prior) + 1) // 2)[None].astype(float)


def three_queries(prior: np.ndarray) -> np.ndarray:
    """A share, a mean score, and the difference of two categories."""
    score = np.arange(len(prior)) / len(prior)
    apart = np.eye(len(prior))[0] - np.eye(len(prior))[-1]
    return np.vstack([one_query(prior)[0], score, apart])


def asked(**options: Any) -> Callable[[np.ndarray], dict[str, Any]]:
    """The same options for every prior."""
    return lambda _: options


def for_information() -> list[Kind]:
    """The kinds with the objective information."""
    general = {"family": "general"}

    def more_outputs(p: np.ndarray) -> dict[str, Any]:
        return {**general, "outputs": [f"o{k}" for k in range(len(p) + 2)]}

    return [
        Kind("uniform", asked()),
        Kind("uniform symmetric", asked(symmetric=True)),
        Kind("uniform invariant", asked(invariant=True)),
        Kind("general", asked(**general), 300, most_information, ("uniform",)),
        Kind("general free", asked(**general, outputs="free"), 300, most_information, ("general",)),
        Kind("general S + 2", more_outputs, 30, most_information, ("general",)),
        Kind(
            "general invariant",
            asked(**general, invariant=True),
            100,
            no_worse_than=("uniform invariant",),
        ),
    ]


def for_estimation() -> list[Kind]:
    """The kinds with the objective estimation."""
    base = {"family": "general", "objective": "estimation"}

    def query(**more: Any) -> Callable[[np.ndarray], dict[str, Any]]:
        return lambda p: {**base, "workload": one_query(p), **more}

    def queries(**more: Any) -> Callable[[np.ndarray], dict[str, Any]]:
        return lambda p: {**base, "workload": three_queries(p), **more}

    def few_outputs(p: np.ndarray) -> dict[str, Any]:
        return queries(outputs=min(4, len(p)))(p)

    one, three = query_variance(one_query), query_variance(three_queries)
    return [
        Kind("est uniform", asked(objective="estimation"), 300, least_variance),
        Kind("est", asked(**base), 300, least_variance, ("est uniform",)),
        Kind(
            "est free",
            asked(**base, outputs="free"),
            30,
            least_variance,
            ("est",),
        ),
        Kind("est invariant", asked(**base, invariant=True), 30),
        Kind("one query in 2", query(outputs=2), 100),
        Kind("one query", query(), 100, one, ("one query in 2",)),
        Kind("one query free", query(outputs="free"), 100, one, ("one query",)),
        Kind("queries in few", few_outputs, 30),
        Kind("queries", queries(), 100, three, ("queries in few",)),
        Kind("queries free", queries(outputs="free"), 30, three, ("queries",)),
    ]


def cases(sizes: tuple[int, ...], priors: int) -> Iterator[Case]:
    """Every kind of prior and every size, each at a third of the α."""
    for i, size in enumerate(sizes):
        for j, (name, draw) in enumerate(PRIORS.items()):
            rng = np.random.default_rng([size, j])
            for turn in range(priors):
                prior = np.asarray(draw(size, rng), dtype=float)
                for alpha in ALPHAS[(i + j + turn) % THINNED :: THINNED]:
                    yield name, prior / prior.sum(), alpha


def check(kind: Kind, case: Case, known: Known) -> Tally:
    """Design once and check what is claimed."""
    name, prior, alpha = case
    tally = Tally(cases=1)
    what = f"{kind.name}, {name}, S = {len(prior)}, alpha = {alpha:g}"
    start, processor = time.monotonic(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            d = pramble.design(prior, alpha, time_limit=TIME_LIMIT, **kind.options(prior))
    except InvalidInput as error:
        tally.refused = 1
        if "takes at least" not in str(error) and "needs" not in str(error):
            tally.failed.append(f"{what}: {error!r}")
        return tally
    except Exception as error:  # noqa: BLE001
        tally.failed.append(f"{what}: {error!r}")
        return tally
    tally.seconds = tally.longest = time.process_time() - processor
    known[kind.name] = d
    if min(time.monotonic() - start, 2 * tally.seconds) > TIME_LIMIT * 1.2 + SPARE:
        tally.late.append(f"{what}: {tally.seconds:.1f} s")
    tally.failed = [f"{what}: {one}" for one in broken(d, alpha)]
    tally.unexplained = [f"{what}: {one}" for one in unexplained(d)]
    if d.gap > TOLERANCE:
        tally.open_gaps, tally.worst_gap = 1, d.gap
    rivals = [*kind.rivals(prior, alpha), *better(known, kind.no_worse_than)]
    sign = -1 if d.objective == "estimation" else 1
    best = max((sign * one for one in rivals), default=-math.inf)
    if sign * d.value < best - TOLERANCE * abs(best) - 1e-30:
        tally.beaten.append(f"{what}: {d.value:.8g} where {sign * best:.8g} is known")
    return tally


def better(known: Known, names: tuple[str, ...]) -> list[float]:
    """The values of designs that are known, and which this one must not be worse than."""
    return [known[name].value for name in names if name in known]


def broken(d: Design, alpha: float) -> Iterator[str]:
    """Claims that do not hold."""
    if not d.certificate.satisfies(alpha):
        yield "not private"
    over = d.bound - d.value if d.objective == "estimation" else d.value - d.bound
    if over > 1e-12 * abs(d.bound):
        yield f"value {d.value:.9g} beyond its bound {d.bound:.9g}"
    if math.isnan(d.value) or math.isnan(d.bound):
        yield "not a number"


def unexplained(d: Design) -> Iterator[str]:
    """What a reader is not told."""
    if d.gap > TOLERANCE and (
        d.stopped == "tolerance" or not any("gap" in note for note in d.notes)
    ):
        yield f"gap {d.gap:.1e}, stopped {d.stopped}"
    if d.details["rank"] < len(d.prior) and not any("rank" in note for note in d.notes):
        yield f"rank {d.details['rank']}"


def add(total: Tally, one: Tally) -> None:
    """Add the tally of one case."""
    total.cases += one.cases
    total.refused += one.refused
    total.open_gaps += one.open_gaps
    total.worst_gap = max(total.worst_gap, one.worst_gap)
    total.seconds += one.seconds
    total.longest = max(total.longest, one.longest)
    for name in ("failed", "unexplained", "beaten", "late"):
        getattr(total, name).extend(getattr(one, name))


def run(kinds: list[Kind], given: list[Case]) -> None:
    """Try each kind on all cases; print its line when it is done, then what went wrong in it."""
    known: list[Known] = [{} for _ in given]
    for kind in kinds:
        total = Tally()
        for case, before in zip(given, known, strict=True):
            if len(case[1]) <= kind.most:
                add(total, check(kind, case, before))
        show(kind.name, total)


def show(name: str, t: Tally) -> None:
    """Print the line of a kind, and what went wrong."""
    print(
        f"{name:>18} {t.cases:>6} {t.refused:>8} {len(t.failed):>7} {t.open_gaps:>10} "
        f"{t.worst_gap:>8.1e} {len(t.unexplained):>12} {len(t.beaten):>7} {len(t.late):>5} "
        f"{t.longest:>7.2f} {t.seconds:>7.1f}",
        flush=True,
    )
    for line in [*t.failed, *t.unexplained, *t.beaten, *t.late]:
        print("   ", line, flush=True)


def main() -> None:
    sizes = os.environ.get("PRAMBLE_STRESS_SIZES", ",".join(map(str, SIZES)))
    names = os.environ.get("PRAMBLE_STRESS_KINDS", "").split(",")
    kinds = [*for_information(), *for_estimation()]
    priors = int(os.environ.get("PRAMBLE_STRESS", "1"))
    pramble.design([0.5, 0.3, 0.2] + [0.0] * 20, 1.0, family="general")  # compile first
    pramble.design([0.5, 0.3, 0.2], 1.0, family="general", objective="estimation")
    print(
        f"{'':>18} {'cases':>6} {'refused':>8} {'failed':>7} {'open gaps':>10} {'worst':>8} "
        f"{'unexplained':>12} {'beaten':>7} {'late':>5} {'most s':>7} {'all s':>7}"
    )
    given = list(cases(tuple(int(size) for size in sizes.split(",")), priors))
    run([one for one in kinds if names == [""] or one.name in names], given)
