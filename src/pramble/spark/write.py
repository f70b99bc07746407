"""A data file of a release written on Spark: each piece by one task, and the whole verified."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from pramble.data.arrays import even_batches
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.places import remove_tree
from pramble.data.save import sync
from pramble.engine.files import Canonical
from pramble.engine.shuffle import (
    FIRST,
    GATHERED_CELLS,
    LAST,
    PieceBoundaries,
    in_word_order,
    piece_boundaries,
    sorting_words,
    sorting_words_in,
    taken,
    with_dictionaries,
)
from pramble.errors import InvalidData, InvalidInput, PrambleError
from pramble.outcome import Check
from pramble.releasing.folder.layout import STEM, DataFile, file_sha256, piece_file
from pramble.releasing.linkage import Links
from pramble.releasing.prepare import Prepared
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.value_sample import MOST_SAMPLED
from pramble.releasing.write.data import data_entry, merge_pieces, write_piece, writer_of
from pramble.releasing.write.verify import (
    WrittenTally,
    compare_values,
    drawn_checks,
    refuse_failed,
    value_checks,
)
from pramble.spark.records import CHUNKS, SparkRecords, chunk_line, counted, gathered_runs
from pramble.spark.workers import ANSWERS, answer_line, answers_in
from pramble.values import Reporter, frozen

# The folder, in the one that is built, in which tasks write before a piece gets its name.
ATTEMPTS = ".attempts"


@frozen(eq=False)
class PieceTask:
    """Writes the pieces of a data file: a task for runs of rows."""

    work: Canonical
    file: DataFile
    folder: Path  # the folder that is built, which driver and workers share
    watched: Sequence[str]  # untouched columns that must not tell protected ones
    in_order: bool  # whether rows come in order; else sorting words come with them

    def __call__(self, batches: Iterable[Any], piece: int) -> Iterator[Any]:
        made: Any
        try:
            made = self.written(batches, piece)
        except PrambleError as error:
            made = error
        yield answer_line(piece, made)

    def written(
        self, batches: Iterable[Any], piece: int
    ) -> tuple[WrittenTally, Links, dict[str, Any]]:
        """Write a piece under a name of this attempt's own, check it, and move it into place.

        Attempts of the same piece write the same bytes, so it does not matter which one is last.
        """
        size = self.file.rows_per_file
        assert size is not None, "on Spark data is written in pieces"
        name = piece_file(piece)
        attempt = self.folder / ATTEMPTS / f"{uuid4().hex}.parquet"
        source = batches if self.in_order else sorted_rows(batches, self.work.names)
        try:
            tally, links = write_piece(
                self.work,
                even_batches(source, BATCH_ROWS),
                attempt,
                first_row=piece * size,
                watched=self.watched,
            )
            refuse_failed(
                compare_values(tally, attempt, rows=min(size, self.file.rows - piece * size))
            )
            sync(attempt)
            length, sha256 = attempt.stat().st_size, file_sha256(attempt)
            attempt.replace(self.folder / name)
        finally:
            attempt.unlink(missing_ok=True)
        tally.digests = {name: [] for name in tally.names}
        if links.sampled:  # so that the samples of all pieces together are one sample
            step = 1 << max(-(-self.file.rows // MOST_SAMPLED) - 1, 0).bit_length()
            links.thin(step, values=True)
        entry = {"file": name, "rows": tally.rows, "bytes": length, "sha256": sha256}
        return tally, links, entry


def sorted_rows(batches: Iterable[Any], names: Sequence[str]) -> Iterator[Any]:
    table = pa.Table.from_batches(list(batches)).unify_dictionaries()
    whole = taken(table, in_word_order(sorting_words_in(table)))
    del table
    named = whole.select(range(len(names))).rename_columns(list(names))
    yield from named.to_batches(max_chunksize=BATCH_ROWS)


@frozen(eq=False)
class PieceAssignment:
    """Sends every row to the piece that it has in a secret order: a task for parts of the rows."""

    boundaries: PieceBoundaries
    key: bytes
    spans: Mapping[int, range]
    coded: tuple[str, ...]
    columns: int  # how many are read

    def __call__(self, batches: Iterable[Any], part: int) -> Iterator[Any]:
        span = self.spans.get(part, range(0))
        row = span.start
        # larger batches, so that what goes to a piece is not tiny
        rows = max(GATHERED_CELLS // self.columns, 1)
        for batch in even_batches(counted(batches, len(span), part), rows):
            words = sorting_words(range(row, row + batch.num_rows), key=self.key)
            pieces = self.boundaries.pieces(words, row)
            order = pieces.argsort(kind="stable")
            known = with_dictionaries(batch, self.coded)
            names = [*map(str, range(known.num_columns)), FIRST, LAST]
            sorted_rows = taken(
                pa.table([*known.columns, *map(pa.array, words)], names=names), order
            )
            found, starts = np.unique(pieces[order], return_index=True)
            ends = [*starts[1:].tolist(), len(order)]
            for piece, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
                own = sorted_rows.slice(start, end - start).combine_chunks().to_batches()[0]
                yield chunk_line(piece, row, own)
            row += batch.num_rows


# Rows of a piece on Spark, unless the plan says otherwise.
ROWS_PER_FILE = 1 << 22

# How often leftovers of attempts are removed, in case one of them is still at work.
PATIENCE = 5


def spec_on_spark(spec: ReleaseSpec) -> ReleaseSpec:
    """Return the settings that hold on Spark: data in pieces; refuse what one machine must do."""
    return replace(spec, rows_per_file=spec.rows_per_file or ROWS_PER_FILE)


def write_on_spark(
    prepared: Prepared, folder: Path, *, key: bytes, reporter: Reporter
) -> tuple[WrittenTally, dict[str, Any], tuple[Check, ...]]:
    """Randomise the records into the pieces of the data file, where the rows are.

    Returns what was counted on the way, what the manifest says of the file, and its checks. Rows
    that are shuffled go to their pieces by their sorting words, and are sorted there.
    """
    records, file = prepared.records, prepared.file
    assert isinstance(records, SparkRecords), "rows are on Spark"
    size = file.rows_per_file
    assert size is not None, "on Spark data is written in pieces"
    work, watched = writer_of(prepared, records, key=key)
    in_order = not prepared.spec.is_shuffled
    task = PieceTask(work, file, folder.absolute(), watched, in_order)
    (folder / STEM).mkdir(parents=True)
    (folder / ATTEMPTS).mkdir(exist_ok=True)
    coded = tuple(prepared.plan.columns)
    if in_order:
        frame = records.runs(
            task, prepared.names, ANSWERS, size=size, rows=prepared.rows, coded=coded
        )
    else:
        assign = PieceAssignment(
            piece_boundaries(prepared.rows, size, key=key),
            key,
            records.spans,
            coded,
            len(prepared.names),
        )
        chunks = records.sent(assign, prepared.names, CHUNKS, coded=coded)
        frame = gathered_runs(chunks, task, ANSWERS, runs=len(file.files))
    try:
        answers = [made for _, _, made in answers_in(frame)]
    finally:
        remove_attempts(folder / ATTEMPTS)
    reporter.report("randomising", 1.0)
    for made in answers:
        if isinstance(made, PrambleError):
            raise made
    tally, links = merge_pieces((tally, links) for tally, links, _ in answers)
    pieces = [entry for *_, entry in answers]
    refuse_missing_pieces(file, pieces, folder)
    refuse_other_rows(prepared, tally)
    checks = value_checks(prepared.rows, tally.rows, sum(piece["rows"] for piece in pieces))
    return tally, data_entry(prepared, links, pieces), (*checks, *drawn_checks(tally))


def refuse_other_rows(prepared: Prepared, tally: WrittenTally) -> None:
    """Refuse rows whose values are not, column by column, as often there as when counted."""
    for column in prepared.design.columns:
        if column.name not in tally.before:
            continue
        labels = tally.labels[column.name].labels.values
        found = dict(zip(labels, tally.before[column.name].tolist(), strict=True))
        if found != dict(zip(column.labels, column.counts, strict=True)):
            raise InvalidData(
                f"Rows must stand still: column {column.name!r} held other values when they were "
                "counted than when they were drawn. Write the frame to files first, and release "
                "those. Nothing was released."
            )


def refuse_missing_pieces(
    file: DataFile, pieces: Sequence[Mapping[str, Any]], folder: Path
) -> None:
    """Refuse a data file whose pieces are not all there, seen from here."""
    names, stated = file.files, {piece["file"]: piece["bytes"] for piece in pieces}
    paths = {name: folder / name for name in names}
    found = {name: path.stat().st_size for name, path in paths.items() if path.is_file()}
    if not list(stated) == names == list(found) or found != stated:
        raise InvalidInput(
            f"Tasks on Spark wrote {len(stated)} pieces of {file.name!r}, and {len(found)} of "
            f"{len(names)} are found here as they were written. Release to a folder that driver "
            "and workers share. Nothing was released."
        )


def remove_attempts(folder: Path) -> None:
    """Remove what attempts left; one that is still at work can then no longer name a piece."""
    for again in range(PATIENCE):
        remove_tree(folder, ignore_errors=again < PATIENCE - 1)
        if not folder.exists():
            return
        time.sleep(0.1)
