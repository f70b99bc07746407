r"""The law that a candidate answer is tested under.

The interval of a query :math:`w \cdot p` holds every :math:`\mu` that a test does not reject, so
each :math:`\mu` needs a law with :math:`w \cdot p = \mu`, or the variance belongs to another mean.
Of all such laws the nearest to the fitted one, :math:`\hat p`, is taken:

.. math:: \max_p \sum_x \hat p_x \log p_x \quad\text{subject to}\quad w \cdot p = \mu
    \qquad\Longrightarrow\qquad p_x \propto \frac{\hat p_x}{1 + (r - 1)\,w_x}

for weights scaled to [0, 1], with the one :math:`r > 0` that gives the mean :math:`\mu`: the
restricted maximum likelihood as if :math:`\hat p` had been counted. For weights 0 and 1 it moves
mass between inside and outside and keeps the proportions in each.
"""

import numpy as np

from pramble.values import Floats, Integers, value

MOST_STEPS = 60
PRECISION = 1e-12
SMALLEST = 1e-300
FARTHEST = 600.0
LARGEST_LOGIT = 500.0


@value(eq=False)
class Candidates:
    """Cells of equal weight, taken together; one row per query.

    Attributes
    ----------
    weights : (Q, V) array
        The distinct weights, in [0, 1].
    shares : (Q, V) array
        What the cells of each weight have together under the fitted law; zero pads shorter rows.
    moments : (Q, V) array
        The mean of a second moment over the cells of each weight.
    """

    weights: Floats
    shares: Floats
    moments: Floats

    def moment(self, mu: Floats) -> Floats:
        """Return the second moment of each query under the law whose mean is mu."""
        law = self.law(mu)
        return np.asarray((law * self.moments).sum(axis=1))

    def law(self, mu: Floats) -> Floats:
        r"""Return the nearest laws with the given means.

        The logit of the mean falls with :math:`\log r`, with slope −1 for weights 0 and 1 and at
        both ends always: Newton's method, held in a bracket.
        """
        target = np.clip(logit(mu, 1 - mu), -LARGEST_LOGIT, LARGEST_LOGIT)
        low, high = np.full(len(mu), -FARTHEST), np.full(len(mu), FARTHEST)
        at = np.zeros(len(mu))
        for _ in range(MOST_STEPS):
            law, stretch = self.tilted(at)
            inside = (law * self.weights).sum(axis=1)
            outside = (law * (1 - self.weights)).sum(axis=1)
            excess = logit(inside, outside) - target
            there = np.abs(excess) <= PRECISION
            if there.all():
                break
            low, high = np.where(excess > 0, at, low), np.where(excess > 0, high, at)
            moved = law * (self.weights - inside[:, None]) * stretch
            slope = moved.sum(axis=1) / np.maximum(inside * outside, SMALLEST)
            fresh = at + excess / np.maximum(slope, SMALLEST)
            fresh = np.where((fresh >= low) & (fresh <= high), fresh, (low + high) / 2)
            at = np.where(there, at, fresh)
        return law

    def tilted(self, log_ratio: Floats) -> tuple[Floats, Floats]:
        """Return the laws for ratios r, and how fast their logarithms fall with log r."""
        r = np.exp(log_ratio)[:, None]
        scale = (1 - self.weights) + r * self.weights
        law = self.shares / scale
        return law / law.sum(axis=1, keepdims=True), r * self.weights / scale


def candidates_of(weights: Floats, p: Floats, moments: Floats) -> Candidates:
    """Return the candidates of queries with weights (Q, K) in [0, 1], near a law p of K cells.

    Queries may have a law each, which need not sum to one.
    """
    laws = np.broadcast_to(p, weights.shape)
    rows = [weights_and_places(row) for row in weights]
    width = max(len(distinct) for distinct, _ in rows)
    values, shares, means = (np.zeros((len(rows), width)) for _ in range(3))
    for q, (distinct, place) in enumerate(rows):
        own = slice(len(distinct))
        values[q, own], shares[q, own] = distinct, np.bincount(place, weights=laws[q])
        sums = np.bincount(place, weights=laws[q] * moments[q])
        means[q, own] = sums / np.maximum(shares[q, own], SMALLEST)
    return Candidates(values, shares, means)


def weights_and_places(row: Floats) -> tuple[Floats, Integers]:
    """Return the distinct weights and which of them each cell has; 0 and 1 need no sorting."""
    ones = row == 1
    if 0 < ones.sum() < len(row) and not row[~ones].any():
        return np.array([0.0, 1.0]), ones.astype(np.int64)
    distinct, place = np.unique(row, return_inverse=True)
    return distinct, place


def logit(inside: Floats, outside: Floats) -> Floats:
    """Return the logarithm of odds, kept finite."""
    return np.asarray(np.log(np.maximum(inside, SMALLEST)) - np.log(np.maximum(outside, SMALLEST)))
