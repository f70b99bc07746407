"""The figures of a plan for records: what each table will be worth, and what would be better."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pramble.errors import PrambleError
from pramble.estimation.estimate import estimate
from pramble.information.possible import as_possible
from pramble.information.records import Table, as_law
from pramble.privacy.guarantee import float_above
from pramble.releasing.prepare.prepare import Prepared
from pramble.releasing.prepare.record_design import RecordDesigned, rules_of
from pramble.releasing.prepare.record_prior import evened, restricted
from pramble.releasing.prepare.repair import columns_of
from pramble.report.record import FrequencyOutcome, RecordOutcome, TableOutcome
from pramble.solvers.record.costs import plan_costs
from pramble.solvers.record.design_record import design_record

QUICK, COMPARED = 2.0, 8.0
"""Seconds for a plan that might have been, and for one that shows what noise has cost."""

LARGER = (1.5, 3.0, 6.0)
"""Times α that are tried where tables would be noise."""


def expected_record(job: Prepared) -> RecordOutcome | None:
    """Return the figures of a plan for records that are known before anything is written."""
    record = job.record
    if record is None:
        return None
    return RecordOutcome(
        plan=job.plan,
        certificate=record.design.certificate,
        objective=record.design.objective,
        alpha=record.design.alpha,
        alpha_prior=float_above(record.prior.spent),
        prior_source=record.prior.source,
        prior_detail=record.prior.detail,
        tables=tuple(
            TableOutcome(table, cells_of(job, table), cost, job.rows)
            for table, cost in record.costs.items()
        ),
        columns=tuple(
            FrequencyOutcome(column.name, column.labels, before=column.counts)
            for column in record.columns
        ),
    )


def cells_of(job: Prepared, table: Table) -> int:
    """Return the number of possible cells of a table."""
    assert job.record is not None, "tables are those of a plan for records"
    possible = as_possible(rules_of(job.decisions), job.record.labels)
    return int(possible.mask(table).sum())


def observed_record(outcome: RecordOutcome, data: Any) -> RecordOutcome:
    """Add the analyst's estimate of each column from the written file, or files."""
    columns = []
    for column in outcome.columns:
        try:
            found = estimate(data, outcome.plan, by=[column.name])
        except PrambleError:
            columns.append(column)
            continue
        order = {label: place for place, label in enumerate(found.cells[column.name])}
        places = [order[label] for label in column.categories]
        columns.append(
            replace(
                column,
                estimate=tuple(found.probabilities[places].tolist()),
                lower=tuple(found.lower[places].tolist()),
                upper=tuple(found.upper[places].tolist()),
            )
        )
    return replace(outcome, columns=tuple(columns))


def loss_from_noise(job: Prepared) -> float | None:
    """Return how much less the tables would cost with a plan that knew the file's own law.

    Both plans are valued at the file's own tables, so this is a raw figure. None where the plan
    knows them, or they were not counted.
    """
    record = job.record
    if record is None or record.prior.source != "private" or not record.counted:
        return None
    labels, wanted = record.labels, record.tables
    possible = as_possible(rules_of(job.decisions), labels)
    own = evened(
        {table: cells / job.rows for table, cells in record.counted.items()},
        possible,
        rows=job.rows,
    )
    law = as_law(own, {name: len(found) for name, found in labels.items()})
    best = design_record(
        labels,
        record.design.alpha,
        prior=own,
        possible=possible,
        tables=wanted,
        whole=job.decisions.whole,
        time_limit=COMPARED,
    )
    here, there = (
        sum(plan_costs(plan, labels, law, tables=wanted, possible=possible).values())
        for plan in (record.design.one_file, best.one_file)
    )
    return max(1 - there / here, 0.0) if math.isfinite(here) else None


def advice(job: Prepared, outcome: RecordOutcome) -> str | None:
    """Say that tables will be noise, and what α, fewer tables or fewer columns would do about it.

    None where at most half of them are.
    """
    noise = outcome.useless
    if 2 * len(noise) <= len(outcome.tables):
        return None
    worst = max(noise, key=lambda table: table.half_width / table.typical)
    ways = "; ".join(ways_out(job)) or "no larger α, fewer tables or columns that were tried help"
    return (
        f"{len(noise)} of the {len(outcome.tables)} wanted tables will be noise: the 95 % interval "
        f"of a typical cell is wider than the cell (in {' × '.join(worst.columns)} "
        f"± {100 * worst.half_width:.2g} points around {100 * worst.typical:.2g}). What would "
        f"help: {ways}."
    )


def ways_out(job: Prepared) -> Iterator[str]:
    """Yield what a larger α, smaller tables and fewer columns would leave of the noise."""
    record, decisions = job.record, job.decisions
    assert record is not None, "tables are those of a plan for records"
    for times in LARGER:
        alpha = record.design.alpha * times
        noise, tables = noise_of(job, record, alpha, record.tables)
        if 2 * noise <= tables:
            yield f"with α = {times * decisions.limit.shown:.4g}, {noise} of {tables} would be"
            break
    names = list(record.labels)
    if any(len(table) > 1 for table in record.tables):
        single = [(name,) for name in names]
        noise, tables = noise_of(job, record, record.design.alpha, single)
        yield f"with single columns wanted (tables = 1), {noise} of {tables}"
    fewer = sorted(names, key=lambda name: len(record.labels[name]))[: max(len(names) // 2, 1)]
    if len(fewer) < len(names):
        kept = [name for name in names if name in fewer]
        among = [table for table in record.tables if set(table) <= set(kept)]
        wanted = among or [(name,) for name in kept]
        noise, tables = noise_of(job, record, record.design.alpha, wanted)
        yield f"with {', '.join(kept)} alone, {noise} of {tables}"


def noise_of(
    job: Prepared, record: RecordDesigned, alpha: float, wanted: Sequence[Table]
) -> tuple[int, int]:
    """Return how many tables would be noise under a quick plan, and how many there are."""
    names = {name for table in wanted for name in table}
    labels = {name: own for name, own in record.labels.items() if name in names}
    sizes = {name: len(own) for name, own in labels.items()}
    rules = [r for r in rules_of(job.decisions) or [] if columns_of(r) <= names]
    possible = as_possible(rules or None, labels)
    law = as_law(restricted({t: record.law.margin(t) for t in wanted}, possible), sizes)
    found = design_record(
        labels,
        alpha,
        prior={table: law.margin(table) for table in wanted},
        possible=possible,
        tables=wanted,
        whole=job.decisions.whole,
        time_limit=QUICK,
    )
    costs = plan_costs(found.one_file, labels, law, tables=wanted, possible=possible)
    shown = [
        TableOutcome(t, int(possible.mask(t).sum()), cost, job.rows) for t, cost in costs.items()
    ]
    return sum(table.useless for table in shown), len(shown)
