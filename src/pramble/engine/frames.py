"""Frames of pandas, polars and pyarrow, through narwhals and Arrow; lazy ones of polars."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from pramble.data import decode
from pramble.data.arrays import Rows, number_of_rows
from pramble.data.crosstab import unused
from pramble.data.decode import with_columns
from pramble.data.open import as_arrow
from pramble.engine.keystream import checked_rows
from pramble.engine.record import Record
from pramble.errors import InvalidData, InvalidPlan, with_values
from pramble.values import Integers


def perturb_frame(frame: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return an eager frame with the columns of a plan randomised and all else untouched."""
    check_names(frame.columns, record.columns, row_number)
    rows: Rows = range(first_row, first_row + len(frame))
    if row_number is not None:
        rows = column_rows(frame[row_number].to_arrow(), row_number)
    drawn = record.perturb({name: frame[name].to_native() for name in record.columns}, rows)
    return with_columns(frame.to_native(), drawn)


def perturb_mapping(
    data: Mapping[str, Any], record: Record, *, row_number: str | None, first_row: int
) -> dict[str, Any]:
    """Return columns by name, which must be equally long, some of them randomised."""
    check_names(list(data), record.columns, row_number)
    rows: Rows = range(first_row, first_row + number_of_rows(data))
    if row_number is not None:
        rows = column_rows(as_arrow(data[row_number]), row_number)
    return {**data, **record.perturb(data, rows)}


def column_rows(values: Any, name: str) -> Rows:
    if not pa.types.is_integer(values.type) or values.null_count:
        raise InvalidData(
            f"Column {name!r} must hold an integer for every row to number them; found "
            f"{values.null_count} nulls in a column of type {values.type}."
        )
    rows: Integers = checked_rows(values.to_numpy())
    refuse_shared(rows, name)
    return rows


def refuse_shared(rows: Integers, name: str) -> None:
    """Raise if two rows at hand have the same number: they would share their random bits."""
    if (rows[1:] > rows[:-1]).all():
        return
    ordered = np.sort(rows)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if twice.size:
        error = InvalidData(
            f"Column {name!r} must number every row once; a number stands more than once. Rows "
            "with the same number would share their randomness."
        )
        raise with_values(error, ordered[twice[0]])


def check_names(present: Iterable[str], columns: Collection[str], row_number: str | None) -> None:
    """Raise if a column of the plan is missing or stands twice."""
    wanted = [*columns, *([] if row_number is None else [row_number])]
    times = Counter(present)
    missing = [name for name in wanted if name not in times]
    if missing:
        error = InvalidPlan(
            f"The data must have every column of the plan; {', '.join(map(repr, missing))} "
            f"{'is' if len(missing) == 1 else 'are'} missing. It has {len(times)} columns."
        )
        raise with_values(error, list(times))
    twice = [name for name in wanted if times[name] > 1]
    if twice:
        raise InvalidPlan(f"Column names must be unique; {twice[0]!r} stands more than once.")
    if row_number in columns:
        raise InvalidPlan(f"Column {row_number!r} numbers the rows, so it cannot be randomised.")


def with_types(schema: Any, kinds: Mapping[str, Any]) -> Any:
    """Return a schema with some columns of other types, and its notes kept."""
    fields = [field.with_type(kinds.get(field.name, field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def perturb_batches(
    batches: Iterable[Any], record: Record, *, row_number: str | None = None, first_row: int = 0
) -> Iterator[Any]:
    """Yield record batches with the columns of a plan randomised, numbering rows as they come."""
    row = first_row
    for batch in batches:
        counted = range(row, row + batch.num_rows)
        rows = counted if row_number is None else column_rows(batch[row_number], row_number)
        found = record.perturb(batch, rows)
        arrays = [found.get(name, batch.column(i)) for i, name in enumerate(batch.schema.names)]
        schema = with_types(batch.schema, {name: values.type for name, values in found.items()})
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        row += batch.num_rows


def perturbed_schema(schema: Any, record: Record) -> Any:
    """Return the Arrow schema of the outcome."""
    none = {name: pa.nulls(0, schema.field(name).type) for name in record.columns}
    drawn = record.perturb(none, range(0))
    return with_types(schema, {name: values.type for name, values in drawn.items()})


def perturb_reader(reader: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a reader of randomised batches; nothing is read before it is asked for."""
    check_names(reader.schema.names, record.columns, row_number)
    batches = perturb_batches(reader, record, row_number=row_number, first_row=first_row)
    return pa.RecordBatchReader.from_batches(perturbed_schema(reader.schema, record), batches)


def narwhals_frame(data: Any) -> Any:
    """Return the data as an eager or lazy narwhals frame, or None."""
    try:
        wrapped = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidPlan(f"Column names must be unique; {error}") from error
    return wrapped if isinstance(wrapped, nw.DataFrame | nw.LazyFrame) else None


def perturb_lazy(frame: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a lazy frame whose every collect gives the same release.

    The key is fixed by now, and rows carry their number along, so polars may split and reorder the
    work as it likes.
    """
    import polars as pl

    schema = frame.collect_schema()
    check_names(schema.names(), record.columns, row_number)
    number = row_number or unused("row number", schema.names())
    if row_number is None:
        frame = frame.with_row_index(number).with_columns(pl.col(number).cast(pl.Int64) + first_row)
    for part in record.parts:
        drawn = unused("drawn", [*schema.names(), number])
        frame = frame.with_columns(lazy_columns(part, number, schema=schema).alias(drawn))
        fields = [pl.col(drawn).struct.field(name) for name in part.columns]
        frame = frame.with_columns(fields).drop(drawn)
    return frame if row_number else frame.drop(number)


def lazy_columns(record: Record, number: str, *, schema: Any) -> Any:
    """Return the expression that draws columns together, from their values and row numbers."""
    import polars as pl

    names = list(record.columns)

    def draw(given: Any) -> Any:
        rows = consecutive(column_rows(given.struct.field(number).to_arrow(), number))
        drawn = record.perturb({name: given.struct.field(name) for name in names}, rows)
        return pl.DataFrame(list(drawn.values())).to_struct(given.name)

    kinds = {
        name: decode.polars_labels(column.outputs, dtype=schema[name]).dtype
        for name, column in record.columns.items()
    }
    given = pl.struct(*names, number)
    return given.map_batches(draw, return_dtype=pl.Struct(kinds), is_elementwise=True)


def consecutive(rows: Rows) -> Rows:
    """Return row numbers as a range if they follow each other."""
    if isinstance(rows, range) or not len(rows) or not (np.diff(rows) == 1).all():
        return rows
    return range(int(rows[0]), int(rows[-1]) + 1)
