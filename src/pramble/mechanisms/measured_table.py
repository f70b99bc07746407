"""Protected tables as one tidy table: a row for each cell of every table that can be rebuilt.

The columns are ``table``, the names joined by " × "; every column of the data, with its label in
the cell and null where the table does not have it; ``count``, unbiased; ``deviation``, the standard
deviation of its noise; and ``residual``, the exact whole number that was published for the cell.
Where a column of the data has one of these names, ours has an underscore at its end.

Residuals are decimals of 38 digits without fraction, whatever their size, so that the type of the
column never depends on the noise.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.crosstab import unused
from pramble.data.decode import natural_arrow_labels
from pramble.errors import InvalidData
from pramble.mechanisms.table_plan import Columns, TablePlan
from pramble.values import Floats, Integers

# Wide enough for every residual, so that the type does not depend on the noise.
WHOLE = pa.decimal128(38, 0)
# How far a count or deviation may be from what residuals and plan say, relatively.
CLOSE = 1e-9


class OwnNames(NamedTuple):
    """The names of the columns that are not the data's."""

    table: str
    count: str  # type: ignore[assignment]  # tuples have a method of this name
    deviation: str
    residual: str


def own_names(plan: TablePlan) -> OwnNames:
    return OwnNames(*(unused(name, plan.columns) for name in OwnNames._fields))


def tidy_table(
    plan: TablePlan, residuals: Mapping[Columns, Any], counts: Callable[[Columns], Floats]
) -> Any:
    """Return the tidy table: parts in the order of the plan, cells in lexicographic order."""
    own = own_names(plan)
    columns = keys(plan)
    columns[own.count] = pa.array(in_one_column(plan, counts))
    columns[own.deviation] = pa.array(deviations(plan))
    columns[own.residual] = pa.chunked_array(
        [exact_decimals(residuals[part].ravel()) for part in plan.parts], WHOLE
    )
    return pa.table(columns)


def keys(plan: TablePlan) -> dict[str, Any]:
    sizes = [plan.cells(part) for part in plan.parts]
    texts = pa.array([" × ".join(part) for part in plan.parts])
    found = {own_names(plan).table: texts.take(pa.array(np.repeat(np.arange(len(sizes)), sizes)))}
    for name, labels in plan.labels.items():
        codes = np.concatenate([codes_along(plan, part, name) for part in plan.parts])
        places = pa.array(codes, mask=codes < 0)
        found[name] = natural_arrow_labels(labels.as_tuple()).take(places)
    return found


def codes_along(plan: TablePlan, part: Columns, name: str) -> Integers:
    shape = plan.shape(part)
    if name not in part:
        return np.full(math.prod(shape), -1)
    axis = part.index(name)
    along = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(along, shape).ravel()


def in_one_column(plan: TablePlan, values: Callable[[Columns], Floats]) -> Floats:
    return np.concatenate([values(part).ravel() for part in plan.parts])


def deviations(plan: TablePlan) -> Floats:
    own = [math.sqrt(plan.cell_variance(part)) for part in plan.parts]
    return np.repeat(own, [plan.cells(part) for part in plan.parts])


def exact_decimals(numbers: Any) -> Any:
    if numbers.dtype == np.int64:
        return pa.array(numbers).cast(WHOLE)
    return pa.array([int(one) for one in numbers], type=WHOLE)


def residuals_in(table: Any, plan: TablePlan) -> dict[Columns, Any]:
    own = own_names(plan)
    columns = [own.table, *plan.columns, own.count, own.deviation, own.residual]
    if table.column_names != columns:
        raise InvalidData(
            f"Protected tables have the columns {', '.join(columns)}; found "
            f"{', '.join(table.column_names)}."
        )
    expected = keys(plan)
    rows = len(expected[own.table])
    if table.num_rows != rows:
        raise InvalidData(
            f"Protected tables of this plan have {rows:,} cells; found {table.num_rows:,}."
        )
    for name, values in expected.items():
        refuse_changed(table[name], values, name)
    numbers = whole_numbers(table[own.residual], own.residual)
    ends = np.cumsum([plan.cells(part) for part in plan.parts])[:-1]
    pieces = np.split(numbers, ends)
    return {p: own.reshape(plan.shape(p)) for p, own in zip(plan.parts, pieces, strict=True)}


def refuse_changed(found: Any, expected: Any, name: str) -> None:
    try:
        found = found.cast(expected.type).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidData(
            f"Column {name!r} of protected tables is of type {expected.type}; found {found.type}."
        ) from None
    both = pc.and_(found.is_null(), expected.is_null())
    same = pc.fill_null(pc.equal(found, expected), False)  # noqa: FBT003
    bad = np.flatnonzero(~pc.or_(both, same).to_numpy(zero_copy_only=False))
    if bad.size:
        row = int(bad[0])
        raise InvalidData(
            f"Column {name!r} of protected tables must hold {expected[row].as_py()!r} in row "
            f"{row}, as its plan says; found {found[row].as_py()!r}. Leave the rows in their order."
        )


def whole_numbers(values: Any, name: str) -> Any:
    kind = values.type
    exact = pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_string(kind)
    try:
        found = values.cast(WHOLE) if exact and not values.null_count else None
    except pa.ArrowInvalid:
        found = None
    if found is None:
        raise InvalidData(
            f"Column {name!r} of protected tables holds whole numbers, none missing or rounded."
        )
    try:
        return found.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return np.array([int(one) for one in found.to_pylist()], dtype=object)


def refuse_far(table: Any, plan: TablePlan, counts: Callable[[Columns], Floats]) -> None:
    own = own_names(plan)
    noise = deviations(plan)
    for name, expected in ((own.count, in_one_column(plan, counts)), (own.deviation, noise)):
        try:
            found = np.asarray(table[name].cast(pa.float64()).to_numpy(), dtype=np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InvalidData(f"Column {name!r} of protected tables holds numbers.") from None
        # a count near zero is a difference of larger numbers, rounded as they are
        bad = np.flatnonzero(~(np.abs(found - expected) <= CLOSE * (np.abs(expected) + noise)))
        if bad.size:
            row = int(bad[0])
            raise InvalidData(
                f"Column {name!r} of protected tables must hold {expected[row]!r} in row {row}, "
                f"which follows from the residuals; found {found[row]!r}."
            )
