"""What is written of records: batches that follow from the released values and the plan alone.

A released column has the type of its labels, an untouched one that of its values; texts are held in
dictionaries that list the labels of the plan, or the values that occur, sorted. Neither the widths,
dictionaries, orders of first appearance nor blocks of the source leave a trace.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pramble.data.arrays import even_batches, is_text, sorted_dictionary
from pramble.data.encode import Codes
from pramble.data.formats.base import BATCH_ROWS, titled, titles_in
from pramble.data.records import Records, Watch
from pramble.engine.block import ColumnBlock
from pramble.engine.record import BoundPlan
from pramble.engine.sampling import Each


class DrawObserver:
    """What is shown every block of every column, to compare them; this one looks at nothing."""

    def keep(self, name: str, values: Any) -> None:
        """Take a block of an untouched column."""

    def draw(self, name: str, x: Codes, z: Codes) -> None:
        """Take the true and the released codes of a block of a randomised column."""

    def draw_cells(self, block: ColumnBlock, x: Codes, z: Codes) -> None:
        """Take the codes of a block's cells and of its outputs in some rows."""


class Canonical:
    """What makes canonical batches of batches: a record bound to its bits, and the columns' types.

    It holds no records and can be pickled: whoever has it and some batches of the source, with the
    number of their first row, gets the batches that anybody else gets.
    """

    def __init__(
        self, source_schema: Any, record: BoundPlan, *, names: Sequence[str] | None = None
    ) -> None:
        self.source_schema, self.record, self.columns = source_schema, record, record.columns
        self.names = list(source_schema.names if names is None else names)
        found = {field.name: field.type for field in source_schema}
        others = [name for name in self.names if name not in self.columns]
        # untouched columns of text that come as dictionaries
        self.coded = [name for name in others if is_coded_text(found[name])]
        kinds = {name: plain_type(found[name]) for name in others}
        kinds |= {name: column.arrow_outputs.type for name, column in self.columns.items()}
        # of the values: batches may hold dictionaries of them
        titles = titles_in(source_schema)
        self.schema = pa.schema(
            [titled(pa.field(name, kinds[name]), titles.get(name)) for name in self.names]
        )

    def source(self, records: Records, *, watch: Watch | None = None) -> Iterator[Any]:
        """Yield the batches of the source, of one size."""
        read = records.batches(self.names, coded=tuple(self.columns), watch=watch)
        return even_batches(read, BATCH_ROWS)

    def released(
        self, batch: Any, rows: range, *, each: Each = map, tally: DrawObserver | None = None
    ) -> Any:
        """Return a released batch; ``each`` maps over columns, ``tally`` observes each."""
        observer, names = tally or DrawObserver(), list(self.columns)

        def codes_of(name: str) -> Codes:
            return self.columns[name].encoder.codes(batch[name], rows)

        codes = dict(zip(names, each(codes_of, names), strict=True))
        drawn = self.record.draw(
            codes, rows, each=each, observe=None if tally is None else tally.draw_cells
        )

        def column(name: str) -> Any:
            if name in drawn:
                observer.draw(name, codes[name], drawn[name])
                return self.columns[name].labels_of(drawn[name])
            values = batch[name]
            kind = self.schema.field(name).type
            if name in self.coded:
                values = sorted_dictionary(values)
            elif values.type != kind:
                values = values.cast(kind)
            observer.keep(name, values)
            return values

        return pa.RecordBatch.from_arrays(list(each(column, self.names)), names=self.names)


def plain_type(kind: Any) -> Any:
    """Return a type with every dictionary in it replaced by the type of its values.

    A dictionary lists values in the order in which the source met them, and may list values of
    records that are no longer in the file.
    """

    def plain(field: Any) -> Any:
        return field.with_type(plain_type(field.type))

    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([plain(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_field), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(plain(kind.value_field))
    return pa.list_(plain(kind.value_field)) if pa.types.is_list(kind) else kind


def is_coded_text(kind: Any) -> bool:
    return bool(pa.types.is_dictionary(kind)) and is_text(pa.field("", kind))
