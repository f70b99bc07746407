"""Copies for Excel: a workbook of one sheet, whose bytes follow from the data alone.

A workbook is a zip file of XML. Texts are written as texts, never as formulas; no time of writing
is noted anywhere.
"""

import zipfile
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.formats.base import BATCH_ROWS

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
        columns = [list(cells_of(column)) for column in batch.columns]
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


def cells_of(values: Any) -> Iterator[str]:
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
