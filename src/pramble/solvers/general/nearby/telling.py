r"""The most information less a multiple of the expected loss, by column generation.

A column :math:`\theta s_A` that is released as z costs :math:`\theta\sum_x p_x s_A(x) L_{xz}`,
least at one z. If columns may share a name and are still told apart, the most of
:math:`I - \mu\,\text{loss}` is the linear programme of
:mod:`~pramble.solvers.general.columns.generation` with gains
:math:`\varphi(p(A)) - \mu \min_z \sum_x p_x s_A(x) L_{xz}`; pricing is done for one z after the
other, exactly, with :math:`\lambda_x + \mu p_x L_{xz}` in place of :math:`\lambda_x`. So its bound
holds for every α-DP matrix. An optimum has at most S columns, and where each is best released as
another value, it is a matrix of these S outputs and attains the bound. Where not, columns of one
name are added up, which loses information, or all get names of their own, which costs loss; the
better is taken.
"""

from dataclasses import dataclass

import numpy as np

from pramble.information.measures import information_bound
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.columns.generation import PULLS, Columns, bound_of
from pramble.solvers.general.columns.pricing import price
from pramble.solvers.general.patterns import (
    Gain,
    Sets,
    matrix_information,
    matrix_of,
    patterns_of,
    trim,
)
from pramble.values import Floats

MOST_ROUNDS = 400
NODES = 20_000


@dataclass(frozen=True)
class Told:
    """A matrix with outputs under their own labels, and a bound on information less loss."""

    matrix: Floats
    value: float
    bound: float
    sets: Sets


def most_told(
    prior: Floats,
    loss: Floats,
    alpha: float,
    *,
    weight: float,
    start: Sets,
    budget: SearchBudget,
) -> Told:
    """Return the best matrix found; the gap is in units of the universal bound on information."""
    gain, tolerance = Gain(alpha), budget.tolerance
    costs = weight * prior[:, None] * loss
    columns = Columns(
        prior, gain, costs=lambda sets: (patterns_of(sets, gain.a1) @ costs).min(axis=1)
    )
    size = len(prior)
    columns.add(np.vstack([np.zeros((1, size), dtype=np.bool_), np.eye(size, dtype=np.bool_)]))
    columns.add(start)
    unit = information_bound(alpha)
    bound, centre = np.inf, np.zeros(size)
    theta = np.zeros(0)
    for _ in range(MOST_ROUNDS):
        solved = columns.solve(budget)
        assert solved is not None
        theta, prices, value = solved
        if bound - value <= tolerance * unit:
            break
        for pull in PULLS if bound < np.inf else (0.0,):
            between = (1 - pull) * prices + pull * centre
            sets, most = dearest(
                prior, between, costs, gain, slack=tolerance * unit / 20, budget=budget
            )
            proven, shift = bound_of(between, most, gain)
            if proven < bound:
                bound, centre = proven, between + shift * prior
            worth = columns.worth(sets) - patterns_of(sets, gain.a1) @ prices
            if columns.add(sets[worth > 1e-12 * unit]):
                break
        else:
            break
    used = theta > 1e-12 * theta.max()
    sets, theta = trim(columns.sets[: len(theta)][used], theta[used], gain)
    candidates = named(matrix_of(sets, theta, alpha), costs)
    values = [
        matrix_information(prior, one[:, one.any(axis=0)]) - float((one * costs).sum())
        for one in candidates
    ]
    best = int(np.argmax(values))
    return Told(candidates[best], values[best], bound, sets)


def dearest(
    prior: Floats,
    prices: Floats,
    costs: Floats,
    gain: Gain,
    *,
    slack: float,
    budget: SearchBudget,
) -> tuple[Sets, float]:
    """Return sets that gain most above the prices under some name, and a bound on what they do."""
    found, most = [], -np.inf
    for z in range(costs.shape[1]):
        shifted = gain.a1 * (prices + costs[:, z])
        one = price(prior, shifted, gain, slack=slack, budget=budget, most_nodes=NODES)
        found.append(one.sets[-2:])
        most = max(most, one.bound - float(costs[:, z].sum()))
    return np.vstack(found), most


def named(matrix: Floats, costs: Floats) -> list[Floats]:
    """Return square matrices of some columns: each under its best name, and each under its own."""
    from scipy.optimize import linear_sum_assignment

    lost = matrix.T @ costs
    added = np.zeros(costs.shape)
    np.add.at(added.T, lost.argmin(axis=1), matrix.T)
    if matrix.shape[1] > len(costs):
        return [added]
    columns, names = linear_sum_assignment(lost)
    apart = np.zeros(costs.shape)
    apart[:, names] = matrix[:, columns]
    return [added, apart]
