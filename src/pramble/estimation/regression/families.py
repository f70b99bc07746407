r"""Families of regressions: the log-likelihood of a response, given linear predictors.

A family has L linear predictors :math:`\eta_l = \sum_j c_{lj}\,\theta_j D_j`, one for most. Given
the response y it says the log-likelihood :math:`\ell`, its slopes :math:`g_l` and its curvatures
:math:`h_{lm} = -\partial^2 \ell / \partial\eta_l \partial\eta_m`, so a score is
:math:`\psi_j = D_j \sum_l c_{lj}\, g_l`. Its mean has one part for each of its ``answers``: the
classes of the response, or one.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from pramble.data.labels import place_of
from pramble.errors import InvalidInput
from pramble.estimation.regression.design_matrix import Response
from pramble.values import Floats, Integers, frozen

# A predictor beyond which a rate counts as that: its square must be a number.
LARGEST = 300.0

# The least share or mean that a start is taken from.
FEWEST = 1e-3


@frozen(eq=False)
class Parameters:
    """The parameters θ: their names, the column of the design matrix of each, and the c above."""

    names: tuple[str, ...]
    column: Integers
    loads: Floats

    def by_column(self, theta: Floats, columns: int) -> Floats:
        answer = np.zeros((len(self.loads), columns))
        for j, column in enumerate(self.column):
            answer[:, column] += self.loads[:, j] * theta[j]
        return answer


@frozen(eq=False)
class Pieces:
    """Log-likelihood (…), slopes (L, …) and curvatures (L, L, …) at each combination."""

    value: Floats
    g: Floats
    h: Floats


@frozen
class OnePredictor:
    """One linear predictor with the canonical link: the slope is what is left of the response.

    Least squares, a response of zeros and ones with the logit, or counts with the logarithm.
    """

    name: Literal["linear", "logistic", "poisson"]

    def mean(self, eta: Floats) -> Floats:
        from scipy.special import expit

        if self.name == "linear":
            return eta
        return np.asarray(
            expit(eta) if self.name == "logistic" else np.exp(np.minimum(eta, LARGEST))
        )

    def bend(self, mean: Floats) -> Floats:
        if self.name == "linear":
            return np.ones_like(mean)
        return np.asarray(mean * (1 - mean)) if self.name == "logistic" else mean

    def parameters(self, names: Sequence[str]) -> Parameters:
        return Parameters(tuple(names), np.arange(len(names)), np.ones((1, len(names))))

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        theta, level = np.zeros(len(parameters.names)), float(shares[0])
        if self.name == "logistic":
            share = float(np.clip(level, FEWEST, 1 - FEWEST))
            level = float(np.log(share / (1 - share)))
        elif self.name == "poisson":
            level = float(np.log(max(level, FEWEST)))
        if "intercept" in parameters.names:
            theta[parameters.names.index("intercept")] = level
        return theta

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        mean = self.mean(eta)
        if self.name == "linear":
            value = -0.5 * (y - mean[0]) ** 2
        elif self.name == "logistic":
            value = y * eta[0] - np.logaddexp(0.0, eta[0])
        else:  # but for the factorial, which no parameter moves
            value = y * eta[0] - mean[0]
        return Pieces(np.asarray(value), y - mean, self.bend(mean)[None])


@frozen
class Multinomial:
    """Classes, each with coefficients of its own against the first."""

    answers: tuple[str, ...]

    def parameters(self, names: Sequence[str]) -> Parameters:
        classes, p = len(self.answers) - 1, len(names)
        together = tuple(f"{label}: {name}" for label in self.answers[1:] for name in names)
        return Parameters(
            together, np.tile(np.arange(p), classes), np.repeat(np.eye(classes), p, axis=1)
        )

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        logs = np.log(np.maximum(shares, FEWEST))
        theta = np.zeros(len(parameters.names))
        for label, level in zip(self.answers[1:], logs[1:] - logs[0], strict=True):
            name = f"{label}: intercept"
            if name in parameters.names:
                theta[parameters.names.index(name)] = level
        return theta

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        p = self.mean(eta)
        shown = np.broadcast_to(y, eta.shape[1:])
        value = np.log(np.maximum(np.take_along_axis(p, shown[None], axis=0)[0], 1e-300))
        is_class = shown[None] == np.arange(1, len(p)).reshape(-1, *[1] * shown.ndim)
        h = -p[1:, None] * p[None, 1:]
        for c in range(len(p) - 1):
            h[c, c] += p[c + 1]
        return Pieces(value, is_class - p[1:], h)

    def mean(self, eta: Floats) -> Floats:
        from scipy.special import softmax

        return np.asarray(softmax(np.concatenate([np.zeros((1, *eta.shape[1:])), eta]), axis=0))


@frozen
class Ordinal:
    r"""Classes in order: :math:`P(Y \le l) = F(\theta_l - \beta \cdot D)`, proportional odds."""

    answers: tuple[str, ...]

    def parameters(self, names: Sequence[str]) -> Parameters:
        if "intercept" not in names:
            raise InvalidInput("An ordinal regression has thresholds: leave '0 +' out.")
        at, cuts = list(names).index("intercept"), len(self.answers) - 1
        others = [j for j in range(len(names)) if j != at]
        thresholds = [f"{a}|{b}" for a, b in zip(self.answers, self.answers[1:], strict=False)]
        loads = np.concatenate([-np.ones((cuts, len(others))), np.eye(cuts)], axis=1)
        return Parameters(
            (*(names[j] for j in others), *thresholds), np.array([*others, *[at] * cuts]), loads
        )

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        inside = np.maximum(shares, FEWEST)
        below = (inside / inside.sum()).cumsum()[:-1]
        theta = np.zeros(len(parameters.names))
        theta[len(theta) - len(below) :] = np.log(below / (1 - below))
        return theta

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        from scipy.special import expit

        F = expit(eta)
        f = F * (1 - F)
        bend = f * (1 - 2 * F)
        p = np.take_along_axis(self.mean(eta), np.broadcast_to(y, eta.shape[1:])[None], axis=0)[0]
        sound = np.where(p > 0, p, 1e-300)
        g, h = np.zeros_like(eta), np.zeros((len(eta), *eta.shape))
        for cut in range(len(eta)):
            for above in (0, 1):
                own = np.broadcast_to(y == cut + above, p.shape)
                sign = 1 - 2 * above
                slope = sign * f[cut] / sound
                g[cut] += own * slope
                h[cut, cut] += own * (slope**2 - sign * bend[cut] / sound)
            if cut:
                own = np.broadcast_to(y == cut, p.shape)
                h[cut - 1, cut] = h[cut, cut - 1] = -(own * f[cut] * f[cut - 1] / sound**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            return Pieces(np.where(p > 0, np.log(sound), -np.inf), g, h)

    def mean(self, eta: Floats) -> Floats:
        from scipy.special import expit

        shape = (1, *eta.shape[1:])
        return np.diff(expit(eta), axis=0, prepend=np.zeros(shape), append=np.ones(shape))


Family = OnePredictor | Multinomial | Ordinal
FamilyName = Literal["linear", "logistic", "multinomial", "ordinal", "poisson"]
FAMILIES = get_args(FamilyName)
# Classes of a response: each has coefficients of its own.
MOST_CLASSES = 40


def family_of(name: str, response: Response, *, success: Any) -> tuple[Family, Any, int]:
    if name not in FAMILIES:
        raise InvalidInput(f"family must be one of {', '.join(FAMILIES)}; found {name!r}.")
    if success is not None and name != "logistic":
        raise InvalidInput("success= goes with the logistic family.")
    if name in {"linear", "poisson"}:
        numbers = response.numbers()
        if not np.isfinite(numbers).all():
            raise InvalidInput(f"The response {response.name!r} must be finite; it is not.")
        if name == "poisson" and (numbers < 0).any():
            raise InvalidInput(f"A Poisson response must not be negative; {response.name!r} is.")
        return OnePredictor("linear" if name == "linear" else "poisson"), numbers, 0
    labels = response.labels or tuple(np.unique(response.values).tolist())
    values = np.asarray(response.values)
    codes = values if response.labels else np.searchsorted(labels, values)  # type: ignore[arg-type]
    if name == "logistic":
        if len(labels) != 2:
            raise InvalidInput(
                f"A logistic response must have two values; {response.name!r} has {len(labels)}. "
                "Say which count as in \"I(x == 'a')\", or take another family: linear, poisson, "
                "multinomial or ordinal."
            )
        one = 1 if success is None else place_of(labels, success)
        if one is None:
            raise InvalidInput(f"success must be a value of {response.name!r}; found {success!r}.")
        return OnePredictor("logistic"), (codes == one).astype(np.float64), 0
    if not 2 <= len(labels) <= MOST_CLASSES:
        raise InvalidInput(
            f"A response of classes must have 2 to {MOST_CLASSES}; {response.name!r} has "
            f"{len(labels)}."
        )
    kind = Multinomial if name == "multinomial" else Ordinal
    return kind(tuple(map(str, labels))), codes, len(labels)
