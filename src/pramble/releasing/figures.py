"""The figures of a release: what each column keeps, what an analyst will get, what risk is left."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.crosstab import Crosstab, CrosstabJob
from pramble.data.records import scan
from pramble.errors import NotIdentifiable
from pramble.estimation.draws.synthesize import Synthesis
from pramble.estimation.estimate import estimate
from pramble.estimation.functionals.result import Estimate
from pramble.mechanisms.plan import Plan
from pramble.outcome import ColumnOutcome, FrequencyOutcome, ReleaseOutcome, RiskOutcome
from pramble.releasing.prepare import Prepared
from pramble.releasing.spec.spec import RiskSpec
from pramble.releasing.write.verify import WrittenData
from pramble.risk.assess import assess
from pramble.values import Integers

if TYPE_CHECKING:
    from pramble.risk.after import RiskAfter
    from pramble.risk.assess import Assessment


def observed_figures(
    outcome: ReleaseOutcome,
    prepared: Prepared,
    evidence: WrittenData,
    made: Synthesis,
    answers: Mapping[tuple[str, ...], Estimate],
) -> dict[str, Any]:
    if evidence.tally is None:
        fit = [one.mean * made.rows for one in made.fits]
        expected = prepared.design.figures()["protected"]  # of the tables chosen meanwhile
        protected = replace(
            expected,
            columns=with_estimates(expected.columns, answers),
            fit=float(np.mean(fit)) if fit else 0.0,
        )
        return {"protected": protected}
    tally, record, risk = evidence.tally, outcome.record, outcome.risk
    # Blanks would count as a label of their own and make records look alone.
    if risk is not None and not prepared.plan.is_split:
        keys = CrosstabJob(evidence.data, risk.keys)
        scan(evidence.data, [keys])
        counts = keys.result().counts  # released records that are alone by the keys at face value
        alone, three, five = (int(counts[counts < k].sum()) for k in (2, 3, 5))
        risk = replace(risk, uniques_after=alone, classes_after=(three, five))
    return {
        "record": record and replace(record, columns=with_estimates(record.columns, answers)),
        "columns": tuple(
            observed_column(one, tally.after[one.name], tally.changed[one.name])
            for one in outcome.columns
        ),
        "risk": risk,
    }


def observed_column(outcome: ColumnOutcome, after: Integers, changed: int) -> ColumnOutcome:
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


def with_estimates(
    columns: Sequence[FrequencyOutcome], answers: Mapping[tuple[str, ...], Estimate]
) -> tuple[FrequencyOutcome, ...]:
    """Add what the release says of each column, where it can be estimated."""
    found = []
    for column in columns:
        one = answers.get((column.name,))
        if one is None:
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


def risk_figures(table: Crosstab, risk: RiskSpec, *, plan: Plan) -> RiskOutcome:
    """Return the risk of the file before and after randomising, under one model."""
    keys = list(risk.keys)
    before = assess(table, keys, population_size=risk.population_size, model="two-way")
    after: Assessment | RiskAfter = before
    if set(plan.columns) & set(keys):
        # What bears on the keys: single columns, or the whole.
        own = {name: plan[name] for name in plan.columns if name in keys and plan.is_simple}
        after = before.after(own or plan)
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
    )
