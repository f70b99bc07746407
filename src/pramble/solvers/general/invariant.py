r"""Invariant designs: the distribution of the release equals the prior, :math:`pR = p`.

Candidates, for the categories of positive probability (an impossible category cannot be released,
and its row is p):

- the closed form :math:`tI + (1-t)1p^\top`, :math:`t = (a-1)p_{\min}/(1+(a-1)p_{\min})`;
- Bayes post-processing :math:`R = M \operatorname{diag}(1/m) M^\top \operatorname{diag}(p)` of a
  mechanism M with :math:`m = pM`;
- the best vertex of the polytope of all invariant matrices that climbs from these and from many
  random starts find; see :mod:`.invariant_search`.

The bound is the lesser of the free optimum and of what outputs with the masses of the prior can
tell; see below.

How much an invariant matrix can carry, from the masses that its outputs must have.

Output z of an invariant matrix has probability :math:`p_z` and tells
:math:`K(R_z) = \sum_x p_x R_{xz} \log R_{xz}`, where :math:`R_{xz} = M_{xz}/p_z` has mean
:math:`\sum_x p_x R_{xz} = 1`. All other outputs together release z or not z, so

.. math:: R_{xz} \le a R_{x'z}, \qquad 1 - p_z R_{x'z} \le a\,(1 - p_z R_{xz})

for all x and x', the second because sums of private columns are private. With l the least
:math:`R_{xz}`, all of them lie in [l, u(l)], where :math:`u(l) = \min\{al,
(1 - (1-p_zl)/a)/p_z\}`. A convex function of a variable with mean 1 on [l, u] is at most its chord
at 1,

.. math:: k(l, u) = \frac{(1-l)\,u\log u + (u-1)\,l\log l}{u-l},

which falls in l and grows in u. On a cell :math:`[l_1, l_2]` it is therefore at most
:math:`k(l_1, u(l_2))`, and the largest over cells that cover [1/a, 1] bounds
:math:`K(R_z)`. The sum :math:`\sum_z p_z K(R_z)` of these bounds the information. A heavy output
tells little, for it is what is left of all others; that is what the free optimum does not know.

Round an invariant matrix to exact weights that stay invariant to the last unit.

Weights are rounded as for any matrix, mixing in :math:`1p^\top` (which is invariant) where α asks
for it. Then, in exact integer arithmetic, units are moved along rows until

.. math:: \Big|\sum_x p_x w_{xz} - 2^{53} p_z\Big| \le 1 \quad\text{for every } z,

that is until every released share is right within :math:`2^{-53}`. Rows keep their sums.

Uniform rows that leave the prior unchanged: one number to choose.

:math:`pM = p` holds for uniform rows iff :math:`1-q_x = \theta / p_x` with one θ for all x. Privacy
bounds θ from both sides, and information is convex along the segment: one of its ends is best.

Where privacy leaves no θ, the nearest kin is returned: keep a value with probability t, else draw
from the prior, :math:`tI + (1-t)1p^\top`. Column z has the ratio :math:`1 + t/((1-t)p_z)`, so t is
private up to :math:`t/(1-t) = (e^\alpha-1)p_{\min}`; information grows with t, and that t is best.
"""

import math
from fractions import Fraction

import numpy as np

from pramble.errors import InvalidInput, NotConverged, PrivacyError
from pramble.information.measures import mutual_information
from pramble.limits import LARGEST_ALPHA
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.general import General, least_mixing, ratios_within, round_rows
from pramble.mechanisms.operators.dense import entropy_excess
from pramble.mechanisms.ratios import exp_below
from pramble.mechanisms.uniform import keep_probabilities
from pramble.solvers.general.information import informative_mixture
from pramble.solvers.general.invariant_search import (
    accuracy_goal,
    best_invariant,
    information_goal,
)
from pramble.solvers.general.sets import response_matrix
from pramble.solvers.general.variance import observed_variance, query_variance
from pramble.solvers.general.variance_bounds import proven_bound
from pramble.solvers.problem import DesignProblem, diagnosed_answer
from pramble.solvers.result import Design
from pramble.values import Floats, Integers

MOST_CLIMBED = 80
MOST_CATEGORIES = 1000
# Covers the rounding of a mechanism that stands in for an end of a segment, both of whose ends
# are tried: where two categories leave one, and of uniform rows.
MARGIN = 1e-9

# Caps e^α where it would overflow.
LARGEST_EXPONENT = 600.0


def solve_invariant(problem: DesignProblem) -> Design:
    """Return the best invariant mechanism found, and what the invariance costs."""
    prior, alpha, budget = possible_prior(problem), problem.alpha, problem.budget()
    informed = problem.objective == "information"
    # each followed by Bayes's rule: the best mechanism without invariance, randomised response
    without, stopped = problem.ceiling, "search"
    mechanisms = [response_matrix(len(prior), min(alpha, LARGEST_EXPONENT))]
    if 2 <= len(prior) <= MOST_CATEGORIES and alpha <= LARGEST_ALPHA:
        best = informative_mixture(prior, alpha, budget.part(1e-6, effort=budget.left() / 2))
        mechanisms, without = [best.matrix(alpha), *mechanisms], min(best.bound, without)
    bound = min(without, invariant_bound(prior, alpha))
    candidates = [keep_or_draw_matrix(prior, alpha)]
    try:
        candidates += [one / (prior @ one) @ (one.T * prior) for one in mechanisms]
        if budget.is_over():
            stopped = budget.reason
        elif 2 <= len(prior) <= MOST_CLIMBED and alpha <= LARGEST_ALPHA:
            goal = (
                information_goal(prior)
                if informed
                else accuracy_goal(prior, problem.queries[:, problem.prior > 0])
            )
            known = bound if informed else 0.0
            found, stopped = best_invariant(
                prior, alpha, candidates, goal=goal, bound=known, budget=budget
            )
            candidates.append(found)
    except KeyboardInterrupt:
        stopped = "interrupted"
    exact = [on_all_categories(one, problem) for one in candidates]
    values = [mutual_information(problem.prior, one) for one in exact]
    if informed:
        k = int(np.argmax(values))
        value, limit = values[k], max(bound, values[k])
        if len(prior) <= 2 and stopped == "search":
            limit = min(limit, value * (1 + MARGIN))
    else:
        variances = [query_variance(problem.prior, one, problem.workload) for one in exact]
        k = int(np.argmin(variances))
        proven = observed_variance(problem.prior, problem.workload)
        if alpha <= LARGEST_ALPHA:
            free = proven_bound(problem.prior, alpha, problem.workload, budget=budget)
            proven = max(free, proven)
        value, limit = variances[k], min(proven, variances[k])
    note, details = invariance_cost(values[k], without, "a general matrix")
    return diagnosed_answer(
        problem,
        exact[k],
        value=value,
        bound=limit,
        stopped=stopped,
        notes=(note,),
        details=details,
    )


def invariance_cost(value: float, without: float, what: str) -> tuple[str, dict[str, float]]:
    """Return what invariance costs, as a note and as figures."""
    cost = without - value
    note = (
        f"Invariance costs at most {max(cost, 0):.6g} nats: {value:.6g} of the {without:.6g} that "
        f"{what} may carry at most."
    )
    return note, {"information_without_invariance": without, "invariance_cost": cost}


def possible_prior(problem: DesignProblem) -> Floats:
    prior = problem.prior[problem.prior > 0]
    return np.asarray(prior / prior.sum())


def keep_or_draw_matrix(prior: Floats, alpha: float) -> Floats:
    """Return the mixture of the identity and the prior in every row."""
    odds = math.expm1(min(alpha, LARGEST_EXPONENT)) * prior.min()
    t = odds / (1 + odds)
    return np.asarray(t * np.eye(len(prior)) + (1 - t) * prior)


def on_all_categories(matrix: Floats, problem: DesignProblem) -> Mechanism:
    """Return the exact mechanism on all categories: impossible ones are never released."""
    prior, possible = problem.prior, problem.prior > 0
    full = np.tile(prior, (problem.size, 1))
    full[np.ix_(possible, possible)] = matrix

    def mixed(delta: float) -> Integers:
        return balance_margins(round_rows((1 - delta) * full + delta * prior, TOTAL), prior)

    weights = least_mixing(mixed, ratios_within(exp_below(problem.alpha)))
    return General(problem.labels, problem.labels, weights)


CELLS = 256
PARTS = 16
ROUNDS = 12
SHARP = 1e-7


def invariant_bound(prior: Floats, alpha: float) -> float:
    """Return a proven bound on the information of every invariant matrix."""
    margin = 1 + 1e-12 + 1e-14 / min(alpha, 1.0)
    masses, counts = np.unique(prior, return_counts=True)
    most = [most_of_output(float(mass), alpha) for mass in masses]
    return margin * math.fsum((masses * counts * most).tolist())


def most_of_output(mass: float, alpha: float) -> float:
    """Return a bound on what one output of this probability tells."""
    grow, shrink = math.expm1(alpha), -math.expm1(-alpha)
    ends = np.linspace(shrink, 0.0, CELLS + 1)
    low, high = ends[:-1], ends[1:]
    bound = math.inf
    for _ in range(ROUNDS):
        # the most that an entry can be above 1 where the least is ``high`` below it
        rest = (shrink * (1 - mass) - mass * high * math.exp(-alpha)) / mass
        most = np.maximum(np.minimum(grow - (1 + grow) * high, rest), 0.0)
        upper = chord(low, most)
        bound = min(bound, float(upper.max()))
        lower = chord(high, most).max()
        if bound <= lower * (1 + SHARP):
            break
        retained = upper > lower
        parts = np.linspace(low[retained], high[retained], PARTS + 1)
        low, high = parts[:-1].ravel(), parts[1:].ravel()
    return bound


def chord(below: Floats, above: Floats) -> Floats:
    """Return the chord of r log r at 1 between 1 − below and 1 + above."""
    width = np.maximum(below + above, 1e-300)
    rise = above * entropy_excess(-below) + below * entropy_excess(above)
    return np.where(above > 0, rise / width, 0.0)


MOST_MOVES = 100_000


def balance_margins(weights: Integers, prior: Floats) -> Integers:
    """Move units along rows until every margin is right within one unit."""
    exact = [Fraction(value) for value in prior.tolist()]
    scale = max(value.denominator for value in exact)
    shares = [int(value * scale) for value in exact]
    weights = weights.copy()
    excess = [
        sum(share * int(w) for share, w in zip(shares, column, strict=True)) - TOTAL * shares[z]
        for z, column in enumerate(weights.T.tolist())
    ]
    heavy = sorted(range(len(shares)), key=lambda x: -shares[x])
    for _ in range(MOST_MOVES):
        most = max(range(len(excess)), key=excess.__getitem__)
        least = min(range(len(excess)), key=excess.__getitem__)
        if excess[most] <= scale and excess[least] >= -scale:
            return weights
        room = max(excess[most], -excess[least])
        x = next((x for x in heavy if 0 < shares[x] <= room and weights[x, most] > 1), None)
        if x is None:
            break
        units = min(excess[most], -excess[least]) // shares[x]
        units = min(max(units, 1), int(weights[x, most]) - 1)
        weights[x, most] -= units
        weights[x, least] += units
        excess[most] -= units * shares[x]
        excess[least] += units * shares[x]
    raise NotConverged("The margins of an invariant design could not be settled in integers.")


INSTEAD = (
    "Returned instead: keep a value, else draw it from the prior; the bound is for matrices of "
    "that kind."
)


def solve_uniform_invariant(problem: DesignProblem) -> Design:
    """Return the best invariant matrix with uniform rows, or its nearest kin if there is none."""
    try:
        low, high = segment(problem)
    except PrivacyError as reason:
        matrix = keep_or_draw_matrix(possible_prior(problem), problem.alpha)
        mechanism = on_all_categories(matrix, problem)
        value = mutual_information(problem.prior, mechanism)
        return problem.answer(
            mechanism,
            value=value,
            bound=value * (1 + MARGIN),
            notes=(f"{reason} {INSTEAD}",),
            details={"kind": "keep or draw from the prior"},
        )
    labels, alpha = problem.labels.values, problem.alpha
    stays = [np.clip(1 - theta / problem.prior, 0, 1) for theta in (low, high)]
    ends = [keep_probabilities(q, labels, alpha=alpha) for q in stays]
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
    # θ at which keeping a value is e^α times as likely as moving to it, and the other way round
    low = max(1 / (1 / u + 1 / (v * shrink * n)) for u, v in (p[[-1, -2]], p[[-2, -1]]))
    high = min(1 / (shrink / n / u + 1 / v) for u, v in (p[:2], p[1::-1]))
    if low > high:
        raise PrivacyError(
            f"No matrix with uniform rows keeps this prior at alpha = {problem.alpha:g}: moving "
            f"the rarest value ({p[0]:.6g}) asks theta <= {high:.6g}, hiding the commonest "
            f'({p[-1]:.6g}) asks theta >= {low:.6g}. Use family="general", or a larger alpha.'
        )
    return low, high
