"""Iterative proportional fitting over an explicit list of cells."""

from collections.abc import Sequence

import numpy as np

from pramble.data.crosstab import Crosstab
from pramble.errors import NotConverged
from pramble.risk.models.base import Codes, Margin
from pramble.values import Clock, Floats, value

TOLERANCE = 1e-8
CLOSE = 0.01
SWEEPS = 2000


@value(eq=False)
class Scaled:
    """Means that were scaled to margins, in how many sweeps, and how far margins are off."""

    means: Floats
    sweeps: int
    deviation: float


def proportional_fit(
    table: Crosstab,
    cells: Codes,
    *,
    margins: Sequence[Margin],
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
    clock: Clock | None = None,
) -> Scaled:
    r"""Return the maximum likelihood means of a log-linear Poisson model over the cells.

    .. math:: \max_\mu \sum_k f_k \log\mu_k - \mu_k, \qquad
        \log\mu \in \operatorname{span}\{\text{indicators of the margins}\},

    whose solution reproduces every observed margin. Each sweep scales the means to one margin after
    the other; it ends when no margin cell is off by more than ``tolerance`` times n. Where the
    likelihood has its supremum only as some means tend to 0, sweeps close in slowly; after 2,000 a
    hundredth of a record is close enough.

    Parameters
    ----------
    table : Crosstab
    cells : (K, d) array
        The possible cells; all others are structural zeros.
    margins : sequence of tuples of axes
    start : (K,) array, optional
        Means inside the model to start from; 1 unless given.
    """
    from pramble.risk.models.proportional_kernels import sweep

    totals = [table.array(axes=margin) for margin in margins]
    index = np.stack(
        [
            np.ravel_multi_index(cells[:, list(margin)].T, total.shape).astype(np.int32)
            for margin, total in zip(margins, totals, strict=True)
        ]
    )
    targets = np.concatenate([total.ravel() for total in totals])
    starts = np.cumsum([0, *(total.size for total in totals)])
    means = np.ones(len(cells)) if start is None else start.copy()
    allowed, first = tolerance * table.n, None
    deviation = np.inf
    for done in range(1, SWEEPS + 1):
        deviation = sweep(means, index, targets, starts)
        if deviation <= allowed:
            return Scaled(means, done, deviation)
        first = first or deviation
        if clock is not None:
            clock.tell("fitting", _share(first, deviation, allowed))
    if deviation <= CLOSE:
        return Scaled(means, SWEEPS, deviation)
    raise NotConverged(
        f"The log-linear fit must reach its margins within {CLOSE} records; after {SWEEPS} "
        f"sweeps it is off by {deviation:.3g}. Drop an interaction, or merge rare levels."
    )


def _share(first: float, now: float, goal: float) -> float:
    """How far a geometrically shrinking deviation has come."""
    return float(np.clip(np.log(first / now) / np.log(max(first / goal, 1.000001)), 0.0, 1.0))
