r"""What each table costs under a plan: n times the summed variance of its cells.

An analyst estimates a table from every branch that bears on it. With :math:`F_b` the information of
one record of branch b on the margins that it shows of the table, and :math:`B_b` from the table's
cells to them, the cost is :math:`\operatorname{tr}(\sum_b w_b B_b^\top F_b B_b)^{-1} - \lVert
p\rVert^2` (:mod:`pramble.information.tables`), the variance of `pramble.estimate` for one record.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_key
from pramble.information.possible import Possible, as_possible
from pramble.information.records import Law, Table
from pramble.information.tables import (
    CellCovariance,
    covariance_of_cells,
    margin_information,
    table_variance,
)
from pramble.mechanisms.plan import Branch, Plan
from pramble.values import Floats, Integers

MOST_SHOWN = 3000
"""Cells of the blocks of a branch that bear on a table; of more, only single blocks are used."""


class PlanCosts:
    """A plan at a law of records.

    Attributes
    ----------
    plan : Plan
    labels : mapping from column to labels
        In the order of the law's axes.
    law : Law
    possible : Possible
    """

    def __init__(
        self, plan: Plan, labels: Mapping[str, Sequence[Label]], law: Law, possible: Possible
    ) -> None:
        self.plan, self.law, self.possible = plan, law, possible
        self.places = {
            name: {label_key(label): code for code, label in enumerate(own)}
            for name, own in labels.items()
        }
        self.shown: dict[Any, tuple[Table, Integers, CellCovariance]] = {}

    def cost(self, table: Table) -> float:
        """Return n times the summed variance of a table's cells; infinite if it cannot be told."""
        law = self.law.margin(table)
        information = np.zeros((law.size, law.size))
        for number, branch in enumerate(self.plan.branches):
            told = self.told(number, branch, table)
            if told is not None:
                F, onto = told
                information += float(branch.share) * F[np.ix_(onto, onto)]
        possible = self.possible.mask(table).reshape(-1)
        return table_variance(information[np.ix_(possible, possible)], law.reshape(-1)[possible])

    def told(self, number: int, branch: Branch, table: Table) -> tuple[Floats, Integers] | None:
        """Return what a record of a branch tells of a table's margins, and where its cells lie."""
        blocks = tuple(block for block in branch.blocks if set(block) & set(table))
        sizes = [branch.blocks[block].shape[0] for block in blocks]
        if not blocks or math.prod(sizes) > MOST_SHOWN:
            return None
        if (number, blocks) not in self.shown:
            self.shown[number, blocks] = self.covariance(branch, blocks)
        columns, cells, covariance = self.shown[number, blocks]
        shared = tuple(name for name in table if name in columns)
        sums = flat(cells, columns, shared, self.law)
        found, place = np.unique(sums, return_inverse=True)
        if not covariance.tells(place.reshape(-1)):
            return None
        F = margin_information(covariance, place.reshape(-1))
        codes = np.indices(self.law.shape(table)).reshape(len(table), -1).T
        onto = np.searchsorted(found, flat(codes, table, shared, self.law))
        return F, np.minimum(onto, len(found) - 1)

    def covariance(
        self, branch: Branch, blocks: Sequence[Table]
    ) -> tuple[Table, Integers, CellCovariance]:
        """Return the columns of some blocks, the codes of their cells, and what they tell."""
        matrix = np.ones((1, 1))
        lists = []
        for block in blocks:
            mechanism = branch.blocks[block]
            matrix = np.asarray(np.kron(matrix, mechanism.operator.dense()))
            cells = [one if len(block) > 1 else (one,) for one in mechanism.labels.values]
            lists.append([
                tuple(self.places[n][label_key(one)] for n, one in zip(block, cell, strict=True))
                for cell in cells
            ])  # fmt: skip
        columns = tuple(name for block in blocks for name in block)
        codes = np.array([sum(parts, ()) for parts in product(*lists)])
        law = self.law.margin(columns)[tuple(codes.T)]
        return columns, codes, covariance_of_cells(matrix, law / law.sum())


def flat(codes: Integers, columns: Table, shared: Table, law: Law) -> Integers:
    """Return the number of each cell among those of some of its columns."""
    places = [columns.index(name) for name in shared]
    return np.asarray(np.ravel_multi_index(tuple(codes[:, places].T), law.shape(shared)))


def plan_costs(
    plan: Plan,
    labels: Mapping[str, Sequence[Label]],
    law: Law,
    *,
    tables: Sequence[Table],
    possible: Possible | None = None,
) -> dict[Table, float]:
    """Return what each of some tables costs under a plan at a law of records.

    >>> import pramble
    >>> from pramble.information.records import UniformLaw
    >>> m = pramble.randomized_response(["f", "m"], 1.0)
    >>> found = plan_costs(pramble.Plan({"sex": m}), {"sex": ["f", "m"]}, UniformLaw({"sex": 2}),
    ...                    tables=[("sex",)])
    >>> round(found["sex",], 9) == round(pramble.estimation_variance([0.5, 0.5], m), 9)
    True
    """
    costs = PlanCosts(plan, labels, law, as_possible(possible, labels))
    return {table: costs.cost(table) for table in tables}
