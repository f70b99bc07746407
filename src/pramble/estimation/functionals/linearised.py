r"""What follows from estimates to first order: differences, ratios, functions, log-linear models.

**Contrasts.** With the distances :math:`d_1 = r_1 - l_1` and :math:`d_2 = u_2 - r_2` to the ends of
two intervals, and the correlation ρ of the estimates (MOVER, Zou and Donner 2008), a difference has

.. math:: l = r_1 - r_2 - \sqrt{d_1^2 + d_2^2 - 2\rho d_1 d_2} .

**Log-linear models** with tables :math:`T_1, T_2, \dots` have :math:`\log \mu = X\beta`, with the
contrasts of every subset of their columns in X. They are fitted by the margins,
:math:`X^\top(\hat p - \mu) = 0`, which is their maximum likelihood if :math:`\hat p` had been
counted and is consistent whatever :math:`\hat p` comes from. With V the covariance of
:math:`\hat p`,

.. math:: A = X^\top D_\mu X, \qquad \operatorname{Cov}\hat\mu = H V H^\top, \qquad
          H = D_\mu X A^{-1} X^\top,

and if the model holds, :math:`r = \hat p - \hat\mu` has mean zero and the covariance
:math:`(I - H) V (I - H)^\top`, so that :math:`r^\top\operatorname{Cov}(r)^+ r` is chi-square with
as many degrees of freedom as the model leaves out.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.labels import label_key
from pramble.errors import InvalidInput, NotConverged
from pramble.estimation.functionals.ratios import (
    cell_labels,
    combinations_of,
    derived,
    inner_values,
    refuse_unknown,
)
from pramble.estimation.records.intervals import normal_quantile
from pramble.estimation.records.moments import Known
from pramble.shown import Display, Facts
from pramble.values import Floats, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure

    from pramble.estimation.functionals.result import Estimate

    Cells = Mapping[str, Sequence[Any]]

# How far a cell is moved to find how a function changes, as a share of its standard error.
STEP = 1e-5

# Cells of a table with a log-linear model: its matrices are squares of that many.
MOST_CELLS = 2000

# Newton steps of a fit, the rise of the likelihood at which it ends, and the eigenvalue, relative
# to the largest, below which residuals are rounding errors.
STEPS, CLOSE, SINGULAR = 100, 1e-12, 1e-9


def contrast(
    e: Estimate, column: str, one: Any, other: Any, *, kind: str = "difference"
) -> Estimate:
    """Return the difference, or the "ratio", of the estimates for two labels of a column."""
    if kind not in ("difference", "ratio"):
        raise InvalidInput(f"kind must be one of difference, ratio; found {kind!r}.")
    own = map(label_key, cell_labels(e, column))
    refuse_unknown(e, column, (one, other))
    others = [name for name in e.cells if name != column]
    group = combinations_of(e.cells, others)[0].tolist()
    place = {(g, key): i for i, (g, key) in enumerate(zip(group, own, strict=True))}
    wanted = (((g, label_key(one)), (g, label_key(other))) for g in dict.fromkeys(group))
    pairs = [(place[x], place[y]) for x, y in wanted if x in place and y in place]
    a, b = np.array(pairs, dtype=np.int64).T
    r, scale = inner_values(e), np.sqrt(np.maximum(np.diag(e.covariance), 0.0))
    product = scale[a] * scale[b]
    rho = np.divide(e.covariance[a, b], product, out=np.zeros_like(product), where=product > 0)
    down, up = r - e.lower, e.upper - r
    if kind == "difference":
        values, by_one, by_other = e.values[a] - e.values[b], np.ones(len(a)), -np.ones(len(a))
        middle = r[a] - r[b]
        below, above = joined_distance(down[a], up[b], rho), joined_distance(up[a], down[b], rho)
        ends = middle - below, middle + above
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = e.values[a] / e.values[b]
        finite = np.isfinite(values)
        safe = np.where(finite, e.values[b], 1.0)
        by_one = np.where(finite, 1 / safe, np.nan)
        by_other = np.where(finite, -values / safe, np.nan)
        low = ratio_end(r[a], r[b], down[a], up[b], rho, sign=-1)
        high = ratio_end(r[a], r[b], up[a], down[b], rho, sign=1)
        # open above where the other estimate may be zero
        ends = np.maximum(low, 0.0), np.where(e.lower[b] <= 0, np.inf, high)
    gradient = np.zeros((len(a), len(e.values)))
    gradient[np.arange(len(a)), a], gradient[np.arange(len(a)), b] = by_one, by_other
    names = {name: [e.cells[name][i] for i in a] for name in others}
    cells = {column: [f"{one} against {other}"] * len(a), **names}
    return linearised(e, values, gradient, cells, quantity=kind, ends=ends)


def ratio_end(r: Floats, s: Floats, d: Floats, c: Floats, rho: Floats, *, sign: int) -> Floats:
    r"""Return the root of :math:`(r - \mu s)^2 = d^2 + \mu^2c^2 - 2\rho\mu dc` on one side."""
    A, B, C = s**2 - c**2, r * s - rho * d * c, r**2 - d**2
    root = np.sqrt(np.maximum(B**2 - A * C, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (B + sign * root) / A
        other = C / (B - sign * root)  # the same root, exact where A is next to zero
    return np.asarray(np.where(np.abs(A) > 1e-12 * s**2, found, other))


def joined_distance(d: Floats, c: Floats, rho: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(d**2 + c**2 - 2 * rho * d * c, 0.0)))


def function(
    e: Estimate, function: Callable[[Floats], Any], *, names: Sequence[str] | None = None
) -> Estimate:
    """Return a smooth function of all estimates, with the errors of its linearisation.

    ``function`` takes the vector of the estimates, in the order of ``table``, and returns a
    number or a vector. Where errors are large, or the function bends, its intervals are rough.
    """
    values = np.atleast_1d(np.asarray(function(e.values.copy()), dtype=np.float64))
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InvalidInput("The function must give one finite number, or a vector of them.")
    labels = [f"value {i}" for i in range(len(values))] if names is None else list(names)
    if len(labels) != len(values):
        raise InvalidInput(f"{len(values)} values need as many names; found {len(labels)}.")
    steps = np.diag(STEP * np.maximum(e.standard_errors, 1e-9))
    gradient = np.empty((len(values), len(e.values)))
    for i, step in enumerate(steps):
        high, low = (np.asarray(function(e.values + sign * step), float) for sign in (1, -1))
        gradient[:, i] = (high - low) / (2 * step[i])
    return linearised(e, values, gradient, {"function": labels}, quantity="value")


def linearised(
    e: Estimate,
    values: Floats,
    gradient: Floats,
    cells: Cells,
    *,
    quantity: str,
    ends: tuple[Floats, Floats] | None = None,
) -> Estimate:
    """Return functions of the estimates, unknown where they take an unknown one."""
    known = np.isfinite(np.diag(e.covariance))
    own = gradient[:, known]
    covariance = own @ e.covariance[np.ix_(known, known)] @ own.T
    lost = (gradient[:, ~known] != 0).any(axis=1)
    covariance[lost] = np.nan
    covariance[:, lost] = np.nan
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    reach = normal_quantile(e.level) * errors
    ends = (values - reach, values + reach) if ends is None else ends
    return derived(e, values, errors, ends, Known(covariance), cells=cells, quantity=quantity)


@frozen(repr=False)
class LogLinear(Display):
    """A log-linear model of a table, and whether it holds.

    Attributes
    ----------
    tables : tuple of tuples of columns
    fitted : Estimate
        The table under the model, with its errors.
    statistic, degrees_of_freedom, p_value : float, int, float
        How likely a table this far from the model is, if it holds.
    """

    tables: tuple[tuple[str, ...], ...]
    fitted: Any
    statistic: float
    degrees_of_freedom: int
    p_value: float

    def shown(self) -> Facts:
        """Return which tables the model keeps, and whether it holds."""
        return Facts(
            "Log-linear model",
            [
                ("tables", ", ".join(" × ".join(table) for table in self.tables)),
                ("statistic", f"{self.statistic:.4g} on {self.degrees_of_freedom}"),
                ("p-value", f"{self.p_value:.3g}"),
            ],
        )

    def plot(self) -> Figure:
        """Return a figure of the table under the model."""
        figure: Figure = self.fitted.plot()
        return figure


def loglinear(e: Estimate, tables: Sequence[Sequence[str] | str]) -> LogLinear:
    """Return the log-linear model whose margins are some tables, and a test whether it holds.

    ``[("a", "b"), ("b", "c")]``: a and c are independent given b.
    """
    from scipy.special import chdtrc

    parts = checked_tables(e, tables)
    X = model_columns(e, parts)
    mu = fitted_margins(X, e.values)
    V = e.covariance
    A = (X * mu[:, None]).T @ X
    H = (X * mu[:, None]) @ np.linalg.solve(A, X.T)
    rest = (np.eye(len(mu)) - H) @ V @ (np.eye(len(mu)) - H).T
    scale = np.sqrt(np.maximum(mu, mu.max() * SINGULAR))
    values, vectors = np.linalg.eigh(rest / np.outer(scale, scale))
    free = values > SINGULAR * max(float(values[-1]), 1e-300)
    free &= np.arange(len(values)) >= X.shape[1]
    along = vectors[:, free].T @ ((e.values - mu) / scale)
    statistic = float((along**2 / values[free]).sum())
    freedom = int(free.sum())
    p_value = float(chdtrc(freedom, statistic)) if freedom else 1.0
    covariance = H @ V @ H.T
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    relative = np.divide(errors, mu, out=np.zeros_like(mu), where=mu > 0)
    factor = np.exp(np.minimum(normal_quantile(e.level) * relative, 700.0))  # no overflow
    ends = mu / factor, np.minimum(mu * factor, 1.0)
    fitted = derived(e, mu, errors, ends, Known(covariance))
    return LogLinear(parts, fitted, statistic, freedom, p_value)


def checked_tables(e: Estimate, tables: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    parts = tuple((one,) if isinstance(one, str) else tuple(one) for one in tables)
    named = {name for part in parts for name in part}
    if named != set(e.cells) or e.quantity != "share" or e.given:
        raise InvalidInput(
            f"A log-linear model is of a table of shares, and its tables name all its columns, "
            f"{', '.join(map(repr, e.cells))}; found {list(parts)!r}."
        )
    sizes = [len(dict.fromkeys(labels)) for labels in e.cells.values()]
    if int(np.prod(sizes)) != len(e.values) or len(e.values) > MOST_CELLS:
        raise InvalidInput(
            f"A log-linear model takes a table of at most {MOST_CELLS:,} cells that holds every "
            "combination of its labels; columns that were not randomised may lack some."
        )
    return parts


def model_columns(e: Estimate, parts: Sequence[tuple[str, ...]]) -> Floats:
    """Return the contrasts of every subset of columns of the tables, one column each."""
    codes = {}
    for name, labels in e.cells.items():
        place = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        codes[name] = np.array([place[label] for label in labels])
    ordered = [[name for name in e.cells if name in part] for part in parts]
    within = {
        some for part in ordered for k in range(len(part) + 1) for some in combinations(part, k)
    }
    columns = []
    for some in sorted(within, key=lambda one: (len(one), one)):
        block = np.ones((len(e.values), 1))
        for name in some:
            own = np.eye(codes[name].max() + 1)[codes[name]][:, 1:]
            block = (block[:, :, None] * own[:, None, :]).reshape(len(block), -1)
        columns.append(block)
    return np.concatenate(columns, axis=1)


def fitted_margins(X: Floats, p: Floats) -> Floats:
    """Return the distribution of the model with the margins of p, by Newton steps."""
    beta = np.zeros(X.shape[1])
    beta[0] = -np.log(len(p))
    goal = X.T @ p
    for _ in range(STEPS):
        mu = np.exp(np.minimum(X @ beta, 50.0))
        slope = goal - X.T @ mu
        step = np.linalg.solve((X * mu[:, None]).T @ X, slope)
        if float(slope @ step) < CLOSE:
            return np.asarray(np.exp(X @ (beta + step)))
        beta = beta + step * min(1.0, 2.0 / float(np.abs(X @ step).max()))
    raise NotConverged(
        "No distribution of this log-linear model has the margins of the table: some are estimated "
        "at zero or below. Merge categories, or take smaller tables."
    )
