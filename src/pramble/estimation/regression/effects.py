r"""Average effects: what a covariate does to the mean, averaged over the records.

With :math:`\Delta(w, x; \theta)` the slope of the mean in a column of numbers, or its change from
one label to another, the effect is :math:`a = \sum \omega \Delta / n`. A record moves it by

.. math:: \frac{\sum_x G_{z_i x} \Delta(w_i, x) - a}{n}
          + \frac{\partial a}{\partial \theta} J^{-1} u_i ,

so that its error holds that of the averaging as well as that of the coefficients.

A fitted regression: its solution, what it was solved on, and the sandwich variance.

With J the information and u the scores of records, :math:`J^{-1} (\sum_i u_i u_i^\top) J^{-1}`.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import Tidy
from pramble.estimation.inverse.sources import Moments
from pramble.estimation.regression.columns import Column, Rows
from pramble.estimation.regression.design_matrix import Design, Model
from pramble.estimation.regression.problem import Point, Problem
from pramble.estimation.regression.solve import Told
from pramble.shown import Display, Grid, number, shortened
from pramble.values import Floats, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@value(eq=False)
class Fitted:
    """A solution."""

    problem: Problem
    point: Point
    model: Model
    groups: Rows  # The values of untouched columns in each group, of randomised ones in each cell
    cells: Rows
    told: Told
    sampling: float  # Share of the sampling variance that counts

    @property
    def covariates(self) -> Mapping[str, Column]:
        return {name: self.model.columns[name] for name in self.model.variables}

    @cached_property
    def bread(self) -> Floats:
        return self.problem.basis.inverse(self.point.information)

    @cached_property
    def meat(self) -> Moments:
        theta = self.point.theta
        return self.problem.source.moments(self.problem.scores(theta), len(theta))

    @cached_property
    def covariance(self) -> Floats:
        return positive(self.bread @ self.meat.covers(self.sampling) @ self.bread)

    @cached_property
    def inflation(self) -> Floats:
        """How many times larger the variance is than without randomisation."""
        both = np.diag(self.bread @ self.meat.both @ self.bread)
        added = np.diag(self.bread @ self.meat.randomisation @ self.bread)
        left = both - np.maximum(added, 0.0)
        return np.asarray(np.where(left > 0, both / np.where(left > 0, left, 1.0), np.inf))


def positive(covariance: Floats) -> Floats:
    """Return the nearest covariance without negative variances."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(covariance)), 1e-300))
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 / np.outer(scale, scale))
    if values.size and values[0] >= 0:
        return covariance
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(scale, scale))


STEP = 1e-4
"""Of a column of numbers, relative to its spread, over which a slope is taken."""


@value(eq=False, repr=False)
class Effects(Display, Tidy):
    """Average effects with their errors."""

    names: tuple[str, ...]
    values: Floats
    covariance: Floats
    level: float
    backend: str

    @property
    def standard_errors(self) -> Floats:
        return np.sqrt(np.diag(self.covariance))

    @property
    def reach(self) -> Floats:
        """Half the width of the intervals."""
        from scipy.special import ndtri

        return np.asarray(ndtri((1 + self.level) / 2) * self.standard_errors)

    @property
    def lower(self) -> Floats:
        """Lower ends of the intervals."""
        return np.asarray(self.values - self.reach)

    @property
    def upper(self) -> Floats:
        """Upper ends of the intervals."""
        return np.asarray(self.values + self.reach)

    def shown(self) -> Grid:
        """Return a line for each effect."""
        numbers = zip(self.values, self.standard_errors, self.lower, self.upper, strict=True)
        rows = [[name, *map(number, own)] for name, own in zip(self.names, numbers, strict=True)]
        return Grid(
            f"Average effects ({100 * self.level:g} % intervals)",
            ["", "effect", "std err", "from", "to"],
            shortened(rows),
        )

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        return {
            "effect": list(self.names),
            "value": self.values.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
        }

    def plot(self) -> "Figure":
        from pramble.plots.estimates import interval_figure

        return interval_figure(
            self.names, self.values, (self.lower, self.upper),
            title="Average effects", quantity="effect", level=self.level,
        )  # fmt: skip


@value(eq=False)
class Change:
    """An effect before averaging: what the mean is under one design, less another, times a rate."""

    name: str
    high: Design
    low: Design
    rate: float


def changes(fitted: Fitted) -> Iterator[Change]:
    for name, column in fitted.covariates.items():
        sides = (fitted.groups, fitted.cells)
        own = sides[1] if column.is_randomised else sides[0]

        def design(rows: Any, *, randomised: bool = column.is_randomised) -> Design:
            groups = fitted.groups if randomised else rows
            return fitted.model.design(groups, rows if randomised else fitted.cells)

        if column.is_numeric:
            step = STEP * max(float(np.std(own.numbers(name))), 1e-12)
            yield Change(
                name, design(own.moved(name, step)), design(own.moved(name, -step)), 0.5 / step
            )
            continue
        first = design(own.at(name, 0))
        for code, label in enumerate(column.labels[1:], start=1):
            yield Change(f"{name}[{label}]", design(own.at(name, code)), first, 1.0)


def average_effects(fitted: Fitted, *, level: float, backend: str) -> Effects:
    problem, theta = fitted.problem, fitted.point.theta
    every = list(changes(fitted))
    answers = len(problem.family.answers)
    width = len(every) * answers
    n = problem.source.n

    def differences(some: slice) -> Floats:
        parts = []
        for change in every:
            high, low = (
                problem.family.mean(problem.predictors(some, theta, own))
                for own in (change.high, change.low)
            )
            parts.append(change.rate * (high - low))
        return np.moveaxis(np.concatenate(parts), 0, -1)

    values, slopes = np.zeros(width), np.zeros((width, len(theta)))
    for some in problem.source.chunks(max(problem.width, width)):
        weights = problem.source.weights(some)
        values += np.einsum("gk,gka->a", weights, differences(some)) / n
        for e, change in enumerate(every):
            own = slopes_of(fitted, change, some, weights) / n
            slopes[e * answers : (e + 1) * answers] += own
    through = problem.scores_along(theta, fitted.bread @ slopes.T)

    def moves(some: slice) -> Floats:
        return np.asarray((differences(some) - values) / n + through(some))

    moments = problem.source.moments(moves, width)
    names = [change.name for change in every]
    if answers > 1:
        names = [f"{label}: {name}" for name in names for label in problem.family.answers]
    covariance = positive(moments.covers(fitted.sampling))
    lost = touched(fitted, every, answers)
    covariance[lost, lost] = np.inf
    return Effects(tuple(names), values, covariance, level, backend)


def slopes_of(fitted: Fitted, change: Change, some: slice, weights: Floats) -> Floats:
    """Return what each parameter adds to the sum of a change, (answers, q)."""
    problem, theta = fitted.problem, fitted.point.theta
    loads, column = problem.parameters.loads, problem.parameters.column
    answer = np.zeros((len(problem.family.answers), len(theta)))
    for rate, own in ((change.rate, change.high), (-change.rate, change.low)):
        slope = problem.family.slope(problem.predictors(some, theta, own))
        for a, by_predictor in enumerate(slope):
            for load, each in zip(loads, by_predictor, strict=True):
                answer[a] += rate * load * own.sums(some, weights * each)[column]
    return answer


def touched(fitted: Fitted, every: list[Change], answers: int) -> Any:
    """Return which effects rest on coefficients that are not told."""
    columns = fitted.problem.parameters.column[fitted.told.lost]
    hit = [
        bool(
            (change.high.A[:, columns] != change.low.A[:, columns]).any()
            or (change.high.B[:, columns] != change.low.B[:, columns]).any()
        )
        for change in every
    ]
    return np.flatnonzero(np.repeat(hit, answers))
