r"""Records with few cells: every branch's information on all cells, and the best shares of them.

With :math:`J = \sum_b w_b J_b` on all possible cells the value is
:math:`\operatorname{tr} W(J^{-1} - pp^\top)W^\top`, exactly what an efficient analyst reaches.
Everything is scaled by :math:`D_p^{1/2}`.

Records with many cells: every table is valued by the branches that bear on it.

See :mod:`pramble.information.fisher`: what an analyst reaches who looks at one table at a time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pramble.information.distributions import Table
from pramble.information.fisher import (
    CellCovariance,
    covariance_of_cells,
    fisher,
    inner,
    margin_information,
    spread_information,
    sums_onto,
    table_variance,
)
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.uniform import UniformRows
from pramble.solvers.budget import SearchBudget
from pramble.solvers.record.matrices import (
    LEAST,
    Blocks,
    best_shares,
    gains_of,
    inverse_for,
    multiplicative_shares,
)
from pramble.solvers.record.problem import RecordBlock, RecordProblem
from pramble.values import Floats, frozen

MOST_CELLS = 260
MOST_OUTPUTS = 4000
LEAST_TRIED = 0.02


@frozen(eq=False)
class Option:
    """A branch that may be drawn."""

    blocks: Blocks

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the branch shows: an analyst knows it by them."""
        return frozenset(name for block in self.blocks for name in block)


@frozen(eq=False)
class CellOption(Option):
    """A branch, and its scaled information on all cells."""

    information: Floats


class CellValuation:
    """All possible cells of a record, and what is wanted of them."""

    def __init__(self, problem: RecordProblem, budget: SearchBudget) -> None:
        self.problem, self.block = problem, problem.block(problem.columns)
        self.budget = budget
        self.p = inner(self.block.distribution)
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

    def option(self, blocks: Blocks) -> CellOption | None:
        """Return a branch with its information; None if it has too many outputs."""
        if math.prod(m.shape[1] for m in blocks.values()) > MOST_OUTPUTS:
            return None
        names = tuple(name for columns in blocks for name in columns)
        own = self.problem.block(names)
        rows = [mechanism.operator.dense() for mechanism in blocks.values()]
        matrix = side_by_side_matrix(own, list(blocks), rows)
        self.budget.spend(matrix.size * len(matrix) / 2 + self.p.size**2)
        information = fisher(matrix, inner(own.distribution))
        onto = self.block.onto(names)[1]
        return CellOption(blocks, self.scaled(information[np.ix_(onto, onto)]))

    def costs(self, options: Sequence[CellOption], shares: Floats) -> dict[Table, float]:
        """Return n times the summed variance of each wanted table."""
        parts = zip(shares, options, strict=True)
        whole = np.asarray(sum(share * option.information for share, option in parts))
        inverse = inverse_for(whole, self.workload)
        self.budget.spend(3 * len(self.p) ** 3 + (len(options) + len(self.tables)) * inverse.size)
        answer = {}
        for table, workload in self.workloads.items():
            margin = np.bincount(self.onto[table], weights=self.p)
            answer[table] = float((workload * inverse).sum() - margin @ margin)
        return answer

    def gains_of(self, options: Sequence[CellOption]) -> Callable[[Floats], Floats]:
        """Return how much a larger share of each option would help, by shares."""
        return gains_of([one.information for one in options], self.workload)

    def best_mixture(
        self, options: Sequence[CellOption], budget: SearchBudget, *, start: Floats
    ) -> tuple[list[CellOption], Floats, dict[Table, float]]:
        """Return the options worth drawing, one for each set of columns, with shares and costs."""
        # An analyst knows a branch by the columns that it shows, so there is one branch for each
        # set of them.
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
            if every[i] < LEAST_TRIED or rival == i or budget.is_over():
                continue
            tried = {**chosen, options[i].columns: i}
            mixture = self.mixed(
                [options[i] for i in tried.values()], every[list(tried.values())], budget
            )
            if total(mixture[2]) < total(best[2]):
                chosen, best = tried, mixture
        return best

    def mixed(
        self, options: Sequence[CellOption], start: Floats, budget: SearchBudget
    ) -> tuple[list[CellOption], Floats, dict[Table, float]]:
        """Return options, their best shares and what the tables then cost."""
        retained = list(options)
        informations = [one.information for one in retained]
        shares = best_shares(informations, self.workload, budget, start=start)
        used = np.flatnonzero(shares > LEAST).tolist()
        if used and len(used) < len(retained):
            retained, shares = [retained[i] for i in used], shares[used] / shares[used].sum()
        return retained, shares, self.costs(retained, shares)


def total(costs: Mapping[Table, float]) -> float:
    return math.fsum(costs.values())


FEW_STEPS, ENOUGH = 300, 1e-3
RIDGE = 1e-11
FEW_TABLES = 120
MOST_HELD = MOST_WANTED_CELLS


@frozen(eq=False)
class TableOption(Option):
    """A branch, and what one of its records tells of each wanted table."""

    margins: Mapping[Table, Table]  # the columns that a table shares with the branch
    informations: Mapping[Table, Floats]  # what a record tells of these


class TableValuation:
    """The wanted tables with their possible cells and distributions."""

    def __init__(self, problem: RecordProblem, budget: SearchBudget) -> None:
        self.problem, self.budget = problem, budget
        self.tables = {table: problem.block(table) for table in problem.tables}

    def option(self, blocks: Blocks) -> TableOption:
        """Return what a branch tells of the tables, from the blocks that bear on each."""
        known: dict[tuple[tuple[Table, Table], ...], CellCovariance] = {}
        margins: dict[Table, Table] = {}
        found: dict[Table, Floats] = {}
        for table in self.tables:
            parts = self.bearing(blocks, table)
            columns = [name for part in parts for name in parts[part]]
            shared = tuple(name for name in table if name in columns)
            # Where there are many tables, all their columns but one have to be shared. What is left
            # out makes the value no smaller.
            if len(shared) < (1 if len(self.tables) <= FEW_TABLES else max(len(table) - 1, 1)):
                continue
            margins[table] = shared
            if shared in found:
                continue
            block = self.problem.block(columns)
            key = tuple(parts.items())
            if key not in known:
                rows = [self.channel(blocks, part, seen) for part, seen in parts.items()]
                matrix = side_by_side_matrix(block, list(parts.values()), rows)
                self.budget.spend(matrix.size * len(matrix) / 8 + len(matrix) ** 3 / 4 + 5e5)
                known[key] = covariance_of_cells(matrix, block.distribution)
            found[shared] = margin_information(known[key], block.onto(shared)[1])
        return TableOption(blocks, margins, found)

    def bearing(self, blocks: Blocks, table: Table) -> dict[Table, Table]:
        """Return the blocks that bear on a table, and which of their columns have to be seen.

        Of randomised response the columns of the table are enough, see :meth:`channel`. Blocks that
        cannot be held together are left out.
        """
        found: dict[Table, Table] = {}
        for part in sorted(blocks, key=lambda one: -len(set(one) & set(table))):
            shared = tuple(name for name in part if name in table)
            seen = shared if is_response(blocks[part]) else part
            columns = [name for one in (*found.values(), seen) for name in one]
            if shared and self.problem.counts(columns) <= MOST_HELD:
                found[part] = seen
        return found

    def channel(self, blocks: Blocks, part: Table, seen: Table) -> Floats:
        r"""Return the matrix from some columns of a block to what is released of them.

        Randomised response on S cells is :math:`\lambda I + (1-\lambda)11^\top/S`. Of the margins A
        it tells as much as their own release does, :math:`\lambda I + (1-\lambda)1u^\top` with u
        the shares of the cells above each: with :math:`AM^{-1} = (A - (1-\lambda)u1^\top)/\lambda`
        the covariance :math:`AF^{-1}A^\top` needs only what is released of the margins.
        """
        mechanism = blocks[part]
        if seen == part:
            return np.asarray(mechanism.operator.dense())
        _, onto = self.problem.block(part).onto(seen)
        above = np.bincount(onto) / len(onto)
        weights = mechanism.row(0)
        retained = float(weights[0] - weights[1]) / float(weights[0] + (len(onto) - 1) * weights[1])
        return np.asarray(retained * np.eye(len(above)) + (1 - retained) * above)

    def costs(self, shown: Sequence[TableOption], shares: Floats) -> dict[Table, float]:
        """Return n times the summed variance of each table."""
        answer = {}
        for table, own in self.tables.items():
            whole = np.zeros((own.size, own.size))
            for shared, which in self.sharing(shown, table).items():
                information = sum(shares[i] * shown[i].informations[shared] for i in which)
                whole += spread_information(np.asarray(information), own.onto(shared)[1])
            self.budget.spend(own.size**3 + 4 * own.size**2 * len(shown))
            answer[table] = table_variance(whole, own.distribution)
        return answer

    def sharing(self, shown: Sequence[TableOption], table: Table) -> dict[Table, list[int]]:
        """Return which branches share which columns with a table."""
        found: dict[Table, list[int]] = {}
        for i, one in enumerate(shown):
            if table in one.margins:
                found.setdefault(one.margins[table], []).append(i)
        return found

    def best_mixture(
        self, shown: Sequence[TableOption], budget: SearchBudget, *, start: Floats
    ) -> tuple[list[TableOption], Floats, dict[Table, float]]:
        """Return the branches worth drawing, one for each set of columns, with shares and costs."""
        shares = self.best_shares(shown, budget, start=start)
        chosen: dict[frozenset[str], int] = {}
        for i in np.argsort(-shares, kind="stable").tolist():
            if shares[i] > min(LEAST, 0.2 / len(shown)):
                chosen.setdefault(shown[i].columns, i)
        least = min(LEAST, 0.2 / len(shown))

        def mixed() -> tuple[list[TableOption], Floats, dict[Table, float]]:
            retained, first = [shown[i] for i in chosen.values()], shares[list(chosen.values())]
            found = self.best_shares(retained, budget, start=np.maximum(first, least))
            return (
                retained,
                np.maximum(found, least),
                self.costs(retained, np.maximum(found, least)),
            )

        best = mixed()
        lost = {table for table, cost in best[2].items() if not math.isfinite(cost)}
        if lost:
            for i, one in enumerate(shown):  # randomised response on a table shows it, at least
                ((columns, mechanism), *others) = one.blocks.items()
                if not others and columns in lost and is_response(mechanism):
                    chosen[one.columns] = i
            best = mixed()
        return best

    def best_shares(
        self, shown: Sequence[TableOption], budget: SearchBudget, *, start: Floats
    ) -> Floats:
        gains = self.gains_of(shown)
        operations = sum(
            own.size**3 / 3 + 5 * own.size**2 + 1e5 for own in self.tables.values()
        ) + sum(one.size for each in shown for one in each.informations.values())
        return multiplicative_shares(
            gains, len(shown), budget, operations=operations, steps=FEW_STEPS, gap=ENOUGH,
            start=start,
        )  # fmt: skip

    def gains_of(self, shown: Sequence[TableOption]) -> Callable[[Floats], Floats]:
        """Return how much a larger share of each branch would help, by shares."""
        stacks: dict[tuple[Table, tuple[int, ...]], Floats] = {}
        parts = []
        for table, own in self.tables.items():
            sharing = []
            for shared, which in self.sharing(shown, table).items():
                key = shared, tuple(which)
                if key not in stacks:
                    found = [shown[i].informations[shared].ravel() for i in which]
                    stacks[key] = np.stack(found)
                sharing.append((which, stacks[key], own.onto(shared)[1]))
            parts.append((np.sqrt(inner(own.distribution)), sharing))

        def gains(shares: Floats) -> Floats:
            found = np.zeros(len(shown))
            for root, sharing in parts:
                whole = np.zeros((len(root), len(root)))
                for which, stack, onto in sharing:
                    size = int(onto.max()) + 1
                    whole += spread_information((shares[which] @ stack).reshape(size, size), onto)
                whole *= np.outer(root, root)
                whole[np.diag_indices_from(whole)] += RIDGE * np.trace(whole) / len(root)
                inverse = np.linalg.inv(whole)
                slope = ((inverse * root**2) @ inverse) * np.outer(root, root)
                for which, stack, onto in sharing:
                    found[which] += stack @ sums_onto(sums_onto(slope, onto).T, onto).ravel()
            return found

        return gains


def is_response(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, UniformRows) and bool((mechanism.off == mechanism.off[0]).all())


def side_by_side_matrix(
    block: RecordBlock, parts: Sequence[Table], matrices: Sequence[Floats]
) -> Floats:
    """Return the matrix from a block's cells to independent releases of some of its columns."""
    found = np.ones((block.size, 1))
    for columns, matrix in zip(parts, matrices, strict=True):
        rows = matrix if columns == block.columns else matrix[block.onto(columns)[1]]
        found = (found[:, :, None] * rows[:, None, :]).reshape(len(found), -1)
    return found


def is_small(problem: RecordProblem) -> bool:
    """Whether the cells of a record are few enough to hold an information on all of them."""
    return problem.size <= MOST_CELLS


def valuation_of(problem: RecordProblem, budget: SearchBudget) -> Any:
    """Return what values branches: all cells at once where they are few, else table by table."""
    return CellValuation(problem, budget) if is_small(problem) else TableValuation(problem, budget)
