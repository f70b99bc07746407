r"""Numbers on a circle: the mechanism that attains the universal bound.

If X has the distribution function F, then :math:`U = F(X)` is spread evenly over a circle of length
1. Release a point Z around it with the density

.. math:: f(z \mid u) = \frac{a}{at + 1 - t} \text{ where } |z - u| \le t/2, \qquad
          \frac{1}{at + 1 - t} \text{ elsewhere}, \qquad a = e^\alpha .

Every ratio is at most a, and with the best t the information is the most that α allows for any
data, :math:`u - 1 - \log u` (:func:`pramble.information_bound`). On a grid of N cells of equal
probability it is a matrix of arcs, whose weights are integers.
"""

import math
from collections.abc import Iterable

import numpy as np

from pramble.data.labels import Label, as_labels
from pramble.errors import InvalidInput
from pramble.information.measures import best_high_mass
from pramble.mechanisms.arcs import Arcs, least_low
from pramble.solvers.problem import representable

FEWEST = 3


def circle(categories: int | Iterable[Label], alpha: float) -> Arcs:
    r"""Return arcs around a circle of cells that are equally likely, for numbers of any kind.

    Numbers are banded first, at quantiles of a public distribution (or of private ones, as ``bands
    = {quantiles = 256, …}`` in a plan finds them). The two ends of the scale are neighbours. With
    N equally likely cells the information lies below the universal bound by a part of about
    :math:`1/N^2`, and no data at this α could carry more than the bound.

    Parameters
    ----------
    categories : int or iterable of labels
        How many cells, or the labels of the bands, in their order.
    alpha : float
        The privacy parameter α, between any two numbers.

    Returns
    -------
    Mechanism
        Of kind ``"arcs"``: drawn in time that does not depend on N, certified in integers.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.circle(1024, 2.0)
    >>> pramble.certify(m).satisfies(2.0)
    True
    >>> told = pramble.mutual_information([1 / 1024] * 1024, m)
    >>> 1 - told / pramble.information_bound(2.0) < 1e-5
    True
    """
    labels = as_labels(categories)
    size, level = len(labels), representable(alpha)
    if size < FEWEST:
        raise InvalidInput(f"A circle has at least {FEWEST} cells; found {size}.")
    width = arc_width(size, level)
    middle = np.arange(width // 2, width // 2 + size) % size
    return Arcs(labels, labels, np.arange(size), middle, width, least_low(size, width, level))


def arc_width(size: int, alpha: float) -> int:
    """Return the number of cells of an arc: the best one that has no divisor in common with N.

    Else some turn of the circle would map all arcs onto themselves, and shares of single cells
    could not be estimated.
    """
    ideal = best_high_mass(alpha) * size
    fitting = (width for width in range(1, size) if math.gcd(width, size) == 1)
    return min(fitting, key=lambda width: abs(width - ideal))
