r"""What a column is worth at each part of α, for an optimal split.

A design takes a moment, and a split asks for hundreds. So columns of general matrices are designed
at a few α only, spread evenly in log α over what a column may get, with a loose tolerance; between
them the logarithm of information, or of variance, is interpolated as a monotone cubic function of
log α (Fritsch and Carlson 1980). A mechanism for a smaller α is one for a larger, so what the
points say is made monotone first.
"""

from collections.abc import Callable

import numpy as np

from pramble.information.fisher import estimation_variance
from pramble.information.measures import entropy, information_bound, mutual_information
from pramble.mechanisms.uniform import randomized_response
from pramble.releasing.prepare.column import Designed, Effort, designed
from pramble.releasing.prepare.count import Counted
from pramble.releasing.prepare.prior import Prior
from pramble.releasing.prepare.rivals import variance_of
from pramble.solvers.problem import ObjectiveName
from pramble.values import Floats, value

WIDE = 40
"""Above so many categories an optimal split uses closed forms instead of designs."""

POINTS = 8
ROUGH = Effort(tolerance=1e-3, seconds=2.0)

Loss = Callable[[float], float]


@value(eq=False)
class Curve:
    """What a split makes small as a function of a column's α, and what is to be said of it."""

    loss: Loss
    notes: tuple[str, ...] = ()


def curve_of(
    column: Counted, prior: Prior, *, objective: ObjectiveName, reach: tuple[float, float]
) -> Curve:
    """Return minus the share of information, or the variance, of what would be released.

    ``reach`` is the least and the most α that the column may get.
    """
    p, spec = prior.probabilities, column.spec
    by_information = objective == "information"
    most = entropy(p)

    def worth(found: Designed) -> float:
        if by_information:
            return -mutual_information(p, found.mechanism) / most if most else 0.0
        return variance_of(p, found.mechanism)

    if len(p) > WIDE and column.needs_prior:
        return closed_form(column, prior, by_information=by_information)
    if not column.needs_prior or (spec.family == "uniform" and not spec.invariant):
        curve = Curve(lambda alpha: worth(designed(column, prior, alpha=alpha)))
    else:
        alphas = np.geomspace(*reach, POINTS)
        curve = interpolated(
            alphas, [worth(designed(column, prior, alpha=a, effort=ROUGH)) for a in alphas.tolist()]
        )
    if np.isinf(curve.loss(reach[1])):
        return closed_form(column, prior, by_information=by_information)
    return curve


def interpolated(alphas: Floats, values: list[float]) -> Curve:
    """Return the monotone curve through some points; infinite before the first finite one."""
    from scipy.interpolate import PchipInterpolator

    falling = np.minimum.accumulate(values)
    finite = np.isfinite(falling) & (falling != 0)
    if finite.sum() < 2:
        return Curve(lambda _: float(falling[-1]))
    x, y = np.log(alphas[finite]), falling[finite]
    sign = np.sign(y[-1])
    smooth = PchipInterpolator(x, np.log(np.abs(y)))
    first, last = float(x[0]), float(x[-1])

    def loss(alpha: float) -> float:
        at = float(np.log(alpha))
        if at < first - 1e-9:
            return np.inf
        return float(sign * np.exp(smooth(min(max(at, first), last))))

    return Curve(loss)


def closed_form(column: Counted, prior: Prior, *, by_information: bool) -> Curve:
    """Return what stands for a design that is too wide: a bound, or randomised response."""
    p, most = prior.probabilities, entropy(prior.probabilities)
    general = column.spec.family == "general"

    def share(alpha: float) -> float:
        if general:
            return -min(information_bound(alpha), most) / most
        return -mutual_information(p, randomized_response(column.labels, alpha)) / most

    def variance(alpha: float) -> float:
        return estimation_variance(p, randomized_response(column.labels, alpha))

    used = "the universal bound" if by_information and general else "randomised response"
    note = (
        f"Its part of α was found with {used} in place of its design, "
        f"which has {len(p)} categories or cannot be estimated from."
    )
    return Curve(share if by_information else variance, (note,))
