r"""What each table costs from randomised response on all cells of a record.

Sampling costs what it costs in the untouched file, :math:`1 - \sum p^2`. What randomised response
with the share γ of false records adds to component s of a table of :math:`S_t` cells is

.. math:: \tau_s = \frac{S_s}{S_t (1-\gamma)^2}\left(\frac{d_s}{S_s}\gamma(2 - \gamma)
          - 2\gamma(1-\gamma)\, p_s^\top P_s \kappa - \gamma^2 \kappa^\top P_s \kappa\right)

with the projection :math:`P_s` on the component and the shares :math:`\kappa` of all possible cells
that each cell of s has: an even law unless some cells are impossible, and then
:math:`P_s\kappa = 0`.
"""

import math

import numpy as np

from pramble.information.consistent import contrasts
from pramble.information.distributions import Table, margin_of
from pramble.mechanisms.base import TOTAL
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.uniform import UniformRows
from pramble.solvers.record.candidates import subsets
from pramble.solvers.record.problem import RecordProblem
from pramble.values import Floats


def response_costs(plan: Plan, problem: RecordProblem) -> dict[Table, float]:
    """Return n times the summed variance of each wanted table under randomised response."""
    false, even = false_share_of(plan), cells_shares(problem)
    parts: dict[Table, float] = {}
    found = {}
    for table in problem.tables:
        for part in subsets(table, len(table)):
            if part not in parts:
                parts[part] = part_cost(part, false, even, problem)
        noise = sum(parts[part] for part in subsets(table, len(table))) / problem.size_of(table)
        found[table] = float(1 - (problem.law.margin(table) ** 2).sum()) + noise
    return found


def sampling_alone(problem: RecordProblem) -> float:
    """Return what the wanted tables cost in the untouched file: no plan costs less."""
    return sum(float(1 - (problem.law.margin(t) ** 2).sum()) for t in problem.tables)


def false_share_of(plan: Plan) -> float:
    """Return the share γ of false records of randomised response on one block."""
    (mechanism,) = plan.branches[0].blocks.values()
    assert isinstance(mechanism, UniformRows), "it is randomised response"
    share: float = float(mechanism.off[0]) * mechanism.shape[0] / TOTAL
    return share


def part_cost(part: Table, false: float, even: Floats, problem: RecordProblem) -> float:
    r"""Return :math:`S_t \tau_s`, which depends on the component alone."""
    p, size = contrasts(problem.law.margin(part)), problem.size_of(part)
    many = math.prod(problem.sizes[name] - 1 for name in part)
    kappa = contrasts(margin_of(even, problem.columns, part))
    spread = many / size * false * (2 - false)
    spread -= 2 * false * (1 - false) * float((p * kappa).sum())
    spread -= false**2 * float((kappa**2).sum())
    return float(max(size * spread, 1e-300) / (1 - false) ** 2)


def cells_shares(problem: RecordProblem) -> Floats:
    """Return the even law on the possible cells of a record, an axis for each column."""
    possible = problem.mask(problem.columns)
    return np.asarray(possible / possible.sum(), dtype=np.float64)
