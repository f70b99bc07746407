"""Predictions of a regression, with intervals that stay where a mean can be."""

from typing import Any

import numpy as np

from pramble.estimation.intervals import check_level
from pramble.estimation.regression.columns import rows_of
from pramble.estimation.regression.families import Linear, Poisson
from pramble.estimation.regression.fitted import Fitted
from pramble.values import Floats


def predictions(fitted: Fitted, data: Any, *, level: float) -> dict[str, list[Any]]:
    """Return the columns of a tidy frame: a line for each record, and for each class of it."""
    problem, theta = fitted.problem, fitted.point.theta
    rows = rows_of(data, fitted.covariates)
    D = fitted.model.half(rows, randomised=None)
    eta = problem.parameters.by_column(theta, D.shape[1]) @ D.T
    mean, slope = problem.family.mean(eta), problem.family.slope(eta)
    J = np.einsum("alr,lj->arj", slope, problem.parameters.loads) * D[:, problem.parameters.column]
    error = np.sqrt(np.maximum(np.einsum("arj,jk,ark->ar", J, fitted.covariance, J), 0.0))
    is_open = (np.abs(D[:, problem.parameters.column]) > 0)[:, fitted.told.lost].any(axis=1)
    lower, upper = ends(problem.family, mean, error, level=check_level(level))
    least, most = range_of(problem.family)
    error, lower, upper = (
        np.where(is_open, end, values)
        for end, values in ((np.inf, error), (least, lower), (most, upper))
    )
    answers = problem.family.answers
    columns: dict[str, list[Any]] = {}
    if len(answers) > 1:
        columns["row"] = np.repeat(np.arange(rows.size), len(answers)).tolist()
        columns["class"] = list(answers) * rows.size
    columns[answers[0] if len(answers) == 1 else "probability"] = mean.T.ravel().tolist()
    columns["standard_error"] = error.T.ravel().tolist()
    return {**columns, "lower": lower.T.ravel().tolist(), "upper": upper.T.ravel().tolist()}


def range_of(family: Any) -> tuple[float, float]:
    """Return where a mean can be."""
    if isinstance(family, Linear):
        return -np.inf, np.inf
    return 0.0, np.inf if isinstance(family, Poisson) else 1.0


def ends(family: Any, mean: Floats, error: Floats, *, level: float) -> tuple[Floats, Floats]:
    """Return intervals on the scale on which the mean has no bounds."""
    from scipy.special import expit, logit, ndtri

    reach = ndtri((1 + level) / 2) * error
    if isinstance(family, Linear):
        return mean - reach, mean + reach
    if isinstance(family, Poisson):
        factor = np.exp(reach / np.maximum(mean, 1e-300))
        return mean / factor, mean * factor
    inside = np.clip(mean, 1e-15, 1 - 1e-15)
    spread = reach / (inside * (1 - inside))
    return np.asarray(expit(logit(inside) - spread)), np.asarray(expit(logit(inside) + spread))
