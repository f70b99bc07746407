r"""A proven bound on the expected loss from any thresholds, and the best rows for given outputs.

Let :math:`m_z = \min_x M_{xz}`. A matrix is α-DP iff :math:`m_z \le M_{xz} \le a m_z`,
:math:`a = e^\alpha`, so for any numbers :math:`\ell_x`, with :math:`g(u) = \min(u, au)`,

.. math:: \sum_{xz} p_x M_{xz} L_{xz}
          = \sum_x p_x\ell_x + \sum_{xz} p_x M_{xz}(L_{xz} - \ell_x)
          \ge \sum_x p_x\ell_x + \sum_z m_z h_z, \qquad h_z = \sum_x p_x\, g(L_{xz} - \ell_x).

Because :math:`1/a \le \sum_z m_z \le 1`, the loss is at least :math:`\sum_x p_x\ell_x + v` when
:math:`v = \min_z h_z` is negative and :math:`\sum_x p_x\ell_x + v/a` when not. Nothing about ℓ is
assumed. The best ℓ are thresholds: a true value x is released high, :math:`a m_z`, where
:math:`L_{xz} < \ell_x`, and low, :math:`m_z`, where :math:`L_{xz} > \ell_x`.

Adding one number δ to all thresholds changes v by between −δ and −aδ, so the best δ makes v zero.
v is concave in δ, and Newton's steps reach its root from the right.

For given m every row is on its own: it spends :math:`1 - \sum_z m_z` on outputs of least loss
first, at most :math:`(a-1)m_z` each.
"""

import math

import numpy as np

from pramble.solvers.general.columns.branching import UNIT
from pramble.values import Floats

STEPS = 8
TIED = 1e-12


def proven_loss(prior: Floats, loss: Floats, thresholds: Floats, alpha: float) -> float:
    """Return the best bound that the thresholds prove when one number is added to them all.

    ``loss`` has a row for each entry of ``prior`` and a column for every possible output. Sums of n
    floats err by less than n units of the sum of their sizes, which the margin covers.
    """
    a = math.exp(alpha) * (1 + 8 * UNIT)
    best, shift = -math.inf, 0.0
    for _ in range(STEPS):
        moved = thresholds + shift
        over = loss - moved[:, None]
        worth = np.where(over < 0, a * over, over)
        sums = prior @ worth
        units = 2 * (len(prior) + 16) * UNIT
        least = float((sums - units * (prior @ np.abs(worth))).min())
        base = float(prior @ moved) - units * float(prior @ np.abs(moved))
        bound = base + (least if least < 0 else least / a)
        if not bound > best:
            break
        best = bound
        z = int(sums.argmin())
        slope = float(prior @ np.where(over[:, z] < 0, a, 1.0))
        shift += float(sums[z]) / slope
    return best


class NearestRows:
    """The rows of least loss for given weights m of the outputs."""

    def __init__(self, loss: Floats) -> None:
        self._order = np.argsort(loss, axis=1, kind="stable")
        ordered = np.take_along_axis(loss, self._order, axis=1)
        rises = np.diff(ordered, axis=1, prepend=-np.inf) > TIED * float(np.abs(loss).max())
        self._ties = np.cumsum(rises.ravel()) - 1
        self._first = np.flatnonzero(rises.ravel())

    def best(self, least: Floats, alpha: float) -> Floats:
        """Return the matrix; outputs of the same loss are filled in proportion to m.

        So equal treatment of equals survives, and no order of the labels matters.
        """
        least = least * max(1.0, math.exp(-alpha) / float(least.sum()))
        room = 1 - float(least.sum())
        most = (math.expm1(alpha) * least)[self._order]
        before = (np.cumsum(most, axis=1) - most).ravel()[self._first]
        together = np.bincount(self._ties, weights=most.ravel())
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(together > 0, (room - before) / together, 0.0).clip(0.0, 1.0)
        matrix = np.empty(self._order.shape)
        filled = most * share[self._ties].reshape(most.shape)
        np.put_along_axis(matrix, self._order, filled, axis=1)
        matrix += least
        return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
