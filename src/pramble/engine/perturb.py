"""The verb: randomise a column or a table."""

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import pyarrow as pa

from pramble.data.remote import is_spark, on_spark
from pramble.engine import frames
from pramble.engine.columns import unknown
from pramble.engine.keystream import checked_key
from pramble.engine.record import Record, as_record
from pramble.errors import InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan


def perturb(
    data: Any,
    plan: Mechanism | Plan | Mapping[Any, Mechanism],
    *,
    key: bytes | None = None,
    column: str = "",
    first_row: int = 0,
    row_number: str | None = None,
    threads: int | None = None,
    spark: Any = None,
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
        and mappings from names to columns. Beside ``spark``, a path or address of Parquet files.
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
    spark : SparkSession, optional
        Beside a path: the tasks of this session read the files and draw, by row numbers in the
        order of file names, and a PySpark DataFrame comes back. It takes two thirds of the time of
        the frame that Spark reads from them, of which every row must be moved.

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
    if spark is not None:
        if isinstance(plan, Mechanism) or row_number is not None or column:
            raise InvalidInput(
                "With spark= rows of files are numbered in order and randomised by a plan for "
                "columns: one mechanism, row_number and column are not for it."
            )
        record = as_record(secret, plan, threads=1)
        draw = on_spark("perturb_spark_path")
        return draw(data, record, session=spark, first_row=first_row)
    if isinstance(plan, Mechanism):
        if row_number is not None:
            raise InvalidInput("row_number names a column of a frame; a single column has none.")
        if not hasattr(data, "__len__"):
            raise unknown(data, "one mechanism")
        if key is not None and not column:
            raise InvalidInput(
                "A key draws for a named column, or two columns would share their randomness; name "
                "it with column=."
            )
        record = as_record(secret, {column: plan}, threads=threads)
        return record.perturb({column: data}, range(first_row, first_row + len(data)))[column]
    record = as_record(secret, plan, threads=threads)
    return perturb_many(data, record, row_number=row_number, first_row=first_row)


def checked_first_row(first_row: int) -> None:
    """Refuse what cannot number a row."""
    if not 0 <= first_row < 2**62:
        raise InvalidInput(f"first_row must lie in 0..2**62; found {first_row}.")


def perturb_many(data: Any, record: Record, *, row_number: str | None, first_row: int) -> Any:
    """Return a frame with the columns of a plan randomised."""
    if isinstance(data, Mapping):
        return frames.perturb_mapping(data, record, row_number=row_number, first_row=first_row)
    if isinstance(data, pa.RecordBatch):
        frames.check_names(data.schema.names, record.columns, row_number)
        only = frames.perturb_batches([data], record, row_number=row_number, first_row=first_row)
        return next(only)
    if isinstance(data, pa.RecordBatchReader):
        return frames.perturb_reader(data, record, row_number=row_number, first_row=first_row)
    frame = frames.narwhals_frame(data)
    if isinstance(frame, nw.DataFrame):
        return frames.perturb_frame(frame, record, row_number=row_number, first_row=first_row)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        return frames.perturb_lazy(data, record, row_number=row_number, first_row=first_row)
    if isinstance(frame, nw.LazyFrame) and is_spark(frame.implementation):
        draw = on_spark("perturb_spark")
        return draw(data, record, row_number=row_number, first_row=first_row)
    if isinstance(frame, nw.LazyFrame):
        table = frame.collect(backend="pyarrow").to_native()
        return perturb_many(table, record, row_number=row_number, first_row=first_row)
    raise unknown(data, "a plan for several columns")
