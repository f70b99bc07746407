"""The figures of a release: what each column keeps, what an analyst will get, what risk is left."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.crosstab import Crosstab, CrosstabJob
from pramble.errors import NotIdentifiable, PrambleError
from pramble.estimation.draws.synthesize import Synthesis
from pramble.estimation.estimate import estimate, estimate_tables
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
    outcome: ReleaseOutcome, prepared: Prepared, evidence: WrittenData, made: Synthesis | None
) -> dict[str, Any]:
    if evidence.tally is None:
        assert made is not None, "complete records come with tables"
        fit = [one.mean * made.rows for one in made.fits]
        expected = prepared.design.figures()[
            "protected"
        ]  # of the tables that were chosen meanwhile
        answers = {}
        for column in expected.columns:
            # A release must not fail because of its noise, such as a total that is not positive.
            with suppress(PrambleError):
                one = estimate(evidence.data, by=[column.name], covers="randomisation")
                answers[column.name] = one
        protected = replace(
            expected,
            columns=with_estimates(expected.columns, answers),
            fit=float(np.mean(fit)) if fit else 0.0,
        )
        return {"protected": protected}
    tally, record, risk = evidence.tally, outcome.record, outcome.risk
    # All that is read of the file is read at once; blanks would count as a label of their own and
    # make records look alone.
    keys = None
    if risk is not None and not prepared.plan.is_split:
        keys = CrosstabJob(evidence.data, risk.keys)
    names = [] if record is None else [(column.name,) for column in record.columns]
    jobs = [] if keys is None else [keys]
    reads = bool(names or jobs)
    found = estimate_tables(evidence.data, prepared.plan, names, beside=jobs) if reads else {}
    answers = {name: own for (name,), own in found.items()}
    if risk is not None and keys is not None:
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
    columns: Sequence[FrequencyOutcome], answers: Mapping[str, Estimate]
) -> tuple[FrequencyOutcome, ...]:
    """Add what the release says of each column, where it can be estimated."""
    found = []
    for column in columns:
        one = answers.get(column.name)
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
