r"""Log-linear models of an estimated table.

The model with tables :math:`T_1, T_2, \dots` has :math:`\log \mu = X\beta`, with the contrasts of
every subset of their columns in X. It is fitted by the margins, :math:`X^\top(\hat p - \mu) = 0`,
which is its maximum likelihood if :math:`\hat p` had been counted and is consistent whatever
:math:`\hat p` comes from. With V the covariance of :math:`\hat p`,

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

from pramble.errors import InvalidInput, NotConverged
from pramble.estimation.follow.functions import derived
from pramble.estimation.inverse.intervals import normal_quantile
from pramble.shown import Display, Facts
from pramble.values import Floats, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from pramble.estimation.follow.result import Estimate


MOST_CELLS = 2000
STEPS = 100
CLOSE = 1e-12
SINGULAR = 1e-9


@value(repr=False)
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
    X = design(e, parts)
    mu = fitted_margins(X, e.values)
    V = e.covariance
    A = (X * mu[:, None]).T @ X
    H = (X * mu[:, None]) @ np.linalg.solve(A, X.T)
    rest = (np.eye(len(mu)) - H) @ V @ (np.eye(len(mu)) - H).T
    scale = np.sqrt(np.maximum(mu, mu.max() * SINGULAR))
    values, vectors = np.linalg.eigh(rest / np.outer(scale, scale))
    told = values > SINGULAR * max(float(values[-1]), 1e-300)
    told &= np.arange(len(values)) >= X.shape[1]
    along = vectors[:, told].T @ ((e.values - mu) / scale)
    statistic = float((along**2 / values[told]).sum())
    freedom = int(told.sum())
    p_value = float(chdtrc(freedom, statistic)) if freedom else 1.0
    return LogLinear(parts, under_model(e, mu, H @ V @ H.T), statistic, freedom, p_value)


def under_model(e: Estimate, mu: Floats, covariance: Floats) -> Estimate:
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    relative = np.divide(errors, mu, out=np.zeros_like(mu), where=mu > 0)
    factor = np.exp(np.minimum(normal_quantile(e.level) * relative, 700.0))
    ends = mu / factor, np.minimum(mu * factor, 1.0)
    return derived(e, mu, covariance, cells=e.cells, quantity=e.quantity, ends=ends)


def checked_tables(e: Estimate, tables: Sequence[Any]) -> tuple[tuple[str, ...], ...]:
    """Return the tables of a model of all columns; refuse others."""
    parts = tuple((one,) if isinstance(one, str) else tuple(one) for one in tables)
    named = {name for part in parts for name in part}
    if named != set(e.cells) or e.quantity != "probability":
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


def design(e: Estimate, parts: Sequence[tuple[str, ...]]) -> Floats:
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
    """Return the law of the model with the margins of p, by Newton steps on a convex function."""
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
        "No law of this log-linear model has the margins of the table: some are estimated at zero "
        "or below. Merge categories, or take smaller tables."
    )
