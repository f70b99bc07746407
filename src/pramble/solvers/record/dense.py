r"""Records with few cells: every branch's information on all cells, and the best shares of them.

With :math:`J = \sum_b w_b J_b` on all possible cells the value is
:math:`\operatorname{tr} W(J^{-1} - pp^\top)W^\top`, exactly what an efficient analyst reaches.
Everything is scaled by :math:`D_p^{1/2}`.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pramble.information.distributions import Table
from pramble.information.fisher import fisher, inner
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.candidates import Blocks
from pramble.solvers.record.many import joint_matrix
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.shares import LEAST, best_shares, gains_of, inverse_for
from pramble.values import Floats, value

MOST_CELLS = 260
MOST_OUTPUTS = 4000
WORTH_A_TRY = 0.02


@value(eq=False)
class Option:
    """A branch that may be drawn, and its scaled information on all cells."""

    blocks: Blocks
    information: Floats

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it shows."""
        return frozenset(name for block in self.blocks for name in block)


class Cells:
    """All possible cells of a record, and what is wanted of them."""

    def __init__(self, problem: RecordProblem, budget: SearchBudget) -> None:
        self.problem, self.block = problem, problem.block(problem.columns)
        self.budget = budget
        self.p = inner(self.block.law)
        self.root = np.sqrt(self.p)
        self.tables = problem.tables
        self.onto = {table: self.block.onto(table)[1] for table in problem.tables}
        self.workloads = {
            table: self.scaled((onto[:, None] == onto[None, :]).astype(np.float64))
            for table, onto in self.onto.items()
        }
        self.workload = np.asarray(sum(self.workloads.values()))

    def scaled(self, matrix: Floats) -> Floats:
        """Return a matrix over cells scaled by the roots of their probabilities."""
        return np.asarray(matrix * np.outer(self.root, self.root))

    def option(self, blocks: Blocks) -> Option | None:
        """Return a branch with its information; None if it has too many outputs."""
        if math.prod(m.shape[1] for m in blocks.values()) > MOST_OUTPUTS:
            return None
        names = tuple(name for columns in blocks for name in columns)
        own = self.problem.block(names)
        matrix = joint_matrix(own, blocks)
        self.budget.spend(matrix.size * len(matrix) / 2 + self.p.size**2)
        told = fisher(matrix, inner(own.law))
        onto = self.block.onto(names)[1]
        return Option(blocks, self.scaled(told[np.ix_(onto, onto)]))

    def inverse(self, options: Sequence[Option], shares: Floats) -> Floats:
        """Return the inverse of the whole scaled information."""
        whole = np.asarray(
            sum(w * option.information for w, option in zip(shares, options, strict=True))
        )
        return inverse_for(whole, self.workload)

    def costs(self, options: Sequence[Option], shares: Floats) -> dict[Table, float]:
        """Return n times the summed variance of each wanted table."""
        inverse = self.inverse(options, shares)
        self.budget.spend(3 * len(self.p) ** 3 + (len(options) + len(self.tables)) * inverse.size)
        answer = {}
        for table, workload in self.workloads.items():
            margin = np.bincount(self.onto[table], weights=self.p)
            answer[table] = float((workload * inverse).sum() - margin @ margin)
        return answer

    def gains_of(self, options: Sequence[Option]) -> Callable[[Floats], Floats]:
        """Return how much a larger share of each option would help, by shares."""
        return gains_of([one.information for one in options], self.workload)

    def best_mixture(
        self, options: Sequence[Option], budget: SearchBudget, *, start: Floats
    ) -> tuple[list[Option], Floats, dict[Table, float]]:
        """Return the options worth drawing, one for each set of columns, with shares and costs.

        An analyst knows a branch by the columns that it shows, so there is one branch for each set
        of them.
        """
        informations = [one.information for one in options]
        every = best_shares(informations, self.workload, budget, start=start)
        order = sorted(range(len(options)), key=lambda i: -every[i])
        chosen: dict[frozenset[str], int] = {}
        for i in order:
            if every[i] > LEAST:
                chosen.setdefault(options[i].columns, i)
        best = self.mixed(
            [options[i] for i in chosen.values()], every[list(chosen.values())], budget
        )
        for i in order:
            rival = chosen.get(options[i].columns, i)
            if every[i] < WORTH_A_TRY or rival == i or budget.is_over():
                continue
            tried = {**chosen, options[i].columns: i}
            mixture = self.mixed(
                [options[i] for i in tried.values()], every[list(tried.values())], budget
            )
            if total(mixture[2]) < total(best[2]):
                chosen, best = tried, mixture
        return best

    def mixed(
        self, options: Sequence[Option], start: Floats, budget: SearchBudget
    ) -> tuple[list[Option], Floats, dict[Table, float]]:
        """Return options, their best shares and what the tables then cost."""
        kept = list(options)
        informations = [one.information for one in kept]
        shares = best_shares(informations, self.workload, budget, start=start)
        used = np.flatnonzero(shares > LEAST).tolist()
        if used and len(used) < len(kept):
            kept, shares = [kept[i] for i in used], shares[used] / shares[used].sum()
        return kept, shares, self.costs(kept, shares)


def total(costs: Mapping[Table, float]) -> float:
    """Return a sum of costs."""
    return math.fsum(costs.values())
