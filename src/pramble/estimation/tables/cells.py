"""Estimates of tables that lie within a measured one, and what is refused."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pramble.errors import InvalidInput, NotShown
from pramble.estimation.follow.queries import parse_queries
from pramble.estimation.follow.result import Estimate, Settings
from pramble.estimation.inverse.branches import refuse_large
from pramble.estimation.inverse.intervals import (
    candidates_of,
    errors_within,
    inner_point,
    intervals_of_weights,
    nothing_known,
    unified_interval,
)
from pramble.estimation.inverse.likelihood import METHODS
from pramble.estimation.inverse.moments import Known, covariance_of
from pramble.estimation.tables.answers import (
    TableAnswers,
    layout_of,
    noise_of_table,
    positive_total,
    total_variance,
)
from pramble.estimation.tables.modelled import ModelledAnswers, measured_within, modelled_answers
from pramble.estimation.tables.nearest import nearest_cells
from pramble.mechanisms.measured import Measured
from pramble.mechanisms.table_plan import Columns, TablePlan
from pramble.values import Floats, names_of

# Measured tables that a refusal lists.
SHOWN = 6

# What a table answers, measured or modelled.
AnyAnswers = TableAnswers | ModelledAnswers

# What takes records, and what to do instead.
REFUSED = {
    "plan": "plan= does not go with protected tables: they bring their own.",
    "counts": "counts=True goes with counts of released values; protected tables are counts of the "
    "file already. Leave it out, and take .counts() of the estimate for numbers of records.",
    "weights": "weights= does not go with protected tables, which hold no records: weighted tables "
    "are measured as such.",
    "mean": "mean= needs a column of numbers next to the tables, and protected tables have none. "
    "Measure the column in bands; then estimate(…).distribution(column), or .mean(column, scores) "
    "with a number for each band, gives its means.",
    "total": "total= needs a column of numbers next to the tables, and protected tables have none. "
    "Measure the column in bands; a mean, times the number of records, is then a total.",
    "reading": "reading= goes with files; protected tables are read already.",
    "survey": "survey= with strata, clusters or replicates needs records, and protected tables "
    "hold none: their errors take the records for a simple random sample. covers='randomisation' "
    "leaves sampling out.",
}


def refuse_records(**given: Any) -> None:
    for name, wanted in given.items():
        if wanted is not None and wanted is not False and not (name in REFUSED and wanted == ()):
            raise InvalidInput(REFUSED[name])


def table_estimate(
    measured: Measured,
    settings: Settings,
    *,
    by: Sequence[str] | str | None,
    query: Any = None,
) -> Estimate:
    """Return the estimate of a table, modelled where its columns were not measured together."""
    plan = measured.plan
    names = checked_columns(plan, by)
    check_method(settings)
    answers: AnyAnswers
    if plan.is_measured(names):
        answers = table_answers(measured, names, settings)
    else:
        answers = modelled_answers(measured, names, settings)
    rests_on = () if plan.is_measured(names) else measured_within(plan, names)
    if query is None:
        found = estimate_of_cells(answers, settings)
    else:
        found = estimate_of_queries(answers, settings, query)
    return replace(found, notes=(*found.notes, *notes_of(measured, settings)), rests_on=rests_on)


def table_answers(
    measured: Measured, by: Sequence[str] | str | None, settings: Settings
) -> TableAnswers:
    """Return what answers queries of a table that lies within a measured one; refuse others."""
    plan = measured.plan
    names = checked_columns(plan, by)
    check_method(settings)
    refuse_large(plan.shape(names), names)
    if not plan.is_measured(names):
        raise not_measured(plan, names)
    n = float(measured.total)
    unbiased = measured.table(names).ravel() / positive_total(n)
    fitted = nearest_cells(measured, names) if settings.method == "mle" else unbiased
    return TableAnswers(
        layout=layout_of(plan, names),
        noise=noise_of_table(plan, names),
        p=fitted,
        unbiased=unbiased,
        n=n,
        total_variance=total_variance(plan),
        sampling=settings.sampling_share(n),
    )


def check_method(settings: Settings) -> None:
    if settings.method not in METHODS:
        raise InvalidInput(
            f"method must be one of {', '.join(METHODS)}; found {settings.method!r}."
        )


def checked_columns(plan: TablePlan, by: Sequence[str] | str | None) -> Columns:
    """Return the columns of a table: of the only one that was wanted, where none is named."""
    names = names_of(by or ())
    if by is None and len(plan.tables) == 1:
        return plan.tables[0]
    unknown = [name for name in names if name not in plan.labels]
    if not names or len(set(names)) != len(names) or unknown:
        raise InvalidInput(
            f"by= must name one or more different columns of the protected tables, "
            f"{', '.join(map(repr, plan.columns))}; found {by!r}."
        )
    return tuple(names)


def not_measured(plan: TablePlan, names: Columns) -> NotShown:
    tables = sorted(plan.tables, key=lambda table: -len(set(table) & set(names)))
    most = len(set(tables[0]) & set(names))
    within = dict.fromkeys(
        tuple(name for name in table if name in names)
        for table in tables
        if len(set(table) & set(names)) == most
    )
    near = [" × ".join(some) for some in within]
    listed = ", ".join(near[:SHOWN]) + (", …" if len(near) > SHOWN else "")
    return NotShown(
        f"No measured table holds {' × '.join(names)} together. Tables of some of these columns "
        f"that were measured: {listed}. Release with tables=[{names!r}, …] to have this one. "
        "pramble.estimate(…) models it without interactions beyond the measured ones, and so do "
        "complete records from pramble.synthesize(…)."
    )


def estimate_of_cells(answers: AnyAnswers, settings: Settings) -> Estimate:
    p, f, n = answers.p, answers.cell_sampling, answers.n
    noise = answers.cell_variances

    def variance(mu: Floats) -> Floats:
        return np.asarray(noise + f * mu * (1 - mu) / n)

    lower, upper = unified_interval(answers.unbiased, variance, level=settings.level)
    errors = np.sqrt(variance(np.clip(p, 0.0, 1.0)))
    if settings.method == "mle":
        errors = errors_within(p, errors, np.sqrt(noise))
        lower, upper = np.minimum(lower, p), np.maximum(upper, p)
    notes = nothing_known(lower, upper, "cells")
    cells = answers.layout.labels()
    return settings.estimate(
        p, errors, (lower, upper), cells=cells, n=n, covariance_parts=answers, notes=notes
    )


def estimate_of_queries(answers: AnyAnswers, settings: Settings, query: Any) -> Estimate:
    names, flat = parse_queries(query, answers.layout)
    w = flat.reshape(len(names), -1)
    known = Known(covariance_of(answers, w))
    ends = query_ends(answers, w, level=settings.level)
    return settings.estimate(
        w @ answers.p, known.errors, ends, cells={"query": names}, n=answers.n,
        covariance_parts=known, quantity="estimate",
    )  # fmt: skip


def query_ends(answers: AnyAnswers, w: Floats, *, level: float) -> tuple[Floats, Floats]:
    """Return unified intervals, within the smallest and the largest weight of each query.

    Noise counts alike for every candidate answer; sampling as it does under the distribution
    nearest to the fitted one that has this answer (:mod:`pramble.estimation.inverse.intervals`).
    """
    noise = np.maximum(answers.products(w, w), 0.0)
    law = inner_point(answers.p, n=answers.n)

    def variance_by(share: Floats, width: Floats) -> Callable[[Floats], Floats]:
        candidates, held = candidates_of(share, law, share**2), noise / width**2

        def variance(mu: Floats) -> Floats:
            if not answers.sampling:
                return np.asarray(held)
            sampled = np.maximum(candidates.moment(mu) - mu**2, 0.0)
            return np.asarray(held + answers.sampling * sampled / answers.n)

        return variance

    return intervals_of_weights(w, w @ answers.unbiased, variance_by, level=level)


def notes_of(measured: Measured, settings: Settings) -> list[str]:
    """Say what to know where a person may have several rows."""
    plan = measured.plan
    if plan.total_is_public:
        return []
    error = math.sqrt(total_variance(plan))
    notes = [f"The number of records is noisy too: {measured.total:,} ± {error:.2g}."]
    if settings.covers == "both":
        notes.append(
            f"Sampling errors take records for independent; a person may have "
            f"{plan.rows_per_person} of them, which can multiply sampling variances by as much."
        )
    return notes
