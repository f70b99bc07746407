r"""Names for columns, and the exact mechanism that a float matrix becomes.

Fewer outputs: columns that estimate the queries alike become one.

The best estimate weighs output z by a vector :math:`g(z)`. Outputs with the same :math:`g` can be
told as one without loss, so those whose merging costs least,

.. math:: \frac{m_z m_{z'}}{m_z + m_{z'}} \|g(z) - g(z')\|^2, \qquad m = pM,

are merged first (Ward 1963). Sums of private columns are private.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pramble.data.labels import Labels, as_labels
from pramble.errors import InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.general import General
from pramble.mechanisms.operators.dense import best_estimator
from pramble.mechanisms.uniform import randomized_response
from pramble.solvers.general.sets import response_matrix
from pramble.solvers.problem import DesignProblem
from pramble.values import Floats, Integers

MOST_NAMED = 5000


def output_labels(outputs: Any, labels: Labels, used: int) -> Labels:
    if isinstance(outputs, str) and outputs == "same":
        return labels
    if isinstance(outputs, str) and outputs == "free":
        return as_labels([f"z{j + 1}" for j in range(used)], what="outputs")
    if isinstance(outputs, str) or not isinstance(outputs, int | Iterable):
        raise InvalidInput(f'outputs must be "same", "free", a count or labels; found {outputs!r}.')
    found = as_labels(outputs, what="outputs")
    if len(found) < used:
        raise InvalidInput(
            f"This design needs {used} outputs; {len(found)} were allowed. "
            'Allow more, or use outputs="same" or "free".'
        )
    return found


def most_outputs(problem: DesignProblem) -> float:
    if isinstance(problem.outputs, str) and problem.outputs == "free":
        return math.inf
    return len(output_labels(problem.outputs, problem.labels, 0))


def response_for(problem: DesignProblem) -> Mechanism:
    """Return randomised response under the labels of the outputs that were asked for."""
    if isinstance(problem.outputs, str) and problem.outputs == "same":
        return randomized_response(problem.labels.values, problem.alpha)
    if problem.size > MOST_NAMED:
        raise InvalidInput(
            f'Beyond {MOST_NAMED} categories a design has the same outputs; use outputs="same".'
        )
    return name_outputs(problem, response_matrix(problem.size, problem.alpha))


def best_places(prior: Floats, matrix: Floats, distances: Floats | None = None) -> Integers:
    r"""Return the category that names each column, so that :math:`\sum_x p_x M_{xx}` is largest.

    With distances, so that values are released as near to the true ones as can be.
    """
    from scipy.optimize import linear_sum_assignment

    moved = (prior[:, None] * matrix).T
    costs = -moved if distances is None else moved @ distances
    columns, names = linear_sum_assignment(costs)
    places = np.empty(matrix.shape[1], dtype=np.int64)
    places[columns] = names
    return places


def name_outputs(problem: DesignProblem, matrix: Floats) -> Mechanism:
    """Round a matrix to exact weights that satisfy α, and put its columns under their labels."""
    # Columns fewer than the outputs leave the others impossible.
    S, used = matrix.shape
    labels = problem.labels
    names = output_labels(problem.outputs, labels, used)
    rounded = Mechanism.from_matrix(
        matrix, labels.values, used, alpha=problem.alpha, distance=problem.distance
    )
    same = len(names) == S and names == labels
    distances = None if problem.distance is None else problem.distance.matrix
    places = best_places(problem.prior, matrix, distances) if same else np.arange(used)
    weights = np.zeros((S, len(names)), dtype=np.int64)
    weights[:, places] = rounded.weights
    return General(labels, names, weights)


TURNS = 60

# How far sums of rows may be from 1, so that small α stay exact.
EXACT = 1e-13


def float_variance(matrix: Floats, prior: Floats, queries: Floats) -> float:
    """Return the variance of the queries under a float matrix; infinite if they are lost."""
    best = best_estimator(matrix, prior, queries)
    return math.inf if best is None else float((prior @ matrix @ best**2).sum())


def fewer_outputs(matrix: Floats, prior: Floats, queries: Floats, *, most: int) -> Floats:
    """Return at most so many columns: without loss if that is enough, else the best merged ones."""
    if matrix.shape[1] <= most:
        return matrix
    smaller = without_loss(matrix, prior)
    if smaller.shape[1] <= most:
        return smaller
    fewer = [one for one in merged_columns(matrix, prior, queries) if one.shape[1] <= most]
    return min(fewer, key=lambda one: float_variance(one, prior, queries))


def without_loss(matrix: Floats, prior: Floats) -> Floats:
    r"""Return at most :math:`S(S+1)/2` multiples of the columns that carry as much.

    The information :math:`\sum_z \theta_z s_z s_z^\top / (p \cdot s_z)` is held, and with it the
    sums of rows, since it maps p to them; a vertex of what is left has so few columns
    (Carathéodory).
    """
    from scipy.optimize import linprog

    S, used = matrix.shape
    if used <= S * (S + 1) // 2:
        return matrix
    upper = np.triu_indices(S)
    scaled = matrix * np.sqrt(prior)[:, None] / np.sqrt(prior @ matrix)
    products = scaled[upper[0]] * scaled[upper[1]]
    sums = products.sum(axis=1)
    found = linprog(prior @ matrix, A_eq=products, b_eq=sums, bounds=(0, None), method="highs-ds")
    if found.x is None:
        return matrix
    positive = found.x > 1e-12
    exact = np.linalg.lstsq(products[:, positive], sums, rcond=None)[0]
    columns = matrix[:, positive] * exact
    if exact.min() <= 0 or np.abs(columns.sum(axis=1) - 1).max() > EXACT:
        return matrix
    return np.asarray(columns)


def merged_columns(matrix: Floats, prior: Floats, queries: Floats) -> Iterator[Floats]:
    """Yield the matrix with one column after the other merged, down to two."""
    values = best_estimator(matrix, prior, queries)
    if values is None:
        values = np.zeros((matrix.shape[1], 1))
    columns, mass = matrix.copy(), prior @ matrix
    alive = np.ones(len(mass), dtype=np.bool_)
    costs = merging_costs(np.arange(len(mass)), mass, values)
    for _ in range(len(mass) - 2):
        one, other = divmod(int(costs.argmin()), len(mass))
        total = mass[one] + mass[other]
        values[one] = (mass[one] * values[one] + mass[other] * values[other]) / total
        columns[:, one] += columns[:, other]
        mass[one], alive[other] = total, False
        fresh = np.where(alive, merging_costs(np.array([one]), mass, values)[0], np.inf)
        costs[one], costs[:, one] = fresh, fresh
        costs[other], costs[:, other] = np.inf, np.inf
        yield columns[:, alive]


def merging_costs(rows: Integers, mass: Floats, values: Floats) -> Floats:
    """Return what merging some outputs with every other costs; infinite with themselves."""
    sizes = (values**2).sum(axis=1)
    squares = sizes[rows, None] + sizes - 2 * values[rows] @ values.T
    costs = np.maximum(squares, 0.0) * (mass[rows, None] * mass / (mass[rows, None] + mass))
    costs[np.arange(len(rows)), rows] = np.inf
    return np.asarray(costs)


def principal_axes(queries: Floats) -> tuple[Floats, Floats]:
    """Return the directions that the queries ask about, as rows, and how much they ask of each."""
    centred = queries - queries.mean(axis=1, keepdims=True)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    asked = sizes > 1e-12 * max(float(sizes[0]), 1e-300)
    return sizes[asked], directions[asked]


def simplex_outputs(prior: Floats, alpha: float, queries: Floats) -> Floats:
    r"""Return one output more than the queries have directions r, the fewest that tell them.

    With :math:`u_x \in R^r` what the queries say of category x and :math:`g_0, \dots, g_r` the
    corners of a simplex around 0, :math:`M_{xz} = (1 + g_z\cdot u_x)/(r+1)`, the size of u as large
    as α allows. Of some random turns of the simplex the best is taken.
    """
    sizes, axes = principal_axes(queries)
    r, lengths = len(axes), np.ptp(axes, axis=1)
    middles = (axes.max(axis=1) + axes.min(axis=1)) / 2
    points = (axes - middles[:, None]).T * np.sqrt(sizes / lengths)
    corners = np.linalg.svd(np.ones((1, r + 1)))[2][1:].T * math.sqrt(r + 1)
    rng, a = np.random.default_rng(r), math.exp(alpha)
    found = []
    for _ in range(TURNS):
        turn = np.linalg.qr(rng.standard_normal((r, r)))[0]
        said = points @ turn @ corners.T
        high, low = said.max(axis=0), said.min(axis=0)
        size = min(math.expm1(alpha) / float((high - a * low).max()), 1 / float(-low.min()))
        found.append((1 + size * (1 - 1e-15) * said) / (r + 1))
    return min(found, key=lambda one: float_variance(one, prior, queries))


def paired_outputs(prior: Floats, alpha: float, queries: Floats) -> Floats:
    r"""Return two outputs for each principal direction of the queries, whatever S.

    Category x answers direction v "yes" with a probability that is affine in :math:`v_x`, from
    :math:`1/(1+a)` to :math:`a/(1+a)`. With variances :math:`V_i` of the answers, direction i is
    asked with probability proportional to :math:`\sqrt{V_i}`, which is best for their sum.
    """
    sizes, axes = principal_axes(queries)
    low = 1 / (1 + math.exp(alpha))
    lengths = np.ptp(axes, axis=1, keepdims=True)
    yes = low + (1 - 2 * low) * (axes - axes.min(axis=1, keepdims=True)) / lengths
    said = yes @ prior
    deviations = sizes * lengths[:, 0] * np.sqrt(said * (1 - said))
    shares = (deviations / deviations.sum())[:, None]
    return np.asarray(np.vstack([shares * yes, shares * (1 - yes)]).T)
