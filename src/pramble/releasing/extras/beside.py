"""What lies beside the evidence of a release: copies, complete records, and scripts.

All are made from the release alone. What a format of copies cannot hold is refused before anything
is written.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain_texts, text_of_label, value_type, without_dictionary
from pramble.data.formats.base import Format
from pramble.data.formats.delimited import as_text
from pramble.data.formats.registry import CSV, EXCEL, SPSS, STATA
from pramble.data.labels import Labels
from pramble.data.save import save_table, writing
from pramble.errors import InvalidData
from pramble.estimation.draws.synthesize import Synthesis, synthesis
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.extras.scripts import write_scripts
from pramble.releasing.extras.writers import write_statistics, write_workbook
from pramble.releasing.folder.layout import SCRIPTS, STEM, stated_file
from pramble.releasing.folder.open import Release
from pramble.releasing.folder.reading import stated_data, stated_points
from pramble.releasing.prepare import Prepared
from pramble.releasing.write.verify import open_written
from pramble.values import Clock, value

LARGEST_INTEGER = 2**53
MOST_DIGITS = 15
"""What a floating-point number holds exactly: whole numbers, and digits of a decimal."""

CONTROLS = r"\x00-\x08\x0b-\x1f\x7f\ufffe\uffff"
"""Characters that no text of a workbook may hold."""


@value(eq=False)
class CopyFormat:
    """A format of copies: how it is read, what it can hold, and what the manifest says of it."""

    form: Format
    title: str  # the name of the program, in messages
    most_rows: int
    most_columns: int
    longest_text: int  # in bytes; in UTF-16 units for Excel
    first_day: date
    sentence: str
    longest_label: int = 0  # bytes of a value label, 0 where texts stay texts
    most_labels: int = 0
    strange: str = r"\x00"  # a regular expression of what no text may hold
    library: str = ""  # what writes it, if not this package
    extra: str = ""  # the extra of this package that brings the library

    @property
    def remedy(self) -> str:
        """What to do about a column that cannot be held."""
        return f"drop it, or leave {self.form.name!r} out of copies"

    def size_of(self, text: str) -> int:
        """Return the length of a text as the format measures it."""
        return len(text.encode("utf-16-le")) // 2 if self.form is EXCEL else len(text.encode())

    def cannot_hold(self, found: str) -> InvalidData:
        """Return the error of a release that the format has no room for."""
        return InvalidData(f"{self.title} holds {found} {self.form.name!r} out of copies.")


CODED = (
    "The same records. Randomised texts are whole numbers with value labels, in the order of the "
    "plan; system missing is a cell that is blank or missing in the data. Variables have the names "
    "of their columns as labels."
)
KINDS: Mapping[str, CopyFormat] = {
    kind.form.name: kind
    for kind in (
        CopyFormat(
            CSV, "CSV", 2**62, 2**62, 2**62, date.min,
            "The same records as text; an empty cell is blank or missing in the data.",
            strange="(?!)",
        ),
        CopyFormat(
            STATA, "Stata", 2**31 - 1, 32_767, 2_044, date(100, 1, 1), CODED,
            longest_label=32_000, most_labels=65_536, library="pyreadstat", extra="statfiles",
        ),
        CopyFormat(
            SPSS, "SPSS", 2**31 - 1, 32_767, 32_767, date(1582, 10, 15), CODED,
            longest_label=120, most_labels=2**31 - 1, library="pyreadstat", extra="statfiles",
        ),
        CopyFormat(
            EXCEL, "Excel", 1_048_575, 16_384, 32_767, date(1900, 3, 1),
            "The same records; an empty cell is blank or missing in the data. Times are to the "
            "millisecond.",
            strange=f"[{CONTROLS}]|_x[0-9A-Fa-f]{{4}}_",
        ),
    )
}  # fmt: skip
"""The format of each word of ``copies``."""


def refuse_library(kind: CopyFormat) -> None:
    """Refuse a format whose library is not at hand."""
    if kind.library and find_spec(kind.library) is None:
        raise InvalidData(
            f"A copy for {kind.title} is written through {kind.library}: pip install "
            f"pramble[{kind.extra}], or leave {kind.form.name!r} out of copies."
        )


def refuse_size(kind: CopyFormat, *, rows: int, names: Sequence[str]) -> None:
    """Refuse more rows or columns than the format holds, and names it cannot."""
    if rows > kind.most_rows:
        raise kind.cannot_hold(f"{kind.most_rows:,} rows of data; the release has {rows:,}. Leave")
    if len(names) > kind.most_columns:
        raise kind.cannot_hold(
            f"{kind.most_columns:,} columns; the release has {len(names):,}. Drop some, or leave"
        )
    for name in names:
        if re.search(kind.strange, name):
            raise InvalidData(
                f"The name of column {name!r} has characters that {kind.title} cannot hold; "
                f"rename it, or leave {kind.form.name!r} out of copies."
            )


def refuse_labels(kind: CopyFormat, name: str, labels: Labels) -> None:
    """Refuse labels of a randomised column that the format cannot hold."""
    texts = [text_of_label(label) or "" for label in labels.values if isinstance(label, str)]
    longest = kind.longest_label or kind.longest_text
    wrong = None
    if kind.most_labels and len(texts) > kind.most_labels:
        wrong = f"{len(texts):,} labels, and {kind.title} holds {kind.most_labels:,}"
    elif any(kind.size_of(text) > longest for text in texts):
        wrong = f"a label of more than the {longest:,} bytes that {kind.title} holds"
    elif any(re.search(kind.strange, text) for text in texts):
        wrong = f"a label with characters that {kind.title} cannot hold"
    elif any(type(n) is int and abs(n) > LARGEST_INTEGER for n in labels.values):
        wrong = f"whole numbers beyond 2^53, which {kind.title} rounds"
    if wrong and kind.form is not CSV:
        raise InvalidData(f"Column {name!r} has {wrong}; recode it, or {kind.remedy}.")


def refuse_type(kind: CopyFormat, name: str, found: Any) -> None:
    """Refuse a column of a type that the format does not have."""
    if kind.form is CSV:
        as_text(pa.nulls(0, found), column=name)
        return
    found, types = value_type(found), pa.types
    plainly = (types.is_integer, types.is_floating, types.is_boolean, types.is_null, types.is_date)
    known = (
        any(check(found) for check in plainly)
        or (types.is_timestamp(found) and found.tz is None)
        or (types.is_decimal(found) and found.precision <= MOST_DIGITS)
        or is_text(pa.field("", found))
    )
    if not known:
        raise InvalidData(
            f"Column {name!r} of type {found} cannot be written for {kind.title}; {kind.remedy}."
        )


def refuse_values(kind: CopyFormat, name: str, values: Any) -> None:
    """Refuse values of an untouched column that the format cannot hold as they are."""
    if kind.form is CSV:
        return
    wrong, values = None, without_dictionary(values)
    found = values.type
    if is_text(values):
        wrong = wrong_texts(kind, plain_texts(values))
    elif pa.types.is_integer(found):
        ends = pc.min_max(values).as_py()
        if any(end is not None and abs(end) > LARGEST_INTEGER for end in ends.values()):
            wrong = "whole numbers beyond 2^53, which are rounded there"
    elif pa.types.is_floating(found):
        if pc.any(pc.is_inf(values.cast(pa.float64()))).as_py():
            wrong = "infinite numbers"
    elif pa.types.is_date(found) or pa.types.is_timestamp(found):
        days = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        first = (kind.first_day - date(1970, 1, 1)).days * 86_400
        low = pc.min(days).as_py()
        if low is not None and low < first:
            wrong = f"dates before {kind.first_day.isoformat()}"
    if wrong:
        raise InvalidData(
            f"Column {name!r} has {wrong}, which {kind.title} does not hold; {kind.remedy}."
        )


def wrong_texts(kind: CopyFormat, texts: Any) -> str | None:
    units = pc.binary_length(texts)
    if (pc.max(units).as_py() or 0) > kind.longest_text:
        long = texts.filter(pc.greater(units, kind.longest_text)).to_pylist()
        if any(kind.size_of(text) > kind.longest_text for text in long):
            return f"texts of more than {kind.longest_text:,} bytes"
    if any(re.search(kind.strange, text) for text in pc.unique(texts).to_pylist() if text):
        return "texts with characters"
    return None


TABLES = "tables.parquet"
COMPLETE = "synthetic"
"""The name of the file of complete records without its ending."""

SYNTHETIC = f"{COMPLETE}.parquet"


def copy_name(word: str, *, of: str) -> str:
    """Return the name of a copy of the data file, or of the complete records.

    >>> copy_name("stata", of="data"), copy_name("csv", of="synthetic")
    ('data.dta', 'synthetic.csv')
    """
    return of + KINDS[word].form.endings[0]


def copy_names(job: Prepared) -> list[str]:
    """Return the names of the copies of a release."""
    of = COMPLETE if job.spec.of_tables else STEM
    return [copy_name(word, of=of) for word in job.spec.copies]


def check_copies(job: Prepared) -> None:
    """Refuse copies that cannot hold the release, before anything is written.

    What is looked at is public once released: the number of rows, names, what the plan may release,
    and the columns that are released as they are.
    """
    kinds = [KINDS[word] for word in job.spec.copies]
    labels = released_labels(job.design.plan)
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


def refuse_batch(kinds: Sequence[CopyFormat], batch: Any, names: Sequence[str]) -> None:
    """Refuse values of untouched columns that a copy cannot hold."""
    for kind in kinds:
        for name in names:
            refuse_values(kind, name, batch[name])


def write_copies(release: Release, words: Sequence[str]) -> list[dict[str, Any]]:
    """Write copies of the data in a folder, and return what the manifest says of each.

    They are made from the written data and the plan, and from nothing else.
    """
    assert release.folder is not None, "copies lie in a folder"
    complete = isinstance(release.plan, TablePlan)
    stated = release.manifest["synthetic"] if complete else stated_data(release.manifest)
    source, found = release.folder / stated["file"], []
    for word in words:
        name = copy_name(word, of=COMPLETE if complete else STEM)
        variables = WRITERS[word](release, source, release.folder / name)
        entry = {**stated_file(release.folder, name, word), "sentence": KINDS[word].sentence}
        found.append(entry if variables is None else {**entry, "columns": variables})
    return found


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


def write_text(_: Release, source: Path, path: Path) -> None:
    """Write the records as text, batch by batch."""
    records = open_written(source)
    with writing(path, CSV, records.schema) as writer:
        for batch in records.batches():
            writer.write(batch)


def write_excel(release: Release, source: Path, path: Path) -> None:
    """Write the records as a workbook."""
    write_workbook(path, table_for(KINDS["excel"], release, source)[0])


def write_coded(word: str, release: Release, source: Path, path: Path) -> list[str]:
    """Write the records with labelled codes, and return the names of their variables."""
    return write_statistics(word, path, *table_for(KINDS[word], release, source))


def table_for(kind: CopyFormat, release: Release, source: Path) -> tuple[Any, dict[str, Labels]]:
    """Return the records, refused where the format cannot hold them, and labels of columns."""
    points = stated_points(release.manifest)
    complete = isinstance(release.plan, TablePlan)
    table = with_numbers(release.synthetic if complete else release.data, source, list(points))
    known = released_labels(release.plan).items()
    labels = {name: own for name, own in known if name not in points}
    others = [name for name in table.column_names if name not in labels]
    for name in others:
        refuse_type(kind, name, table[name].type)
    refuse_batch([kind], table.select(others).combine_chunks(), others)
    return table, labels


WRITERS: Mapping[str, Callable[[Release, Path, Path], list[str] | None]] = {
    "csv": write_text,
    "stata": partial(write_coded, "stata"),
    "spss": partial(write_coded, "spss"),
    "excel": write_excel,
}


SENTENCE = (
    "Complete records whose tables fit the release, drawn from it alone: they reveal nothing "
    "beyond it. They do not show their own errors; estimates and intervals come from the evidence "
    "in the release."
)


def write_synthetic(
    folder: Path,
    evidence: Any,
    plan: Plan | None = None,
    *,
    possible: Any = None,
    sha256: str,
    clock: Clock,
) -> tuple[dict[str, Any], Synthesis]:
    """Write complete records from what was released; return what the manifest says, and their fit.

    The seed follows from the ``sha256`` of the evidence, so that every reader can draw the same.
    """
    seed = int(hashlib.sha256(sha256.encode()).hexdigest()[:12], 16)
    made = synthesis(
        evidence,
        plan,
        seed=seed,
        possible=possible,
        progress=lambda done: clock.tell(done.what, done.share),
    )
    save_table(made.frame, folder / SYNTHETIC)
    stated = stated_file(folder, SYNTHETIC, "parquet")
    facts = {"rows": made.rows, "seed": seed, "sentence": SENTENCE, "notes": list(made.notes)}
    return {**stated, **facts}, made


def published_files(job: Prepared) -> list[str]:
    """Return the paths in the folder of evidence, copies, complete records and scripts."""
    evidence = job.file.files if not job.spec.of_tables else [TABLES]
    return [*evidence, *copy_names(job), SYNTHETIC, *SCRIPTS]


def write_beside(job: Prepared, folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Write copies and scripts into a folder, and return what the manifest says of them."""
    found: dict[str, Any] = {}
    if job.spec.copies:
        release = Release(folder, document, job.design.plan)
        found["copies"] = write_copies(release, job.spec.copies)
    if job.spec.scripts:
        found["scripts"] = write_scripts(job, folder)
    return found
