r"""How much an invariant matrix can carry, from the masses that its outputs must have.

Output z of an invariant matrix has probability :math:`p_z` and tells
:math:`K(R_z) = \sum_x p_x R_{xz} \log R_{xz}`, where :math:`R_{xz} = M_{xz}/p_z` has mean
:math:`\sum_x p_x R_{xz} = 1`. All other outputs together release z or not z, so

.. math:: R_{xz} \le a R_{x'z}, \qquad 1 - p_z R_{x'z} \le a\,(1 - p_z R_{xz})

for all x and x', the second because sums of private columns are private. With l the least
:math:`R_{xz}`, all of them lie in [l, u(l)], where :math:`u(l) = \min\{al,
(1 - (1-p_zl)/a)/p_z\}`. A convex function of a variable with mean 1 on [l, u] is at most its chord
at 1,

.. math:: k(l, u) = \frac{(1-l)\,u\log u + (u-1)\,l\log l}{u-l},

which falls in l and grows in u. On a cell :math:`[l_1, l_2]` it is therefore at most
:math:`k(l_1, u(l_2))`, and the largest over cells that cover [1/a, 1] bounds
:math:`K(R_z)`. The sum :math:`\sum_z p_z K(R_z)` of these bounds the information. A heavy output
tells little, for it is what is left of all others; that is what the free optimum does not know.
"""

import math

import numpy as np

from pramble.mechanisms.operators.dense import entropy_excess
from pramble.values import Floats

CELLS = 256
PARTS = 16
ROUNDS = 12
SHARP = 1e-7


def invariant_bound(prior: Floats, alpha: float) -> float:
    """Return a proven bound on the information of every invariant matrix."""
    margin = 1 + 1e-12 + 1e-14 / min(alpha, 1.0)
    masses, counts = np.unique(prior, return_counts=True)
    told = [most_told(float(mass), alpha) for mass in masses]
    return margin * math.fsum((masses * counts * told).tolist())


def most_told(mass: float, alpha: float) -> float:
    """Return a bound on what one output of this probability tells."""
    ends = np.linspace(-math.expm1(-alpha), 0.0, CELLS + 1)
    low, high = ends[:-1], ends[1:]
    bound = math.inf
    for _ in range(ROUNDS):
        upper = chord(low, most_ratio(high, mass, alpha))
        lower = chord(high, most_ratio(high, mass, alpha)).max()
        bound = min(bound, float(upper.max()))
        if bound <= lower * (1 + SHARP):
            break
        kept = upper > lower
        parts = np.linspace(low[kept], high[kept], PARTS + 1)
        low, high = parts[:-1].ravel(), parts[1:].ravel()
    return bound


def most_ratio(low: Floats, mass: float, alpha: float) -> Floats:
    """Return u − 1 for 1 − l, at least 0."""
    grow, shrink = math.expm1(alpha), -math.expm1(-alpha)
    own = grow - (1 + grow) * low
    rest = (shrink * (1 - mass) - mass * low * math.exp(-alpha)) / mass
    return np.maximum(np.minimum(own, rest), 0.0)


def chord(below: Floats, above: Floats) -> Floats:
    """Return the chord of r log r at 1 between 1 − below and 1 + above."""
    width = np.maximum(below + above, 1e-300)
    rise = above * entropy_excess(-below) + below * entropy_excess(above)
    return np.where(above > 0, rise / width, 0.0)
