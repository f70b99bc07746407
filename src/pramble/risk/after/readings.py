r"""A plan seen from the file: how an intruder who knows it reads each key's outputs as values.

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

from collections.abc import Mapping, Sequence
from functools import singledispatch

import numpy as np

from pramble.data.labels import Label
from pramble.data.order import places_of
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput, InvalidPlan, with_values
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import Operator
from pramble.mechanisms.operators.dense import ArrayOperator
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats, Integers

LARGEST_ASSIGNMENT = 1_000_000
LARGEST_READING = 100_000_000
TIE = 1 - 1e-12
KEPT = "labels"
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
    if all(KEPT in readings for readings in found.values()):
        return {KEPT: {axis: readings[KEPT] for axis, readings in found.items()}}
    return {
        name: {axis: readings.get(name) or readings[KEPT] for axis, readings in found.items()}
        for name in READINGS
    }


def readings_of(mechanism: Mechanism, table: Crosstab, axis: int) -> dict[str, Operator]:
    """Return how the levels of a key move among each other, for every reading of its outputs."""
    rows = places(mechanism.labels.values, table.levels[axis])
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


def places(labels: Sequence[Label], levels: Sequence[Label]) -> Integers:
    """Return where each level stands among labels; −1 where it does not."""
    found = places_of(labels, levels)
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def shares_over(table: Crosstab, column: str, labels: Sequence[Label]) -> Floats:
    """Return the shares of a column's values over labels that hold all of them."""
    axis = table.columns.index(column)
    rows = places(labels, table.levels[axis])
    if (rows < 0).any():
        lost = table.levels[axis][int(rows.argmin())]
        error = InvalidInput(f"categories of {column!r} must hold every value of the file.")
        raise with_values(error, repr(lost))
    shares = np.zeros(len(labels))
    np.add.at(shares, rows, table.array(axes=[axis]) / table.n)
    return shares


@singledispatch
def readings(mechanism: Mechanism, *, shares: Floats) -> dict[str, Integers]:
    """Return readings by their name: the category that each output is read as, −1 for none."""
    if mechanism.shape[0] * mechanism.shape[1] > LARGEST_READING:
        return {KEPT: places(mechanism.labels.values, mechanism.output_labels.values)}
    M = mechanism.operator.dense()
    kept = kept_labels(M)
    if kept is not None:
        return {KEPT: kept}
    posterior = (shares[:, None] * M).argmax(axis=0)
    occurs = np.where(shares[:, None] > 0, M, -1.0)
    likely = occurs >= TIE * occurs.max(axis=0)
    likelihood = (shares[:, None] * likely).argmax(axis=0)
    present = np.flatnonzero(shares > 0)
    matched = match((shares[:, None] * M)[present])
    one_to_one = np.where(matched >= 0, present[matched], posterior)
    return dict(zip(READINGS, (posterior, likelihood, one_to_one), strict=True))


@readings.register
def _(mechanism: UniformRows, *, shares: Floats) -> dict[str, Integers]:
    """Uniform rows keep their labels, unless some value is rather released as another."""
    if (mechanism.keep >= mechanism.off)[shares > 0].all():
        return {KEPT: np.arange(mechanism.shape[0])}
    return readings.dispatch(Mechanism)(mechanism, shares=shares)


def kept_labels(M: Floats) -> Integers | None:
    """Return the reading of a mechanism that keeps its labels up to their names, else None."""
    most = M.argmax(axis=0)
    clear = (TIE * M.max(axis=0) <= M).sum(axis=0) == 1
    return most if clear.all() and len(np.unique(most)) == len(most) else None


def match(worth: Floats) -> Integers:
    """Return the row that each column is matched with for the largest sum; −1 where none."""
    from scipy.optimize import linear_sum_assignment

    matched = np.full(worth.shape[1], -1, dtype=np.int64)
    if worth.size <= LARGEST_ASSIGNMENT:
        rows, columns = linear_sum_assignment(worth, maximize=True)
        matched[columns] = rows
    return matched
