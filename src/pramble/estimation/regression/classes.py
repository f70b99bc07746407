"""Families of responses that are classes, without an order or with one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.estimation.regression.families import FEWEST, Parameters, Pieces
from pramble.values import Floats, value


@value
class Multinomial:
    """Classes, each with coefficients of its own against the first."""

    answers: tuple[str, ...]

    def parameters(self, names: Sequence[str]) -> Parameters:
        """Return a parameter for each class but the first and each column."""
        classes, p = len(self.answers) - 1, len(names)
        together = tuple(f"{label}: {name}" for label in self.answers[1:] for name in names)
        loads = np.repeat(np.eye(classes), p, axis=1)
        return Parameters(together, np.tile(np.arange(p), classes), loads)

    def start(self, parameters: Parameters, shares: Floats) -> Floats:
        """Return logarithms of shares against the first."""
        logs = np.log(np.maximum(shares, FEWEST))
        theta = np.zeros(len(parameters.names))
        for label, level in zip(self.answers[1:], logs[1:] - logs[0], strict=True):
            name = f"{label}: intercept"
            if name in parameters.names:
                theta[parameters.names.index(name)] = level
        return theta

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        """Return what the multinomial law says."""
        p = self.mean(eta)
        shown = np.broadcast_to(y, eta.shape[1:])
        value = np.log(np.maximum(np.take_along_axis(p, shown[None], axis=0)[0], 1e-300))
        is_class = shown[None] == np.arange(1, len(p)).reshape(-1, *[1] * shown.ndim)
        h = -p[1:, None] * p[None, 1:]
        for c in range(len(p) - 1):
            h[c, c] += p[c + 1]
        return Pieces(value, is_class - p[1:], h)

    def mean(self, eta: Floats) -> Floats:
        """Return the probabilities of all classes."""
        from scipy.special import softmax

        return np.asarray(softmax(np.concatenate([np.zeros((1, *eta.shape[1:])), eta]), axis=0))

    def slope(self, eta: Floats) -> Floats:
        """Return the slopes of all probabilities."""
        p = self.mean(eta)
        answer = -p[:, None] * p[None, 1:]
        for c in range(1, len(p)):
            answer[c, c - 1] += p[c]
        return np.asarray(answer)


@value
class Ordinal:
    r"""Classes in order: :math:`P(Y \le l) = F(\theta_l - \beta \cdot D)`, proportional odds."""

    answers: tuple[str, ...]

    def parameters(self, names: Sequence[str]) -> Parameters:
        """Return a threshold between classes, and one parameter for each column."""
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
        """Return logits of the cumulated shares."""
        inside = np.maximum(shares, FEWEST)
        below = (inside / inside.sum()).cumsum()[:-1]
        theta = np.zeros(len(parameters.names))
        theta[len(theta) - len(below) :] = np.log(below / (1 - below))
        return theta

    def pieces(self, y: Any, eta: Floats) -> Pieces:
        """Return what the difference of two logistic laws says."""
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
        """Return the probabilities of all classes."""
        from scipy.special import expit

        shape = (1, *eta.shape[1:])
        return np.diff(expit(eta), axis=0, prepend=np.zeros(shape), append=np.ones(shape))

    def slope(self, eta: Floats) -> Floats:
        """Return the slopes of all probabilities."""
        from scipy.special import expit

        F = expit(eta)
        f = F * (1 - F)
        answer = np.zeros((len(eta) + 1, *eta.shape))
        for cut in range(len(eta)):
            answer[cut, cut] += f[cut]
            answer[cut + 1, cut] -= f[cut]
        return answer
