"""The best square matrix for estimation that structure and local search find."""

import math

import numpy as np

from pramble.solvers.general.circulants import best_random_circulant, random_circulants
from pramble.solvers.general.square.block_designs import known_designs
from pramble.solvers.general.square.search import Square, SquareSearch, least_variance
from pramble.solvers.watch import Watch
from pramble.values import Floats

MOST_SEARCHED = 150
MOST_SQUARE = 1500


def best_square(
    prior: Floats, alpha: float, workload: Floats | None, *, improve: bool, watch: Watch
) -> tuple[Square | None, str]:
    """Return the best square matrix found and why the search ended; only closed forms on demand."""
    S = len(prior)
    search = SquareSearch(prior, alpha, workload=workload)
    rng = np.random.default_rng(S)
    found: list[Square | None] = []
    try:
        if S <= MOST_SQUARE:
            starts = known_designs(S)
            ideal = min(max(round(S / (1 + math.exp(alpha))), 1), S - 1)
            starts.append(best_random_circulant(S, ideal, count=400, rng=rng))
            found += [search.evaluate(start) for start in starts]
        if improve and S <= MOST_SEARCHED:
            starts += random_circulants(S, 40 if S < 20 else 8, rng)
            for start in starts:
                if watch.left() <= 0:
                    return least_variance(found), "time limit"
                found.append(search.improve(start, rng=rng, steps=20_000, watch=watch))
    except KeyboardInterrupt:
        return least_variance(found), "interrupted"
    return least_variance(found), "search"
