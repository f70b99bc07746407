"""Excel workbooks, through openpyxl: one sheet, names in its first row."""

import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramble.data.formats.base import BATCH_ROWS, Format, Opened, Tally, Wanted, unreadable
from pramble.errors import InvalidData

MIDNIGHT = time()


@contextmanager
def read(path: Path, wanted: Wanted) -> Iterator[Opened]:
    """Open one sheet of a workbook. A column that holds several kinds of values is text."""
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise InvalidData(
            f"{path.name} is read through openpyxl: pip install pramble[excel]."
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, InvalidFileException, KeyError) as error:
        raise unreadable(path.name, "excel", error) from None
    try:
        rows = sheet_of(book, wanted.reading.sheet, path).iter_rows(values_only=True)
        table = table_of(rows, path.name)
    finally:
        book.close()
    columns = wanted.among(table)
    arrays = [column_of(table[name]) for name in columns]
    read = pa.table(arrays, names=columns) if columns else pa.table({})
    tally = Tally(read.num_rows)
    yield Opened(read.schema, tally(read.to_batches(BATCH_ROWS)), tally.share, read.num_rows)


def table_of(rows: Iterable[tuple[Any, ...]], file: str) -> dict[str, list[Any]]:
    """Return the columns under the names of the first row; empty rows are none."""
    cells = [row for row in rows if any(cell is not None for cell in row)]
    names = cells[0] if cells else ()
    width = max(map(len, cells), default=0)
    columns = list(zip(*(row + (None,) * (width - len(row)) for row in cells[1:]), strict=True))
    table: dict[str, list[Any]] = {}
    for place in range(width):
        name = names[place] if place < len(names) else None
        values = list(columns[place]) if columns else []
        if name is None and all(cell is None for cell in values):
            continue
        if name is None or str(name) in table:
            what = "has none" if name is None else "has that of another"
            raise InvalidData(
                f"Every column of a sheet of {file} needs its own name; column {place + 1} {what}. "
                "Name each in the first row, one cell each."
            )
        table[str(name)] = values
    return table


def sheet_of(book: Any, sheet: str | int | None, path: Path) -> Any:
    """Return the sheet that was asked for, or the first."""
    names = book.sheetnames
    if isinstance(sheet, str) and sheet in names:
        return book[sheet]
    place = 0 if sheet is None else sheet
    if isinstance(place, int) and 0 <= place < len(names):
        return book[names[place]]
    raise InvalidData(f"{path.name} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}.")


def column_of(values: list[Any]) -> Any:
    """Return the cells of a column as an Arrow array: of one type, or as texts."""
    kinds = {type(cell) for cell in values if cell is not None}
    if kinds and kinds <= {int, float}:
        whole = all(cell is None or is_whole(cell) for cell in values)
        return pa.array(values, pa.int64() if whole else pa.float64())
    if kinds and kinds <= {date, datetime}:
        if all(cell is None or type(cell) is date or cell.time() == MIDNIGHT for cell in values):
            return pa.array(values, pa.date32())
        return pa.array(values, pa.timestamp("us"))
    if len(kinds) == 1 and kinds <= {bool, time, timedelta}:
        return pa.array(values)
    return pa.array([text_of(cell) for cell in values], pa.string())


def is_whole(number: float) -> bool:
    """Whether a cell holds a number that is an integer."""
    return float(number).is_integer() and abs(number) < 2**63


def text_of(cell: Any) -> str | None:
    """Return the text of a cell in a column of several kinds; a whole number has no point."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and is_whole(cell):
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == MIDNIGHT:
        return str(cell.date())
    return None if cell is None else str(cell)


EXCEL = Format("excel", (".xlsx", ".xlsm"), read)
