"""Files and folders, in constant memory, whole or not at all; a folder's run can be taken up."""

import hashlib
import hmac
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pramble.data.formats.registry import target_name
from pramble.data.open import files_of, open_records
from pramble.data.reading import Reading, as_reading
from pramble.data.records import Records
from pramble.data.save import PARTIAL, saving, sync, whole_file
from pramble.engine.canonical import Canonical
from pramble.engine.frames import check_names
from pramble.engine.keystream import checked_key, derived_key
from pramble.engine.perturb import checked_first_row
from pramble.engine.record import Record, as_record
from pramble.engine.sampling import each_column
from pramble.errors import InvalidData, InvalidInput, WriteFailed
from pramble.ledger.account import open_account, open_book
from pramble.ledger.book import Ledger, file_facts
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import certify
from pramble.values import Clock, Watcher, value


def perturb_stream(
    records: Records, target: Path, record: Record, *, first_row: int, clock: Clock
) -> int:
    """Randomise records into one file and return how many there are."""
    check_names(records.names, record.columns, None)
    own = record if records.typed else replace(record, from_text=True)
    work = Canonical(records.schema, own)
    share, row = [0.0], first_row
    batches = work.source(records, watch=lambda _, done: share.append(done))
    with saving(target, work.schema) as writer, each_column(record.threads) as each:
        for batch in ahead(batches):
            rows = range(row, row + batch.num_rows)
            writer.write(work.released(batch, rows, each=each))
            row = rows.stop
            clock.tell("randomising", share[-1], rows=batch.num_rows)
        if row == first_row:
            raise InvalidData(f"{records.name} must have rows to randomise; it has none.")
    clock.tell("randomising", 1.0)
    return row - first_row


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Yield items while the next one is being made."""
    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


JOURNAL = "journal.json"


def perturb_folder(
    source: Path,
    target: Path,
    record: Record,
    *,
    secret: bytes,
    first_row: int,
    reading: Reading,
    clock: Clock,
) -> tuple[tuple[Path, ...], int]:
    """Randomise every data file of a folder; return the files written and their rows in all.

    Files are done in a hidden folder beside the target, which gets the target's name when all
    are there. Its journal says which are complete, and under which key, plan and source (as a
    keyed hash), so that the same call takes up an interrupted run.
    """
    names = data_files(source)
    partial = target.with_name(f".{target.name}{PARTIAL}")
    tag = run_tag(source, names, record, secret=secret, row=first_row, reading=reading)
    journal = Journal.begin(partial, tag)
    sizes = [(source / name).stat().st_size or 1 for name in names]
    row = first_row
    try:
        for i, name in enumerate(names):
            part = clock.part(sum(sizes[:i]) / sum(sizes), sizes[i] / sum(sizes))
            if name.as_posix() not in journal.rows:
                place = partial / target_name(name)
                place.parent.mkdir(parents=True, exist_ok=True)
                records = open_records(source / name, reading)
                count = perturb_stream(records, place, record, first_row=row, clock=part)
                clock.rows = part.rows
                journal.note(name, count)
            row += journal.rows[name.as_posix()]
    except InvalidInput:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    journal.end(target)
    return tuple(target / target_name(name) for name in names), row - first_row


def data_files(folder: Path) -> list[Path]:
    """Return the data files of a folder, by their names within it, in order."""
    found = [path.relative_to(folder) for path in files_of(folder)]
    written: dict[Path, Path] = {}
    for name in found:
        other = written.setdefault(target_name(name), name)
        if other != name:
            raise InvalidData(f"{other} and {name} would both be written to {target_name(name)}.")
    return found


def run_tag(
    source: Path,
    names: list[Path],
    record: Record,
    *,
    secret: bytes,
    row: int,
    reading: Reading,
) -> str:
    """Return a keyed hash of all that decides the outcome; without the key it says nothing."""
    described: dict[str, Any] = {
        "row": row,
        "reading": repr(reading),
        "plan": record.plan.to_json(),
        "files": [
            [name.as_posix(), (source / name).stat().st_size, (source / name).stat().st_mtime_ns]
            for name in names
        ],
    }
    text = json.dumps(described, sort_keys=True)
    return hmac.new(derived_key(secret, "journal"), text.encode(), hashlib.sha256).hexdigest()


@dataclass
class Journal:
    """Which files of a run are complete, kept in the run's own folder."""

    folder: Path
    tag: str
    rows: dict[str, int] = field(default_factory=dict)

    @classmethod
    def begin(cls, folder: Path, tag: str) -> "Journal":
        """Begin a run in a folder, or take up the interrupted one that is there."""
        file = folder / JOURNAL
        if not folder.exists():
            try:
                folder.mkdir()
            except OSError as error:
                raise WriteFailed(f"{folder} could not be made: {error.strerror}.") from error
        if not file.exists():
            journal = cls(folder, tag)
            journal.save()
            return journal
        kept = json.loads(file.read_text(encoding="utf-8"))
        if not hmac.compare_digest(kept["tag"], tag):
            raise InvalidInput(
                f"{folder} holds an interrupted run with another key, plan or source. "
                "Repeat it with its own, or delete the folder to start again."
            )
        return cls(folder, tag, kept["rows"])

    def note(self, name: Path, rows: int) -> None:
        self.rows[name.as_posix()] = rows
        self.save()

    def save(self) -> None:
        """Write the journal, whole."""
        with whole_file(self.folder / JOURNAL) as partial:
            text = json.dumps({"tag": self.tag, "rows": self.rows})
            partial.write_text(text, encoding="utf-8")

    def end(self, target: Path) -> None:
        """Give the folder its name; the run is complete."""
        for leftover in self.folder.rglob(f".*{PARTIAL}"):
            leftover.unlink()
        (self.folder / JOURNAL).unlink()
        sync(self.folder)
        self.folder.replace(target)
        sync(target.parent)


@value
class Written:
    """What a run wrote: the target, its files in order, and the rows in all."""

    target: Path
    files: tuple[Path, ...]
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
    ledger: str | Path | Ledger | bool = False,
    people: str | None = None,
    budget: float | None = None,
    progress: Watcher | None = None,
) -> Written:
    r"""Randomise some columns of a file, or of every file in a folder, in constant memory.

    The bits are those of :func:`pramble.perturb` on the whole table: row numbers count from
    ``first_row`` through the file, and through the files of a folder in the order of their names.
    Nothing stands under the target's name until the outcome is complete and on the disk.

    Parameters
    ----------
    source : path
        A file of any known format, a folder of such files, or a pattern.
    target : path
        A Parquet, CSV, TSV or Arrow file; a folder if the source is one.
    plan : Plan, or mapping from columns to Mechanism
        As in :func:`pramble.perturb`; a column that a record's branch leaves out is null. In a CSV
        file, where all is text, a category is met by its text: 1 by ``1``, null by an empty field.
    key : bytes, optional
        32 secret bytes; None draws fresh ones. A run that was interrupted is repeated with its key,
        and gives the same release; for a folder, files already complete are not done again.
    first_row : int
        The number of the first row, where the file is one part of a longer whole.
    threads : int, optional
        How many threads draw; all processors by default.
    overwrite : bool
        Replace a target file that exists. Without it that is an error.
    reading : Reading or mapping, optional
        How to read the source; what is not said is found out.
    ledger : str, Path, Ledger or bool
        The ledger in which what is spent on the people of the file is entered; True is the user's
        own. A run that is repeated with its key is entered again, which counts too much rather
        than too little.
    people, budget : optional
        The name of the people, and the most that all their releases may spend; as in
        :func:`pramble.release`.
    progress : callable, optional
        Called with a `pramble.values.Progress` after every block.

    Returns
    -------
    Written
        ``target``, ``files``, ``rows`` and ``seconds``.

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
    record = as_record(secret, plan, threads=threads)
    inward, outward = Path(source), Path(target)
    check_places(inward, outward, overwrite=overwrite)
    clock, settled = Clock(progress), as_reading(reading)
    book, _ = open_book(ledger=ledger, budget=budget)
    if book is None:
        entry: AbstractContextManager[object] = nullcontext()
    else:
        records = open_records(inward, settled)
        account = open_account(
            book, file_facts(records), digest=records.digest(), people=people, budget=budget
        )
        spent = certify(record.plan).guarantee
        entry = account.entered(
            spent, columns=list(record.columns), target=outward, any_target=True
        )
    with entry:
        if inward.is_dir():
            files, rows = perturb_folder(
                inward,
                outward,
                record,
                secret=secret,
                first_row=first_row,
                reading=settled,
                clock=clock,
            )
        else:
            records = open_records(inward, settled)
            rows = perturb_stream(records, outward, record, first_row=first_row, clock=clock)
            files = (outward,)
    return Written(outward, files, rows, clock.seconds())


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
