r"""The most information under a distance: the geometric mechanism on a path, else by columns.

Columns that keep a distance: :math:`v_x \le e^{\alpha l(x,y)} v_y` along every edge.

They form a cone; a mechanism is a mixture :math:`\sum_j \theta_j v_j = 1` of its extreme rays. On a
path the logarithm of an extreme ray goes up or down by :math:`\alpha l` at every step. Rays are
rows of an array, scaled so that their least entry is 1.
"""

from collections.abc import Callable

import numpy as np

from pramble.errors import InvalidInput
from pramble.information.measures import mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.geometric import FARTHEST, geometric, geometric_matrix
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.outputs import most_outputs, name_outputs
from pramble.solvers.metric.bounds import column_gain, independent_margins, information_ceiling
from pramble.solvers.problem import Problem, diagnosed_answer
from pramble.solvers.result import Design
from pramble.values import Floats, Integers

ROUNDS = 60
MOST_SEARCHED = 400
"""Categories up to which columns are searched for beyond those with one peak."""

NOT_SHARP = (
    "The bound is that of a spanning tree, or of plain α between the two farthest categories: how "
    "much of the gap could still be closed is not known."
)


def solve_metric_information(problem: Problem) -> Design:
    """Solve the problem; see :func:`~pramble.design`."""
    distance, budget = distance_of(problem), problem.budget()
    matrix, stopped = best_metric_matrix(problem.prior, problem.alpha, distance, budget=budget)
    mechanism = rounded_metric_design(problem, matrix)
    value = mutual_information(problem.prior, mechanism)
    bound = max(information_ceiling(problem.prior, problem.alpha, distance), value)
    closed = budget.closed(value, bound)
    return diagnosed_answer(
        problem,
        mechanism,
        value=value,
        bound=bound,
        stopped="tolerance" if closed else stopped,
        notes=() if closed else (NOT_SHARP,),
    )


def distance_of(problem: Problem) -> Distance:
    """Return the distance of a problem that has one; refuse fewer outputs than categories."""
    assert problem.distance is not None, "the solver was chosen by it"
    if most_outputs(problem) < problem.size:
        raise InvalidInput(
            f"A design under a distance has an output for each of the {problem.size} categories; "
            f"{most_outputs(problem):.0f} were allowed."
        )
    return problem.distance


def best_metric_matrix(
    prior: Floats, alpha: float, distance: Distance, *, budget: SearchBudget
) -> tuple[Floats, str]:
    """Return the best matrix known: a closed form, or what a search finds."""
    if distance.is_path:
        return geometric_matrix(alpha * distance.lengths), "tolerance"
    margins = independent_margins(prior, distance)
    if not margins:
        return best_ray_mixture(prior, alpha, distance, budget=budget)
    pairs = zip(margins, distance.parts, strict=True)
    found = [best_metric_matrix(p, alpha, part, budget=budget) for p, part in pairs]
    product = found[0][0]
    for matrix, _ in found[1:]:
        product = np.asarray(np.kron(product, matrix), dtype=np.float64)
    return product, next((why for _, why in found if why != "tolerance"), "tolerance")


def rounded_metric_design(problem: Problem, matrix: Floats) -> Mechanism:
    """Return the exact mechanism; on a path each output is the category where it has its peak."""
    distance = distance_of(problem)
    same = isinstance(problem.outputs, str) and problem.outputs == "same"
    if same and distance.is_path:
        return geometric(problem.labels, problem.alpha, lengths=distance.lengths)
    paths = distance.parts and all(part.is_path for part in distance.parts)
    if same and paths and independent_margins(problem.prior, distance):
        return Mechanism.from_matrix(
            matrix, problem.labels.values, alpha=problem.alpha, distance=distance
        )
    return name_outputs(problem, matrix)


def best_ray_mixture(
    prior: Floats, alpha: float, distance: Distance, *, budget: SearchBudget
) -> tuple[Floats, str]:
    """Return the most informative mixture of the columns found, and why the search ended."""
    # An optimum of the linear programme has at most S columns. Columns that its prices make worth
    # having are looked for from those in use, uphill.
    size = distance.size
    if alpha * distance.diameter > FARTHEST:
        distance = distance.at_most(FARTHEST / alpha)
    programme = LinearProgramme(np.ones(size))
    rays = np.vstack([np.ones((1, size)), peaks(distance, alpha)])
    scale = rays.mean(axis=1)
    programme.add(rays / scale[:, None], column_gain(prior, rays) / scale)
    stopped, best = "search", (np.eye(1, len(rays))[0], rays, scale)
    for _ in range(ROUNDS):
        solved = programme.solve(budget)
        if solved is None:
            stopped = budget.reason
            break
        theta, prices = solved
        best = theta, rays, scale
        if size > MOST_SEARCHED:
            break
        used = rays[theta > 0]

        def slopes(columns: Floats, prices: Floats = prices) -> Floats:
            with np.errstate(divide="ignore"):
                logs = np.log(columns / (columns @ prior)[:, None])
            return np.asarray(prior * logs - prices)

        found = [pushed(np.vstack([used, peaks(distance, alpha)]), distance, alpha, slopes)]
        for _ in range(3):
            found.append(pushed(found[-1], distance, alpha, slopes))
        fresh = distinct_rays(np.vstack(found))
        budget.spend(10 * sum(one.size for one in found) * size)
        means = fresh.mean(axis=1)
        gains = column_gain(prior, fresh) / means
        worth = gains - fresh / means[:, None] @ prices
        kept = worth > 1e-9 * max(float(gains.max()), 1e-300)
        if not kept.any():
            break
        programme.add(fresh[kept] / means[kept, None], gains[kept])
        rays, scale = np.vstack([rays, fresh[kept]]), np.concatenate([scale, means[kept]])
    theta, rays, scale = best
    kept = theta > 1e-12 * theta.max()
    matrix = (rays[kept] * (theta[kept] / scale[kept])[:, None]).T
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True)), stopped


Slopes = Callable[[Floats], Floats]
"""The gradient of a gain at some rays, one row for each."""


def scaled_rays(logs: Floats) -> Floats:
    return np.asarray(np.exp(logs - logs.min(axis=1, keepdims=True)))


def path_rays(steps: Floats) -> Floats:
    r"""Return all :math:`2^{S-1}` extreme rays of a path with steps :math:`\alpha l_i`.

    >>> path_rays(np.log([2.0])).round(9)
    array([[2., 1.],
           [1., 2.]])
    """
    numbers = np.arange(1 << len(steps))
    return turned_rays(np.where((numbers[:, None] >> np.arange(len(steps))) & 1, 1, -1), steps)


def turned_rays(signs: Integers, steps: Floats) -> Floats:
    """Return the rays of a path that go up (+1) or down (−1) at every step."""
    logs = np.cumsum(signs * steps, axis=1)
    return scaled_rays(np.column_stack([np.zeros(len(signs)), logs]))


def peaks(distance: Distance, alpha: float) -> Floats:
    r"""Return the rays :math:`e^{-\alpha d(x,z)}` with a peak at each z, and those upside down."""
    spread = alpha * distance.matrix
    return distinct_rays(scaled_rays(np.vstack([-spread, spread])))


def pushed(rays: Floats, distance: Distance, alpha: float, slopes: Slopes) -> Floats:
    r"""Return rays moved uphill, each entry in turn to an end of its range.

    Given the others, entry x may lie between :math:`\max_y v_y e^{-\alpha d}` and
    :math:`\min_y v_y e^{\alpha d}`. A convex gain is largest at an end; the slope says which.
    """
    spread, logs = alpha * distance.matrix, np.log(rays)
    uphill = slopes(rays) > 0
    for x in range(distance.size):
        others = np.delete(logs, x, axis=1)
        apart = np.delete(spread[x], x)
        logs[:, x] = np.where(
            uphill[:, x], (others + apart).min(axis=1), (others - apart).max(axis=1)
        )
    return scaled_rays(logs)


def with_complements(rays: Floats, distance: Distance, alpha: float) -> Floats:
    r"""Return rays and for each v the column :math:`c - v`, with the least c that keeps distance.

    A ray and its complement mix to a constant, so every ray can have a part in some mixture.
    """
    first, second = distance.pairs.T
    grow = np.exp(alpha * distance.lengths)
    both = ((first, second), (second, first))
    least = [((grow * rays[:, y] - rays[:, x]) / (grow - 1)).max(axis=1) for x, y in both]
    rest = np.maximum(*least)[:, None] - rays
    kept = rest.min(axis=1) > 0
    return np.vstack([rays, rest[kept] / rest[kept].min(axis=1, keepdims=True)])


def distinct_rays(rays: Floats) -> Floats:
    """Return rays without repetition, up to rounding."""
    _, first = np.unique(np.round(np.log(rays), 10), axis=0, return_index=True)
    return np.asarray(rays[np.sort(first)])
