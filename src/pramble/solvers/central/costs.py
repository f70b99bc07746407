r"""What each table costs from views: the variance that an analyst will have.

Sampling costs what it costs in the untouched file, :math:`1 - \sum p^2`, for every record is in
every view. What randomised response adds to component s of a table of :math:`S_t` cells is

.. math:: \tau_{v,s} = \frac{S_s}{S_t (1-\gamma)^2}\left(\frac{d_s}{S_s}\gamma(2 - \gamma)
          - 2\gamma(1-\gamma)\, p_s^\top P_s \kappa - \gamma^2 \kappa^\top P_s \kappa\right)

in view v, with the projection :math:`P_s` on the component and the shares :math:`\kappa` of the
view's cells that each cell of s has: an even law unless some cells are impossible, and then
:math:`P_s\kappa = 0`. Averaged over views with weights :math:`1/\tau`, it adds
:math:`1/\sum_v 1/\tau_{v,s}`.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from pramble.information.components import contrasts
from pramble.information.records import Table, margin_of
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.uniform import UniformRows
from pramble.mechanisms.views import Views
from pramble.solvers.record.candidates import subsets
from pramble.solvers.record.problem import RecordProblem
from pramble.values import Floats


def views_costs(views: Views, problem: RecordProblem) -> dict[Table, float]:
    """Return n times the summed variance of each wanted table, from all views that bear on it.

    Each view is randomised response on one block, as :func:`best_views` makes them.
    """
    falses = dict(false_shares(views))
    costs: dict[Table, float] = {}
    found = {}
    for table in problem.tables:
        for part in subsets(table, len(table)):
            if part not in costs:
                costs[part] = part_cost(part, falses, problem)
        noise = sum(costs[part] for part in subsets(table, len(table))) / problem.size_of(table)
        found[table] = float(1 - (problem.law.margin(table) ** 2).sum()) + noise
    return found


def sampling_alone(problem: RecordProblem) -> float:
    """Return what the wanted tables cost in the untouched file: no plan costs less."""
    return sum(float(1 - (problem.law.margin(t) ** 2).sum()) for t in problem.tables)


def false_shares(views: Views) -> Iterator[tuple[Table, float]]:
    """Yield the columns of each view with the share γ of false records."""
    for plan in views.values():
        ((block, mechanism),) = plan.branches[0].blocks.items()
        assert isinstance(mechanism, UniformRows), "a view is randomised response"
        yield block, float(mechanism.off[0]) * mechanism.shape[0] / TOTAL


def part_cost(part: Table, falses: Mapping[Table, float], problem: RecordProblem) -> float:
    r"""Return :math:`S_t/\sum_v \tau_{v,s}^{-1}`, which depends on the component alone."""
    p, size = contrasts(problem.law.margin(part)), problem.size_of(part)
    many = math.prod(problem.sizes[name] - 1 for name in part)
    weight = 0.0
    for block, false in falses.items():
        if set(part) <= set(block):
            kappa = contrasts(margin_of(cells_shares(problem, block), block, part))
            spread = many / size * false * (2 - false)
            spread -= 2 * false * (1 - false) * float((p * kappa).sum())
            spread -= false**2 * float((kappa**2).sum())
            weight += (1 - false) ** 2 / max(size * spread, 1e-300)
    return 1 / weight if weight else math.inf


def cells_shares(problem: RecordProblem, block: Table) -> Floats:
    """Return the even law on the possible cells of a block, an axis for each column."""
    possible = problem.mask(block)
    return np.asarray(possible / possible.sum(), dtype=np.float64)
