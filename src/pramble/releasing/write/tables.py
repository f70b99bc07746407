"""The contents of a folder of protected tables: measured once, written, read again."""

from pathlib import Path

import numpy as np
from pyarrow import parquet

from pramble.data.places import arrow_input
from pramble.data.save import save_table
from pramble.engine.measure import measure_records
from pramble.errors import WriteFailed
from pramble.mechanisms.measured import Measured
from pramble.outcome import Check
from pramble.releasing.extras.beside import TABLES
from pramble.releasing.folder.layout import file_sha256
from pramble.releasing.prepare import Prepared
from pramble.releasing.table_design import TablesDesign, with_tables_of
from pramble.releasing.write.verify import Evidence
from pramble.values import Clock

SENTENCE = (
    "One row for each cell of each protected table: its labels, the protected count, the standard "
    "deviation of its noise, and the exact number behind it."
)


def write_tables(job: Prepared, folder: Path, *, key: bytes, clock: Clock) -> Evidence:
    """Measure the tables once, write them, and judge the file."""
    assert isinstance(job.design, TablesDesign), "asked for where there are tables"
    measured = measure_records(
        job.records,
        job.design.plan,
        key=key,
        person=job.spec.person,
        nulls=job.design.nulls,
        clock=clock,
    )
    path = folder / TABLES
    save_table(measured.to_table(), path)
    entry = {
        "file": TABLES,
        "format": "parquet",
        "bytes": path.stat().st_size,
        "sha256": file_sha256(path),
        "sentence": SENTENCE,
    }
    check = read_again(measured, path)
    design = with_tables_of(job.design, measured.plan)
    return Evidence(entry, measured.total, measured, measured, (check,), design)


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
