r"""The law of largest entropy whose tables fit, as one array over all cells, and draws from it.

.. math:: \min_p \sum_k p_k \log p_k + \sum_{T, c \in T} \frac{(m_c(p) - t_c)^2}{2 s_c},
          \qquad s_c = \kappa \frac{v_c}{\bar\sigma},

with :math:`v_c` the variance of the estimated share of cell c, :math:`\bar\sigma` the root of their
mean, and :math:`\kappa` a fixed 0.3: a cell may be off by 0.3 standard errors for each unit
of the log-linear interaction that holds it there. Tables without noise are met exactly. Noisy ones
need not be those of any law, even where they agree with each other two by two.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pramble.estimation.draws.tables import Shares
from pramble.information.distributions import Table
from pramble.information.proportional import Margin, fit_array
from pramble.information.structural_zeros import Possible
from pramble.values import Clock, Floats, Integers

SLACK = 0.3
SWEEPS = 60
CLOSE = 0.05
"""A fit ends when no cell of a table moves by more than this part of a standard error."""

EXACTLY = 1e-8


def slack_of(found: Mapping[Table, Shares]) -> tuple[dict[Table, Floats], float]:
    """Return the slack of every cell of every table, and the mean standard error."""
    variances = np.concatenate([own.variances.ravel() for own in found.values()])
    noisy = variances[variances > 0]
    mean = float(np.sqrt(noisy.mean())) if noisy.size else 0.0
    scale = SLACK / mean if mean else 0.0
    return {table: scale * own.variances for table, own in found.items()}, mean


def fit_law(
    tables: Mapping[Table, Floats],
    slack: Mapping[Table, Floats],
    *,
    columns: Sequence[str],
    possible: Possible,
    error: float,
    clock: Clock,
) -> Floats:
    """Return the law of all cells, one axis for each column; empty where nothing is possible."""
    cells = possible.mask(columns).astype(np.float64)
    cells /= cells.sum()
    margins = [
        Margin(tuple(map(columns.index, table)), own, slack[table]) for table, own in tables.items()
    ]
    close = max(CLOSE * error, EXACTLY)
    fit_array(cells, margins, close=close, sweeps=SWEEPS, clock=clock)
    return np.asarray(cells / cells.sum())


def draw_cells(cells: Floats, rows: int, rng: np.random.Generator) -> Integers:
    """Return the codes of records, one column for each axis, by systematic sampling.

    Every cell gets its expected number rounded down or up, in a random order of the rows.

    >>> law = np.array([[0.5, 0.25], [0.25, 0.0]])
    >>> codes = draw_cells(law, 8, np.random.default_rng(1))
    >>> np.bincount(2 * codes[:, 0] + codes[:, 1], minlength=4)
    array([4, 2, 2, 0])
    """
    from pramble.estimation.draws.kernels import systematic

    places = np.zeros(rows, dtype=np.int64)
    systematic(cells.reshape(-1), rng.random(), places)
    places = rng.permutation(places)
    return np.stack(np.unravel_index(places, cells.shape), axis=1).astype(np.int64)
