"""The figures of a plan for records."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from pramble.errors import PrambleError
from pramble.estimation.estimate import estimate
from pramble.information.distributions import Table, as_distribution
from pramble.information.structural_zeros import as_possible
from pramble.mechanisms.plan import Plan
from pramble.outcome import FrequencyOutcome, PairOutcome, ProtectedOutcome, RecordOutcome
from pramble.privacy.guarantee import float_above
from pramble.releasing.distances import asked_of_record, sentences_of
from pramble.releasing.prepare import Prepared
from pramble.releasing.record_design import keeps_whole, rules_of
from pramble.releasing.record_priors import evened
from pramble.solvers.record.costs import plan_costs
from pramble.solvers.record.design_record import design_record

MOST_PAIRS, MOST_SHOWN = 2, 60
"""Tables shown before and after, and their cells."""
COMPARED = 8.0
"""Seconds for a plan that shows what noise has cost."""


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
        columns=tuple(
            FrequencyOutcome(column.name, column.labels, before=column.counts)
            for column in record.columns
        ),
        by_distance=tuple(sentences_of(record.apart)),
    )


def observed_record(
    outcome: RecordOutcome, data: Any, *, counted: Mapping[Table, Any], rows: int
) -> RecordOutcome:
    """Add the analyst's estimates from the written file, or files: of columns, and of a table."""
    columns = observed_columns(outcome.columns, data, outcome.plan)
    pairs = [
        pair_outcome(outcome, data, table, counts, rows=rows)
        for table, counts in counted.items()
        if len(table) > 1 and counts.size <= MOST_SHOWN
    ]
    return replace(outcome, columns=columns, pairs=tuple(filter(None, pairs[:MOST_PAIRS])))


def observed_columns(
    columns: Sequence[FrequencyOutcome], evidence: Any, plan: Plan | None = None
) -> tuple[FrequencyOutcome, ...]:
    """Return columns with what an analyst estimates of them, where that can be."""
    found = []
    for column in columns:
        try:
            one = estimate(evidence, plan, by=[column.name], covers="randomisation")
        except PrambleError:
            found.append(column)
            continue
        order = {label: place for place, label in enumerate(one.cells[column.name])}
        places = [order[label] for label in column.categories]
        found.append(
            replace(
                column,
                estimate=tuple(one.probabilities[places].tolist()),
                lower=tuple(one.lower[places].tolist()),
                upper=tuple(one.upper[places].tolist()),
            )
        )
    return tuple(found)


def expected_tables(job: Prepared) -> ProtectedOutcome | None:
    """Return the figures of protected tables that are known before anything is measured."""
    if job.protected is None:
        return None
    design = job.protected.design
    return ProtectedOutcome(
        tables=len(design.plan.tables),
        noise=design.typical,
        gap=design.gap,
        worst=design.guarantee.worst,
        rows_per_person=design.guarantee.rows_per_person,
        columns=tuple(
            FrequencyOutcome(column.name, column.labels, before=column.counts)
            for column in job.protected.columns
        ),
        chosen=None
        if design.plan.choice is None
        else tuple(" × ".join(table) for table in design.plan.chosen),
    )


def pair_outcome(
    outcome: RecordOutcome, data: Any, table: Table, counts: Any, *, rows: int
) -> PairOutcome | None:
    """Return a table before and after; None where nothing can be told of it."""
    try:
        found = estimate(data, outcome.plan, by=list(table), covers="randomisation")
    except PrambleError:
        return None
    labels = {column.name: column.categories for column in outcome.columns}
    before = dict(zip(product(*(labels[name] for name in table)), counts.ravel(), strict=True))
    cells = tuple(zip(*(found.cells[name] for name in table), strict=True))
    return PairOutcome(
        table,
        cells,
        tuple(int(before.get(cell, 0)) for cell in cells),
        tuple(found.probabilities.tolist()),
        tuple(found.lower.tolist()),
        tuple(found.upper.tolist()),
        rows,
    )


def loss_from_noise(job: Prepared) -> float | None:
    """Return how much less the tables would cost with a plan that knew the file's own law.

    Both plans are valued at the file's own tables, so this is a raw figure. None where the plan
    knows them, or they were not counted.
    """
    record = job.record
    if record is None or record.prior.source != "private" or not record.counted:
        return None
    labels, wanted = record.labels, record.tables
    possible = as_possible(rules_of(job.spec), labels)
    own = evened(
        {table: cells / job.rows for table, cells in record.counted.items()},
        possible,
        rows=job.rows,
    )
    law = as_distribution(own, {name: len(found) for name, found in labels.items()})
    best = design_record(
        labels,
        **asked_of_record(record.apart, record.design.alpha),
        prior=own,
        possible=possible,
        tables=wanted,
        whole=keeps_whole(job.spec, labels),
        time_limit=COMPARED,
    )
    here, there = (
        sum(plan_costs(plan, labels, law, tables=wanted, possible=possible).values())
        for plan in (record.design.plan, best.plan)
    )
    return max(1 - there / here, 0.0) if math.isfinite(here) else None
