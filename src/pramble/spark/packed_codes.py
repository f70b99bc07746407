"""Codes of several columns in one integer, so that a row of a Spark frame has few fields.

Each field of a row costs as much as a value of eight bytes, in Arrow and in a shuffle. Columns of
few texts therefore go to Python and back as bits of words, long integers of 63 bits that Spark
packs and unpacks itself. Where rows are numbered as they stand, the number is in the upper bits of
the first word: to sort by that word is to sort by the number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.arrays import Rows
from pramble.data.decode import labels_like
from pramble.data.encode import SHOWN, UNDECLARED, Codes, Undeclared
from pramble.engine.columns import Column, codes_in
from pramble.engine.frames import column_rows
from pramble.engine.record import Record
from pramble.spark.records import moved
from pramble.spark.workers import current_partition, quoted
from pramble.values import Integers, value

MOST_CODED = 32
"""Columns of more texts come to Python as they are: Spark compares a text with one at a time."""

WORD_BITS = 63
"""The bits of a long integer that is not negative."""


@value
class Word:
    """The columns in a word, each with the bit at which it begins, and how many bits they take."""

    shifts: Mapping[str, int]
    bits: int


def is_coded(field: Any, column: Column) -> bool:
    """Whether Spark itself turns a column into codes and back: text, of few declared texts."""
    return (
        field.dataType.typeName() == "string"
        and len(column.labels) <= MOST_CODED >= len(column.outputs)
        and all(one is None or isinstance(one, str) for one in column.labels.values)
        and all(one is None or isinstance(one, str) for one in column.outputs)
    )


def code_bits(column: Column) -> int:
    """Return how many bits a code takes; one past the labels is that of an undeclared value."""
    return max(len(column.labels), len(column.outputs) - 1).bit_length()


def words_of(columns: Sequence[Column], *, number_bits: int) -> tuple[Word, ...]:
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


def word_in_spark(F: Any, word: Word, columns: Mapping[str, Column], number: Any) -> Any:
    """Return Spark's expression for a word, with a number in its upper bits where one is given."""
    found = None if number is None else F.shiftleft(number, word.bits)
    for name, shift in word.shifts.items():
        codes = codes_in_spark(F, columns[name], shift)
        found = codes if found is None else found.bitwiseOR(codes)
    return found


def codes_in_spark(F: Any, column: Column, shift: int) -> Any:
    """Return Spark's expression for the codes of a column of texts, at their bits in a word."""
    strange, missing = len(column.labels), column.encoder.null_code

    def at(code: int) -> Any:
        return F.lit(code << shift).cast("long")

    values = F.col(quoted(column.name))
    code = F.when(values.isNull(), at(strange if missing == UNDECLARED else missing))
    for label, place in column.encoder.by_type[str].items():
        code = code.when(values == F.lit(label), at(place))
    return code.otherwise(at(strange))


def texts_in_spark(F: Any, word: Any, shift: int, column: Column) -> Any:
    """Return Spark's expression for the texts of drawn codes in a word."""
    labels = F.array(*[F.lit(label).cast("string") for label in column.outputs])
    code = F.shiftright(word, shift).bitwiseAND(F.lit((1 << code_bits(column)) - 1))
    return F.get(labels, code.cast("int"))


def codes_of(found: Integers, shift: int, column: Column) -> Codes:
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
        codes = {name: codes_in(own, columns[name], rows) for name, own in given.items()}
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
