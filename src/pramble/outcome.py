"""What happened in a release, as values: what is computed on one side and shown on the other.

`pramble.release` makes a `ReleaseOutcome`; the curator's report, the command line and the app show
it. Everything is a number, a string, a tuple, a guarantee or a mechanism. Some figures were counted
on the confidential file (raw): what may be published is made from the release folder instead.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from pramble.information.accuracy import TableOutcome
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import Certificate
from pramble.privacy.promise import CentralPromise, LocalPromise
from pramble.privacy.unit import Unit
from pramble.values import frozen

Numbers = tuple[float, ...]


@frozen
class FrequencyOutcome:
    """The categories of one column: in the file (raw), and as an analyst estimates them.

    The estimate, with its 95 % interval, is from the release alone; None in a dry run.
    """

    name: str
    categories: tuple[Any, ...]
    before: tuple[int, ...] | None = None
    estimate: Numbers | None = None
    lower: Numbers | None = None
    upper: Numbers | None = None


@frozen(eq=False)
class RecordOutcome:
    """The plan of a release of records."""

    plan: Plan
    certificate: Certificate
    objective: str
    alpha: float  # the part of α that is given to the plan
    alpha_prior: float  # and the part that was spent on its prior
    prior_source: str
    prior_detail: str
    columns: tuple[FrequencyOutcome, ...]
    by_distance: tuple[str, ...] = ()  # what is promised by distance, in sentences

    @property
    def branches(self) -> int:
        """In how many ways a record may be treated."""
        return len(self.plan.shares)


@frozen
class ProtectedOutcome:
    """The protected tables of a release."""

    tables: int  # how many were wanted
    noise: float  # root mean square over all their cells, in people
    gap: float  # by what share of its variance another linear Gaussian mechanism could have less
    worst: tuple[str, ...]  # people who differ in these columns are the easiest to distinguish
    columns: tuple[FrequencyOutcome, ...]
    # The mean distance of the tables of the complete records from the protected ones, in people a
    # cell; None in a dry run.
    fit: float | None = None
    chosen: tuple[str, ...] | None = None  # tables that were chosen from the file, if any were


@frozen
class ColumnOutcome:
    """One randomised column; vectors are in the order of its categories."""

    name: str
    categories: tuple[Any, ...]
    mechanism: Mechanism
    certificate: Certificate
    family: str
    objective: str
    invariant: bool
    alpha: float  # the part of α that is given to the mechanism
    alpha_prior: float  # and the part that was spent on the column's prior
    prior: Numbers
    prior_source: str
    prior_detail: str
    entropy: float  # H(X) at the prior, in nats
    information: float  # I(X;Z) at the prior, in nats
    information_bound: float  # what any α-private mechanism for these categories can carry
    estimation_variance: float  # n × the summed variance of the shares; infinite if not estimable
    change_expected: float  # the share of values that change, by the design
    change_observed: float | None = None  # and as counted (raw)
    before: tuple[int, ...] | None = None  # counts in the file (raw)
    after: tuple[int, ...] | None = None  # counts in the release, by the mechanism's outputs
    estimate: Numbers | None = None  # the analyst's, from the release alone, with its 95 % interval
    lower: Numbers | None = None
    upper: Numbers | None = None
    by_distance: str = ""  # what is promised by distance, as a sentence

    @property
    def share(self) -> float:
        """Information as a share of the most that is proven possible at this α."""
        return self.information / self.information_bound if self.information_bound else 1.0

    @property
    def retained(self) -> float:
        """Information as a share of the entropy: what a released value reveals of the true one."""
        return self.information / self.entropy if self.entropy else 1.0


@frozen
class RiskOutcome:
    """Re-identification risk of the file before and after randomising (raw)."""

    keys: tuple[str, ...]
    model: str
    population_size: int
    sample_uniques: int  # records that are alone in their combination of keys
    tau1_before: float  # expected population uniques among them
    tau2_before: float  # expected correct matches
    tau1_after: float
    tau2_after: float
    # Records in classes of fewer than 3 and of fewer than 5 by the keys, in the file; and the same
    # and the number of unique ones in the release at face value, where records keep all keys.
    classes: tuple[int, int] | None = None
    uniques_after: int | None = None
    classes_after: tuple[int, int] | None = None


@frozen
class Check:
    """One check of the written release: what was checked, whether it held, and the figures."""

    name: str
    passed: bool
    detail: str


@frozen
class ReleaseOutcome:
    """A whole release, or what a dry run expects of one.

    Of ``columns``, ``record`` and ``protected`` one is there: columns that were designed one by
    one, records designed as a whole, or protected tables.
    """

    source: str | None  # the name of the confidential file, without its folder
    rows: int
    columns: tuple[ColumnOutcome, ...]
    untouched: tuple[str, ...]  # released as they are, **not protected**
    dropped: tuple[str, ...]
    unit: Unit  # who is protected
    spent: LocalPromise  # what is spent on each of them, with all their rows
    limit: LocalPromise | CentralPromise  # what the plan allows
    warnings: tuple[str, ...]  # what the curator must read; the first ones matter most
    checks: tuple[Check, ...]  # of the written files; empty in a dry run
    risk: RiskOutcome | None
    ledger_total: LocalPromise | None  # on the same people in all releases, this one included
    data_file: str
    data_bytes: int  # 0 in a dry run
    seconds: float
    plan: str  # as TOML: with the software version, a way to reproduce the designs
    version: str
    created: str  # UTC time in ISO format
    dry_run: bool = False
    record: RecordOutcome | None = None
    tables: tuple[TableOutcome, ...] = ()  # what readers will get of single and wanted tables
    # Against those who only read the release, where that is proven, and the ε below which no proof
    # can go.
    central: CentralPromise | None = None
    lower: float | None = None
    protected: ProtectedOutcome | None = None
    seen: tuple[str, ...] = ()  # what was read off the file and is revealed by that, in sentences
    # By column, values that were seen and that few rows hold, with their rows (raw).
    rare: Mapping[str, tuple[tuple[Any, int], ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The protected columns."""
        whole = self.record or self.protected
        shown: tuple[ColumnOutcome | FrequencyOutcome, ...]
        shown = self.columns if whole is None else whole.columns
        return tuple(column.name for column in shown)

    @property
    def alpha(self) -> float:
        """α spent on each person, with all their rows, rounded up."""
        return self.spent.shown

    @property
    def guarantee(self) -> LocalPromise | CentralPromise:
        """The promise of the release, whose number is the one to quote."""
        if isinstance(self.limit, CentralPromise) and self.central is not None:
            return self.central
        return self.spent
