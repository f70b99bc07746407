"""Which promise: several of them side by side for one file, and nothing written.

A file is counted once for all promises of a kind.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramble import numbers
from pramble.data.frames import Tidy
from pramble.data.recode import Reading, as_reading
from pramble.errors import InvalidInput, InvalidPlan, PrambleError, PrivacyError
from pramble.information.accuracy import TableOutcome, Verdict, verdict_of
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.design import risk_figures
from pramble.releasing.prepare import Scanned, design_scanned, scan_for
from pramble.releasing.source_labels import open_labelled
from pramble.releasing.spec.document import (
    plan_document,
    spec_of,
    without_others,
    without_weights,
)
from pramble.releasing.spec.settings import LARGEST_DELTA, RANDOMISED, RECORDS, TABLES, plain_design
from pramble.releasing.spec.spec import DELTA, ReleaseSpec
from pramble.shown import Display, Grid
from pramble.values import Reporter, Watcher, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Of the search for the plan of each promise.
EFFORT = 3.0


@frozen
class Candidate:
    """One promise, what an intruder could learn under it, and what readers would get."""

    kind: str  # "local", against everybody, or "central", against those who only read the release
    promise: float  # α, or ε
    belief: float  # how sure an intruder who was 50 % sure of a person's values can become at most
    right_before: float  # expected right matches; not a number where the plan names no risk keys
    right_after: float
    verdict: Verdict
    tables: tuple[TableOutcome, ...] = field(repr=False)  # wanted and single ones
    plan: Plan | TablePlan | None = field(repr=False, compare=False)
    warnings: tuple[str, ...] = field(repr=False)
    design: str

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of a typical cell of the typical wanted table."""
        return self.verdict.typical.half_width

    @property
    def wanted(self) -> int:
        return sum(table.wanted for table in self.tables)

    @property
    def noise(self) -> int:
        """How many of the wanted tables would be noise."""
        return sum(table.wanted and table.useless for table in self.tables)

    @property
    def name(self) -> str:
        """The promise in a few letters."""
        return f"{'α' if self.kind == 'local' else 'ε'} = {self.promise:g}"


class PromiseComparison:
    """A file and a plan, under one promise after another; nothing is written.

    Examples
    --------
    >>> people = {"sex": ["f", "m"] * 500}
    >>> trials = PromiseComparison(people, columns="sex")
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
        """Return the plan under one promise, checked."""
        changes: dict[str, Any] = (
            {"alpha": promise} if kind == "local" else {"central": promise, "delta": self.delta}
        )
        changes["design"] = self.design_for(kind)
        plan, settings = self.plan, self.settings
        if changes["design"] != TABLES:
            plan = None if plan is None else without_weights(plan_document(plan))
            settings = without_weights(settings)
        settings = {**without_others(settings, changes), **changes}
        found = spec_of(plan, self.columns, alpha=None, settings=settings)
        if found.design != TABLES and found.tables == "auto":
            found = replace(found, tables=2)  # all pairs, which protected tables have too
        return found if self.reading is None else replace(found, reading=as_reading(self.reading))

    def design_for(self, kind: str) -> str:
        """Return the design that keeps a kind of promise: the stated one, where it can."""
        plan = {} if self.plan is None else plan_document(self.plan)
        stated = plain_design({**plan, **self.settings}.get("design"))
        if kind == "central":
            return stated if stated in (RECORDS, TABLES) else TABLES
        return stated if stated in RANDOMISED else RECORDS

    def candidate(
        self, kind: str, promise: float, *, reporter: Reporter | None = None
    ) -> Candidate:
        watched = reporter or Reporter(None)
        spec = self.spec(kind, promise)
        records, spec = open_labelled(self.source, spec)
        if kind not in self.scans:  # what a scan finds is the same for all promises of a kind
            self.scans[kind] = scan_for(records, spec, reporter=watched)
        prepared = design_scanned(
            self.scans[kind],
            spec,
            confidential_allowed=True,
            reporter=watched,
            effort=EFFORT,
            for_readers=kind != "local",
        )
        tables = prepared.design.accuracy(prepared.rows)
        before = after = math.nan
        if spec.risk is not None and prepared.keys is not None and not spec.of_tables:
            risk = risk_figures(prepared.keys, spec.risk, plan=prepared.plan)
            before, after = risk.tau2_before, risk.tau2_after
        spent = prepared.design.spent if kind == "local" else prepared.central
        return Candidate(
            "local" if kind == "local" else "central", promise, spent.belief(),
            before, after, verdict_of(tables), tables,
            prepared.design.plan, prepared.warnings, spec.design,
        )  # fmt: skip


ALPHAS, CENTRALS = (0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 1.0, 2.0)
PEEK = (
    "A promise that is chosen by looking at the file says something of it that no promise covers: "
    "choose by what people are owed, or try on a public file that is like it."
)
RELEASED = {
    ("local", "records"): "",
    ("local", "columns"): "",
    ("central", "tables"): " (readers; tables)",
    ("central", "records"): " (readers; shuffled records)",
}


@frozen(eq=False, repr=False)
class Candidates(Display, Tidy):
    """Promises side by side; :func:`try_release` returns them.

    Attributes
    ----------
    found : tuple of Candidate
    notes : tuple of str

    Examples
    --------
    >>> import pramble
    >>> people = {"sex": ["f", "m"] * 500}
    >>> found = pramble.try_release(people, columns="sex", alphas=[2.0], centrals=[])
    >>> found.to_arrow()["belief"].to_pylist()[0] <= 0.89
    True
    """

    found: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.found)

    def columns(self) -> dict[str, list[Any]]:
        """Return the tidy table as plain lists."""
        names = (
            "kind", "promise", "belief", "half_width", "noise", "wanted", "right_before",
            "right_after", "design",
        )  # fmt: skip
        return {name: [getattr(one, name) for one in self.found] for name in names}

    def shown(self) -> Grid:
        """Return a line for each promise."""
        columns = {
            "promise": [f"{one.name}{RELEASED[one.kind, one.design]}" for one in self.found],
            "half sure becomes": [f"{numbers.sure(one.belief)} at most" for one in self.found],
            "typical cell": [width_text(one.half_width) for one in self.found],
            "noise": [f"{one.noise} of {one.wanted} tables" for one in self.found],
            "right matches": [
                ""
                if math.isnan(one.right_after)
                else f"{numbers.expected(one.right_before)} → {numbers.expected(one.right_after)}"
                for one in self.found
            ],
        }
        columns = {name: own for name, own in columns.items() if any(own)}
        head, rows = list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
        best = [one for one in self.found if not one.verdict.is_noise]
        below = "\n".join(f"{one.name}: {one.verdict.good}" for one in best)
        return Grid("Promises side by side; nothing was written", head, rows,
                    notes=self.notes, below=below)  # fmt: skip

    def plot(self) -> "Figure":
        """Return a figure: what readers get against what an intruder may learn."""
        from pramble.plots.tradeoffs import candidates_figure

        return candidates_figure(self.found)


def try_release(
    source: Any,
    *,
    plan: str | Path | ReleaseSpec | Mapping[str, Any] | None = None,
    columns: Sequence[str] | str | None = None,
    alphas: Sequence[float] | None = None,
    centrals: Sequence[float] | None = None,
    delta: float = DELTA,
    reading: Reading | Mapping[str, Any] | None = None,
    progress: Watcher | None = None,
    **settings: Any,
) -> Candidates:
    """Compare promises for a file, as `pramble.release` would keep them; nothing is written.

    For each α (against everybody, also whoever handles the file) and each central ε (against those
    who only read the release) a plan is designed, and valued by the one measure of every release:
    half of the 95 % interval of a typical cell. A central ε is kept by protected tables.

    Parameters
    ----------
    source : path, frame, reader or mapping
        The confidential records.
    plan : str, Path, ReleaseSpec or mapping, optional
        A plan, whose promise is replaced by each candidate.
    columns : sequence of str
        The columns to randomise; with a plan, some of its columns.
    alphas, centrals : sequences of float, optional
        Candidates; by default 0.5, 1, 2, 4 and 8, and where every other column is dropped also the
        central 0.5, 1 and 2. With ``design="records"`` the central ones are of shuffled records.
    delta : float
        δ of the central ones.
    reading, progress, **settings
        As of `pramble.release`.

    Returns
    -------
    Candidates

    Examples
    --------
    >>> import pramble
    >>> people = pramble.datasets.synthetic_new_york(2000).select(["SEX", "MARST"])
    >>> found = pramble.try_release(people, columns=["SEX", "MARST"], alphas=[1.0, 4.0],
    ...                             centrals=[], prior="uniform")
    >>> first, second = found
    >>> first.half_width > second.half_width, first.belief < second.belief
    (True, True)
    """
    reporter = Reporter(progress)
    if plan is None and columns is None:
        raise InvalidInput("A try needs a plan, or a list of columns.")
    asked = [("local", alpha) for alpha in (ALPHAS if alphas is None else alphas)]
    asked += [("central", one) for one in (CENTRALS if centrals is None else centrals)]
    trials = PromiseComparison(
        source, plan=plan, columns=columns, delta=delta, reading=reading, settings=settings
    )
    notes = [PEEK]
    if not 0 < delta < LARGEST_DELTA:
        raise InvalidInput(f"delta must be a number in (0, {LARGEST_DELTA:g}); found {delta!r}.")
    # Designs may take minutes: a plan that cannot be tried is refused before the first of them.
    for kind, promise in list(asked):
        try:
            trials.spec(kind, promise)
        except InvalidPlan as error:
            if centrals is not None or kind == "local":
                raise
            notes.append(f"Central promises were not tried. {error}")
            asked = [one for one in asked if one[0] == "local"]
            break
    found = []
    for number, (kind, promise) in enumerate(asked):
        reporter.report(
            f"trying {'α' if kind == 'local' else 'ε'} = {promise:g}", number / len(asked)
        )
        try:
            found.append(trials.candidate(kind, promise))
        except PrambleError as error:
            if centrals is not None or kind == "local" or not isinstance(error, PrivacyError):
                raise
            notes.append("Central promises were not tried: some columns are released as they are.")
            break
    reporter.report("done", 1.0)
    # What is warned of under every promise is of the file and its columns.
    every = [set(one.warnings) for one in found]
    notes += [one for one in found[0].warnings if all(one in own for own in every)] if found else []
    return Candidates(tuple(found), tuple(notes))


def width_text(half_width: float) -> str:
    """Return the interval of a typical cell in words; nothing where it was not found.

    >>> width_text(0.01), width_text(math.inf), width_text(math.nan)
    ('± 1 points', 'not identifiable', '')
    """
    if math.isnan(half_width):
        return ""
    return f"± {numbers.points(half_width)} points" if half_width < 1 else "not identifiable"
