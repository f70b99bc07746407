"""Writing the data file: the engine's canonical batches, with a tally of what was meant.

A piece of a data file is some consecutive rows, written by whoever has them. Its bytes follow from
what randomises (a bound record and the types of the columns), from its rows, and from the number of
the first one: not from the machine, the threads or the pieces beside it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pramble.data.formats.base import BATCH_ROWS
from pramble.data.formats.registry import PARQUET
from pramble.data.records import Records
from pramble.data.save import writing
from pramble.engine.files import Canonical, ahead
from pramble.engine.keystream import checked_key, derived_key
from pramble.engine.record import BoundPlan
from pramble.engine.sampling import available_threads, each_column
from pramble.mechanisms.plan import Plan
from pramble.releasing.folder.layout import (
    ABOUT_RANDOMISED,
    described,
    file_sha256,
    piece_file,
    pieces_sha256,
)
from pramble.releasing.linkage import Links, refuse_links
from pramble.releasing.prepare import Prepared
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.value_sample import MOST_SAMPLED
from pramble.releasing.write.verify import WrittenTally
from pramble.values import Reporter


def merge_pieces(pieces: Iterable[tuple[WrittenTally, Links]]) -> tuple[WrittenTally, Links]:
    """Return what was counted and sampled in pieces that follow each other, as of one."""
    found = iter(pieces)
    tally, links = next(found)
    for later, sampled in found:
        tally.merge(later)
        links.merge(sampled)
    return tally, links


def writer_of(prepared: Prepared, records: Records, *, key: bytes) -> tuple[Canonical, list[str]]:
    """Return what randomises the records, and the untouched columns that are watched meanwhile.

    They are where the file is longer than what was looked at before.
    """
    nulls = {column.name: column.null_label for column in prepared.spec.columns}
    record = BoundPlan(prepared.plan, key, from_text=not records.typed, null_labels=nulls)
    work = Canonical(records.schema, record, names=prepared.names)
    return work, prepared.spec.watched(work.names) if prepared.rows > MOST_SAMPLED else []


def write_piece(
    work: Canonical,
    batches: Iterable[Any],
    path: Path,
    *,
    first_row: int = 0,
    watched: Sequence[str] = (),
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
    threads : int
        How many may be at work.
    """
    record, schema = work.record, described(work.schema, ABOUT_RANDOMISED)
    tally = WrittenTally(record.plan, work.names, coded=work.coded)
    links = Links(watched, record.plan.columns, key=record.key, first_row=first_row)
    with writing(path, PARQUET, schema) as writer, each_column(threads) as each:
        for batch in batches:
            start = first_row + tally.rows
            rows = range(start, start + batch.num_rows)
            writer.write(work.released(batch, rows, each=each, tally=tally))
            if watched:
                links.add(batch, tally.last)
            tally.rows += batch.num_rows
    tally.last = {}
    return tally, links


def write_data(
    prepared: Prepared, records: Records, folder: Path, *, key: bytes, reporter: Reporter
) -> tuple[WrittenTally, dict[str, Any]]:
    """Randomise the records into the data file, or its pieces as long as there are rows.

    Returns what was counted on the way, and what the manifest says of the file. The records are
    those of the release, or its rows in another order.
    """
    work, watched = writer_of(prepared, records, key=key)
    file, done = prepared.file, 0

    def watched_batches() -> Iterator[Any]:
        nonlocal done
        for batch in ahead(work.source(records)):
            yield batch
            done += batch.num_rows
            reporter.report("randomising", done / max(prepared.rows, 1), rows=batch.num_rows)

    # A piece ends with a batch; a single file has all of them.
    further = None if file.rows_per_file is None else file.rows_per_file // BATCH_ROWS - 1
    pieces: list[dict[str, Any]] = []
    written: list[tuple[WrittenTally, Links]] = []
    batches = watched_batches()
    first = next(batches, None)
    while first is not None or not pieces:
        name = file.name if further is None else piece_file(len(pieces))
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        found = write_piece(
            work,
            () if first is None else chain([first], islice(batches, further)),
            folder / name,
            first_row=sum(piece["rows"] for piece in pieces),
            watched=watched,
            threads=available_threads(),
        )
        size, sha256 = (folder / name).stat().st_size, file_sha256(folder / name)
        pieces.append({"file": name, "rows": found[0].rows, "bytes": size, "sha256": sha256})
        written = [merge_pieces([*written, found])]
        first = next(batches, None)
    tally, links = written[0]
    return tally, data_entry(prepared, links, pieces)


def data_entry(
    prepared: Prepared, links: Links, pieces: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return what the manifest says of the data file; refuse columns that tell protected ones."""
    if links.rows:
        refuse_links(tuple(links.found(rows_per_person=prepared.design.spent.rows)))
    entry = {"file": prepared.file.name, "format": "parquet", "sentence": ABOUT_RANDOMISED}
    if prepared.file.rows_per_file is None:
        return {**entry, "bytes": pieces[0]["bytes"], "sha256": pieces[0]["sha256"]}
    size = sum(piece["bytes"] for piece in pieces)
    return {**entry, "bytes": size, "sha256": pieces_sha256(pieces), "pieces": list(pieces)}


def bound_key(key: bytes, content: str, *, plan: Plan, spec: ReleaseSpec) -> bytes:
    """Return a key of its own for one content of the source, one plan and one order of the rows.

    ``content`` is the fingerprint of the randomised columns as they were counted, recoded and
    repaired (`pramble.releasing.fingerprint`).
    """
    # What two releases with the same random bits spend would not add up: with another matrix, or
    # another record in the same row, a pair of released values can be impossible under one true
    # value and possible under the next. With the labels of empty cells the content determines every
    # record that is drawn from. So bits agree only where records, plan and order agree, and then
    # the two releases are one. Where rows with columns that are released as they are get a secret
    # order, the content also has the digest of the file: two files of the same order would reveal
    # which rows belong together.
    empty = {column.name: column.stated("missing") for column in spec.columns}
    return derived_key(
        checked_key(key),
        "release",
        content,
        json.dumps(plan.to_json(), sort_keys=True),
        json.dumps({"empty": empty, "shuffled": spec.is_shuffled}, sort_keys=True),
    )
