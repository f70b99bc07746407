"""The contents of a release folder: evidence, what lies beside it, and the manifest."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pramble.data.remote import on_spark
from pramble.outcome import Check, ReleaseOutcome
from pramble.releasing.extras.beside import write_beside, write_synthetic
from pramble.releasing.figures import observed_figures
from pramble.releasing.folder.layout import MANIFEST
from pramble.releasing.folder.manifest import manifest_of, manifest_text
from pramble.releasing.prepare import Prepared
from pramble.releasing.record_design import rules_of
from pramble.releasing.write.data import write_data
from pramble.releasing.write.keys import shuffled
from pramble.releasing.write.tables import write_tables
from pramble.releasing.write.verify import Evidence, Tally, compare, open_written, passed
from pramble.values import Clock

COUNTING, WRITING, SYNTHESIS = 0.25, 0.65, 0.3
"""Shares of the work, for the progress; the rest are checks and pages."""


def write_folder(
    job: Prepared, folder: Path, *, key: bytes, outcome: ReleaseOutcome, clock: Clock
) -> tuple[Prepared, dict[str, Any], ReleaseOutcome]:
    """Write and check the evidence, then all that follows from it; return manifest and outcome.

    The job that is returned has the tables that were chosen meanwhile.
    """
    write = write_tables if job.spec.of_tables else write_records
    complete = job.spec.synthetic or job.spec.of_tables
    share = WRITING - SYNTHESIS if complete else WRITING
    evidence = write(job, folder, key=key, clock=clock.part(COUNTING, share))
    job = replace(job, design=evidence.design)
    synthetic = made = None
    if complete:
        synthetic, made = write_synthetic(
            folder,
            evidence.here,
            None if job.spec.of_tables else job.plan,
            possible=rules_of(job.spec),
            sha256=evidence.entry["sha256"],
            clock=clock.part(COUNTING + share, SYNTHESIS),
        )
    tables = outcome.tables
    if job.spec.of_tables:  # their number, and the number of rows, may follow from the noise
        tables = job.design.accuracy(evidence.rows)
    document = manifest_of(
        job, evidence.entry, synthetic=synthetic, tables=tables, rows=evidence.rows
    )
    document |= write_beside(job, folder, document)
    (folder / MANIFEST).write_text(manifest_text(document), encoding="utf-8")
    outcome = replace(
        outcome,
        **observed_figures(outcome, job, evidence, made),
        tables=tables,
        checks=evidence.checks,
        data_bytes=evidence.entry["bytes"] + (synthetic or {"bytes": 0})["bytes"],
        created=document["created"],
        dry_run=False,
    )
    return job, document, outcome


def write_records(job: Prepared, folder: Path, *, key: bytes, clock: Clock) -> Evidence:
    """Write the randomised records, where the rows are, and judge the file."""
    if job.records.rows_stay:
        tally, entry, checks = on_spark("write_on_spark")(job, folder, key=key, clock=clock)
    else:
        tally, entry, checks = write_here(job, folder, key=key, clock=clock)
    passed(checks)
    here = open_written(folder.absolute() / job.file.name, job.points)
    data: Any = here
    if job.records.rows_stay:
        data = on_spark("SparkFileRecords").of(here, job.records.session)  # type: ignore[attr-defined]
    return Evidence(entry, job.rows, data, here, checks, job.design, tally)


def write_here(
    job: Prepared, folder: Path, *, key: bytes, clock: Clock
) -> tuple[Tally, dict[str, Any], tuple[Check, ...]]:
    """Write the data file on this machine, shuffled if that is decided, and judge it."""
    records = job.records
    if job.spec.is_shuffled:
        records = shuffled(
            records,
            job.names,
            rows=job.rows,
            key=key,
            folder=folder,
            coded=job.plan.columns,
            told=partial(shuffling, clock),
        )
    tally, entry = write_data(job, records, folder, key=key, clock=clock)
    return tally, entry, compare(tally, folder / job.file.name, rows=job.rows)


def shuffling(clock: Clock, rows: int, share: float) -> None:
    """Tell that rows are being brought into their order; writing them is what advances."""
    del rows, share
    clock.tell("shuffling", 0.0)
