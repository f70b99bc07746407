"""The contents of a release folder: evidence, what is made from it alone, and the manifest."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet

from pramble.data.places import arrow_input
from pramble.data.remote import on_spark
from pramble.data.save import save_table
from pramble.engine.measure import measure_records
from pramble.engine.shuffle import ShuffledRecords
from pramble.errors import WriteFailed
from pramble.estimation.draws.synthesize import Synthesis, synthesis
from pramble.mechanisms.measured import Measured
from pramble.outcome import Check, ReleaseOutcome
from pramble.releasing.design import rules_of
from pramble.releasing.figures import observed_figures
from pramble.releasing.folder.layout import (
    MANIFEST,
    SCRIPTS,
    SYNTHETIC,
    TABLES_FILE,
    open_written,
    stated_file,
)
from pramble.releasing.folder.manifest import manifest_of, manifest_text
from pramble.releasing.folder.open import Release
from pramble.releasing.prepare import Prepared
from pramble.releasing.table_design import TableReleaseDesign
from pramble.releasing.write.copies import copy_name, write_copies
from pramble.releasing.write.data import write_data
from pramble.releasing.write.scripts import write_scripts
from pramble.releasing.write.verify import Evidence, WrittenTally, compare, passed
from pramble.values import Clock

# Shares of the work, for the progress; the rest are checks and pages.
COUNTING, WRITING, SYNTHESIS = 0.25, 0.65, 0.3

ABOUT_TABLES = (
    "One row for each cell of each protected table: its labels, the protected count, the standard "
    "deviation of its noise, and the exact number behind it."
)
ABOUT_COMPLETE = (
    "Complete records whose tables fit the release, drawn from it alone: they reveal nothing "
    "beyond it. They do not show their own errors; estimates and intervals come from the evidence "
    "in the release."
)


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
        clock_of_draws = clock.part(COUNTING + share, SYNTHESIS)
        synthetic, made = write_synthetic(job, folder, evidence, clock=clock_of_draws)
    tables = outcome.tables
    if job.spec.of_tables:  # their number, and the number of rows, may follow from the noise
        tables = job.design.accuracy(evidence.rows)
    document = manifest_of(
        job, evidence.entry, synthetic=synthetic, tables=tables, rows=evidence.rows
    )
    if job.spec.copies:
        document["copies"] = write_copies(
            Release(folder, document, job.design.plan), job.spec.copies
        )
    document["scripts"] = write_scripts(job, folder)
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


def published_files(job: Prepared) -> list[str]:
    evidence = job.file.files if not job.spec.of_tables else [TABLES_FILE]
    copies = [copy_name(word, of_tables=job.spec.of_tables) for word in job.spec.copies]
    return [*evidence, *copies, SYNTHETIC, *SCRIPTS]


def write_records(job: Prepared, folder: Path, *, key: bytes, clock: Clock) -> Evidence:
    write = on_spark("write_on_spark") if job.records.rows_stay else write_here
    tally, entry, checks = write(job, folder, key=key, clock=clock)
    passed(checks)
    here = open_written(folder.absolute() / job.file.name)
    data: Any = here
    if job.records.rows_stay:
        data = on_spark("SparkFileRecords").of(here, job.records.session)  # type: ignore[attr-defined]
    return Evidence(entry, job.rows, data, here, checks, job.design, tally)


def write_here(
    job: Prepared, folder: Path, *, key: bytes, clock: Clock
) -> tuple[WrittenTally, dict[str, Any], tuple[Check, ...]]:
    records = job.records
    if job.spec.is_shuffled:
        records = ShuffledRecords(
            records,
            tuple(job.names),
            job.rows,
            key,
            folder,
            job.plan.columns,
            # Writing is what advances: bringing rows into their order has no share of its own.
            lambda rows, share: clock.tell("shuffling", 0.0),  # noqa: ARG005
        )
    tally, entry = write_data(job, records, folder, key=key, clock=clock)
    return tally, entry, compare(tally, folder / job.file.name, rows=job.rows)


def write_tables(job: Prepared, folder: Path, *, key: bytes, clock: Clock) -> Evidence:
    """Measure the tables once, write them, and read them again."""
    assert isinstance(job.design, TableReleaseDesign), "asked for where there are tables"
    measured = measure_records(
        job.records,
        job.design.plan,
        key=key,
        person=job.spec.person,
        nulls=job.design.nulls,
        clock=clock,
    )
    path = folder / TABLES_FILE
    save_table(measured.to_table(), path)
    entry = {**stated_file(folder, TABLES_FILE, "parquet"), "sentence": ABOUT_TABLES}
    written = parquet.read_table(arrow_input(path))
    found = Measured.from_table(written, measured.plan, measured.total)
    if not all(np.array_equal(found.parts[part], own) for part, own in measured.parts.items()):
        raise WriteFailed("The written tables are not what was measured. Nothing was released.")
    cells = sum(own.size for own in measured.parts.values())
    check = Check("tables as they were measured", passed=True, detail=f"{cells:,} cells read again")
    design = job.design.with_tables_of(measured.plan)
    return Evidence(entry, measured.total, measured, measured, (check,), design)


def write_synthetic(
    job: Prepared, folder: Path, evidence: Evidence, *, clock: Clock
) -> tuple[dict[str, Any], Synthesis]:
    """Write complete records from the evidence; return what the manifest says, and their fit.

    The seed follows from the SHA-256 of the evidence, so that every reader can draw the same.
    """
    # A seed drawn anew would make every release of one evidence different for no reason.
    seed = int(hashlib.sha256(evidence.entry["sha256"].encode()).hexdigest()[:12], 16)
    made = synthesis(
        evidence.here,
        None if job.spec.of_tables else job.plan,
        seed=seed,
        possible=rules_of(job.spec),
        progress=lambda done: clock.tell(done.what, done.share),
    )
    save_table(made.frame, folder / SYNTHETIC)
    stated = stated_file(folder, SYNTHETIC, "parquet")
    facts = {"rows": made.rows, "seed": seed, "sentence": ABOUT_COMPLETE, "notes": list(made.notes)}
    return {**stated, **facts}, made
