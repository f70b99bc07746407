"""Splitting α over the columns of a record, exactly.

Columns are randomised independently, so their α add up. Every share is a `Fraction`; what a
mechanism is designed for is the largest float at or below its share, so the sum of what is spent
never exceeds the total, and this is checked in rationals.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from pramble.errors import InvalidPlan, PrivacyError
from pramble.ledger.book import pair
from pramble.privacy.guarantee import CentralPrivacy, RecordPrivacy, float_below

STEPS = 48
REFINEMENTS = 4


def split_by_weights(total: Fraction, weights: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return shares of the total in proportion to positive weights; they sum to it exactly.

    >>> split_by_weights(Fraction(3), {"sex": Fraction(1), "age": Fraction(2)})
    {'sex': Fraction(1, 1), 'age': Fraction(2, 1)}
    """
    bad = [name for name, weight in weights.items() if weight <= 0]
    if bad:
        raise InvalidPlan(f"The weight of column {bad[0]!r} must be positive; found a smaller one.")
    whole = sum(weights.values(), Fraction(0))
    return {name: total * weight / whole for name, weight in weights.items()}


def split_optimally(
    total: Fraction,
    losses: Mapping[str, Callable[[float], float]],
    *,
    weights: Mapping[str, Fraction] | None = None,
    least: Fraction = Fraction(0),
) -> dict[str, Fraction]:
    r"""Return the split of a total that makes a sum of losses smallest.

    .. math:: \min_{\alpha} \sum_j w_j L_j(\alpha_j) \quad\text{s.t.}\quad
              \sum_j \alpha_j = \alpha, \; \alpha_j > 0, \; \alpha_j \ge \ell\alpha/k.

    With :math:`L_j = -I_j/H_j` this maximises the summed share of information; with
    :math:`L_j` the estimation variance it minimises the weighted error. Information is convex in a
    small α and concave in a large one, so a local search could end anywhere: the best split on a
    grid of 48 steps is found by dynamic programming, which is exact on the grid, and then halved
    steps are moved between pairs of columns while that helps.

    ``losses`` are functions of a column's α, and may be infinite; ``weights`` tell how important
    each column is, 1 unless given. No column gets less than the part ``least`` (ℓ) of an equal
    share, for the split that is best in sum may starve one. The shares sum exactly to the total.

    Examples
    --------
    >>> split_optimally(Fraction(2), {"a": lambda a: 1 / a, "b": lambda a: 4 / a})
    {'a': Fraction(2, 3), 'b': Fraction(4, 3)}
    """
    names = list(losses)
    steps = max(STEPS, len(names))
    scale = {name: float((weights or {}).get(name, Fraction(1))) for name in names}
    cache: dict[tuple[str, Fraction], float] = {}

    def loss(name: str, alpha: Fraction) -> float:
        if (name, alpha) not in cache:
            cache[name, alpha] = scale[name] * losses[name](float_below(alpha))
        return cache[name, alpha]

    unit = total / steps
    floor = least * total / len(names)
    curves = [
        np.array(
            [loss(name, unit * k) if 0 < unit * k >= floor else np.inf for k in range(steps + 1)]
        )
        for name in names
    ]
    shares = dict(zip(names, (unit * k for k in best_on_grid(curves)), strict=True))
    for halving in range(1, REFINEMENTS + 1):
        improve_by_exchange(shares, loss, step=unit / 2**halving, floor=floor)
    return shares


def best_on_grid(curves: Sequence[np.ndarray]) -> list[int]:
    """Return the steps of each column that sum to the whole and make the summed loss smallest."""
    steps = len(curves[0]) - 1
    best = np.full(steps + 1, np.inf)
    best[0] = 0.0
    choices = []
    for curve in curves:
        table = np.full((steps + 1, steps + 1), np.inf)
        for k in range(1, steps + 1):
            table[k:, k] = best[: steps + 1 - k] + curve[k]
        choices.append(table.argmin(axis=1))
        best = table.min(axis=1)
    if not np.isfinite(best[steps]):
        raise InvalidPlan(
            "No split of α makes every column estimable; use equal shares or a larger α."
        )
    picked, left = [], steps
    for choice in reversed(choices):
        picked.append(int(choice[left]))
        left -= picked[-1]
    return picked[::-1]


def improve_by_exchange(
    shares: dict[str, Fraction],
    loss: Callable[[str, Fraction], float],
    *,
    step: Fraction,
    floor: Fraction,
) -> None:
    """Move one step from a column to another while that lowers the loss."""
    improved = True
    while improved:
        improved = False
        for giver, taker in permutations(shares, 2):
            given, taken = shares[giver] - step, shares[taker] + step
            if given <= 0 or given < floor:
                continue
            before = loss(giver, shares[giver]) + loss(taker, shares[taker])
            if loss(giver, given) + loss(taker, taken) < before - 1e-12:
                shares[giver], shares[taker] = given, taken
                improved = True


def check_spent(
    spent: RecordPrivacy | CentralPrivacy, limit: RecordPrivacy | CentralPrivacy
) -> None:
    """Refuse more than the limit.

    >>> check_spent(RecordPrivacy(Fraction(1, 3)), RecordPrivacy(Fraction(1, 2)))
    """
    if not limit.allows(spent):
        much, most = (
            pair(one) if isinstance(one, CentralPrivacy) else repr(one.shown)
            for one in (spent, limit)
        )
        raise PrivacyError(f"The parts spend {much}, above the limit {most}. Nothing was released.")
