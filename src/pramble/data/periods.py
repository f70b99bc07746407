"""Years, quarters and months: periods of dates, counted in months since the year 0."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, over_labels, plain, trimmed_texts, value_type
from pramble.errors import InvalidData, InvalidInput

MONTHS_IN = {"year": 12, "quarter": 3, "month": 1}
WRITTEN = {
    "year": re.compile(r"(\d{4})"),
    "quarter": re.compile(r"(\d{4})-Q([1-4])"),
    "month": re.compile(r"(\d{4})-(0[1-9]|1[0-2])"),
}
EXAMPLES = {"year": "2020", "quarter": "2020-Q1", "month": "2020-01"}
DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$"


def first_month(text: str, by: str) -> int | None:
    """Return the first month of a period, counted from the year 0; None if it is written otherwise.

    >>> first_month("2020-Q2", "quarter") - first_month("2020-01", "month")
    3
    """
    found = WRITTEN[by].fullmatch(text)
    if found is None:
        return None
    year, *part = map(int, found.groups())
    return 12 * year + (part[0] - 1 if part else 0) * MONTHS_IN[by]


def period_labels(by: str, first: Any, last: Any) -> tuple[int, tuple[str, ...]]:
    """Return the first month of the first period, and the labels of all up to the last.

    >>> period_labels("quarter", "2020-Q3", "2021-Q1")[1]
    ('2020-Q3', '2020-Q4', '2021-Q1')
    """
    if by not in MONTHS_IN:
        raise InvalidInput(f"bands must be by {', '.join(MONTHS_IN)}; found {by!r}.")
    ends = [first_month(str(end), by) for end in (first, last)]
    if ends[0] is None or ends[1] is None:
        raise InvalidInput(
            f"bands by {by} must have from and to such as {EXAMPLES[by]!r}, known without the "
            f"file; found {first!r} and {last!r}."
        )
    width = MONTHS_IN[by]
    months = range(ends[0], ends[1] + 1, width)
    if len(months) < 2:
        raise InvalidInput(f"bands must be two or more; found {first!r} to {last!r}.")
    return ends[0], tuple(label_of(month, by) for month in months)


def label_of(month: int, by: str) -> str:
    """Return the label of the period that begins with a month."""
    year, place = divmod(month, 12)
    part = {"year": "", "quarter": f"-Q{place // 3 + 1}", "month": f"-{place + 1:02d}"}
    return f"{year:04d}{part[by]}"


def months_of(values: Any, *, column: str) -> Any:
    """Return the month of every date, counted from the year 0, as an Arrow array.

    Dates are Arrow's dates and times, or texts that begin with one, as "2020-01-31".
    """
    wrong = InvalidData(
        f"Column {column!r} must hold dates, such as 2020-01-31, for bands of dates; it holds "
        "others."
    )
    if is_text(values):
        values = over_labels(values, lambda texts: dates_of(trimmed_texts(texts), wrong))
    kind = value_type(values.type)
    if pa.types.is_null(kind):
        return values.cast(pa.int64())
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise wrong
    dates = plain(values)
    return pc.subtract(pc.add(pc.multiply(pc.year(dates), 12), pc.month(dates)), 1)


def dates_of(texts: Any, wrong: InvalidData) -> Any:
    if pc.all(pc.match_substring_regex(texts, DATE)).as_py() is False:
        raise wrong
    try:
        return pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
    except pa.ArrowInvalid:
        raise wrong from None
