"""Files of any format into one file, in constant memory, whole or not at all.

Batches that are written follow from the released values and the plan alone. A released column has
the type of its labels, an untouched one that of its values; texts are held in dictionaries that
list the labels of the plan, or the values that occur, sorted. Neither the widths, dictionaries,
orders of first appearance nor blocks of the source leave a trace.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramble.data.arrays import even_batches, is_text, sorted_dictionary
from pramble.data.encode import Codes
from pramble.data.formats.base import BATCH_ROWS, titled, titles_in
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.records import Records, Watch
from pramble.data.save import saving
from pramble.engine.block import ColumnBlock
from pramble.engine.keystream import checked_key
from pramble.engine.perturb import check_names, checked_first_row
from pramble.engine.record import BoundPlan, bound_plan
from pramble.engine.sampling import Each, each_column
from pramble.errors import InvalidData, InvalidInput
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.values import Reporter, Watcher, frozen


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Yield items while the next one is being made."""
    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


@frozen
class Written:
    """What a run wrote."""

    target: Path
    rows: int
    seconds: float


def perturb_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    plan: Plan | Mapping[Any, Mechanism],
    *,
    key: bytes | None = None,
    first_row: int = 0,
    threads: int | None = None,
    overwrite: bool = False,
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
) -> Written:
    r"""Randomise some columns of a file, or of all files of a folder, into one file.

    The bits are those of :func:`pramble.perturb` on the whole table: row numbers count from
    ``first_row`` through the file, and through the files of a folder in the order of their names.
    Memory stays constant, however large the file.
    Nothing stands under the target's name until the outcome is complete and on the disk.

    Parameters
    ----------
    source : path
        A file of any known format, a folder of such files, or a pattern.
    target : path
        A Parquet, CSV, TSV or Arrow file.
    plan : Plan, or mapping from columns to Mechanism
        As in :func:`pramble.perturb`; a column that a record's branch leaves out is null. In a CSV
        file, where all is text, a category is met by its text: 1 by ``1``, null by an empty field.
    key : bytes, optional
        32 secret bytes; None draws fresh ones. A run that was interrupted is repeated with its key,
        and gives the same release.
    first_row : int
        The number of the first row, where the file is one part of a longer whole.
    threads : int, optional
        How many threads draw; all processors by default.
    overwrite : bool
        Replace a target file that exists. Without it that is an error.
    reading : Reading or mapping, optional
        How to read the source; what is not said is found out.
    progress : callable, optional
        Called with a `pramble.values.Progress` after every block.

    Returns
    -------
    Written
        ``target``, ``rows`` and ``seconds``.

    Raises
    ------
    InvalidData
        If the file cannot be read, has no rows, or holds an undeclared value.
    InvalidPlan
        If a column of the plan is missing.
    WriteFailed
        If the target cannot be completed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pramble
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("id,smokes\n1,no\n2,yes\n")
    >>> m = pramble.randomized_response(["no", "yes"], 1.0)
    >>> done = pramble.perturb_file(folder / "people.csv", folder / "out.csv", {"smokes": m})
    >>> done.rows, done.target.name
    (2, 'out.csv')
    """
    secret = checked_key(key)
    checked_first_row(first_row)
    record = bound_plan(secret, plan, threads=threads)
    inward, outward = Path(source), Path(target)
    check_places(inward, outward, overwrite=overwrite)
    reporter, records = Reporter(progress), open_records(inward, reading)
    check_names(records.names, record.columns, None)
    work = Canonical(records.schema, record if records.typed else replace(record, from_text=True))
    share, row = [0.0], first_row
    batches = work.source(records, watch=lambda _, done: share.append(done))
    with saving(outward, work.schema) as writer, each_column(record.threads) as each:
        for batch in ahead(batches):
            rows = range(row, row + batch.num_rows)
            writer.write(work.released(batch, rows, each=each))
            row = rows.stop
            reporter.report("randomising", share[-1], rows=batch.num_rows)
        if row == first_row:
            raise InvalidData(f"{records.name} must have rows to randomise; it has none.")
    reporter.report("randomising", 1.0)
    return Written(outward, row - first_row, reporter.seconds())


def check_places(source: Path, target: Path, *, overwrite: bool) -> None:
    """Refuse a target that exists, has no folder to stand in, or lies in the source."""
    if not target.absolute().parent.is_dir():
        raise InvalidInput(f"The folder of {target} must exist; make it first.")
    if target.absolute().resolve() == source.absolute().resolve():
        raise InvalidInput(f"Source and target must differ; both are {source}.")
    if source.is_dir() and source.resolve() in target.absolute().resolve().parents:
        raise InvalidInput(f"The target {target} must not lie within the source {source}.")
    if target.exists() and (not overwrite or target.is_dir()):
        raise InvalidInput(
            f"{target} exists already. Choose another name, remove it, or (for a file) pass "
            "overwrite=True."
        )


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
