"""What Python does for a release on Spark: it draws codes, and sees no column that is left alone.

A column of few texts comes to Python as codes that Spark finds itself, goes back as codes, and
becomes texts again where the rows have found their partition. Any other randomised column comes
and goes as its values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.encode import UNDECLARED
from pramble.data.replaced import labels_like
from pramble.data.rows import Rows
from pramble.data.spark_chunks import moved
from pramble.data.spark_workers import current_partition, quoted
from pramble.data.strays import SHOWN, Strays
from pramble.engine.columns import Column
from pramble.engine.containers import codes_in
from pramble.engine.frames import column_rows
from pramble.engine.record import Record
from pramble.engine.spark_spans import Span
from pramble.values import value

MOST_CODED = 32
"""Columns of more texts come to Python as they are: Spark compares a text with one at a time."""


@value(eq=False)
class Draws:
    """Draws the columns of a plan, batch by batch: a function of columns for Spark.

    Attributes
    ----------
    record : Record
        What draws.
    coded : collection of str
        Columns that come and go as codes.
    number : str
        The column of row numbers, as a message names it.
    spans : mapping from partition to Span, optional
        The rows that were counted, where rows are numbered as they stand.
    """

    record: Record
    coded: frozenset[str]
    number: str
    spans: Mapping[int, Span] | None = None

    def __call__(self, batches: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """Yield the drawn columns of batches of row numbers and columns, side by side."""
        if self.spans is None:
            yield from (self.drawn(column_rows(own, self.number), rest) for own, *rest in batches)
            return
        partition = current_partition()
        first, expected = self.spans.get(partition, Span(0, 0))
        met = 0
        for own, *rest in batches:
            start, met = met, met + len(own)
            if met > expected:
                break
            yield self.drawn(range(first + start, first + met), rest)
        if met != expected:
            raise moved(partition, expected, met)

    def drawn(self, rows: Rows, values: Sequence[Any]) -> Any:
        """Return the drawn columns of one batch."""
        given = dict(zip(self.record.columns, values, strict=True))
        codes = {
            name: checked_codes(given[name], own)
            if name in self.coded
            else codes_in(given[name], own, rows)
            for name, own in self.record.columns.items()
        }
        drawn = self.record.draw(codes, rows)
        arrays = [
            pa.array(drawn[name].astype(np.int16))
            if name in self.coded
            else labels_like(drawn[name], own.outputs, like=given[name])
            for name, own in self.record.columns.items()
        ]
        return pa.StructArray.from_arrays(arrays, names=list(map(str, range(len(arrays)))))


def checked_codes(found: Any, column: Column) -> Any:
    """Return codes that Spark found; refuse those of values that were not declared."""
    codes = found.to_numpy()
    strange = int((codes == UNDECLARED).sum())
    if strange:
        raise Strays(column.name, [], [], strange, column.labels.values[: SHOWN + 1]).error()
    return codes.astype(column.dtype)


def is_coded(field: Any, column: Column) -> bool:
    """Whether Spark itself turns a column into codes and back: text, of few declared texts."""
    return (
        field.dataType.typeName() == "string"
        and len(column.labels) <= MOST_CODED >= len(column.outputs)
        and all(one is None or isinstance(one, str) for one in column.labels.values)
        and all(one is None or isinstance(one, str) for one in column.outputs)
    )


def codes_in_spark(F: Any, column: Column) -> Any:
    """Return Spark's expression for the codes of a column of texts."""
    values = F.col(quoted(column.name))
    code = F.when(values.isNull(), F.lit(column.encoder.null_code))
    for label, place in column.encoder.by_type[str].items():
        code = code.when(values == F.lit(label), F.lit(place))
    return code.otherwise(F.lit(UNDECLARED)).cast("short")


def texts_in_spark(F: Any, column: Column) -> Any:
    """Return Spark's expression for the texts of drawn codes, which stand under the same name."""
    labels = F.array(*[F.lit(label).cast("string") for label in column.outputs])
    return F.get(labels, F.col(quoted(column.name)).cast("int"))


def never_null(F: Any, values: Any, column: Column) -> Any:
    """Return an expression that Spark knows to have a value in every row, where it has one."""
    if any(one is None for one in column.outputs):
        return values
    return F.coalesce(values, F.lit(column.outputs[0]))
