"""Whatever may be handed to an estimation, brought to one form: sums over released cells."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.crosstab import Crosstab
from pramble.data.frames import backend_of
from pramble.data.open import is_frame, open_records
from pramble.data.recode import Reading
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput, PrambleWarning
from pramble.estimation.inverse.branches import from_branches
from pramble.estimation.inverse.layout import (
    NO_GROUPS,
    Layout,
    Tabulated,
    count_released,
    groups_of,
    refuse_many,
    sums_over,
)
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.channel import Channel
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.operators.base import output_shape
from pramble.mechanisms.plan import Block, Plan, as_plan
from pramble.mechanisms.product import axes_of
from pramble.values import Floats, Integers, names_of

ONE_COLUMN = "category"


def tabulate(
    data: Any,
    plan: Any,
    *,
    by: Sequence[str] | str | None,
    counts: bool = False,
    weights: Any = None,
    measure: str | None = None,
    partial: bool = False,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Tabulated:
    """Return the sums of whatever was handed in.

    With ``partial``, also of a table that the plan tells only some queries of.
    """
    data, plan = data_and_plan(data, plan)
    if isinstance(plan, Mechanism) and not is_frame(data):
        if by is not None:
            raise InvalidInput("by= goes with a frame; this is one column.")
        if measure is not None:
            raise InvalidInput("mean= and total= go with a frame; this is one column.")
        if counts:
            return from_counts(data, plan, weights=weights)
        return from_column(data, plan, weights=weights)
    if counts:
        raise InvalidInput("counts=True goes with one mechanism and one vector of counts.")
    plan = plan_of(plan, [] if by is None else names_of(by))
    names = default_table(plan) if by is None else names_of(by)
    if not names or len(set(names)) != len(names):
        raise InvalidInput(
            f"by= must name one or more different columns of the table; found {by!r}. The plan has "
            f"{', '.join(map(repr, plan.columns)) or 'none'}."
        )
    refuse_randomised([weights, measure], plan.columns)
    records = open_records(data, reading)
    channel = plan.channel(names)
    if channel.axes is not None:
        return from_records(records, channel, by=names, weights=weights, measure=measure)
    return from_branches(records, plan, by=names, weights=weights, measure=measure, partial=partial)


def default_table(plan: Plan) -> list[str]:
    blocks = {frozenset(seen.columns): seen.columns for seen in plan.channel().blocks_seen}
    return list(*blocks.values()) if len(blocks) == 1 else []


def from_counts(counts: Any, mechanism: Mechanism, *, weights: Any) -> Tabulated:
    if weights is not None:
        raise InvalidInput("weights= goes with records, not with counts.")
    vector = as_counts(counts, mechanism.shape[1])
    channel = Plan({ONE_COLUMN: mechanism}).channel()
    layout = layout_of_blocks(channel, by=(ONE_COLUMN,), levels={}, groups=NO_GROUPS)
    axes = axes_of(mechanism)
    cells = vector.reshape(1, *output_shape(axes))
    known: dict[Block, Mechanism] = {(ONE_COLUMN,): mechanism}
    return Tabulated(layout, axes, {(1, 0): cells}, float(vector.sum()), known)


def from_column(values: Any, mechanism: Mechanism, *, weights: Any) -> Tabulated:
    if not hasattr(values, "__len__") or isinstance(values, bytes):
        raise InvalidData(f"A column of values is needed; found {type(values).__name__}.")
    return from_records(
        open_records({ONE_COLUMN: values}),
        Plan({ONE_COLUMN: mechanism}).channel(),
        by=[ONE_COLUMN],
        weights=weights,
        backend=backend_of(values),
    )


def layout_of_blocks(
    channel: Channel, *, by: Sequence[str], levels: Mapping[str, Sequence[Any]], groups: Any
) -> Layout:
    refuse_many([len(groups), *(seen.mechanism.shape[1] for seen in channel.axes or ())], by)
    cells = cells_of_blocks(channel)
    categories = {name: channel.coding.categories[name].values for name in cells}
    return Layout(tuple(by), cells, categories, dict(levels), groups)


def cells_of_blocks(channel: Channel) -> dict[str, Integers]:
    axes = channel.axes or ()
    sizes = [seen.mechanism.shape[0] for seen in axes]
    grid = np.unravel_index(np.arange(int(np.prod(sizes, dtype=np.int64))), sizes) if sizes else ()
    return {
        name: own[place]
        for seen, place in zip(axes, grid, strict=True)
        for name, own in seen.cells.items()
    }


def from_records(
    records: Records,
    channel: Channel,
    *,
    by: Sequence[str],
    weights: Any = None,
    measure: str | None = None,
    backend: str | None = None,
) -> Tabulated:
    table, places = shown_by_blocks(records, channel, by=by, weights=weights, measure=measure)
    known = {seen.columns: seen.mechanism for seen in channel.axes or ()}
    untouched = [name for name in by if name not in channel.columns]
    groups, group_of = groups_of(table, len(untouched))
    levels = dict(zip(untouched, table.levels, strict=False))
    layout = layout_of_blocks(channel, by=by, levels=levels, groups=groups)
    outer = (len(groups), *(m.shape[1] for m in known.values()))
    axes = tuple(axis for m in known.values() for axis in axes_of(m))
    place = np.ravel_multi_index((group_of, *places), outer)
    sums = sums_over(table, place, (len(groups), *output_shape(axes)))
    return Tabulated(
        layout, axes, sums, float(table.n), known, weights is not None, backend or records.backend
    )


def shown_by_blocks(
    records: Records,
    channel: Channel,
    *,
    by: Sequence[str],
    beside: Sequence[str] = (),
    weights: Any = None,
    measure: str | None = None,
) -> tuple[Crosstab, list[Integers]]:
    """Return the released cells of a table, and which output of each block they are.

    The cells are by the untouched columns, those ``beside`` the table, and what is released.
    """
    axes = channel.axes or ()
    columns = [name for seen in axes for name in seen.columns]
    table = count_released(
        records,
        [*(name for name in by if name not in columns), *beside],
        {name: channel.coding.outputs[name] for name in columns},
        weights=weights,
        measure=measure,
    )
    released = {name: table.cells[:, table.columns.index(name)] for name in columns}
    return table, [seen.output_place(released) for seen in axes]


def measured_of(data: Any) -> Measured | None:
    """Return protected tables, or those of an opened release that has some."""
    found = data if isinstance(data, Measured) else getattr(data, "tables", None)
    return found if isinstance(found, Measured) else None


def data_and_plan(data: Any, plan: Any) -> tuple[Any, Any]:
    """Return data and plan; an opened release brings both, and a plan that is given goes first.

    A release in place of a plan brings its plan, and knows how many rows there should be.
    """
    stated = getattr(plan, "plan", None)
    if isinstance(stated, Mapping):
        warn_of_missing_rows(data, plan)
        plan = stated
    own = getattr(data, "plan", None)
    if not isinstance(own, Mapping):
        return data, plan
    return data.data, own if plan is None else plan


def warn_of_missing_rows(data: Any, release: Any) -> None:
    """Warn of rows that were selected: a randomised column tells who has a label only roughly."""
    rows = getattr(data, "num_rows", None)
    rows = (
        len(data)
        if rows is None and hasattr(data, "columns") and hasattr(data, "__len__")
        else rows
    )
    released = release.manifest["rows"]
    if rows is None or rows == released:
        return
    randomised = ", ".join(release.plan.columns)
    warnings.warn(
        f"The data has {rows:,} rows of the {released:,} that were released. Rows may be selected "
        f"by an untouched column, but not by a randomised one ({randomised}): those that show a "
        "label are not those that have it. Ask for the table by it, or given= it.",
        PrambleWarning,
        stacklevel=3,
    )


def plan_of(plan: Any, by: Sequence[str]) -> Plan:
    """Return a plan; a mechanism is that of one column."""
    if isinstance(plan, Mechanism) and len(by) == 1:
        plan = {by[0]: plan}
    return as_plan(plan)


def refuse_randomised(names: Sequence[Any], columns: Collection[str]) -> None:
    for name in names:
        if isinstance(name, str) and name in columns:
            raise InvalidInput(
                f"Numbers must come from an untouched column; {name!r} is randomised."
            )


def as_counts(counts: ArrayLike, size: int) -> Floats:
    """Return counts as floats; refuse a wrong length, negative or non-finite ones, and all zero."""
    try:
        answer = np.array(counts, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData("Counts must be a vector of numbers.") from None
    if answer.shape != (size,):
        raise InvalidData(
            f"Counts must be one number for each of the {size} outputs; found shape {answer.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(answer) & (answer >= 0)))
    if bad.size:
        raise InvalidData(f"Counts must not be negative; position {bad[0]} holds {answer[bad[0]]}.")
    if not answer.sum() > 0:
        raise InvalidData("Counts must not all be zero.")
    return answer
