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
from pramble.values import Reporter

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
    ready: Prepared, folder: Path, *, key: bytes, outcome: ReleaseOutcome, reporter: Reporter
) -> tuple[Prepared, dict[str, Any], ReleaseOutcome]:
    """Write and check the evidence, then all that follows from it; return manifest and outcome.

    The ready that is returned has the tables that were chosen meanwhile.
    """
    write = write_tables if ready.spec.of_tables else write_records
    complete = ready.spec.synthetic or ready.spec.of_tables
    share = WRITING - SYNTHESIS if complete else WRITING
    evidence = write(ready, folder, key=key, reporter=reporter.part(COUNTING, share))
    ready = replace(ready, design=evidence.design)
    synthetic = made = None
    if complete:
        drawing = reporter.part(COUNTING + share, SYNTHESIS)
        synthetic, made = write_synthetic(ready, folder, evidence, reporter=drawing)
    tables = outcome.tables
    if ready.spec.of_tables:  # their number, and the number of rows, may follow from the noise
        tables = ready.design.accuracy(evidence.rows)
    document = manifest_of(
        ready, evidence.entry, synthetic=synthetic, tables=tables, rows=evidence.rows
    )
    if ready.spec.copies:
        document["copies"] = write_copies(
            Release(folder, document, ready.design.plan), ready.spec.copies
        )
    document["scripts"] = write_scripts(ready, folder)
    (folder / MANIFEST).write_text(manifest_text(document), encoding="utf-8")
    outcome = replace(
        outcome,
        **observed_figures(outcome, ready, evidence, made),
        tables=tables,
        checks=evidence.checks,
        data_bytes=evidence.entry["bytes"] + (synthetic or {"bytes": 0})["bytes"],
        created=document["created"],
        dry_run=False,
    )
    return ready, document, outcome


def published_files(ready: Prepared) -> list[str]:
    evidence = ready.file.files if not ready.spec.of_tables else [TABLES_FILE]
    copies = [copy_name(word, of_tables=ready.spec.of_tables) for word in ready.spec.copies]
    return [*evidence, *copies, SYNTHETIC, *SCRIPTS]


def write_records(ready: Prepared, folder: Path, *, key: bytes, reporter: Reporter) -> Evidence:
    write = on_spark("write_on_spark") if ready.records.rows_stay else write_here
    tally, entry, checks = write(ready, folder, key=key, reporter=reporter)
    passed(checks)
    here = open_written(folder.absolute() / ready.file.name)
    data: Any = here
    if ready.records.rows_stay:
        data = on_spark("SparkFileRecords").of(here, ready.records.session)  # type: ignore[attr-defined]
    return Evidence(entry, ready.rows, data, here, checks, ready.design, tally)


def write_here(
    ready: Prepared, folder: Path, *, key: bytes, reporter: Reporter
) -> tuple[WrittenTally, dict[str, Any], tuple[Check, ...]]:
    records = ready.records
    if ready.spec.is_shuffled:
        records = ShuffledRecords(
            records,
            tuple(ready.names),
            ready.rows,
            key,
            folder,
            ready.plan.columns,
            # Writing is what advances: bringing rows into their order has no share of its own.
            lambda rows, share: reporter.report("shuffling", 0.0),  # noqa: ARG005
        )
    tally, entry = write_data(ready, records, folder, key=key, reporter=reporter)
    return tally, entry, compare(tally, folder / ready.file.name, rows=ready.rows)


def write_tables(ready: Prepared, folder: Path, *, key: bytes, reporter: Reporter) -> Evidence:
    """Measure the tables once, write them, and read them again."""
    assert isinstance(ready.design, TableReleaseDesign), "asked for where there are tables"
    measured = measure_records(
        ready.records,
        ready.design.plan,
        key=key,
        person=ready.spec.person,
        nulls=ready.design.nulls,
        reporter=reporter,
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
    design = ready.design.with_tables_of(measured.plan)
    return Evidence(entry, measured.total, measured, measured, (check,), design)


def write_synthetic(
    ready: Prepared, folder: Path, evidence: Evidence, *, reporter: Reporter
) -> tuple[dict[str, Any], Synthesis]:
    """Write complete records from the evidence; return what the manifest says, and their fit.

    The seed follows from the SHA-256 of the evidence, so that every reader can draw the same.
    """
    # A seed drawn anew would make every release of one evidence different for no reason.
    seed = int(hashlib.sha256(evidence.entry["sha256"].encode()).hexdigest()[:12], 16)
    made = synthesis(
        evidence.here,
        None if ready.spec.of_tables else ready.plan,
        seed=seed,
        possible=rules_of(ready.spec),
        progress=lambda done: reporter.report(done.what, done.share),
    )
    save_table(made.frame, folder / SYNTHETIC)
    stated = stated_file(folder, SYNTHETIC, "parquet")
    facts = {"rows": made.rows, "seed": seed, "sentence": ABOUT_COMPLETE, "notes": list(made.notes)}
    return {**stated, **facts}, made
