r"""Tables from plans of several branches and blocks.

A record shows the columns of its branch, which is public, so the records of each branch are a
sample of their own. Let :math:`c` be the counts of a branch with n records, M the matrix on the
cells of its blocks that bear on the table, and A the sums that give what the table shares with
them. The efficient right inverse G of M gives unbiased margins :math:`y = A^\top G^\top c/n` with
information :math:`nF_A` (:mod:`pramble.information.tables`), and all branches together

.. math:: \hat p = V \sum_b n_b B_b^\top F_b y_b, \qquad
          V = \Big(\sum_b n_b B_b^\top F_b B_b\Big)^{-1}, \qquad
          \operatorname{Cov} \hat p = V - \hat p \hat p^\top/n .

Groups of untouched columns are tables of their own, with their share of the records.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from pramble.data.crosstab import crosstab
from pramble.data.labels import Label, Labels, label_key
from pramble.data.open import open_records
from pramble.data.reading import Reading
from pramble.data.table import Crosstab, refuse_empty
from pramble.errors import InvalidData, InvalidInput, InvalidPlan
from pramble.estimation.intervals import unified_interval
from pramble.estimation.result import Estimate, Settings
from pramble.information.simplex import nearest_on_simplex
from pramble.information.tables import (
    CellCovariance,
    covariance_of_cells,
    inner,
    margin_information,
)
from pramble.limits import MOST_CELLS
from pramble.mechanisms.plan import Branch, Plan
from pramble.values import Floats, Integers, value

MOST_BLOCK_CELLS = 3000
SINGULAR = 1e-9
STEPS = 3


@value(eq=False)
class Shown:
    """What the records of one branch show of a table.

    Attributes
    ----------
    columns : tuple of str
        The columns of the blocks that bear on the table.
    matrix : (S, T) array
        From their cells to outputs.
    cells : list of tuple
        Labels of each cell.
    outputs : mapping from the keys of labels to places
    """

    columns: tuple[str, ...]
    matrix: Floats
    cells: list[tuple[Any, ...]]
    outputs: Mapping[tuple[Any, ...], int]

    def onto(self, shared: Sequence[str], lists: Mapping[str, Sequence[Label]]) -> Integers:
        """Return which cell of some columns each cell is in, the last running fastest."""
        codes = np.zeros(len(self.cells), dtype=np.int64)
        for name in shared:
            places = {label_key(label): code for code, label in enumerate(lists[name])}
            position = self.columns.index(name)
            own = [places[label_key(cell[position])] for cell in self.cells]
            codes = codes * len(lists[name]) + np.array(own)
        return codes

    def estimate(self, law: Floats) -> tuple[Floats, CellCovariance]:
        r"""Return the cells' probabilities and what one record tells of them.

        :math:`F^{-1} M D_{pM}^{-1}` is the efficient right inverse at p; p is first uniform and
        then what that gives.
        """
        found = np.full(len(self.matrix), 1 / len(self.matrix))
        for _ in range(STEPS):
            guess = inner(np.maximum(found, 0.0))
            covariance = covariance_of_cells(self.matrix, guess)
            found = covariance.matrix @ (self.matrix @ (law / (guess @ self.matrix)))
        return found, covariance


def shown_by(branch: Branch, wanted: Sequence[str]) -> Shown | None:
    """Return what a branch shows of the wanted columns; None if nothing, or too much to hold."""
    blocks = {block: m for block, m in branch.blocks.items() if set(block) & set(wanted)}
    shapes = [m.shape for m in blocks.values()]
    sizes = [int(np.prod([shape[side] for shape in shapes])) for side in (0, 1)]
    if not blocks or sizes[0] > MOST_BLOCK_CELLS or sizes[0] * sizes[1] > MOST_CELLS:
        return None
    columns = tuple(name for block in blocks for name in block)
    matrix = np.ones((1, 1))
    for mechanism in blocks.values():
        matrix = np.asarray(np.kron(matrix, mechanism.operator.dense()))
    cells = side_by_side([as_tuples(m.labels, len(b)) for b, m in blocks.items()])
    outputs = side_by_side([as_tuples(m.output_labels, len(b)) for b, m in blocks.items()])
    places = {tuple(map(label_key, cell)): place for place, cell in enumerate(outputs)}
    return Shown(columns, matrix, cells, places)


def as_tuples(labels: Labels, columns: int) -> list[tuple[Any, ...]]:
    """Return labels as tuples, also those of a single column."""
    return [tuple(label) if columns > 1 else (label,) for label in labels.values]


def side_by_side(lists: Sequence[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """Return every combination of tuples as one tuple, the last running fastest."""
    return [tuple(one for part in parts for one in part) for parts in product(*lists)]


def record_estimate(
    data: Any,
    plan: Plan,
    *,
    by: Sequence[str],
    settings: Settings,
    reading: Reading | Mapping[str, Any] | None,
) -> Estimate:
    """Return the estimate of a table from every branch that bears on it."""
    labels = plan.column_labels()
    wanted = [name for name in by if name in labels]
    untouched = [name for name in by if name not in labels]
    lists = {name: tuple(labels[name].labels.values) for name in wanted}
    shape = tuple(len(lists[name]) for name in wanted)
    refuse_many(shape, by)
    records = open_records(data, reading)
    outputs = {
        name: Labels((*own.outputs.values, None)) if own.blank else own.outputs
        for name, own in labels.items()
    }
    table = crosstab(records, [*untouched, *plan.columns], labels=outputs)
    refuse_empty(table, records.name)
    groups, group_of = np.unique(table.cells[:, : len(untouched)], axis=0, return_inverse=True)
    branch_of = branches_of(table, plan, first=len(untouched))
    parts = [
        GroupEstimate(plan, wanted, lists, table, np.flatnonzero(group_of.reshape(-1) == g),
                      branch_of, first=len(untouched))
        for g in range(len(groups))
    ]  # fmt: skip
    return answer(parts, groups, table, by=by, untouched=untouched, settings=settings,
                  backend=records.backend)  # fmt: skip


def refuse_many(shape: tuple[int, ...], by: Sequence[str]) -> None:
    """Refuse a table whose cells cannot be held together."""
    if int(np.prod(shape)) > MOST_BLOCK_CELLS:
        raise InvalidInput(
            f"A table from several branches has at most {MOST_BLOCK_CELLS:,} cells; "
            f"{', '.join(by)} make {int(np.prod(shape)):,}. Take fewer columns at a time."
        )


def branches_of(table: Crosstab, plan: Plan, *, first: int) -> Integers:
    """Return the branch of each released cell, known by the columns that are not blank."""
    known: dict[frozenset[str], int] = {}
    for number, branch in enumerate(plan.branches):
        columns = frozenset(branch.columns)
        if columns in known:
            raise InvalidPlan(
                "Branches must show different columns to be told apart; two of them show "
                f"{', '.join(sorted(columns))}."
            )
        known[columns] = number
    blanks = plan.column_labels()
    filled = np.ones((len(table.cells), len(plan.columns)), dtype=np.bool_)
    for i, name in enumerate(plan.columns):
        if blanks[name].blank:
            filled[:, i] = table.cells[:, first + i] < len(blanks[name].outputs.values)
    patterns, inverse = np.unique(filled, axis=0, return_inverse=True)
    found = []
    for pattern in patterns:
        shown = frozenset(n for n, there in zip(plan.columns, pattern, strict=True) if there)
        if shown not in known:
            raise InvalidData(
                "The data must be a release by this plan; some records show "
                f"{', '.join(sorted(shown)) or 'no column'} alone, which no branch does."
            )
        found.append(known[shown])
    return np.asarray(np.array(found)[inverse.reshape(-1)])


class GroupEstimate:
    """The estimate of one group's cells: a measure that sums to the group's share."""

    def __init__(
        self,
        plan: Plan,
        wanted: Sequence[str],
        lists: Mapping[str, Sequence[Label]],
        table: Crosstab,
        rows: Integers,
        branch_of: Integers,
        *,
        first: int,
    ) -> None:
        self.plan, self.wanted, self.lists = plan, wanted, lists
        self.table, self.rows, self.branch_of, self.first = table, rows, branch_of, first
        self.size = int(np.prod([len(lists[name]) for name in wanted], dtype=np.int64))

    @cached_property
    def solved(self) -> tuple[Floats, Floats]:
        """The estimated measure and its covariance as if n were random."""
        information, weighted = np.zeros((self.size, self.size)), np.zeros(self.size)
        for number, branch in enumerate(self.plan.branches):
            shown = shown_by(branch, self.wanted)
            records = float(self.table.counts[self.branch_of == number].sum())
            if shown is None or not records:
                continue
            told = self.told(shown, number, records)
            if told is None:
                continue
            F, y, onto = told
            information += records * F[np.ix_(onto, onto)]
            weighted += records * (F @ y)[onto]
        diagonal = np.sqrt(np.maximum(np.diag(information), 1e-300))
        values = np.linalg.eigvalsh(information / np.outer(diagonal, diagonal))
        if not len(values) or values[0] <= SINGULAR * values[-1]:
            raise self.not_told()
        V = np.asarray(np.linalg.inv(information), dtype=np.float64)
        return V @ weighted, V

    def told(
        self, shown: Shown, number: int, records: float
    ) -> tuple[Floats, Floats, Integers] | None:
        """Return a branch's information on margins, its estimate of them, and where they lie."""
        counts = np.zeros(len(shown.outputs))
        places = [self.first + self.plan.columns.index(name) for name in shown.columns]
        own = self.rows[self.branch_of[self.rows] == number]
        levels = [self.table.levels[place] for place in places]
        for cell, count in zip(
            self.table.cells[own][:, places], self.table.counts[own], strict=True
        ):
            key = tuple(
                label_key(level[code]) for level, code in zip(levels, cell.tolist(), strict=True)
            )
            if key not in shown.outputs:
                raise InvalidData("The data holds released values that the plan cannot release.")
            counts[shown.outputs[key]] += count
        share = counts.sum() / records
        if not share:
            return None
        cells, covariance = shown.estimate(counts / counts.sum())
        for shared in self.shared_sets(shown):
            _, dense = np.unique(shown.onto(shared, self.lists), return_inverse=True)
            place = dense.reshape(-1)
            if covariance.tells(place):
                F = margin_information(covariance, place) / share
                y = np.asarray(np.bincount(place, weights=cells * share), dtype=np.float64)
                return F, y, self.spread(shared)
        return None

    def shared_sets(self, shown: Shown) -> Iterator[tuple[str, ...]]:
        """Yield what a branch may tell of the table: all that it shows, then fewer columns."""
        names = [name for name in self.wanted if name in shown.columns]
        for size in range(len(names), 0, -1):
            yield from combinations(names, size)

    def spread(self, shared: Sequence[str]) -> Integers:
        """Return for each cell of the table which cell of some of its columns it is in."""
        shape = [len(self.lists[name]) for name in self.wanted]
        codes = np.unravel_index(np.arange(self.size), shape)
        where = np.zeros(self.size, dtype=np.int64)
        for name, own in zip(self.wanted, codes, strict=True):
            if name in shared:
                where = where * len(self.lists[name]) + own
        return where

    def not_told(self) -> InvalidInput:
        """Return the error for a table that the plan cannot give, with what it can."""
        pairs = sorted({
            " with ".join(block) for branch in self.plan.branches for block in branch.blocks
        })  # fmt: skip
        return InvalidInput(
            f"The plan cannot give the table of {', '.join(self.wanted)}: no branch shows these "
            f"columns together so that all cells can be told. It shows {'; '.join(pairs[:12])}"
            f"{'; …' if len(pairs) > 12 else ''}."
        )


@value(eq=False)
class RecordCovariance:
    """The covariance of estimates from several branches."""

    matrix: Floats

    def covariance(self) -> Floats:
        """Return the (K, K) matrix."""
        return self.matrix


def answer(
    parts: Sequence[GroupEstimate],
    groups: Integers,
    table: Crosstab,
    *,
    by: Sequence[str],
    untouched: Sequence[str],
    settings: Settings,
    backend: str,
) -> Estimate:
    """Return the estimates of all groups as one."""
    n = float(table.n)
    found = [part.solved for part in parts]
    p = np.concatenate([one for one, _ in found])
    K = len(p)
    matrix = np.zeros((K, K))
    at = 0
    for one, V in found:
        matrix[at : at + len(one), at : at + len(one)] = V
        at += len(one)
    share = settings.sampling_share(n)
    matrix -= np.outer(p, p) / n
    if share < 1:
        matrix -= (1 - share) * (np.diag(np.maximum(p, 0)) - np.outer(p, p)) / n
    variances = np.maximum(np.diag(matrix), 1e-18)
    lower, upper = unified_interval(p, lambda _: variances, level=settings.level)
    inside = p if settings.method == "inverse" else nearest_on_simplex(p)
    codes = codes_by_column(parts[0], groups, untouched)
    order = np.lexsort([codes[name] for name in reversed(by)])
    labels = {**{name: table.levels[j] for j, name in enumerate(untouched)}, **parts[0].lists}
    return Estimate(
        cells={name: [labels[name][code] for code in codes[name][order]] for name in by},
        probabilities=inside[order],
        standard_errors=np.sqrt(variances)[order],
        lower=lower[order],
        upper=upper[order],
        n=n,
        covariance_parts=RecordCovariance(matrix[np.ix_(order, order)]),
        method=settings.method,
        level=settings.level,
        covers=settings.covers,
        backend=backend,
    )


def codes_by_column(
    part: GroupEstimate, groups: Integers, untouched: Sequence[str]
) -> dict[str, Integers]:
    """Return the code of every column in each cell, groups first."""
    shape = [len(part.lists[name]) for name in part.wanted]
    grid = np.unravel_index(np.arange(part.size), shape)
    codes = {name: np.repeat(groups[:, j], part.size) for j, name in enumerate(untouched)}
    return codes | {n: np.tile(own, len(groups)) for n, own in zip(part.wanted, grid, strict=True)}
