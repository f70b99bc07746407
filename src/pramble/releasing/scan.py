"""One scan of the confidential file: how often each value occurs, and how many rows a person has.

Neighbouring files differ in the values of one person's rows; whose row it is stays the same, so the
most rows of a person is the same in both and may be used and published.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from pramble.data.crosstab import Crosstab, CrosstabJob, fill_missing
from pramble.data.encode import UNDECLARED, Codes, Encoder, Levels
from pramble.data.labels import Label, as_labels, in_order, typed_texts
from pramble.data.records import Job, Records, scan
from pramble.data.repair import broken, rule_columns
from pramble.engine.keystream import derived_key
from pramble.errors import InvalidData, with_values
from pramble.information.distributions import Table
from pramble.limits import LEAST_ROWS_OF_A_VALUE, MOST_CATEGORIES_SEEN
from pramble.releasing.contributions import Contributions
from pramble.releasing.linkage import Neighbours
from pramble.releasing.spec.column import ColumnSpec
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.values import Integers, Reporter, frozen
from pramble.words import several

# Tables of more cells are no prior: their noise would be larger than they are.
MOST_TABLE_CELLS = 2_000_000

# Combinations of values as they stand in the file, of which several may be one label.
MOST_COUNTED = 8 * MOST_TABLE_CELLS


class ValueCounts:
    """Counts the values of one column as they stand in the file: a job for a scan."""

    def __init__(self, column: str) -> None:
        self.columns = [column]
        self.levels = Levels(column)
        self.totals = np.zeros(0, dtype=np.int64)
        self.codes: Codes = self.totals
        self.neighbours = Neighbours()

    @property
    def size(self) -> int:
        return len(self.levels.labels)

    def add(self, batch: Any) -> None:
        self.codes = self.levels.codes(batch[self.columns[0]])
        self._grow()
        self.totals += np.bincount(self.codes, minlength=self.size)
        self.neighbours.add(self.codes)

    def _grow(self) -> None:
        """Make room for new values, which stand after those that were known."""
        self.totals = np.pad(self.totals, (0, self.size - len(self.totals)))

    def merge(self, later: "ValueCounts") -> None:
        place = self.places(later)
        self._grow()
        self.totals[place] += later.totals
        self.neighbours.merge(later.neighbours, place)

    def places(self, later: "ValueCounts") -> Integers:
        return self.levels.merge(later.levels)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: not the codes of the last batch."""
        return {**self.__dict__, "codes": self.codes[:0]}

    @property
    def counts(self) -> dict[Label, int]:
        return dict(zip(self.levels.labels, self.totals.tolist(), strict=True))


class JointCounts:
    """Counts the cells of some tables: a job for a scan, after the jobs that code the columns."""

    def __init__(
        self,
        jobs: Mapping[str, ValueCounts],
        tables: Sequence[Table],
        *,
        seen: Collection[str] = (),
    ) -> None:
        self.columns: list[str] = []
        self.jobs, self.seen = jobs, set(seen)
        self.counts: dict[Table, Integers] = {
            table: np.zeros((0,) * len(table), dtype=np.int64) for table in tables
        }

    def add(self, batch: Any) -> None:
        """Count one batch, which the columns' jobs have coded."""
        del batch
        for table, cells in self._grown():
            place = np.ravel_multi_index([self.jobs[name].codes for name in table], cells.shape)
            self.counts[table] += np.bincount(place, minlength=cells.size).reshape(cells.shape)

    def _grown(self) -> Iterator[tuple[Table, Integers]]:
        """Yield the tables with room for all values met so far, without those that are large."""
        for table, found in list(self.counts.items()):
            shape = tuple(self.jobs[name].size for name in table)
            if math.prod(shape) <= MOST_COUNTED:
                room = [(0, new - old) for new, old in zip(shape, found.shape, strict=True)]
                self.counts[table] = np.pad(found, room)
                yield table, self.counts[table]
            elif self.seen & set(table):
                # Its size is no secret, for it has a column whose categories are revealed anyway.
                del self.counts[table]
            else:
                raise InvalidData(
                    f"Columns {', '.join(map(repr, table))} have too many values to be counted "
                    'together. Recode them, or take prior = "uniform" or "public".'
                )

    def merge(self, later: "JointCounts") -> None:
        """Take the counts of the rows that follow; the columns' jobs have been merged."""
        self.counts = {table: own for table, own in self.counts.items() if table in later.counts}
        for table, cells in self._grown():
            added = later.counts[table]
            places = [self.jobs[name].places(later.jobs[name]) for name in table]
            there = (own[:size] for own, size in zip(places, added.shape, strict=True))
            cells[np.ix_(*there)] += added

    def over_labels(self, columns: Mapping[str, "CountedColumn"]) -> dict[Table, Any]:
        """Return the tables over labels: each value of a column has its place among them."""
        answer = {}
        for table, found in self.counts.items():
            own = [columns[name] for name in table]
            cells = np.zeros([len(one.labels) for one in own], dtype=np.int64)
            np.add.at(cells, np.ix_(*(np.array(one.places, np.int64) for one in own)), found)
            answer[table] = cells
        return answer


class BrokenRules:
    """Counts the records that break a rule: a job for a scan."""

    def __init__(self, rules: Sequence[Mapping[str, Any]], *, typed: bool) -> None:
        self.rules, self.typed = rules, typed
        self.columns = sorted(set().union(*map(rule_columns, rules))) if rules else []
        self.counts = [0] * len(rules)
        self.first: list[int | None] = [None] * len(rules)
        self.rows = 0

    def add(self, batch: Any) -> None:
        for i, rule in enumerate(self.rules):
            wrong = broken(rule, batch, typed=self.typed)
            if wrong.any() and self.first[i] is None:
                self.first[i] = self.rows + int(wrong.argmax()) + 1
            self.counts[i] += int(wrong.sum())
        self.rows += batch.num_rows

    def merge(self, later: "BrokenRules") -> None:
        for i, (count, first) in enumerate(zip(later.counts, later.first, strict=True)):
            if self.first[i] is None and first is not None:
                self.first[i] = self.rows + first
            self.counts[i] += count
        self.rows += later.rows

    def refuse(self) -> None:
        for i, (rule, count, first) in enumerate(
            zip(self.rules, self.counts, self.first, strict=True), start=1
        ):
            if count:
                repaired = "its repair does not mend them" if "repair" in rule else "state a repair"
                raise InvalidData(
                    f"Rule {i} of what is possible ({', '.join(sorted(rule_columns(rule)))}) is "
                    f"broken by {count} rows, the first of them row {first}. Correct them, change "
                    f"the rule, or {repaired}."
                )


@frozen(eq=False)
class CountedColumn:
    """A column of the plan with its categories and their counts in the confidential file."""

    spec: ColumnSpec
    labels: tuple[Label, ...]
    counts: tuple[int, ...]
    places: tuple[int, ...] = ()  # of the values among the labels, in the order of appearance
    ordered: bool = False  # whether the values go with the order of the rows

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def rare(self) -> tuple[tuple[Label, int], ...]:
        """Values that were seen in the file and that few rows hold, the rarest first."""
        was_seen = self.spec.seen & {"categories", "merge"}
        return rare_values(zip(self.labels, self.counts, strict=True)) if was_seen else ()

    @property
    def counted(self) -> Integers:
        return np.array(self.counts, dtype=np.int64)

    @property
    def needs_prior(self) -> bool:
        return self.spec.needs_prior(len(self.labels))


@frozen(eq=False)
class FileCounts:
    """What one scan of the file found."""

    rows: int
    columns: tuple[CountedColumn, ...]
    keys: Crosstab | None  # the records by their risk keys
    rows_per_person: int
    people: Contributions | None
    tables: Mapping[Table, Integers]  # those that were asked for and are not too large
    fingerprint: str = ""  # of the randomised columns, where a release has a secret
    key: bytes | None = field(default=None, repr=False)  # of the noise of priors, made of both


def count_rows(records: Records, jobs: Sequence[Any], *, reporter: Reporter) -> int:
    """Show every row to some jobs; return how many there are."""
    return scan(
        records, jobs, watch=lambda count, share: reporter.report("counting", share, rows=count)
    )


def count_columns(
    records: Records,
    spec: ReleaseSpec,
    *,
    tables: Sequence[Table] = (),
    people: Contributions | None = None,
    more: Sequence[Job] = (),
    secret: bytes | None = None,
    reporter: Reporter,
) -> FileCounts:
    """Scan the file once; columns are checked against their categories, records against rules.

    ``people`` are those of the file, where the plan says whose each row is; ``more`` are jobs that
    see every row too.
    """
    most = spec.rows_per_person
    if most is None:
        # Of protected tables the number is chosen when they are designed.
        most = 1 if people is None or spec.of_tables else people.most
    columns, risk = spec.columns, spec.risk
    jobs = {column.name: ValueCounts(column.name) for column in columns}
    seen = [column.name for column in columns if column.declared is None]
    joint = JointCounts(jobs, tables, seen=seen)
    rules = BrokenRules(spec.possible, typed=records.typed)
    keys = (
        None if risk is None else CrosstabJob(records, risk.keys, keep_rows=not records.rows_stay)
    )
    mark = None
    if secret is not None:
        from pramble.releasing.fingerprint import Fingerprint

        mark = Fingerprint(jobs, secret)
    others = [job for job in (mark, keys) if job is not None]
    rows = count_rows(records, [*jobs.values(), joint, rules, *others, *more], reporter=reporter)
    if not rows:
        raise InvalidData(f"{records.name!r} has no rows; there is nothing to release.")
    counted_columns = tuple(
        label_counts(column, jobs[column.name], typed=records.typed) for column in columns
    )
    rules.refuse()
    table = None if keys is None else keys.result()
    for column in columns:
        if table and column.name in table.columns and column.null_label is not None:
            table = fill_missing(table, column.name, column.null_label)
    return FileCounts(
        rows,
        counted_columns,
        table,
        most,
        people,
        joint.over_labels({column.name: column for column in counted_columns}),
        "" if mark is None else str(mark),
        None if secret is None else derived_key(secret, "priors", str(mark)),
    )


def count_each(
    records: Records, columns: Sequence[ColumnSpec], *, reporter: Reporter
) -> dict[str, CountedColumn | InvalidData]:
    jobs = {column.name: ValueCounts(column.name) for column in columns}
    count_rows(records, list(jobs.values()), reporter=reporter)
    found: dict[str, CountedColumn | InvalidData] = {}
    for column in columns:
        try:
            found[column.name] = label_counts(column, jobs[column.name], typed=records.typed)
        except InvalidData as error:
            found[column.name] = error
    return found


def label_counts(spec: ColumnSpec, found: ValueCounts, *, typed: bool) -> CountedColumn:
    """Return a column with its categories and its values checked against them."""
    counts = found.counts
    # Categories that nobody declared are what occurs: the release reveals which do.
    seen = () if spec.declared is not None else seen_labels(spec.name, counts, typed=typed)
    labels = spec.labels(seen)
    places = declared_places(spec, labels, counts=counts, typed=typed)
    totals = np.bincount(places, weights=list(counts.values()), minlength=len(labels))
    return CountedColumn(
        spec,
        labels,
        tuple(totals.astype(np.int64).tolist()),
        places,
        ordered=found.neighbours.follow_values(counts.values()),
    )


def rare_values(counts: Iterable[tuple[Label, int]]) -> tuple[tuple[Label, int], ...]:
    """Return the values that few rows hold, with their rows, the rarest first."""
    found = (pair for pair in counts if 0 < pair[1] < LEAST_ROWS_OF_A_VALUE)
    return tuple(sorted(found, key=lambda pair: pair[1]))


def declared_places(
    spec: ColumnSpec, labels: Sequence[Label], *, counts: Mapping[Label, int], typed: bool
) -> tuple[int, ...]:
    """Return where each value stands among the labels; refuse values that are none of them."""
    encoder = Encoder(as_labels(labels), spec.name, from_text=not typed, null_label=spec.null_label)
    places = [int(encoder.places(pa.array([label]))[0]) for label in counts]
    strange = {
        label: count
        for (label, count), place in zip(counts.items(), places, strict=True)
        if place == UNDECLARED
    }
    rows = sum(strange.values())
    if set(strange) == {None}:
        raise InvalidData(
            f"Column {spec.name!r} has {rows} empty cells. State what they are to become: missing "
            "= true for a category of its own, or a label."
        )
    if strange:
        error = InvalidData(
            f"Column {spec.name!r} must hold declared categories only; {rows} rows hold others, of "
            f"{len(strange)} values. Declare them, or recode the file."
        )
        raise with_values(error, ", ".join(repr(label) for label in list(strange)[:5]))
    return tuple(places)


def seen_labels(name: str, counts: Mapping[Label, int], *, typed: bool) -> tuple[Label, ...]:
    """Return the values that occur, in natural order; refuse what is no set of labels."""
    labels = [label for label in counts if label is not None and (typed or label != "")]
    odd = [label for label in labels if not isinstance(label, str | int)]
    if odd:
        is_number = isinstance(odd[0], Real | Decimal)
        way = "Group them into bands (bands = [0, 16, 65])" if is_number else "Make labels of them"
        raise InvalidData(
            f"Column {name!r} must hold labels (texts, whole numbers or booleans); found "
            f"{type(odd[0]).__name__} values. {way}, or do not randomise it."
        )
    if not 2 <= len(labels) <= MOST_CATEGORIES_SEEN:
        raise InvalidData(
            f"Column {name!r} has {several(len(labels), 'distinct value')}; a column to randomise "
            f"has between 2 and {MOST_CATEGORIES_SEEN:,}, or declared categories. Declare or merge "
            "them in a plan, or drop the column."
        )
    return tuple(in_order(labels if typed else typed_texts(labels)))
