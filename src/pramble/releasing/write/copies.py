"""Copies of the released records for other programs: CSV, Stata, SPSS and Excel.

They are made from the written data and the plan alone, and the same data gives the same bytes. What
a format cannot hold is refused before anything is written.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain_texts, text_of_label, value_type, without_dictionary
from pramble.data.encode import Encoder
from pramble.data.formats.base import BATCH_ROWS, Format
from pramble.data.formats.delimited import as_text
from pramble.data.formats.registry import CSV, EXCEL, SPSS, STATA
from pramble.data.labels import Labels
from pramble.data.save import writing
from pramble.errors import InvalidData
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.folder.layout import COMPLETE, STEM, open_written, stated_file
from pramble.releasing.folder.open import Release
from pramble.releasing.folder.reading import stated_data
from pramble.releasing.prepare import Prepared
from pramble.values import frozen

# What a floating-point number holds exactly: whole numbers, and digits of a decimal.
LARGEST_INTEGER, MOST_DIGITS = 2**53, 15
# Characters that no text of a workbook may hold.
CONTROLS = r"\x00-\x08\x0b-\x1f\x7f\ufffe\uffff"
CODED = (
    "The same records. Randomised texts are whole numbers with value labels, in the order of the "
    "plan; system missing is a cell that is blank or missing in the data. Variables have the names "
    "of their columns as labels."
)


@frozen(eq=False)
class CopyFormat:
    """A format of copies: what it can hold, and what the manifest says of it."""

    form: Format
    title: str  # the name of the program, in messages
    most_rows: int
    most_columns: int
    longest_text: int  # in bytes; in UTF-16 units for Excel
    longest_label: int  # of a value, in the same units
    most_labels: int
    first_day: date
    sentence: str
    library: str  # what writes it
    extra: str  # the extra of this package that brings the library
    forbidden: str = r"\x00"  # a regular expression of what no text may hold

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


LIMITED: Mapping[str, CopyFormat] = {
    kind.form.name: kind
    for kind in (
        CopyFormat(
            STATA, "Stata", 2**31 - 1, 32_767, 2_044, 32_000, 65_536, date(100, 1, 1), CODED,
            "pyreadstat", "statfiles",
        ),
        CopyFormat(
            SPSS, "SPSS", 2**31 - 1, 32_767, 32_767, 120, 2**31 - 1, date(1582, 10, 15), CODED,
            "pyreadstat", "statfiles",
        ),
        CopyFormat(
            EXCEL, "Excel", 1_048_575, 16_384, 32_767, 32_767, 2**31 - 1, date(1900, 3, 1),
            "The same records; an empty cell is blank or missing in the data. Times are to the "
            "millisecond.",
            "xlsxwriter", "excel", f"[{CONTROLS}]|_x[0-9A-Fa-f]{{4}}_",
        ),
    )
}  # fmt: skip
AS_TEXT = "The same records as text; an empty cell is blank or missing in the data."


def copy_name(word: str, *, of_tables: bool) -> str:
    form = LIMITED[word].form if word in LIMITED else CSV
    return (COMPLETE if of_tables else STEM) + form.endings[0]


def check_copies(prepared: Prepared) -> None:
    """Refuse copies that cannot hold the release, before anything is written.

    What is looked at is public once released: the number of rows, names, what the plan may release,
    and the columns that are released as they are.
    """
    types = {field.name: field.type for field in prepared.records.schema}
    if "csv" in prepared.spec.copies:
        for name in prepared.untouched:
            as_text(pa.nulls(0, types[name]), column=name)
    kinds = [LIMITED[word] for word in prepared.spec.copies if word in LIMITED]
    for kind in kinds:
        if find_spec(kind.library) is None:
            raise InvalidData(
                f"A copy for {kind.title} is written through {kind.library}: pip install "
                f"pramble[{kind.extra}], or leave {kind.form.name!r} out of copies."
            )
        if prepared.rows > kind.most_rows:
            raise kind.cannot_hold(
                f"{kind.most_rows:,} rows of data; the release has {prepared.rows:,}. Leave"
            )
        if len(prepared.names) > kind.most_columns:
            raise kind.cannot_hold(
                f"{kind.most_columns:,} columns; the release has {len(prepared.names):,}. Drop "
                "some, or leave"
            )
        for name in prepared.names:
            if re.search(kind.forbidden, name):
                raise InvalidData(
                    f"The name of column {name!r} has characters that {kind.title} cannot hold; "
                    f"rename it, or leave {kind.form.name!r} out of copies."
                )
        for name, own in released_labels(prepared.design.plan).items():
            refuse_labels(kind, name, own)
        for name in prepared.untouched:
            refuse_type(kind, name, types[name])
    if kinds and prepared.untouched:
        for batch in prepared.records.batches(list(prepared.untouched)):
            for kind in kinds:
                refuse_values(kind, batch, prepared.untouched)


def released_labels(plan: Plan | TablePlan) -> dict[str, Labels]:
    """Return what may stand in each protected column."""
    if isinstance(plan, TablePlan):
        return dict(plan.labels)
    return {name: own.released for name, own in plan.column_labels().items()}


def refuse_labels(kind: CopyFormat, name: str, labels: Labels) -> None:
    """Refuse labels of a protected column that the format cannot hold."""
    texts = [text_of_label(label) or "" for label in labels.values if isinstance(label, str)]
    wrong = None
    if len(texts) > kind.most_labels:
        wrong = f"{len(texts):,} labels, and {kind.title} holds {kind.most_labels:,}"
    elif any(kind.size_of(text) > kind.longest_label for text in texts):
        wrong = f"a label of more than the {kind.longest_label:,} bytes that {kind.title} holds"
    elif any(re.search(kind.forbidden, text) for text in texts):
        wrong = f"a label with characters that {kind.title} cannot hold"
    elif any(type(n) is int and abs(n) > LARGEST_INTEGER for n in labels.values):
        wrong = f"whole numbers beyond 2^53, which {kind.title} rounds"
    if wrong:
        raise InvalidData(f"Column {name!r} has {wrong}; recode it, or {kind.remedy}.")


def refuse_type(kind: CopyFormat, name: str, found: Any) -> None:
    """Refuse a column of a type that the format does not have."""
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


def refuse_values(kind: CopyFormat, batch: Any, names: Sequence[str]) -> None:
    """Refuse values of untouched columns that the format cannot hold as they are."""
    for name in names:
        wrong = unfit_values(kind, without_dictionary(batch[name]))
        if wrong:
            raise InvalidData(
                f"Column {name!r} has {wrong}, which {kind.title} does not hold; {kind.remedy}."
            )


def unfit_values(kind: CopyFormat, values: Any) -> str | None:
    """Return what the format cannot hold among the values, in words."""
    found = values.type
    if is_text(values):
        texts = pc.unique(plain_texts(values)).drop_null().to_pylist()
        if any(kind.size_of(text) > kind.longest_text for text in texts):
            return f"texts of more than {kind.longest_text:,} bytes"
        if any(re.search(kind.forbidden, text) for text in texts):
            return "texts with characters"
    elif pa.types.is_integer(found):
        ends = pc.min_max(values).as_py().values()
        if any(end is not None and abs(end) > LARGEST_INTEGER for end in ends):
            return "whole numbers beyond 2^53, which are rounded there"
    elif pa.types.is_floating(found):
        if pc.any(pc.is_inf(values.cast(pa.float64()))).as_py():
            return "infinite numbers"
    elif pa.types.is_date(found) or pa.types.is_timestamp(found):
        seconds = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        first = pc.min(seconds).as_py()
        if first is not None and first < (kind.first_day - date(1970, 1, 1)).days * 86_400:
            return f"dates before {kind.first_day.isoformat()}"
    return None


def write_copies(release: Release, words: Sequence[str]) -> list[dict[str, Any]]:
    """Write copies of the data in a folder, and return what the manifest says of each."""
    assert release.folder is not None, "copies lie in a folder"
    complete = isinstance(release.plan, TablePlan)
    stated = release.manifest["synthetic"] if complete else stated_data(release.manifest)
    source, found = release.folder / stated["file"], []
    for word in words:
        path = release.folder / copy_name(word, of_tables=complete)
        about: dict[str, Any] = {"sentence": AS_TEXT}
        if word not in LIMITED:
            records = open_written(source)
            with writing(path, CSV, records.schema) as writer:
                for batch in records.batches():
                    writer.write(batch)
        else:
            kind = LIMITED[word]
            about["sentence"] = kind.sentence
            table = release.synthetic if complete else release.data
            labels = released_labels(release.plan)
            # Texts of a CSV file have become numbers and dates only when it was opened.
            others = [name for name in table.column_names if name not in labels]
            for name in others:
                refuse_type(kind, name, table[name].type)
            refuse_values(kind, table.select(others).combine_chunks(), others)
            if kind.form is EXCEL:
                write_workbook(path, table)
            else:
                about["columns"] = write_statistics(kind, path, table, labels)
        found.append({**stated_file(release.folder, path.name, word), **about})
    return found


STATA_VERSION = 14
LARGEST_LONG = 2_147_483_620
# The label of a variable: characters in Stata, bytes in SPSS.
LONGEST_LABEL = {"stata": 80, "spss": 255}
ABOUT = "Released by pramble; missing: blank or missing in the data"
# The library notes the time of writing, which would tell files of the same data apart: in Stata
# after a mark, in SPSS at a fixed place.
STATA_TIME, STATA_MARK = b"01 Jan 1970 00:00", b"<timestamp>"
SPSS_TIME, SPSS_PLACE = b"01 Jan 7000:00:00", 92


def write_statistics(
    kind: CopyFormat, path: Path, table: Any, labels: Mapping[str, Labels]
) -> list[str]:
    """Write a copy with value labels for protected columns; return the names of its variables."""
    import pandas as pd
    import pyreadstat

    names, form = variable_names(table.column_names), kind.form.name
    values, texts = {}, {}
    for column, name in names.items():
        if column in labels:
            values[name], texts[name] = labelled_codes(table[column], labels[column], column=column)
        else:
            values[name], texts[name] = untouched_values(table[column])
    frame = pa.table(values).to_pandas(
        types_mapper=lambda kind: None if pa.types.is_temporal(kind) else pd.ArrowDtype(kind),
        date_as_object=True,
        coerce_temporal_nanoseconds=False,
    )
    options = {
        "file_label": ABOUT,
        "column_labels": [
            name.encode()[: LONGEST_LABEL[form]].decode(errors="ignore").replace("\x00", "")
            for name in table.column_names
        ],
        "variable_value_labels": {name: own for name, own in texts.items() if own},
    }
    try:
        if form == "stata":
            pyreadstat.write_dta(frame, str(path), version=STATA_VERSION, **options)
        else:
            pyreadstat.write_sav(frame, str(path), row_compress=True, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise InvalidData(
            f"The copy for {kind.title} could not be written: {error}. Leave {form!r} out of "
            "copies. Nothing was released."
        ) from None
    fix_time(path, is_stata=form == "stata")
    return list(values)


def labelled_codes(values: Any, labels: Labels, *, column: str) -> tuple[Any, dict[int, str]]:
    """Return a protected column: whole numbers as they are, others as codes and their labels."""
    listed = [label for label in labels.values if label is not None]
    if all(type(label) is int for label in listed):
        return narrow_integers(values, largest=max(map(abs, listed), default=0)), {}
    texts = {number: text_of_label(label) or "" for number, label in enumerate(listed, 1)}
    given = iter(texts)
    numbers = [None if label is None else next(given) for label in labels.values]
    codes = Encoder(labels, column).codes(values)
    return pa.array(numbers, pa.int32()).take(pa.array(codes)), texts


def untouched_values(values: Any) -> tuple[Any, dict[int, str]]:
    """Return a column that was released as it was, as these programs hold it, and value labels."""
    values = without_dictionary(values)
    found = values.type
    if is_text(values) or pa.types.is_null(found):
        return values.cast(pa.large_string()), {}
    if pa.types.is_boolean(found):
        return values.cast(pa.int32()), {0: "false", 1: "true"}
    if pa.types.is_integer(found):
        ends = pc.min_max(values).as_py().values()
        return narrow_integers(values, largest=max(abs(end or 0) for end in ends)), {}
    if pa.types.is_date(found):
        return values.cast(pa.date32()), {}
    if pa.types.is_timestamp(found):
        return values.cast(pa.timestamp("us"), safe=False), {}
    numbers = values.cast(pa.float64())
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers), {}


def narrow_integers(values: Any, *, largest: int) -> Any:
    """Return whole numbers in the type that holds the largest."""
    return values.cast(pa.int32() if largest <= LARGEST_LONG else pa.float64())


def fix_time(path: Path, *, is_stata: bool) -> None:
    """Replace the time of writing in the head of a file."""
    with path.open("r+b") as file:
        place, time = SPSS_PLACE, SPSS_TIME
        if is_stata:
            place, time = file.read(1000).index(STATA_MARK) + len(STATA_MARK) + 1, STATA_TIME
        file.seek(place)
        file.write(time)


LONGEST_NAME = 32
# Words of either language that are no names, whatever their capitals.
WORDS = """
    all and b by byte coef cons double eq float ge gt if in int le long lt n ne not or pi pred rc
    skip strl to using with
"""
RESERVED = frozenset(WORDS.split())


def variable_names(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for each column: letters, digits and underscores, 32 at most, all different.

    >>> list(variable_names(["Größe (cm)", "grosse_cm", "2nd", "if", "sex"]).values())
    ['Groe_cm', 'grosse_cm', 'v2nd', 'v_if', 'sex']
    >>> list(variable_names(["a b", "A_b", "a-b"]).values())
    ['a_b', 'A_b_2', 'a_b_3']
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        letters = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode()
        name = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
        if name.casefold() in RESERVED or re.fullmatch(r"str\d+", name, re.IGNORECASE):
            name = f"v_{name}"
        name = (name if name[:1].isalpha() else f"v{name}")[:LONGEST_NAME].rstrip("_")
        tries = (name if i == 1 else f"{name[: LONGEST_NAME - 6]}_{i}" for i in count(1))
        found[column] = next(one for one in tries if one.casefold() not in taken)
        taken.add(found[column].casefold())
    return found


def write_workbook(path: Path, table: Any) -> None:
    """Write the records as a workbook of one sheet, row by row, with texts as texts."""
    import xlsxwriter

    # A text that begins with "=" or "http" stays a text; the fixed day keeps the time of writing
    # out of the file.
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(path, options) as book:
        book.set_properties({"created": datetime(1980, 1, 1, tzinfo=UTC)})
        sheet = book.add_worksheet("data")
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        time = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss.000"})
        for place, name in enumerate(table.column_names):
            sheet.write_string(0, place, name)
        formats = {date: day, datetime: time}
        start = 1  # after the names
        for batch in table.to_batches(BATCH_ROWS):
            columns = [sheet_cells(without_dictionary(own)).to_pylist() for own in batch.columns]
            for number, row in enumerate(zip(*columns, strict=True), start):
                for place, cell in enumerate(row):
                    if isinstance(cell, str):  # the general way takes "{=1+1}" for a formula
                        sheet.write_string(number, place, cell)
                    elif cell is not None and cell == cell:
                        sheet.write(number, place, cell, formats.get(type(cell)))
            start += batch.num_rows


def sheet_cells(values: Any) -> Any:
    """Return a column as a workbook holds it: decimals as numbers, times to the millisecond."""
    if pa.types.is_decimal(values.type):
        return values.cast(pa.float64())
    if pa.types.is_timestamp(values.type):
        times = values.cast(pa.timestamp("us"), safe=False)
        return pc.round_temporal(times, unit="millisecond")
    return values
