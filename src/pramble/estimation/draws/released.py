r"""What a release says of each record: the chance of what it shows, for every original.

With the blocks B of its branch, a record that shows z has :math:`\prod_B M_B[x_B, z_B]` for the
original x. Equal records are one pattern; those with equal untouched values are one group. Some
cells cannot occur: those that the mechanism of a block does not have. Columns are drawn together
where they have few combinations, else some at a time.

Untouched columns take part as categories, or as classes of numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramble.data.arrays import is_text, numbers, without_dictionary
from pramble.data.crosstab import Crosstab, crosstab, refuse_empty, reordered
from pramble.data.labels import Label, object_key, places_of
from pramble.data.records import MixedRecords, Records, TableRecords
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.records.channel_tables import branches_of
from pramble.estimation.records.tabulate import untouched_groups
from pramble.information.structural_zeros import Mask, Possible
from pramble.limits import MOST_CELLS, MOST_IMPUTED_CELLS, MOST_SYNTHETIC_VALUES
from pramble.mechanisms.channel import Channel
from pramble.mechanisms.plan import Plan, as_plan
from pramble.values import Integers, frozen


def refuse_no_whole(number: Any, name: str) -> None:
    """Refuse a number of records or copies that is not a whole one of at least one."""
    whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
    if not (whole and number >= 1):
        raise InvalidInput(f"{name} must be a whole number of at least 1; found {number!r}.")


def possible_cells(plan: Any, labels: Mapping[str, Sequence[Label]]) -> Possible:
    """Return what is possible by all blocks of a plan whose columns have labels.

    >>> import pramble
    >>> m = pramble.randomized_response([(0, "no"), (1, "no"), (1, "yes")], 1.0)
    >>> found = possible_cells({("age", "job"): m}, {"age": [0, 1], "job": ["no", "yes"]})
    >>> found.mask(["job", "age"])
    array([[ True,  True],
           [False,  True]])
    """
    sizes = {name: len(own) for name, own in labels.items()}
    channel = as_plan(plan).channel(list(labels))
    tables: list[tuple[tuple[str, ...], Mask]] = []
    for block, mask in channel.structural_zeros(most=MOST_CELLS).items():
        if set(block) <= set(labels):
            known = [channel.coding.categories[name].values for name in block]
            own = [places_of(ours, labels[n]) for ours, n in zip(known, block, strict=True)]
            tables.append((block, mask[np.ix_(*own)]))
    return Possible(sizes, tuple(tables))


@frozen(eq=False)
class Factors:
    """The matrices of all blocks, one after the other, and what each pattern shows of them."""

    entries: Any  # Every matrix transposed, output by output
    starts: Integers  # (F,): where the matrix of a factor starts, and its number of categories
    sizes: Integers
    # (F, K): the category of a factor in each combination of the columns; −1 where it has none
    onto: NDArray[np.int32]
    columns: tuple[tuple[int, ...], ...]  # The columns of each factor, by their place
    # (P, J): the factors that each pattern shows, −1 beyond them, and their outputs
    shown: Integers
    outputs: Integers


@frozen(eq=False)
class ReleasedPatterns:
    """The records of a release as patterns, ready to draw originals for."""

    # by randomised column: K combinations of them, the last column running fastest
    labels: Mapping[str, Sequence[Label]]
    given: Mapping[str, Sequence[Label]]  # by untouched column
    groups: Integers  # (G, number of untouched columns): the combinations of their codes that occur
    group_of: Integers  # (P,): the group of each pattern, and its records
    counts: Integers
    order: Integers  # (n,): the records by pattern
    possible: Possible
    factors: Factors
    records: Records  # What tables are counted from
    plan: Plan

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.labels.values()))

    @property
    def rows(self) -> int:
        return len(self.order)

    @property
    def cells(self) -> int:
        return len(self.groups) * math.prod(self.shape)


def count_patterns(records: Records, plan: Plan, given: Sequence[str]) -> Crosstab:
    labels = plan.channel().coding.outputs
    found = crosstab(records, [*given, *plan.columns], labels=labels, keep_rows=True)
    refuse_empty(found, records.name)
    return found


def fitting_columns(
    found: Crosstab, plan: Plan, given: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the untouched columns that a model can hold, and those of most labels it cannot."""
    cells = plan.channel().size
    if cells > MOST_IMPUTED_CELLS:
        raise InvalidInput(
            f"The randomised columns must have at most {MOST_IMPUTED_CELLS:,} combinations to be "
            f"filled; they have {cells:,}. `synthesize` draws records of more columns."
        )
    taken, left = list(given), []
    labels = dict(zip(found.columns, map(len, found.levels), strict=True))
    while taken and cells * len(reordered(found, taken).cells) > MOST_IMPUTED_CELLS:
        left.append(max(taken, key=labels.__getitem__))
        taken.remove(left[-1])
    return taken, left


def released_patterns(
    found: Crosstab, plan: Plan, given: Sequence[str], *, records: Records
) -> ReleasedPatterns:
    found = reordered(found, [*given, *plan.columns])
    assert found.cell_of is not None
    groups, group_of = untouched_groups(found, len(given))
    channel = plan.channel()
    labels = {name: own.values for name, own in channel.labels.items()}
    return ReleasedPatterns(
        labels,
        dict(zip(given, found.levels, strict=False)),
        groups,
        group_of,
        found.counts,
        np.argsort(found.cell_of, kind="stable"),
        possible_cells(plan, labels),
        factors_of(found, channel),
        records,
        plan,
    )


def factors_of(found: Crosstab, channel: Channel) -> Factors:
    """Return the matrices of all blocks; refuse records that show what no category leads to."""
    blocks, seen = channel.blocks_seen, dict(zip(found.columns, found.cells.T, strict=True))
    areas = [math.prod(block.mechanism.shape) for block in blocks]
    if sum(areas) > MOST_CELLS:
        raise InvalidInput(
            f"The matrices of a plan must have at most {MOST_CELLS:,} entries together for "
            f"imputation; these have {sum(areas):,}."
        )
    branch_of = branches_of(found, channel, needed=channel.columns)
    shown = np.full((len(found.cells), max(len(v.seen) for v in channel.views)), -1, dtype=np.int64)
    outputs = np.zeros_like(shown)
    for view in channel.views:
        rows = np.flatnonzero(branch_of == view.number)
        for place, block in enumerate(view.seen):
            shown[rows, place] = blocks.index(block)
            own = {name: seen[name][rows] for name in block.columns}
            outputs[rows, place] = block.output_place(own)
    matrices = [block.mechanism.operator.dense().T for block in blocks]
    for f, matrix in enumerate(matrices):
        if not matrix[np.unique(outputs[shown == f])].any(axis=1).all():
            raise InvalidData("The data holds released values that the plan never releases.")
    return Factors(
        np.concatenate([matrix.ravel() for matrix in matrices]),
        np.cumsum([0, *areas[:-1]]).astype(np.int64),
        np.array([block.mechanism.shape[0] for block in blocks], dtype=np.int64),
        np.stack([block.place(channel.cells).astype(np.int32) for block in blocks]),
        tuple(tuple(map(channel.columns.index, block.columns)) for block in blocks),
        shown,
        outputs,
    )


# Patterns times combinations up to which all columns are drawn together.
MOST_TOGETHER = 2_000_000

# Combinations of the columns of a unit otherwise.
MOST_UNIT = 32


@frozen(eq=False)
class Units:
    """Sets of columns, by place, that are drawn together; see the kernel for the arrays."""

    moves: Integers
    ends: Integers
    strides: Integers
    widths: Integers
    columns: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.ends) - 1

    def touched(self, factors: Factors) -> NDArray[np.bool_]:
        found = np.zeros((len(self), len(factors.columns)), dtype=np.bool_)
        for u, own in enumerate(self.columns):
            found[u] = [bool(set(own) & set(columns)) for columns in factors.columns]
        return found


def units_of(release: ReleasedPatterns) -> Units:
    shape, names = release.shape, list(release.labels)
    units = [list(range(len(shape)))]
    if len(release.counts) * math.prod(shape) > MOST_TOGETHER:
        tied = [[names.index(name) for name in table] for table, _ in release.possible.tables]
        units = gathered_columns(shape, tied)
    return laid_out(units, shape)


def laid_out(units: Sequence[Sequence[int]], shape: Sequence[int]) -> Units:
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    moves = []
    steps, widths = np.zeros((2, len(units), max(map(len, units))), dtype=np.int64)
    for u, own in enumerate(units):
        steps[u, : len(own)] = [strides[axis] for axis in own]
        widths[u, : len(own)] = [shape[axis] for axis in own]
        cells = np.indices([shape[axis] for axis in own]).reshape(len(own), -1)
        moves.append(steps[u, : len(own)] @ cells)
    ends = np.cumsum([0, *map(len, moves)]).astype(np.int64)
    return Units(np.concatenate(moves), ends, steps, widths, tuple(map(tuple, units)))


def gathered_columns(shape: Sequence[int], tied: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return sets of columns with few combinations each; tied ones stay together where they can.

    A column that only moves together with another, since other cells cannot occur, would be stuck.

    >>> gathered_columns((4, 4, 5, 2), [(0, 2)])
    [[0, 2], [1, 3]]
    """
    found: list[list[int]] = []
    for columns in [*tied, *([axis] for axis in range(len(shape)))]:
        fresh = [axis for axis in columns if not any(axis in own for own in found)]
        room = [
            own for own in found if math.prod(shape[axis] for axis in [*own, *fresh]) <= MOST_UNIT
        ]
        if fresh and room and len(columns) == 1:
            room[0].extend(fresh)
        elif fresh:
            found.append(fresh)
    return found


WIDE = f"has more than {MOST_SYNTHETIC_VALUES:,} values, too many for categories"


# Values of a column of numbers up to which each is a category of its own.
FEW = 10

# Categories of a column up to which it is taken without being named.
MOST_GIVEN = 50

# Classes that a column of more numbers goes into, equally many records in each.
CLASSES = 8


def chosen_columns(
    records: Records, plan: Plan, named: Sequence[str] | None, needed: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the columns that take part, and notes on those left out.

    They are the named ones; else those of the plan, and all others with few values. ``needed``
    columns must be among them.
    """
    if named is not None:
        wanted = list(dict.fromkeys([*named, *needed]))
    else:
        wanted = list(dict.fromkeys([*plan.columns, *records.names]))
    records.refuse_missing([*wanted, *needed])
    untouched = [name for name in wanted if name not in plan.columns]
    values = distinct_values(records, untouched, most=MOST_SYNTHETIC_VALUES)
    wide = [name for name, own in values.items() if own is None]
    for name in wide:
        if named is not None or name in needed:
            raise InvalidInput(f"Column {name!r} {WIDE}. Band or merge them, or leave it out.")
    order = [name for name in records.names if name in wanted and name not in wide]
    if not order:
        raise InvalidInput("Synthetic records need a column with categories; there is none.")
    return order, [f"Column {name!r} is left out: it {WIDE}." for name in wide]


def distinct_values(
    records: Records, names: Sequence[str], *, most: int
) -> dict[str, set[Any] | None]:
    """Return the keys of the values of each column; None of more than ``most``, or of lists."""
    found: dict[str, set[Any] | None] = {name: set() for name in names}
    for batch in records.batches(list(names)) if names else ():
        for name, known in found.items():
            if known is None:
                continue
            values = batch[name]
            if isinstance(values, pa.Array | pa.ChunkedArray):
                values = None if pa.types.is_nested(values.type) else pc.unique(values)
                values = None if values is None or len(values) > 2 * most else values.to_pylist()
            if values is not None:
                known.update(map(object_key, values))
            if values is None or len(known) > most:
                found[name] = None
    return found


def gathered_records(records: Records, columns: Sequence[str]) -> Records:
    """Return records read once and with their labels, their columns of the types they have."""
    plainly = replace(records.reading, recode={})
    if isinstance(records, MixedRecords):
        (batch,) = records.batches(columns)
        return MixedRecords(dict(batch), plainly, records.backend, records.name)
    batches = list(records.batches(columns))
    schema = None if batches else pa.schema([records.schema.field(name) for name in columns])
    table = pa.Table.from_batches(batches, schema=schema)
    return TableRecords(table, records.backend, plainly, records.name, records.typed)


def coded(table: Any) -> Any:
    """Return a table whose texts are dictionaries, which are counted faster."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            table = table.set_column(place, field.name, table[field.name].dictionary_encode())
    return table


@frozen(eq=False)
class Given:
    """The untouched columns that are taken, those left out, and records to count."""

    columns: tuple[str, ...]
    classes: tuple[str, ...]  # Those of numbers, which enter through classes
    records: Records  # With classes in place of numbers
    notes: tuple[str, ...]


def given_columns(records: Records, plan: Plan, using: Sequence[str] | None) -> Given:
    records.refuse_missing([*plan.columns, *(using or ())])
    randomised = [name for name in using or () if name in plan.columns]
    if randomised:
        raise InvalidInput(
            f"using= names untouched columns; {randomised[0]!r} is randomised, and in the model "
            "anyway."
        )
    wanted = [n for n in records.names if n not in plan.columns and (using is None or n in using)]
    most = MOST_GIVEN if using is None else MOST_SYNTHETIC_VALUES
    taken, notes, classes = [], [], {}
    for name, values in distinct_values(records, wanted, most=most).items():
        found = None
        if values is None or len(values) > FEW:
            found = classes_of(records, name)
        if found is not None:
            classes[name] = found
        elif values is None and using is None:
            notes.append(
                f"Column {name!r} is left out of the model: it has more than {most} values. What "
                "is drawn is unrelated to it beyond the other columns."
            )
            continue
        elif values is None:
            raise InvalidInput(f"Column {name!r} {WIDE}. Band or merge them, or leave it out.")
        if found is not None or len(values or ()) > 1:
            taken.append(name)
    columns = [*taken, *plan.columns]
    if isinstance(records, MixedRecords):
        counted: Records = replace(records, columns={n: records.columns[n] for n in columns})
    else:
        assert isinstance(records, TableRecords), "records were gathered"
        table = coded(records.table.select(columns))
        for name, codes in classes.items():
            table = table.set_column(table.schema.get_field_index(name), name, codes)
        counted = replace(records, table=table)
    return Given(tuple(taken), tuple(classes), counted, tuple(notes))


def classes_of(records: Records, name: str) -> Any:
    if isinstance(records, MixedRecords):
        return None
    column = records.table[name].combine_chunks()  # type: ignore[attr-defined]
    if pa.types.is_boolean(column.type) or (records.typed and is_text(column)):
        return None
    try:
        found = numbers(without_dictionary(column), column=name).cast(pa.float64())
    except (InvalidData, pa.ArrowException):
        return None
    filled = found.is_valid().to_numpy(zero_copy_only=False)
    values = found.to_numpy(zero_copy_only=False)
    shares = np.arange(1, CLASSES) / CLASSES
    edges = np.unique(np.quantile(values[filled], shares, method="inverted_cdf"))
    codes = np.searchsorted(edges, values, side="left")
    return pa.array(codes, mask=~filled)
