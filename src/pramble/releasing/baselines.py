"""What else a curator might have done with a column, for comparison."""

import math
from collections.abc import Sequence

import numpy as np

from pramble.data.labels import Label
from pramble.information.fisher import estimation_variance
from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import randomized_response
from pramble.outcome import Rival
from pramble.privacy.certificate import certify
from pramble.values import Floats

WIDEST = 400
"""Above so many categories matrices are not compared entry by entry."""

LOST = 1e12
"""A variance above this is that of a matrix whose equal rows differ by rounding alone."""


def rivals_of(p: Sequence[float], labels: Sequence[Label], alpha: float) -> tuple[Rival, ...]:
    """Return randomised response at the same α, and sdcMicro's default where it is affordable."""
    response = rival("randomised response, same α", p, randomized_response(labels, alpha))
    if len(labels) > WIDEST:
        return (response,)
    default = Mechanism.from_matrix(default_pram(np.array(p)))
    return response, rival("sdcMicro's default", p, default)


def rival(name: str, p: Sequence[float], mechanism: Mechanism) -> Rival:
    """Return the figures of a mechanism at a prior."""
    return Rival(
        name,
        certify(mechanism).alpha,
        mutual_information(p, mechanism),
        variance_of(p, mechanism),
        change_expected(p, mechanism),
    )


def variance_of(p: Sequence[float], mechanism: Mechanism) -> float:
    """Return the estimation variance; infinite where only rounding tells categories apart."""
    if len(p) > WIDEST:
        return math.nan
    variance = estimation_variance(p, mechanism)
    return variance if variance < LOST else math.inf


def change_expected(p: Sequence[float], mechanism: Mechanism) -> float:
    """Return the expected share of values that are released under another label."""
    return float(1 - np.asarray(p) @ mechanism.operator.stay())


def default_pram(p: Floats) -> Floats:
    r"""Return invariant PRAM as sdcMicro draws it by default, at the mean of its random diagonal.

    It draws the diagonal of a uniform-row matrix :math:`P` from [0.8, 1], here 0.9, inverts it by
    Bayes' rule to :math:`Q` and mixes: :math:`\tfrac12 PQ + \tfrac12 I`. The result keeps the
    margins :math:`p` in expectation; it is not designed for any α.

    >>> p = np.array([0.5, 0.3, 0.2])
    >>> bool(np.allclose(p @ default_pram(p), p))
    True
    """
    size = len(p)
    first = np.full((size, size), 0.1 / (size - 1))
    np.fill_diagonal(first, 0.9)
    released = p @ first
    back = (first * p[:, None]).T / released[:, None]
    return np.asarray((first @ back + np.eye(size)) / 2)
