"""What a regression answers: coefficients with their errors."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import Tidy
from pramble.errors import InvalidInput
from pramble.estimation.functionals.result import covered
from pramble.estimation.records.intervals import normal_quantile
from pramble.shown import Display, Grid, number, shortened
from pramble.values import Floats, frozen, read_only

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


@frozen(eq=False, repr=False)
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
    is_designed: bool = False
    notes: tuple[str, ...] = ()
    backend: str = "pyarrow"

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
        return covered(self.covers, is_designed=self.is_designed)

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

    def plot(self) -> Figure:
        """Return a figure of the coefficients with their intervals."""
        from pramble.plots.estimates import interval_figure

        return interval_figure(
            self.names, self.coefficients, (self.lower, self.upper),
            title=f"{self.family} regression of {self.response}  (n = {self.n:,.0f})",
            quantity="coefficient", level=self.level,
        )  # fmt: skip
