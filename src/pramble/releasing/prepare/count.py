"""One scan of the confidential file: how often each value occurs, and whether order tells it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.crosstab import Tabulation
from pramble.data.encode import UNDECLARED, Encoder
from pramble.data.labels import Label, as_labels
from pramble.data.levels import Levels
from pramble.data.order import in_order, typed_texts
from pramble.data.records import Records
from pramble.data.scan import scan
from pramble.data.table import Crosstab, fill_missing
from pramble.errors import InvalidData, with_values
from pramble.limits import MOST_CATEGORIES_SEEN
from pramble.releasing.decisions.decisions import ColumnDecision, Decisions
from pramble.releasing.prepare.order import Neighbours
from pramble.releasing.prepare.people import RowsOfPeople
from pramble.values import Clock, value


class ValueCounts:
    """Counts the values of one column: a job for a scan.

    Attributes
    ----------
    counts : dict
        Of the values as they stand in the file, texts of a text file as texts.
    neighbours : Neighbours
    """

    def __init__(self, column: str) -> None:
        self.columns = [column]
        self.levels = Levels(column)
        self.totals = np.zeros(0, dtype=np.int64)
        self.neighbours = Neighbours()

    def add(self, batch: Any) -> None:
        """Count one batch."""
        codes = self.levels.codes(batch[self.columns[0]])
        found = np.bincount(codes, minlength=max(len(self.totals), len(self.levels.labels)))
        found[: len(self.totals)] += self.totals
        self.totals = found
        self.neighbours.add(codes)

    @property
    def counts(self) -> dict[Label, int]:
        """How often each value occurs."""
        return dict(zip(self.levels.labels, self.totals.tolist(), strict=True))


@value(eq=False)
class Counted:
    """A column of the plan with its categories and their counts in the confidential file.

    ``ordered`` says whether its values go with the order of the rows, ``seen`` whether its
    categories were taken from the file.
    """

    decision: ColumnDecision
    labels: tuple[Label, ...]
    counts: tuple[int, ...]
    ordered: bool = False
    seen: bool = False

    @property
    def name(self) -> str:
        """The column's name."""
        return self.decision.name

    @property
    def needs_prior(self) -> bool:
        """Whether its design depends on the prior."""
        return self.decision.needs_prior(len(self.labels))


@value(eq=False)
class Counts:
    """What one scan of the file found.

    Attributes
    ----------
    rows : int
    columns : tuple of Counted
    keys : Crosstab or None
        The records by their risk keys.
    rows_per_person : int
    """

    rows: int
    columns: tuple[Counted, ...]
    keys: Crosstab | None
    rows_per_person: int


def count_columns(records: Records, decisions: Decisions, *, clock: Clock) -> Counts:
    """Scan the file once; every column is checked against its categories."""
    columns, risk = decisions.columns, decisions.risk
    jobs = {column.name: ValueCounts(column.name) for column in columns}
    keys = None if risk is None else Tabulation(records, risk.keys, keep_rows=True)
    people = None if decisions.person is None else RowsOfPeople(decisions.person)
    rows = scan(
        records,
        [*jobs.values(), *(job for job in (keys, people) if job is not None)],
        watch=lambda count, share: clock.tell("counting", share, rows=count),
    )
    if not rows:
        raise InvalidData(f"{records.name!r} has no rows; there is nothing to release.")
    declared = decisions.rows_per_person
    most = declared or 1 if people is None else people.most(declared)
    return Counts(
        rows,
        tuple(settle(column, jobs[column.name], typed=records.typed) for column in columns),
        None if keys is None else with_missing(keys.result(), columns),
        most,
    )


def with_missing(table: Crosstab, columns: Sequence[ColumnDecision]) -> Crosstab:
    """Return the table of keys with missing values counted as what they are released as."""
    for column in columns:
        if column.name in table.columns and column.missing not in (None, True):
            table = fill_missing(table, column.name, column.missing)
    return table


def settle(decision: ColumnDecision, found: ValueCounts, *, typed: bool) -> Counted:
    """Return a column with its categories settled and its values checked against them."""
    counts = found.counts
    seen = () if decision.declared is not None else seen_labels(decision.name, counts, typed=typed)
    labels = decision.labels(seen)
    return Counted(
        decision,
        labels,
        declared_counts(decision, labels, counts=counts, typed=typed),
        ordered=found.neighbours.tell(counts.values()),
        seen=decision.declared is None,
    )


def encoder_of(decision: ColumnDecision, labels: Sequence[Label], *, typed: bool) -> Encoder:
    """Return what finds a column's values among its categories."""
    null = None if decision.missing is True else decision.missing
    return Encoder(as_labels(labels), decision.name, from_text=not typed, null_label=null)


def declared_counts(
    decision: ColumnDecision, labels: Sequence[Label], *, counts: Mapping[Label, int], typed: bool
) -> tuple[int, ...]:
    """Return counts in the order of the labels; refuse values that are none of them."""
    encoder = encoder_of(decision, labels, typed=typed)
    totals, strange = [0] * len(labels), {}
    for label, count in counts.items():
        place = int(encoder.places(pa.array([label]))[0])
        if place == UNDECLARED:
            strange[label] = count
        else:
            totals[place] += count
    if strange:
        raise undeclared(decision.name, strange)
    return tuple(totals)


def undeclared(name: str, strange: Mapping[Label, int]) -> InvalidData:
    """Return the error for values that are no declared categories."""
    rows = sum(strange.values())
    if set(strange) == {None}:
        return InvalidData(
            f"Column {name!r} has {rows} empty cells. State what they are to become: missing = "
            "true for a category of its own, or a label."
        )
    error = InvalidData(
        f"Column {name!r} must hold declared categories only; {rows} rows hold others, of "
        f"{len(strange)} values. Declare them, or recode the file."
    )
    return with_values(error, ", ".join(repr(label) for label in list(strange)[:5]))


def seen_labels(name: str, counts: Mapping[Label, int], *, typed: bool) -> tuple[Label, ...]:
    """Return the values that occur, in natural order; refuse what is no set of labels."""
    labels = [label for label in counts if label is not None and (typed or label != "")]
    odd = [label for label in labels if not isinstance(label, str | int)]
    if odd:
        raise InvalidData(
            f"Column {name!r} must hold labels (texts, whole numbers or booleans); found "
            f"{type(odd[0]).__name__} values. Group them into bands (bands = [0, 16, 65]) or do "
            "not randomise it."
        )
    if not 2 <= len(labels) <= MOST_CATEGORIES_SEEN:
        raise InvalidData(
            f"Column {name!r} has {len(labels)} distinct values; a column to randomise has between "
            f"2 and {MOST_CATEGORIES_SEEN:,}, or declared categories."
        )
    return tuple(in_order(labels if typed else typed_texts(labels)))
