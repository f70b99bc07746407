r"""The tables that a synthetic file is to have: estimated, shrunk and made consistent.

An estimated table :math:`\hat t` is what its smaller tables tell, joined with the largest entropy,
:math:`b`, and what it says beyond them, :math:`r = C(\hat t - b)`, where C takes out the mean along
each column. Of r only noise of variance :math:`V = \operatorname{tr} C\Sigma C` is known to be
none of the original, so it is shrunk as James and Stein do,

.. math:: t = b + \left(1 - \frac{V}{\|r\|^2}\right)_+ r ,

and a table whose noise exceeds its signal goes to independence. All tables are then made consistent
(:mod:`pramble.information.consistent`), weighed by their precision.

The law of largest entropy whose tables fit, as one array over all cells, and draws from it.

.. math:: \min_p \sum_k p_k \log p_k + \sum_{T, c \in T} \frac{(m_c(p) - t_c)^2}{2 s_c},
          \qquad s_c = \kappa \frac{v_c}{\bar\sigma},

with :math:`v_c` the variance of the estimated share of cell c, :math:`\bar\sigma` the root of their
mean, and :math:`\kappa` a fixed 0.3: a cell may be off by 0.3 standard errors for each unit
of the log-linear interaction that holds it there. Tables without noise are met exactly. Noisy ones
need not be those of any law, even where they agree with each other two by two.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_keys
from pramble.errors import NotIdentifiable
from pramble.estimation.estimate import estimate
from pramble.estimation.follow.result import Estimate
from pramble.information.consistent import consistent, contrasts
from pramble.information.distributions import Table, as_tables, join_tables, margin_of
from pramble.information.proportional import Margin, fit_array
from pramble.information.structural_zeros import Mask, Possible
from pramble.limits import MOST_WANTED_CELLS
from pramble.values import Clock, Floats, Integers, value

# Tables that a note names.
MOST_LISTED = 12

# Cells of a table up to which the noise of an interaction is taken from the covariance.
MOST_COVARIANCE = 1000

# Variances below it are rounding errors of none.
NO_NOISE = 1e-18


@value(eq=False)
class Shares:
    """Estimated shares of a table's cells, their variances, and the noise of its interaction."""

    shares: Floats
    variances: Floats
    noise: float

    @property
    def possible(self) -> Mask:
        return np.asarray((self.shares != 0) | (self.variances > 0))

    @property
    def standard_error(self) -> float:
        return float(np.sqrt(self.variances.mean()))


def tables_within(tables: Any, columns: Sequence[str]) -> list[Table]:
    """Return the tables that are wanted and all smaller ones within them, small ones first.

    >>> tables_within([("b", "a")], ["a", "b", "c"])
    [('a',), ('b',), ('c',), ('a', 'b')]
    """
    count = isinstance(tables, int) and not isinstance(tables, bool)
    listed = as_tables(min(tables, len(columns)) if count else tables, columns)
    within = {
        part
        for table in listed
        for size in range(1, len(table) + 1)
        for part in combinations(table, size)
    }
    within |= {(name,) for name in columns}
    places = {name: place for place, name in enumerate(columns)}
    return sorted(within, key=lambda table: (len(table), [places[name] for name in table]))


def named_columns(tables: Any) -> list[str]:
    if isinstance(tables, str) or not isinstance(tables, Sequence):
        return []
    parts = [(table,) if isinstance(table, str) else tuple(table) for table in tables]
    return list(dict.fromkeys(name for part in parts for name in part))


def estimated(
    data: Any, plan: Any, wanted: Sequence[Table], *, clock: Clock
) -> tuple[Estimate, dict[Table, Shares], dict[str, tuple[Label, ...]], list[str]]:
    """Return a first estimate, the shares and labels of all tables, and notes on those left out."""
    first: Estimate | None = None
    found: dict[Table, Shares] = {}
    labels: dict[str, tuple[Label, ...]] = {}
    left: list[str] = []
    for done, table in enumerate(wanted):
        clock.tell("estimating", done / len(wanted))
        if len(table) > 1 and any(
            part not in found for part in combinations(table, len(table) - 1)
        ):
            continue
        if math.prod(len(labels[name]) for name in table if len(table) > 1) > MOST_WANTED_CELLS:
            left.append(f"{' with '.join(table)} (more than {MOST_WANTED_CELLS:,} cells)")
            continue
        try:
            own = estimate(data, plan, by=list(table), method="inverse", covers="randomisation")
        except NotIdentifiable:
            if len(table) == 1:
                raise
            left.append(f"{' with '.join(table)} (the plan cannot give it)")
            continue
        first = own if first is None else first
        if len(table) == 1:
            labels[table[0]] = tuple(own.cells[table[0]])
        found[table] = shares_from(own, table, labels)
    assert first is not None, "single columns are always wanted"
    return first, found, labels, note_of("Tables that are not fitted", left)


def note_of(what: str, names: Sequence[str]) -> list[str]:
    """Return a note with some names, if there are any."""
    shown = "; ".join(names[:MOST_LISTED]) + ("; …" if len(names) > MOST_LISTED else "")
    return [f"{what}: {shown}."] if names else []


def shares_from(estimate: Estimate, table: Table, labels: Mapping[str, Sequence[Label]]) -> Shares:
    """Return an estimate as arrays over all cells; cells that it does not list are empty."""
    shape = tuple(len(labels[name]) for name in table)
    cells = cells_among(estimate.cells, table, labels)
    shares, variances = np.zeros(np.prod(shape)), np.zeros(np.prod(shape))
    variances[cells] = estimate.standard_errors**2
    variances[variances < NO_NOISE] = 0.0
    shares[cells] = estimate.probabilities
    shares[(variances == 0) & (np.abs(shares) < np.sqrt(NO_NOISE))] = 0.0
    noise = float(variances.sum())
    if noise and len(table) > 1 and len(cells) <= MOST_COVARIANCE:
        whole = np.zeros((shares.size, shares.size))
        whole[np.ix_(cells, cells)] = estimate.covariance
        noise = interaction_noise(whole, shape)
    return Shares(shares.reshape(shape), variances.reshape(shape), noise)


def cells_among(
    cells: Mapping[str, Sequence[Label]], table: Table, labels: Mapping[str, Sequence[Label]]
) -> Integers:
    """Return where the cells of a table, listed by their labels, stand among all of them.

    >>> cells_among({"a": [1, 1], "b": ["x", "y"]}, ("a", "b"), {"a": [0, 1], "b": ["x", "y"]})
    array([2, 3])
    """
    codes = []
    for name in table:
        place = {key: i for i, key in enumerate(label_keys(labels[name]))}
        codes.append(np.array([place[key] for key in label_keys(cells[name])]))
    return np.asarray(np.ravel_multi_index(tuple(codes), [len(labels[name]) for name in table]))


def interaction_noise(covariance: Floats, shape: tuple[int, ...]) -> float:
    r"""Return :math:`\operatorname{tr} C\Sigma C`: C is a projection, so once from one side.

    >>> round(interaction_noise(np.eye(6), (2, 3)), 9)
    2.0
    """
    size = len(covariance)
    whole = contrasts(covariance.reshape(*shape, size), axes=range(len(shape)))
    return float(np.trace(whole.reshape(size, size)))


def fitted_tables(found: Mapping[Table, Shares]) -> dict[Table, Floats]:
    shrunk: dict[Table, Floats] = {}
    for table in sorted(found, key=len):
        shrunk[table] = shrunken(table, found[table], shrunk)
    return consistent(
        shrunk,
        variances={table: float(own.variances.mean()) for table, own in found.items()},
        possible={table: own.possible for table, own in found.items()},
    )


def shrunken(table: Table, own: Shares, smaller: Mapping[Table, Floats]) -> Floats:
    """Return a table with what it says beyond smaller ones shrunk by how much of it is noise."""
    if len(table) == 1 or not own.noise:
        return own.shares
    shape, size = own.shares.shape, len(table) - 1
    parts = [(part, without_negatives(smaller[part])) for part in combinations(table, size)]
    base = join_tables(shape, table, parts, start=own.possible.astype(np.float64))
    beyond = contrasts(own.shares - base)
    signal = float((beyond**2).sum())
    signal_share = max(0.0, 1 - own.noise / signal) if signal else 0.0
    return np.where(own.possible, base + signal_share * beyond, 0.0)


def without_negatives(table: Floats) -> Floats:
    """Return a table with zero for negative cells; where noise left nothing, all cells alike."""
    found = np.maximum(table, 0.0)
    return found if found.any() else np.full(table.shape, 1 / table.size)


def pair_margins(tables: Mapping[Table, Floats]) -> dict[Table, Floats]:
    return {
        pair: margin_of(own, table, pair)
        for table, own in tables.items()
        for pair in combinations(table, 2)
    }


# The κ above, and the sweeps of a fit: noisy tables are met slowly and need not be met exactly.
SLACK, SWEEPS = 0.3, 60

# A fit ends when no cell of a table moves by more than this part of a standard error.
CLOSE = 0.05

# The same, as a share of all records, where there is no noise.
EXACTLY = 1e-8


def slack_of(found: Mapping[Table, Shares]) -> tuple[dict[Table, Floats], float]:
    variances = np.concatenate([own.variances.ravel() for own in found.values()])
    noisy = variances[variances > 0]
    mean = float(np.sqrt(noisy.mean())) if noisy.size else 0.0
    scale = SLACK / mean if mean else 0.0
    return {table: scale * own.variances for table, own in found.items()}, mean


def fit_distribution(
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
    # cells lie end to end, each as long as its expected number; one is taken at every unit
    ends = cells.ravel() * rows
    np.cumsum(ends, out=ends)
    places = np.searchsorted(ends, rng.random() + np.arange(rows), side="right")
    places = np.minimum(places, np.flatnonzero(cells)[-1])  # rounding of the last end
    places = rng.permutation(places)
    return np.stack(np.unravel_index(places, cells.shape), axis=1).astype(np.int64)
