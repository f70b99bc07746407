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
*estimated* table is wrong: it takes the noise of the estimate for dependence. The strength of the
dependence is that of the originals, Cramér's V, from unbiased squares of the estimated cells.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.reading import Reading
from pramble.errors import InvalidInput
from pramble.estimation.fit.fit import inverse_moments
from pramble.estimation.layout import Layout
from pramble.estimation.tabulate import tabulate
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.values import Floats, value


@value
class Independence:
    """The outcome of a test of independence.

    Attributes
    ----------
    statistic, degrees_of_freedom, p_value : float, int, float
        The chi-square statistic, and how likely a larger one is when the originals are independent.
    cramers_v : float
        Strength of the dependence of the originals, 0 to 1, corrected for the noise of the release.
    cramers_v_released : float
        The same for the released columns as they are: weaker, since randomisation hides
        dependence.
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
    cramers_v: float
    cramers_v_released: float
    n: float


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

    (:mod:`pramble.estimation.independence`). The level is right whatever the mechanisms; Pearson's
    statistic of an estimated table is not, it rejects nearly always.

    Parameters
    ----------
    data, plan
        A file or frame and its plan, or an opened release, as `pramble.estimate` takes them.
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
    from scipy.special import chdtrc

    names = list(columns)
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidInput(f"columns must name two different columns; found {names!r}.")
    tabulated = tabulate(data, plan, by=names, reading=reading)
    layout = tabulated.layout
    table = two_way(tabulated.counts, layout, side=1)
    matrices = [m.operator.dense() for m in layout.randomised.values()]
    matrices = [*map(np.eye, table.shape[: 2 - len(matrices)]), *matrices]
    statistic, freedom, pearson = chi_square(table, matrices)
    moments = inverse_moments(layout.axes, tabulated.counts, sampling=1.0)
    p, variances = (two_way(cells, layout, side=0) for cells in (moments.p, moments.variances()))
    return Independence(
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=float(chdtrc(freedom, statistic)) if freedom else 1.0,
        cramers_v=cramers_v(unbiased_contingency(p, variances), p.shape),
        cramers_v_released=cramers_v(pearson / tabulated.n, table.shape),
        n=tabulated.n,
    )


def two_way(cells: Floats, layout: Layout, *, side: int) -> Floats:
    """Return cells over categories (side 0) or outputs (side 1) as a two-way table.

    Untouched columns come first, with the labels that occur; absent combinations are 0.
    """
    sizes = [m.shape[side] for m in layout.randomised.values()]
    if sizes:
        return cells.reshape(-1, sizes[-1])
    rows, columns = (np.unique(codes, return_inverse=True)[1] for codes in layout.groups.T)
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    table[rows, columns] = cells
    return table


def chi_square(table: Floats, matrices: Sequence[Floats]) -> tuple[float, int, float]:
    """Return the statistic, its degrees of freedom, and Pearson's statistic of the table."""
    n = table.sum()
    seen = [table.sum(axis=1) > 0, table.sum(axis=0) > 0]
    shares = table[np.ix_(*seen)] / n
    margins = [shares.sum(axis=1), shares.sum(axis=0)]
    expected = np.outer(*margins)
    R = np.sqrt(n) * (shares - expected) / np.sqrt(expected)
    Q = [
        informative(M[:, columns], margin)
        for M, columns, margin in zip(matrices, seen, margins, strict=True)
    ]
    kept = Q[0].T @ R @ Q[1]
    return float((kept**2).sum()), Q[0].shape[1] * Q[1].shape[1], float((R**2).sum())


def informative(M: Floats, margin: Floats) -> Floats:
    """Return an orthonormal basis of the standardised directions that originals can move."""
    moves = ((M[1:] - M[0]) / np.sqrt(margin)).T
    moves -= np.outer(np.sqrt(margin), np.sqrt(margin) @ moves)
    left, values, _ = np.linalg.svd(moves, full_matrices=False)
    return np.asarray(left[:, values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)])


def unbiased_contingency(p: Floats, variances: Floats) -> float:
    r"""Return :math:`\sum (\hat p^2 - \hat V)/(a b) - 1` over cells with positive margins."""
    squares = p**2 - variances
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    rows, columns = p.sum(axis=1) > 0, p.sum(axis=0) > 0
    used = np.ix_(rows, columns)
    return float((squares[used] / expected[used]).sum() - 1)


def cramers_v(contingency: float, shape: tuple[int, ...]) -> float:
    """Return Cramér's V of a mean square contingency, within 0 and 1."""
    return float(np.sqrt(min(max(contingency, 0.0) / max(min(shape) - 1, 1), 1.0)))
