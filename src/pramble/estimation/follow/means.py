r"""Totals and means of a numeric column within groups that were randomised.

With :math:`t_i = w_i y_i G_{Z_i x}` the total of group x is estimated by :math:`\sum_i t_i`, which
is unbiased, and its mean by the ratio :math:`R_x` to the estimated size
:math:`\hat N_x = \sum_i w_i G_{Z_i x}`. The variance of the ratio is that of the residuals
:math:`(y_i - R_x)\,w_i G_{Z_i x}/\hat N_x`. Everything follows from sums of :math:`w^2`,
:math:`w^2 y` and :math:`w^2 y^2` over released cells.

A size that is small beside its error makes the ratio far from normal, but :math:`\hat T - R\hat N`
is close to normal with mean 0 at the true R. The interval of a mean is Fieller's: all R with

.. math:: (\hat T - R \hat N)^2 \le z^2\, \widehat{\operatorname{Var}}(\hat T - R\hat N),

which has no end where the size cannot be told from zero.
"""

from collections.abc import Callable

import numpy as np

from pramble.estimation.follow.result import Estimate, Settings
from pramble.estimation.inverse.intervals import normal_quantile
from pramble.estimation.inverse.layout import Tabulated
from pramble.estimation.inverse.likelihood import inverse_moments
from pramble.estimation.inverse.moments import SecondMoments
from pramble.values import Floats, value


@value(eq=False)
class GroupSums:
    """Sums over released cells, with the second moments of the unbiased inverse."""

    tabulated: Tabulated
    moments: SecondMoments

    def totals(self) -> Floats:
        return self.moments.invert(self.tabulated.sums[1, 1])

    def in_order(self, covariance: Floats, within: Floats) -> Floats:
        """Return a covariance in the order of the table, without the part within records."""
        order = self.tabulated.layout.order
        diagonal = np.diag_indices_from(covariance)
        covariance[diagonal] -= (1 - self.moments.sampling) * within.ravel()
        return np.asarray(covariance[np.ix_(order, order)])


@value(eq=False)
class Totals:
    """Estimated totals of a numeric column within true cells."""

    groups: GroupSums

    def values(self) -> Floats:
        return self.groups.totals()

    def variances(self) -> Floats:
        moments, tabulated = self.groups.moments, self.groups.tabulated
        f, second = moments.sampling, tabulated.sums[2, 2]
        within = (1 - f) * moments.invert(second) + f * self.values() ** 2 / tabulated.n
        return np.asarray(moments.squares(second) - within)

    @property
    def largest(self) -> float:
        r"""No total is larger, in absolute value: :math:`|\sum w y| \le \sqrt{n \sum w^2 y^2}`."""
        tabulated = self.groups.tabulated
        return float(np.sqrt(tabulated.n * tabulated.sums[2, 2].sum()))

    def intervals(self, z: float) -> tuple[Floats, Floats]:
        """Return normal intervals that reach z standard errors, and never beyond any total."""
        reach = z * np.sqrt(np.maximum(self.variances(), 0.0))
        ends = self.values() - reach, self.values() + reach
        unknown = reach >= z * self.largest
        lower, upper = (np.clip(end, -self.largest, self.largest) for end in ends)
        return (
            np.where(unknown, -self.largest, lower),
            np.where(unknown, self.largest, upper),
        )

    def notes(self, upper: Floats) -> tuple[str, ...]:
        unknown = int((self.variances() >= self.largest**2).sum())
        note = (
            f"Nothing is known of {unknown} of {upper.size} totals: their errors exceed the "
            f"largest that any total can be, {self.largest:.6g}."
        )
        return (note,) if unknown else ()

    def covariance(self) -> Floats:
        """Return the covariance of all totals, in the order of the table."""
        moments, tabulated = self.groups.moments, self.groups.tabulated
        second, totals = tabulated.sums[2, 2], self.values().ravel()
        known = moments.sampling * np.outer(totals, totals) / tabulated.n
        return self.groups.in_order(moments.sandwich(second) - known, moments.invert(second))


@value(eq=False)
class Means:
    """Estimated means of a numeric column within true cells; NaN where no size is left."""

    groups: GroupSums

    def sizes(self) -> Floats:
        sizes = self.groups.moments.invert(self.groups.tabulated.counts)
        return np.where(sizes > 0, sizes, np.nan)

    def values(self) -> Floats:
        return np.asarray(self.groups.totals() / self.sizes())

    def squares(self, of: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
        """Return a function of the sums of w², w²y and w²y²."""
        zero, one, two = (of(self.groups.tabulated.sums[2, b]) for b in range(3))
        return zero, one, two

    def residuals(self, of: Callable[[Floats], Floats]) -> Floats:
        """Return a second moment of the residuals y − R, from those of 1, y and y²."""
        zero, one, two = self.squares(of)
        return np.asarray(two - 2 * self.values() * one + self.values() ** 2 * zero)

    def variances(self) -> Floats:
        moments = self.groups.moments
        whole, within = self.residuals(moments.squares), self.residuals(moments.invert)
        return np.asarray((whole - (1 - moments.sampling) * within) / self.sizes() ** 2)

    def intervals(self, z: float) -> tuple[Floats, Floats]:
        """Return Fieller's intervals; normal ones where nothing was randomised."""
        moments, f = self.groups.moments, self.groups.moments.sampling
        if not moments.axes:
            reach = z * np.sqrt(np.maximum(self.variances(), 0.0))
            return self.values() - reach, self.values() + reach
        zero, one, two = self.squares(lambda s: moments.squares(s) - (1 - f) * moments.invert(s))
        T, N = self.groups.totals(), moments.invert(self.groups.tabulated.counts)
        a, b, c = N**2 - z**2 * zero, T * N - z**2 * one, T**2 - z**2 * two
        bounded = (a > 0) & (N > 0)
        reach = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        safe = np.where(bounded, a, 1.0)
        return (
            np.where(bounded, (b - reach) / safe, -np.inf),
            np.where(bounded, (b + reach) / safe, np.inf),
        )

    def notes(self, upper: Floats) -> tuple[str, ...]:
        """Say which means cannot be told, and why."""
        notes = []
        if lost := int(np.isnan(self.sizes()).sum()):
            notes.append(
                f"{lost} of {upper.size} means cannot be estimated (NaN): the randomised counts "
                "put the size of the group at zero or below. Ask for fewer groups, or totals."
            )
        if open_ended := int(np.isinf(upper).sum()):
            notes.append(
                f"{open_ended} of {upper.size} means have an interval without end: the size of the "
                "group cannot be told from zero at this level."
            )
        return tuple(notes)

    def covariance(self) -> Floats:
        """Return the covariance of all means, in the order of the table."""
        R, N = self.values().ravel(), self.sizes().ravel()
        zero, one, two = self.squares(self.groups.moments.sandwich)
        whole = two - (R[:, None] + R[None, :]) * one + np.outer(R, R) * zero
        within = self.residuals(self.groups.moments.invert).ravel()
        return self.groups.in_order(whole / np.outer(N, N), within / N**2)


KINDS: dict[str, type[Totals] | type[Means]] = {"total": Totals, "mean": Means}


def group_estimate(tabulated: Tabulated, settings: Settings, *, kind: str) -> Estimate:
    """Return totals or means of a measure within the cells of a table."""
    layout = tabulated.layout
    share = settings.sampling_share(tabulated.n)
    moments = inverse_moments(tabulated.axes, tabulated.counts, sampling=share)
    groups = KINDS[kind](GroupSums(tabulated, moments))
    values = layout.flatten(groups.values())
    errors = np.sqrt(np.maximum(layout.flatten(groups.variances()), 0.0))
    lower, upper = groups.intervals(normal_quantile(settings.level))
    ends = layout.flatten(lower), layout.flatten(upper)
    notes = groups.notes(upper)
    return settings.estimate(
        tabulated, values, errors, ends, covariance=groups, quantity=kind, notes=notes
    )
