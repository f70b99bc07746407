"""What each table costs under a plan that was designed: the variance that an analyst will have."""

from collections.abc import Mapping, Sequence

import numpy as np

from pramble.data.labels import Label, as_labels
from pramble.information.distributions import RecordDistribution, Table
from pramble.information.structural_zeros import Possible, as_possible
from pramble.mechanisms.plan import Plan
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.many import Tables
from pramble.solvers.record.problem import RecordProblem


def plan_costs(
    plan: Plan,
    labels: Mapping[str, Sequence[Label]],
    law: RecordDistribution,
    *,
    tables: Sequence[Table],
    possible: Possible | None = None,
) -> dict[Table, float]:
    """Return n times the summed variance of each of some tables, from all branches that bear on it.

    The cells of the plan's blocks stand in the order of the labels, as :func:`design_record` puts
    them. It is infinite where the plan cannot tell a table.

    Examples
    --------
    >>> import pramble
    >>> from pramble.information.distributions import as_distribution
    >>> m = pramble.randomized_response(["f", "m"], 1.0)
    >>> found = plan_costs(pramble.Plan({"sex": m}), {"sex": ["f", "m"]},
    ...                    as_distribution(None, {"sex": 2}), tables=[("sex",)])
    >>> round(found["sex",], 9) == round(pramble.estimation_variance([0.5, 0.5], m), 9)
    True
    """
    ground = Tables(
        tables_problem(labels, law, tables=tables, possible=possible), SearchBudget(1.0)
    )
    shown = [ground.option(branch.blocks) for branch in plan.branches]
    return ground.costs(shown, np.array([float(branch.share) for branch in plan.branches]))


def tables_problem(
    labels: Mapping[str, Sequence[Label]],
    law: RecordDistribution,
    *,
    tables: Sequence[Table],
    possible: Possible | None = None,
) -> RecordProblem:
    """Return tables to be estimated from records of a law, under any plan."""
    return RecordProblem(
        labels={name: as_labels(own) for name, own in labels.items()},
        alpha=1.0,
        law=law,
        possible=as_possible(possible, labels),
        tables=tuple(tables),
        objective="estimation",
        whole=False,
    )
