"""Records that break a rule of what is possible: repaired as declared, or refused.

A repair gives the record labels that the rule allows, from the record alone, before anything is
counted or drawn; what α promises for a record is promised for the repaired one too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramble.data.arrays import without_dictionary
from pramble.data.bands import is_finite_number
from pramble.data.labels import Label, as_whole, place_of, texts_of, typed_texts
from pramble.data.open import open_records
from pramble.data.records import Job, Records, Watch
from pramble.data.remote import PartTask
from pramble.errors import InvalidData
from pramble.releasing.spec.rules import rule_columns
from pramble.releasing.spec.spec import ReleaseSpec

Mask = NDArray[np.bool_]
Rule = Mapping[str, Any]


def broken(rule: Rule, batch: Any, *, typed: bool) -> Mask:
    """Return the rows of a batch that break a rule."""

    def meets(part: Mapping[str, Any]) -> Mask:
        found = np.ones(batch.num_rows, dtype=np.bool_)
        for name, wanted in part.items():
            found &= meets_condition(batch[name], wanted, typed=typed)
        return found

    return meets(rule["never"]) if "never" in rule else meets(rule["if"]) & ~meets(rule["then"])


def meets_condition(values: Any, wanted: Any, *, typed: bool) -> Mask:
    """Return which values of a column meet a condition of a rule."""
    coded = pc.dictionary_encode(without_dictionary(values))
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    occurring = coded.dictionary.to_pylist()
    # The last entry is for missing values, which meet no condition.
    met = np.array([*(met_by(one, wanted, typed=typed) for one in occurring), False])
    place = coded.indices.cast(pa.int64()).fill_null(len(occurring))
    return np.asarray(met[place.to_numpy(zero_copy_only=False)])


def met_by(found: Label, wanted: Any, *, typed: bool) -> bool:
    """Whether a value meets a condition; in a text file by what its text stands for."""
    if isinstance(wanted, Mapping):
        number = found if typed else typed_texts([found])[0]
        low, high = wanted.get("from", -np.inf), wanted.get("below", np.inf)
        return is_finite_number(number) and bool(low <= number < high)
    listed = wanted if isinstance(wanted, list | tuple) else [wanted]
    whole = as_whole(found) if isinstance(found, float) else found
    return place_of(listed, whole) is not None


class RepairedRecords(Records):
    """Records in which those that break a rule with a repair are repaired."""

    def __init__(self, records: Records, rules: Sequence[Rule]) -> None:
        self.inner, self.rules = records, [rule for rule in rules if "repair" in rule]
        self.name, self.reading, self.backend = records.name, records.reading, records.backend

    @property
    def typed(self) -> bool:
        return self.inner.typed

    @property
    def path(self) -> Path | None:
        return self.inner.path

    @property
    def raw_schema(self) -> Any:
        return self.inner.raw_schema

    @property
    def schema(self) -> Any:
        return self.inner.schema

    @property
    def rows(self) -> int | None:
        return self.inner.rows

    def digest(self) -> str:
        return self.inner.digest()

    def declared(self, column: str) -> tuple[Label, ...] | None:
        return self.inner.declared(column)

    def raw_batches(
        self, columns: Sequence[str], coded: Collection[str], watch: Watch | None
    ) -> Iterator[Any]:
        return self.inner.raw_batches(columns, coded, watch)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        coded: Collection[str] = (),
        watch: Watch | None = None,
    ) -> Iterator[Any]:
        wanted = list(self.names if columns is None else columns)
        rules = [rule for rule in self.rules if set(rule["repair"]) & set(wanted)]
        needed = set().union(*map(rule_columns, rules)) if rules else set()
        for batch in self.inner.batches(
            [*wanted, *sorted(needed - set(wanted))], coded=coded, watch=watch
        ):
            yield repaired(batch, rules, typed=self.typed).select(wanted)

    @property
    def rows_stay(self) -> bool:
        return self.inner.rows_stay

    def scanned(self, jobs: Sequence[Job], watch: Watch | None) -> int:
        return self.inner.scanned([AfterRepairs(jobs, self.rules, typed=self.typed)], watch)

    def here(self, columns: Sequence[str], *, rows: int | None = None) -> Records:
        rules = [rule for rule in self.rules if set(rule["repair"]) & set(columns)]
        needed = sorted(set(columns).union(*map(rule_columns, rules)))
        return RepairedRecords(self.inner.here(needed, rows=rows), self.rules)

    def most_of_a_value(self, column: str) -> int | None:
        """Return how many rows share a value of a column that is not repaired."""
        if any(column in rule["repair"] for rule in self.rules):
            return None
        return self.inner.most_of_a_value(column)

    def seen_by(self, task: PartTask, columns: Sequence[str]) -> tuple[PartTask, list[str]]:
        """Return a task that sees these columns repaired, and the columns that repairs need."""
        rules = [rule for rule in self.rules if set(rule["repair"]) & set(columns)]
        others = set().union(*map(rule_columns, rules)) - set(columns) if rules else set()
        shown = partial(task_after, task, rules, self.typed, list(columns))
        return shown, [*columns, *sorted(others)]

    @property
    def remote(self) -> Any:
        assert self.inner.rows_stay, "tasks are sent to rows on Spark alone"
        return self.inner

    def gathered_by(self, key: Sequence[str], columns: Sequence[str]) -> "RepairedRecords":
        """Return some columns, repaired, with all rows of one key in one part, on Spark."""
        rules = [rule for rule in self.rules if set(rule["repair"]) & set(columns)]
        needed = sorted(set(columns).union(*map(rule_columns, rules)))
        return RepairedRecords(self.remote.gathered_by(key, needed), self.rules)

    def sent(
        self, task: PartTask, columns: Sequence[str], schema: Any, *, coded: Collection[str] = ()
    ) -> Any:
        """Return the frame of what a task makes of each part of the rows, repaired, on Spark."""
        shown, needed = self.seen_by(task, columns)
        return self.remote.sent(shown, needed, schema, coded=coded)

    def runs(self, task: PartTask, columns: Sequence[str], schema: Any, **options: Any) -> Any:
        """Return the frame of what a task makes of each run of rows, repaired, on Spark."""
        shown, needed = self.seen_by(task, columns)
        return self.remote.runs(shown, needed, schema, **options)

    @property
    def spans(self) -> Any:
        return self.remote.spans

    @property
    def session(self) -> Any:
        return self.remote.session


def task_after(
    task: PartTask,
    rules: Sequence[Rule],
    typed: bool,  # noqa: FBT001 (of a partial function)
    columns: list[str],
    batches: Iterator[Any],
    part: int,
) -> Iterator[Any]:
    """Do a task on some columns of batches once they are repaired."""
    shown = (repaired(batch, rules, typed=typed).select(columns) for batch in batches)
    yield from task(shown, part)


def repaired(batch: Any, rules: Sequence[Rule], *, typed: bool) -> Any:
    """Return a batch in which records that break a rule are repaired."""
    for rule in rules:
        wrong = broken(rule, batch, typed=typed)
        if not wrong.any():
            continue
        for name, label in rule["repair"].items():
            place = batch.schema.get_field_index(name)
            values = without_dictionary(batch.column(place))
            text = texts_of(label)[0] if not typed else label
            fixed = pc.if_else(pa.array(wrong), pa.scalar(text, values.type), values)
            if pa.types.is_dictionary(batch.schema.field(place).type):
                fixed = fixed.dictionary_encode()
            batch = batch.set_column(place, pa.field(name, fixed.type), fixed)
    return batch


class AfterRepairs:
    """Jobs that see batches once they are repaired: a job for a scan."""

    def __init__(self, jobs: Sequence[Job], rules: Sequence[Rule], *, typed: bool) -> None:
        self.jobs, self.typed = list(jobs), typed
        seen = {name for job in jobs for name in job.columns}
        self.rules = [rule for rule in rules if set(rule["repair"]) & seen]
        self.columns = sorted(seen.union(*map(rule_columns, self.rules)))

    def add(self, batch: Any) -> None:
        mended = repaired(batch, self.rules, typed=self.typed)
        for job in self.jobs:
            job.add(mended)

    def merge(self, later: "AfterRepairs") -> None:
        for job, other in zip(self.jobs, later.jobs, strict=True):
            job.merge(other)


class BrokenRules:
    """Counts the records that break a rule: a job for a scan."""

    def __init__(self, rules: Sequence[Rule], *, typed: bool) -> None:
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


def source_records(source: Any, spec: ReleaseSpec) -> Records:
    """Open the confidential records as decided: columns that are there, and repairs made."""
    records = open_records(source, spec.full_reading())
    spec.check_columns(records.names)
    if any("repair" in rule for rule in spec.possible):
        return RepairedRecords(records, spec.possible)
    return records
