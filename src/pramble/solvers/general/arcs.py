r"""Arcs on a circle: a closed form close to the universal bound, for any number of categories.

Lay the categories on a circle of length 1, category x in the middle :math:`c_x` of an arc of length
:math:`p_x`, in any order. Output j of T is high for the categories with
:math:`c_x \in [j/T, (j+W)/T)`. Every category lies in exactly W of these arcs, so the rows of the
matrix have equal sums whatever the prior, and every high set has prior mass near W/T, which is
chosen nearest to the ideal mass. What is lost against the universal bound is the unevenness of the
masses, which the best of some orders makes small.

Numbers on a circle: the mechanism that attains the universal bound.

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

from pramble.data.labels import Label, Labels, as_labels
from pramble.errors import InvalidInput
from pramble.information.measures import best_high_mass, mutual_information
from pramble.mechanisms.arcs import Arcs, least_low
from pramble.solvers.problem import representable_alpha
from pramble.values import Floats, Integers

ORDERS = 20


def best_arcs(prior: Floats, alpha: float, labels: Labels, *, orders: int = ORDERS) -> Arcs:
    S = len(prior)
    rng = np.random.default_rng(S)
    tried = [np.argsort(-prior, kind="stable"), np.arange(S)]
    tried += [rng.permutation(S) for _ in range(orders)]
    width = min(max(round(best_high_mass(alpha) * S), 1), S - 1)
    low = least_low(S, width, alpha)
    candidates = []
    for order in tried:
        # the slot of each category's middle
        middles = np.cumsum(prior[order]) - prior[order] / 2
        positions = np.empty(S, dtype=np.int64)
        positions[order] = np.clip(np.floor(middles * S + 1e-9), 0, S - 1)
        candidates.append(Arcs(labels, labels, positions, np.arange(S), width, low))
    best = max(candidates, key=lambda arcs: mutual_information(prior, arcs))
    slots = labelled_slots(prior, best.positions, width)
    return Arcs(labels, labels, best.positions, slots, width, low)


def labelled_slots(prior: Floats, positions: Integers, width: int) -> Integers:
    """Return the output at each slot: heavy categories first choose a slot of their own arc."""
    # Each takes the last free slot up to its position; those whose arc is full take what is left.
    S = len(prior)
    slots = np.full(S, -1, dtype=np.int64)
    below = list(range(S + 1))  # slot + 1 of the nearest slot at or below that is free; 0: none

    def last_free(slot: int) -> int:
        root = slot + 1
        while below[root] != root:
            below[root] = below[below[root]]
            root = below[root]
        return root - 1

    for x in np.argsort(-prior, kind="stable").tolist():
        end = int(positions[x])
        slot = last_free(end)
        if slot < 0 and width > end + 1:
            slot = last_free(S - 1)
        if slot < 0 or (end - slot) % S >= width:
            continue
        slots[slot] = x
        below[slot + 1] = slot
    slots[slots < 0] = np.setdiff1d(np.arange(S), slots)
    return slots


FEWEST = 3


def circle(categories: int | Iterable[Label], alpha: float) -> Arcs:
    r"""Return arcs around a circle of cells that are equally likely, for numbers of any kind.

    Numbers are banded first, at quantiles of a public distribution. The two ends of the scale are
    neighbours. With N equally likely cells the information lies below the universal bound by a part
    of about :math:`1/N^2`, and no data at this α could carry more than the bound.

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
    size, level = len(labels), representable_alpha(alpha)
    if size < FEWEST:
        raise InvalidInput(f"A circle has at least {FEWEST} cells; found {size}.")
    # The best number of cells that has no divisor in common with N: else some turn of the circle
    # would map all arcs onto themselves, and shares of single cells could not be estimated.
    ideal = best_high_mass(level) * size
    fitting = (width for width in range(1, size) if math.gcd(width, size) == 1)
    width = min(fitting, key=lambda width: abs(width - ideal))
    middle = np.arange(width // 2, width // 2 + size) % size
    return Arcs(labels, labels, np.arange(size), middle, width, least_low(size, width, level))
