r"""Tables and information at once: a floor under the information about the record.

Let E be the best plan for the tables and b one more branch, that tells most of the record,
:math:`I_b`. Drawn with shares 1 − t and t they tell :math:`I(t) = (1-t)I_E + t I_b`, linear in t,
and the value is a convex function of the shares, so

.. math:: V(t) \le (1-t) V_E + t V_b :

a plan on this line is never worse than the chord between its ends, and as E is best among all
shares, b among them, V grows with t. The least t with :math:`I(t)` at the floor is taken, so values
grow with the floor, and lie on a convex curve.

An analyst knows a branch by its columns. Where a plan for the tables has a branch on the same
columns as b, that one makes room: E is best among the plans whose branches can be told from b.
Matrices that a search for the law itself finds in some seconds are no part of E, so that it is the
same for every floor.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pramble.information.measures import mutual_information
from pramble.solvers.record.candidates import Blocks
from pramble.solvers.record.informative import (
    MOST_SEARCHED,
    telling_columns,
    telling_matrix,
)
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.watch import Watch
from pramble.values import Floats

ROUNDED = 4e-6
"""What rounding shares may take from the information, as a share of it."""


def telling_branch(problem: RecordProblem, watch: Watch) -> Blocks:
    columns = problem.columns
    if problem.size > MOST_SEARCHED:
        columns = telling_columns(problem)
    return {columns: telling_matrix(problem.block(columns), problem.alpha, watch)[0]}


def information_of(problem: RecordProblem, blocks: Blocks) -> float:
    """Return the nats about the record that a branch tells, of several blocks those of the best."""
    return max(
        mutual_information(problem.block(columns).law, mechanism)
        for columns, mechanism in blocks.items()
    )


def lifted(
    problem: RecordProblem, options: Sequence[Any], shares: Floats, telling: Any
) -> tuple[list[Any], Floats]:
    """Return branches and shares with just so much of the telling branch as the floor asks."""
    told = np.array([information_of(problem, one.blocks) for one in options])
    most = information_of(problem, telling.blocks)
    floor = min((1 + ROUNDED) * float(problem.information_at_least or 0.0) * most, most)
    own = float(shares @ told)
    part = min(max((floor - own) / (most - own), 0.0), 1.0) if own < most else 0.0
    kept = [*options] if telling in options else [*options, telling]
    mixed = np.append((1 - part) * shares, [0.0] * (len(kept) - len(options)))
    mixed[kept.index(telling)] += part
    return kept, mixed
