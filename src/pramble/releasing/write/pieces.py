"""One piece of a data file: some consecutive rows, written by whoever has them.

The bytes of a piece follow from what randomises (a bound record and the types of the columns), from
its rows, and from the number of the first one: not from the machine, the threads or the pieces
beside it.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pramble.data.formats.registry import format_of
from pramble.data.save import writing
from pramble.engine.canonical import Canonical
from pramble.engine.threads import each_column
from pramble.releasing.prepare.links import Links
from pramble.releasing.write.check import Tally


def merged(pieces: Iterable[tuple[Tally, Links]]) -> tuple[Tally, Links]:
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
    told: Callable[[int], object] | None = None,
    threads: int = 1,
) -> tuple[Tally, Links]:
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
    told : callable, optional
        Called with the number of rows of every batch that was written.
    threads : int
        How many may be at work.
    """
    form = format_of(path)
    record = work.record
    tally = Tally(
        record.plan,
        work.names,
        coded=work.coded,
        as_text=not form.typed,
        points=record.points,
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
            if told is not None:
                told(batch.num_rows)
    tally.last = {}
    return tally, links
