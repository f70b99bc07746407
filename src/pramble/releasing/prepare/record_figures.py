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
from pramble.report.numbers import points
from pramble.report.record import FrequencyOutcome, RecordOutcome, TableOutcome
from pramble.solvers.record.costs import plan_costs
from pramble.solvers.record.design_record import design_record

QUICK, COMPARED = 2.0, 8.0
"""Seconds for a plan that might have been, and for one that shows what noise has cost."""

LARGER = (1.5, 3.0, 6.0)
"""Times α, or ε, that are tried where tables would be noise."""


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
    """Say that tables will be noise, and what α or ε, fewer tables or columns would do about it.

    None where at most half of them are.
    """
    noise, wanted = outcome.useless, len(outcome.tables)
    if 2 * len(noise) <= wanted:
        return None
    worst = max(noise, key=lambda table: table.half_width / table.typical)
    which = f"{len(noise)} of the {wanted} wanted tables" if wanted > 1 else "The wanted table"
    symbol = "α" if job.decisions.central is None else "ε"
    ways = "; ".join(ways_out(job, symbol)) or (
        f"no larger {symbol}, fewer tables or columns that were tried"
    )
    return (
        f"{which} will be noise: the 95 % interval of a typical cell is wider than the cell (in "
        f"{' × '.join(worst.columns)} ± {points(worst.half_width)} points around "
        f"{points(worst.typical)}). What would help: {ways}."
    )


def ways_out(job: Prepared, symbol: str) -> Iterator[str]:
    """Yield which larger promise, tables or fewer columns would leave at most half as noise."""
    record = job.record
    assert record is not None, "tables are those of a plan for records"
    for times in LARGER:
        noise, tables = noise_of(job, record, record.tables, times=times)
        if 2 * noise <= tables:
            much = f"{symbol} = {times * job.decisions.limit.shown:.4g}"
            yield f"{much} (noise: {noise} of {tables})"
            break
    names = list(record.labels)
    if any(len(table) > 1 for table in record.tables):
        noise, tables = noise_of(job, record, [(name,) for name in names])
        if 2 * noise <= tables:
            yield f"single columns wanted, tables = 1 (noise: {noise} of {tables})"
    fewer = sorted(names, key=lambda name: len(record.labels[name]))[: max(len(names) // 2, 1)]
    if len(fewer) < len(names):
        kept = [name for name in names if name in fewer]
        among = [table for table in record.tables if set(table) <= set(kept)]
        noise, tables = noise_of(job, record, among or [(name,) for name in kept])
        if 2 * noise <= tables:
            yield f"{', '.join(kept)} alone (noise: {noise} of {tables})"


def promised(job: Prepared, times: float) -> dict[str, Any]:
    """Return what this release promises, times a number, in the words of `design_record`."""
    decisions, record = job.decisions, job.record
    assert record is not None, "it is of a plan for records"
    if decisions.central is None:
        return {"alpha": times * record.design.alpha, "whole": decisions.whole}
    return {
        "central": (times * decisions.central, decisions.delta),
        "rows": job.rows,
        "rows_per_person": job.spent.rows,
        "views": None if decisions.views else False,
        "whole": True,
    }


def noise_of(
    job: Prepared, record: RecordDesigned, wanted: Sequence[Table], *, times: float = 1.0
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
        prior={table: law.margin(table) for table in wanted},
        possible=possible,
        tables=wanted,
        time_limit=QUICK,
        **promised(job, times),
    )
    costs = (
        found.costs
        if found.central is not None
        else plan_costs(found.one_file, labels, law, tables=wanted, possible=possible)
    )
    shown = [
        TableOutcome(t, int(possible.mask(t).sum()), cost, job.rows) for t, cost in costs.items()
    ]
    return sum(table.useless for table in shown), len(shown)
