"""What each column of a file looks like: one scan, judged by names, types and values."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.arrays import value_type
from pramble.data.labels import Label
from pramble.data.levels import Levels
from pramble.data.order import in_order, typed_texts
from pramble.data.records import Records
from pramble.data.scan import scan
from pramble.values import value

MOST_TEXTS = 200
MOST_INTEGERS = 60
MOST_KEPT = 5_000
"""Distinct values of a column above which no more are kept: it is no set of categories."""

LONG_TEXT = 40
IDENTIFIER = re.compile(
    r"(^|_)(id|uuid|guid|ssn|nin|name|surname|forename|email|e_mail|phone|tel|address|passport|"
    r"licen[cs]e|account|iban)(_|$)",
    re.IGNORECASE,
)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")


@value
class Look:
    """What a column looks like.

    Attributes
    ----------
    name : str
    kind : str
        "categorical", "identifier", "free text", "numeric", "date", "constant" or "unsuited".
    reason : str
        Why, for the curator.
    labels : tuple
        The values that occur, in order, of a categorical column.
    empty : int
        Number of empty cells.
    """

    name: str
    kind: str
    reason: str
    labels: tuple[Any, ...] = ()
    empty: int = 0


class ColumnLook:
    """Gathers the values of one column, up to a number that no set of categories has."""

    def __init__(self, column: str, *, typed: bool) -> None:
        self.columns, self.typed = [column], typed
        self.levels = Levels(column)
        self.rows = self.empty = 0
        self.kind: Any = pa.null()

    def add(self, batch: Any) -> None:
        """Take a batch."""
        values = batch[self.columns[0]]
        self.kind = values.type
        self.rows += len(values)
        self.empty += values.null_count
        if not self.is_many and is_looked_at(values.type):
            self.levels.codes(values)

    @property
    def is_many(self) -> bool:
        """Whether there are more distinct values than are kept."""
        return len(self.levels.labels) > MOST_KEPT

    @property
    def labels(self) -> list[Label]:
        """The distinct values, without the missing one."""
        found = self.levels.labels if self.typed else typed_texts(self.levels.labels)
        return [label for label in found if label is not None and (self.typed or label != "")]


def is_looked_at(kind: Any) -> bool:
    """Whether values of an Arrow type may be categories."""
    kind = value_type(kind)
    return not (pa.types.is_nested(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind))


def look_at(records: Records) -> list[Look]:
    """Look at every column in one scan, and say what it seems to be."""
    jobs = [ColumnLook(name, typed=records.typed) for name in records.names]
    scan(records, jobs)
    return [judge(job, declared=records.declared(job.columns[0])) for job in jobs]


def judge(found: ColumnLook, *, declared: Sequence[Label] | None = None) -> Look:
    """Judge one column by its name, its type and its values."""
    name, labels, kind = found.columns[0], found.labels, value_type(found.kind)
    distinct, filled = len(labels), found.rows - found.empty
    many = f"more than {MOST_KEPT:,}" if found.is_many else str(distinct)
    texts = [label for label in labels if isinstance(label, str)]

    def look(what: str, reason: str) -> Look:
        return Look(name, what, reason, empty=found.empty)

    if pa.types.is_temporal(kind) or (texts and all(DATE.fullmatch(text) for text in texts)):
        return look("date", "dates are not randomised; group them into labels first")
    if not is_looked_at(kind):
        return look("unsuited", f"its type is {kind}")
    numbers = bool(texts) and all(NUMBER.fullmatch(text) for text in texts)
    broken = numbers and any(not text.lstrip("+-").isdigit() for text in texts)
    if broken or any(isinstance(label, float) for label in labels):
        return look("numeric", f"numbers with {many} distinct values")
    if distinct < 2:
        return look("constant", "it has fewer than two values")
    if IDENTIFIER.search(name) and distinct > MOST_INTEGERS:
        return look("identifier", f"by its name, and {many} distinct values")
    if found.rows > 20 and distinct > 0.9 * min(filled, MOST_KEPT):
        return look("identifier", f"{many} distinct values in {found.rows} rows")
    if not texts and distinct > MOST_INTEGERS:
        return look("numeric", f"whole numbers with {many} distinct values")
    if texts and np.mean([len(text) for text in texts]) > LONG_TEXT:
        return look("free text", "its values are long")
    if distinct > MOST_TEXTS:
        return look("numeric" if numbers else "free text", f"{many} distinct values")
    order = tuple(declared or ()) or tuple(in_order(labels))
    return Look(name, "categorical", f"{distinct} values", order, found.empty)
