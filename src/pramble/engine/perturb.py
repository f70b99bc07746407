"""The verb: randomise a column or a table, in the container that it came in."""

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
from pramble.data.remote import is_spark, on_spark
from pramble.engine.block import unknown_container
from pramble.engine.keystream import checked_key, checked_rows
from pramble.engine.record import BoundPlan, bound_plan
from pramble.errors import InvalidData, InvalidInput, InvalidPlan, with_values
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan


def column_rows(values: Any, name: str) -> Rows:
    if not pa.types.is_integer(values.type) or values.null_count:
        raise InvalidData(
            f"Column {name!r} must hold an integer for every row to number them; found "
            f"{values.null_count} nulls in a column of type {values.type}."
        )
    rows = checked_rows(values.to_numpy())
    if (rows[1:] > rows[:-1]).all():
        return rows
    # two rows with the same number would share their random bits
    ordered = np.sort(rows)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if twice.size:
        error = InvalidData(
            f"Column {name!r} must number every row once; a number stands more than once. Rows "
            "with the same number would share their randomness."
        )
        raise with_values(error, ordered[twice[0]])
    return rows


def check_names(present: Iterable[str], columns: Collection[str], row_number: str | None) -> None:
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
    fields = [field.with_type(kinds.get(field.name, field.type)) for field in schema]
    return pa.schema(fields, metadata=schema.metadata)


def perturb_batches(
    batches: Iterable[Any], record: BoundPlan, *, row_number: str | None = None, first_row: int = 0
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


def perturbed_schema(schema: Any, record: BoundPlan) -> Any:
    none = {name: pa.nulls(0, schema.field(name).type) for name in record.columns}
    drawn = record.perturb(none, range(0))
    return with_types(schema, {name: values.type for name, values in drawn.items()})


def perturb_lazy(frame: Any, record: BoundPlan, *, row_number: str | None, first_row: int) -> Any:
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


def lazy_columns(record: BoundPlan, number: str, *, schema: Any) -> Any:
    """Return the expression that draws columns together, from their values and row numbers."""
    import polars as pl

    names = list(record.columns)

    def draw(given: Any) -> Any:
        rows = column_rows(given.struct.field(number).to_arrow(), number)
        if len(rows) and (np.diff(rows) == 1).all():  # words of consecutive rows come faster
            rows = range(int(rows[0]), int(rows[-1]) + 1)
        drawn = record.perturb({name: given.struct.field(name) for name in names}, rows)
        return pl.DataFrame(list(drawn.values())).to_struct(given.name)

    kinds = {
        name: decode.polars_labels(column.outputs, dtype=schema[name]).dtype
        for name, column in record.columns.items()
    }
    given = pl.struct(*names, number)
    return given.map_batches(draw, return_dtype=pl.Struct(kinds), is_elementwise=True)


def perturb(
    data: Any,
    plan: Mechanism | Plan | Mapping[Any, Mechanism],
    *,
    key: bytes | None = None,
    column: str = "",
    first_row: int = 0,
    row_number: str | None = None,
    threads: int | None = None,
) -> Any:
    r"""Randomise a column, or some columns of a table, exactly by their mechanisms.

    Row :math:`i` with true value :math:`x` gets a value drawn from

    .. math:: P(Z_i = z \mid X_i = x) = w_{xz} / 2^{53},

    independently over rows and blocks of columns; the cells of a block of several columns are drawn
    together. Under a plan of several branches a public coin first picks the branch of each row with
    the branch's share as probability, and the columns that this branch leaves out are null. The
    draw is a function of ``key``, the plan, the column's name and the row's number only, so that
    any chunk size, engine, number of threads or repetition gives the same release.

    Parameters
    ----------
    data : list, tuple, NumPy array, Series, pyarrow Array or ChunkedArray, or a frame
        Frames are pandas and polars DataFrame, polars LazyFrame, pyarrow Table, RecordBatch and
        RecordBatchReader, PySpark DataFrame, DuckDB relations (which come back as a pyarrow Table)
        and mappings from names to columns.
        Every value of a randomised column must be a declared category, by value and type.
    plan : Mechanism, Plan, or mapping from columns to Mechanism
        One mechanism for a single column; a plan for a frame.
    key : bytes, optional
        32 secret bytes. None draws fresh ones from the operating system, at the time of this call:
        a lazy frame collected twice is one release. Use a key for one table only: two tables
        randomised by one plan under one key share their randomness. The plan is bound into it.
    column : str
        For a single column: the name that its bits are drawn for, needed beside a key.
    first_row : int
        The number of the first row, where the data is one part of a longer whole.
    row_number : str, optional
        For a frame: the column that holds each row's number (unique, not negative). By default rows
        are numbered as they stand.
    threads : int, optional
        How many threads draw; all processors by default. On Spark each task has one.

    Returns
    -------
    The randomised data in the type, order, index and dtype of the input. A categorical has the
    mechanism's outputs as categories. A column that some branch leaves out has a dtype that holds
    nulls, whether or not there are any.

    Raises
    ------
    InvalidData
        If a value is no declared category, or null where null is none, or if the values of a row
        are a combination that its block does not have.
    InvalidPlan
        If the plan does not fit the data's columns.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> key = bytes(range(31, -1, -1))  # an example; draw yours with secrets.token_bytes(32)
    >>> pramble.perturb(["no", "yes", "yes", "no"], m, key=key, column="smokes")
    ['no', 'no', 'yes', 'yes']
    >>> import pyarrow
    >>> table = pyarrow.table({"id": [1, 2], "smokes": ["no", "yes"]})
    >>> pramble.perturb(table, {"smokes": m}, key=key).column_names
    ['id', 'smokes']
    >>> pramble.perturb(["no", "maybe"], m)
    Traceback (most recent call last):
    ...
    pramble.errors.InvalidData: The data must hold declared categories ('no', 'yes'); 1 row does ...
    """
    secret = checked_key(key)
    checked_first_row(first_row)
    if isinstance(plan, Mechanism):
        if row_number is not None:
            raise InvalidInput("row_number names a column of a frame; a single column has none.")
        if not hasattr(data, "__len__"):
            raise unknown_container(data, "one mechanism")
        if key is not None and not column:
            raise InvalidInput(
                "A key draws for a named column, or two columns would share their randomness; name "
                "it with column=."
            )
        record = bound_plan(secret, {column: plan}, threads=threads)
        return record.perturb({column: data}, range(first_row, first_row + len(data)))[column]
    record = bound_plan(secret, plan, threads=threads)
    return perturb_many(data, record, row_number=row_number, first_row=first_row)


def checked_first_row(first_row: int) -> None:
    if not 0 <= first_row < 2**62:
        raise InvalidInput(f"first_row must lie in 0..2**62; found {first_row}.")


def perturb_many(data: Any, record: BoundPlan, *, row_number: str | None, first_row: int) -> Any:
    if isinstance(data, Mapping):
        check_names(list(data), record.columns, row_number)
        rows: Rows = range(first_row, first_row + number_of_rows(data))
        if row_number is not None:
            rows = column_rows(as_arrow(data[row_number]), row_number)
        return {**data, **record.perturb(data, rows)}
    if isinstance(data, pa.RecordBatch):
        check_names(data.schema.names, record.columns, row_number)
        only = perturb_batches([data], record, row_number=row_number, first_row=first_row)
        return next(only)
    if isinstance(data, pa.RecordBatchReader):
        # nothing is read before it is asked for
        check_names(data.schema.names, record.columns, row_number)
        batches = perturb_batches(data, record, row_number=row_number, first_row=first_row)
        return pa.RecordBatchReader.from_batches(perturbed_schema(data.schema, record), batches)
    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidPlan(f"Column names must be unique; {error}") from error
    if isinstance(frame, nw.DataFrame):
        check_names(frame.columns, record.columns, row_number)
        rows = range(first_row, first_row + len(frame))
        if row_number is not None:
            rows = column_rows(frame[row_number].to_arrow(), row_number)
        drawn = record.perturb({name: frame[name].to_native() for name in record.columns}, rows)
        return with_columns(frame.to_native(), drawn)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        return perturb_lazy(data, record, row_number=row_number, first_row=first_row)
    if isinstance(frame, nw.LazyFrame) and is_spark(frame.implementation):
        draw = on_spark("perturb_spark")
        return draw(data, record, row_number=row_number, first_row=first_row)
    if isinstance(frame, nw.LazyFrame):
        table = frame.collect(backend="pyarrow").to_native()
        return perturb_many(table, record, row_number=row_number, first_row=first_row)
    raise unknown_container(data, "a plan for several columns")
