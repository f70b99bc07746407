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

Chi-square is the distribution for large counts. Where some released cell is expected fewer than
five times, the statistic is compared with that of tables drawn given both margins: whatever the
originals are, if they are independent then every pairing of the released values is equally likely,
so this permutation test is exact for any number of records.

Where the two columns come from branches, or from one block, no table of them is released. With the
unbiased estimate :math:`\hat p` of the two-way table and its margins a and b, :math:`D = \hat p -
ab^\top = (I - a1^\top)\,\hat p\,(I - 1b^\top)`, whose covariance C under independence follows from
that of :math:`\hat p` at the distribution :math:`ab^\top`, randomisation included:

.. math:: X^2 = \operatorname{vec}(D)^\top C^{+} \operatorname{vec}(D) \sim
          \chi^2_{(S-1)(S'-1)} .

Where some released cell is expected fewer than five times, the statistic is compared with those of
releases drawn from :math:`ab^\top` (a parametric bootstrap). Protected tables are tested alike, C
being that of their noise and of sampling.

How strongly the originals depend on each other is Cramér's V, :math:`\sqrt{\phi^2/(\min(S,S')-1)}`
with :math:`\phi^2 = \sum p^2/(ab) - 1` over the cells of the original table. From a release
:math:`\phi^2` is estimated with unbiased squares, :math:`\hat p^2 - \hat V`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pramble.data.recode import Reading
from pramble.errors import InvalidInput
from pramble.estimation.functionals.result import Settings
from pramble.estimation.records.channel_tables import refuse_large_table
from pramble.estimation.records.likelihood import inverse_moments
from pramble.estimation.records.moments import SecondMoments, right_inverses
from pramble.estimation.records.stacked import StackedOperator
from pramble.estimation.records.tabulate import ReleasedSums, measured_of, tabulate
from pramble.estimation.tables.cells import refuse_records, table_answers
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.operators.base import along_axes, apply_axes, category_shape
from pramble.mechanisms.plan import Plan
from pramble.one_thread import one_thread
from pramble.shown import Display, Facts, number
from pramble.values import Floats, frozen

# Expected counts below this are too few for chi-square (Cochran 1954).
RARE = 5

# Tables drawn for a p-value where chi-square does not hold.
DRAWS = 1999

# Numbers that are drawn together, and the share of the largest eigenvalue below which others are
# rounding errors.
LARGEST_BATCH, NEGLIGIBLE = 5_000_000, 1e-9

# Cells of a protected table that is tested.
MOST_TESTED = 5000

# Statistics of tables (…, S, S'), and so many of them under independence.
Statistics = Callable[[Floats], Floats]
Draw = Callable[[int], Floats]


@frozen(repr=False)
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
        NaN where this noise exceeds the strongest dependence there is.
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
    cramers_v_released: float
    n: float

    def shown(self) -> Facts:
        """Return the test, and how strong the dependence is."""
        return Facts(
            f"Test of independence of two columns before randomisation, {self.n:,.0f} records",
            [
                ("statistic", f"{self.statistic:.4g} on {self.degrees_of_freedom}"),
                ("p-value", f"{self.p_value:.3g} ({self.method})"),
                ("Cramér's V", number(self.cramers_v, 3) or "nothing is known"),
                (
                    "of the released values",
                    number(self.cramers_v_released, 3) or "not in one table",
                ),
            ],
        )


def independence_test(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    *,
    columns: Sequence[str],
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
            return from_tables(measured, names)
    tabulated = tabulate(data, plan, by=names, reading=reading)
    is_stacked = any(isinstance(axis, StackedOperator) for axis in tabulated.axes)
    if is_stacked or not all(len(block) == 1 for block in tabulated.mechanisms):
        return from_cells(tabulated)
    return from_released(tabulated)


def from_released(tabulated: ReleasedSums) -> Independence:
    """Return the test of a released table, of its rows and columns that are not empty."""
    whole, n = two_way(tabulated.counts, tabulated, side=1), tabulated.n
    matrices = [m.operator.dense() for m in tabulated.mechanisms.values()]
    matrices = [*map(np.eye, whole.shape[: 2 - len(matrices)]), *matrices]
    seen = whole.sum(axis=1) > 0, whole.sum(axis=0) > 0
    table = whole[np.ix_(*seen)]
    margins = table.sum(axis=1) / n, table.sum(axis=0) / n
    expected = np.outer(*margins)
    Q, other = (
        informative(M[:, own], margin)
        for M, own, margin in zip(matrices, seen, margins, strict=True)
    )

    def residuals(tables: Floats) -> Floats:
        return np.asarray(np.sqrt(n) * (tables / n - expected) / np.sqrt(expected))

    def statistics(tables: Floats) -> Floats:
        return np.asarray(((Q.T @ residuals(tables) @ other) ** 2).sum(axis=(-2, -1)))

    rows, columns = (np.rint(n * margin).astype(np.int64) for margin in margins)
    rng = np.random.default_rng(0)

    def draw(count: int) -> Floats:
        from scipy.stats import random_table

        return np.asarray(random_table(rows, columns).rvs(size=count, random_state=rng))

    moments = inverse_moments(tabulated.axes, tabulated.counts, sampling=1.0)
    pearson = float((residuals(table) ** 2).sum())
    return outcome(
        *(statistics, table, draw),
        freedom=int(Q.shape[1] * other.shape[1]),
        is_rare=n * float(expected.min()) < RARE,
        drawn="permutation",
        p=two_way(moments.p, tabulated, side=0),
        variances=two_way(moments.variances(), tabulated, side=0),
        released=cramers_v(pearson / n, whole.shape),
        n=n,
    )


def informative(M: Floats, margin: Floats) -> Floats:
    """Return an orthonormal basis of the standardised directions that originals can move."""
    moves = ((M[1:] - M[0]) / np.sqrt(margin)).T
    moves -= np.outer(np.sqrt(margin), np.sqrt(margin) @ moves)
    left, values, _ = np.linalg.svd(moves, full_matrices=False)
    return np.asarray(left[:, values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)])


def two_way(cells: Floats, tabulated: ReleasedSums, *, side: int) -> Floats:
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


def from_cells(tabulated: ReleasedSums) -> Independence:
    axes, layout, n = tabulated.axes, tabulated.layout, tabulated.n
    found = inverse_moments(axes, tabulated.counts, sampling=1.0)
    inverses = right_inverses(axes)

    def table(cells: Floats) -> Floats:
        flat = cells.reshape(*cells.shape[: cells.ndim - found.p.ndim], -1)[..., layout.order]
        rows = len(np.unique(layout.codes[layout.by[0]]))
        return flat.reshape(*flat.shape[:-1], rows, -1)

    margins = margins_within(table(found.p))
    p = layout.unflatten(np.outer(*margins).ravel())
    p = p.reshape(len(layout.groups), *category_shape(axes))
    released = apply_axes(axes, p)
    independent = SecondMoments(axes, inverses, p, released, released / n, 1.0)
    covariance = independent.covariance()[np.ix_(layout.order, layout.order)]
    freedom, statistics = residual_statistics(margins, covariance)
    rng, flat = np.random.default_rng(0), np.maximum(released.ravel(), 0.0)

    def draw(count: int) -> Floats:
        drawn = rng.multinomial(round(n), flat / flat.sum(), size=count)
        shares = drawn.reshape(count, *released.shape) / round(n)
        return table(along_axes([one.apply for one in inverses], shares))

    return outcome(
        *(statistics, table(found.p), draw),
        freedom=freedom,
        is_rare=n * float(released[released > 0].min(initial=1.0)) < RARE,
        p=table(found.p),
        variances=table(found.variances()),
        n=n,
    )


def from_tables(measured: Measured, columns: Sequence[str]) -> Independence:
    answers = table_answers(measured, columns, Settings(0.95, "both", None, "inverse"))
    shape, n = answers.shape, answers.n
    refuse_large_table(shape, columns, most=MOST_TESTED)
    cells = answers.unbiased.reshape(shape)
    margins = margins_within(cells)
    independent = replace(answers, p=np.outer(*margins).ravel())
    freedom, statistics = residual_statistics(margins, independent.covariance())
    expected = n * independent.p + n**2 * independent.cell_variances
    rng = np.random.default_rng(1)

    @cache
    def noise() -> Floats:
        """Return what standard normal numbers are multiplied by to be noise."""
        values, vectors = np.linalg.eigh(replace(independent, sampling=0.0).covariance())
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)

    def draw(count: int) -> Floats:
        drawn = rng.multinomial(round(n), independent.p, size=count) / round(n)
        drawn += rng.standard_normal((count, len(independent.p))) @ noise()
        return np.asarray(drawn.reshape(count, *shape))

    inside = np.clip(cells, 0.0, 1.0)
    return outcome(
        *(statistics, cells, draw),
        freedom=freedom,
        is_rare=bool(expected.min() < RARE),
        p=cells,
        variances=answers.cell_variances.reshape(shape) + inside * (1 - inside) / n,
        n=n,
    )


def margins_within(cells: Floats) -> tuple[Floats, Floats]:
    rows, columns = (np.maximum(cells.sum(axis=axis), 0.0) for axis in (1, 0))
    return rows / rows.sum(), columns / columns.sum()


def residual_statistics(
    margins: tuple[Floats, Floats], covariance: Floats
) -> tuple[int, Statistics]:
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


def outcome(
    statistics: Statistics,
    table: Floats,
    draw: Draw,
    *,
    freedom: int,
    is_rare: bool,
    p: Floats,
    variances: Floats,
    n: float,
    released: float = float("nan"),
    drawn: str = "bootstrap",
) -> Independence:
    """Return a test, with the strength of dependence in the estimated table p."""
    from scipy.special import chdtrc

    statistic, is_rare = float(statistics(table)), is_rare and freedom > 0
    p_value = float(chdtrc(freedom, statistic)) if freedom else 1.0
    if is_rare:
        step, farther = max(LARGEST_BATCH // table.size, 1), 0
        for first in range(0, DRAWS, step):
            found = statistics(draw(min(step, DRAWS - first)))
            farther += int((found >= statistic * (1 - 1e-9)).sum())
        p_value = (1 + farther) / (1 + DRAWS)
    a, b = (np.maximum(p.sum(axis=axis), 0.0) for axis in (1, 0))
    whole = np.outer(a, b)
    squares, noise = (
        np.divide(own, whole, out=np.zeros_like(p), where=whole > 0)
        for own in (p**2 - variances, variances)
    )
    # the deviation of a sum of squares of normal noise
    is_known = np.sqrt(2 * (noise**2).sum()) < max(min(p.shape) - 1, 1)
    return Independence(
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=p_value,
        method=drawn if is_rare else "chi-square",
        cramers_v=cramers_v(float(squares.sum() - 1), p.shape) if is_known else float("nan"),
        cramers_v_released=released,
        n=n,
    )


def cramers_v(contingency: float, shape: tuple[int, ...]) -> float:
    return float(np.sqrt(min(max(contingency, 0.0) / max(min(shape) - 1, 1), 1.0)))
