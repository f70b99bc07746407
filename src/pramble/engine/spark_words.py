"""Codes of several columns in one integer, so that a row of a Spark frame has few fields.

Each field of a row costs as much as a value of eight bytes, in Arrow and in a shuffle. Columns of
few texts therefore go to Python and back as bits of words, long integers of 63 bits that Spark
packs and unpacks itself. Where rows are numbered as they stand, the number is in the upper bits of
the first word: to sort by that word is to sort by the number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.encode import SHOWN, UNDECLARED, Codes, Undeclared
from pramble.data.spark_workers import quoted
from pramble.engine.columns import Column
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
