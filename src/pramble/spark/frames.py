"""Spark frames: each partition is a stream of Arrow batches that knows its row numbers.

With ``row_number=`` a column numbers the rows, and the outcome does not depend on how they are
partitioned. Without it, rows are numbered as they stand: partition after partition, and within a
partition as Spark reads it, which is the order of the file on one machine. For that, the rows of
each partition are counted once when ``perturb`` is called, by Spark itself in one pass over the
randomised columns, and each task checks that it met as many rows as were counted.

How Spark splits a source may follow from its bytes, and so from true values: a longer label moves
the end of a block. Released rows therefore go into partitions that follow from their numbers alone,
in the order of the numbers. Only randomised columns pass through Python, before rows go there, so
that no true value is in a shuffle.

Each field of a row costs as much as a value of eight bytes, in Arrow and in a shuffle. Columns of
few texts therefore go to Python and back as bits of words, long integers of 63 bits that Spark
packs and unpacks itself. Where rows are numbered as they stand, the number is in the upper bits of
the first word: to sort by that word is to sort by the number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.arrays import Rows
from pramble.data.decode import labels_like
from pramble.data.encode import SHOWN, UNDECLARED, Codes, Undeclared
from pramble.data.formats.base import BATCH_ROWS
from pramble.engine.block import PlanColumn, encode_container
from pramble.engine.perturb import check_names, column_rows, perturbed_schema
from pramble.engine.record import Record
from pramble.spark.records import moved, spans_of
from pramble.spark.workers import (
    Batches,
    current_partition,
    functions_for,
    line,
    map_columns,
    map_partitions,
    quoted,
)
from pramble.values import Integers, value

# Columns of more texts come to Python as they are: Spark compares a text with one at a time.
MOST_CODED = 32

# The bits of a long integer that is not negative.
WORD_BITS = 63


@value
class Word:
    """The columns in a word, each with the bit at which it begins, and how many bits they take."""

    shifts: Mapping[str, int]
    bits: int


def is_coded(field: Any, column: PlanColumn) -> bool:
    """Whether Spark itself turns a column into codes and back: text, of few declared texts."""
    return (
        field.dataType.typeName() == "string"
        and len(column.labels) <= MOST_CODED >= len(column.outputs)
        and all(one is None or isinstance(one, str) for one in column.labels.values)
        and all(one is None or isinstance(one, str) for one in column.outputs)
    )


def code_bits(column: PlanColumn) -> int:
    """Return how many bits a code takes; one past the labels is that of an undeclared value."""
    return max(len(column.labels), len(column.outputs) - 1).bit_length()


def words_of(columns: Sequence[PlanColumn], *, number_bits: int) -> tuple[Word, ...]:
    """Return the words of coded columns; a number has the upper bits of the first, if any."""
    words: list[dict[str, int]] = [{}] if number_bits else []
    used, room = [0] * len(words), WORD_BITS - number_bits
    for column in columns:
        bits = code_bits(column)
        if not words or used[-1] + bits > room:
            words.append({})
            used.append(0)
            room = WORD_BITS
        words[-1][column.name] = used[-1]
        used[-1] += bits
    return tuple(Word(shifts, bits) for shifts, bits in zip(words, used, strict=True))


def word_in_spark(F: Any, word: Word, columns: Mapping[str, PlanColumn], number: Any) -> Any:
    """Return Spark's expression for a word, with a number in its upper bits where one is given."""
    found = None if number is None else F.shiftleft(number, word.bits)
    for name, shift in word.shifts.items():
        codes = codes_in_spark(F, columns[name], shift)
        found = codes if found is None else found.bitwiseOR(codes)
    return found


def codes_in_spark(F: Any, column: PlanColumn, shift: int) -> Any:
    """Return Spark's expression for the codes of a column of texts, at their bits in a word."""
    strange, missing = len(column.labels), column.encoder.null_code

    def at(code: int) -> Any:
        return F.lit(code << shift).cast("long")

    values = F.col(quoted(column.name))
    code = F.when(values.isNull(), at(strange if missing == UNDECLARED else missing))
    for label, place in column.encoder.by_type[str].items():
        code = code.when(values == F.lit(label), at(place))
    return code.otherwise(at(strange))


def texts_in_spark(F: Any, word: Any, shift: int, column: PlanColumn) -> Any:
    """Return Spark's expression for the texts of drawn codes in a word."""
    labels = F.array(*[F.lit(label).cast("string") for label in column.outputs])
    code = F.shiftright(word, shift).bitwiseAND(F.lit((1 << code_bits(column)) - 1))
    return F.get(labels, code.cast("int"))


def codes_of(found: Integers, shift: int, column: PlanColumn) -> Codes:
    """Return the codes of a column in words; refuse those of values that were not declared."""
    codes = (found >> shift) & ((1 << code_bits(column)) - 1)
    strange = int((codes == len(column.labels)).sum())
    if strange:
        raise Undeclared(column.name, [], [], strange, column.labels.values[: SHOWN + 1]).error()
    return codes.astype(column.dtype)


def with_codes(found: Integers, word: Word, drawn: Mapping[str, Codes]) -> Integers:
    """Return words with drawn codes in place of the true ones, and their numbers as they were."""
    made = (found >> word.bits) << word.bits
    for name, shift in word.shifts.items():
        made |= drawn[name].astype(np.int64) << shift
    return made


@value(eq=False)
class Draws:
    """Draws the columns of a plan, batch by batch: a function of columns for Spark.

    It gets the row numbers where a column has them, the words, and the other columns of the plan;
    it yields words and other columns, side by side unless there is one alone.
    """

    record: Record  # what draws
    words: tuple[Word, ...]  # where the columns lie that come and go as codes
    number: str | None = None  # the column of row numbers
    # the rows that were counted, where rows are numbered as they stand
    spans: Mapping[int, range] | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield what is drawn of each batch, a tuple of columns or one column alone."""
        given = (batch if isinstance(batch, tuple) else (batch,) for batch in batches)
        if self.number is not None:
            for own, *rest in given:
                yield self.drawn(column_rows(own, self.number), rest)
            return
        assert self.spans is not None, "rows are numbered as they were counted"
        partition = current_partition()
        span = self.spans.get(partition, range(0))
        first, expected = span.start, len(span)
        met = 0
        for columns in given:
            start, met = met, met + len(columns[0])
            if met > expected:
                break
            yield self.drawn(range(first + start, first + met), columns)
        if met != expected:
            raise moved(partition, expected, met)

    @property
    def others(self) -> list[str]:
        """The columns that come and go as their values."""
        return [n for n in self.record.columns if not any(n in word.shifts for word in self.words)]

    def drawn(self, rows: Rows, values: Sequence[Any]) -> Any:
        columns, count = self.record.columns, len(self.words)
        found = [one.to_numpy() for one in values[:count]]
        given = dict(zip(self.others, values[count:], strict=True))
        codes = {name: encode_container(own, columns[name], rows) for name, own in given.items()}
        for word, own in zip(self.words, found, strict=True):
            for name, shift in word.shifts.items():
                codes[name] = codes_of(own, shift, columns[name])
        drawn = self.record.draw(codes, rows)
        made = [
            pa.array(with_codes(own, word, drawn))
            for word, own in zip(self.words, found, strict=True)
        ]
        made += [
            labels_like(drawn[name], columns[name].outputs, like=own) for name, own in given.items()
        ]
        if len(made) == 1:
            return made[0]
        return pa.StructArray.from_arrays(made, names=list(map(str, range(len(made)))))


# A released partition has at most so many rows, and about so many cells.
MOST_ROWS = 1 << 20
MOST_CELLS = 1 << 22

# The bits of Spark's increasing numbers that count within a partition.
IN_PARTITION = (1 << 33) - 1


def perturb_spark(frame: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a Spark frame whose every evaluation gives the same release."""
    check_names(frame.columns, record.columns, row_number)
    record = replace(record, threads=1)  # Spark itself fills the processors
    spans = partition_spans(frame, record.columns, first_row=first_row)
    way = way_of(frame, record, spans, row_number=row_number, first_row=first_row)
    return way.texts(way.moved(way.drawn(way.packed(frame))))


@value(eq=False)
class Way:
    """The steps that the rows of a frame go, each a frame of the one before."""

    schema: Any  # the schema of the frame, and of what becomes of it
    outcome: Any
    task: Draws  # what draws, and in which words
    names: tuple[str, ...]  # the columns of the words
    first_row: int  # the number of the first row, and how many there are
    rows: int

    def packed(self, frame: Any) -> Any:
        """Return a frame with codes in words in place of columns of few texts."""
        F = functions_for(frame.sparkSession)
        columns, spans = self.task.record.columns, self.task.spans
        numbers = [None] * len(self.names)
        if spans is not None:
            numbers[0] = F.expr(numbers_of(spans, self.first_row))
        words = [
            word_in_spark(F, word, columns, number).alias(name)
            for word, number, name in zip(self.task.words, numbers, self.names, strict=True)
        ]
        coded = {name for word in self.task.words for name in word.shifts}
        kept = [F.col(quoted(name)) for name in frame.columns if name not in coded]
        return frame.select(*kept, *words)

    def drawn(self, frame: Any) -> Any:
        """Return a packed frame with the columns of the plan randomised."""
        F = functions_for(frame.sparkSession)
        names = [*self.names, *self.task.others]
        kinds = ["long" for _ in self.names]
        kinds += [self.outcome[name].dataType.simpleString() for name in self.task.others]
        fields = ", ".join(f"`{i}`: {kind}" for i, kind in enumerate(kinds))
        asked = [] if self.task.number is None else [self.task.number]
        draw = map_columns(frame, self.task, kinds[0] if len(kinds) == 1 else f"struct<{fields}>")
        made = draw(*[F.col(quoted(name)) for name in [*asked, *names]])
        if len(names) == 1:
            return frame.withColumn(names[0], made)
        both = next(unused_names(frame.columns))
        found = {name: F.col(quoted(both)).getField(str(i)) for i, name in enumerate(names)}
        return frame.withColumn(both, made).withColumns(found).drop(both)

    def moved(self, frame: Any) -> Any:
        """Return a frame in partitions of one size, in order, that follow from row numbers alone.

        Numbers that are spread widely share partitions: block :math:`b` goes to :math:`b` modulo
        their number.
        """
        F = functions_for(frame.sparkSession)
        size = partition_rows(len(self.schema))
        parts = max(-(-self.rows // size), 1)
        order, shift = self.task.number, 0
        if order is None:
            order, shift = self.names[0], self.task.words[0].bits
        block = f"shiftright(cast({quoted(order)} as long), {shift}) div {size}"
        place = F.expr(f"cast(pmod({block}, {parts}) as int)")
        return frame.repartitionById(parts, place).sortWithinPartitions(quoted(order))

    def texts(self, frame: Any) -> Any:
        """Return a frame with drawn codes as texts again, and nulls where the outcome has some."""
        F = functions_for(frame.sparkSession)
        columns = self.task.record.columns
        found = {name: F.col(quoted(name)) for name in self.task.others}
        for word, name in zip(self.task.words, self.names, strict=True):
            for own, shift in word.shifts.items():
                found[own] = texts_in_spark(F, F.col(quoted(name)), shift, columns[own])
        for name, values in found.items():
            if not self.outcome[name].nullable:
                found[name] = never_null(F, values, columns[name])
        return frame.select(
            *[found.get(name, F.col(quoted(name))).alias(name) for name in self.schema.names]
        )


def way_of(
    frame: Any,
    record: Record,
    spans: Mapping[int, range],
    *,
    row_number: str | None,
    first_row: int,
) -> Way:
    rows = sum(map(len, spans.values()))
    coded = [own for name, own in record.columns.items() if is_coded(frame.schema[name], own)]
    bits = max(rows.bit_length(), 1) if row_number is None else 0
    words = words_of(coded, number_bits=bits)
    task = Draws(record, words, row_number, spans if row_number is None else None)
    names = tuple(islice(unused_names(frame.columns), len(words)))
    outcome = outcome_schema(frame.schema, record)
    return Way(frame.schema, outcome, task, names, first_row, rows)


def numbers_of(spans: Mapping[int, range], first_row: int) -> str:
    """Return Spark's expression for the places of rows as they stand, from 0.

    Spark knows that it is not to be repeated, so that whatever is done to the outcome later, rows
    are numbered first. A partition that had no rows when they were counted has none to number.
    """
    firsts = ", ".join(
        f"{spans[part].start - first_row}L" if part in spans else "0L"
        for part in range(max(spans, default=0) + 1)
    )
    return (
        f"coalesce(get(array({firsts}), spark_partition_id()), 0L)"
        f" + (monotonically_increasing_id() & {IN_PARTITION}L)"
    )


def never_null(F: Any, values: Any, column: PlanColumn) -> Any:
    """Return an expression that Spark knows to have a value in every row, where it has one."""
    if any(one is None for one in column.outputs):
        return values
    return F.coalesce(values, F.lit(column.outputs[0]))


def unused_names(names: Iterable[str]) -> Iterator[str]:
    taken = {name.lower() for name in names}
    yield from (name for i in count() if (name := f"part {i}") not in taken)


def partition_rows(columns: int) -> int:
    """Return how many rows a released partition has, by the number of its columns.

    >>> partition_rows(3), partition_rows(10), partition_rows(100)
    (1048576, 393216, 131072)
    """
    pieces = min(MOST_ROWS, MOST_CELLS // columns) // BATCH_ROWS
    return max(pieces, 1) * BATCH_ROWS


def outcome_schema(schema: Any, record: Record) -> Any:
    """Return the Spark schema of the outcome; columns left alone keep their type."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
    from pyspark.sql.types import StructType

    randomised = StructType([field for field in schema if field.name in record.columns])
    drawn = from_arrow_schema(perturbed_schema(to_arrow_schema(randomised), record))
    changed = {field.name: field for field in drawn}
    return StructType([changed.get(field.name, field) for field in schema])


# Columns of more labels are checked when they are drawn.
MOST_LABELS = 1_000

WHOLE = ("byte", "short", "integer", "long")


def partition_spans(
    frame: Any, columns: Mapping[str, PlanColumn], *, first_row: int
) -> dict[int, range]:
    """Return the rows of each partition that has any; refuse values that were not declared."""
    F = functions_for(frame.sparkSession)
    strange = {name: undeclared(F, frame.schema[name], own) for name, own in columns.items()}
    asked = {name: found for name, found in strange.items() if found is not None}
    shown = [F.sum(found.cast("long")).alias(str(i)) for i, found in enumerate(asked.values())]
    counted = frame.groupBy(F.spark_partition_id().alias("partition"))
    lines = counted.agg(F.count(F.lit(1)).alias("rows"), *shown).toArrow().to_pylist()
    for i, name in enumerate(asked):
        many = sum(one[str(i)] for one in lines)
        if many:
            labels = columns[name].encoder.labels.values
            raise Undeclared(name, [], [], many, labels[: SHOWN + 1]).error()
    if [one["partition"] for one in lines] == [0]:  # Spark plans values at hand as one partition
        lines = told_by_tasks(frame, next(iter(columns)))
    return spans_of(sorted(lines, key=itemgetter("partition")), first_row=first_row)


def undeclared(F: Any, field: Any, column: PlanColumn) -> Any:
    """Return Spark's expression for values that were not declared; None where it has none."""
    kind = field.dataType.typeName()
    by_type = column.encoder.by_type
    labels = [*(by_type[str] if kind == "string" else by_type[int] if kind in WHOLE else ())]
    if kind in WHOLE:
        labels = [label for label in labels if abs(label) < 2**63]
    if not 0 < len(labels) <= MOST_LABELS:
        return None
    values = F.col(quoted(field.name))
    missing = column.encoder.null_code == UNDECLARED
    return F.coalesce(~values.isin(labels), F.lit(missing))


def told_by_tasks(frame: Any, narrow: str) -> list[dict[str, int]]:
    """Return the rows of each partition as tasks meet them."""
    counted = map_partitions(
        frame.selectExpr(f"{quoted(narrow)} as narrow"), count_partition, "partition int, rows long"
    )
    lines: list[dict[str, int]] = counted.toArrow().to_pylist()
    return lines


def count_partition(batches: Batches) -> Iterator[Any]:
    """Yield one line: the partition's number and how many rows it has."""
    met = sum(batch.num_rows for batch in batches)
    yield line(partition=(current_partition(), pa.int32()), rows=(met, pa.int64()))
