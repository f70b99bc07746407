r"""What a plan shows of the keys of a file, and how an intruder who knows it reads the outputs.

A branch shows the keys that no branch touches, and those of its own blocks; other keys are blank
and tell nothing. The keys of a block are taken as one, whose levels are the block's cells. Columns
of a block that are no keys do not help an intruder link: what they hold is taken to be even.

A reading maps every output to one value, or to none; several outputs may be read as the same value.
What is read is again a randomised value, released by :math:`M'_{xy} = \sum_{z \text{ read as } y}
M_{xz}`, so everything that holds for a square mechanism that keeps its labels holds for a reading.

A mechanism **keeps its labels**, up to their names, when each output has a value of its own that
releases it more often than any other value does, or when it has uniform rows that stay at least as
often as they move anywhere; it is read so. Of other mechanisms there are several readings, and the
intruder takes the one that serves best:

* ``"posterior"``: each output as its likeliest value, :math:`\arg\max_x p_x M_{xz}`, by the shares
  p of the file,
* ``"likelihood"``: as the value that releases it most often, :math:`\arg\max_x M_{xz}`,
* ``"one-to-one"``: each value from an output of its own with :math:`\sum_x p_x M_{x\sigma(x)}` as
  large as it can be, and outputs left over as their likeliest value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from pramble.data.crosstab import Crosstab, group, totals
from pramble.data.labels import Label, label_keys, places_of
from pramble.errors import InvalidInput, InvalidPlan, with_values
from pramble.information.measures import entropy, mutual_information
from pramble.limits import MOST_CELLS
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import ArrayOperator, Operator
from pramble.mechanisms.operators.uniform import UniformOperator
from pramble.mechanisms.plan import Block, Plan
from pramble.mechanisms.uniform import UniformRows
from pramble.risk.models import CellMeans, JointKey
from pramble.values import Floats, Integers, frozen


@frozen(eq=False)
class BranchKeys:
    """The classes of a file by what the records of one branch show of the keys.

    - ``share``: The probability of the branch.
    - ``table``: Counts by what is shown: keys, and the keys of a block as one.
    - ``class_of``: The class there of each class of the file.
    """

    share: float
    table: Crosstab
    class_of: Integers
    keys: tuple[JointKey, ...]
    mechanisms: Mapping[str, Mechanism]

    def fit(self, fit: CellMeans) -> CellMeans:
        return fit.over(self.keys)

    def fractions(self, table: Crosstab, fraction: Floats) -> Floats:
        """Return the sampling fraction of each class, from those of the file's classes."""
        people = totals(self.class_of, table.counts / fraction, len(self.table.counts))
        return np.asarray(self.table.counts / people)


def keys_by_branch(plan: Plan, table: Crosstab) -> Iterator[BranchKeys]:
    """Yield what each branch shows of the keys of a file; nothing for one that shows none."""
    channel = plan.channel(table.columns)
    untouched = [name for name in table.columns if name not in plan.columns]
    for view in channel.views:
        parts: list[tuple[Block, Mechanism | None]] = [((name,), None) for name in untouched]
        parts += [(one.asked, of_keys(one.columns, one.mechanism, one.asked)) for one in view.seen]
        parts.sort(key=lambda part: table.columns.index(part[0][0]))
        if parts:
            yield by_shown_keys(table, parts, share=float(view.share))


def by_shown_keys(
    table: Crosstab, parts: Sequence[tuple[Block, Mechanism | None]], *, share: float
) -> BranchKeys:
    found = [joint_key(table, names, mechanism) for names, mechanism in parts]
    keys = tuple(key for key, _ in found)
    codes = [key.codes(table.cells) for key in keys]
    class_of, first = group(codes, [key.count for key in keys], rows=len(table.cells))
    shown = replace(
        table,
        columns=tuple("+".join(names) for names, _ in parts),
        levels=tuple(levels for _, levels in found),
        cells=np.stack(codes, axis=1)[first],
        counts=totals(class_of, table.counts, len(first)).astype(np.int64),
        sums={},
        cell_of=None,
    )
    mechanisms = {"+".join(names): one for names, one in parts if one is not None}
    return BranchKeys(share, shown, class_of, keys, mechanisms)


def joint_key(
    table: Crosstab, names: Block, mechanism: Mechanism | None
) -> tuple[JointKey, tuple[Label, ...]]:
    """Return some keys as one, whose levels are the cells of their block that could occur."""
    axes = tuple(table.columns.index(name) for name in names)
    sizes = tuple(table.shape[axis] for axis in axes)
    if mechanism is None or len(names) == 1:
        return JointKey(axes, sizes, np.arange(sizes[0]), sizes[0]), table.levels[axes[0]]
    if int(np.prod(sizes, dtype=object)) > MOST_CELLS:
        raise InvalidInput(
            f"The keys {', '.join(names)} are randomised together and have more than "
            f"{MOST_CELLS:,} combinations of levels. Assess fewer keys."
        )
    columns = zip(*mechanism.labels.values, strict=True)
    places = [
        level_places(table.levels[axis], own) for axis, own in zip(axes, columns, strict=True)
    ]
    occur = np.flatnonzero(np.all([place >= 0 for place in places], axis=0))
    level_of = np.full(int(np.prod(sizes)), -1, dtype=np.int64)
    level_of[np.ravel_multi_index([place[occur] for place in places], sizes)] = np.arange(
        len(occur)
    )
    key = JointKey(axes, sizes, level_of, len(occur))
    if (key.codes(table.cells) < 0).any():
        raise InvalidPlan(
            f"The mechanism for the columns {', '.join(names)} must know every combination that "
            "occurs; it does not. Design it over all that are possible."
        )
    return key, tuple(mechanism.labels.values[cell] for cell in occur.tolist())


def of_keys(block: Block, mechanism: Mechanism, names: Block) -> Mechanism:
    """Return what a block does to the keys among its columns; what the others hold is even."""
    if names == block:
        return mechanism
    places = [block.index(name) for name in names]
    parts = itemgetter(*places)  # one label, or a tuple of several
    inputs = [parts(label) for label in mechanism.labels.values]
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


# Entries of a matrix whose best matching is sought, in about a second; the other two readings serve
# larger ones.
LARGEST_ASSIGNMENT = 1_000_000
# Entries of a matrix that is built to be read; larger ones are read by their labels.
LARGEST_READING = 100_000_000
TIE = 1 - 1e-12  # probabilities that differ by rounding alone are tied
LABELS = "labels"
READINGS = ("posterior", "likelihood", "one-to-one")


def key_readings(plan: Mapping[str, Mechanism], table: Crosstab) -> dict[str, dict[int, Operator]]:
    r"""Return, reading by reading, how every randomised key moves, by its place among the keys.

    One reading, ``"labels"``, where all mechanisms keep theirs. Columns of the plan that are no
    keys do not help an intruder link, and are left out.
    """
    found = {
        axis: readings_of(plan[name], table, axis)
        for axis, name in enumerate(table.columns)
        if name in plan
    }
    if all(LABELS in readings for readings in found.values()):
        return {LABELS: {axis: readings[LABELS] for axis, readings in found.items()}}
    return {
        name: {axis: readings.get(name) or readings[LABELS] for axis, readings in found.items()}
        for name in READINGS
    }


def readings_of(mechanism: Mechanism, table: Crosstab, axis: int) -> dict[str, Operator]:
    rows = level_places(mechanism.labels.values, table.levels[axis])
    if (rows < 0).any():
        error = InvalidPlan(
            f"The mechanism for column {table.columns[axis]!r} must know every value that occurs; "
            "it does not. Design it over all of the column's categories."
        )
        raise with_values(error, repr(table.levels[axis][int(rows.argmin())]))
    shares = np.zeros(mechanism.shape[0])
    shares[rows] = table.array(axes=[axis]) / table.n
    level_of = np.full(mechanism.shape[0], -1, dtype=np.int64)
    level_of[rows] = np.arange(len(rows))
    return {
        name: read_operator(mechanism, rows, np.where(reading >= 0, level_of[reading], -1))
        for name, reading in readings(mechanism, shares=shares).items()
    }


def read_operator(mechanism: Mechanism, rows: Integers, reading: Integers) -> Operator:
    """Return how levels move when each output is read as a level, or as none where −1."""
    read = np.flatnonzero(reading >= 0)
    if len(np.unique(reading[read])) == len(read):
        columns = np.full(len(rows), -1, dtype=np.int64)
        columns[reading[read]] = read
        return mechanism.operator.between(rows, columns)
    together = np.zeros((len(reading), len(rows)))
    together[read, reading[read]] = 1.0
    return ArrayOperator(mechanism.operator.dense()[rows] @ together)


def level_places(labels: Sequence[Label], levels: Sequence[Label]) -> Integers:
    found = places_of(labels, levels)
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def shares_over(table: Crosstab, labels: Mapping[str, Sequence[Label]]) -> Floats:
    axes = [table.columns.index(name) for name in labels]
    rows = []
    for axis, (name, own) in zip(axes, labels.items(), strict=True):
        rows.append(level_places(own, table.levels[axis]))
        if (rows[-1] < 0).any():
            lost = table.levels[axis][int(rows[-1].argmin())]
            error = InvalidInput(f"categories of {name!r} must hold every value of the file.")
            raise with_values(error, repr(lost))
    shares = np.zeros([len(own) for own in labels.values()])
    shares[np.ix_(*rows)] = table.array(axes=axes) / table.n
    return shares


def information_of_keys(plan: Plan, table: Crosstab) -> tuple[float, float]:
    """Return the information about the keys that a plan randomises, and their summed entropy.

    Both are in nats. What a block shows of its keys together counts once.
    """
    information = sum(
        shown.share * mutual_information(shares_over(shown.table, {name: m.labels.values}), m)
        for shown in keys_by_branch(plan, table)
        for name, m in shown.mechanisms.items()
    )
    randomised = [axis for axis, key in enumerate(table.columns) if key in plan.columns]
    whole = sum(entropy(table.array(axes=[axis]) / table.n) for axis in randomised)
    return float(information), float(whole)


def readings(mechanism: Mechanism, *, shares: Floats) -> dict[str, Integers]:
    """Return readings by their name: the category that each output is read as, −1 for none."""
    uniform = mechanism if isinstance(mechanism, UniformRows) else None
    if uniform is not None and (uniform.keep >= uniform.off)[shares > 0].all():
        return {LABELS: np.arange(mechanism.shape[0])}  # no value is rather released as another
    if mechanism.shape[0] * mechanism.shape[1] > LARGEST_READING:
        return {LABELS: level_places(mechanism.labels.values, mechanism.output_labels.values)}
    M = mechanism.operator.dense()
    most = M.argmax(axis=0)
    clear = (TIE * M.max(axis=0) <= M).sum(axis=0) == 1
    if clear.all() and len(np.unique(most)) == len(most):
        return {LABELS: most}  # it keeps its labels up to their names
    posterior = (shares[:, None] * M).argmax(axis=0)
    occurs = np.where(shares[:, None] > 0, M, -1.0)
    likely = occurs >= TIE * occurs.max(axis=0)
    likelihood = (shares[:, None] * likely).argmax(axis=0)
    present = np.flatnonzero(shares > 0)
    weights = (shares[:, None] * M)[present]
    matched = np.full(weights.shape[1], -1, dtype=np.int64)
    if weights.size <= LARGEST_ASSIGNMENT:
        from scipy.optimize import linear_sum_assignment

        rows, columns = linear_sum_assignment(weights, maximize=True)
        matched[columns] = rows
    one_to_one = np.where(matched >= 0, present[matched], posterior)
    return dict(zip(READINGS, (posterior, likelihood, one_to_one), strict=True))
