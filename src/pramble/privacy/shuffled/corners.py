r"""Bounds that need little of a matrix: its largest ratio and its blanket's weight, or α alone.

**The worst matrix of a ratio and a blanket.** Let :math:`A = M_{xZ}/b_Z` and
:math:`B = M_{x'Z}/b_Z` with :math:`Z \sim b/\gamma`. Both lie in :math:`[1, a]` and have mean
:math:`1/\gamma`. Moving A and B to the ends of the interval, keeping means, raises the expectation
of every convex function of :math:`A - e^\varepsilon B`; so does moving mass from the corners (a, a)
and (1, 1) to (a, 1) and (1, a), whose values have the same sum and lie further apart. Hence no
matrix has a larger bound than the law with

.. math:: P(a, 1) = P(1, a) = \min(\beta, 1 - \beta), \qquad \beta = (1/\gamma - 1)/(a - 1),

and the rest at (1, 1), or at (a, a) if :math:`\beta > 1/2`. Randomised response and disjoint arcs
attain it. With branches the public coin is part of the output, and each branch has its own corners.

**The closed form** of Feldman, McMillan and Talwar (2021, Theorem 3.1): if
:math:`16\, e^{\alpha} \log(2/\delta) \le n`,

.. math:: \varepsilon = \log\Big(1 + \frac{e^\alpha - 1}{e^\alpha + 1}
          \Big(8\sqrt{e^\alpha \log(4/\delta)/n} + 8 e^\alpha/n\Big)\Big).
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.privacy.shuffled.blanket import single, uniform_blanket
from pramble.privacy.shuffled.hockey_stick import (
    Summand,
    excess_above,
    factor_below,
    rounding,
)
from pramble.values import value


@value
class Corners:
    """One branch: its share, its largest ratio to the blanket, and the blanket's weight."""

    share: Fraction
    ratio: Fraction
    weight: Fraction


def corners_of(mechanisms: Sequence[Mechanism], share: Fraction) -> Corners | None:
    """Return the corners of independent mechanisms side by side; None if a ratio is infinite.

    Examples
    --------
    >>> import pramble
    >>> found = corners_of([pramble.randomized_response(10, 1.0)], Fraction(1))
    >>> round(float(found.ratio), 6), round(float(found.weight), 6)
    (2.718282, 0.853367)
    """
    ratio, weight = Fraction(1), Fraction(1)
    for mechanism in single(mechanisms):
        found = ratio_and_weight(mechanism)
        if found is None:
            return None
        ratio, weight = ratio * found[0], weight * found[1]
    return Corners(share, ratio, weight)


def ratio_and_weight(mechanism: Mechanism) -> tuple[Fraction, Fraction] | None:
    """Return the largest ratio to a blanket and its weight, exactly.

    The low weight of arcs is a blanket, if not the heaviest.
    """
    if isinstance(mechanism, Arcs):
        high = mechanism.high + bool(mechanism.raised)
        return Fraction(high, mechanism.low), Fraction(mechanism.low * mechanism.shape[1], TOTAL)
    ratio = mechanism.largest_ratio()
    if not ratio.denominator:
        return None
    least = (
        uniform_blanket(mechanism)
        if isinstance(mechanism, UniformRows)
        else mechanism.weights.min(axis=0)
    )
    return Fraction(ratio.numerator, ratio.denominator), Fraction(int(least.sum()), TOTAL)


def corner_law(branches: Sequence[Corners], factor: float) -> Summand:
    r"""Return the law of the worst matrix, with ``factor`` for :math:`e^\varepsilon`."""
    values, probabilities = [], []
    for branch in branches:
        a, mass = float(branch.ratio), branch.share * branch.weight
        spare = 1 / branch.weight - 1
        beta = spare / (branch.ratio - 1) if branch.ratio > 1 else Fraction(0)
        apart, same = min(beta, 1 - beta), (a if 2 * beta > 1 else 1.0)
        values += [a - factor, 1 - factor * a, same - factor * same]
        probabilities += [mass * apart, mass * apart, mass * (1 - 2 * apart)]
    largest = max(float(branch.ratio) for branch in branches)
    return Summand(
        np.array(values), np.array([float(p) for p in probabilities]), rounding(largest, factor)
    )


def closed_form(alpha: float, rows: int, delta: float) -> float:
    """Return the ε of the closed form, rounded up; infinite where it does not hold.

    Examples
    --------
    >>> round(closed_form(1.0, 10**6, 1e-6), 4)
    0.0235
    """
    if alpha > 300 or 16 * math.exp(alpha) * math.log(2 / delta) * (1 + 1e-9) > rows:
        return math.inf
    a = math.exp(alpha)
    root = 8 * math.sqrt(a * math.log(4 / delta) / rows) + 8 * a / rows
    return math.log1p(math.tanh(alpha / 2) * root) * (1 + 1e-12)


def closed_delta(alpha: float, rows: int, epsilon: float) -> float:
    """Return the δ of the closed form at ε, rounded up; 1 where it does not hold.

    Examples
    --------
    >>> 0 < closed_delta(1.0, 10**6, 0.0236) <= 1e-6
    True
    """
    if not 0 < alpha <= 300:
        return 1.0
    a = math.exp(alpha)
    root = math.expm1(epsilon) / math.tanh(alpha / 2) - 8 * a / rows
    if root <= 0:
        return 1.0
    delta = 4 * math.exp(-rows * root**2 / (64 * a)) * (1 + 1e-9) + 1e-300
    return delta if delta < 1 and closed_form(alpha, rows, delta) <= epsilon else 1.0


def corner_delta(branches: tuple[Corners, ...], epsilon: float, *, rows: int) -> float:
    """Return a δ for every matrix with these ratios and blankets."""
    return excess_above(corner_law(branches, factor_below(epsilon)), rows)
