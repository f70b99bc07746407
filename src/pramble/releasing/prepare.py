"""Everything before writing: the spec checked against the whole file, and the designs."""

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pramble.data.crosstab import Crosstab
from pramble.data.labels import Label
from pramble.data.records import Job, MixedRecords, Records, changes_values, mixed
from pramble.data.repair import rule_columns
from pramble.errors import InvalidData, PrivacyError
from pramble.information.distributions import Table
from pramble.limits import LEAST_ROWS_OF_A_VALUE
from pramble.mechanisms.plan import Plan
from pramble.privacy.central import CentralGuarantee, central_guarantee
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.privacy.table_privacy import TableGuarantee
from pramble.privacy.unit import Unit
from pramble.releasing.column_design import design_release_of_columns
from pramble.releasing.contributions import Contributions, bounded
from pramble.releasing.design import ReleaseDesign, requested_tables
from pramble.releasing.folder.layout import DataFile
from pramble.releasing.linkage import Link, links_at_the_start, refuse_links
from pramble.releasing.record_design import design_release_of_records
from pramble.releasing.repeats import Repeat, SharedValues, unreadable, ways_out
from pramble.releasing.scan import MOST_TABLE_CELLS, FileCounts, count_columns, count_rows
from pramble.releasing.spec.settings import COLUMNS, RECORDS, SEEN
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.table_design import design_release_of_tables
from pramble.values import Reporter, frozen
from pramble.words import visible_names

COUNTED = ("private", "confidential")

# By the settings that were read off the file: what is said of their columns.
SEEN_SENTENCES = {
    frozenset({"categories", "merge"}): "The categories of {} were read off the file: the release "
    "reveals values that occur in it.",
    frozenset({"bands"}): "The bands of {} were made from the numbers in the file: the release "
    "reveals their size.",
    frozenset({"missing"}): "Some cells of {} are empty in the file: the release reveals that.",
}
SEEN_RULE = "The rule on {} was read off the file: the release reveals that the records follow it."

# More tables than this are not counted for a prior; single columns are.
MOST_TABLES = 500


@frozen(eq=False)
class Prepared:
    """A release that is ready to be written."""

    records: Records  # the confidential file
    spec: ReleaseSpec
    rows: int
    design: ReleaseDesign
    fingerprint: str  # of the randomised columns, under the secret of the release
    keys: Crosstab | None = None  # the records by their risk keys, if risk is to be reported
    links: tuple[Link, ...] = ()  # untouched columns along which the order reveals a protected one
    people: Contributions | None = None  # how many rows people have, where the plan says whose
    repeats: tuple[Repeat, ...] = ()  # columns that look like people with several rows
    # What is proven against those who only read the release, where every released column is
    # protected and no order of rows is released.
    proof: CentralGuarantee | TableGuarantee | None = None

    @property
    def plan(self) -> Plan:
        assert isinstance(self.design.plan, Plan), "asked for where records are released"
        return self.design.plan

    @cached_property
    def file(self) -> DataFile:
        return DataFile(self.rows, self.spec.rows_per_file)

    @property
    def central(self) -> CentralPromise:
        """What is spent towards those who only read the release."""
        if self.proof is None:
            return CentralPromise.of_local(self.design.spent)
        return self.proof.promise

    @property
    def unit(self) -> Unit:
        """Who is protected, and by how many rows."""
        return self.spec.unit(self.design.spent.rows)

    @property
    def names(self) -> list[str]:
        return self.spec.released(self.records.names)

    @property
    def untouched(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.design.plan.columns)

    @property
    def seen(self) -> tuple[str, ...]:
        """What was read off the file, and what the release reveals by it."""
        found = [
            (sentence, {column.name for column in self.spec.columns if column.seen & settings})
            for settings, sentence in SEEN_SENTENCES.items()
        ]
        found += [(SEEN_RULE, rule_columns(rule)) for rule in self.spec.possible if rule.get(SEEN)]
        return tuple(said.format(", ".join(sorted(names))) for said, names in found if names)

    @property
    def rare(self) -> dict[str, tuple[tuple[Label, int], ...]]:
        """By column the values that were seen and that few rows hold, with their rows."""
        return {column.name: column.rare for column in self.design.columns if column.rare}

    @property
    def warnings(self) -> tuple[str, ...]:
        found = []
        if self.untouched:
            found.append(f"Released as they are, not protected: {visible_names(self.untouched)}.")
        if self.people is not None:
            found.extend(rows_of_people(self.people, self.unit, self.spec))
        if self.rare:
            rare = ", ".join(f"{len(own)} of {name}" for name, own in self.rare.items())
            found.append(
                f"Values that fewer than {LEAST_ROWS_OF_A_VALUE} rows hold were seen in the file: "
                f"{rare}. The release reveals that they occur. Merge them (merge in the plan; "
                "`pramble init --merge-rare` writes it), or declare the categories."
            )
        found += [f"{one} Declare in the plan what is known without it." for one in self.seen]
        ordered = sorted(column.name for column in self.design.columns if column.ordered)
        if ordered and not self.spec.of_tables and not self.spec.is_shuffled:
            found.append(
                f"The order of the rows goes with {', '.join(ordered)}: neighbours "
                "are alike more or less often than by chance. The order is released too, and may "
                "tell a value that was randomised; release with --shuffle (shuffle = true)."
            )
        found.extend(str(link) for link in self.links)
        found.extend(
            # No counts: of a long file they are of a random part, and another one each time.
            f"Rows share values of {one.named}, and by what the plan states of whose they are, "
            "every row is another person."
            for one in (self.repeats[:1] if self.unit.rows == 1 else ())
        )
        if not self.unit.stated:
            found.append(
                "Every row is taken to be another person: state person = false, or the column that "
                "says whose row it is (person = …, --person)."
            )
        if self.spec.allow:
            found.append(
                f"Allowed although they may tell protected columns: {', '.join(self.spec.allow)}."
            )
        if self.design.confidential:
            names = ", ".join(self.design.confidential)
            found.append(
                f"The mechanisms of {names} reveal something of the confidential "
                "frequencies, which α does not cover."
            )
        if is_shuffled_whole(self.records, self.spec) and any(p.spent for p in self.design.priors):
            found.append(
                "No central promise is stated, although the rows are shuffled: the plan follows "
                "from a private prior, so readers of the release are covered by α alone. For one, "
                'take prior = "uniform" or "public", or release with --central.'
            )
        return (*found, *self.design.warnings)


@frozen(eq=False)
class Scanned:
    """A confidential file and what one scan of it found; no promise has a part in it."""

    records: Records
    counts: FileCounts
    links: tuple[Link, ...]
    repeats: tuple[Repeat, ...] = ()


def scan_for(
    records: Records,
    spec: ReleaseSpec,
    *,
    secret: bytes | None = None,
    more: Sequence[Job] = (),
    reporter: Reporter,
) -> Scanned:
    """Count the whole file once, and refuse what does not fit; further jobs see every row, too.

    Of records that are randomised, at most ``rows_per_person`` of each person go on from here; of
    those in tables the engine that counts them takes as many.
    """
    refuse_mixed(records)
    check_public(records, spec)
    names = [column.name for column in spec.columns]
    refuse_untouched(records.names, spec)
    people = None
    if spec.person_columns:
        records, people = bounded(
            records,
            spec.person_columns,
            rows=None if spec.of_tables else spec.rows_per_person,
            secret=secrets.token_bytes(32) if secret is None else secret,
            reporter=reporter,
        )
    found, repeats = counted_with_repeats(
        records, spec, people=people, more=more, secret=secret, reporter=reporter
    )
    watched = spec.watched(records.names)
    links = links_at_the_start(records, watched, names, rows_per_person=found.rows_per_person)
    refuse_links(links)
    return Scanned(records, found, links, repeats)


def counted_with_repeats(
    records: Records,
    spec: ReleaseSpec,
    *,
    people: Contributions | None,
    more: Sequence[Job],
    secret: bytes | None,
    reporter: Reporter,
) -> tuple[FileCounts, tuple[Repeat, ...]]:
    """Count the file, and look for people with several rows; refuse them where nothing is stated.

    Values are looked at as they stand in the file, so where they are recoded it is read once more.
    """
    tables = joint_tables(spec, [column.name for column in spec.columns])
    # Who has one row each by what the plan says may have several by what it does not.
    jobs = [] if people is not None and people.most > 1 else [SharedValues(records)]
    again = bool(jobs) and changes_values(records.reading)
    now, later = (reporter.part(0.0, 0.5), reporter.part(0.5, 0.5)) if again else (reporter,) * 2
    seen = more if again else [*more, *jobs]
    found = count_columns(
        records, spec, tables=tables, people=people, more=seen, secret=secret, reporter=now
    )
    if again:
        plain: Any = replace(records.reading, recode={}, repairs=())
        count_rows(replace(records, reading=plain), jobs, reporter=later)  # type: ignore[type-var]
    repeats = tuple(one for job in jobs for one in job.found())
    rows = spec.rows_per_person or 1
    beyond = [one for one in repeats if max(one.sizes) > rows]
    if beyond and spec.person is None:
        raise PrivacyError(ways_out(beyond))
    if spec.person is None and spec.rows_per_person is None and (odd := unreadable(records)):
        raise PrivacyError(
            f"Column {odd[0]!r} may say whose rows these are, and its type cannot be looked at. "
            "State it: person = false if every row is another person; else make it text or a "
            "number, and name it (person, --person). Nothing was released."
        )
    return found, repeats


def design_scanned(
    scanned: Scanned,
    spec: ReleaseSpec,
    *,
    confidential_allowed: bool,
    reporter: Reporter,
    effort: float | None = None,
    for_readers: bool = True,
) -> Prepared:
    """Design the release of a file that was scanned for the same columns.

    Plans for records are searched for with so much effort, or as much as the search takes;
    ``for_readers`` says whether to prove what a local promise gives against readers.
    """
    records, found = scanned.records, scanned.counts
    if spec.design != COLUMNS:
        reporter.report("designing", 1.0)
    design_release: Callable[..., ReleaseDesign]
    if spec.of_tables:
        design_release = design_release_of_tables
    elif spec.design == COLUMNS:
        design_release = design_release_of_columns
    else:
        design_release = design_release_of_records
    design = design_release(spec, found, confidential_allowed=confidential_allowed, effort=effort)
    # A proof against readers takes seconds, and a comparison of local promises needs none.
    proven: CentralGuarantee | TableGuarantee | None = None
    if for_readers or spec.central is not None:
        proven = central_of(records, spec, found, design=design)
    prepared = Prepared(
        records, spec, found.rows, design, found.fingerprint,
        keys=found.keys, links=scanned.links, people=found.people, repeats=scanned.repeats,
        proof=proven,
    )  # fmt: skip
    check_spent(design.spent if spec.central is None else prepared.central, spec.limit)
    return prepared


def rows_of_people(people: Contributions, unit: Unit, spec: ReleaseSpec) -> Iterator[str]:
    """Say what of the file is used, and where the number of rows came from."""
    whose, k = f"{people.count:,} {unit.plural}", unit.rows
    if spec.rows_per_person is None and not spec.of_tables:
        most = next((j for j in range(1, k) if people.over(j) <= people.count // 20), None)
        way = (
            ""
            if most is None
            else f" {100 * (1 - people.over(most) / people.count):.0f} % have at most {most}: with "
            f"rows_per_person = {most} a random {most} of each are used, with more α for a row."
        )
        yield (
            f"One of {whose} has {k} rows, the most, which was counted in the file and is "
            f"published; a row gets α/{k}. State rows_per_person.{way}"
        )
    if spec.rows_per_person is None and spec.of_tables:
        yield (
            f"At most {k} rows of each of {whose} are used: a number chosen by noisy counts, whose "
            "cost the promise includes. rows_per_person states it."
        )
    if left := people.left_out(k):
        yield (
            f"{left:,} rows are left out: {people.over(k):,} of {whose} have more than {k}, and "
            f"a random {k} of each are used."
        )


def check_spent(spent: LocalPromise | CentralPromise, limit: LocalPromise | CentralPromise) -> None:
    if not limit.allows(spent):
        much, most = (
            one.number if isinstance(one, CentralPromise) else repr(one.shown)
            for one in (spent, limit)
        )
        raise PrivacyError(f"The parts spend {much}, above the limit {most}. Nothing was released.")


def central_of(
    records: Records, spec: ReleaseSpec, found: FileCounts, *, design: ReleaseDesign
) -> CentralGuarantee | TableGuarantee | None:
    """Return what is proven towards readers of the release, if its conditions hold.

    They hold for a release under a local promise too, if it is shuffled, no column is untouched and
    no prior was private: what the file promises must not follow from noise that was drawn on it.
    """
    if design.proof is not None:
        return design.proof
    if not is_shuffled_whole(records, spec) or any(prior.spent for prior in design.priors):
        return None
    return central_guarantee(
        design.plan,
        rows=max(found.rows, 1),
        delta=spec.delta,
        rows_per_person=found.rows_per_person,
    )


def is_shuffled_whole(records: Records, spec: ReleaseSpec) -> bool:
    """Whether the rows are released in random order and every released column is randomised."""
    randomised = {column.name for column in spec.columns}
    return spec.is_shuffled and not set(spec.released(records.names)) - randomised


def refuse_untouched(names: Sequence[str], spec: ReleaseSpec) -> None:
    """Refuse a central promise for a file with columns that are released as they are."""
    if spec.central is None:
        return
    randomised = {column.name for column in spec.columns}
    left = [name for name in spec.released(names) if name not in randomised]
    if left:
        names = ", ".join(map(repr, left[:5])) + (", …" if len(left) > 5 else "")
        raise PrivacyError(
            "A central promise is of releases in which every column is protected; this plan leaves "
            f"as they are: {names}. Protect them too (--columns), or leave them out (--drop, "
            "drop = [...]). A survey weight is stated with weights = … and largest_weight = …. "
            "Nothing was released."
        )


def joint_tables(spec: ReleaseSpec, names: Sequence[str]) -> list[Table]:
    """Return the tables to count for a prior of records, if they are not too many or too large.

    That goes by declared categories, never by the data; those that are taken from the file are
    revealed anyway, and a table of them is counted whatever they are.
    """
    if spec.design != RECORDS or spec.columns[0].prior_source not in COUNTED:
        return []
    if spec.central is not None:
        return []
    tables = requested_tables(spec, names)
    sizes = {column.name: len(column.declared or ()) + 1 for column in spec.columns}
    large = any(math.prod(sizes[name] for name in table) > MOST_TABLE_CELLS for table in tables)
    if large or len(tables) > MOST_TABLES:
        return []
    return [table for table in tables if len(table) > 1]


def refuse_mixed(records: Records) -> None:
    """Refuse columns of values of several types, which no file of records holds."""
    if isinstance(records, MixedRecords):
        filled = {n: [one for one in v if one == one] for n, v in records.columns.items()}
        several = [name for name, values in filled.items() if mixed(values)] or list(filled)
        raise InvalidData(
            f"Column {several[0]!r} must hold values of one type to be released; it holds several. "
            "Make them texts first."
        )


def check_public(records: Records, spec: ReleaseSpec) -> None:
    """Refuse a public prior that is the confidential file itself, or one of its files."""
    source = None if records.path is None else records.path.resolve()
    for column in spec.columns:
        path = None if column.prior_file is None else Path(column.prior_file).resolve()
        if path is not None and source in (path, *path.parents):
            raise PrivacyError(
                f"The prior of column {column.name!r} must come from a public source; "
                f"{str(column.prior_file)!r} is the confidential file. Use a private prior, or "
                'prior = "confidential", which says so.'
            )
