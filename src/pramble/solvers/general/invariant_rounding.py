r"""Round an invariant matrix to exact weights that stay invariant to the last unit.

Weights are rounded as for any matrix, mixing in :math:`1p^\top` (which is invariant) where α asks
for it. Then, in exact integer arithmetic, units are moved along rows until

.. math:: \Big|\sum_x p_x w_{xz} - 2^{53} p_z\Big| \le 1 \quad\text{for every } z,

that is until every released share is right within :math:`2^{-53}`. Rows keep their sums.
"""

from fractions import Fraction

from pramble.errors import NotConverged
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.general import General, least_mixing, ratios_within, round_rows
from pramble.mechanisms.ratios import exp_below
from pramble.solvers.problem import Problem
from pramble.values import Floats, Integers

MOST_MOVES = 100_000


def round_invariant(matrix: Floats, problem: Problem) -> Mechanism:
    prior = problem.prior

    def mixed(delta: float) -> Integers:
        return settle(round_rows((1 - delta) * matrix + delta * prior, TOTAL), prior)

    weights = least_mixing(mixed, ratios_within(exp_below(problem.alpha)))
    return General(problem.labels, problem.labels, weights)


def settle(weights: Integers, prior: Floats) -> Integers:
    """Move units along rows until every margin is right within one unit."""
    shares, scale = exact_integers(prior)
    weights = weights.copy()
    excess = [
        sum(share * int(w) for share, w in zip(shares, column, strict=True)) - TOTAL * shares[z]
        for z, column in enumerate(weights.T.tolist())
    ]
    heavy = sorted(range(len(shares)), key=lambda x: -shares[x])
    for _ in range(MOST_MOVES):
        most = max(range(len(excess)), key=excess.__getitem__)
        least = min(range(len(excess)), key=excess.__getitem__)
        if excess[most] <= scale and excess[least] >= -scale:
            return weights
        room = max(excess[most], -excess[least])
        x = next((x for x in heavy if 0 < shares[x] <= room and weights[x, most] > 1), None)
        if x is None:
            break
        units = min(excess[most], -excess[least]) // shares[x]
        units = min(max(units, 1), int(weights[x, most]) - 1)
        weights[x, most] -= units
        weights[x, least] += units
        excess[most] -= units * shares[x]
        excess[least] += units * shares[x]
    raise NotConverged("The margins of an invariant design could not be settled in integers.")


def exact_integers(prior: Floats) -> tuple[list[int], int]:
    """Return integers with the exact proportions of floats, and the integer that stands for 1."""
    exact = [Fraction(value) for value in prior.tolist()]
    scale = max(value.denominator for value in exact)
    return [int(value * scale) for value in exact], scale
