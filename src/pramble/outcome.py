"""What happened in a release, as values: what is computed on one side and shown on the other.

`pramble.release` makes a `ReleaseOutcome`; pages, the command line and the app show it. Everything
is a number, a text, a tuple, a guarantee or a mechanism. Figures that were counted on the
confidential file are *raw*; ``without_raw`` leaves them out.
"""

import math
from dataclasses import replace
from typing import Any

from pramble.information.accuracy import TableOutcome
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import Certificate
from pramble.privacy.guarantee import CentralPrivacy, RecordPrivacy
from pramble.values import value

Numbers = tuple[float, ...]


@value
class FrequencyOutcome:
    """The categories of one column.

    ``before`` are counts in the confidential file (raw). ``estimate``, with its 95 % interval, is
    what an analyst finds from the release alone; None in a dry run.
    """

    name: str
    categories: tuple[Any, ...]
    before: tuple[int, ...] | None = None
    estimate: Numbers | None = None
    lower: Numbers | None = None
    upper: Numbers | None = None


@value
class PairOutcome:
    """The cells of a table: counted in the file (raw), and the shares an analyst estimates."""

    columns: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    before: tuple[int, ...]
    estimate: Numbers
    lower: Numbers
    upper: Numbers
    rows: int

    @property
    def held(self) -> int:
        """How many of the intervals hold what is in the file."""
        ends = zip(self.before, self.lower, self.upper, strict=True)
        return sum(low * self.rows <= count <= high * self.rows for count, low, high in ends)


@value(eq=False)
class RecordOutcome:
    """The plan of a release of records.

    Attributes
    ----------
    objective : str
        What it is best for.
    alpha, alpha_prior : float
        Part of α given to the plan, and part spent on its prior.
    pairs : tuple of PairOutcome
        Tables before and after (raw).
    by_distance : tuple of str
        What is promised by distance between categories, in sentences.
    """

    plan: Plan
    certificate: Certificate
    objective: str
    alpha: float
    alpha_prior: float
    prior_source: str
    prior_detail: str
    columns: tuple[FrequencyOutcome, ...]
    pairs: tuple[PairOutcome, ...] = ()
    by_distance: tuple[str, ...] = ()

    @property
    def branches(self) -> int:
        """In how many ways a record may be treated."""
        return len(self.plan.shares)

    def without_raw(self) -> "RecordOutcome":
        """Return a copy without figures that were counted on the confidential file."""
        return replace(
            self,
            columns=tuple(replace(column, before=None) for column in self.columns),
            pairs=(),
        )


@value
class ProtectedOutcome:
    """The protected tables of a release.

    Attributes
    ----------
    tables : int
        How many tables were wanted.
    noise : float
        The root mean square of the noise over all their cells, in people.
    gap : float
        By what share of its variance any linear Gaussian mechanism could have less, at most.
    worst : tuple of str
        People who differ in these columns are told apart best.
    fit : float or None
        The mean distance of the tables of the complete records from the protected ones, in people
        a cell; None in a dry run.
    chosen : tuple of str, optional
        The tables that were chosen from the file; None where all were stated.
    """

    tables: int
    noise: float
    gap: float
    worst: tuple[str, ...]
    rows_per_person: int
    columns: tuple[FrequencyOutcome, ...]
    fit: float | None = None
    chosen: tuple[str, ...] | None = None

    def without_raw(self) -> "ProtectedOutcome":
        """Return a copy without figures that were counted on the confidential file."""
        return replace(self, columns=tuple(replace(one, before=None) for one in self.columns))


@value
class Rival:
    """Another mechanism for the same column, beside which a design is shown.

    ``alpha`` is the smallest one it satisfies, ``information`` is at the same prior, in nats, and
    ``estimation_variance`` is n × the summed variance of the estimate of p: infinite if p is not
    identifiable. ``change`` is the expected share of values that change.
    """

    name: str
    alpha: float
    information: float
    estimation_variance: float
    change: float


@value
class ColumnOutcome:
    """One randomised column.

    Attributes
    ----------
    categories : tuple
        The labels, in the order of every vector below.
    alpha, alpha_prior : float
        Part of α given to the mechanism, and part spent on the column's prior.
    prior, prior_source, prior_detail
        Probabilities the design used (empty when confidential and published); "uniform",
        "public", "private" or "confidential"; a sentence.
    entropy, information, information_bound : float
        H(X) at the prior, I(X;Z), and a proven bound on what any α-private mechanism for these
        categories can carry, nats.
    estimation_variance : float
        n × summed asymptotic variance of the estimate of p; infinite if not identifiable.
    change_expected, change_observed : float, float or None
        Share of values that change: by the design, and counted (raw).
    before, after : tuple or None
        Counts in the file (raw), and in the release by `mechanism.outputs`.
    estimate, lower, upper : tuple or None
        The analyst's estimate of the frequencies from the release alone, and its 95 % interval.
    by_distance : str
        What is promised by distance between categories, as a sentence; empty without one.
    """

    name: str
    categories: tuple[Any, ...]
    mechanism: Mechanism
    certificate: Certificate
    family: str
    objective: str
    invariant: bool
    alpha: float
    alpha_prior: float
    prior: Numbers
    prior_source: str
    prior_detail: str
    entropy: float
    information: float
    information_bound: float
    estimation_variance: float
    change_expected: float
    change_observed: float | None = None
    before: tuple[int, ...] | None = None
    after: tuple[int, ...] | None = None
    estimate: Numbers | None = None
    lower: Numbers | None = None
    upper: Numbers | None = None
    rivals: tuple[Rival, ...] = ()
    by_distance: str = ""

    @property
    def share(self) -> float:
        """Information as a share of the most that is proven possible at this α."""
        return self.information / self.information_bound if self.information_bound else 1.0

    @property
    def kept(self) -> float:
        """Information as a share of the entropy: what a released value tells of the true one."""
        return self.information / self.entropy if self.entropy else 1.0

    def without_raw(self) -> "ColumnOutcome":
        """Return a copy without figures that were counted on the confidential file.

        With a confidential prior these are also the figures at the prior, which become NaN.
        """
        public = replace(self, before=None, change_observed=None)
        if self.prior_source != "confidential":
            return public
        lost = math.isinf(self.estimation_variance)
        return replace(
            public,
            prior=(),
            entropy=math.nan,
            information=math.nan,
            information_bound=math.nan,
            estimation_variance=math.inf if lost else math.nan,
            change_expected=math.nan,
            rivals=(),
        )


@value
class RiskOutcome:
    """Re-identification risk of the file before and after randomising (raw).

    Attributes
    ----------
    sample_uniques : int
        Records that are alone in their combination of keys.
    tau1_before, tau2_before, tau1_after, tau2_after : float
        Expected population uniques among them, and expected correct matches.
    classes, classes_after : pairs of int, or None
        Records in classes of fewer than 3 and of fewer than 5 by the keys: in the file, and in the
        release at face value, where records keep all keys.
    uniques_after : int or None
        Records of the release that are alone at face value.
    individual, household : float or None
        Sums over the file of the individual risk (with weights) and of the risk of households.
    """

    keys: tuple[str, ...]
    model: str
    population_size: int
    sample_uniques: int
    tau1_before: float
    tau2_before: float
    tau1_after: float
    tau2_after: float
    classes: tuple[int, int] | None = None
    uniques_after: int | None = None
    classes_after: tuple[int, int] | None = None
    individual: float | None = None
    household: float | None = None


@value
class Check:
    """One check of the written release: what was checked, whether it held, and the figures."""

    name: str
    passed: bool
    detail: str


@value
class ReleaseOutcome:
    """A whole release, or what a dry run expects of one.

    Attributes
    ----------
    source : str or None
        Name of the confidential file, without its folder; None in what may be published.
    columns, record, protected
        What was released: columns that were designed one by one, records designed as a whole, or
        protected tables. Only one of them is there.
    tables : tuple of TableOutcome
        What readers will get of single columns and of the wanted tables; empty in what may be
        published when the prior is confidential.
    untouched, dropped : tuple of str
        Columns released as they are (**not protected**), and columns left out.
    guarantee, limit : Guarantee
        What is spent on each record, and what the spec allow.
    central, lower : CentralPrivacy, float or None
        What is spent towards those who only read the release, where that is proven, and the ε that
        no proof can go below.
    total : int or None
        The number of records as it was measured, with noise where a person may have several rows;
        that is what may be published.
    warnings : tuple of str
        Sentences that the curator must read; the first ones matter most.
    checks : tuple of Check
        What was checked on the written files; empty in a dry run.
    ledger_total : Guarantee or None
        What all releases in the ledger spent on the same people, this one included.
    data_file, data_bytes, seconds
        The file written and its size (an expectation in a dry run); time taken.
    plan : str
        The plan as TOML: with the software version, a way to reproduce the designs.
    version, created : str
        Software version; UTC time in ISO format.
    """

    source: str | None
    rows: int
    columns: tuple[ColumnOutcome, ...]
    untouched: tuple[str, ...]
    dropped: tuple[str, ...]
    guarantee: RecordPrivacy
    limit: RecordPrivacy | CentralPrivacy
    warnings: tuple[str, ...]
    checks: tuple[Check, ...]
    risk: RiskOutcome | None
    ledger_total: RecordPrivacy | None
    data_file: str
    data_bytes: int
    seconds: float
    plan: str
    version: str
    created: str
    dry_run: bool = False
    record: RecordOutcome | None = None
    tables: tuple[TableOutcome, ...] = ()
    central: CentralPrivacy | None = None
    lower: float | None = None
    protected: ProtectedOutcome | None = None
    total: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The protected columns."""
        whole = self.record or self.protected
        shown: tuple[ColumnOutcome | FrequencyOutcome, ...]
        shown = self.columns if whole is None else whole.columns
        return tuple(column.name for column in shown)

    @property
    def has_confidential_prior(self) -> bool:
        """Whether figures at the prior are those of the confidential file."""
        record = () if self.record is None else (self.record,)
        return any(one.prior_source == "confidential" for one in (*self.columns, *record))

    @property
    def alpha(self) -> float:
        """α spent on each record, rounded up."""
        return self.guarantee.shown

    def without_raw(self) -> "ReleaseOutcome":
        """Return what may be published: no figure counted on the confidential file is left."""
        return replace(
            self,
            source=None,
            rows=self.rows if self.total is None else self.total,
            columns=tuple(column.without_raw() for column in self.columns),
            record=None if self.record is None else self.record.without_raw(),
            protected=None if self.protected is None else self.protected.without_raw(),
            tables=() if self.has_confidential_prior else self.tables,
            warnings=(),
            checks=(),
            risk=None,
            ledger_total=None,
            seconds=0.0,
            plan="",
        )
