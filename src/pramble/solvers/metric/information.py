r"""The most information under a distance: the geometric mechanism on a path, else by columns.

Columns that keep a distance: :math:`v_x \le e^{\alpha l(x,y)} v_y` along every edge.

They form a cone; a mechanism is a mixture :math:`\sum_j \theta_j v_j = 1` of its extreme rays. On a
path the logarithm of an extreme ray goes up or down by :math:`\alpha l` at every step. Rays are
rows of an array, scaled so that their least entry is 1.

The most information under a distance: attained on a path, bounded on every graph.

Let :math:`g(v) = \sum_x p_x v_x \log(v_x / p\cdot v)` be what a column v adds to the information,
:math:`k_z(x) = e^{-\alpha d(x,z)}` the column with its peak at z, and λ the prices with
:math:`\lambda\cdot k_z = g(k_z)` for every z.

**Theorem.** If the graph is a tree, :math:`g(v) \le \lambda\cdot v` for every column v that keeps
its distance. So no mechanism carries more than :math:`\sum_x \lambda_x`.

*Proof.* Cut the tree at a vertex i with branches :math:`B_1, …, B_m`. Let :math:`v^k` be v on
:math:`B_k` and i, and :math:`w = v_i k_i` elsewhere. Then :math:`v + (m-1) w = \sum_k v^k`, and at
each x the entries of :math:`(v, w, …, w)` and of :math:`(v^1, …, v^m)` are the same numbers in
another order, so their sums of :math:`p_x t\log t` agree. As v keeps its distance, :math:`w \le v^k
\le v`; so the masses :math:`p\cdot v^k` lie between :math:`p\cdot w` and :math:`p\cdot v` and have
the same sum as :math:`(p\cdot v, p\cdot w, …, p\cdot w)`, which therefore majorises them; with
:math:`-t\log t` concave,

.. math:: g(v) + (m-1) g(w) \le \sum_k g(v^k), \qquad g(w) = \lambda\cdot w .

Hence :math:`g(v) \le \lambda\cdot v` if it holds for every :math:`v^k`. Cutting at every vertex
leaves columns that vary along one edge (i, j) and fall off beyond it. Such a column is
:math:`b_i k_i + b_j k_j` with :math:`b \ge 0`, and g is convex and homogeneous, so :math:`g(v) \le
b_i g(k_i) + b_j g(k_j) = \lambda\cdot v`. ∎

On a path :math:`1 = \sum_z \theta_z k_z` with :math:`\theta \ge 0`: that mixture is the geometric
mechanism, and it attains the bound. **For any graph**, leaving out all edges but those of a
spanning tree asks for less privacy, so the bound of every spanning tree holds for it as well.

**Several columns.** If X and Y are independent and distances add up, :math:`I(X,Y;Z) = I(X;Z) +
I(Y;Z|X)`. For a given x the mechanism keeps the distance of Y; and averaged over y, the same for
all x, it keeps that of X. So the bounds of the columns add up, and the product of their geometric
mechanisms attains the sum.

A proven lower bound on the estimation variance under a distance, for any number of categories.

By Cauchy and Schwarz :math:`\operatorname{tr}(CK^{-1})\operatorname{tr}(HK) \ge
(\operatorname{tr}(C^{1/2}HC^{1/2})^{1/2})^2` for every :math:`H \succeq 0`. Take :math:`H =
\sum_{ij}\gamma_{ij}\,(e_i-e_j)(e_i-e_j)^\top` over pairs of categories. Then

.. math:: \operatorname{tr}(HK) = \sum_{ij}\gamma_{ij} \sum_v \theta_v
          \frac{(v_i - v_j)^2}{p\cdot v}, \qquad p\cdot v \ge L v_i + R v_j,

where L sums :math:`p_x e^{-\alpha d(x,i)}` over the categories nearer to i and R the same for j,
because a column falls off no faster. The inner sum is now about two numbers, whose mixture is (1,
1); :math:`(v_i-v_j)^2/(L v_i + R v_j)` is convex and homogeneous, so it is largest for columns with
:math:`v_i/v_j = \rho^{\pm1}`, :math:`\rho = e^{\alpha d(i,j)}`:

.. math:: m_{ij} = \frac{(\rho-1)^2}{1+\rho}
          \Big(\frac{1}{L+R\rho} + \frac{1}{L\rho+R}\Big), \qquad
          \operatorname{variance} \ge
          \frac{(\operatorname{tr}(C^{1/2}HC^{1/2})^{1/2})^2}{\sum\gamma_{ij} m_{ij}} .
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import numpy as np

from pramble.errors import InvalidInput
from pramble.information.measures import information_bound, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.geometric import FARTHEST, geometric, geometric_matrix, peak_weights
from pramble.mechanisms.operators.base import xlogx
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.linear_programme import LinearProgramme
from pramble.solvers.general.outputs import most_outputs, name_outputs
from pramble.solvers.general.variance import Variance
from pramble.solvers.problem import DesignProblem, diagnosed_answer
from pramble.solvers.result import Design
from pramble.values import Floats, Integers

ROUNDS = 60
# Categories up to which columns are searched for beyond those with one peak.
MOST_SEARCHED = 400

NOT_SHARP = (
    "The bound is that of a spanning tree, or of plain α between the two farthest categories: how "
    "much of the gap could still be closed is not known."
)


def solve_metric_information(problem: DesignProblem) -> Design:
    distance, budget = required_distance(problem), problem.budget()
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


def required_distance(problem: DesignProblem) -> Distance:
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
    product = kronecker([matrix for matrix, _ in found])
    return product, next((why for _, why in found if why != "tolerance"), "tolerance")


def kronecker(factors: Sequence[Floats]) -> Floats:
    return reduce(lambda one, other: np.asarray(np.kron(one, other), np.float64), factors)


def rounded_metric_design(problem: DesignProblem, matrix: Floats) -> Mechanism:
    """Return the exact mechanism; on a path each output is the category where it has its peak."""
    distance = required_distance(problem)
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

        def slopes(columns: Floats, prices: Floats = prices) -> Floats:
            with np.errstate(divide="ignore"):
                logs = np.log(columns / (columns @ prior)[:, None])
            return np.asarray(prior * logs - prices)

        found = [np.vstack([rays[theta > 0], peaks(distance, alpha)])]
        for _ in range(4):
            found.append(pushed(found[-1], distance, alpha, slopes))
        del found[0]
        fresh = distinct_rays(np.vstack(found))
        budget.spend(10 * sum(one.size for one in found) * size)
        means = fresh.mean(axis=1)
        gains = column_gain(prior, fresh) / means
        advantage = gains - fresh / means[:, None] @ prices
        retained = advantage > 1e-9 * max(float(gains.max()), 1e-300)
        if not retained.any():
            break
        programme.add(fresh[retained] / means[retained, None], gains[retained])
        rays, scale = np.vstack([rays, fresh[retained]]), np.concatenate([scale, means[retained]])
    theta, rays, scale = best
    retained = theta > 1e-12 * theta.max()
    matrix = (rays[retained] * (theta[retained] / scale[retained])[:, None]).T
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True)), stopped


# The gradient of a gain at some rays, one row for each.
Slopes = Callable[[Floats], Floats]


def scaled_rays(logs: Floats) -> Floats:
    return np.asarray(np.exp(logs - logs.min(axis=1, keepdims=True)))


def path_rays(steps: Floats) -> Floats:
    r"""Return all :math:`2^{S-1}` extreme rays of a path with steps :math:`\alpha l_i`.

    >>> path_rays(np.log([2.0])).round(9)
    array([[2., 1.],
           [1., 2.]])
    """
    numbers = np.arange(1 << len(steps))
    signs = np.where((numbers[:, None] >> np.arange(len(steps))) & 1, 1, -1)
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
        steps = np.delete(spread[x], x)
        logs[:, x] = np.where(
            uphill[:, x], (others + steps).min(axis=1), (others - steps).max(axis=1)
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
    retained = rest.min(axis=1) > 0
    return np.vstack([rays, rest[retained] / rest[retained].min(axis=1, keepdims=True)])


def distinct_rays(rays: Floats) -> Floats:
    """Return rays without repetition, up to rounding."""
    _, first = np.unique(np.round(np.log(rays), 10), axis=0, return_index=True)
    return np.asarray(rays[np.sort(first)])


TREES = 20
MARGIN = 1e-12
SAME_DISTRIBUTION = 1e-14


def column_gain(prior: Floats, columns: Floats) -> Floats:
    r"""Return g(v) of some columns (rows of the array).

    The mass times :math:`\sum_x p_x (t\log t - t + 1)`, :math:`t = v_x/p\cdot v`: no cancellation.
    """
    from pramble.mechanisms.operators.dense import entropy_excess

    mass = columns @ prior
    return np.asarray(entropy_excess(columns / mass[:, None] - 1) @ prior * mass)


def tree_bound(prior: Floats, alpha: float, distance: Distance) -> float:
    r"""Return the bound of a tree, :math:`\sum_x\lambda_x = \sum_z\theta_z g(k_z)`."""
    weights = peak_weights(distance.size, distance.pairs, alpha * distance.lengths)
    return float(weights @ column_gain(prior, np.exp(-alpha * distance.matrix)))


def information_ceiling(prior: Floats, alpha: float, distance: Distance) -> float:
    """Return a proven bound on the information under a distance; see the module."""
    # The least over some spanning trees, of the universal bound at the two farthest categories, and
    # of H(X); for independent columns, the sum over them.
    margins = independent_margins(prior, distance)
    if margins:
        pairs = zip(margins, distance.parts, strict=True)
        return sum(information_ceiling(p, alpha, part) for p, part in pairs)
    found = [information_bound(alpha * distance.diameter), float(-xlogx(prior).sum())]
    found += [tree_bound(prior, alpha, tree) for tree in spanning_trees(distance)]
    return min(found) * (1 + MARGIN)


def independent_margins(prior: Floats, distance: Distance) -> list[Floats]:
    if len(distance.parts) < 2:
        return []
    table = prior.reshape([part.size for part in distance.parts])
    axes = range(table.ndim)
    margins = [table.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    product = reduce(np.multiply.outer, margins)
    return margins if np.abs(product - table).max() <= SAME_DISTRIBUTION else []


def spanning_trees(distance: Distance) -> Iterator[Distance]:
    """Yield spanning trees: the shortest, shortest ways from some roots, and random ones."""
    if len(distance.pairs) == distance.size - 1:
        yield distance
        return
    rng = np.random.default_rng(distance.size)
    shortest = np.argsort(distance.lengths, kind="stable")
    yield tree_of(distance, shortest)
    for _ in range(TREES):
        noise = rng.exponential(size=len(distance.lengths))
        yield tree_of(distance, np.argsort(distance.lengths * noise, kind="stable"))


def tree_of(distance: Distance, order: Integers) -> Distance:
    """Return the spanning tree that takes edges in an order, unless they close a ring."""
    part = np.arange(distance.size)
    retained: list[int] = []
    for edge in order.tolist():
        one, other = (part[end] for end in distance.pairs[edge])
        if one != other:
            part[part == other] = one
            retained.append(edge)
            if len(retained) == distance.size - 1:
                break
    return Distance(
        distance.size, distance.pairs[retained], distance.lengths[retained], distance.unit
    )


PAIR_ROUNDS = 60
MOST_PAIRS = 3000
PAIR_MARGIN = 1e-9


def pair_bound(prior: Floats, alpha: float, distance: Distance, variance: Variance) -> float:
    """Return the bound with the best γ found; every γ gives one."""
    pairs = np.column_stack(np.triu_indices(distance.size, 1))
    if len(pairs) > MOST_PAIRS:
        near = distance.matrix[pairs[:, 0], pairs[:, 1]]
        pairs = pairs[np.argsort(near, kind="stable")[:MOST_PAIRS]]
    # the most that a record can tell about one of a pair against the other
    to_one, to_other = (distance.matrix[side] for side in pairs.T)
    nearer = to_one <= to_other
    left = np.where(nearer, prior * np.exp(-alpha * to_one), 0.0).sum(axis=1)
    right = np.where(nearer, 0.0, prior * np.exp(-alpha * to_other)).sum(axis=1)
    rho = np.exp(np.minimum(alpha * distance.matrix[tuple(pairs.T)], 700.0))
    most = (rho - 1) ** 2 / (1 + rho) * (1 / (left + right * rho) + 1 / (left * rho + right))
    basis = variance.basis
    sides = ((basis[pairs[:, 0]] - basis[pairs[:, 1]]) / np.sqrt(most)[:, None]) @ variance.root
    weights, best = np.full(len(pairs), 1 / len(pairs)), 0.0
    for _ in range(PAIR_ROUNDS):
        values, vectors = np.linalg.eigh((sides * weights[:, None]).T @ sides)
        values = np.maximum(values, 0.0)
        best = max(best, float(np.sqrt(values).sum() ** 2))
        roots = np.sqrt(np.maximum(values, 1e-14 * values.max()))
        slope = ((sides @ vectors) ** 2 / roots).sum(axis=1)
        weights = weights * slope / (weights @ slope)
    return best * (1 - PAIR_MARGIN)
