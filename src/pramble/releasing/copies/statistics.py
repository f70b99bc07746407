"""Copies for Stata and SPSS: randomised texts become numbers with value labels.

The codes are 1, 2, … in the order in which the plan lists what a column may release, whatever
occurs; a blank or missing cell is system missing. The library notes the time of writing in the
file, which is replaced by a fixed one: the same data gives the same bytes.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain_texts, text_of
from pramble.data.encode import Encoder
from pramble.data.formats.statistics import STATA
from pramble.data.labels import Labels
from pramble.errors import InvalidData
from pramble.releasing.copies.kinds import Kind
from pramble.releasing.copies.names import variable_names
from pramble.values import value

STATA_VERSION = 14
LARGEST_LONG = 2_147_483_620
LONGEST_NAME = {"stata": 80, "spss": 255}
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


def write_statistics(kind: Kind, path: Path, table: Any, labels: Mapping[str, Labels]) -> list[str]:
    """Write a copy; return the names of its variables.

    Parameters
    ----------
    kind : Kind
    path : Path
    table : pyarrow.Table
        The released records.
    labels : mapping from randomised column to Labels
        What it may release.
    """
    import pandas as pd
    import pyreadstat

    form = kind.form.name
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
        "column_labels": [within_bytes(name, LONGEST_NAME[form]) for name in table.column_names],
        "variable_value_labels": {n: dict(one.labels) for n, one in made.items() if one.labels},
        "variable_format": {n: one.shown for n, one in made.items() if one.shown},
    }
    try:
        if kind.form is STATA:
            pyreadstat.write_dta(frame, str(path), version=STATA_VERSION, **options)
        else:
            pyreadstat.write_sav(frame, str(path), row_compress=True, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise InvalidData(
            f"The copy for {kind.title} could not be written: {error}. Leave {form!r} out of "
            "copies. Nothing was released."
        ) from None
    fix_time(path, is_stata=kind.form is STATA)
    return list(made)


def randomised(values: Any, labels: Labels, *, column: str) -> Variable:
    """Return a randomised column: whole numbers as they are, others as codes with labels."""
    listed = [label for label in labels.values if label is not None]
    if all(type(label) is int for label in listed):
        return Variable(whole_numbers(values, largest=max(map(abs, listed), default=0)), {})
    codes = Encoder(labels, column).codes(values)
    numbers: list[int | None] = []
    texts: dict[int, str] = {}
    for label in labels.values:
        numbers.append(None if label is None else len(texts) + 1)
        if label is not None:
            texts[len(texts) + 1] = text_of(label) or ""
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
        return Variable(whole_numbers(values, largest=max(abs(end or 0) for end in ends)), {})
    day, time = FORMATS[form]
    if pa.types.is_date(kind):
        return Variable(since(values.cast(pa.timestamp("s")), form=form, is_date=True), {}, day)
    if pa.types.is_timestamp(kind):
        return Variable(since(values, form=form, is_date=False), {}, time)
    numbers = values.cast(pa.float64())
    return Variable(pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers), {})


def whole_numbers(values: Any, *, largest: int) -> Any:
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
