"""A plan seen from the keys of a file: what each branch shows of them, block by block.

A branch shows the keys that no branch touches, and those of its own blocks; other keys are blank
and tell nothing. The keys of a block are taken as one, whose levels are the block's cells. Columns
of a block that are no keys do not help an intruder link: what they hold is taken to be even.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_keys
from pramble.data.order import places_of
from pramble.data.table import Crosstab, group, totals
from pramble.errors import InvalidInput, InvalidPlan
from pramble.limits import MOST_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.uniform import UniformOperator
from pramble.mechanisms.plan import Block, Branch, Plan
from pramble.mechanisms.separate import separate_blocks
from pramble.risk.models.base import CellMeans, Together
from pramble.values import Floats, Integers, value


@value(eq=False)
class SeenBranch:
    """The classes of a file as the records of one branch show them.

    Attributes
    ----------
    share : float
        The probability of the branch.
    table : Crosstab
        Counts by what is shown: keys, and the keys of a block as one.
    class_of : (C,) array
        The class there of each class of the file.
    keys : tuple of Together
    mechanisms : mapping from a column of ``table`` to Mechanism
    """

    share: float
    table: Crosstab
    class_of: Integers
    keys: tuple[Together, ...]
    mechanisms: Mapping[str, Mechanism]

    def fit(self, fit: CellMeans) -> CellMeans:
        """Return the model of the classes that are shown."""
        return fit.over(self.keys)

    def fractions(self, table: Crosstab, fraction: Floats) -> Floats:
        """Return the sampling fraction of each class, from those of the file's classes."""
        people = totals(self.class_of, table.counts / fraction, len(self.table.counts))
        return np.asarray(self.table.counts / people)


def seen_branches(plan: Plan, table: Crosstab) -> Iterator[SeenBranch]:
    """Yield what each branch shows of the keys of a file; nothing for one that shows none."""
    plan = separate_blocks(plan)
    untouched = [name for name in table.columns if name not in plan.columns]
    for branch in plan.branches:
        seen = seen_branch(branch, table, untouched=untouched)
        if seen is not None:
            yield seen


def seen_branch(branch: Branch, table: Crosstab, *, untouched: Sequence[str]) -> SeenBranch | None:
    """Return what a branch shows of the keys of a file."""
    parts: list[tuple[Block, Mechanism | None]] = [((name,), None) for name in untouched]
    for block, mechanism in branch.blocks.items():
        own = tuple(name for name in block if name in table.columns)
        if own:
            parts.append((own, of_keys(block, mechanism, names=own)))
    parts.sort(key=lambda part: table.columns.index(part[0][0]))
    if not parts:
        return None
    keys, levels, mechanisms = [], [], {}
    for names, known in parts:
        key, labels = together(table, names, known)
        keys.append(key)
        levels.append(labels)
        if known is not None:
            mechanisms["+".join(names)] = known
    codes = [key.codes(table.cells) for key in keys]
    class_of, first = group(codes, [key.count for key in keys], rows=len(table.cells))
    seen = replace(
        table,
        columns=tuple("+".join(names) for names, _ in parts),
        levels=tuple(levels),
        cells=np.stack(codes, axis=1)[first],
        counts=totals(class_of, table.counts, len(first)).astype(np.int64),
        sums={},
        cell_of=None,
    )
    return SeenBranch(float(branch.share), seen, class_of, tuple(keys), mechanisms)


def together(
    table: Crosstab, names: Block, mechanism: Mechanism | None
) -> tuple[Together, tuple[Label, ...]]:
    """Return some keys as one, whose levels are the cells of their block that could occur."""
    axes = tuple(table.columns.index(name) for name in names)
    sizes = tuple(table.shape[axis] for axis in axes)
    if mechanism is None or len(names) == 1:
        return Together(axes, sizes, np.arange(sizes[0]), sizes[0]), table.levels[axes[0]]
    if int(np.prod(sizes, dtype=object)) > MOST_CELLS:
        raise InvalidInput(
            f"The keys {', '.join(names)} are randomised together and have more than "
            f"{MOST_CELLS:,} combinations of levels. Assess fewer keys."
        )
    columns = list(zip(*mechanism.labels.values, strict=True))
    places = [
        np.array([-1 if p is None else p for p in places_of(table.levels[axis], own)])
        for axis, own in zip(axes, columns, strict=True)
    ]
    occur = np.flatnonzero(np.all([place >= 0 for place in places], axis=0))
    level_of = np.full(int(np.prod(sizes)), -1, dtype=np.int64)
    level_of[np.ravel_multi_index([place[occur] for place in places], sizes)] = np.arange(
        len(occur)
    )
    key = Together(axes, sizes, level_of, len(occur))
    if (key.codes(table.cells) < 0).any():
        raise InvalidPlan(
            f"The mechanism for the columns {', '.join(names)} must know every combination that "
            "occurs; it does not. Design it over all that are possible."
        )
    return key, tuple(mechanism.labels.values[cell] for cell in occur.tolist())


def of_keys(block: Block, mechanism: Mechanism, *, names: Block) -> Mechanism:
    """Return what a block does to the keys among its columns; what the others hold is even."""
    if names == block:
        return mechanism
    places = [block.index(name) for name in names]
    inputs = [cut(label, places) for label in mechanism.labels.values]
    keys = label_keys(inputs)
    codes = {key: code for code, key in enumerate(dict.fromkeys(keys))}
    onto = np.array([codes[key] for key in keys])
    first = np.unique(onto, return_index=True)[1]
    labels = [inputs[place] for place in first.tolist()]
    operator, counts = mechanism.operator, np.bincount(onto)
    if isinstance(operator, UniformOperator) and np.ptp(operator.off) == 0:
        matrix = operator.off[0] * np.ones((len(labels), 1)) * counts + np.diag(operator.d[first])
        return Mechanism.from_matrix(matrix, labels)
    rows = np.zeros((len(labels), mechanism.shape[1]))
    np.add.at(rows, onto, operator.dense())
    outputs: list[Any] = list(range(mechanism.shape[1]))
    return Mechanism.from_matrix(rows / counts[:, None], labels, outputs=outputs)


def cut(label: Any, places: Sequence[int]) -> Label:
    """Return the parts of a label that are asked for."""
    return label[places[0]] if len(places) == 1 else tuple(label[place] for place in places)
