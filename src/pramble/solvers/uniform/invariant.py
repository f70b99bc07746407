r"""Uniform rows that leave the prior unchanged: one number to choose.

:math:`pM = p` holds for uniform rows iff :math:`1-q_x = \theta / p_x` with one θ for all x. Privacy
bounds θ from both sides, and information is convex along the segment: one of its ends is best.

Where privacy leaves no θ, the nearest kin is returned: keep a value with probability t, else draw
from the prior, :math:`tI + (1-t)1p^\top`. Column z has the ratio :math:`1 + t/((1-t)p_z)`, so t is
private up to :math:`t/(1-t) = (e^\alpha-1)p_{\min}`; information grows with t, and that t is best.
"""

import math

import numpy as np

from pramble.errors import InvalidInput, PrivacyError
from pramble.information.measures import mutual_information
from pramble.mechanisms.uniform import UniformRows, keep_probabilities
from pramble.solvers.general.invariant import keep_or_draw
from pramble.solvers.problem import DesignProblem
from pramble.solvers.result import Design

# Covers the float errors of θ and of the rounded mechanism that stands in for each end.
MARGIN = 1e-9

INSTEAD = (
    "Returned instead: keep a value, else draw it from the prior; the bound is for matrices of "
    "that kind."
)


def solve_uniform_invariant(problem: DesignProblem) -> Design:
    """Return the best invariant matrix with uniform rows, or its nearest kin if there is none."""
    try:
        low, high = segment(problem)
    except PrivacyError as reason:
        return nearest_kin(problem, str(reason))
    ends = [mechanism_at(problem, theta) for theta in (low, high)]
    values = [mutual_information(problem.prior, end) for end in ends]
    best = int(values[1] > values[0])
    bound = min(max(values) * (1 + MARGIN), problem.ceiling)
    return problem.answer(
        ends[best],
        value=values[best],
        bound=max(bound, values[best]),
        notes=("The released shares equal the prior up to rounding in the 15th digit.",),
        details={"theta": (low, high)[best], "segment": (low, high)},
    )


def nearest_kin(problem: DesignProblem, reason: str) -> Design:
    """Return the matrix that keeps a value or draws from the prior, with the largest private t."""
    mechanism = keep_or_draw(problem)
    value = mutual_information(problem.prior, mechanism)
    return problem.answer(
        mechanism,
        value=value,
        bound=value * (1 + MARGIN),
        notes=(f"{reason} {INSTEAD}",),
        details={"kind": "keep or draw from the prior"},
    )


def segment(problem: DesignProblem) -> tuple[float, float]:
    p, n = np.sort(problem.prior), problem.size - 1
    if problem.keep_at_least is not None or problem.symmetric:
        raise InvalidInput("invariant=True leaves one number to choose; ask for nothing beside it.")
    shrink = math.exp(-problem.alpha)
    if not p[0] or (n > 1 and p[0] < shrink * p[-1]):
        raise PrivacyError(
            "A matrix with uniform rows keeps the prior only if no category is more than e^alpha "
            f"times as likely as another; found {p[-1]:.6g} and {p[0]:.6g}. "
            'Use family="general", or a larger alpha.'
        )
    low = max(least_theta(p[-1], p[-2], shrink * n), least_theta(p[-2], p[-1], shrink * n))
    high = min(most_theta(p[0], p[1], shrink / n), most_theta(p[1], p[0], shrink / n))
    if low > high:
        raise PrivacyError(
            f"No matrix with uniform rows keeps this prior at alpha = {problem.alpha:g}: moving "
            f"the rarest value ({p[0]:.6g}) asks theta <= {high:.6g}, hiding the commonest "
            f'({p[-1]:.6g}) asks theta >= {low:.6g}. Use family="general", or a larger alpha.'
        )
    return low, high


def least_theta(retained: float, other: float, scale: float) -> float:
    """Return the θ at which keeping one value is e^α times as likely as moving to it."""
    return 1 / (1 / retained + 1 / (other * scale))


def most_theta(moved: float, retained: float, scale: float) -> float:
    """Return the θ at which moving to a value is e^α times as likely as keeping it."""
    return 1 / (scale / moved + 1 / retained)


def mechanism_at(problem: DesignProblem, theta: float) -> UniformRows:
    q = np.clip(1 - theta / problem.prior, 0, 1)
    return keep_probabilities(q, problem.labels.values, alpha=problem.alpha)
