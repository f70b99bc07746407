"""A data file of a release written on Spark: each piece by one task, and the whole judged here."""

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from pramble.data.places import remove_tree
from pramble.engine.canonical import Canonical
from pramble.engine.shuffle import piece_boundaries
from pramble.errors import InvalidData, InvalidInput, InvalidPlan, with_values
from pramble.outcome import Check
from pramble.releasing.folder.layout import STEM, DataFile, piece_file
from pramble.releasing.linkage import refuse_links
from pramble.releasing.prepare import Prepared
from pramble.releasing.repair import RepairedRecords
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.value_sample import MOST_KEPT
from pramble.releasing.write.data import bound_record, file_entry
from pramble.releasing.write.verify import Tally, drawn_checks, value_checks
from pramble.spark.piece import (
    ATTEMPTS,
    WRITTEN_PIECES,
    PieceAssignment,
    PieceTask,
    merge_lines,
    merged_pieces,
)
from pramble.spark.records import CHUNKS, SparkRecords, gathered_runs
from pramble.spark.workers import collect, map_partitions
from pramble.values import Clock

ROWS_PER_FILE = 1 << 22
"""Rows of a piece on Spark, unless the plan says otherwise."""

MERGED_TOGETHER = 16
"""Pieces whose counts and samples are merged by a task, where there are more."""

PATIENCE = 5
"""How often leftovers of attempts are removed, in case one of them is still at work."""

OURS = re.compile(r"^pramble\.errors\.\w+: (.+)$", re.MULTILINE)
RAISED = re.compile(
    r"^(?:\w+\.)*(\w+(?:Error|Exception)|KeyboardInterrupt|SystemExit)\b", re.MULTILINE
)


def spec_on_spark(spec: ReleaseSpec) -> ReleaseSpec:
    """Return spec as they hold on Spark: data in pieces; refuse what one machine must do."""
    if spec.output != "parquet":
        raise InvalidPlan(
            f'On Spark a release is written as Parquet; found output = "{spec.output}". '
            'State output = "parquet", or release on one machine.'
        )
    if spec.copies:
        raise InvalidPlan(
            "Copies are single files of all rows, which are not written on Spark. Leave copies "
            "out, or make them of the opened release on one machine."
        )
    return replace(spec, rows_per_file=spec.rows_per_file or ROWS_PER_FILE)


def write_on_spark(
    job: Prepared, folder: Path, *, key: bytes, clock: Clock
) -> tuple[Tally, dict[str, Any], tuple[Check, ...]]:
    """Randomise the records into the pieces of the data file, where the rows are.

    Returns what was counted on the way, what the manifest says of the file, and its checks. Rows
    that are shuffled go to their pieces by their sorting words, and are sorted there.
    """
    records, file = job.records, job.file
    assert isinstance(records, SparkRecords | RepairedRecords), "rows are on Spark"
    size = file.rows_per_file
    assert size is not None, "on Spark data is written in pieces"
    record = bound_record(job, key=key, typed=records.typed)
    work = Canonical(records.schema, record, names=job.names)
    watched = job.spec.watched(work.names) if job.rows > MOST_KEPT else []
    in_order = not job.spec.is_shuffled
    task = PieceTask(work, file, folder.absolute(), watched, in_order)
    (folder / STEM).mkdir(parents=True)
    (folder / ATTEMPTS).mkdir(exist_ok=True)
    coded = tuple(job.plan.columns)
    if in_order:
        frame = records.runs(task, job.names, WRITTEN_PIECES, size=size, rows=job.rows, coded=coded)
    else:
        assign = PieceAssignment(
            piece_boundaries(job.rows, size, key=key), key, records.spans, coded
        )
        chunks = records.sent(assign, job.names, CHUNKS, coded=coded)
        frame = gathered_runs(chunks, task, WRITTEN_PIECES, runs=len(file.files))
    try:
        lines = done_on_spark(merged_on_spark(frame, pieces=len(file.files)), clock)
    finally:
        remove_attempts(folder / ATTEMPTS)
    tally, links = merged_pieces(lines)
    refuse_missing_pieces(file, lines, folder)
    refuse_other_rows(job, tally)
    if links.rows:
        refuse_links(tuple(links.found(rows_per_person=job.design.spent.rows)))
    pieces = [
        {
            "file": piece_file(one["piece"], file.ending),
            **{name: one[name] for name in ("rows", "bytes", "sha256")},
        }
        for one in lines
    ]
    checks = value_checks(job.rows, tally.rows, sum(piece["rows"] for piece in pieces))
    entry = file_entry(file, pieces, form=job.spec.output)
    return tally, entry, (*checks, *drawn_checks(tally))


def done_on_spark(frame: Any, clock: Clock) -> list[dict[str, Any]]:
    """Return one line for each piece, in order; what fails on the cluster is told in a sentence."""
    from pyspark.errors import PySparkException

    try:
        found = collect(frame, lambda _, share: clock.tell("randomising", share))
    except PySparkException as error:
        raise failed_on_spark(str(error)) from error
    lines: list[dict[str, Any]] = sorted(found.to_pylist(), key=itemgetter("piece"))
    return lines


def failed_on_spark(said: str) -> InvalidInput:
    """Return the error for a job that Spark gave up.

    What pramble refused in a task is said as it is; the words of others may hold values of the
    data.
    """
    own = OURS.search(said)
    if own is not None:
        return InvalidData(f"{own[1]} Nothing was released.")
    kinds = RAISED.findall(said)
    kind = f" ({kinds[-1]})" if kinds else ""
    error = InvalidInput(
        f"A task on Spark failed as often as Spark allows{kind}. Nothing was released. The "
        "executors' logs say why; mend it and release again."
    )
    return with_values(error, said)


def merged_on_spark(frame: Any, *, pieces: int) -> Any:
    """Return the lines of many pieces with what was counted merged in groups of them."""
    if pieces <= MERGED_TOGETHER:
        return frame
    group = f"cast(piece div {MERGED_TOGETHER} as int) as group"
    groups = -(-pieces // MERGED_TOGETHER)
    near = frame.selectExpr("*", group).repartitionById(groups, "group")
    return map_partitions(
        near.sortWithinPartitions("piece").drop("group"), merge_lines, WRITTEN_PIECES
    )


def refuse_other_rows(job: Prepared, tally: Tally) -> None:
    """Refuse rows whose values are not, column by column, as often there as when counted."""
    for column in job.design.columns:
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


def refuse_missing_pieces(file: DataFile, lines: Sequence[dict[str, Any]], folder: Path) -> None:
    """Refuse a data file whose pieces are not all there, seen from here."""
    names = file.files
    stated = {piece_file(one["piece"], file.ending): one["bytes"] for one in lines}
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
