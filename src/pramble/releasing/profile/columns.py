"""What each column of a file looks like, judged by names, types and values after one scan.

Categories are proposed for some, and round bands for numbers: from what is publicly known of them,
or else from their size.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain_texts, value_type
from pramble.data.formats.delimited import MARKERS
from pramble.data.labels import Label, object_key, typed_texts
from pramble.data.records import Job, Records, scan
from pramble.data.vocabulary import (
    in_expected_order,
    is_code,
    is_direct,
    is_identifier,
    is_weight_name,
    quantity_of,
)
from pramble.releasing.scan import rare_values
from pramble.releasing.spec.settings import SEEN, STANDARD
from pramble.values import Reporter, Watcher, frozen
from pramble.words import several

TIME = r"([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
DAY, MONTH, YEAR = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])", r"(1[89]|20)\d{2}"
DATE = re.compile(
    rf"({YEAR}([-/.]){MONTH}\3{DAY}|{DAY}([-/.]){MONTH}\7(\d{{2}}|{YEAR})"
    rf"|{MONTH}/{DAY}/(\d{{2}}|{YEAR})){TIME}"
)
PACKED_DATE = re.compile(r"(19|20)\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
POINT = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
COMMA = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
ZEROS = re.compile(r"0\d+")

DATES = (
    "it can single people out; to keep its years or months, say "
    'bands = { by = "year", from = "…", to = "…" }'
)


class Distinct:
    """What the distinct values of a column are.

    ``labels`` can be categories (texts of a file without types are what they stand for),
    ``numbers`` are there where all values are numbers, and ``marks`` are texts beside numbers that
    can only mean a missing value.
    """

    def __init__(self, rows: Mapping[Label, int], *, typed: bool, decimal: str = ".") -> None:
        number = COMMA if decimal == "," else POINT
        labels = list(rows)
        self.trim = any(isinstance(label, str) and label != label.strip() for label in labels)
        if self.trim:
            bare = Counter[Label]()
            for label, count in rows.items():
                bare[label.strip() if isinstance(label, str) else label] += count
            rows, labels = bare, list(bare)
        self.marks: tuple[str, ...] = ("",) if "" in labels and len(labels) > 1 else ()
        labels = [label for label in labels if label != ""]
        texts = [label for label in labels if isinstance(label, str)]
        self.numbers: list[float] | None = None
        if len(texts) == len(labels) > 0:
            figures = [text for text in texts if number.fullmatch(text)]
            others = [text for text in texts if not number.fullmatch(text)]
            if figures and all(text in MARKERS for text in others):
                self.marks += tuple(sorted(others))
                labels = texts = figures
                if not any(ZEROS.fullmatch(text) for text in texts):
                    self.numbers = [float(text.replace(",", ".")) for text in texts]
        elif labels and {*map(type, labels)} <= {int, float, Decimal}:
            self.numbers = [float(label) for label in labels]
        self.texts = texts
        self.labels = labels if typed else typed_texts(labels)
        self.rows = dict(zip(self.labels, (rows[label] for label in labels), strict=True))

    @property
    def are_dates(self) -> bool:
        """Whether they are dates as people write them, or eight digits that are dates."""
        written = [label for label in self.texts if label not in MARKERS]
        if written and all(DATE.fullmatch(text) for text in written):
            return True
        digits = [str(label) for label in self.labels] if self.are_whole else []
        return len(digits) > 2 and all(PACKED_DATE.fullmatch(one) for one in digits)

    @property
    def are_whole(self) -> bool:
        if not self.numbers or all(isinstance(label, int) for label in self.labels):
            return bool(self.numbers)
        # "1" and "1.0" are two texts of one number: as labels they would be two categories.
        once = len(set(self.numbers)) == len(self.labels)
        return once and all(number.is_integer() for number in self.numbers)

    @property
    def look_serial(self) -> bool:
        """Whether whole numbers look given out: they run through, or have the same many digits."""
        numbers = self.numbers or [0.0]
        digits = {len(f"{abs(one):.0f}") for one in numbers}
        runs_through = max(numbers) - min(numbers) < 2 * len(numbers)
        return runs_through or (len(digits) == 1 and max(numbers) >= 1000)


MOST_TEXTS, MOST_INTEGERS = 200, 60
MOST_OF_QUANTITY = 12  # whole numbers such as ages are categories up to so many, banded beyond
MOST_POINTERS = 20
OTHER = "other"  # what rare values are merged into
MOST_DISTINCT = 5_000  # distinct values above which no more are held: it is no set of categories
LONG_TEXT, FEW_ROWS = 40, 20
SHARED_BY = 5  # rows that share a value on average, below which texts nearly name their rows


@frozen
class RoundBands:
    """Edges of bands for the numbers of a column; the last band is open above."""

    edges: tuple[float, ...]
    low: bool  # whether numbers below the first edge are to be counted with it
    public: bool  # whether the edges are known without the file, rather than from its numbers


@frozen
class ColumnProfile:
    """What a column looks like, and the categories or bands that are proposed for it."""

    name: str
    kind: str  # categorical, numeric, identifier, nearly unique, weight, date, codes, free text, …
    reason: str  # why, for the curator
    labels: tuple[Any, ...] = ()
    empty: int = 0
    title: str = ""  # what the file calls it in words
    bands: RoundBands | None = None
    marks: tuple[str, ...] = ()  # texts that stand for a missing value
    trim: bool = False  # whether blanks around texts are to be taken off
    is_listed: bool = False  # whether its type or value labels list the categories, in their order
    meanings: tuple[str, ...] = ()  # what the file says that its categories mean
    # Of categories that were seen: those that few rows hold, with their rows, and what is merged.
    rare: tuple[tuple[Any, int], ...] = ()
    merge: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def can_be_randomised(self) -> bool:
        return bool(self.labels) or self.bands is not None

    @property
    def is_fit(self) -> bool:
        return self.kind in ("categorical", "numeric")

    @property
    def source(self) -> str:
        """Whether categories or bands are known without the values of the file, as a plan says."""
        truths = bool(self.labels) and all(isinstance(label, bool) for label in self.labels)
        return STANDARD if truths or (self.bands is not None and self.bands.public) else SEEN

    @property
    def size(self) -> int:
        return len(self.labels) if self.bands is None else len(self.bands.edges)

    def with_rare_merged(self) -> "ColumnProfile":
        """Merge values that few rows hold into "other", or a category of that name."""
        other = next((one for one in self.labels if str(one).casefold() == OTHER), OTHER)
        old = tuple(label for label, _ in self.rare if label != other)
        left = [label for label in self.labels if label not in old]
        if not old or not {*left} - {other}:  # a single category says nothing
            return self
        # A column of numbers becomes text where one of its labels is.
        labels = tuple(dict.fromkeys([*map(str, left), other]))
        return replace(self, labels=labels, merge={other: old}, rare=())


class ProfileJob:
    """Gathers the values of one column, up to a number that no set of categories has."""

    def __init__(self, column: str, *, typed: bool, ordered: bool = False) -> None:
        self.columns, self.typed, self.ordered = [column], typed, ordered
        self.found: Counter[Label] = Counter()  # rows of each, right while none is left out
        self.rows = self.empty = 0
        self.kind: Any = pa.null()
        self.order: dict[Label, None] = {}
        self.marks: dict[Label, None] = {}

    def add(self, batch: Any) -> None:
        values = batch[self.columns[0]]
        self.rows += len(values)
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            self.found.update(object_key(one)[-1] for one in values)
            self.empty += sum(object_key(one)[-1] is None for one in values)
            return
        self.kind = values.type
        self.empty += pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0
        if self.ordered and pa.types.is_dictionary(values.type):
            self.order |= dict.fromkeys(values.dictionary.to_pylist())
        if not self.is_many and is_looked_at(values.type):
            counted = values.value_counts().slice(0, MOST_DISTINCT + 2)
            new, rows = (counted.field(name).to_pylist() for name in ("values", "counts"))
            self.found.update(dict(zip(new, rows, strict=True)))
        if self.is_many and is_text(values):
            texts = plain_texts(values)
            late = texts.filter(pc.is_in(texts, pa.array(MARKERS, texts.type)))
            self.marks |= dict.fromkeys(late.unique().to_pylist())

    def merge(self, later: "ProfileJob") -> None:
        self.rows += later.rows
        self.empty += later.empty
        self.kind = later.kind if later.rows else self.kind
        self.order |= later.order
        self.found.update(later.found)
        if self.is_many:
            late = (one for one in later.found if isinstance(one, str) and one in MARKERS)
            self.marks |= dict.fromkeys(late)
        self.marks |= later.marks

    @property
    def is_many(self) -> bool:
        return len(self.found) > MOST_DISTINCT + 1

    def labels(self) -> dict[Label, int]:
        """Return the distinct values in order of appearance, whole numbers as integers, with rows.

        The missing one is left out; in a file without types that is the empty text too.
        """
        values: dict[Label, int] = dict(islice(self.found.items(), MOST_DISTINCT + 1))
        values |= {mark: values.get(mark, 0) for mark in self.marks}
        if values and any(isinstance(label, float | Decimal) for label in values):
            values = {object_key(label)[-1]: count for label, count in values.items()}
        nothing = (None,) if self.typed else (None, "")
        return {label: count for label, count in values.items() if label not in nothing}


def is_looked_at(kind: Any) -> bool:
    """Whether values of an Arrow type may be categories."""
    kind = value_type(kind)
    return not (pa.types.is_nested(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind))


def profile_columns(
    records: Records, *, more: Sequence[Job] = (), progress: Watcher | None = None
) -> tuple[list[ColumnProfile], int]:
    """Look at every column in one scan; say what each seems to be, and how many rows there are.

    ``more`` are jobs that see every row too.
    """
    jobs, reporter = [], Reporter(progress)
    for column in records.raw_schema:
        ordered = pa.types.is_dictionary(column.type) and column.type.ordered
        jobs.append(ProfileJob(column.name, typed=records.typed, ordered=ordered))
    rows = scan(
        records,
        [*jobs, *more],
        watch=lambda count, share: reporter.report("reading", share, rows=count),
    )
    labels, decimal = records.file_labels(), records.reading.decimal or "."
    profiles = []
    for job in jobs:
        name = job.columns[0]
        order = records.declared(name) or tuple(job.order)
        beside = [other for other in records.names if other != name]
        listed = labels.values.get(name, {})
        found = judge(job, order, listed, decimal=decimal, beside=beside)
        profiles.append(replace(found, title=labels.titles.get(name, "")))
    return profiles, rows


def judge(
    found: ProfileJob,
    order: Sequence[Label],
    listed: Mapping[Label, str],
    *,
    decimal: str,
    beside: Sequence[str],
) -> ColumnProfile:
    name, kind = found.columns[0], value_type(found.kind)
    if pa.types.is_temporal(kind):
        return ColumnProfile(name, "date", DATES, empty=found.empty)
    if not is_looked_at(kind):
        return ColumnProfile(name, "unsuited", f"its type is {kind}", empty=found.empty)
    values = Distinct(found.labels(), typed=found.typed, decimal=decimal)
    what, reason = judged_kind(found, values, is_listed=bool(order or listed), beside=beside)
    profile = ColumnProfile(
        name, what, reason, empty=found.empty, marks=values.marks, trim=values.trim
    )
    if what in ("numeric", "weight", "nearly unique") and values.numbers:
        bands = round_bands(values.numbers, quantity_of(name), all_seen=not found.is_many)
        return replace(profile, bands=bands)
    if what in ("date", "constant", "free text") or not 1 < len(values.labels) <= MOST_TEXTS:
        return profile
    profile = replace(profile, labels=tuple(in_expected_order(values.labels)))
    for own in (tuple(order), tuple(listed)):
        if len(own) > 1 and set(values.labels) <= set(own):
            meanings = tuple(f"{label} = {listed[label]}" for label in own if listed.get(label))
            profile = replace(profile, labels=own, is_listed=True, meanings=meanings)
            break
    if profile.source == SEEN:
        return replace(profile, rare=rare_values(values.rows.items()))
    return profile


def judged_kind(
    found: ProfileJob, values: Distinct, *, is_listed: bool, beside: Sequence[str]
) -> tuple[str, str]:
    name, labels = found.columns[0], values.labels
    distinct, filled = len(labels), found.rows - found.empty
    many = f"more than {MOST_DISTINCT:,}" if found.is_many else f"{distinct:,}"
    unique = found.is_many or (found.rows > FEW_ROWS and distinct > 0.9 * filled)
    if values.are_dates:
        return "date", DATES
    # Most weights are positive; replicate weights may not all be.
    positive = sum(number > 0 for number in values.numbers or ())
    if values.numbers and is_weight_name(name, beside) and 2 * positive >= len(values.numbers):
        return "weight", "it can single people out; keep it only rounded to few values"
    if distinct < 2:
        return "constant", "all its values are alike" if distinct else "it has no values"
    if is_direct(name) or (is_identifier(name) and (unique or distinct > MOST_POINTERS)):
        return "identifier", f"by its name, with {many} distinct values"
    if values.numbers is not None:
        return judged_kind_of_numbers(name, values, many=many, unique=unique, is_listed=is_listed)
    if is_listed and distinct <= MOST_TEXTS:
        return "categorical", several(distinct, "value")
    if values.texts and np.mean([len(text) for text in values.texts]) > LONG_TEXT:
        return "free text", "its values are long"
    if unique:
        return "identifier", f"{many} distinct values in {several(found.rows, 'row')}"
    if distinct > MOST_POINTERS and distinct * SHARED_BY > filled:
        return "nearly unique", f"{many} distinct values in {several(found.rows, 'row')}"
    if distinct > MOST_TEXTS:
        fine = is_code(name) or any(ZEROS.fullmatch(text) for text in values.texts)
        return ("codes" if fine else "free text"), f"{many} distinct values"
    return "categorical", several(distinct, "value")


def judged_kind_of_numbers(
    name: str, values: Distinct, *, many: str, unique: bool, is_listed: bool
) -> tuple[str, str]:
    distinct, quantity = len(values.labels), quantity_of(name)
    if not values.are_whole:
        return "numeric", f"numbers, {many} distinct"
    if is_listed and distinct <= MOST_INTEGERS:
        return "categorical", several(distinct, "value")
    if unique and values.look_serial and quantity is None:
        return "identifier", f"{many} whole numbers, of which hardly any stands twice"
    if distinct > MOST_INTEGERS or (quantity is not None and distinct > MOST_OF_QUANTITY):
        if is_code(name) and quantity is None:
            return "codes", f"{many} distinct values"
        return "numeric", f"whole numbers, {many} distinct"
    return "categorical", several(distinct, "value")


# The range of quantities that everybody knows, and bands of it: no file is looked at.
PUBLIC: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "age": (0, 130, (0, 15, 25, 35, 45, 55, 65, 75)),
    "count": (0, 200, (0, 1, 2, 3, 4, 5, 6)),
    "hours": (0, 168, (0, 10, 20, 30, 40, 50)),
    "birth year": (1800, 2100, tuple(range(1930, 2020, 10))),
}

STEPS = (1.0, 2.0, 5.0, 10.0)
BANDS, MOST_BANDS = 6, 9

# Numbers beyond this, infinities among them, count with the last band or the first.
HUGE = 1e300

# Part of the values at either end that does not count: the size is not that of one record.
TAIL = 0.05


def round_bands(values: Sequence[float], quantity: str | None, *, all_seen: bool) -> RoundBands:
    """Return round bands for numbers of which these were seen.

    >>> round_bands([18, 40, 90], "age", all_seen=True).edges
    (0, 15, 25, 35, 45, 55, 65, 75)
    >>> round_bands([float(i) for i in range(-30, 70)], None, all_seen=True).edges
    (-40, -20, 0, 20, 40, 60)
    """
    numbers = np.sort(np.clip(np.asarray(values, dtype=np.float64), -HUGE, HUGE))
    least, most = float(numbers[0]), float(numbers[-1])
    if quantity in PUBLIC:
        low, high, known = PUBLIC[quantity]
        if low <= least and most <= high:
            return RoundBands(known, low=known[0] > 0 or not all_seen, public=True)
    usual = numbers[np.abs(numbers) < HUGE]
    # Infinite numbers have no size and would stretch every band.
    edges = edges_by_size(usual) if usual.size else (0, 1)
    return RoundBands(edges, low=least < edges[0] or not all_seen, public=False)


def edges_by_size(numbers: np.ndarray) -> tuple[float, ...]:
    """Return evenly spaced round edges; in steps of 1, 2, 5, 10 … where sizes differ greatly."""
    low, middle, high = (float(np.quantile(numbers, q)) for q in (TAIL, 0.5, 1 - TAIL))
    if numbers[0] >= 0 and 0 < middle < high / 5:
        return growing_edges(max(low, middle / 50), high)
    step = nice((high - low) / BANDS or 1.0)
    start = math.floor(low / step)
    # People expect bands of positive numbers to begin at zero where they nearly do.
    start = 0 if start in (1, 2) else start
    count = min(max(math.floor(high / step) - start + 1, 2), MOST_BANDS)
    return tuple(tidy((start + i) * step) for i in range(count))


def growing_edges(low: float, high: float) -> tuple[float, ...]:
    """Return 0 and the numbers 1, 2 and 5 times powers of ten between; of ten alone where many.

    >>> growing_edges(900, 60_000), growing_edges(3, 4_000_000)
    ((0, 1000, 2000, 5000, 10000, 20000, 50000), (0, 10, 100, 1000, 10000, 100000, 1000000))
    """
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    fine = (step * 10.0**power for power in powers for step in STEPS[:3])
    within = [edge for edge in fine if low <= edge <= high]
    if len(within) >= MOST_BANDS:
        within = [10.0**power for power in powers if low <= 10.0**power <= high][:MOST_BANDS]
    return (0, *map(tidy, within or [high]))


def nice(width: float) -> float:
    """Return the next number that is 1, 2 or 5 times a power of ten.

    >>> nice(0.13), nice(30), nice(7)
    (0.2, 50.0, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(width))
    return float(next(step * power for step in STEPS if step * power >= width * (1 - 1e-9)))


def tidy(edge: float) -> float:
    """Return an edge as people write it: whole numbers without a point."""
    rounded = float(f"{edge:.12g}")
    return int(rounded) if rounded.is_integer() else rounded
