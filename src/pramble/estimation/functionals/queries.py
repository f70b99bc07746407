r"""Linear queries, and totals and means of a numeric column, of what was randomised.

A query :math:`\sum_x w_x p_x` is identifiable when :math:`w = Mu` for some u, also where p itself
is not: the answer is then :math:`\sum_z m_z u_z`, whatever p is, with the variance

.. math:: \sum_z \ell_z u_z^2 - 2 v \sum_z \ell_z u_z + v^2 \sum_z \ell_z

for the answer v, with :math:`\ell` as in :mod:`pramble.estimation.records.moments`.

With :math:`t_i = w_i y_i G_{Z_i x}` the total of group x is estimated by :math:`\sum_i t_i`, which
is unbiased, and its mean by the ratio :math:`R_x` to the estimated size
:math:`\hat N_x = \sum_i w_i G_{Z_i x}`. The interval of a mean is Fieller's: all R with

.. math:: (\hat T - R \hat N)^2 \le z^2\, \widehat{\operatorname{Var}}(\hat T - R\hat N),

which has no end where the size cannot be told from zero. Everything follows from sums of
:math:`w^2`, :math:`w^2 y` and :math:`w^2 y^2` over released cells.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.labels import label_key
from pramble.errors import InvalidInput, NotIdentifiable
from pramble.estimation.functionals.result import Estimate, Settings
from pramble.estimation.records.intervals import (
    candidate_moment,
    inner_point,
    intervals_of_weights,
    normal_quantile,
)
from pramble.estimation.records.likelihood import axes_of_group, fit_table, inverse_moments
from pramble.estimation.records.moments import Known, SecondMoments, right_inverses
from pramble.estimation.records.stacked import StackedOperator
from pramble.estimation.records.tabulate import Layout, ReleasedSums
from pramble.mechanisms.operators.base import Inverting, adjoint_axes, along_axes, category_shape
from pramble.values import Floats, frozen

# How far, relative to its weights, Mu may be from w by rounding.
RESIDUAL = 1e-9


def parse_queries(query: Any, layout: Layout) -> tuple[list[str], Floats]:
    """Return names and weights (Q, R, K) of one query, a list, or named ones."""
    if isinstance(query, Mapping) and query and not all(map(is_query_weight, query.values())):
        named = {str(name): weights for name, weights in query.items()}
    elif isinstance(query, str):
        named = {query: query}
    elif isinstance(query, Mapping | np.ndarray) or (
        isinstance(query, Sequence) and query and all(map(is_query_weight, query))
    ):
        named = {"query": query}
    elif isinstance(query, Sequence) and len(query):
        named = {
            weights if isinstance(weights, str) else f"query {i}": weights
            for i, weights in enumerate(query)
        }
    else:
        raise InvalidInput(
            "A query must map cells to weights, give one weight per cell, or name cells as "
            f"'column=label'; found {type(query).__name__}."
        )
    vectors = [weights_of(weights, layout) for weights in named.values()]
    return list(named), np.stack([layout.unflatten(vector) for vector in vectors])


def is_query_weight(weight: Any) -> bool:
    return isinstance(weight, int | float | np.number)


def weights_of(weights: Any, layout: Layout) -> Floats:
    cells = len(layout.order)
    if isinstance(weights, str):
        return selected_cells(weights, layout)
    if isinstance(weights, Mapping):
        return weights_of_mapping(weights, layout)
    answer = np.asarray(weights, dtype=np.float64).reshape(-1)
    if answer.shape != (cells,) or not np.isfinite(answer).all():
        raise InvalidInput(
            f"A query must give one finite weight for each of the {cells} cells; "
            f"found {answer.size} numbers."
        )
    return answer


def selected_cells(conditions: str, layout: Layout) -> Floats:
    """Return 1 for the cells that conditions such as ``"sex=f,town=x|y"`` select, else 0."""
    labels = layout.labels()
    answer = np.ones(len(layout.order))
    for condition in conditions.split(","):
        column, sign, wanted = condition.partition("=")
        name = column.strip()
        if not sign or name not in labels:
            raise InvalidInput(
                f"A query must read 'column=label' with columns of the table, "
                f"{', '.join(map(repr, labels))}; found {condition.strip()!r}."
            )
        choices = {choice.strip() for choice in wanted.split("|")}
        known = {str(label) for label in labels[name]}
        if choices - known:
            missing = min(choices - known)
            raise InvalidInput(f"A query must name labels of {name!r}; {missing!r} is none.")
        answer *= [str(label) in choices for label in labels[name]]
    return answer


def weights_of_mapping(weights: Mapping[Any, float], layout: Layout) -> Floats:
    """Return weights by label; cells that are not named weigh nothing."""
    columns = layout.labels().values()
    cells = list(zip(*columns, strict=True)) if len(columns) > 1 else list(*columns)
    place = {label_key(cell): i for i, cell in enumerate(cells)}
    answer = np.zeros(len(cells))
    for cell, weight in weights.items():
        if label_key(cell) not in place:
            raise InvalidInput(f"A query must name cells of the table; {cell!r} is none.")
        answer[place[label_key(cell)]] = weight
    return answer


def released_weights(
    axes: Sequence[Inverting], w: Floats, *, distribution: Floats | None
) -> Floats:
    try:
        return along_axes([inverse.adjoint for inverse in right_inverses(axes, distribution)], w)
    except NotIdentifiable as error:
        lost = error
    if isinstance(axes[0], StackedOperator):
        return axes[0].estimable(w)
    pseudo = [np.linalg.pinv(one.dense(), rcond=1e-12) for one in axes_of_group(axes, 0)]
    u = along_axes([lambda v, P=P: v @ P.T for P in pseudo], w)
    left = np.abs(adjoint_axes(axes, u) - w).reshape(len(w), -1).max(axis=1)
    bad = np.flatnonzero(left > RESIDUAL * np.maximum(np.abs(w).reshape(len(w), -1).max(axis=1), 1))
    if bad.size:
        raise NotIdentifiable(f"Query {bad[0]} needs what the release has lost. {lost}") from lost
    return u


def covariance_of_sums(u: Floats, ell: Floats, values: Floats) -> Floats:
    """Return the covariance of sums of u over records with squared weights ell."""
    cross = np.outer(values, u @ ell)
    return np.asarray((u * ell) @ u.T - cross - cross.T + np.outer(values, values) * ell.sum())


def query_estimate(tabulated: ReleasedSums, settings: Settings, *, query: Any) -> Estimate:
    axes = tabulated.axes
    names, flat = parse_queries(query, tabulated.layout)
    w = flat.reshape(*flat.shape[:2], *category_shape(axes))
    try:
        fitted = fit_table(tabulated, method=settings.method)
    except NotIdentifiable:  # the maximum likelihood stands in for an inverse that does not exist
        fitted = fit_table(tabulated, method="mle")
    u = released_weights(
        axes, w, distribution=fitted.released if settings.method == "mle" else None
    )
    # by true cells: how randomisation makes one record's part of an answer vary
    spread = (adjoint_axes(axes, u**2) - w**2).reshape(len(w), -1)
    w, u = w.reshape(len(w), -1), u.reshape(len(u), -1)
    centre = u @ (tabulated.counts / tabulated.counts.sum()).ravel()
    values = w @ fitted.p.ravel() if settings.method == "mle" else centre
    true = inner_point(fitted.p, n=tabulated.n).ravel()
    sampling = settings.sampling_share(tabulated.n)

    def covariance(released: Floats) -> Floats:
        """Return the covariance of answers from records with these squared weights."""
        whole = covariance_of_sums(u, released, values)
        return whole - (1 - sampling) * covariance_of_sums(w, true * released.sum(), values)

    unit = covariance(fitted.released.ravel())
    squares = tabulated.squared_weights
    matrix = unit / tabulated.n if squares is None else covariance(squares.ravel())
    scale = np.diag(matrix) / np.where(np.diag(unit) > 0, np.diag(unit), 1.0)

    def variance_by(share: Floats, width: Floats) -> Callable[[Floats], Floats]:
        moments = spread / width[:, None] ** 2 + sampling * share**2
        moment = candidate_moment(share, true, moments)
        return lambda mu: np.asarray(scale * (moment(mu) - sampling * mu**2))

    lower, upper = intervals_of_weights(w, centre, variance_by, level=settings.level)
    whole = (lower <= w.min(axis=1)) & (upper >= w.max(axis=1)) & (lower < upper)
    note = f"Nothing is known of {int(whole.sum())} of {len(names)} answers."
    known = Known(matrix)
    return settings.estimate(
        values, known.errors, (lower, upper), **tabulated.stated, **fitted.stated,
        cells={"query": names}, covariance_parts=known, quantity="estimate",
        notes=(note,) if whole.any() else (),
    )  # fmt: skip


@frozen(eq=False)
class GroupNumbers:
    """Totals or means of a numeric column within true cells; NaN where no size is left."""

    tabulated: ReleasedSums
    moments: SecondMoments  # Of the unbiased inverse
    kind: str  # "total" or "mean"

    @cached_property
    def totals(self) -> Floats:
        return self.moments.invert(self.tabulated.sums[1, 1])

    @cached_property
    def sizes(self) -> Floats:
        """What totals are divided by."""
        if self.kind == "total":
            return np.ones_like(self.totals)
        sizes = self.moments.invert(self.tabulated.counts)
        return np.where(sizes > 0, sizes, np.nan)

    @cached_property
    def values(self) -> Floats:
        return np.asarray(self.totals / self.sizes)

    @cached_property
    def centre(self) -> Floats:
        return self.values if self.kind == "mean" else np.zeros_like(self.values)

    def second_moments(self, of: Callable[[Floats], Floats]) -> tuple[Floats, Floats, Floats]:
        zero, one, two = (of(self.tabulated.sums[2, b]) for b in range(3))
        return zero, one, two

    def residuals(self, of: Callable[[Floats], Floats]) -> Floats:
        """Return a second moment of the residuals y − R, from those of 1, y and y²."""
        zero, one, two = self.second_moments(of)
        return np.asarray(two - 2 * self.centre * one + self.centre**2 * zero)

    @cached_property
    def by_total(self) -> Floats:
        """The root of what the known number of records takes off variances of totals."""
        share = self.moments.sampling / self.tabulated.n if self.kind == "total" else 0.0
        return np.asarray(np.sqrt(share) * self.totals)

    @cached_property
    def variances(self) -> Floats:
        whole, within = (self.residuals(of) for of in (self.moments.squares, self.moments.invert))
        found = whole - (1 - self.moments.sampling) * within - self.by_total**2
        return np.asarray(found / self.sizes**2)

    def covariance(self) -> Floats:
        order, R, N = self.tabulated.layout.order, self.centre.ravel(), self.sizes.ravel()
        zero, one, two = self.second_moments(self.moments.sandwich)
        found = two - (R[:, None] + R[None, :]) * one + np.outer(R, R) * zero
        found -= np.outer(self.by_total, self.by_total)
        within = self.residuals(self.moments.invert).ravel()
        found[np.diag_indices_from(found)] -= (1 - self.moments.sampling) * within
        return np.asarray((found / np.outer(N, N))[np.ix_(order, order)])

    @property
    def largest(self) -> float:
        r"""No total is larger, in absolute value: :math:`|\sum w y| \le \sqrt{n \sum w^2 y^2}`."""
        return float(np.sqrt(self.tabulated.n * self.tabulated.sums[2, 2].sum()))

    def intervals(self, z: float) -> tuple[Floats, Floats]:
        """Return normal intervals of totals, within what any total can be; Fieller's of means.

        Means within cells that were not randomised have normal ones.
        """
        reach = z * np.sqrt(np.maximum(self.variances, 0.0))
        if self.kind == "total":
            most, is_unknown = self.largest, reach >= z * self.largest
            lower, upper = (np.clip(self.totals + sign * reach, -most, most) for sign in (-1, 1))
            return np.where(is_unknown, -most, lower), np.where(is_unknown, most, upper)
        moments, f = self.moments, self.moments.sampling
        if not moments.axes:
            return self.values - reach, self.values + reach
        zero, one, two = self.second_moments(
            lambda s: moments.squares(s) - (1 - f) * moments.invert(s)
        )
        T, N = self.totals, np.nan_to_num(self.sizes)
        a, b, c = N**2 - z**2 * zero, T * N - z**2 * one, T**2 - z**2 * two
        bounded = (a > 0) & (N > 0)
        reach, safe = np.sqrt(np.maximum(b**2 - a * c, 0.0)), np.where(bounded, a, 1.0)
        return (
            np.where(bounded, (b - reach) / safe, -np.inf),
            np.where(bounded, (b + reach) / safe, np.inf),
        )

    def notes(self, upper: Floats) -> tuple[str, ...]:
        if self.kind == "total":
            many = int((self.variances >= self.largest**2).sum())
            said = {
                f"Nothing is known of {many} of {upper.size} totals: their errors exceed the "
                f"largest that any total can be, {self.largest:.6g}.": many
            }
        else:
            lost, open_ended = int(np.isnan(self.sizes).sum()), int(np.isinf(upper).sum())
            said = {
                f"{lost} of {upper.size} means cannot be estimated (NaN): randomised counts put "
                "the size of the group at zero or below. Ask for fewer groups, or totals.": lost,
                f"{open_ended} of {upper.size} means have an interval without end: the size of the "
                "group cannot be told from zero at this level.": open_ended,
            }
        return tuple(note for note, many in said.items() if many)


def group_estimate(tabulated: ReleasedSums, settings: Settings, *, kind: str) -> Estimate:
    layout = tabulated.layout
    share = settings.sampling_share(tabulated.n)
    moments = inverse_moments(tabulated.axes, tabulated.counts, sampling=share)
    groups = GroupNumbers(tabulated, moments, kind)
    errors = np.sqrt(np.maximum(layout.flatten(groups.variances), 0.0))
    lower, upper = groups.intervals(normal_quantile(settings.level))
    ends = layout.flatten(lower), layout.flatten(upper)
    return settings.estimate(
        layout.flatten(groups.values), errors, ends, **tabulated.stated, cells=layout.labels(),
        method="inverse", covariance_parts=groups, quantity=kind, notes=groups.notes(upper),
    )  # fmt: skip
