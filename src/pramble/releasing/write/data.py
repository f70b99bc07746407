"""Writing the data file: the engine's canonical batches, with a tally of what was meant.

A piece of a data file is some consecutive rows, written by whoever has them. Its bytes follow from
what randomises (a bound record and the types of the columns), from its rows, and from the number of
the first one: not from the machine, the threads or the pieces beside it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from pramble.data.formats.base import BATCH_ROWS
from pramble.data.formats.registry import format_of
from pramble.data.records import Records
from pramble.data.save import writing
from pramble.engine.canonical import Canonical
from pramble.engine.files import ahead
from pramble.engine.keystream import checked_key, derived_key
from pramble.engine.record import Record
from pramble.engine.sampling import available_threads, each_column
from pramble.mechanisms.plan import Plan
from pramble.releasing.folder.layout import DataFile, file_sha256, piece_file, pieces_sha256
from pramble.releasing.linkage import Links, refuse_links
from pramble.releasing.prepare import Prepared
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.value_sample import MOST_SAMPLED
from pramble.releasing.write.verify import WrittenTally
from pramble.values import Clock


def merge_pieces(pieces: Iterable[tuple[WrittenTally, Links]]) -> tuple[WrittenTally, Links]:
    """Return what was counted and sampled in pieces that follow each other, as of one."""
    found = iter(pieces)
    tally, links = next(found)
    for later, sampled in found:
        tally.merge(later)
        links.merge(sampled)
    return tally, links


def write_piece(
    work: Canonical,
    batches: Iterable[Any],
    path: Path,
    *,
    first_row: int = 0,
    watched: Sequence[str] = (),
    after_batch: Callable[[int], object] | None = None,
    threads: int = 1,
) -> tuple[WrittenTally, Links]:
    """Randomise some consecutive rows into a file; return what was counted and sampled on the way.

    Those of a piece and of the one that follows merge into those of both.

    Parameters
    ----------
    work : Canonical
        What randomises.
    batches : iterable of Arrow batches
        The source of exactly these rows, of ``BATCH_ROWS`` rows each but the last of the file.
    path : Path
        The file; its ending says in which format.
    first_row : int
        The number of the first row in the whole file, a multiple of ``BATCH_ROWS``.
    watched : sequence of str
        Columns released as they are that must not tell protected ones.
    after_batch : callable, optional
        Called with the number of rows of every batch that was written.
    threads : int
        How many may be at work.
    """
    form = format_of(path)
    record = work.record
    tally = WrittenTally(
        record.plan,
        work.names,
        coded=work.coded,
        as_text=not form.typed,
    )
    links = Links(watched, record.plan.columns, key=record.key, first_row=first_row)
    with writing(path, form, work.schema) as writer, each_column(threads) as each:
        for batch in batches:
            start = first_row + tally.rows
            rows = range(start, start + batch.num_rows)
            writer.write(work.released(batch, rows, each=each, tally=tally))
            if watched:
                links.add(batch, tally.last)
            tally.rows += batch.num_rows
            if after_batch is not None:
                after_batch(batch.num_rows)
    tally.last = {}
    return tally, links


ENTRY = ("file", "format", "bytes", "sha256")


def bound_record(job: Prepared, *, key: bytes, typed: bool) -> Record:
    missing = {column.name: column.missing for column in job.spec.columns}
    nulls = {name: None if label is True else label for name, label in missing.items()}
    return Record(job.plan, key, from_text=not typed, null_labels=nulls)


def write_data(
    job: Prepared, records: Records, folder: Path, *, key: bytes, clock: Clock
) -> tuple[WrittenTally, dict[str, Any]]:
    """Randomise the records into the data file or its pieces.

    Returns what was counted on the way, and what the manifest says of the file. The records are
    those of the job, or its rows in another order. Untouched columns are watched on the way where
    the file is longer than what was looked at before: one that tells a protected column is refused.
    """
    record = bound_record(job, key=key, typed=records.typed)
    work = Canonical(records.schema, record, names=job.names)
    watched = job.spec.watched(work.names) if job.rows > MOST_SAMPLED else []
    batches = ahead(work.source(records))
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        clock.tell("randomising", done / max(job.rows, 1), rows=rows)

    written: list[tuple[WrittenTally, Links]] = []
    pieces = []
    for path, own in zip(paths_of(job.file, folder), in_pieces(batches, job.file), strict=False):
        path.parent.mkdir(parents=True, exist_ok=True)
        found = write_piece(
            work,
            own,
            path,
            first_row=done,
            watched=watched,
            after_batch=advance,
            threads=available_threads(),
        )
        pieces.append({
            "file": path.relative_to(folder).as_posix(),
            "rows": found[0].rows,
            "bytes": path.stat().st_size,
            "sha256": file_sha256(path),
        })  # fmt: skip
        written = [merge_pieces([*written, found])]
    tally, links = written[0]
    if links.rows:
        refuse_links(tuple(links.found(rows_per_person=job.design.spent.rows)))
    return tally, file_entry(job.file, pieces, form=job.spec.output)


def paths_of(file: DataFile, folder: Path) -> Iterator[Path]:
    """Yield the path of the file, or of one piece after the other."""
    if file.rows_per_file is None:
        yield folder / file.name
        return
    for number in count():
        yield folder / piece_file(number, file.ending)


def in_pieces(batches: Iterator[Any], file: DataFile) -> Iterator[Iterator[Any]]:
    """Yield the batches of each piece, one at least; each is to be used up before the next.

    Pieces go on as long as there are rows, counted or not.
    """
    if file.rows_per_file is None:
        yield batches
        return
    each, first = file.rows_per_file // BATCH_ROWS, next(batches, None)
    if first is None:
        yield iter(())
    while first is not None:
        yield chain([first], islice(batches, each - 1))
        first = next(batches, None)


def file_entry(file: DataFile, pieces: Sequence[dict[str, Any]], *, form: str) -> dict[str, Any]:
    if file.rows_per_file is None:
        return {key: form if key == "format" else pieces[0][key] for key in ENTRY}
    return {
        "file": file.name,
        "format": form,
        "bytes": sum(piece["bytes"] for piece in pieces),
        "sha256": pieces_sha256(pieces),
        "pieces": list(pieces),
    }


def bound_key(key: bytes, content: str, *, plan: Plan, spec: ReleaseSpec) -> bytes:
    r"""Return a key of its own for one content of the source, one plan and one order of the rows.

    Two releases that shared their random bits would not add up to :math:`\alpha_1 + \alpha_2`:
    with another matrix, or another record in the same row, a pair of released values can be
    impossible under one true value and possible under the next. A private prior is drawn again at
    every run, so the same call may well have another matrix. ``content`` is the fingerprint of the
    randomised columns as they were counted, recoded and repaired (`pramble.releasing.fingerprint`);
    with the labels of empty cells it determines every record that is drawn from. So bits agree only
    where records, plan and order agree, and then the two releases are one. Where rows with columns
    that are released as they are get a secret order, ``content`` also has the digest of the file:
    two files of the same order would reveal which rows belong together.
    """
    empty = {column.name: column.missing for column in spec.columns}
    return derived_key(
        checked_key(key),
        "release",
        content,
        json.dumps(plan.to_json(), sort_keys=True),
        json.dumps({"empty": empty, "shuffled": spec.is_shuffled}, sort_keys=True),
    )
