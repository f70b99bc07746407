"""Regressions with randomised covariates or a randomised response."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pramble.data.frames import frame_of
from pramble.data.reading import Reading
from pramble.errors import InvalidInput
from pramble.estimation.intervals import check_level
from pramble.estimation.regression.linear import fit_linear
from pramble.estimation.regression.logistic import fit_logistic
from pramble.estimation.regression.patterns import patterns_of
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.values import Floats, read_only, value

FAMILIES = {"logistic": fit_logistic, "linear": fit_linear}


@value(eq=False, repr=False)
class Regression:
    """Coefficients of a regression on the original values.

    Attributes
    ----------
    names : tuple of str
        ``"intercept"``, columns, and ``"column[label]"`` against the first label of a column.
    coefficients, standard_errors, lower, upper : (q,) arrays
    covariance : (q, q) array
    family : {"logistic", "linear"}
    n : float
        Number of records.
    level : float
    log_likelihood : float
        Of the released data, for the logistic family; NaN for the linear one.

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
    level: float = 0.95
    log_likelihood: float = float("nan")
    backend: str = "pyarrow"

    def __post_init__(self) -> None:
        size = len(self.names)
        for name, shape in (("coefficients", (size,)), ("covariance", (size, size))):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise InvalidInput(f"{name} must have shape {shape}; found {array.shape}.")
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return f"<Regression: {self.family}, {len(self.names)} coefficients, {self.n:g} records>"

    @cached_property
    def standard_errors(self) -> Floats:
        """Standard errors of the coefficients."""
        return read_only(np.sqrt(np.diag(self.covariance)))

    @cached_property
    def lower(self) -> Floats:
        """Lower ends of the intervals."""
        return read_only(self.coefficients - self.reach)

    @cached_property
    def upper(self) -> Floats:
        """Upper ends of the intervals."""
        return read_only(self.coefficients + self.reach)

    @property
    def reach(self) -> Floats:
        """Half the width of the intervals."""
        from scipy.special import ndtri

        return np.asarray(ndtri((1 + self.level) / 2) * self.standard_errors)

    @cached_property
    def table(self) -> Any:
        """The coefficients as a tidy frame."""
        columns = {
            "term": list(self.names),
            "coefficient": self.coefficients.tolist(),
            "standard_error": self.standard_errors.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
        }
        return frame_of(columns, backend=self.backend)


def estimate_regression(
    data: Any,
    plan: Plan | Mapping[Any, Mechanism] | None = None,
    *,
    response: str,
    covariates: Sequence[str] | str,
    family: str = "logistic",
    success: Any = None,
    weights: Any = None,
    level: float = 0.95,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Regression:
    r"""Estimate the regression that the original values would have given.

    **Logistic.** The likelihood of what was released, summed over the unseen originals x,

    .. math:: L(\beta, \gamma) = \prod_i \sum_x \pi_\gamma(x \mid w_i)\, M_{x z_i}\,
              P_\beta(y_i \mid x, w_i) ,

    is maximised over :math:`\beta` and the law :math:`\pi_\gamma` of the randomised covariates
    given the untouched ones w (free in every combination of w where these are few
    categories, else a multinomial logit). Steps and standard errors use the exact observed
    information by Louis' formula. A randomised response enters through its own mechanism.

    **Linear.** The normal equations with every product of unseen values replaced by its unbiased
    estimate from the release: with :math:`MG = I`,

    .. math:: \sum_i \sum_x G_{z_i x}\, d_{ix} (y_i - d_{ix}^\top \beta) = 0 ,

    and sandwich standard errors; neither normal errors nor a law of x are assumed.

    Parameters
    ----------
    data, plan
        A file or frame and its plan, or an opened release, as `pramble.estimate` takes them.
    response : str
        Logistic: a column with two values; linear: a numeric column. It may be randomised.
    covariates : str or sequence of str
        Randomised columns and untouched columns of labels enter by indicators against the first
        label; untouched numbers as they are.
    family : {"logistic", "linear"}
    success : label, optional
        The value of the response that counts as 1; the last one unless given.
    weights : str or array, optional
        Survey weights; standard errors are then sandwiches.
    level : float
        Confidence level of the intervals.
    reading : Reading or mapping, optional
        How to read a file.

    Returns
    -------
    Regression

    Examples
    --------
    >>> import numpy as np, pramble
    >>> rng = np.random.default_rng(7)
    >>> m = pramble.randomized_response([0, 1], 1.0)
    >>> x = rng.integers(0, 2, 20_000)
    >>> y = rng.random(20_000) < np.where(x == 1, 0.7, 0.3)
    >>> z = np.where(rng.random(20_000) < m.matrix[0, 0], x, 1 - x)
    >>> right = pramble.estimate_regression(
    ...     {"x": z, "y": y}, {"x": m}, response="y", covariates=["x"])
    >>> naive = pramble.estimate_regression({"x": z, "y": y}, {}, response="y", covariates=["x"])
    >>> truth = np.log(0.7 / 0.3) * 2
    >>> bool(right.lower[1] < truth < right.upper[1]), bool(naive.upper[1] < truth)
    (True, True)
    """
    if family not in FAMILIES:
        raise InvalidInput(f"family must be one of {', '.join(FAMILIES)}; found {family!r}.")
    patterns = patterns_of(
        data,
        plan,
        response=response,
        covariates=covariates,
        binary=family == "logistic",
        success=success,
        weights=weights,
        reading=reading,
    )
    coefficients, covariance, log_likelihood = FAMILIES[family](patterns)
    return Regression(
        names=patterns.names,
        coefficients=coefficients,
        covariance=covariance,
        n=patterns.n,
        family=family,
        level=check_level(level),
        log_likelihood=log_likelihood,
        backend=patterns.backend,
    )
