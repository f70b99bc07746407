"""Files of other programs: Stata, SPSS and SAS through pyreadstat, Excel through openpyxl."""

import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.formats.base import (
    BATCH_ROWS,
    FileLabels,
    Format,
    Opened,
    RowProgress,
    Wanted,
    sound_file,
    titled,
)
from pramble.data.labels import WHOLE, in_order, object_key
from pramble.errors import InvalidData


@contextmanager
def read_statistics(path: Path, wanted: Wanted, *, name: str, function: str) -> Iterator[Opened]:
    try:
        import pyreadstat
    except ImportError:
        raise InvalidData(
            f"{path.name} is read through pyreadstat: pip install pramble[statfiles]."
        ) from None
    run = getattr(pyreadstat, function)

    def chunks(columns: list[str]) -> Iterator[Any]:
        options = {"chunksize": BATCH_ROWS, "usecols": columns}
        for frame, _ in pyreadstat.read_file_in_chunks(run, str(path), **options):
            if len(frame):
                yield frame

    with sound_file(path, name, errors=(pyreadstat.ReadstatError, pyreadstat.PyreadstatError)):
        _, about = run(str(path), metadataonly=True)
        columns = wanted.among(about.column_names)
        kinds = {name: about.readstat_variable_types[name] for name in columns}
        plain = schema_of(kinds, next(chunks(columns), None), chunks)
        titles = about.column_names_to_labels
        schema = pa.schema([titled(part, titles[part.name]) for part in plain])
    tally = RowProgress(about.number_rows)
    found = tally(chunk_batches(chunks(columns), schema))
    yield Opened(schema, found, tally.share, tally.total)


def schema_of(kinds: Mapping[str, str], first: Any, chunks: Callable[[list[str]], Any]) -> Any:
    """Return the Arrow schema: integers, doubles and texts as the file says, and dates.

    Dates are doubles in the file; the first one that is not missing tells which kind they are.
    """

    def type_of(name: str) -> Any:
        if kinds[name] == "string":
            return pa.string()
        if kinds[name].startswith("int"):
            return pa.int64()
        found = None if first is None else first[name]
        if found is not None and found.dtype == object and found.isna().all():
            filled = (chunk[name] for chunk in chunks([name]) if chunk[name].notna().any())
            found = next(filled, None)
        if found is None or found.dtype.kind == "f":
            return pa.float64()
        return pa.Array.from_pandas(found).type

    return pa.schema([pa.field(name, type_of(name)) for name in kinds])


def chunk_batches(frames: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Yield chunks as batches of one schema; a blank text is how these formats write missing."""

    def with_nulls(column: Any) -> Any:
        texts = pa.types.is_string(column.type)
        none = pa.scalar(None, column.type)
        return pc.if_else(pc.equal(column, ""), none, column) if texts else column

    for frame in frames:
        batch = pa.RecordBatch.from_pandas(frame, schema=schema, preserve_index=False)
        yield pa.RecordBatch.from_arrays(list(map(with_nulls, batch.columns)), schema=schema)


def labels_of_file(path: Path, *, function: str) -> FileLabels:
    """Return the values that a file labels, and those that it declares missing, in order.

    Labels of a few special values are no list of all where others occur: that is for the caller to
    see. A value with another's label is distinguished by its code.
    """
    about, values, missing = metadata_of(path, function), {}, {}
    for name in about.column_names:
        own = about.variable_value_labels.get(name, {})
        is_text = about.readstat_variable_types[name] == "string"
        ranges = [(part["lo"], part["hi"]) for part in about.missing_ranges.get(name, ())]
        found = {low: "" for low, high in ranges if low == high} | own
        labels = {object_key(one)[-1]: str(label).strip() for one, label in found.items()}
        labels = {
            one: labels[one] for one in in_order(labels) if type(one) in (int, str) and one != ""
        }
        # Among numbers a letter is a kind of missing value.
        letters = {one for one in labels if isinstance(one, str) and not is_text}
        gone = [one for one in labels if one in letters or lies_in(one, ranges)]
        missing[name] = {
            f".{one}" if one in letters else one: labels[one] or str(one) for one in gone
        }
        values[name] = distinguished(
            {one: labels[one] for one in labels if labels[one] and one not in gone}
        )
    return FileLabels(
        values={name: own for name, own in values.items() if own},
        missing={name: own for name, own in missing.items() if own},
    )


def metadata_of(path: Path, function: str) -> Any:
    import pyreadstat

    options: dict[str, Any] = {"metadataonly": True}
    if function not in ("read_xport", "read_por"):  # without it missing codes are not listed
        options["user_missing"] = True
    catalog = path.with_suffix(".sas7bcat")
    if function == "read_sas7bdat" and catalog.is_file():
        options["catalog_file"] = str(catalog)
    return getattr(pyreadstat, function)(str(path), **options)[1]


def lies_in(code: Any, ranges: Iterable[tuple[Any, Any]]) -> bool:
    same = [part for part in ranges if isinstance(part[0], str) == isinstance(code, str)]
    return any(low <= code <= high for low, high in same)


def distinguished(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Return labels that are all different, and no number that is another value.

    >>> distinguished({1: "Yes", 7: "Other", 9: "Other", 10: "2"})
    {1: 'Yes', 7: 'Other (7)', 9: 'Other (9)', 10: '2 (10)'}
    """
    times = Counter(labels.values())
    found = {
        code: f"{label} ({code})"
        if times[label] > 1 or (WHOLE.fullmatch(label) and int(label) not in labels)
        else label
        for code, label in labels.items()
    }
    if len(set(found.values())) == len(found):
        return found
    return {code: f"{label} ({code})" for code, label in labels.items()}


def statistics(name: str, endings: tuple[str, ...], function: str) -> Format:
    reader = partial(read_statistics, name=name, function=function)
    return Format(name, endings, reader, labels=partial(labels_of_file, function=function))


MIDNIGHT = time()


@contextmanager
def read_sheet(path: Path, wanted: Wanted) -> Iterator[Opened]:
    """Open one sheet of a workbook. A column that holds several kinds of values is text."""
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise InvalidData(
            f"{path.name} is read through openpyxl: pip install pramble[excel]."
        ) from None
    with sound_file(path, "excel", errors=(zipfile.BadZipFile, InvalidFileException, KeyError)):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheets, sheet = book.sheetnames, wanted.reading.sheet
        sheet = 0 if sheet is None else sheet
        if isinstance(sheet, int) and 0 <= sheet < len(sheets):
            sheet = sheets[sheet]
        if sheet not in sheets:
            known = ", ".join(map(repr, sheets))
            raise InvalidData(f"{path.name} has no sheet {sheet!r}; it has {known}.")
        table = sheet_table(book[sheet].iter_rows(values_only=True), path.name)
    finally:
        book.close()
    columns = wanted.among(table)
    arrays = [sheet_column(table[name]) for name in columns]
    found = pa.table(arrays, names=columns) if columns else pa.table({})
    tally = RowProgress(found.num_rows)
    yield Opened(found.schema, tally(found.to_batches(BATCH_ROWS)), tally.share, found.num_rows)


def sheet_table(rows: Iterable[tuple[Any, ...]], file: str) -> dict[str, list[Any]]:
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


def sheet_column(values: list[Any]) -> Any:
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
    return pa.array([sheet_text(cell) for cell in values], pa.string())


def is_whole(number: float) -> bool:
    return float(number).is_integer() and abs(number) < 2**63


def sheet_text(cell: Any) -> str | None:
    """Return the text of a cell in a column of several kinds; a whole number has no point."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and is_whole(cell):
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == MIDNIGHT:
        return str(cell.date())
    return None if cell is None else str(cell)
