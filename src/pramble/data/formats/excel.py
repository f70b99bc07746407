"""Excel workbooks, through openpyxl: one sheet, names in its first row."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from pramble.data.formats.base import BATCH_ROWS, Format, Opened, Tally, Wanted
from pramble.errors import InvalidData


@contextmanager
def read(path: Path, wanted: Wanted) -> Iterator[Opened]:
    """Open one sheet of a workbook. A column that holds several kinds of values is text."""
    try:
        import openpyxl
    except ImportError:
        raise InvalidData(
            f"{path.name} is read through openpyxl: pip install pramble[excel]."
        ) from None
    import pyarrow as pa

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        rows = sheet_of(book, wanted.reading.sheet, path).iter_rows(values_only=True)
        names = ["" if name is None else str(name) for name in next(rows, ())]
        columns = wanted.among(names)
        places = [names.index(name) for name in columns]
        cells = [
            [row[place] for place in places] for row in rows if any(c is not None for c in row)
        ]
    finally:
        book.close()
    arrays = [column_of([row[i] for row in cells]) for i in range(len(columns))]
    table = pa.table(arrays, names=columns) if columns else pa.table({})
    tally = Tally(table.num_rows)
    yield Opened(table.schema, tally(table.to_batches(BATCH_ROWS)), tally.share, table.num_rows)


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
    import pyarrow as pa

    kinds = {type(cell) for cell in islice(values, len(values)) if cell is not None}
    if kinds <= {int, float}:
        whole = all(cell is None or float(cell).is_integer() for cell in values)
        return pa.array(values, pa.int64() if whole and kinds else pa.float64())
    if len(kinds) == 1:
        return pa.array(values)
    return pa.array([None if cell is None else str(cell) for cell in values])


EXCEL = Format("excel", (".xlsx", ".xlsm"), read)
