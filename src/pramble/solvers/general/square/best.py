"""The best square matrix for estimation that structure and local search find."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.circulants import SWAPS, best_turns, random_circulants
from pramble.solvers.general.patterns import Sets
from pramble.solvers.general.square.block_designs import block_designs, known_designs
from pramble.solvers.general.square.search import Square, SquareSearch, least_variance
from pramble.values import Floats

MOST_SEARCHED = 150
MOST_SQUARE = 1500
MOST_SIZES = 7
IMPROVED = 4


def best_square(
    prior: Floats, alpha: float, workload: Floats | None, *, improve: bool, budget: SearchBudget
) -> tuple[Square | None, str]:
    """Return the best square matrix found and why the search ended; only structure on demand."""
    S = len(prior)
    search = SquareSearch(prior, alpha, workload=workload)
    rng = np.random.default_rng(S)
    found: list[Square | None] = []
    try:
        for start in structured(S, alpha, rng) if S <= MOST_SQUARE else ():
            found.append(search.evaluate(start))
            budget.spend(1e5 + 8 * SWAPS * S)
            if budget.is_over():
                return least_variance(found), budget.reason
        if improve and S <= MOST_SEARCHED:
            ranked = sorted((one for one in found if one is not None), key=lambda one: one.variance)
            starts = [one.sets for one in ranked[:IMPROVED]]
            for start in [*starts, *random_circulants(S, 40 if S < 20 else 8, rng)]:
                if budget.is_over():
                    return least_variance(found), budget.reason
                found.append(search.improve(start, rng=rng, steps=20_000, budget=budget))
    except KeyboardInterrupt:
        return least_variance(found), "interrupted"
    return least_variance(found), "search"


def structured(size: int, alpha: float, rng: np.random.Generator) -> Iterator[Sets]:
    """Yield randomised response, block designs, those with one more category, and flat turns."""
    yield from known_designs(size)
    for design, (row, column, corner) in product(
        block_designs(size - 1), product((False, True), repeat=3)
    ):
        yield np.block(
            [[design, np.full((size - 1, 1), column)], [np.full((1, size - 1), row), corner]]
        )
    for k in block_sizes(size, alpha):
        yield best_turns(size, k, rng=rng)


def block_sizes(size: int, alpha: float) -> list[int]:
    """Return sizes of blocks to try: from below the ideal S/(1+a) to some more, for small ones."""
    ideal = size / (1 + math.exp(alpha))
    most = MOST_SIZES if size <= MOST_SEARCHED else 3
    sizes = np.linspace(ideal - 1, 1.4 * ideal + 2, 2 * most).round()
    within = sorted({int(k) for k in np.clip(sizes, 1, size - 1)})
    return within[:: max(1, len(within) // most)]
