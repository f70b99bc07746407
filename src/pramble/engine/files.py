"""Files of any format into one file, in constant memory, whole or not at all."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.save import saving
from pramble.engine.canonical import Canonical
from pramble.engine.keystream import checked_key
from pramble.engine.perturb import check_names, checked_first_row
from pramble.engine.record import bound_plan
from pramble.engine.sampling import each_column
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
