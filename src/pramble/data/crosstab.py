"""Cross-tabulation: how many records have each combination of values, counted where they live."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data.arrays import finite_numbers
from pramble.data.encode import Encoder, Levels, Presence, UndeclaredValues
from pramble.data.labels import Label, Labels, label_key
from pramble.data.records import LazyRecords, Records, Watch, scan
from pramble.errors import InvalidData, InvalidInput, bad_row
from pramble.values import Floats, Integers, frozen

LARGEST_INDEX = 2**62
DENSE = 1 << 20

# The powers of the weight and of the measure whose product is summed.
Powers = tuple[int, int]


@frozen(eq=False)
class Crosstab:
    r"""Counts of records by the combination of their values in some columns."""

    columns: tuple[str, ...]
    # the labels of each column: as declared, else those that occur in natural order, missing last
    levels: tuple[tuple[Label, ...], ...]
    cells: Integers  # the codes of every combination that occurs, in lexicographic order
    counts: Integers  # records in each cell
    # :math:`\sum_i w_i^a y_i^b` over the records of each cell, for the powers asked for
    sums: Mapping[Powers, Floats] = field(default_factory=dict)
    cell_of: Integers | None = None  # the cell of each record, if asked for

    @property
    def n(self) -> int:
        return int(self.counts.sum())

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(map(len, self.levels))

    def array(self, values: Any = None, axes: Sequence[int] | None = None) -> Floats:
        """Return counts, or other values of the cells, as an array with one axis per column.

        With ``axes``, over these columns alone: a margin.
        """
        wanted = range(len(self.columns)) if axes is None else axes
        shape = tuple(self.shape[axis] for axis in wanted)
        weights = self.counts if values is None else values
        if not shape:
            return np.asarray(weights.sum(), dtype=np.float64)
        index = np.ravel_multi_index([self.cells[:, axis] for axis in wanted], shape)
        flat = np.bincount(index, weights=weights, minlength=math.prod(shape))
        return np.asarray(flat, dtype=np.float64).reshape(shape)

    def labels_of(self, cell: int) -> tuple[Label, ...]:
        codes = self.cells[cell]
        return tuple(labels[code] for labels, code in zip(self.levels, codes, strict=True))


def totals(member: Integers, values: Any, size: int) -> Floats:
    """Return the sum of values (1 each by default) in every group."""
    return np.asarray(np.bincount(member, values, size), dtype=np.float64)


def group(
    columns: Sequence[Integers], sizes: Sequence[int], *, rows: int
) -> tuple[Integers, Integers]:
    """Return the group of each row, numbered in lexicographic order, and a row of each group."""
    index, radix = np.zeros(rows, dtype=np.int64), 1
    for codes, size in zip(columns, sizes, strict=True):
        if radix * size > LARGEST_INDEX:
            distinct, index = np.unique(index, return_inverse=True)
            radix = len(distinct)
        index = index * size + codes
        radix *= size
    if radix > DENSE:
        _, first, member = np.unique(index, return_index=True, return_inverse=True)
        return member.astype(np.int64), first.astype(np.int64)
    where = np.full(radix, -1, dtype=np.int64)
    where[index[::-1]] = np.arange(rows - 1, -1, -1)
    used = np.flatnonzero(where >= 0)
    place = np.zeros(radix, dtype=np.int64)
    place[used] = np.arange(len(used))
    return place[index], where[used]


# Cells by their codes, and what is summed over their records: first how many there are.
CellSums = tuple[Integers, list[Floats]]


def joined_cells(parts: Sequence[CellSums]) -> CellSums:
    sums = zip(*(sums for _, sums in parts), strict=True)
    return np.concatenate([cells for cells, _ in parts]), [np.concatenate(each) for each in sums]


def regrouped(found: CellSums, sizes: Sequence[int]) -> tuple[CellSums, Integers]:
    """Return each cell once, in order, and where every given cell is among them."""
    cells, sums = found
    member, first = group(list(cells.T), sizes, rows=len(cells))
    return (cells[first], [totals(member, one, len(first)) for one in sums]), member


def merged_cells(parts: Sequence[CellSums]) -> CellSums:
    found = joined_cells(parts)
    return regrouped(found, (found[0].max(axis=0, initial=0) + 1).tolist())[0]


def reordered(table: Crosstab, columns: Sequence[str]) -> Crosstab:
    """Return the table with its columns in another order, or fewer of them."""
    axes = [table.columns.index(name) for name in columns]
    given = table.cells[:, axes], [table.counts.astype(np.float64), *table.sums.values()]
    (cells, (counts, *sums)), member = regrouped(given, [table.shape[axis] for axis in axes])
    return replace(
        table,
        columns=tuple(columns),
        levels=tuple(table.levels[axis] for axis in axes),
        cells=cells,
        counts=counts.astype(np.int64),
        sums=dict(zip(table.sums, sums, strict=True)),
        cell_of=None if table.cell_of is None else member[table.cell_of],
    )


def refuse_empty(table: Crosstab, name: str) -> None:
    if not table.n:
        raise InvalidData(f"{name} must have at least one row; it has none.")


def fill_missing(table: Crosstab, column: str, label: Label) -> Crosstab:
    """Return the table with the missing values of a column counted as a label."""
    axis = table.columns.index(column)
    labels = table.levels[axis]
    if None not in labels:
        return table
    gone = labels.index(None)
    known = [label_key(one) for one in labels]
    place = known.index(label_key(label)) if label_key(label) in known else gone
    cells = table.cells.copy()
    cells[cells[:, axis] == gone, axis] = place
    if place == gone:
        labels = (*labels[:gone], label, *labels[gone + 1 :])
    levels = (*table.levels[:axis], labels, *table.levels[axis + 1 :])
    return reordered(replace(table, cells=cells, levels=levels), table.columns)


# Cells of separate batches are merged when so many are held.
MERGED_AT = 1 << 20


def crosstab(
    records: Records,
    columns: Sequence[str],
    *,
    keep_rows: bool = False,
    presence: Sequence[str] = (),
    watch: Watch | None = None,
    **options: Any,
) -> Crosstab:
    """Count records by combinations of values, in one pass and the memory of what it returns.

    ``options`` are those of :class:`CrosstabJob`.
    """
    if keep_rows:
        numbers = [options.get("weights"), options.get("measure")]
        extra = [name for name in numbers if isinstance(name, str)]
        records = records.here([*columns, *presence, *extra])
    names = (*columns, *presence)
    job = CrosstabJob(records, names, keep_rows=keep_rows, presence=tuple(presence), **options)
    scan(records, [job], watch=watch)
    return job.result()


class CrosstabJob:
    """Counts batch by batch: a job for `pramble.data.records.scan`.

    Values of a column in ``labels`` must be among its declared categories; other columns have the
    values that occur. ``weights`` are a column or one number for each record, and none is below
    ``least_weight``; ``powers`` says which sums of powers of the weight and of ``measure``, a
    numeric column, to return; ``keep_rows`` asks for the cell of each record. Columns in
    ``presence`` come last, and count only as blank (code 0) or not.
    """

    def __init__(
        self,
        records: Records,
        names: tuple[str, ...],
        *,
        labels: Mapping[str, Labels] | None = None,
        weights: str | Floats | None = None,
        measure: str | None = None,
        least_weight: float = 0.0,
        powers: Sequence[Powers] = (),
        keep_rows: bool = False,
        presence: tuple[str, ...] = (),
    ) -> None:
        labels = labels or {}
        self.names, self.powers, self.presence = names, tuple(powers), presence
        self.decimal = records.reading.decimal
        extra = [name for name in (weights, measure) if isinstance(name, str)]
        self.columns = list(dict.fromkeys([*names, *extra]))
        records.refuse_missing(self.columns)
        self.measure, self.least_weight = measure, least_weight
        self.keep_rows = keep_rows
        given = weights is None or isinstance(weights, str)
        if records.rows_stay and not given:
            raise InvalidInput("Weights of a Spark frame must be one of its columns; name it.")
        self.weights = weights if given else finite_numbers(weights, "weights")
        self.encoders: dict[str, Encoder | Presence] = {
            name: Encoder(labels[name], name, from_text=not records.typed)
            for name in names
            if name in labels
        }
        self.encoders |= {name: Presence(from_text=not records.typed) for name in presence}
        self.levels = {
            name: Levels(name, typed=records.typed, known=records.declared(name))
            for name in names
            if name not in self.encoders
        }
        self.rows = 0
        self.parts: list[CellSums] = []
        self.members: list[Integers] = []
        self.undeclared = UndeclaredValues()

    def add(self, batch: Any) -> None:
        rows = range(self.rows, self.rows + batch.num_rows)
        codes = [self._codes(name, batch, rows) for name in self.names]
        sizes = [int(column.max(initial=0)) + 1 for column in codes]
        member, first = group(codes, sizes, rows=len(rows))
        # of no columns there is one cell, if there are rows
        cells = np.array([column[first] for column in codes], np.int64).reshape(-1, len(first)).T
        terms = [None, *self._terms(batch, rows)]  # first the number of records
        self.parts.append((cells, [totals(member, one, len(first)) for one in terms]))
        if self.keep_rows:
            self.members.append(member)
        elif sum(len(cells) for cells, _ in self.parts[1:]) > MERGED_AT:
            self.parts = [merged_cells(self.parts)]
        self.rows = rows.stop

    def _codes(self, name: str, batch: Any, rows: range) -> Integers:
        if name not in self.encoders:
            return np.asarray(self.levels[name].codes(batch[name]), dtype=np.int64)
        return self.undeclared.codes(self.encoders[name], batch[name], rows)

    def merge(self, later: "CrosstabJob") -> None:
        assert not self.keep_rows, "rows are not kept where they stay"
        place = {name: own.merge(later.levels[name]) for name, own in self.levels.items()}
        for given, sums in later.parts:
            cells = given.copy()
            for axis, name in enumerate(self.names):
                if name in place:
                    cells[:, axis] = place[name][given[:, axis]]
            self.parts.append((cells, sums))
        self.undeclared.merge(later.undeclared, self.rows)
        self.rows += later.rows

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: one part, in place of one for each batch."""
        if self.keep_rows or len(self.parts) < 2:
            return self.__dict__
        return {**self.__dict__, "parts": [merged_cells(self.parts)]}

    def _terms(self, batch: Any, rows: range) -> list[Floats]:
        if not self.powers:
            return []
        w, y = (self._numbers(what, batch, rows) for what in (self.weights, self.measure))
        light = np.flatnonzero(w < self.least_weight)
        if light.size:
            must = f"be at least {self.least_weight:g}" if self.least_weight else "not be negative"
            named = f"column {self.weights!r} holds" if isinstance(self.weights, str) else "one is"
            row = rows.start + int(light[0])
            raise bad_row(f"Weights must {must}; {named} less in row ", row, ".")
        return [w**a * y**b for a, b in self.powers]

    def _numbers(self, what: str | Floats | None, batch: Any, rows: range) -> Floats:
        if what is None:
            return np.ones(len(rows))
        if isinstance(what, str):
            return finite_numbers(batch[what], what, rows=rows, decimal=self.decimal)
        if len(what) < rows.stop:
            raise wrong_length(what)
        return what[rows.start : rows.stop]

    def result(self) -> Crosstab:
        if isinstance(self.weights, np.ndarray) and len(self.weights) != self.rows:
            raise wrong_length(self.weights)
        self.undeclared.refuse(self.names)
        none = np.zeros((0, len(self.names)), np.int64)
        empty = none, [np.zeros(0) for _ in range(1 + len(self.powers))]
        found = joined_cells([*self.parts, empty])
        levels: list[tuple[Label, ...]] = []
        for axis, name in enumerate(self.names):
            if name in self.encoders:
                levels.append(self.encoders[name].labels.as_tuple())
                continue
            labels, place = self.levels[name].ordered()
            levels.append(labels)
            found[0][:, axis] = place[found[0][:, axis]]
        (cells, (counts, *sums)), member = regrouped(found, [len(one) or 1 for one in levels])
        return Crosstab(
            self.names,
            tuple(levels),
            cells,
            counts.astype(np.int64),
            dict(zip(self.powers, sums, strict=True)),
            self._rows(member),
        )

    def _rows(self, member: Integers) -> Integers | None:
        if not self.keep_rows:
            return None
        starts = np.cumsum([0, *(len(cells) for cells, _ in self.parts)])
        parts = [member[start + own] for start, own in zip(starts, self.members, strict=False)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def grouped_batches(records: LazyRecords, columns: Sequence[str]) -> Iterator[tuple[Any, Integers]]:
    """Yield batches of the groups that the engine of a lazy frame counts, and their rows."""
    count = unused("count", columns)
    groups = records.frame.group_by(list(columns)).agg(nw.len().alias(count))
    for batch in records.collect(groups).to_batches():
        yield batch, np.asarray(batch[count].cast(pa.int64()).to_numpy(), dtype=np.int64)


def wrong_length(weights: Floats) -> InvalidData:
    return InvalidData(f"Weights must be one number per row; {len(weights):,} were given.")


def unused(name: str, names: Collection[str]) -> str:
    while name in names:
        name += "_"
    return name
