"""The contents of a release folder: data written and checked, what lies beside it, the manifest."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pramble.data.records import Records
from pramble.data.remote import on_spark
from pramble.outcome import Check, ReleaseOutcome
from pramble.releasing.extras.beside import write_beside
from pramble.releasing.extras.synthetic import write_synthetic
from pramble.releasing.figures import observed_figures, observed_risk
from pramble.releasing.folder.layout import MANIFEST
from pramble.releasing.folder.manifest import manifest_of, manifest_text
from pramble.releasing.prepare import Prepared
from pramble.releasing.record_figures import observed_record
from pramble.releasing.write.data import write_data
from pramble.releasing.write.keys import shuffled
from pramble.releasing.write.verify import Tally, compare, open_written, passed
from pramble.values import Clock

COUNTING, WRITING = 0.25, 0.65
SYNTHESIS = 0.88
"""Shares of the work, for the progress; the rest are checks and pages."""


def write_folder(
    job: Prepared, folder: Path, *, key: bytes, outcome: ReleaseOutcome, clock: Clock
) -> tuple[dict[str, Any], ReleaseOutcome]:
    """Write and check the data, then the manifest; return it and the outcome."""
    write = on_spark("write_on_spark") if job.records.rows_stay else write_here
    tally, entry, found = write(job, folder, key=key, clock=clock.part(COUNTING, WRITING))
    checks = passed(found)
    synthetic = None
    if job.spec.synthetic:
        synthetic, _ = write_synthetic(
            folder,
            data_in(folder, job, here=True),
            job.plan,
            sha256=entry["sha256"],
            clock=clock.part(SYNTHESIS, 0.02),
        )
    document = manifest_of(job, entry, synthetic=synthetic, tables=outcome.tables)
    document |= write_beside(job, folder, document)
    (folder / MANIFEST).write_text(manifest_text(document), encoding="utf-8")
    after, changed = tally.after, tally.changed
    return document, replace(
        outcome,
        columns=tuple(observed_figures(c, after[c.name], changed[c.name]) for c in outcome.columns),
        record=outcome.record
        and observed_record(
            outcome.record,
            data_in(folder, job),
            counted={} if job.record is None else job.record.counted,
            rows=job.rows,
        ),
        risk=outcome.risk and observed_risk(outcome.risk, data_in(folder, job), job.plan),
        checks=checks,
        data_bytes=entry["bytes"],
        created=document["created"],
        dry_run=False,
    )


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


def data_in(folder: Path, job: Prepared, *, here: bool = False) -> Records:
    """Return where the data lies, as an analyst would hand it to an estimate.

    What was written on Spark is read there, unless it is wanted here.
    """
    records: Records = open_written(folder.absolute() / job.file.name, job.points)
    if job.records.rows_stay and not here:
        session = job.records.session  # type: ignore[attr-defined]
        records = on_spark("SparkFileRecords").of(records, session)
    return records
