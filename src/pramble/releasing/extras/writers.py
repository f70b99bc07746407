"""Copies for Stata, SPSS and Excel, of the same bytes for the same data.

For Stata and SPSS randomised texts become numbers with value labels: 1, 2, … in the order in which
the plan lists what a column may release, whatever occurs; a blank or missing cell is system
missing. The library notes the time of writing in the file, which is replaced by a fixed one.
"""

import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import count
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain_texts, text_of_label
from pramble.data.encode import Encoder
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.labels import Labels
from pramble.errors import InvalidData
from pramble.values import value

STATA_VERSION = 14
LARGEST_LONG = 2_147_483_620
TITLES = {"stata": "Stata", "spss": "SPSS"}
LONGEST_LABEL = {"stata": 80, "spss": 255}
"""Characters of the label of a variable in Stata, bytes in SPSS."""

DAY = 86_400
FIRST_DAYS = {"stata": date(1960, 1, 1), "spss": date(1582, 10, 14)}
FORMATS = {"stata": ("%td", "%tc"), "spss": ("DATE11", "DATETIME20")}
"""The day that dates are counted from, and how dates and times are shown."""

ABOUT = "Released by pramble; missing: blank or missing in the data"
STATA_TIME = b"01 Jan 1970 00:00"
SPSS_TIME, SPSS_PLACE = b"01 Jan 7000:00:00", 92
"""The times that stand for that of writing, and where SPSS has it."""


@value(eq=False)
class Variable:
    """A column as these programs hold it: numbers or texts, value labels, and how it is shown."""

    values: Any
    labels: Mapping[int, str]
    shown: str | None = None


def write_statistics(form: str, path: Path, table: Any, labels: Mapping[str, Labels]) -> list[str]:
    """Write a copy, with what randomised columns may release; return the names of its variables."""
    import pandas as pd
    import pyreadstat

    names = variable_names(table.column_names)
    made = {
        names[name]: randomised(table[name], labels[name], column=name)
        if name in labels
        else untouched(table[name], form=form)
        for name in table.column_names
    }
    frame = pa.table({name: one.values for name, one in made.items()}).to_pandas(
        types_mapper=pd.ArrowDtype
    )
    options = {
        "file_label": ABOUT,
        "column_labels": [within_bytes(name, LONGEST_LABEL[form]) for name in table.column_names],
        "variable_value_labels": {n: dict(one.labels) for n, one in made.items() if one.labels},
        "variable_format": {n: one.shown for n, one in made.items() if one.shown},
    }
    try:
        if form == "stata":
            pyreadstat.write_dta(frame, str(path), version=STATA_VERSION, **options)
        else:
            pyreadstat.write_sav(frame, str(path), row_compress=True, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise InvalidData(
            f"The copy for {TITLES[form]} could not be written: {error}. Leave {form!r} out of "
            "copies. Nothing was released."
        ) from None
    fix_time(path, is_stata=form == "stata")
    return list(made)


def randomised(values: Any, labels: Labels, *, column: str) -> Variable:
    """Return a randomised column: whole numbers as they are, others as codes with labels."""
    listed = [label for label in labels.values if label is not None]
    if all(type(label) is int for label in listed):
        return Variable(narrow_integers(values, largest=max(map(abs, listed), default=0)), {})
    texts = {number: text_of_label(label) or "" for number, label in enumerate(listed, 1)}
    given = iter(texts)
    numbers = [None if label is None else next(given) for label in labels.values]
    codes = Encoder(labels, column).codes(values)
    return Variable(pa.array(numbers, pa.int32()).take(pa.array(codes)), texts)


def untouched(values: Any, *, form: str) -> Variable:
    """Return a column that was released as it was: numbers, texts or dates."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return untouched(values.cast(kind.value_type), form=form)
    if is_text(values):
        texts = [plain_texts(chunk).cast(pa.large_string()) for chunk in values.chunks]
        return Variable(pa.chunked_array(texts, pa.large_string()), {})
    if pa.types.is_null(kind):
        return Variable(values.cast(pa.large_string()), {})
    if pa.types.is_boolean(kind):
        return Variable(values.cast(pa.int32()), {0: "false", 1: "true"})
    if pa.types.is_integer(kind):
        ends = pc.min_max(values).as_py().values()
        return Variable(narrow_integers(values, largest=max(abs(end or 0) for end in ends)), {})
    day, time = FORMATS[form]
    if pa.types.is_date(kind):
        return Variable(since(values.cast(pa.timestamp("s")), form=form, is_date=True), {}, day)
    if pa.types.is_timestamp(kind):
        return Variable(since(values, form=form, is_date=False), {}, time)
    numbers = values.cast(pa.float64())
    return Variable(pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers), {})


def narrow_integers(values: Any, *, largest: int) -> Any:
    """Return whole numbers in the type that holds the largest."""
    return values.cast(pa.int32() if largest <= LARGEST_LONG else pa.float64())


def since(times: Any, *, form: str, is_date: bool) -> Any:
    """Return times as these programs count them, in doubles.

    Stata has dates in days and times in milliseconds since 1960, SPSS both in seconds since the
    eve of the Gregorian calendar.
    """
    micro = times.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    from_1970 = (FIRST_DAYS[form] - date(1970, 1, 1)).days * DAY
    seconds = pc.subtract(pc.divide(micro.cast(pa.float64()), 1e6), float(from_1970))
    if form == "spss":
        return seconds
    return pc.divide(seconds, float(DAY)) if is_date else pc.multiply(seconds, 1e3)


def within_bytes(name: str, longest: int) -> str:
    """Return a name, or its beginning, in so many bytes."""
    return name.encode()[:longest].decode(errors="ignore").replace("\x00", "")


def fix_time(path: Path, *, is_stata: bool) -> None:
    """Replace the time of writing in the head of a file."""
    with path.open("r+b") as file:
        place, time = SPSS_PLACE, SPSS_TIME
        if is_stata:
            mark = b"<timestamp>"
            place, time = file.read(1000).index(mark) + len(mark) + 1, STATA_TIME
        file.seek(place)
        file.write(time)


LONGEST_NAME = 32
RESERVED = {
    "all", "and", "b", "by", "byte", "coef", "cons", "double", "eq", "float", "ge", "gt", "if",
    "in", "int", "le", "long", "lt", "n", "ne", "not", "or", "pi", "pred", "rc", "skip", "strl",
    "to", "using", "with",
}  # fmt: skip
"""Words of either language that are no names, whatever their capitals."""


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
        name = plain_name(column)
        tries = (name if i == 1 else f"{name[: LONGEST_NAME - 6]}_{i}" for i in count(1))
        found[column] = next(one for one in tries if one.casefold() not in taken)
        taken.add(found[column].casefold())
    return found


def plain_name(column: str) -> str:
    """Return a text as a name, without accents and signs."""
    letters = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
    if name.casefold() in RESERVED or re.fullmatch(r"str\d+", name, re.IGNORECASE):
        name = f"v_{name}"
    return (name if name[:1].isalpha() else f"v{name}")[:LONGEST_NAME].rstrip("_")


FIRST_DAY = date(1899, 12, 30)
"""Day 0 of Excel, from 1 March 1900 on."""

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
STYLE = '<xf numFmtId="{}" fontId="0" fillId="0" borderId="0"{}/>'
XF = ' xfId="0" applyNumberFormat="1"'
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
    'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="data" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts count="2">'
    '<numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    f'<cellStyleXfs count="1">{STYLE.format(0, "")}</cellStyleXfs><cellXfs count="3">'
    f"{STYLE.format(0, XF)}{STYLE.format(164, XF)}{STYLE.format(165, XF)}</cellXfs>"
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>",
}
SHEET = "xl/worksheets/sheet1.xml"


def write_workbook(path: Path, table: Any) -> None:
    """Write the released records as a workbook."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in PARTS.items():
            with book.open(undated(name), "w") as file:
                file.write((HEAD + content).encode())
        with book.open(undated(SHEET), "w", force_zip64=True) as file:
            write_sheet(file, table)


def undated(name: str) -> zipfile.ZipInfo:
    """Return a part of a zip file with the earliest time that there is."""
    part = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    part.compress_type = zipfile.ZIP_DEFLATED
    return part


def write_sheet(file: IO[bytes], table: Any) -> None:
    """Write the names and the rows."""
    letters = [letters_of(place) for place in range(table.num_columns)]
    file.write(f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>'.encode())
    names = [text_cell(name) for name in table.column_names]
    file.write(row_of(1, letters, names).encode())
    first = 2
    for batch in table.to_batches(BATCH_ROWS):
        columns = [list(sheet_cells(column)) for column in batch.columns]
        rows = enumerate(zip(*columns, strict=True), first)
        file.write("".join(row_of(number, letters, row) for number, row in rows).encode())
        first += batch.num_rows
    file.write(b"</sheetData></worksheet>")


def row_of(number: int, letters: list[str], cells: Any) -> str:
    """Return a row; an empty cell is left out."""
    parts = [
        f'<c r="{a}{number}"{cell}</c>' for a, cell in zip(letters, cells, strict=True) if cell
    ]
    return f'<row r="{number}">{"".join(parts)}</row>'


def letters_of(place: int) -> str:
    """Return the letters of a column.

    >>> [letters_of(place) for place in (0, 25, 26, 16383)]
    ['A', 'Z', 'AA', 'XFD']
    """
    before, last = divmod(place, 26)
    return (letters_of(before - 1) if before else "") + chr(ord("A") + last)


def text_cell(text: str) -> str:
    """Return the rest of a cell that holds a text, whatever it begins with."""
    return f' t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is>'


def sheet_cells(values: Any) -> Iterator[str]:
    """Yield the rest of each cell of a column; nothing where it is missing."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
    if pa.types.is_decimal(kind):
        values = values.cast(pa.float64())
    if pa.types.is_timestamp(kind):
        values = pc.round_temporal(values.cast(pa.timestamp("us"), safe=False), unit="millisecond")
    write = cell_writer(kind)
    known: dict[Any, str] = {None: ""}
    for one in values.to_pylist():
        if one not in known:
            known[one] = write(one)
        yield known[one]


def cell_writer(kind: Any) -> Callable[[Any], str]:
    """Return what writes the values of a type."""
    if pa.types.is_boolean(kind):
        return lambda one: f' t="b"><v>{int(one)}</v>'
    if pa.types.is_date(kind):
        return lambda one: f' s="1"><v>{(one - FIRST_DAY).days}</v>'
    if pa.types.is_timestamp(kind):
        return lambda one: f' s="2"><v>{serial(one)!r}</v>'
    if pa.types.is_integer(kind):
        return lambda one: f"><v>{one}</v>"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return lambda one: f"><v>{one!r}</v>" if one == one else ""
    return text_cell


def serial(time: datetime) -> float:
    """Return a time as days since day 0."""
    gone = time - datetime(FIRST_DAY.year, FIRST_DAY.month, FIRST_DAY.day)  # noqa: DTZ001
    return gone.days + (gone.seconds + gone.microseconds / 1e6) / 86_400
