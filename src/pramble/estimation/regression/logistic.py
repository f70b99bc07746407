r"""Logistic regression by the likelihood of the release.

For pattern i and unseen combination x let :math:`\pi_{ix}` be the chance of x given the untouched
covariates, :math:`C_{ix}` the chance of the released covariates, and
:math:`f_{ix} = A_i + B_i \mu(\eta_{ix})` that of the released response, with
:math:`\eta_{ix} = \beta^\top d_{ix}`. The posterior of x is
:math:`\tau_{ix} \propto \pi_{ix} C_{ix} f_{ix}`, and Louis' formula gives the exact second
derivative of :math:`\sum_i c_i \log \sum_x \pi_{ix} C_{ix} f_{ix}`: the mean of the complete
one plus the posterior covariance of the complete score.
"""

import numpy as np

from pramble.errors import InvalidInput, NotConverged
from pramble.estimation.regression.patterns import Patterns, rowwise
from pramble.values import Floats, value

MOST_STEPS = 200
MOST_PARAMETERS = 2000
DECREMENT = 1e-9
ROUNDING = 1e-13
"""How much of a log-likelihood, relative to it, may be rounding."""


@value(eq=False)
class Point:
    """The likelihood at one point, with its scores per pattern and its second derivative."""

    value: float
    scores: Floats
    hessian: Floats


def fit_logistic(patterns: Patterns) -> tuple[Floats, Floats, float]:
    """Return coefficients, their covariance, and the log-likelihood."""
    q = patterns.seen.shape[1] + patterns.unseen.shape[1]
    size = q + (len(patterns.unseen) - 1) * patterns.strata.shape[1]
    if size > MOST_PARAMETERS:
        raise InvalidInput(
            f"The regression must have at most {MOST_PARAMETERS} parameters, those of the law "
            f"of the randomised covariates included; found {size}. Take fewer covariates."
        )
    theta, point = climb(patterns, start(patterns, q))
    inverse = np.linalg.inv(-point.hessian)
    if patterns.weighted:
        meat = (point.scores * patterns.squares[:, None]).T @ point.scores
        inverse = inverse @ meat @ inverse
    order = patterns.order
    return theta[order], np.asarray(inverse[np.ix_(order, order)]), point.value


def start(patterns: Patterns, q: int) -> Floats:
    """Return no effects, and a law of the unseen that does not depend on anything."""
    margin = np.maximum(patterns.counts @ patterns.inverse / patterns.counts.sum(), 0)
    margin = 0.95 * margin / margin.sum() + 0.05 / len(margin)
    logits = np.log(margin[1:] / margin[0])
    ones = np.linalg.lstsq(patterns.strata, np.ones(len(patterns.strata)), rcond=None)[0]
    return np.concatenate([np.zeros(q), np.outer(logits, ones).ravel()])


def climb(patterns: Patterns, theta: Floats) -> tuple[Floats, Point]:
    """Return the maximum by Newton steps, damped where the likelihood is not concave.

    It is reached when the whole Newton step, whatever the damping so far, promises less than what
    rounding leaves of the likelihood. Steps that promise little more than that are taken when
    they lose no more than rounding does, since the likelihood cannot tell any better.
    """
    point = evaluate(patterns, theta)
    damping = 0.0
    for _ in range(MOST_STEPS):
        gradient = patterns.counts @ point.scores
        rounding = ROUNDING * max(abs(point.value), 1.0)
        whole = ascent(point.hessian, gradient, damping=0.0)
        if whole is not None and whole @ gradient < max(DECREMENT, rounding):
            return theta + whole, evaluate(patterns, theta + whole)
        step = ascent(point.hessian, gradient, damping=damping) if damping else whole
        if step is None:
            damping = max(4 * damping, 1e-3)
            continue
        fresh = evaluate(patterns, theta + step)
        if not fresh.value >= point.value + 1e-4 * float(step @ gradient) - rounding:
            damping = max(4 * damping, 1e-3)
            continue
        theta, point = theta + step, fresh
        damping = damping / 10 if damping > 1e-6 else 0.0
    raise NotConverged(
        f"The likelihood of the regression must reach its maximum in {MOST_STEPS} steps; it did "
        "not. A covariate may separate the response, or be too noisy for so few records."
    )


def ascent(hessian: Floats, gradient: Floats, *, damping: float) -> Floats | None:
    """Return the damped Newton step, or None if the damped matrix is not positive definite."""
    scale = np.abs(np.diag(hessian))
    damped = -hessian + damping * np.diag(np.maximum(scale, 1e-8 * scale.max()))
    try:
        factor = np.linalg.cholesky(damped)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, gradient)))


def evaluate(patterns: Patterns, theta: Floats) -> Point:
    """Return the log-likelihood, the scores and the second derivative at theta."""
    W, D, V, c = patterns.seen, patterns.unseen, patterns.strata, patterns.counts
    q, K = W.shape[1] + D.shape[1], len(D)
    beta = theta[:q]
    gamma = theta[q:].reshape(K - 1, V.shape[1])
    eta = (W @ beta[: W.shape[1]])[:, None] + (D @ beta[W.shape[1] :])[None, :]
    log_pi = log_softmax(np.column_stack([np.zeros(len(V)), V @ gamma.T]))
    log_f, slope, bend = response_terms(patterns, eta)
    with np.errstate(divide="ignore"):
        joint = log_pi + np.log(patterns.chance) + log_f
    top = joint.max(axis=1, keepdims=True)
    mass = np.exp(joint - top)
    total = mass.sum(axis=1, keepdims=True)
    tau, pi = mass / total, np.exp(log_pi)
    value = float(c @ (top + np.log(total))[:, 0])
    pull = tau * slope
    own = np.column_stack([W * pull.sum(axis=1)[:, None], pull @ D])
    law = rowwise((tau - pi)[:, 1:], V)
    scores = np.column_stack([own, law])
    hessian = np.empty((len(theta), len(theta)))
    hessian[:q, :q] = effect_block(patterns, tau * (bend + slope**2), own)
    hessian[q:, q:] = law_block(V, c, tau=tau[:, 1:], pi=pi[:, 1:])
    hessian[:q, q:] = cross_block(patterns, tau=tau, pull=pull, own=own)
    hessian[q:, :q] = hessian[:q, q:].T
    return Point(value, scores, hessian)


def log_softmax(logits: Floats) -> Floats:
    """Return logarithms of shares proportional to exp(logits)."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def response_terms(patterns: Patterns, eta: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log f and its first two derivatives in eta, for f = A + B·μ(eta)."""
    from scipy.special import expit

    A, B = patterns.response.A[:, None], patterns.response.B[:, None]
    up, down = expit(eta), expit(-eta)
    f = np.maximum((A + B) * up + A * down, 1e-300)
    slope = B * up * down / f
    return np.log(f), slope, slope * (down - up) - slope**2


def effect_block(patterns: Patterns, weights: Floats, own: Floats) -> Floats:
    """Return the second derivative in the coefficients."""
    W, D, c = patterns.seen, patterns.unseen, patterns.counts
    h = weights * c[:, None]
    cross = W.T @ (h @ D)
    block = np.block(
        [
            [(W * h.sum(axis=1)[:, None]).T @ W, cross],
            [cross.T, (D * h.sum(axis=0)[:, None]).T @ D],
        ]
    )
    return np.asarray(block - (own * c[:, None]).T @ own)


def law_block(V: Floats, c: Floats, *, tau: Floats, pi: Floats) -> Floats:
    """Return the second derivative in the law of the unseen covariates."""
    T, P = rowwise(tau, V), rowwise(pi, V)
    block = (P * c[:, None]).T @ P - (T * c[:, None]).T @ T
    v = V.shape[1]
    for k in range(tau.shape[1]):
        at = slice(k * v, (k + 1) * v)
        block[at, at] += (V * (c * (tau - pi)[:, k])[:, None]).T @ V
    return np.asarray(block)


def cross_block(patterns: Patterns, *, tau: Floats, pull: Floats, own: Floats) -> Floats:
    """Return the mixed second derivative in the coefficients and the law."""
    W, D, V, c = patterns.seen, patterns.unseen, patterns.strata, patterns.counts
    first = rowwise((pull * c[:, None])[:, 1:], V)
    block = np.vstack([W.T @ first, np.zeros((D.shape[1], first.shape[1]))])
    sums = first.sum(axis=0).reshape(len(D) - 1, V.shape[1])
    block[W.shape[1] :] = np.einsum("kr,kv->rkv", D[1:], sums).reshape(D.shape[1], first.shape[1])
    return np.asarray(block - (own * c[:, None]).T @ rowwise(tau[:, 1:], V))
