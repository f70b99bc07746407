"""The contents of a folder of protected tables: measured once, written, read again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet

from pramble.data.places import arrow_input
from pramble.data.save import save_table
from pramble.engine.measure import measure_records
from pramble.errors import WriteFailed
from pramble.mechanisms.measured import Measured
from pramble.outcome import Check, ReleaseOutcome
from pramble.releasing.accuracy import outcomes_of_tables
from pramble.releasing.extras.beside import TABLES, write_beside
from pramble.releasing.extras.synthetic import write_synthetic
from pramble.releasing.folder.layout import MANIFEST, file_sha256
from pramble.releasing.folder.manifest import manifest_of, manifest_text
from pramble.releasing.prepare import Prepared
from pramble.releasing.record_design import rules_of
from pramble.releasing.record_figures import expected_tables, observed_columns
from pramble.releasing.table_design import with_tables_of
from pramble.values import Clock

SENTENCE = (
    "One row for each cell of each protected table: its labels, the protected count, the standard "
    "deviation of its noise, and the exact number behind it."
)
MEASURING, DRAWING = 0.5, 0.4
"""Shares of the work, for the progress, after the file was counted."""


def write_tables(
    job: Prepared, folder: Path, *, key: bytes, outcome: ReleaseOutcome, clock: Clock
) -> tuple[Prepared, dict[str, Any], ReleaseOutcome]:
    """Measure, write and check the tables, draw complete records, and write the manifest.

    The job that is returned has the tables that were chosen meanwhile.
    """
    protected = job.protected
    assert protected is not None, "asked for where there are tables"
    measured = measure_records(
        job.records,
        protected.plan,
        key=key,
        person=job.spec.person,
        nulls=protected.nulls,
        clock=clock.part(0.25, 0.35),
    )
    protected = with_tables_of(protected, measured.plan)
    job = replace(job, protected=protected)
    path = folder / TABLES
    save_table(measured.to_table(), path)
    entry: dict[str, Any] = {
        "file": TABLES,
        "format": "parquet",
        "bytes": path.stat().st_size,
        "sha256": file_sha256(path),
        "sentence": SENTENCE,
    }
    check = read_again(measured, path)
    synthetic, made = write_synthetic(
        folder,
        measured,
        possible=rules_of(job.spec),
        sha256=entry["sha256"],
        clock=clock.part(0.6, 0.3),
    )
    tables = outcomes_of_tables(protected, rows=measured.total)  # the number of rows may be secret
    document = manifest_of(job, entry, synthetic=synthetic, tables=tables, total=measured.total)
    document |= write_beside(job, folder, document)
    (folder / MANIFEST).write_text(manifest_text(document), encoding="utf-8")
    expected = expected_tables(job)
    assert expected is not None, "asked for where there are tables"
    distances = [fit.mean * made.rows for fit in made.fits]
    return (
        job,
        document,
        replace(
            outcome,
            total=measured.total,
            tables=tables,
            protected=replace(
                expected,
                columns=observed_columns(expected.columns, measured),
                fit=float(np.mean(distances)) if distances else 0.0,
            ),
            checks=(check,),
            data_bytes=entry["bytes"] + synthetic["bytes"],
            created=document["created"],
            dry_run=False,
        ),
    )


def read_again(measured: Measured, path: Path) -> Check:
    """Compare the written tables, number by number, with what was measured."""
    found = Measured.from_table(
        parquet.read_table(arrow_input(path)), measured.plan, measured.total
    )
    same = all(np.array_equal(found.parts[part], own) for part, own in measured.parts.items())
    cells = sum(own.size for own in measured.parts.values())
    if not same:
        raise WriteFailed("The written tables are not what was measured. Nothing was released.")
    return Check("tables as they were measured", passed=True, detail=f"{cells:,} cells read again")
