r"""What a regression answers: coefficients and predictions, with their errors.

With J the information and u the scores of records, the covariance of the coefficients is the
sandwich :math:`J^{-1} (\sum_i u_i u_i^\top) J^{-1}`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import Tidy, tidy_frame
from pramble.errors import InvalidInput
from pramble.estimation.follow.result import COVERS
from pramble.estimation.inverse.intervals import check_level, normal_quantile
from pramble.estimation.regression.design_matrix import (
    Model,
    ModelColumn,
    Rows,
    rows_of,
)
from pramble.estimation.regression.families import Family, OnePredictor
from pramble.shown import Display, Grid, number, shortened
from pramble.values import Floats, read_only, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from pramble.estimation.inverse.signed import Moments
    from pramble.estimation.regression.solve import Point, ScoreProblem, Unestimable


@value(eq=False)
class Fitted:
    """A solution."""

    problem: ScoreProblem
    point: Point
    model: Model
    groups: Rows  # The values of untouched columns in each group, of randomised ones in each cell
    cells: Rows
    unestimable: Unestimable
    sampling: float  # Share of the sampling variance that counts

    @property
    def covariates(self) -> Mapping[str, ModelColumn]:
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
        return positive_covariance(self.bread @ self.meat.covers(self.sampling) @ self.bread)

    @cached_property
    def inflation(self) -> Floats:
        both = np.diag(self.bread @ self.meat.both @ self.bread)
        added = np.diag(self.bread @ self.meat.randomisation @ self.bread)
        left = both - np.maximum(added, 0.0)
        return np.asarray(np.where(left > 0, both / np.where(left > 0, left, 1.0), np.inf))


def positive_covariance(covariance: Floats) -> Floats:
    scale = np.sqrt(np.maximum(np.abs(np.diag(covariance)), 1e-300))
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2 / np.outer(scale, scale))
    if values.size and values[0] >= 0:
        return covariance
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T * np.outer(scale, scale))


def normal_ends(values: Floats, errors: Floats, *, level: float) -> tuple[Floats, Floats]:
    """Return the ends of normal intervals, without end where an error is infinite."""
    reach = normal_quantile(level) * errors
    is_open = ~np.isfinite(errors)
    return np.where(is_open, -np.inf, values - reach), np.where(is_open, np.inf, values + reach)


def title_of(regression: Regression) -> str:
    return (
        f"{regression.family.capitalize()} regression of {regression.response} on "
        f"{regression.n:,.0f} records; errors cover {regression.covers_what.split(':')[0]}"
    )


def head_of(regression: Regression) -> list[str]:
    low, high = 50 * (1 - regression.level), 50 * (1 + regression.level)
    return ["", "coef", "std err", "z", "P>|z|", f"[{low:g} %", f"{high:g} %]", "inflation"]


def coefficient_lines(r: Regression) -> list[list[str]]:
    columns = (
        r.names, r.coefficients, r.standard_errors, r.z, r.p_values, r.lower, r.upper, r.inflation
    )  # fmt: skip
    return [
        [
            name,
            number(b),
            number(e),
            "" if np.isnan(z) else f"{z:.2f}",
            "" if np.isnan(p) else f"{p:.3f}",
            number(lower),
            number(upper),
            "" if np.isnan(factor) else f"{factor:.1f}×",
        ]
        for name, b, e, z, p, lower, upper, factor in zip(*columns, strict=True)
    ]


def predictions(fitted: Fitted, data: Any, *, level: float) -> dict[str, list[Any]]:
    problem, theta = fitted.problem, fitted.point.theta
    family, column = problem.family, problem.parameters.column
    rows = rows_of(data, fitted.covariates)
    D = fitted.model.half(rows, randomised=None)
    eta = problem.parameters.by_column(theta, D.shape[1]) @ D.T
    mean = family.mean(eta)
    J = np.einsum("alr,lj->arj", family.slope(eta), problem.parameters.loads) * D[:, column]
    error = np.sqrt(np.maximum(np.einsum("arj,jk,ark->ar", J, fitted.covariance, J), 0.0))
    lower, upper, least, most = ends(family, mean, normal_quantile(check_level(level)) * error)
    is_open = (np.abs(D[:, column]) > 0)[:, fitted.unestimable.lost].any(axis=1)
    error, lower, upper = (
        np.where(is_open, end, values)
        for end, values in ((np.inf, error), (least, lower), (most, upper))
    )
    answers = family.answers
    columns: dict[str, list[Any]] = {}
    if len(answers) > 1:
        columns["row"] = np.repeat(np.arange(rows.size), len(answers)).tolist()
        columns["class"] = list(answers) * rows.size
    columns[answers[0] if len(answers) == 1 else "probability"] = mean.T.ravel().tolist()
    columns["standard_error"] = error.T.ravel().tolist()
    return {**columns, "lower": lower.T.ravel().tolist(), "upper": upper.T.ravel().tolist()}


def ends(family: Family, mean: Floats, reach: Floats) -> tuple[Floats, Floats, float, float]:
    from scipy.special import expit, logit

    name = family.name if isinstance(family, OnePredictor) else ""
    if name == "linear":
        return mean - reach, mean + reach, -np.inf, np.inf
    if name == "poisson":
        factor = np.exp(reach / np.maximum(mean, 1e-300))
        return mean / factor, mean * factor, 0.0, np.inf
    inside = np.clip(mean, 1e-15, 1 - 1e-15)
    spread = reach / (inside * (1 - inside))
    lower, upper = (np.asarray(expit(logit(inside) + sign * spread)) for sign in (-1, 1))
    return lower, upper, 0.0, 1.0


@value(eq=False, repr=False)
class Regression(Display, Tidy):
    """Coefficients of a regression on the original values.

    Attributes
    ----------
    names : tuple of str
        ``"intercept"``, columns, and ``"column[label]"`` against the first label of a column;
        ``"class: name"`` for classes, ``"a|b"`` for the threshold between two.
    coefficients, standard_errors, lower, upper, z, p_values : (q,) arrays
        A coefficient that nothing bounds is NaN; one that cannot be told from noise has an interval
        without end. ``notes`` name them.
    covariance : (q, q) array
    inflation : (q,) array
        How many times larger the variance is than that of a sample without randomisation.
    table : frame
        All of this as a tidy frame.
    family : str
    n : float
        Number of records.
    level, covers : float, str
        Of the intervals, and what they cover.
    notes : tuple of str
        What to know about these estimates.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 2.0)
    >>> frame = {"smokes": ["no", "yes"] * 50, "age": list(range(100)), "ill": [0, 1, 1, 0] * 25}
    >>> r = pramble.estimate_regression(
    ...     frame, {"smokes": m}, response="ill", covariates=["smokes"])
    >>> r.names
    ('intercept', 'smokes[yes]')
    """

    names: tuple[str, ...]
    coefficients: Floats
    covariance: Floats
    n: float
    family: str
    inflation: Floats
    response: str = "response"
    level: float = 0.95
    covers: str = "both"
    notes: tuple[str, ...] = ()
    backend: str = "pyarrow"
    fitted: Fitted | None = None

    def __post_init__(self) -> None:
        size = len(self.names)
        shapes = {"coefficients": (size,), "covariance": (size, size), "inflation": (size,)}
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise InvalidInput(f"{name} must have shape {shape}; found {array.shape}.")
            object.__setattr__(self, name, array)

    def shown(self) -> Grid:
        """Return a line for each coefficient, and notes."""
        return Grid(
            title_of(self), head_of(self), shortened(coefficient_lines(self)), notes=self.notes
        )

    def summary(self) -> str:
        """Return the coefficients as a table of text, with what to know about them."""
        return repr(self)

    @cached_property
    def standard_errors(self) -> Floats:
        """The roots of the variances."""
        return read_only(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def lower(self) -> Floats:
        """Lower ends of the intervals."""
        return read_only(normal_ends(self.coefficients, self.standard_errors, level=self.level)[0])

    @cached_property
    def upper(self) -> Floats:
        """Upper ends of the intervals."""
        return read_only(normal_ends(self.coefficients, self.standard_errors, level=self.level)[1])

    @cached_property
    def z(self) -> Floats:
        """Coefficients over their standard errors; not a number without one."""
        errors = np.where(np.isfinite(self.standard_errors), self.standard_errors, np.nan)
        return read_only(self.coefficients / np.where(errors > 0, errors, np.nan))

    @cached_property
    def p_values(self) -> Floats:
        """How likely, at most, a z as large is when the coefficient is zero."""
        from scipy.special import ndtr

        return read_only(np.asarray(2 * ndtr(-np.abs(self.z))))

    @property
    def covers_what(self) -> str:
        """What the intervals cover, in words."""
        return COVERS[self.covers]

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        return {
            "term": list(self.names),
            "coefficient": self.coefficients.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "z": self.z.tolist(),
            "p_value": self.p_values.tolist(),
            "inflation": self.inflation.tolist(),
        }

    def predict(self, data: Any, *, level: float | None = None) -> Any:
        """Return means or probabilities for records with known values, with intervals.

        Parameters
        ----------
        data
            Whatever has named columns: the original values of the covariates.
        level : float, optional
            Of the intervals; that of the regression unless given.
        """
        columns = predictions(self.known, data, level=self.level if level is None else level)
        return tidy_frame(columns, backend=self.backend)

    @property
    def known(self) -> Fitted:
        """The fit; refuse where there is none."""
        if self.fitted is None:
            raise InvalidInput(
                "This regression has the errors of replicate weights, or was built from figures "
                "alone: predictions need strata and clusters, or none."
            )
        return self.fitted

    def plot(self) -> Figure:
        """Return a figure of the coefficients with their intervals."""
        from pramble.plots.estimates import interval_figure

        return interval_figure(
            self.names, self.coefficients, (self.lower, self.upper),
            title=f"{self.family} regression of {self.response}  (n = {self.n:,.0f})",
            quantity="coefficient", level=self.level,
        )  # fmt: skip
