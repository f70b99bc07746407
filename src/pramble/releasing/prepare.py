"""Everything before writing: the spec checked against the whole file, and the designs."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from pramble.data.crosstab import Crosstab
from pramble.data.formats.delimited import as_text
from pramble.data.formats.registry import format_of
from pramble.data.records import MixedRecords, Records, mixed
from pramble.errors import InvalidData, PrivacyError
from pramble.information.distributions import Table
from pramble.ledger.book import central_text
from pramble.mechanisms.plan import Plan
from pramble.privacy.central import CentralGuarantee, central_guarantee
from pramble.privacy.gaussian import float_above
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.privacy.table_privacy import TableGuarantee
from pramble.releasing.column_design import design_release_of_columns
from pramble.releasing.design import ReleaseDesign, requested_tables
from pramble.releasing.folder.layout import DataFile
from pramble.releasing.linkage import Link, links_at_the_start, refuse_links
from pramble.releasing.record_design import design_release_of_records
from pramble.releasing.scan import MOST_TABLE_CELLS, FileCounts, count_columns
from pramble.releasing.spec.settings import COLUMNS, RECORDS
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.releasing.table_design import design_release_of_tables
from pramble.values import Reporter, frozen
from pramble.words import visible_names

COUNTED = ("private", "confidential")

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
    # What is proven against those who only read the release, where every released column is
    # protected and no order of rows is released.
    proof: CentralGuarantee | TableGuarantee | None = None

    @property
    def plan(self) -> Plan:
        assert isinstance(self.design.plan, Plan), "asked for where records are released"
        return self.design.plan

    @cached_property
    def file(self) -> DataFile:
        return DataFile(self.spec.ending, self.rows, self.spec.rows_per_file)

    @property
    def central(self) -> CentralPromise:
        """What is spent towards those who only read the release."""
        if self.proof is None:
            return CentralPromise.of_local(self.design.spent)
        return self.proof.promise

    @property
    def names(self) -> list[str]:
        return self.spec.released(self.records.names)

    @property
    def is_text(self) -> bool:
        """Whether the released file holds texts only."""
        return not format_of(Path(self.spec.data_file)).typed

    @property
    def untouched(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.design.plan.columns)

    @property
    def seen(self) -> frozenset[str]:
        """Columns whose categories were taken from the file."""
        return frozenset(column.name for column in self.design.columns if column.seen)

    @property
    def warnings(self) -> tuple[str, ...]:
        found = []
        if self.untouched:
            found.append(f"Released as they are, not protected: {visible_names(self.untouched)}.")
        if self.seen:
            found.append(
                f"The categories of {', '.join(sorted(self.seen))} are the values that occur in "
                "the file: the release reveals which do. Declare them in a plan to avoid this."
            )
        ordered = sorted(column.name for column in self.design.columns if column.ordered)
        if ordered and not self.spec.of_tables and not self.spec.is_shuffled:
            found.append(
                f"The order of the rows goes with {', '.join(ordered)}: neighbours "
                "are alike more or less often than by chance. The order is released too, and may "
                "tell a value that was randomised; release with --shuffle (shuffle = true)."
            )
        found.extend(str(link) for link in self.links)
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
        return (*found, *self.design.warnings)


@frozen(eq=False)
class Scanned:
    """A confidential file and what one scan of it found; no promise has a part in it."""

    records: Records
    counts: FileCounts
    links: tuple[Link, ...]


def scan_for(
    records: Records, spec: ReleaseSpec, *, secret: bytes | None = None, reporter: Reporter
) -> Scanned:
    """Count the whole file once, and refuse what does not fit."""
    check_output(records, spec)
    check_public(records, spec)
    names = [column.name for column in spec.columns]
    refuse_untouched(records.names, spec)
    found = count_columns(
        records, spec, tables=joint_tables(spec, names), secret=secret, reporter=reporter
    )
    watched = spec.watched(records.names)
    links = links_at_the_start(records, watched, names, rows_per_person=found.rows_per_person)
    refuse_links(links)
    return Scanned(records, found, links)


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
        keys=found.keys, links=scanned.links, proof=proven,
    )  # fmt: skip
    check_spent(design.spent if spec.central is None else prepared.central, spec.limit)
    return prepared


def check_spent(spent: LocalPromise | CentralPromise, limit: LocalPromise | CentralPromise) -> None:
    if not limit.allows(spent):
        much, most = (
            central_text(one) if isinstance(one, CentralPromise) else repr(one.shown)
            for one in (spent, limit)
        )
        raise PrivacyError(f"The parts spend {much}, above the limit {most}. Nothing was released.")


def central_of(
    records: Records, spec: ReleaseSpec, found: FileCounts, *, design: ReleaseDesign
) -> CentralGuarantee | TableGuarantee | None:
    """Return what is proven towards readers of the release, if its conditions hold.

    They hold for a release under a local promise too, if it is shuffled and no column is untouched.
    """
    if design.proof is not None:
        return design.proof
    randomised = {column.name for column in spec.columns}
    if not spec.is_shuffled or set(spec.released(records.names)) - randomised:
        return None
    return central_guarantee(
        design.plan,
        rows=max(found.rows, 1),
        delta=spec.delta,
        rows_per_person=found.rows_per_person,
        additional=float_above(sum((prior.spent for prior in design.priors), Fraction(0))),
    )


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
            "drop = [...]). A survey weight can be banded into classes and protected with the "
            "rest. Nothing was released."
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


def check_output(records: Records, spec: ReleaseSpec) -> None:
    """Refuse an output that cannot hold the types of the file."""
    if isinstance(records, MixedRecords):
        filled = {n: [one for one in v if one == one] for n, v in records.columns.items()}
        several = [name for name, values in filled.items() if mixed(values)] or list(filled)
        raise InvalidData(
            f"Column {several[0]!r} must hold values of one type to be released; it holds several. "
            "Make them texts first."
        )
    if not format_of(Path(spec.data_file)).typed:
        for field in records.schema:
            if field.name not in spec.drop:
                as_text(pa.nulls(0, field.type), column=field.name)


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
