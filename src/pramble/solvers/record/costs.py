r"""What each table costs under a plan that was designed: the variance that an analyst will have.

What no mechanism on a record can undercut.

**Together.** Let :math:`a = e^\alpha` and :math:`\tilde J = D_p^{1/2} J D_p^{1/2}`. It has the
eigenvector :math:`\sqrt p` with eigenvalue 1, and a trace of at most :math:`(a+1)^2/4a`: a column v
of any mechanism, scaled to :math:`p\cdot v = 1`, adds :math:`\sum_x p_x v_x^2` times its
probability, and since :math:`\ell \le v \le a\ell` for some ℓ, :math:`(v-\ell)(a\ell-v)\ge0` gives
:math:`\sum p v^2 \le (1+a)\ell - a\ell^2 \le (a+1)^2/4a`. Let
:math:`P = I - \sqrt p\sqrt p^\top`, :math:`B = WD_p^{1/2}P`, and K the part of
:math:`\tilde J` on the range of P, of trace at most :math:`(a-1)^2/4a`. The value is
:math:`\operatorname{tr} B K^{-1} B^\top`, and by Cauchy and Schwarz

.. math:: \operatorname{tr}(BK^{-1}B^\top)\,\operatorname{tr}K \ge
          \big(\operatorname{tr}(B^\top B)^{1/2}\big)^2 , \quad\text{so}\quad
          \text{value} \ge \frac{4a}{(a-1)^2}\Big(\sum_i \sigma_i\Big)^2 ,

with :math:`\sigma_i^2` the eigenvalues of :math:`BB^\top = WD_pW^\top - (Wp)(Wp)^\top`. Its entries
need the probabilities of a cell of one wanted table and a cell of another at once, which are those
of at most twice as many columns, never of all. Eigenvalues are lowered by more than their rounding
before the roots are taken. ∎

**One by one.** The value is a sum over tables, and a mechanism on records is one on the cells of
each table, so bounds for single tables add up. The larger of the two is taken.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pramble.data.labels import Label, as_labels
from pramble.information.distributions import (
    ArrayDistribution,
    RecordDistribution,
    Table,
    UniformDistribution,
)
from pramble.information.fisher import inner
from pramble.information.structural_zeros import Possible, as_possible
from pramble.mechanisms.plan import Plan
from pramble.one_thread import one_thread
from pramble.solvers.budget import SearchBudget
from pramble.solvers.general.variance_bounds import closed_bound, proven_bound
from pramble.solvers.record.matrices import workload_of
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.valuation import TableValuation
from pramble.values import Floats


# So that whoever makes a release again has the same figures, to the last digit.
@one_thread()
def plan_costs(
    plan: Plan,
    labels: Mapping[str, Sequence[Label]],
    distribution: RecordDistribution,
    *,
    tables: Sequence[Table],
    possible: Possible | None = None,
) -> dict[Table, float]:
    """Return n times the summed variance of each of some tables, from all branches that bear on it.

    The cells of the plan's blocks stand in the order of the labels, as :func:`design_record` puts
    them. It is infinite where the plan cannot tell a table.
    """
    problem = RecordProblem(
        labels={name: as_labels(own) for name, own in labels.items()},
        distribution=distribution,
        possible=as_possible(possible, labels),
        tables=tuple(tables),
    )
    ground = TableValuation(problem, SearchBudget(1.0))
    shown = [ground.option(branch.blocks) for branch in plan.branches]
    return ground.costs(shown, np.array([float(branch.share) for branch in plan.branches]))


MOST_ROWS, SHORT, LONG = 5000, 1200, 20.0
SAFE = 1 - 1e-9


def dense_bound(problem: RecordProblem, budget: SearchBudget | None = None) -> float:
    """Return a bound from the distribution of all cells: a closed form without a budget."""
    block = problem.block(problem.columns)
    p, workload = inner(block.distribution), workload_of(block, problem.tables)
    if budget is None:
        return closed_bound(p, problem.alpha, workload)
    sampling = float((workload**2 @ p).sum() - ((workload @ p) ** 2).sum())
    if budget.is_over():
        return max(closed_bound(p, problem.alpha, workload), sampling)
    return max(proven_bound(p, problem.alpha, workload, budget=budget), sampling)


def many_bound(problem: RecordProblem, budget: SearchBudget) -> tuple[float, str]:
    """Return the larger of the bound for all tables together and the sum of each table's own."""
    together = joint_bound(problem, budget)
    distributions = [inner(problem.block(table).distribution) for table in problem.tables]
    single = [
        max(closed_bound(p, problem.alpha, None), 1 - float(p @ p)) if len(p) < SHORT else 0.0
        for p in distributions
    ]
    for i in sorted(range(len(distributions)), key=lambda i: -single[i]):
        left = budget.left()
        if left < 0:
            break
        own = budget.part(budget.tolerance, effort=2 * left / len(distributions), quiet=True)
        single[i] = max(single[i], proven_bound(distributions[i], problem.alpha, None, budget=own))
    alone = sum(single)
    if together > alone:
        return together, "The bound holds for all tables together."
    return alone, "The bound is the sum of what each table would cost if it were the only one."


def joint_bound(problem: RecordProblem, budget: SearchBudget) -> float:
    """Return the closed form for all wanted tables; 0 where pairs of tables are not known."""
    distribution = problem.distribution
    if not isinstance(distribution, ArrayDistribution) and not (
        isinstance(distribution, UniformDistribution) and not problem.possible.tables
    ):
        return 0.0
    sizes = [math.prod(problem.sizes[name] for name in table) for table in problem.tables]
    rows = sum(sizes)
    if rows > (MOST_ROWS if budget.left() > LONG else SHORT):
        return 0.0
    gram = np.zeros((rows, rows))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    margins: dict[Table, Floats] = {}
    for i, one in enumerate(problem.tables):
        for j, other in enumerate(problem.tables[: i + 1]):
            union = tuple(name for name in problem.columns if name in one or name in other)
            if union not in margins:
                margins[union] = distribution.margin(union)
            part = two_tables(margins[union], union, one, other)
            gram[starts[i] : starts[i + 1], starts[j] : starts[j + 1]] = part
            gram[starts[j] : starts[j + 1], starts[i] : starts[i + 1]] = part.T
    budget.spend(3.0 * rows**3)
    p = np.diag(gram)
    values = np.linalg.eigvalsh(gram - np.outer(p, p))
    spread = np.sqrt(np.maximum(values - 1e-12, 0.0)).sum()
    return float(spread / math.sinh(problem.alpha / 2)) ** 2 * SAFE


def two_tables(
    margin: Floats, union: Sequence[str], one: Sequence[str], other: Sequence[str]
) -> Floats:
    """Return the probabilities of a cell of one table and a cell of another at once.

    >>> two_tables(np.array([[0.1, 0.2], [0.3, 0.4]]), "ab", "a", "ab").round(1)
    array([[0.1, 0.2, 0. , 0. ],
           [0. , 0. , 0.3, 0.4]])
    """
    shapes = dict(zip(union, margin.shape, strict=True))
    own = [shapes[name] for name in one]
    found = np.zeros((math.prod(own), math.prod(shapes[name] for name in other)))
    codes = np.unravel_index(np.arange(margin.size), margin.shape)
    at = dict(zip(union, codes, strict=True))
    rows = np.ravel_multi_index(tuple(at[name] for name in one), tuple(own))
    others = tuple(shapes[name] for name in other)
    np.add.at(
        found, (rows, np.ravel_multi_index(tuple(at[n] for n in other), others)), margin.ravel()
    )
    return found
