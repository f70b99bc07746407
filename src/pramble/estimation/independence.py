r"""Tests of independence of two columns, right when they were randomised.

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

Where the two columns come from branches, or from one block, no table of them is released. With the
unbiased estimate :math:`\hat p` of the two-way table and its margins a and b, :math:`D = \hat p -
ab^\top = (I - a1^\top)\,\hat p\,(I - 1b^\top)`, whose covariance C under independence follows from
that of :math:`\hat p` at the law :math:`ab^\top`, randomisation included:

.. math:: X^2 = \operatorname{vec}(D)^\top C^{+} \operatorname{vec}(D) \sim
          \chi^2_{(S-1)(S'-1)} .

Where some released cell is expected fewer than five times, the statistic is compared with those of
releases drawn from :math:`ab^\top` (a parametric bootstrap). Protected tables are tested alike, C
being that of their noise and of sampling.

How strongly the originals depend on each other is Cramér's V, :math:`\sqrt{\phi^2/(\min(S,S')-1)}`
with :math:`\phi^2 = \sum p^2/(ab) - 1` over the cells of the original table. From a release
:math:`\phi^2` is estimated with unbiased squares, :math:`\hat p^2 - \hat V`. Its law is skewed and
far from normal where dependence is weak, so the interval inverts a test: for every strength t the
law of the estimate is simulated around

.. math:: p_t = ab + t\,(\hat p - ab), \qquad V(p_t) = t\,V(\hat p) ,

with normal noise of the estimated covariance, and t is kept when the estimate found is neither
among the largest nor among the smallest of its law.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from pramble.data.recode import Reading
from pramble.errors import InvalidInput
from pramble.estimation.follow.result import Settings
from pramble.estimation.inverse.channel_tables import refuse_large_table
from pramble.estimation.inverse.intervals import check_level
from pramble.estimation.inverse.likelihood import inverse_moments
from pramble.estimation.inverse.moments import SecondMoments, normal_draws, right_inverses
from pramble.estimation.inverse.stacked import StackedOperator
from pramble.estimation.inverse.tabulate import Tabulated, measured_of, tabulate
from pramble.estimation.tables.cells import TableAnswers, refuse_records, table_answers
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.operators.base import along_axes, apply_axes, category_shape
from pramble.mechanisms.plan import Plan
from pramble.one_thread import one_thread
from pramble.shown import Display, Facts, number
from pramble.values import Floats, Integers, value

# Expected counts below this are too few for chi-square (Cochran 1954).
RARE = 5

# Tables drawn for a p-value where chi-square does not hold.
DRAWS = 1999

# Numbers that are drawn together, and the share of the largest eigenvalue below which others are
# rounding errors.
LARGEST_BATCH, NEGLIGIBLE = 5_000_000, 1e-9

# Cells of a protected table that is tested.
MOST_TESTED = 5000

# Draws of the noise for an interval of strength, fewer where they would take more numbers than
# this, and the cells up to which there is one: it takes the square of their number.
STRENGTH_DRAWS, MOST_NUMBERS, LARGEST_TABLE = 2000, 20_000_000, 2500

# Halvings of the search for an end, and the strength beyond which it is not looked for.
HALVINGS, STRONGEST = 30, 2.0**20


@value(eq=False)
class DependenceTest:
    """A statistic that is chi-square under independence, and draws of it where counts are rare."""

    statistic: float
    freedom: int
    is_rare: bool  # Whether some cell is expected too seldom for chi-square to hold
    draw: Callable[[int], Floats]  # So many statistics of independent columns
    width: int  # The numbers that each takes

    def p_value(self) -> float:
        from scipy.special import chdtrc

        if not self.freedom:
            return 1.0
        if not self.is_rare:
            return float(chdtrc(self.freedom, self.statistic))
        step, farther = max(LARGEST_BATCH // self.width, 1), 0
        for first in range(0, DRAWS, step):
            drawn = self.draw(min(step, DRAWS - first))
            farther += int((drawn >= self.statistic * (1 - 1e-9)).sum())
        return (1 + farther) / (1 + DRAWS)


def margins_within(cells: Floats) -> tuple[Floats, Floats]:
    """Return the shares of rows and columns of a two-way table, none negative."""
    rows, columns = (np.maximum(cells.sum(axis=axis), 0.0) for axis in (1, 0))
    return rows / rows.sum(), columns / columns.sum()


def residual_statistics(
    margins: tuple[Floats, Floats], covariance: Floats
) -> tuple[int, Callable[[Floats], Floats]]:
    """Return the rank of D under independence, and the statistic of tables with a covariance."""
    J = np.kron(*(np.eye(len(m)) - np.outer(m, np.ones(len(m))) for m in margins))
    values, vectors = np.linalg.eigh(J @ covariance @ J.T)
    most = (len(margins[0]) - 1) * (len(margins[1]) - 1)
    large = np.flatnonzero(values > NEGLIGIBLE * max(values[-1], 1e-300))
    used = large[max(len(large) - most, 0) :]
    scores = (vectors[:, used] / np.sqrt(values[used])).T

    def statistics(tables: Floats) -> Floats:
        expected = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
        residuals = (tables - expected).reshape(*tables.shape[:-2], -1)
        return np.asarray(((residuals @ scores.T) ** 2).sum(axis=-1))

    return len(scores), statistics


def two_way_cells(cells: Floats, tabulated: Tabulated) -> Floats:
    """Return cells (…, R, S1, …) as two-way tables in the order of the columns asked for."""
    layout, depth = tabulated.layout, 1 + len(tabulated.axes)
    flat = cells.reshape(*cells.shape[: cells.ndim - depth], -1)[..., layout.order]
    rows = len(np.unique(layout.codes[layout.by[0]]))
    return flat.reshape(*flat.shape[:-1], rows, -1)


def cells_test(tabulated: Tabulated, cells: Floats) -> DependenceTest:
    """Return the test from estimated cells, for plans of branches and blocks."""
    axes, layout, n = tabulated.axes, tabulated.layout, tabulated.n
    margins = margins_within(cells)
    p = layout.unflatten(np.outer(*margins).ravel())
    p = p.reshape(len(layout.groups), *category_shape(axes))
    released, inverses = apply_axes(axes, p), right_inverses(axes)
    independent = SecondMoments(axes, inverses, p, released, released / n, 1.0)
    covariance = independent.covariance()[np.ix_(layout.order, layout.order)]
    freedom, statistics = residual_statistics(margins, covariance)
    rng, flat = np.random.default_rng(0), np.maximum(released.ravel(), 0.0)

    def draw(count: int) -> Floats:
        drawn = rng.multinomial(round(n), flat / flat.sum(), size=count)
        shares = drawn.reshape(count, *released.shape) / round(n)
        found = along_axes([one.apply for one in inverses], shares)
        return statistics(two_way_cells(found, tabulated))

    is_rare = freedom > 0 and n * float(released[released > 0].min(initial=1.0)) < RARE
    return DependenceTest(float(statistics(cells)), freedom, is_rare, draw, flat.size)


def tables_test(answers: TableAnswers, cells: Floats) -> DependenceTest:
    """Return the test from a protected table."""
    margins = margins_within(cells)
    independent, n = replace(answers, p=np.outer(*margins).ravel()), answers.n
    freedom, statistics = residual_statistics(margins, independent.covariance())
    expected = n * independent.p + n**2 * independent.cell_variances
    rng = np.random.default_rng(1)

    @cache
    def noise() -> Iterator[Floats]:
        return iter(normal_draws(replace(independent, sampling=0.0).covariance(), draws=DRAWS))

    def draw(count: int) -> Floats:
        drawn = rng.multinomial(round(n), independent.p, size=count) / round(n)
        drawn += np.array(list(islice(noise(), count)))
        return statistics(drawn.reshape(count, *cells.shape))

    is_rare = bool(expected.min() < RARE)
    return DependenceTest(float(statistics(cells)), freedom, is_rare, draw, cells.size)


def released_test(
    table: Floats, margins: tuple[Floats, Floats], matrices: Sequence[Floats]
) -> DependenceTest:
    """Return the test of a released table without empty rows and columns."""
    n, expected = float(table.sum()), np.outer(*margins)
    Q, other = (informative(M, margin) for M, margin in zip(matrices, margins, strict=True))

    def statistics(tables: Floats) -> Floats:
        used = Q.T @ standardised(tables, expected) @ other
        return np.asarray((used**2).sum(axis=(-2, -1)))

    rows, columns = (np.rint(n * margin).astype(np.int64) for margin in margins)
    rng = np.random.default_rng(0)

    def draw(count: int) -> Floats:
        from scipy.stats import random_table

        tables = random_table(rows, columns).rvs(size=count, random_state=rng)
        return statistics(tables.reshape(count, *table.shape))

    freedom = int(Q.shape[1] * other.shape[1])
    is_rare = freedom > 0 and n * float(expected.min()) < RARE
    return DependenceTest(float(statistics(table)), freedom, is_rare, draw, table.size)


def standardised(tables: Floats, expected: Floats) -> Floats:
    """Return the residuals R of tables of counts, all of one size."""
    n = float(tables.sum(axis=(-2, -1)).flat[0])
    return np.asarray(np.sqrt(n) * (tables / n - expected) / np.sqrt(expected))


def informative(M: Floats, margin: Floats) -> Floats:
    """Return an orthonormal basis of the standardised directions that originals can move."""
    moves = ((M[1:] - M[0]) / np.sqrt(margin)).T
    moves -= np.outer(np.sqrt(margin), np.sqrt(margin) @ moves)
    left, values, _ = np.linalg.svd(moves, full_matrices=False)
    return np.asarray(left[:, values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)])


def cramers_v(contingency: float, shape: tuple[int, ...]) -> float:
    """Return Cramér's V of a mean square contingency, within 0 and 1."""
    return float(np.sqrt(min(max(contingency, 0.0) / max(min(shape) - 1, 1), 1.0)))


def unbiased_contingency(p: Floats, variances: Floats) -> Floats:
    r"""Return :math:`\sum (\hat p^2 - \hat V)/(a b) - 1` over cells with positive margins.

    ``p`` may hold many tables, on its first axes.
    """
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    expected = np.maximum(rows, 0)[..., :, None] * np.maximum(columns, 0)[..., None, :]
    squares = np.divide(p**2 - variances, expected, out=np.zeros_like(p), where=expected > 0)
    return np.asarray(squares.sum(axis=(-2, -1)) - 1)


def v_interval(
    p: Floats, variances: Floats, covariance: Callable[[], Floats], *, level: float
) -> tuple[float, float]:
    """Return an interval for Cramér's V of the originals; NaN for tables too large for it.

    Rows and columns are taken in the order of their shares, so that the interval does not depend
    on how levels are listed.
    """
    cells = np.arange(p.size).reshape(p.shape)
    order = cells[by_size(p)][:, by_size(p.T)]
    p, variances = p.ravel()[order], variances.ravel()[order]
    if p.size > LARGEST_TABLE or min(p.shape) < 2:
        return float("nan"), float("nan")
    found = float(unbiased_contingency(p, variances))
    margins = [np.maximum(p.sum(axis=1), 0), np.maximum(p.sum(axis=0), 0)]
    independent = np.outer(margins[0] / margins[0].sum(), margins[1] / margins[1].sum())
    draws = max(min(STRENGTH_DRAWS, MOST_NUMBERS // p.size), 200)
    noise = normal_draws(covariance()[np.ix_(order.ravel(), order.ravel())], draws=draws)
    noise = noise.reshape(-1, *p.shape)
    direction = p - independent
    used = independent > 0
    strength = float((direction[used] ** 2 / independent[used]).sum())
    if strength == 0:
        return 0.0, 0.0

    def share_below(t: float) -> float:
        tables = independent + t * direction + noise
        return float((unbiased_contingency(tables, variances) < found).mean())

    tail = (1 - level) / 2
    ends = (strongest(share_below, 1 - tail), strongest(share_below, tail))
    lower, upper = (cramers_v(t**2 * strength, p.shape) for t in ends)
    best = cramers_v(found, p.shape)
    return min(lower, best), max(upper, best)


def by_size(rows: Floats) -> Integers:
    """Return the places of rows in the order of their sums, and of their squares where those tie.

    >>> by_size(np.array([[0.3, 0.2], [0.1, 0.4], [0.0, 0.0]]))
    array([2, 0, 1])
    """
    return np.lexsort((np.round((rows**2).sum(axis=1), 12), np.round(rows.sum(axis=1), 12)))


def strongest(share_below: Callable[[float], float], share: float) -> float:
    """Return the largest t for which at least that share of estimates would be smaller; 0 if none.

    The share falls with t.
    """
    if share_below(0.0) < share:
        return 0.0
    low, high = 0.0, 1.0
    while share_below(high) >= share and high < STRONGEST:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if share_below(middle) >= share:
            low = middle
        else:
            high = middle
    return low


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
    level, measured = check_level(level), measured_of(data)
    if measured is not None:
        refuse_records(plan=plan, reading=reading)
        with one_thread():
            return from_tables(measured, names, level=level)
    tabulated = tabulate(data, plan, by=names, reading=reading)
    moments = inverse_moments(tabulated.axes, tabulated.counts, sampling=1.0)
    is_stacked = any(isinstance(axis, StackedOperator) for axis in tabulated.axes)
    if is_stacked or not all(len(block) == 1 for block in tabulated.mechanisms):
        order = tabulated.layout.order
        p, variances = (two_way_cells(own, tabulated) for own in (moments.p, moments.variances()))
        return outcome(
            cells_test(tabulated, p),
            p,
            variances,
            lambda: moments.covariance()[np.ix_(order, order)],
            level=level,
            n=tabulated.n,
        )
    return from_released(tabulated, moments, level=level)


def from_released(tabulated: Tabulated, moments: SecondMoments, *, level: float) -> Independence:
    table = two_way(tabulated.counts, tabulated, side=1)
    matrices = [m.operator.dense() for m in tabulated.mechanisms.values()]
    matrices = [*map(np.eye, table.shape[: 2 - len(matrices)]), *matrices]
    seen = table.sum(axis=1) > 0, table.sum(axis=0) > 0
    occurring, n = table[np.ix_(*seen)], float(table.sum())
    margins = occurring.sum(axis=1) / n, occurring.sum(axis=0) / n
    pearson = float((standardised(occurring, np.outer(*margins)) ** 2).sum())

    def covariance() -> Floats:
        """Absent combinations have none."""
        place = np.flatnonzero(two_way(np.ones_like(moments.p), tabulated, side=0))
        answer = np.zeros((p.size, p.size))
        answer[np.ix_(place, place)] = moments.covariance()
        return answer

    p = two_way(moments.p, tabulated, side=0)
    return outcome(
        released_test(occurring, margins, [M[:, z] for M, z in zip(matrices, seen, strict=True)]),
        p,
        two_way(moments.variances(), tabulated, side=0),
        covariance,
        level=level,
        n=tabulated.n,
        released=cramers_v(pearson / tabulated.n, table.shape),
        drawn="permutation",
    )


def from_tables(measured: Measured, columns: Sequence[str], *, level: float) -> Independence:
    answers = table_answers(measured, columns, Settings(level, "both", None, "inverse"))
    refuse_large_table(answers.noise.shape, columns, most=MOST_TESTED)
    cells = answers.unbiased.reshape(answers.noise.shape)
    inside = np.clip(cells, 0.0, 1.0)
    noise = answers.cell_variances.reshape(cells.shape)
    variances = noise + answers.sampling * inside * (1 - inside) / answers.n
    test = tables_test(answers, cells)
    return outcome(test, cells, variances, answers.covariance, level=level, n=answers.n)


def outcome(
    test: DependenceTest,
    p: Floats,
    variances: Floats,
    covariance: Callable[[], Floats],
    *,
    level: float,
    n: float,
    released: float = float("nan"),
    drawn: str = "bootstrap",
) -> Independence:
    """Return a test with the strength of dependence in the estimated table p."""
    interval = v_interval(p, variances, covariance, level=level)
    found = cramers_v(float(unbiased_contingency(p, variances)), p.shape)
    return Independence(
        statistic=test.statistic,
        degrees_of_freedom=test.freedom,
        p_value=test.p_value(),
        method=drawn if test.is_rare else "chi-square",
        cramers_v=float("nan") if interval == (0.0, 1.0) else found,
        cramers_v_interval=interval,
        cramers_v_released=released,
        level=level,
        n=n,
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
