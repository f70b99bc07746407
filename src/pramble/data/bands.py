"""Bands of numbers and periods of dates: their edges, labels, and numbers in place of bands."""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, over_labels, trimmed_texts, value_type, without_dictionary
from pramble.data.labels import Label
from pramble.errors import InvalidData, InvalidInput

MONTHS_IN = {"year": 12, "month": 1}
EXAMPLES = {"year": "2020", "month": "2020-01"}
YEAR = re.compile(r"\d{4}")
MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$"


def period_labels(by: str, first: str, last: str) -> tuple[int, tuple[str, ...]]:
    """Return the first month, counted from the year 0, and the labels of all periods to the last.

    >>> period_labels("month", "2020-11", "2021-01")
    (24250, ('2020-11', '2020-12', '2021-01'))
    """
    if by not in MONTHS_IN:
        raise InvalidInput(f"bands must be by {', '.join(MONTHS_IN)}; found {by!r}.")
    form = MONTH if by == "month" else YEAR
    if not all(form.fullmatch(str(end)) for end in (first, last)):
        raise InvalidInput(
            f"bands by {by} must have from and to such as {EXAMPLES[by]!r}, known without the "
            f"file; found {first!r} and {last!r}."
        )
    ends = np.array([first, last], dtype=f"datetime64[{by[0].upper()}]")
    periods = np.arange(ends[0], ends[1] + 1)
    if len(periods) < 2:
        raise InvalidInput(f"bands must be two or more; found {first!r} to {last!r}.")
    start = ends[0].astype("datetime64[M]").astype(int) + 12 * 1970
    return int(start), tuple(periods.astype(str).tolist())


def months_of(values: Any, *, column: str) -> Any:
    """Return the month of every date, counted from the year 0, as an Arrow array.

    Dates are Arrow's dates and times, or texts that begin with one, as "2020-01-31".
    """
    wrong = InvalidData(
        f"Column {column!r} must hold dates, such as 2020-01-31, for bands of dates; it holds "
        "others."
    )

    def dates_in(texts: Any) -> Any:
        days = trimmed_texts(texts)
        if pc.all(pc.match_substring_regex(days, DATE)).as_py() is False:
            raise wrong
        try:
            return pc.utf8_slice_codeunits(days, 0, 10).cast(pa.date32())
        except pa.ArrowInvalid:
            raise wrong from None

    if is_text(values):
        values = over_labels(values, dates_in)
    kind = value_type(values.type)
    if pa.types.is_null(kind):
        return values.cast(pa.int64())
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise wrong
    dates = without_dictionary(values)
    return pc.subtract(pc.add(pc.multiply(pc.year(dates), 12), pc.month(dates)), 1)


MOST_BANDS = 2_000

# How far from a whole number the number of bands may be, as a share of it.
CLOSE = 1e-9

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
ONE = re.compile(r"(-?\d+)")
SEVERAL = re.compile(r"(-?\d+)-(-?\d+)")
BETWEEN = re.compile(rf"({NUMBER}) to ({NUMBER})")
OPEN = re.compile(rf"({NUMBER})\+")


def is_finite_number(setting: Any) -> bool:
    """Whether a setting is a finite number (a truth value is none)."""
    return (
        isinstance(setting, int | float)
        and not isinstance(setting, bool)
        and math.isfinite(setting)
    )


def text_of_number(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def even_edges(settings: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the edges of bands of one width; the last of them begins a step before ``to``.

    >>> even_edges({"from": 0, "to": 2, "step": 0.5})
    (0, 0.5, 1, 1.5)
    """
    if set(settings) != {"from", "to", "step"} or not all(map(is_finite_number, settings.values())):
        raise InvalidInput(
            "bands must have the numbers from, to and step, or by, from and to for dates; found "
            f"{dict(settings)!r}."
        )
    low, high, step = (settings[name] for name in ("from", "to", "step"))
    if step <= 0 or high - low < 2 * step * (1 - CLOSE):
        raise InvalidInput(f"bands must be two or more steps from low to high; found {settings!r}.")
    many = (high - low) / step
    if many > MOST_BANDS * (1 + CLOSE):
        raise InvalidInput(
            f"bands must be at most {MOST_BANDS:,}; found {many:,.0f}. Take a larger step."
        )
    if abs(many - round(many)) > CLOSE * many:
        raise InvalidInput(
            f"bands must fill the range with whole steps; found {many:g} steps of {step:g} from "
            f"{low:g} to {high:g}."
        )
    return tuple(plain_number(low + i * step) for i in range(round(many)))


def plain_number(number: float) -> float:
    """Return a number as people write it: rounded to 12 digits, whole ones without a point."""
    rounded = float(f"{number:.12g}")
    return int(rounded) if rounded.is_integer() else rounded


def band_labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return readable labels of bands.

    >>> band_labels([0, 16, 25, 65]), band_labels([0, 1.5]), band_labels([0, 1, 2])
    (('0-15', '16-24', '25-64', '65+'), ('0 to 1.5', '1.5+'), ('0', '1', '2+'))
    """
    whole = all(float(edge).is_integer() for edge in edges)

    def label(low: float, high: float) -> str:
        if not whole:
            return f"{text_of_number(low)} to {text_of_number(high)}"
        return f"{low:.0f}" if high - low == 1 else f"{low:.0f}-{high - 1:.0f}"

    return (*(label(low, high) for low, high in pairwise(edges)), f"{text_of_number(edges[-1])}+")


def edges_of_labels(labels: Sequence[Label]) -> tuple[float, ...]:
    """Return the edges that labels of bands stand for: S + 1 of them, the last infinite if open.

    This inverts :func:`band_labels`. A whole number is a band of width 1. Months count in
    years.

    >>> edges_of_labels(["0-15", "16", "17+"]), edges_of_labels([3, 4, 5])
    ((0.0, 16.0, 17.0, inf), (3.0, 4.0, 5.0, 6.0))
    >>> edges_of_labels(["2019-12", "2020-01"])[1]
    2020.0
    """
    bands = [band_of(label) for label in labels]
    for label, (_, high), (low, _) in zip(labels[1:], bands, bands[1:], strict=False):
        if low != high:
            raise InvalidInput(
                f"The band {label!r} does not begin where the one before it ends; give edges=[…]."
            )
    return (*(low for low, _ in bands), bands[-1][1])


def band_of(label: Label) -> tuple[float, float]:
    text = str(label) if isinstance(label, str) or is_finite_number(label) else ""
    month = MONTH.fullmatch(text)
    if month is not None:
        months = 12 * int(month[1]) + int(month[2]) - 1
        return months / 12, (months + 1) / 12
    for pattern, added in ((ONE, 1), (SEVERAL, 1), (BETWEEN, 0), (OPEN, math.inf)):
        found = pattern.fullmatch(text)
        if found:
            low, *high = map(float, found.groups())
            ends = low, (high[0] if high else low) + added
            if ends[0] < ends[1]:
                return ends
    raise InvalidInput(
        f"The label {label!r} is no band such as 7, '5-9', '0 to 1.5', '95+' or '2020-01'; "
        "give edges=[…]."
    )
