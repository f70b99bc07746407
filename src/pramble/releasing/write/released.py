"""Writing the released file: the engine's canonical batches, with a tally of what was meant."""

import io
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pramble.data.formats.registry import format_of
from pramble.data.records import Records
from pramble.data.save import writing
from pramble.engine.canonical import Canonical
from pramble.engine.record import Record
from pramble.engine.streaming import ahead
from pramble.releasing.prepare.links import MOST_KEPT, Links, refuse_links
from pramble.releasing.prepare.part import Part
from pramble.releasing.prepare.prepare import Prepared
from pramble.releasing.write.check import Tally
from pramble.values import Clock

PASSES = 2
"""Writing takes about this many times as long as one pass: writing, and reading again."""


def bound_record(job: Prepared, part: Part, *, key: bytes, typed: bool) -> Record:
    """Return the plan of a file of a release, bound to its bits."""
    missing = {column.name: column.missing for column in job.decisions.columns}
    nulls = {name: None if label is True else label for name, label in missing.items()}
    own = {name: label for name, label in nulls.items() if name in part.plan.columns}
    return Record(part.plan, key, from_text=not typed, null_labels=own)


def write_part(
    job: Prepared, part: Part, records: Records, path: Path, *, key: bytes, clock: Clock
) -> Tally:
    """Randomise the records into one file; return what was counted on the way.

    The records are those of the job, or its rows in another order. Untouched columns are watched on
    the way where the file is longer than what was looked at before: one that tells a protected
    column is refused.
    """
    record = bound_record(job, part, key=key, typed=records.typed)
    work = Canonical(records, record, names=list(part.names))
    tally = Tally(part.plan, work.names, coded=work.coded, as_text=job.is_text)
    links = Links(job.decisions.watched(work.names), part.plan.columns)
    with (
        writing(path, format_of(path), work.schema) as writer,
        ThreadPoolExecutor(len(work.names)) as pool,
    ):
        for batch in ahead(work.source()):
            rows = range(tally.rows, tally.rows + batch.num_rows)
            writer.write(work.released(batch, rows, each=pool.map, tally=tally))
            if job.rows > MOST_KEPT:
                links.add(batch, tally.last)
            tally.rows = rows.stop
            clock.tell("randomising", tally.rows / max(job.rows, 1), rows=batch.num_rows)
    if links.rows:
        refuse_links(tuple(links.found(rows_per_person=job.spent.rows)))
    return tally


def rehearse(job: Prepared) -> tuple[int, float]:
    """Return about how large the file will be and how many seconds writing will take.

    The first batch is randomised into memory, with keys that are thrown away.
    """
    found = [rehearse_part(job, part) for part in job.parts]
    return sum(size for size, _ in found), sum(wait for _, wait in found)


def rehearse_part(job: Prepared, part: Part) -> tuple[int, float]:
    """Return about how large one file will be and how many seconds writing it will take."""
    record = bound_record(job, part, key=secrets.token_bytes(32), typed=job.records.typed)
    work = Canonical(job.records, record, names=list(part.names))
    first, form = next(work.source()), format_of(Path(part.file))
    sink = io.BytesIO()
    started = time.perf_counter()
    assert form.write is not None, "an output is a written format"
    with form.write(sink, work.schema) as writer:
        writer.write(work.released(first, range(first.num_rows)))
    scale = job.rows / max(first.num_rows, 1)
    return int(len(sink.getvalue()) * scale), (time.perf_counter() - started) * scale * PASSES
