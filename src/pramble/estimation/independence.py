r"""A test of independence of two columns, right when they were randomised.

If the originals are independent, so are the released columns, and then the matrix of standardised
residuals :math:`R_{zz'} = \sqrt n\,(\hat c_{zz'} - r_z r'_{z'})/\sqrt{r_z r'_{z'}}` is normal noise
on the directions orthogonal to :math:`\sqrt r` and :math:`\sqrt{r'}`. A dependence of the
originals can only show in :math:`D^{-1/2} M^\top v` with v summing to zero, on either side. With Q
and Q' orthonormal bases of these spaces,

.. math:: X^2 = \lVert Q^\top R\, Q' \rVert^2 \sim \chi^2_{\operatorname{rank} Q \cdot
          \operatorname{rank} Q'} .

For invertible mechanisms this is Pearson's statistic of the *released* table; with more outputs
than categories it leaves out directions that hold only noise. Pearson's statistic of the
*estimated* table is wrong: it takes the noise of the estimate for dependence.

Chi-square is the law for large counts. Where some released cell is expected fewer than
five times, the statistic is compared with that of tables drawn given both margins: whatever the
originals are, if they are independent then every pairing of the released values is equally likely,
so this permutation test is exact for any number of records.

Where the two columns come from branches, or from one block, the test is that of the estimated cells
with their covariance (:mod:`pramble.estimation.follow.dependence`); so is that of protected tables
(:mod:`pramble.estimation.tables.dependence`).

The strength of the dependence is that of the originals
(:mod:`pramble.estimation.follow.dependence`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.reading import Reading
from pramble.errors import InvalidInput
from pramble.estimation.follow.dependence import (
    MomentTest,
    cramers_v,
    unbiased_contingency,
    v_interval,
)
from pramble.estimation.follow.result import Settings
from pramble.estimation.inverse.intervals import check_level
from pramble.estimation.inverse.layout import Tabulated, refuse_many
from pramble.estimation.inverse.likelihood import inverse_moments
from pramble.estimation.inverse.moments import SecondMoments
from pramble.estimation.inverse.stacked import StackedOperator
from pramble.estimation.inverse.tabulate import tabulate
from pramble.estimation.tables.cells import measured_of, refuse_records, table_answers
from pramble.estimation.tables.dependence import TableTest
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.plan import Plan
from pramble.one_thread import one_thread
from pramble.shown import Display, Facts, number
from pramble.values import Floats, value

RARE = 5
"""Expected counts below this are too few for chi-square (Cochran 1954)."""
PERMUTATIONS = 1999
MOST_TESTED = 5000
"""Cells of a protected table that is tested."""

LARGEST_BATCH = 5_000_000


@value(repr=False)
class Independence(Display):
    """The outcome of a test of independence.

    Attributes
    ----------
    statistic, degrees_of_freedom, p_value : float, int, float
        The chi-square statistic, and how likely one as large is when the originals are independent.
    method : {"chi-square", "permutation", "bootstrap"}
        Where the p-value comes from: tables drawn given both margins, 1,999 of them, where some
        cell is expected fewer than five times; it is then at least 1/2000. With branches or blocks
        of several columns, and for protected tables, as many releases of independent columns.
    cramers_v : float
        Strength of the dependence of the originals, 0 to 1, corrected for the noise of the release;
        NaN where its interval is all of [0, 1].
    cramers_v_interval : pair of float
        Its interval of the confidence ``level``; NaN for tables of more than 2,500 cells.
    cramers_v_released : float
        The same for the released columns as they are: weaker, since randomisation hides
        dependence. NaN where no one table of them is released.
    n : float
        Number of records.

    Examples
    --------
    >>> import pramble
    >>> plan = {"x": pramble.randomized_response(2, 2.0), "y": pramble.randomized_response(2, 2.0)}
    >>> frame = {"x": [0] * 100 + [1] * 100, "y": [0] * 80 + [1] * 100 + [0] * 20}
    >>> test = pramble.independence_test(frame, plan, columns=["x", "y"])
    >>> type(test).__name__, test.degrees_of_freedom, round(test.statistic, 2)
    ('Independence', 1, 72.0)
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    method: str
    cramers_v: float
    cramers_v_interval: tuple[float, float]
    cramers_v_released: float
    level: float
    n: float

    def shown(self) -> Facts:
        """Return the test, and how strong the dependence is."""
        low, high = self.cramers_v_interval
        strength = (
            f"nothing is known: {number(low, 3)} to {number(high, 3)}"
            if math.isnan(self.cramers_v)
            else f"{number(self.cramers_v, 3)}, {100 * self.level:g} % from {number(low, 3)} to "
            f"{number(high, 3)}"
        )
        released = number(self.cramers_v_released, 3) or "not in one table"
        return Facts(
            f"Test of independence of two columns before randomisation, {self.n:,.0f} records",
            [
                ("statistic", f"{self.statistic:.4g} on {self.degrees_of_freedom}"),
                ("p-value", f"{self.p_value:.3g} ({self.method})"),
                ("Cramér's V", strength),
                ("of the released values", released),
            ],
        )


def independence_test(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    *,
    columns: Sequence[str],
    level: float = 0.95,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Independence:
    r"""Test whether two columns of a release, randomised or not, were independent before.

    .. math:: H_0 : p_{xy} = a_x b_y \qquad X^2 = \lVert Q^\top R\, Q' \rVert^2
              \sim \chi^2_{(S-1)(S'-1)} \text{ under } H_0

    (:mod:`pramble.estimation.independence`), or by an exact permutation test where some released
    cell is expected fewer than five times. Pearson's statistic of an estimated table rejects nearly
    always.

    Parameters
    ----------
    data, plan
        A file or frame and its plan, an opened release, or protected tables, as `pramble.estimate`
        takes them.
    columns : two names
    level : float
        Confidence level of the interval for Cramér's V.
    reading : Reading or mapping, optional
        How to read a file.

    Returns
    -------
    Independence

    Examples
    --------
    >>> import pramble
    >>> plan = {"x": pramble.randomized_response(2, 2.0)}
    >>> frame = {"x": [0, 0, 1, 1] * 100, "y": ["u", "v", "u", "v"] * 100}
    >>> test = pramble.independence_test(frame, plan, columns=["x", "y"])
    >>> test.p_value, test.cramers_v
    (1.0, 0.0)
    """
    names = list(columns)
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidInput(f"columns must name two different columns; found {names!r}.")
    measured = measured_of(data)
    if measured is not None:
        refuse_records(plan=plan, reading=reading)
        with one_thread():
            return from_tables(measured, names, level=check_level(level))
    tabulated = tabulate(data, plan, by=names, reading=reading)
    if not all(len(block) == 1 for block in tabulated.mechanisms) or is_stacked(tabulated):
        return from_moments(tabulated, level=check_level(level))
    table = two_way(tabulated.counts, tabulated, side=1)
    matrices = [m.operator.dense() for m in tabulated.mechanisms.values()]
    matrices = [*map(np.eye, table.shape[: 2 - len(matrices)]), *matrices]
    shape, seen = table.shape, (table.sum(axis=1) > 0, table.sum(axis=0) > 0)
    table = table[np.ix_(*seen)]
    released = released_table(table, [M[:, z] for M, z in zip(matrices, seen, strict=True)])
    statistic, rare = float(released.statistics(table[None])[0]), released.is_rare
    moments = inverse_moments(tabulated.axes, tabulated.counts, sampling=1.0)
    p, variances = (two_way(cells, tabulated, side=0) for cells in (moments.p, moments.variances()))
    interval = v_interval(
        p, variances, lambda: two_way_covariance(moments, tabulated), level=check_level(level)
    )
    return Independence(
        statistic=statistic,
        degrees_of_freedom=released.freedom,
        p_value=released.permuted(statistic) if rare else released.by_chi_square(statistic),
        method="permutation" if rare else "chi-square",
        cramers_v=known_v(p, variances, interval),
        cramers_v_interval=interval,
        cramers_v_released=cramers_v(released.pearson(table) / tabulated.n, shape),
        level=level,
        n=tabulated.n,
    )


def known_v(p: Floats, variances: Floats, interval: tuple[float, float]) -> float:
    """Return Cramér's V of the originals; not a number where it may be anything."""
    if interval == (0.0, 1.0):
        return float("nan")
    return cramers_v(float(unbiased_contingency(p, variances)), p.shape)


def is_stacked(tabulated: Tabulated) -> bool:
    return any(isinstance(axis, StackedOperator) for axis in tabulated.axes)


def from_moments(tabulated: Tabulated, *, level: float) -> Independence:
    """Return the test from estimated cells, for plans of branches and blocks."""
    test = MomentTest(tabulated)
    moments = inverse_moments(tabulated.axes, tabulated.counts, sampling=1.0)
    order = tabulated.layout.order
    p, variances = test.cells, test.two_way(moments.variances())
    interval = v_interval(
        p, variances, lambda: moments.covariance()[np.ix_(order, order)], level=level
    )
    return Independence(
        statistic=test.statistic,
        degrees_of_freedom=test.freedom,
        p_value=test.p_value(),
        method="bootstrap" if test.is_rare else "chi-square",
        cramers_v=known_v(p, variances, interval),
        cramers_v_interval=interval,
        cramers_v_released=float("nan"),
        level=level,
        n=tabulated.n,
    )


def from_tables(measured: Measured, columns: Sequence[str], *, level: float) -> Independence:
    answers = table_answers(measured, columns, Settings(level, "both", None, "inverse"))
    refuse_many(answers.noise.shape, columns, most=MOST_TESTED)
    test = TableTest(answers)
    p, variances = test.cells, test.variances
    interval = v_interval(p, variances, answers.covariance, level=level)
    return Independence(
        statistic=test.statistic,
        degrees_of_freedom=test.freedom,
        p_value=test.p_value(),
        method="bootstrap" if test.is_rare else "chi-square",
        cramers_v=known_v(p, variances, interval),
        cramers_v_interval=interval,
        cramers_v_released=float("nan"),
        level=level,
        n=answers.n,
    )


def two_way(cells: Floats, tabulated: Tabulated, *, side: int) -> Floats:
    """Return cells over categories (side 0) or outputs (side 1) as a two-way table.

    Untouched columns come first, with the labels that occur; absent combinations are 0.
    """
    sizes = [m.shape[side] for m in tabulated.mechanisms.values()]
    if sizes:
        return cells.reshape(-1, sizes[-1])
    rows, columns = (
        np.unique(codes, return_inverse=True)[1] for codes in tabulated.layout.groups.T
    )
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    table[rows, columns] = cells
    return table


def two_way_covariance(moments: SecondMoments, tabulated: Tabulated) -> Floats:
    """Return the covariance of the cells of the two-way table; absent combinations have none."""
    own = moments.covariance()
    place = np.flatnonzero(two_way(np.ones_like(moments.p), tabulated, side=0))
    size = two_way(moments.p, tabulated, side=0).size
    if size == len(own):
        return own
    answer = np.zeros((size, size))
    answer[np.ix_(place, place)] = own
    return answer


@value(eq=False)
class ReleasedTable:
    """The margins of a released table, and where dependence of the originals can show."""

    n: float
    margins: tuple[Floats, Floats]  # Shares of the outputs that occur
    bases: tuple[Floats, Floats]  # Q and Q'

    @property
    def freedom(self) -> int:
        return int(self.bases[0].shape[1] * self.bases[1].shape[1])

    @property
    def is_rare(self) -> bool:
        """Whether some cell is expected too seldom for chi-square to hold."""
        return self.freedom > 0 and self.n * float(np.outer(*self.margins).min()) < RARE

    def residuals(self, tables: Floats) -> Floats:
        expected = np.outer(*self.margins)
        return np.asarray(np.sqrt(self.n) * (tables / self.n - expected) / np.sqrt(expected))

    def pearson(self, table: Floats) -> float:
        return float((self.residuals(table[None]) ** 2).sum())

    def statistics(self, tables: Floats) -> Floats:
        kept = self.bases[0].T @ self.residuals(tables) @ self.bases[1]
        return np.asarray((kept**2).sum(axis=(1, 2)))

    def by_chi_square(self, statistic: float) -> float:
        from scipy.special import chdtrc

        return float(chdtrc(self.freedom, statistic)) if self.freedom else 1.0

    def permuted(self, statistic: float) -> float:
        """Return the share of tables with these margins, this one among them, as far off."""
        from scipy.stats import random_table

        rows, columns = (np.rint(self.n * margin).astype(np.int64) for margin in self.margins)
        law, rng = random_table(rows, columns), np.random.default_rng(0)
        step = max(LARGEST_BATCH // (len(rows) * len(columns)), 1)
        farther = 0
        for first in range(0, PERMUTATIONS, step):
            count = min(step, PERMUTATIONS - first)
            drawn = law.rvs(size=count, random_state=rng).reshape(count, len(rows), -1)
            farther += int((self.statistics(drawn) >= statistic * (1 - 1e-9)).sum())
        return (1 + farther) / (1 + PERMUTATIONS)


def released_table(table: Floats, matrices: Sequence[Floats]) -> ReleasedTable:
    """Return what a test needs to know of a table without empty rows and columns."""
    n = float(table.sum())
    rows, columns = table.sum(axis=1) / n, table.sum(axis=0) / n
    bases = informative(matrices[0], rows), informative(matrices[1], columns)
    return ReleasedTable(n, (rows, columns), bases)


def informative(M: Floats, margin: Floats) -> Floats:
    """Return an orthonormal basis of the standardised directions that originals can move."""
    moves = ((M[1:] - M[0]) / np.sqrt(margin)).T
    moves -= np.outer(np.sqrt(margin), np.sqrt(margin) @ moves)
    left, values, _ = np.linalg.svd(moves, full_matrices=False)
    return np.asarray(left[:, values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)])
