r"""Records with many cells: blocks are chosen in the ANOVA form, and valued table by table.

At a uniform prior the information is diagonal in the ANOVA components
:math:`\emptyset \ne A \subseteq` columns, one number :math:`x_A` each, of which there are
:math:`m_A = \prod_{j\in A}(S_j - 1)`. A branch that shows block B by a symmetric mechanism adds the
same number to every :math:`A \subseteq B`, and the value is
:math:`\sum_A w_A m_A / x_A` with :math:`w_A = \sum_{T \supseteq A} 1/|T|` over the wanted tables T.
That chooses the blocks; at the real prior each table is then valued by the branches that bear on it
(:mod:`pramble.information.tables`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from pramble.information.records import Table
from pramble.information.tables import (
    covariance_of_cells,
    inner,
    margin_information,
    spread_information,
    table_variance,
)
from pramble.mechanisms.base import Mechanism
from pramble.solvers.record.candidates import best_cardinality
from pramble.solvers.record.problem import Block, RecordProblem
from pramble.solvers.record.shares import multiplied
from pramble.values import Floats, value

MOST_BLOCK = 420
MOST_SETS = 6000
FEW_STEPS, ENOUGH = 200, 2e-3


def told_by(size: int, alpha: float) -> float:
    """Return the information per component of the best symmetric mechanism on so many cells."""
    a, k = math.exp(alpha), best_cardinality(size, alpha)
    f = k / size
    return (a - 1) ** 2 * f * (1 - f) / ((a * f + 1 - f) ** 2 * (size - 1))


def chosen_blocks(problem: RecordProblem) -> list[tuple[Table, float]]:
    """Return the blocks worth showing, and their shares, at a uniform prior."""
    sizes = {name: len(labels.values) for name, labels in problem.labels.items()}
    components = sorted({
        part
        for table in problem.tables
        for k in range(1, len(table) + 1)
        for part in combinations(table, k)
    })  # fmt: skip
    weights = np.array([
        math.prod(sizes[name] - 1 for name in part)
        * sum(1 / math.prod(sizes[n] for n in t) for t in problem.tables if set(part) <= set(t))
        for part in components
    ])  # fmt: skip
    blocks = possible_blocks(problem, sizes)
    told = np.array([
        told_by(math.prod(sizes[name] for name in block), problem.alpha) for block in blocks
    ])  # fmt: skip
    sets = [frozenset(block) for block in blocks]
    within = np.array([[set(part) <= block for part in components] for block in sets], dtype=float)
    informations = within * told[:, None]

    def gains(shares: Floats) -> Floats:
        x = shares @ informations
        return np.asarray(informations @ (weights / np.maximum(x, 1e-300) ** 2))

    shares = multiplied(gains, len(blocks))
    return [(block, float(w)) for block, w in zip(blocks, shares, strict=True) if w > 1e-5]


def possible_blocks(problem: RecordProblem, sizes: dict[str, int]) -> list[Table]:
    """Return sets of columns that bear on the wanted tables, small ones first."""
    largest = max(map(len, problem.tables))
    found = list(dict.fromkeys(problem.tables))
    for size in range(1, len(problem.columns) + 1):
        if size > largest and len(found) + math.comb(len(problem.columns), size) > MOST_SETS:
            break
        sets = combinations(problem.columns, size)
        found += [b for b in sets if math.prod(sizes[name] for name in b) <= MOST_BLOCK]
    return list(dict.fromkeys(found))


@value(eq=False)
class Shown:
    """A branch that tells of a block, and what one of its records tells of each wanted table."""

    block: Block
    blocks: Mapping[Table, Mechanism]
    informations: dict[Table, Floats]


class Tables:
    """The wanted tables with their possible cells and laws."""

    def __init__(self, problem: RecordProblem) -> None:
        self.blocks = {table: problem.block(table) for table in problem.tables}

    def shown(
        self, block: Block, mechanism: Mechanism, blocks: Mapping[Table, Mechanism]
    ) -> Shown | None:
        """Return what a block tells of the tables; None if its cells cannot be told apart."""
        covariance = covariance_of_cells(mechanism.operator.dense(), block.law)
        if covariance.lost.shape[1]:
            return None
        margins: dict[Table, Floats] = {}
        found = {}
        for table, own in self.blocks.items():
            shared = tuple(name for name in table if name in block.columns)
            if not shared:
                continue
            if shared not in margins:
                margins[shared] = margin_information(covariance, block.onto(shared)[1])
            found[table] = spread_information(margins[shared], own.onto(shared)[1])
        return Shown(block, blocks, found)

    def costs(self, shown: Sequence[Shown], shares: Floats) -> dict[Table, float]:
        """Return n times the summed variance of each table."""
        whole = self.informations(shown, shares)
        return {table: table_variance(whole[table], own.law) for table, own in self.blocks.items()}

    def informations(self, shown: Sequence[Shown], shares: Floats) -> dict[Table, Floats]:
        """Return the information on each table from one record."""
        whole = {table: np.zeros((own.size, own.size)) for table, own in self.blocks.items()}
        for one, share in zip(shown, shares, strict=True):
            for table, information in one.informations.items():
                whole[table] += share * information
        return whole

    def best_shares(self, shown: Sequence[Shown]) -> Floats:
        """Return the shares that make the summed cost smallest."""
        return multiplied(self.gains_of(shown), len(shown), steps=FEW_STEPS, gap=ENOUGH)

    def gains_of(self, shown: Sequence[Shown]) -> Callable[[Floats], Floats]:
        """Return how much a larger share of each block would help."""

        def gains(shares: Floats) -> Floats:
            found = np.zeros(len(shown))
            for table, whole in self.informations(shown, shares).items():
                root = np.sqrt(inner(self.blocks[table].law))
                scaled = whole * np.outer(root, root)
                scaled[np.diag_indices_from(scaled)] += 1e-11 * np.trace(scaled) / len(scaled)
                inverse = np.linalg.inv(scaled)
                K = (inverse * root**2) @ inverse
                K = K * np.outer(root, root)
                for i, one in enumerate(shown):
                    if table in one.informations:
                        found[i] += float((K * one.informations[table]).sum())
            return found

        return gains
