"""Writing copies beside the data of a release, and refusing before what they cannot hold."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.formats.registry import CSV, EXCEL
from pramble.data.labels import Labels
from pramble.data.save import writing
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.extras.kinds import (
    KINDS,
    Kind,
    refuse_labels,
    refuse_library,
    refuse_size,
    refuse_type,
    refuse_values,
)
from pramble.releasing.extras.writers import write_statistics, write_workbook
from pramble.releasing.folder.layout import STEM, file_sha256
from pramble.releasing.folder.open import Release
from pramble.releasing.folder.reading import data_of, points_in
from pramble.releasing.prepare import Prepared
from pramble.releasing.write.verify import open_written

CODED = (
    "The same records. Randomised texts are whole numbers with value labels, in the order of the "
    "plan; system missing is a cell that is blank or missing in the data. Variables have the names "
    "of their columns as labels."
)
SENTENCES = {
    "csv": "The same records as text; an empty cell is blank or missing in the data.",
    "stata": CODED,
    "spss": CODED,
    "excel": (
        "The same records; an empty cell is blank or missing in the data. Times are to the "
        "millisecond."
    ),
}


COMPLETE = "synthetic"
"""The name of the file of complete records without its ending."""


def copy_name(word: str, *, of: str = STEM) -> str:
    """Return the name of a copy of the data file, or of the complete records.

    >>> copy_name("stata"), copy_name("csv", of="synthetic")
    ('data.dta', 'synthetic.csv')
    """
    return of + KINDS[word].form.endings[0]


def copy_names(job: Prepared) -> list[str]:
    of = STEM if job.protected is None else COMPLETE
    return [copy_name(word, of=of) for word in job.spec.copies]


def check_copies(job: Prepared) -> None:
    """Refuse copies that cannot hold the release, before anything is written.

    What is looked at is public once released: the number of rows, names, what the plan may release,
    and the columns that are released as they are.
    """
    kinds = [KINDS[word] for word in job.spec.copies]
    labels = released_labels(job.published)
    types = {field.name: field.type for field in job.records.schema}
    for kind in kinds:
        refuse_library(kind)
        refuse_size(kind, rows=job.rows, names=job.names)
        for name, own in labels.items():
            refuse_labels(kind, name, own)
        for name in job.untouched:
            refuse_type(kind, name, types[name])
    if any(kind.form is not CSV for kind in kinds) and job.untouched:
        for batch in job.records.batches(list(job.untouched)):
            refuse_batch(kinds, batch, job.untouched)


def refuse_batch(kinds: Sequence[Kind], batch: Any, names: Sequence[str]) -> None:
    """Refuse values of untouched columns that a copy cannot hold."""
    for kind in kinds:
        for name in names:
            refuse_values(kind, name, batch[name])


def write_copies(release: Release, words: Sequence[str]) -> list[dict[str, Any]]:
    """Write copies of the data in a folder, and return what the manifest says of each.

    They are made from the written data and the plan, and from nothing else.
    """
    return [write_copy(release, word) for word in words]


def with_numbers(table: Any, path: Path, names: Sequence[str]) -> Any:
    """Return a table with some bands as the numbers that the data file has for them."""
    if not names:
        return table
    records = open_written(path)
    written = pa.Table.from_batches(list(records.batches(list(names))))
    for name in names:
        values = written[name]
        if not records.typed:
            values = pc.if_else(pc.equal(values, ""), None, values).cast(pa.float64())
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def released_labels(plan: Plan | TablePlan) -> dict[str, Labels]:
    """Return what may stand in each protected column."""
    if isinstance(plan, TablePlan):
        return dict(plan.labels)
    return {name: own.released for name, own in plan.column_labels().items()}


def write_copy(release: Release, word: str) -> dict[str, Any]:
    """Write one copy of the data file, or of the complete records, as one file."""
    complete = isinstance(release.plan, TablePlan)
    kind, file = KINDS[word], copy_name(word, of=COMPLETE if complete else STEM)
    assert release.folder is not None, "copies lie in a folder"
    stated = release.manifest["synthetic"] if complete else data_of(release.manifest)
    path, source = release.folder / file, release.folder / stated["file"]
    names: Mapping[str, Any] = {}
    if kind.form is CSV:
        records = open_written(source)
        with writing(path, CSV, records.schema) as writer:
            for batch in records.batches():
                writer.write(batch)
    else:
        points = points_in(release.manifest)
        table = with_numbers(release.synthetic if complete else release.data, source, list(points))
        known = released_labels(release.plan).items()
        labels = {name: own for name, own in known if name not in points}
        others = [name for name in table.column_names if name not in labels]
        for name in others:
            refuse_type(kind, name, table[name].type)
        refuse_batch([kind], table.select(others).combine_chunks(), others)
        if kind.form is EXCEL:
            write_workbook(path, table)
        else:
            names = {"columns": write_statistics(kind, path, table, labels)}
    return {
        "file": file,
        "format": word,
        "bytes": path.stat().st_size,
        "sha256": file_sha256(path),
        "sentence": SENTENCES[word],
        **names,
    }
