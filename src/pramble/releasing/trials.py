"""Promises that are tried on a file, one by one: it is counted once for all of a kind."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from pramble.data.reading import Reading, as_reading
from pramble.errors import PrambleError
from pramble.information.accuracy import TableOutcome, Verdict, verdict_of
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.prepare.figures import risk_figures
from pramble.releasing.prepare.prepare import Prepared, Scanned, designed, scan_for
from pramble.releasing.prepare.quantile_bands import settle_bands
from pramble.releasing.prepare.repair import source_records
from pramble.releasing.prepare.worth import table_outcomes
from pramble.releasing.spec.document import document_of, spec_of, without_others
from pramble.releasing.spec.settings import RANDOMISED, RECORDS, TABLES
from pramble.releasing.spec.spec import ReleaseSpec
from pramble.values import Clock, value

DELTA = 1e-6
SECONDS = 3.0
"""For the plan of each promise."""

MOST_COMPARED = 5
"""Columns up to which both designs of a central promise are tried."""


@value
class Candidate:
    """One promise, what an intruder could learn under it, and what readers would get.

    Attributes
    ----------
    kind : {"local", "central"}
        Against everybody; or against those who only read the release.
    promise : float
        α, or ε.
    belief : float
        How sure, at most, an intruder can become of a person's values who was half sure.
    half_width : float
        Half of the 95 % interval of a typical cell of the typical wanted table.
    noise, wanted : int
        How many of the wanted tables would be noise.
    right_before, right_after : float
        Right matches that are expected, if the plan names risk keys; not a number otherwise.
    verdict : Verdict
    tables : tuple of TableOutcome
        What readers would get of each wanted table, and of single columns.
    plan : Plan or TablePlan
        What would be done to a record, or measured of the file.
    warnings : tuple of str
    design : {"tables", "records", "columns"}
        Protected tables, or randomised records: under a central promise in random order.
    shuffled : float
        The half width that randomised records in random order have at the same ε and δ in place of
        protected tables; not a number where that was not tried.
    """

    kind: str
    promise: float
    belief: float
    half_width: float
    noise: int
    wanted: int
    right_before: float
    right_after: float
    verdict: Verdict
    tables: tuple[TableOutcome, ...] = field(default=(), repr=False)
    plan: Plan | TablePlan | None = field(default=None, repr=False, compare=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)
    design: str = "records"
    shuffled: float = math.nan

    @property
    def name(self) -> str:
        """The promise in a few letters."""
        return f"{'α' if self.kind == 'local' else 'ε'} = {self.promise:g}"


class Trials:
    """A file and a plan, under one promise after another; nothing is written.

    Examples
    --------
    >>> people = {"sex": ["f", "m"] * 500}
    >>> trials = Trials(people, columns="sex")
    >>> [trials.candidate("local", promise).name for promise in (1.0, 2.0)]
    ['α = 1', 'α = 2']
    """

    def __init__(
        self,
        source: Any,
        *,
        plan: str | Path | ReleaseSpec | Mapping[str, Any] | None = None,
        columns: Sequence[str] | str | None = None,
        delta: float = DELTA,
        reading: Reading | Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.source, self.plan, self.columns, self.delta = source, plan, columns, delta
        self.reading, self.settings = reading, dict(settings or {})
        self.scans: dict[str, Scanned] = {}

    def spec(self, kind: str, promise: float) -> ReleaseSpec:
        """Return the plan under one promise, checked.

        The kind "shuffled" is a central promise that is kept by records in random order.
        """
        changes: dict[str, Any] = (
            {"alpha": promise} if kind == "local" else {"central": promise, "delta": self.delta}
        )
        changes["design"] = self.design_for(kind)
        settings = {**without_others(self.settings, changes), **changes}
        found = spec_of(self.plan, self.columns, alpha=None, settings=settings)
        return found if self.reading is None else replace(found, reading=as_reading(self.reading))

    def design_for(self, kind: str) -> str:
        """Return the design that keeps a kind of promise: the stated one, where it can."""
        plan = {} if self.plan is None else document_of(self.plan)
        stated = {**plan, **self.settings}.get("design")
        if kind == "shuffled":
            return RECORDS
        if kind == "central":
            return stated if stated in (RECORDS, TABLES) else TABLES
        return stated if stated in (*RANDOMISED, "paper") else RECORDS

    def candidate(self, kind: str, promise: float, *, clock: Clock | None = None) -> Candidate:
        """Return what the file gives under one promise."""
        watched = clock or Clock(None)
        settled = settle_bands(self.source, self.spec(kind, promise))
        job = designed(
            self.scanned(kind, settled, clock=watched),
            settled,
            confidential_allowed=True,
            clock=watched,
            seconds=SECONDS,
            for_readers=kind != "local",
        )
        tables = table_outcomes(job)
        wanted, verdict = [table for table in tables if table.wanted], verdict_of(tables)
        before, after = right_matches(job)
        spent = job.spent if kind == "local" else job.central
        return Candidate(
            "local" if kind == "local" else "central", promise, spent.belief(),
            verdict.typical.half_width, sum(table.useless for table in wanted), len(wanted),
            before, after, verdict, tables, job.published, job.warnings, settled.design,
        )  # fmt: skip

    def compared(self, found: Candidate) -> Candidate:
        """Return protected tables with the half width of shuffled records of the same promise.

        More than a few columns take long and are not tried; neither is what records cannot have.
        """
        columns = found.plan.columns if found.plan else ()
        if found.design != "tables" or len(columns) > MOST_COMPARED:
            return found
        try:
            other = self.candidate("shuffled", found.promise)
        except PrambleError:
            return found
        return replace(found, shuffled=other.half_width)

    def scanned(self, kind: str, spec: ReleaseSpec, *, clock: Clock) -> Scanned:
        """Return what a scan finds, which is the same for all promises of a kind.

        Bands by quantiles are found with noise that goes by α: then each promise has its own.
        """
        noisy = any(column.noisy is not None for column in spec.columns)
        if noisy or kind not in self.scans:
            records = source_records(self.source, spec)
            self.scans[kind] = scan_for(records, spec, clock=clock)
        return self.scans[kind]


def right_matches(job: Prepared) -> tuple[float, float]:
    """Return the right matches that are expected before and after; not numbers without keys."""
    asked = job.spec.risk
    if asked is None or job.keys is None or job.protected is not None:
        return math.nan, math.nan
    risk = risk_figures(job.keys, asked, plan=job.plan)
    return risk.tau2_before, risk.tau2_after
