r"""Records with few cells: every branch's information on all cells, and the best shares of them.

With :math:`J = \sum_b w_b J_b` on all possible cells the value is
:math:`\operatorname{tr} W(J^{-1} - pp^\top)W^\top`, exactly what an efficient analyst reaches.
Everything is scaled by :math:`D_p^{1/2}`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pramble.information.records import Table
from pramble.information.tables import fisher, inner
from pramble.mechanisms.base import Mechanism
from pramble.solvers.record.problem import RecordProblem
from pramble.solvers.record.shares import LEAST, best_shares, inverse_for
from pramble.values import Floats, value

MOST_CELLS = 700
MOST_OUTPUTS = 4000

Blocks = Mapping[Table, Mechanism]


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

    def __init__(self, problem: RecordProblem) -> None:
        self.block = problem.block(problem.columns)
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
        rows = np.ones((len(self.p), 1))
        if math.prod(m.shape[1] for m in blocks.values()) > MOST_OUTPUTS:
            return None
        for columns, mechanism in blocks.items():
            matrix = mechanism.operator.dense()[self.block.onto(columns)[1]]
            rows = (rows[:, :, None] * matrix[:, None, :]).reshape(len(rows), -1)
        return Option(blocks, self.scaled(fisher(rows, self.p)))

    def inverse(self, options: Sequence[Option], shares: Floats) -> Floats:
        """Return the inverse of the whole scaled information."""
        whole = np.asarray(
            sum(w * option.information for w, option in zip(shares, options, strict=True))
        )
        return inverse_for(whole, self.workload)

    def costs(self, options: Sequence[Option], shares: Floats) -> dict[Table, float]:
        """Return n times the summed variance of each wanted table."""
        inverse = self.inverse(options, shares)
        answer = {}
        for table, workload in self.workloads.items():
            margin = np.bincount(self.onto[table], weights=self.p)
            answer[table] = float((workload * inverse).sum() - margin @ margin)
        return answer

    def value(self, options: Sequence[Option], shares: Floats) -> float:
        """Return the summed cost of the wanted tables."""
        return sum(self.costs(options, shares).values())

    def best_mixture(self, options: Sequence[Option]) -> tuple[list[Option], Floats]:
        """Return the options worth drawing, one for each set of columns, and their shares.

        An analyst knows a branch by the columns that it shows, so there is one branch for each set
        of them.
        """
        every = best_shares([one.information for one in options], self.workload)
        order = sorted(range(len(options)), key=lambda i: -every[i])
        chosen: dict[frozenset[str], Option] = {}
        for i in order:
            chosen.setdefault(options[i].columns, options[i])
        best, shares = self.mixed(list(chosen.values()))
        least = self.value(best, shares)
        for i in order:
            if every[i] < LEAST or chosen[options[i].columns] is options[i]:
                continue
            tried = {**chosen, options[i].columns: options[i]}
            mixture, parts = self.mixed(list(tried.values()))
            if self.value(mixture, parts) < least:
                chosen, best, shares = tried, mixture, parts
                least = self.value(best, shares)
        return best, shares

    def mixed(self, options: Sequence[Option]) -> tuple[list[Option], Floats]:
        """Return the options that are drawn in the best mixture, and their shares."""
        shares = best_shares([one.information for one in options], self.workload)
        kept = [options[i] for i in np.flatnonzero(shares > LEAST).tolist()]
        if len(kept) == len(options):
            return kept, shares
        return kept, best_shares([one.information for one in kept], self.workload)
