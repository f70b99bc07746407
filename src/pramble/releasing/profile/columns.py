"""What each column of a file looks like: one scan, judged by names, types and values."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain_texts, value_type
from pramble.data.formats.dialect import MARKERS
from pramble.data.labels import Label, object_key, typed_texts
from pramble.data.records import Job, Records, scan
from pramble.releasing.profile.category_order import in_expected_order
from pramble.releasing.profile.round_bands import RoundBands, round_bands
from pramble.releasing.profile.vocabulary import (
    is_code,
    is_direct,
    is_pointing,
    is_weight,
    quantity_of,
)
from pramble.values import Clock, Watcher, value
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


class Distinct:
    """What the distinct values of a column are.

    Attributes
    ----------
    labels : list
        What can be categories: texts of a file without types are what they stand for.
    numbers : list of float, or None
        Where all are numbers.
    marks : tuple of str
        Texts beside numbers that can only mean a missing value.
    """

    def __init__(self, labels: Sequence[Label], *, typed: bool, decimal: str = ".") -> None:
        number = COMMA if decimal == "," else POINT
        self.trim = any(isinstance(label, str) and label != label.strip() for label in labels)
        if self.trim:
            bare = (label.strip() if isinstance(label, str) else label for label in labels)
            labels = list(dict.fromkeys(bare))
        self.marks: tuple[str, ...] = ("",) if "" in labels else ()
        labels = [label for label in labels if label != ""]
        texts = [label for label in labels if isinstance(label, str)]
        self.are_texts = len(texts) == len(labels) > 0
        self.numbers: list[float] | None = None
        if self.are_texts:
            figures = [text for text in texts if number.fullmatch(text)]
            others = [text for text in texts if not number.fullmatch(text)]
            if figures and all(text in MARKERS for text in others):
                self.marks += tuple(sorted(others))
                labels = texts = figures
                if not any(ZEROS.fullmatch(text) for text in texts):
                    self.numbers = [float(text.replace(",", ".")) for text in texts]
        elif labels and all(is_quantity(label) for label in labels):
            self.numbers = [float(label) for label in labels]
        self.texts = texts
        self.labels = labels if typed else typed_texts(labels)

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
        """Whether all are whole numbers, each written in one way."""
        if not self.numbers or all(isinstance(label, int) for label in self.labels):
            return bool(self.numbers)
        once = len(set(self.numbers)) == len(self.labels)
        return once and all(number.is_integer() for number in self.numbers)

    @property
    def look_serial(self) -> bool:
        """Whether whole numbers look given out: they run through, or have the same many digits."""
        numbers = self.numbers or [0.0]
        least, most = min(numbers), max(numbers)
        digits = {len(f"{abs(one):.0f}") for one in numbers}
        return most - least < 2 * len(numbers) or (len(digits) == 1 and most >= 1000)


def is_quantity(label: Label) -> bool:
    """Whether a value is a number, which a truth value is not."""
    return isinstance(label, int | float | Decimal) and not isinstance(label, bool)


MOST_TEXTS = 200
MOST_INTEGERS = 60
MOST_OF_QUANTITY = 12
"""Whole numbers of a quantity, such as ages, are categories up to so many, and banded beyond."""

MOST_POINTERS = 20
MOST_KEPT = 5_000
"""Distinct values of a column above which no more are kept: it is no set of categories."""

LONG_TEXT = 40
FEW_ROWS = 20
SHARED_BY = 5
"""Rows that share a value on average, below which a column of texts nearly names its rows."""


@value
class Look:
    """What a column looks like.

    Attributes
    ----------
    name : str
    kind : str
        "categorical", "numeric", "identifier", "nearly unique", "weight", "date", "codes",
        "free text", "constant" or "unsuited".
    reason : str
        Why, for the curator.
    labels : tuple
        The categories of a categorical column, in order.
    empty : int
        Number of empty cells.
    bands : RoundBands or None
        Of a numeric column.
    marks : tuple of str
        Texts that stand for a missing value.
    trim : bool
        Whether blanks around texts are to be taken off.
    declared : bool
        Whether the categories are the file's own declaration rather than the values seen.
    ordered : bool
        Whether their order means something.
    meanings : tuple of str
        What the file says that its categories mean.
    """

    name: str
    kind: str
    reason: str
    labels: tuple[Any, ...] = ()
    empty: int = 0
    bands: RoundBands | None = None
    marks: tuple[str, ...] = ()
    trim: bool = False
    declared: bool = False
    ordered: bool = False
    meanings: tuple[str, ...] = ()

    @property
    def can_be_randomised(self) -> bool:
        """Whether categories can be proposed for it."""
        return bool(self.labels) or self.bands is not None

    @property
    def is_fit(self) -> bool:
        """Whether it is to be randomised without being asked for by name."""
        return self.kind in ("categorical", "numeric")

    @property
    def is_public(self) -> bool:
        """Whether the proposed categories are known without the values of the file."""
        return self.declared or (self.bands is not None and self.bands.public)


class ColumnLook:
    """Gathers the values of one column, up to a number that no set of categories has."""

    def __init__(self, column: str, *, typed: bool, ordered: bool = False) -> None:
        self.columns, self.typed, self.ordered = [column], typed, ordered
        self.found: dict[Any, Label] = {}
        self.rows = self.empty = 0
        self.kind: Any = pa.null()
        self.order: dict[Label, None] = {}
        self.marks: dict[Label, None] = {}

    def add(self, batch: Any) -> None:
        """Take a batch."""
        values = batch[self.columns[0]]
        self.rows += len(values)
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            self.found |= {object_key(one): object_key(one)[-1] for one in values}
            self.empty += sum(object_key(one)[-1] is None for one in values)
            return
        self.kind = values.type
        self.empty += pc.sum(pc.is_null(values, nan_is_null=True)).as_py() or 0
        if self.ordered and pa.types.is_dictionary(values.type):
            self.order |= dict.fromkeys(values.dictionary.to_pylist())
        if not self.is_many and is_looked_at(values.type):
            new = values.unique().slice(0, MOST_KEPT + 2).to_pylist()
            self.found |= dict(zip(new, new, strict=True))
        if self.is_many and is_text(values):
            texts = plain_texts(values)
            late = texts.filter(pc.is_in(texts, pa.array(MARKERS, texts.type)))
            self.marks |= dict.fromkeys(late.unique().to_pylist())

    def merge(self, later: "ColumnLook") -> None:
        """Take the values of the rows that follow."""
        self.rows += later.rows
        self.empty += later.empty
        self.kind = later.kind if later.rows else self.kind
        self.order |= later.order
        self.found |= later.found
        if self.is_many:
            late = (one for one in later.found.values() if isinstance(one, str) and one in MARKERS)
            self.marks |= dict.fromkeys(late)
        self.marks |= later.marks

    @property
    def is_many(self) -> bool:
        """Whether there are more distinct values than are kept."""
        return len(self.found) > MOST_KEPT + 1

    def labels(self) -> list[Label]:
        """Return the distinct values in order of appearance, whole numbers as integers.

        The missing one is left out; in a file without types that is the empty text too.
        """
        kept = list(dict.fromkeys([*list(self.found.values())[: MOST_KEPT + 1], *self.marks]))
        if kept and any(isinstance(label, float | Decimal) for label in kept):
            kept = [object_key(label)[-1] for label in kept]
        return [label for label in kept if label is not None and (self.typed or label != "")]


def is_looked_at(kind: Any) -> bool:
    """Whether values of an Arrow type may be categories."""
    kind = value_type(kind)
    return not (pa.types.is_nested(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind))


def look_at(
    records: Records, *, beside: Sequence[Job] = (), progress: Watcher | None = None
) -> list[Look]:
    """Look at every column in one scan, and say what it seems to be.

    Jobs ``beside`` see the same batches.
    """
    jobs = [
        ColumnLook(
            field.name,
            typed=records.typed,
            ordered=pa.types.is_dictionary(field.type) and field.type.ordered,
        )
        for field in records.raw_schema
    ]
    clock = Clock(progress)
    scan(
        records, [*jobs, *beside], watch=lambda rows, share: clock.tell("reading", share, rows=rows)
    )
    listed = records.listed_values()
    return [
        judge(
            job,
            declared=records.declared(job.columns[0]) or tuple(job.order) or None,
            listed=listed.get(job.columns[0], {}),
            decimal=records.reading.decimal or ".",
        )
        for job in jobs
    ]


def judge(
    found: ColumnLook,
    *,
    declared: Sequence[Label] | None = None,
    listed: Mapping[Label, str] | None = None,
    decimal: str = ".",
) -> Look:
    """Judge one column by its name, its type and its values."""
    name, kind = found.columns[0], value_type(found.kind)
    if pa.types.is_temporal(kind):
        return Look(name, "date", DATES, empty=found.empty)
    if not is_looked_at(kind):
        return Look(name, "unsuited", f"its type is {kind}", empty=found.empty)
    values = Distinct(found.labels(), typed=found.typed, decimal=decimal)
    what, reason = kind_of(found, values, declared=bool(declared) or bool(listed))
    look = Look(
        name,
        what,
        reason,
        empty=found.empty,
        marks=values.marks if values.labels else (),
        trim=values.trim,
    )
    if what in ("numeric", "weight", "nearly unique") and values.numbers:
        bands = round_bands(values.numbers, quantity_of(name), all_seen=not found.is_many)
        return replace(look, bands=bands)
    if what in ("date", "constant", "free text") or not 1 < len(values.labels) <= MOST_TEXTS:
        return look
    own = declared_labels(values.labels, declared, listed)
    if own is not None:
        meanings = tuple(filter(None, ((listed or {}).get(label, "") for label in own)))
        return replace(look, labels=own, declared=True, ordered=True, meanings=meanings)
    labels, ordered = in_expected_order(values.labels)
    return replace(look, labels=tuple(labels), ordered=ordered)


DATES = (
    "it can single people out; to keep its years, quarters or months, say "
    'bands = { by = "year", from = "…", to = "…" }'
)


def kind_of(found: ColumnLook, values: Distinct, *, declared: bool) -> tuple[str, str]:
    """Return what a column seems to be, and why."""
    name, labels = found.columns[0], values.labels
    distinct, filled = len(labels), found.rows - found.empty
    many = f"more than {MOST_KEPT:,}" if found.is_many else f"{distinct:,}"
    unique = found.is_many or (found.rows > FEW_ROWS and distinct > 0.9 * filled)
    if values.are_dates:
        return "date", DATES
    if values.numbers is not None and is_weight(name) and weighs(values.numbers):
        return "weight", "it can single people out; keep it only rounded to few values"
    if distinct < 2:
        return "constant", "all its values are alike" if distinct else "it has no values"
    if is_direct(name) or (is_pointing(name) and (unique or distinct > MOST_POINTERS)):
        return "identifier", f"by its name, with {many} distinct values"
    if values.numbers is not None:
        return kind_of_numbers(name, values, many=many, unique=unique, declared=declared)
    if declared and distinct <= MOST_TEXTS:
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


def kind_of_numbers(
    name: str, values: Distinct, *, many: str, unique: bool, declared: bool
) -> tuple[str, str]:
    """Return what a column of numbers seems to be, and why."""
    distinct, quantity = len(values.labels), quantity_of(name)
    if not values.are_whole:
        return "numeric", f"numbers, {many} distinct"
    if declared and distinct <= MOST_INTEGERS:
        return "categorical", several(distinct, "value")
    if unique and values.look_serial and quantity is None:
        return "identifier", f"{many} whole numbers, of which hardly any stands twice"
    if distinct > MOST_INTEGERS or (quantity is not None and distinct > MOST_OF_QUANTITY):
        if is_code(name) and quantity is None:
            return "codes", f"{many} distinct values"
        return "numeric", f"whole numbers, {many} distinct"
    return "categorical", several(distinct, "value")


def weighs(numbers: Sequence[float]) -> bool:
    """Whether numbers can be weights: most of them are positive (replicates may not all be)."""
    positive = sum(number > 0 for number in numbers)
    return positive >= 0.5 * len(numbers) > 0


def declared_labels(
    seen: Sequence[Label], declared: Sequence[Label] | None, listed: Mapping[Label, str] | None
) -> tuple[Label, ...] | None:
    """Return the categories that the file declares, if they hold every value that was seen."""
    for own in (declared, tuple(listed or ())):
        if own and len(own) > 1 and set(seen) <= set(own):
            return tuple(own)
    return None
