"""Whatever may be handed to an estimation, brought to one form: sums over released cells.

A table has cells of the randomised columns, and is sparse over the untouched ones.
"""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pramble.data.crosstab import Crosstab, CrosstabJob, Powers, crosstab, refuse_empty
from pramble.data.frames import backend_of
from pramble.data.labels import Label
from pramble.data.open import is_frame, open_records
from pramble.data.recode import Reading
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput, PrambleWarning
from pramble.estimation.records.channel_tables import (
    BranchTable,
    branch_table,
    branches_of,
    gather,
    refuse_large_table,
    sums_of_cells,
)
from pramble.estimation.records.stacked import StackedOperator
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.channel import Channel, SeenBlock
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.operators.base import Inverting, output_shape
from pramble.mechanisms.plan import Block, Plan, as_plan
from pramble.values import Floats, Integers, frozen, names_of

# The column of values that came without a name.
ONE_COLUMN = "category"

# Of a table without untouched columns: one group, of no columns.
NO_GROUPS = np.zeros((1, 0), dtype=np.int64)


@frozen(eq=False)
class Layout:
    """Which columns make a table, and in what order its cells stand."""

    by: tuple[str, ...]  # The columns, in the caller's order
    cells: Mapping[str, Integers]  # (K,): the code of its label in each cell of a group
    categories: Mapping[str, Sequence[Label]]  # by randomised column
    levels: Mapping[str, Sequence[Label]]  # by untouched column
    # (R, number of untouched columns): codes of the combinations of untouched labels that occur
    groups: Integers

    @property
    def size(self) -> int:
        return next((len(codes) for codes in self.cells.values()), 1)

    @cached_property
    def codes(self) -> dict[str, Integers]:
        untouched = {
            name: np.repeat(self.groups[:, j], self.size) for j, name in enumerate(self.levels)
        }
        return untouched | {
            name: np.tile(own, len(self.groups)) for name, own in self.cells.items()
        }

    @cached_property
    def order(self) -> Integers:
        return np.asarray(np.lexsort([self.codes[name] for name in reversed(self.by)]))

    def order_of(self, name: str) -> Sequence[Label]:
        return self.levels[name] if name in self.levels else self.categories[name]

    def flatten(self, cells: Floats) -> Floats:
        return np.asarray(cells.reshape(-1)[self.order])

    def unflatten(self, vector: Floats) -> Floats:
        cells = np.empty_like(vector)
        cells[self.order] = vector
        return cells.reshape(len(self.groups), self.size)

    def labels(self) -> dict[str, list[Label]]:
        answer = {}
        for name in self.by:
            known = self.order_of(name)
            answer[name] = [known[code] for code in self.codes[name][self.order].tolist()]
        return answer


# The sums that shares need with weights, and totals and means of a measure.
WEIGHTED: tuple[Powers, ...] = ((1, 0), (2, 0))
MEASURED: tuple[Powers, ...] = (*WEIGHTED, (1, 1), (2, 1), (2, 2))


@frozen(eq=False)
class ReleasedSums:
    r"""Sums over the released cells of a table."""

    layout: Layout
    # What was done to the cells: one operator for each block, or one for all branches
    axes: tuple[Inverting, ...]
    # (a, b): \sum_i w_i^a y_i^b over the records of each released cell, with weights w (1 without
    # weights) and a measure y
    sums: Mapping[Powers, Floats]
    n: float  # Number of records
    # by columns: the mechanism of each axis, where each axis is one block
    mechanisms: Mapping[Block, Mechanism]
    weighted: bool = False  # Whether weights were given
    backend: str = "pyarrow"  # The frame library to answer in
    # Operator and counts of a finer table, whose cells are those of this one,
    # each with all combinations of further columns: the likelihood is then that of the finer one
    finer: tuple[StackedOperator, Floats] | None = None

    @property
    def counts(self) -> Floats:
        return self.sums[1, 0]

    @property
    def stated(self) -> dict[str, Any]:
        return {"n": self.n, "backend": self.backend}

    @property
    def squared_weights(self) -> Floats | None:
        """Sums of squared weights, of weights that sum to one; None without weights."""
        return self.sums[2, 0] / self.counts.sum() ** 2 if self.weighted else None


def untouched_groups(table: Crosstab, untouched: int) -> tuple[Integers, Integers]:
    """Return the combinations of the first columns that occur, and which one each cell is in.

    The cells of a cross-tabulation are in lexicographic order.
    """
    prefix = table.cells[:, :untouched]
    fresh = np.r_[True, (prefix[1:] != prefix[:-1]).any(axis=1)]
    return prefix[fresh], np.cumsum(fresh) - 1


@frozen(eq=False)
class ReleasedCells:
    """The released cells of a table, by the untouched columns and those beside the table."""

    by: tuple[str, ...]
    found: Crosstab
    channel: Channel
    table: BranchTable | None  # Where blocks do not make the table by themselves

    @property
    def untouched(self) -> list[str]:
        return [name for name in self.by if name not in self.channel.columns]

    @property
    def blocks(self) -> tuple[SeenBlock, ...]:
        return self.channel.axes or ()

    @property
    def cells(self) -> Mapping[str, Integers]:
        if self.table is not None:
            return self.table.cells
        sizes = [seen.mechanism.shape[0] for seen in self.blocks]
        grid = np.unravel_index(np.arange(np.prod(sizes, dtype=np.int64)), sizes) if sizes else ()
        pairs = zip(self.blocks, grid, strict=True)
        return {name: own[place] for seen, place in pairs for name, own in seen.cells.items()}

    @cached_property
    def branch_of(self) -> Integers:
        needed = self.channel.columns if self.table is None else self.table.needed
        return branches_of(self.found, self.channel, needed=needed)

    def places(self) -> list[Integers]:
        columns, cells = self.found.columns, self.found.cells
        released = {
            name: cells[:, columns.index(name)] for seen in self.blocks for name in seen.columns
        }
        return [seen.output_place(released) for seen in self.blocks]


@frozen(eq=False)
class Counting:
    """How the released cells of a table are counted: over which columns, and what of them."""

    by: tuple[str, ...]
    channel: Channel
    table: BranchTable | None
    columns: tuple[str, ...]
    options: Mapping[str, Any]

    def job(self, records: Records) -> CrosstabJob:
        return CrosstabJob(records, (*self.columns, *self.options["presence"]), **self.options)

    def cells(self, found: Crosstab, records: Records) -> ReleasedCells:
        refuse_empty(found, records.name)
        return ReleasedCells(self.by, found, self.channel, self.table)


def counting(
    plan: Plan,
    by: Sequence[str],
    *,
    beside: Sequence[str] = (),
    weights: Any = None,
    measure: str | None = None,
) -> Counting:
    channel = plan.channel(by)
    table = branch_table(plan, by) if channel.axes is None else None
    needed = [name for seen in channel.axes or () for name in seen.columns]
    needed = needed if table is None else table.needed
    coding, powers = channel.coding, () if weights is None else WEIGHTED
    options = {
        "labels": {name: coding.outputs[name] for name in needed},
        "weights": weights,
        "measure": measure,
        "powers": powers if measure is None else MEASURED,
        "presence": () if table is None else tuple(n for n in coding.blank if n not in needed),
    }
    untouched = [name for name in by if name not in channel.columns]
    return Counting(tuple(by), channel, table, (*untouched, *beside, *needed), options)


def count_released(
    records: Records, plan: Plan, *, by: Sequence[str], **options: Any
) -> ReleasedCells:
    asked = counting(plan, by, **options)
    return asked.cells(crosstab(records, asked.columns, **asked.options), records)


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
) -> ReleasedSums:
    """Return the sums of whatever was handed in.

    With ``partial``, also of a table that the plan tells only some queries of.
    """
    data, plan = data_and_plan(data, plan)
    if isinstance(plan, Mechanism) and not is_frame(data):
        if by is not None:
            raise InvalidInput("by= goes with a frame; this is one column.")
        if measure is not None:
            raise InvalidInput("mean= and total= go with a frame; this is one column.")
        return from_one_column(data, plan, counts=counts, weights=weights)
    if counts:
        raise InvalidInput("counts=True goes with one mechanism and one vector of counts.")
    plan = plan_for(plan, [] if by is None else names_of(by))
    if by is None:  # the table of the only block, if there is one
        blocks = {frozenset(seen.columns): seen.columns for seen in plan.channel().blocks_seen}
        names = list(*blocks.values()) if len(blocks) == 1 else []
    else:
        names = names_of(by)
    if not names or len(set(names)) != len(names):
        raise InvalidInput(
            f"by= must name one or more different columns of the table; found {by!r}. The plan has "
            f"{', '.join(map(repr, plan.columns)) or 'none'}."
        )
    refuse_randomised([weights, measure], plan.columns)
    records = open_records(data, reading)
    counted = count_released(records, plan, by=names, weights=weights, measure=measure)
    found = as_tabulated(counted, backend=records.backend, partial=partial)
    return replace(found, weighted=weights is not None)


def from_one_column(
    values: Any, mechanism: Mechanism, *, counts: bool, weights: Any
) -> ReleasedSums:
    plan = Plan({ONE_COLUMN: mechanism})
    if not counts:
        if not hasattr(values, "__len__") or isinstance(values, bytes):
            raise InvalidData(f"A column of values is needed; found {type(values).__name__}.")
        records = open_records({ONE_COLUMN: values})
        counted = count_released(records, plan, by=[ONE_COLUMN], weights=weights)
        found = as_tabulated(counted, backend=backend_of(values))
        return replace(found, weighted=weights is not None)
    if weights is not None:
        raise InvalidInput("weights= goes with records, not with counts.")
    vector = as_counts(values, mechanism.shape[1])
    channel, axes = plan.channel(), (mechanism.operator,)
    cells, categories = channel.cells, {ONE_COLUMN: channel.labels[ONE_COLUMN].values}
    layout = Layout((ONE_COLUMN,), cells, categories, {}, NO_GROUPS)
    sums = {(1, 0): vector.reshape(1, *output_shape(axes))}
    return ReleasedSums(layout, axes, sums, float(vector.sum()), {(ONE_COLUMN,): mechanism})


def as_tabulated(counted: ReleasedCells, *, backend: str, partial: bool = False) -> ReleasedSums:
    found, table, blocks = counted.found, counted.table, counted.blocks
    groups, group_of = untouched_groups(found, len(counted.untouched))
    outputs = [seen.mechanism.shape[1] for seen in blocks]
    refuse_large_table([len(groups), *outputs], counted.by)
    coding, cells = counted.channel.coding, counted.cells
    layout = Layout(
        counted.by,
        cells,
        {name: coding.categories[name].values for name in cells},
        dict(zip(counted.untouched, found.levels, strict=False)),
        groups,
    )
    if table is None:
        place = np.ravel_multi_index((group_of, *counted.places()), (len(groups), *outputs))
        axes = tuple(seen.mechanism.operator for seen in blocks)
        sums = sums_of_cells(found, place, (len(groups), *output_shape(axes)))
        known = {seen.columns: seen.mechanism for seen in blocks}
        return ReleasedSums(layout, axes, sums, float(found.n), known, backend=backend)
    gathered = gather(table, found, counted.branch_of, group_of=group_of)
    if gathered is None:
        raise table.refusal()
    operator, sums = gathered
    if operator.lost.shape[1]:
        if not partial:
            raise table.refusal()
        operator = replace(operator, refusal=table.refusal())
    fine, finer = table.finer(), None
    if fine is not None:
        whole = gather(fine, found, counted.branch_of, group_of=group_of)
        finer = None if whole is None else (whole[0], whole[1][1, 0])
    return ReleasedSums(layout, (operator,), sums, float(found.n), {}, backend=backend, finer=finer)


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


def stated_survey(data: Any, survey: Any) -> Any:
    """Return how records were sampled: as is said, or the design effect that a release states."""
    manifest = getattr(data, "manifest", None)
    if survey is not None or not isinstance(manifest, Mapping):
        return survey
    effect = manifest.get("survey", {}).get("design_effect")
    return None if effect is None else {"design_effect": effect}


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


def plan_for(plan: Any, by: Sequence[str]) -> Plan:
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
