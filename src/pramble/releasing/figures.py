"""The figures of a release: what each column keeps, what an analyst will get, what risk is left."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.crosstab import Crosstab, crosstab
from pramble.data.open import open_records
from pramble.data.records import Records
from pramble.errors import NotIdentifiable, PrambleError
from pramble.estimation.draws.synthesize import Synthesis
from pramble.estimation.estimate import estimate
from pramble.information.distributions import Table
from pramble.information.measures import entropy, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.outcome import (
    ColumnOutcome,
    FrequencyOutcome,
    PairOutcome,
    ProtectedOutcome,
    RecordOutcome,
    ReleaseOutcome,
    RiskOutcome,
)
from pramble.privacy.certificate import certify, distance_sentence
from pramble.privacy.guarantee import float_above
from pramble.releasing.baselines import change_expected, rivals_of, variance_of
from pramble.releasing.column_design import ColumnsDesign, Designed
from pramble.releasing.distances import sentences_of
from pramble.releasing.prepare import Prepared
from pramble.releasing.record_design import RecordsDesign
from pramble.releasing.spec.spec import RiskSpec
from pramble.releasing.table_design import TablesDesign
from pramble.releasing.write.verify import Evidence
from pramble.risk.assess import assess
from pramble.solvers.design import design
from pramble.solvers.result import most_information
from pramble.values import Floats, Integers

if TYPE_CHECKING:
    from pramble.risk.after import RiskAfter
    from pramble.risk.assess import Assessment


MOST_PAIRS, MOST_SHOWN = 2, 60
"""Tables shown before and after, and their cells."""
SEARCHED, EFFORT = 40, 1.0
"""Categories up to which all matrices are searched for a bound, and for how long."""


def expected_figures(job: Prepared) -> dict[str, Any]:
    """Return the figures of what is released that are known before anything is written."""
    design = job.design
    frequencies = tuple(
        FrequencyOutcome(column.name, column.labels, before=column.counts)
        for column in design.columns
    )
    if isinstance(design, ColumnsDesign):
        return {"columns": tuple(expected_column(part) for part in design.parts)}
    if isinstance(design, RecordsDesign):
        record = RecordOutcome(
            plan=design.plan,
            certificate=design.design.certificate,
            objective=design.design.objective,
            alpha=design.design.alpha,
            alpha_prior=float_above(design.prior.spent),
            prior_source=design.prior.source,
            prior_detail=design.prior.detail,
            columns=frequencies,
            by_distance=tuple(sentences_of(design.apart)),
        )
        return {"record": record}
    assert isinstance(design, TablesDesign), "the last of the three designs"
    protected = ProtectedOutcome(
        tables=len(design.plan.tables),
        noise=design.design.typical,
        gap=design.design.gap,
        worst=design.design.guarantee.worst,
        rows_per_person=design.spent.rows,
        columns=frequencies,
        chosen=None
        if design.plan.choice is None
        else tuple(" × ".join(table) for table in design.plan.chosen),
    )
    return {"protected": protected}


def expected_column(designed: Designed) -> ColumnOutcome:
    """Return a column's figures that are known before anything is written."""
    p, mechanism, column = designed.prior.probabilities, designed.mechanism, designed.column
    return ColumnOutcome(
        name=column.name,
        categories=column.labels,
        mechanism=mechanism,
        certificate=certify(mechanism),
        family=column.spec.family,
        objective=column.spec.objective,
        invariant=column.spec.invariant,
        alpha=designed.alpha,
        alpha_prior=float_above(designed.prior.spent),
        prior=p,
        prior_source=designed.prior.source,
        prior_detail=designed.prior.detail,
        entropy=entropy(p),
        information=mutual_information(p, mechanism),
        information_bound=most_possible(np.array(p), designed.alpha),
        estimation_variance=variance_of(p, mechanism),
        change_expected=change_expected(p, mechanism),
        before=column.counts,
        rivals=rivals_of(p, column.labels, designed.alpha),
        by_distance=""
        if designed.distance is None
        else distance_sentence(designed.distance, designed.per_unit),
    )


def most_possible(p: Floats, alpha: float) -> float:
    """Return a proven bound on the information of any matrix for these categories at this α."""
    if not 2 < len(p) <= SEARCHED:
        return most_information(p, alpha)
    return design(p, alpha, family="general", tolerance=1e-3, effort=EFFORT).ceiling


def observed_figures(
    outcome: ReleaseOutcome, job: Prepared, evidence: Evidence, made: Synthesis | None
) -> dict[str, Any]:
    """Return what changes in the outcome once the evidence and complete records are written."""
    if isinstance(job.design, TablesDesign):
        assert made is not None, "complete records come with tables"
        fit = [one.mean * made.rows for one in made.fits]
        expected = expected_figures(job)["protected"]  # of the tables that were chosen meanwhile
        protected = replace(
            expected,
            columns=observed_columns(expected.columns, evidence.data),
            fit=float(np.mean(fit)) if fit else 0.0,
        )
        return {"total": evidence.rows, "protected": protected}
    tally, found = evidence.tally, {}
    assert tally is not None, "records are counted while they are written"
    if isinstance(job.design, RecordsDesign):
        assert outcome.record is not None, "expected before anything was written"
        found["record"] = observed_record(
            outcome.record, evidence.data, counted=job.design.counted, rows=job.rows
        )
    return {
        "columns": tuple(
            observed_column(one, tally.after[one.name], tally.changed[one.name])
            for one in outcome.columns
        ),
        "risk": outcome.risk and observed_risk(outcome.risk, evidence.data, job.plan),
        **found,
    }


def observed_column(outcome: ColumnOutcome, after: Integers, changed: int) -> ColumnOutcome:
    """Add what was counted on the written release, and the analyst's estimate from it."""
    rows = max(int(after.sum()), 1)
    found = replace(outcome, change_observed=changed / rows, after=tuple(after.tolist()))
    if not math.isfinite(outcome.estimation_variance):
        return found
    try:
        answer = estimate(after, outcome.mechanism, counts=True)
    except NotIdentifiable:
        return found
    return replace(
        found,
        estimate=tuple(answer.probabilities.tolist()),
        lower=tuple(answer.lower.tolist()),
        upper=tuple(answer.upper.tolist()),
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


def relevant(plan: Plan, keys: Sequence[str]) -> Plan | Mapping[str, Mechanism] | None:
    """Return what of a plan bears on some keys: single columns, or the whole; None if nothing."""
    if not set(plan.columns) & set(keys):
        return None
    return {name: plan[name] for name in plan.columns if name in keys} if plan.is_simple else plan


def risk_figures(
    table: Crosstab, risk: RiskSpec, *, plan: Plan, records: Records | None = None
) -> RiskOutcome:
    """Return the risk of the file before and after randomising, under one model.

    Sums of risks that go by weights and households are taken from the ``records``, in another pass.
    """
    keys = list(risk.keys)
    before = assess(table, keys, population_size=risk.population_size, model=risk.model)
    after: Assessment | RiskAfter = before
    if risk.model != "none" and (chosen := relevant(plan, keys)):
        after = before.after(chosen)
    return RiskOutcome(
        keys=risk.keys,
        model=before.model,
        population_size=risk.population_size,
        sample_uniques=before.sample_uniques,
        tau1_before=before.tau1,
        tau2_before=before.tau2,
        tau1_after=after.tau1,
        tau2_after=after.tau2,
        classes=(before.below(3), before.below(5)),
        **summed_risks(records, risk),
    )


def summed_risks(records: Records | None, risk: RiskSpec) -> dict[str, Any]:
    """Return the sums of the individual and of the households' risks, where they are asked for."""
    if records is None or not (risk.weights or risk.household):
        return {}
    found = assess(
        records,
        list(risk.keys),
        population_size=risk.population_size,
        model=risk.model,
        weights=risk.weights,
        household=risk.household,
    ).summary()
    names = ("individual", "household")
    return {name: found[f"sum_of_{name}_risk"] for name in names if f"sum_of_{name}_risk" in found}


def observed_risk(outcome: RiskOutcome, data: Any, plan: Plan) -> RiskOutcome:
    """Add how many released records are alone by the keys at face value, if all keep them."""
    if plan.is_split:
        return outcome
    counts = crosstab(open_records(data), list(outcome.keys)).counts
    below = tuple(int(counts[counts < k].sum()) for k in (2, 3, 5))
    return replace(outcome, uniques_after=below[0], classes_after=(below[1], below[2]))
