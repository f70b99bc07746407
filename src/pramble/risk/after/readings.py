"""A plan seen from the file: how each key's levels move among each other."""

from collections.abc import Mapping, Sequence
from functools import singledispatch

import numpy as np

from pramble.data.labels import Label
from pramble.data.order import places_of
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput, InvalidPlan, with_values
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.operators.base import Operator
from pramble.mechanisms.uniform import UniformRows
from pramble.values import Floats, Integers

LARGEST_ASSIGNMENT = 1_000_000


def key_operators(plan: Mapping[str, Mechanism], table: Crosstab) -> dict[int, Operator]:
    r"""Return how every key that the plan randomises moves, by its place among the keys.

    An intruder who knows the plan reads each released label as the value it is best read as:
    outputs σ(x) are matched to values x so that :math:`\sum_x p_x M_{x\sigma(x)}` is largest, which
    is the label itself unless the labels were permuted or renamed. Columns of the plan that are no
    keys do not help an intruder link, and are left out.
    """
    operators = {}
    for axis, name in enumerate(table.columns):
        if name in plan:
            mechanism = plan[name]
            rows = places(mechanism.labels.values, table.levels[axis])
            if (rows < 0).any():
                error = InvalidPlan(
                    f"The mechanism for column {name!r} must know every value that occurs; it does "
                    "not. Design it over all of the column's categories."
                )
                raise with_values(error, repr(table.levels[axis][int(rows.argmin())]))
            own = places(mechanism.output_labels.values, table.levels[axis])
            shares = table.array(axes=[axis]) / table.n
            columns = best_reading(mechanism, rows, own, shares=shares)
            operators[axis] = mechanism.operator.between(rows, columns)
    return operators


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
def best_reading(
    mechanism: Mechanism, rows: Integers, own: Integers, *, shares: Floats
) -> Integers:
    """Return the output that each value is best read from; −1 where none is left."""
    from scipy.optimize import linear_sum_assignment

    outputs = np.arange(mechanism.shape[1])
    if len(rows) * len(outputs) > LARGEST_ASSIGNMENT:
        return own
    worth = shares[:, None] * mechanism.operator.between(rows, outputs).dense()
    values, outputs = linear_sum_assignment(worth, maximize=True)
    plain = worth[own >= 0, own[own >= 0]].sum()
    if worth[values, outputs].sum() <= plain * (1 + 1e-9):
        return own
    best = np.full(len(rows), -1, dtype=np.int64)
    best[values] = outputs
    return best


@best_reading.register
def _(mechanism: UniformRows, rows: Integers, own: Integers, *, shares: Floats) -> Integers:
    """Uniform rows are read as they are, unless some value is rather released as another."""
    if (mechanism.keep >= mechanism.off)[rows].all():
        return own
    return best_reading.dispatch(Mechanism)(mechanism, rows, own, shares=shares)
