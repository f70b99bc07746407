"""What a task on Spark does: write one piece of a data file, check it, and give it its name."""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from pramble.data.arrays import even_batches
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.save import sync
from pramble.engine.canonical import Canonical
from pramble.engine.shuffle import (
    FIRST,
    GATHERED_CELLS,
    LAST,
    PieceBoundaries,
    in_word_order,
    sorting_words,
    taken,
    with_codes,
    words_of,
)
from pramble.errors import PrambleError
from pramble.releasing.folder.layout import DataFile, file_sha256, piece_file
from pramble.releasing.linkage import Links
from pramble.releasing.value_sample import MOST_KEPT
from pramble.releasing.write.data import merged, write_piece
from pramble.releasing.write.verify import Tally, compare_values, passed
from pramble.spark.records import chunk_line, counted
from pramble.values import value

ATTEMPTS = ".attempts"
"""The folder, in the one that is built, in which tasks write before a piece gets its name."""

WRITTEN_PIECES = "piece int, rows long, bytes long, sha256 string, state binary"
KINDS = (pa.int32(), pa.int64(), pa.int64(), pa.string(), pa.binary())
LINE = pa.schema(zip(("piece", "rows", "bytes", "sha256", "state"), KINDS, strict=True))
"""What is said of a written piece; the state is what was counted and sampled, or an error."""


@value(eq=False)
class PieceTask:
    """Writes the pieces of a data file: a task for runs of rows."""

    work: Canonical
    file: DataFile
    folder: Path  # the folder that is built, which driver and workers share
    watched: Sequence[str]  # untouched columns that must not tell protected ones
    in_order: bool  # whether rows come in order; else sorting words come with them

    def __call__(self, batches: Iterable[Any], piece: int) -> Iterator[Any]:
        """Yield one line: what the manifest says of a piece and what was counted, or an error."""
        rows, size, sha256, state = 0, 0, "", b""
        try:
            tally, links, size, sha256 = self.written(batches, piece)
            rows, state = tally.rows, pickle.dumps((tally, links))
        except PrambleError as error:
            state = pickle.dumps(error)
        yield written_line(piece, rows, size, sha256, state)

    def written(self, batches: Iterable[Any], piece: int) -> tuple[Tally, Links, int, str]:
        """Write a piece under a name of this attempt's own, check it, and move it into place.

        Attempts of the same piece write the same bytes, so it does not matter which one is last.
        """
        size = self.file.rows_per_file
        assert size is not None, "on Spark data is written in pieces"
        target = self.folder / piece_file(piece, self.file.ending)
        attempt = self.folder / ATTEMPTS / f"{uuid4().hex}{self.file.ending}"
        source = batches if self.in_order else sorted_rows(batches, self.work.names)
        try:
            tally, links = write_piece(
                self.work,
                even_batches(source, BATCH_ROWS),
                attempt,
                first_row=piece * size,
                watched=self.watched,
            )
            passed(compare_values(tally, attempt, rows=min(size, self.file.rows - piece * size)))
            sync(attempt)
            found = attempt.stat().st_size, file_sha256(attempt)
            attempt.replace(target)
        finally:
            attempt.unlink(missing_ok=True)
        tally.digests = {name: [] for name in tally.names}
        if links.kept:
            links.thin(sample_step(self.file.rows))
        return tally, links, *found


def written_line(*values: Any) -> Any:
    """Return what is said of a written piece, as one line of a frame."""
    return pa.RecordBatch.from_arrays(
        [pa.array([one], kind) for one, kind in zip(values, LINE.types, strict=True)], schema=LINE
    )


def merged_pieces(lines: Sequence[Mapping[str, Any]]) -> tuple[Tally, Links]:
    """Return what was counted and sampled in all pieces; raise the first error of a task."""
    return merged(states_of(lines))


def states_of(lines: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Tally, Links]]:
    """Yield what was counted and sampled; where there is nothing, it is in that of a piece before.

    An error is raised.
    """
    for one in lines:
        state = pickle.loads(one["state"]) if one["state"] else None  # noqa: S301 (our workers')
        if isinstance(state, PrambleError):
            raise state
        if state is not None:
            yield state


def merge_lines(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the lines of some pieces with all that was counted in the first line, or an error."""
    lines = [one for batch in batches for one in batch.to_pylist()]
    if not lines:
        return
    try:
        state = pickle.dumps(merged_pieces(lines))
    except PrambleError as error:
        state = pickle.dumps(error)
    for place, one in enumerate(lines):
        yield written_line(*list(one.values())[:-1], b"" if place else state)


def sample_step(rows: int) -> int:
    """Return of how many rows a sample of all rows takes one, at least.

    >>> sample_step(MOST_KEPT), sample_step(MOST_KEPT + 1)
    (1, 2)
    """
    return 1 << max(-(-rows // MOST_KEPT) - 1, 0).bit_length()


def sorted_rows(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
    """Yield the rows of a piece sorted by their sorting words."""
    table = pa.Table.from_batches(list(batches)).unify_dictionaries()
    whole = taken(table, in_word_order(words_of(table)))
    del table
    named = whole.select(range(len(names))).rename_columns(list(names))
    yield from named.to_batches(max_chunksize=BATCH_ROWS)


@value(eq=False)
class PieceAssignment:
    """Sends every row to the piece that it has in a secret order: a task for parts of the rows."""

    boundaries: PieceBoundaries
    key: bytes
    spans: Mapping[int, range]
    coded: tuple[str, ...]

    def __call__(self, batches: Iterable[Any], part: int) -> Iterator[Any]:
        """Yield chunks of rows with their sorting words, each bound for a piece."""
        span = self.spans.get(part, range(0))
        row = span.start
        for batch in gathered_rows(counted(batches, len(span), part)):
            words = sorting_words(range(row, row + batch.num_rows), key=self.key)
            pieces = self.boundaries.pieces(words, row)
            order = pieces.argsort(kind="stable")
            known = with_codes(batch, self.coded)
            names = [*map(str, range(known.num_columns)), FIRST, LAST]
            sorted_rows = taken(
                pa.table([*known.columns, *map(pa.array, words)], names=names), order
            )
            for piece, start, stop in stretches(pieces[order]):
                own = sorted_rows.slice(start, stop - start).combine_chunks().to_batches()[0]
                yield chunk_line(piece, row, own)
            row += batch.num_rows


def gathered_rows(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield batches joined into larger ones, so that what goes to a piece is not tiny."""
    found = iter(batches)
    first = next(found, None)
    if first is None:
        return
    rows = max(GATHERED_CELLS // max(first.num_columns, 1), 1)

    def all_of() -> Iterator[Any]:
        yield first
        yield from found

    yield from even_batches(all_of(), rows)


def stretches(numbers: Any) -> Iterator[tuple[int, int, int]]:
    """Yield each of some sorted numbers with the places at which it begins and ends.

    >>> import numpy as np
    >>> list(stretches(np.array([3, 3, 7])))
    [(3, 0, 2), (7, 2, 3)]
    """
    if len(numbers):
        ends = [*((numbers[1:] != numbers[:-1]).nonzero()[0] + 1).tolist(), len(numbers)]
        for start, stop in zip([0, *ends], ends, strict=False):
            yield int(numbers[start]), start, stop
