"""Fit the probabilities of a table, group by group."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from pramble.errors import InvalidInput, NotConverged
from pramble.estimation.fit.inside import nearest_inside
from pramble.estimation.fit.likelihood import maximise
from pramble.estimation.moments import SecondMoments, right_inverses
from pramble.estimation.stacked import StackedOperator
from pramble.estimation.tabulated import Tabulated
from pramble.mechanisms.operators.base import (
    InvertibleOperator,
    Inverting,
    along_axes,
    apply_axes,
    category_shape,
)
from pramble.values import Floats, value

METHODS = ("mle", "inverse")


@value(eq=False)
class FittedTable:
    """Probabilities (R, S1, …, Sk) with the released law that belongs to them.

    ``log_likelihood`` and ``gap`` are those of ``counts``.
    """

    p: Floats
    law: Floats
    log_likelihood: float
    gap: float
    counts: Floats


def fit_table(tabulated: Tabulated, *, method: str) -> FittedTable:
    """Return the fit of a table, by way of a finer one where there is one."""
    if method == "mle" and tabulated.finer is not None:
        operator, counts = tabulated.finer
        try:
            fine = maximum_likelihood((operator,), counts)
        except NotConverged:  # the finer table need not be told
            return by_chi_square(tabulated)
        p = fine.p.reshape(len(counts), tabulated.layout.size, -1).sum(axis=-1)
        return replace(fine, p=p, law=apply_axes(tabulated.axes, p))
    if method == "mle" and any(isinstance(a, StackedOperator) and not a.is_exact
                               for a in tabulated.axes):  # fmt: skip
        return by_chi_square(tabulated)
    return fit(tabulated.axes, tabulated.counts, method=method)


def by_chi_square(tabulated: Tabulated) -> FittedTable:
    """Return the nearest table without negative cells to the unbiased one, group by group.

    It takes the place of the likelihood where that depends on columns beside the table.
    """
    axes, counts = tabulated.axes, tabulated.counts
    unbiased = by_inverse(axes, counts)
    p = unbiased.p.reshape(len(counts), -1)
    moments = inverse_moments(axes, counts, sampling=1.0)
    inside = [
        nearest_inside(own, covariance)
        for own, covariance in zip(p, moments.of_groups(), strict=True)
    ]
    whole = np.array(inside).reshape(unbiased.p.shape)
    return replace(unbiased, p=whole / max(whole.sum(), 1e-300))


def fit(axes: Sequence[Inverting], counts: Floats, *, method: str) -> FittedTable:
    """Return the fit of a count array by maximum likelihood or by the inverse."""
    if method == "mle":
        return maximum_likelihood(axes, counts)
    if method == "inverse":
        return by_inverse(axes, counts)
    raise InvalidInput(f"method must be one of {', '.join(METHODS)}; found {method!r}.")


def by_inverse(axes: Sequence[Inverting], counts: Floats) -> FittedTable:
    """Return the unbiased inverse, which may leave the simplex."""
    shares = counts / counts.sum()
    p = along_axes([inverse.apply for inverse in right_inverses(axes)], shares)
    return FittedTable(p, shares, float("nan"), float("nan"), counts)


def inverse_moments(axes: Sequence[Inverting], counts: Floats, *, sampling: float) -> SecondMoments:
    """Return the second moments of the unbiased inverse, from the law as it was released."""
    fitted = by_inverse(axes, counts)
    squares = fitted.law / counts.sum()
    return SecondMoments(tuple(axes), right_inverses(axes), fitted.p, fitted.law, squares, sampling)


def maximum_likelihood(axes: Sequence[Inverting], counts: Floats) -> FittedTable:
    r"""Return the maximum likelihood estimate of all cells.

    An untouched column is observed as it is, so the likelihood falls apart: a group's total
    is its count, and within a group the likelihood is that of its own counts. The gaps add.
    """
    n = counts.sum()
    p = np.zeros((len(counts), *category_shape(axes)))
    value = gap = 0.0
    for group, own in enumerate(counts):
        total = own.sum()
        if not total:
            continue
        best = maximise(axes_of_group(axes, group), own) if axes else None
        p[group] = total / n if best is None else best.p * (total / n)
        value += total * np.log(total / n) + (best.log_likelihood if best else 0.0)
        gap += best.gap if best else 0.0
    return FittedTable(p, apply_axes(axes, p), float(value), gap, counts)


def axes_of_group(axes: Sequence[Inverting], group: int) -> list[InvertibleOperator]:
    """Return the operators of one group; those of branches differ from group to group."""
    return [
        axis.of_group(group)
        if isinstance(axis, StackedOperator)
        else cast("InvertibleOperator", axis)
        for axis in axes
    ]
