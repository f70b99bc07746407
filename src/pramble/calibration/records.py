"""Plans for several columns together at any promise, each from a search of bounded time."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pramble.calibration.columns import Priors
from pramble.calibration.proposal import ByRecord
from pramble.calibration.trial import DesignAt
from pramble.data.labels import Label
from pramble.data.order import places_of
from pramble.data.table import Crosstab
from pramble.errors import InvalidInput, with_values
from pramble.information.records import as_tables
from pramble.solvers.problem import ObjectiveName
from pramble.solvers.record.design_record import design_record
from pramble.values import Floats, names_of

MOST_JOINT = 100_000
"""Cells up to which the file's distribution is taken whole; beyond, the wanted tables of it."""


def design_plans(
    columns: Sequence[str],
    table: Crosstab,
    *,
    tables: Any,
    prior: Priors,
    categories: Mapping[str, Sequence[Label]] | None,
    objective: ObjectiveName,
    time_limit: float,
    promise: Callable[[float], Mapping[str, Any]],
) -> DesignAt:
    """Return the function from α, or ε, to a plan for the columns together."""
    names = checked_columns(columns, table.columns)
    stated = categories or {}
    labels = {
        name: tuple(stated.get(name, table.levels[table.columns.index(name)])) for name in names
    }
    law = file_law(table, labels, tables=tables) if prior is None else prior

    def plan_at(tried: float) -> ByRecord:
        found = design_record(
            labels,
            prior=law,
            tables=tables,
            objective=objective,
            time_limit=time_limit,
            **promise(tried),
        )
        return ByRecord(found, table)

    return plan_at


def checked_columns(columns: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Return the columns to randomise together: two or more of the keys."""
    names = names_of(columns)
    if len(names) < 2 or len(set(names)) != len(names):
        raise InvalidInput(f"columns must name two or more different keys; found {names!r}.")
    for name in names:
        if name not in keys:
            raise InvalidInput(f"columns must be among the keys {keys}; found {name!r}.")
    return names


def file_law(table: Crosstab, labels: Mapping[str, Sequence[Label]], *, tables: Any) -> Any:
    """Return the file's own distribution: of all cells, or of the wanted tables."""
    names = tuple(labels)
    if math.prod(len(own) for own in labels.values()) <= MOST_JOINT:
        return shares_of(table, labels, names)
    return {wanted: shares_of(table, labels, wanted) for wanted in as_tables(tables, names)}


def shares_of(
    table: Crosstab, labels: Mapping[str, Sequence[Label]], names: Sequence[str]
) -> Floats:
    """Return the file's shares over the labels of some columns."""
    axes = [table.columns.index(name) for name in names]
    answer = np.zeros([len(labels[name]) for name in names])
    places = []
    for axis, name in zip(axes, names, strict=True):
        found = places_of(labels[name], table.levels[axis])
        if None in found:
            error = InvalidInput(f"categories of {name!r} must hold every value of the file.")
            raise with_values(error, repr(table.levels[axis][found.index(None)]))
        places.append(np.array(found, dtype=np.int64))
    answer[np.ix_(*places)] = table.array(axes=axes) / table.n
    return answer
