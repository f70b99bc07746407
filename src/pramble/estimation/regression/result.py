"""The answer of a regression, as a value."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.frames import Tidy, frame_of
from pramble.errors import InvalidInput
from pramble.estimation.regression.effects import Effects, average_effects
from pramble.estimation.regression.fitted import Fitted
from pramble.estimation.regression.predict import predictions
from pramble.estimation.regression.show import as_grid
from pramble.estimation.result import COVERS
from pramble.shown import Display, Grid
from pramble.values import Floats, read_only, value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        return as_grid(self)

    def summary(self) -> str:
        """Return the coefficients as a table of text, with what to know about them."""
        return repr(self)

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard errors of the coefficients."""
        return read_only(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def lower(self) -> Floats:
        """Lower ends of the intervals."""
        return read_only(np.where(self.is_open, -np.inf, self.coefficients - self.reach))

    @cached_property
    def upper(self) -> Floats:
        """Upper ends of the intervals."""
        return read_only(np.where(self.is_open, np.inf, self.coefficients + self.reach))

    @property
    def is_open(self) -> Any:
        """Which coefficients have an interval without end."""
        return ~np.isfinite(self.standard_errors)

    @property
    def reach(self) -> Floats:
        """Half the width of the intervals."""
        from scipy.special import ndtri

        return np.asarray(ndtri((1 + self.level) / 2) * self.standard_errors)

    @cached_property
    def z(self) -> Floats:
        """Coefficients over their standard errors."""
        errors = np.where(self.standard_errors > 0, self.standard_errors, np.nan)
        return read_only(np.where(self.is_open, np.nan, self.coefficients / errors))

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
        return frame_of(columns, backend=self.backend)

    def marginal_effects(self) -> Effects:
        """Return what each covariate does to the mean, averaged over the records.

        A column of numbers has the average slope of the mean, a column of labels the average
        change of the mean from its first label to each other one.
        """
        return average_effects(self.known, level=self.level, backend=self.backend)

    @property
    def known(self) -> Fitted:
        """The fit; refuse where there is none."""
        if self.fitted is None:
            raise InvalidInput(
                "This regression has the errors of replicate weights, or was built from figures "
                "alone: predictions and effects need strata and clusters, or none."
            )
        return self.fitted

    def plot(self) -> "Figure":
        """Return a figure of the coefficients with their intervals."""
        from pramble.plots.estimates import interval_figure

        return interval_figure(
            self.names, self.coefficients, (self.lower, self.upper),
            title=f"{self.family} regression of {self.response}  (n = {self.n:,.0f})",
            quantity="coefficient", level=self.level,
        )  # fmt: skip
