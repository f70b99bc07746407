"""What a regression is made of: what was asked for, and the signed weights of its columns."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.crosstab import totals
from pramble.data.open import open_records
from pramble.errors import InvalidInput
from pramble.estimation.inverse.signed import Patterns, RecordSource, Source, patterns_of
from pramble.estimation.inverse.tabulate import plan_of
from pramble.estimation.regression.design_matrix import Column, Rows, untouched_column
from pramble.estimation.regression.formula import Formula, read_formula
from pramble.estimation.survey import Survey
from pramble.values import Integers, names_of, value


@value(eq=False)
class Asked:
    """What a regression was asked for: a formula, or names."""

    formula: Formula | None
    response: tuple[str, ...]
    covariates: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.response, *self.covariates]))


def asked_for(
    formula: str | None, *, response: str | None, covariates: Sequence[str] | str | None
) -> Asked:
    """Return what was asked for; refuse two doors at once, and none."""
    if formula is not None:
        if response is not None or covariates is not None:
            raise InvalidInput("Give a formula, or response= and covariates=, not both.")
        found = read_formula(formula)
        return Asked(found, found.response, found.covariates)
    if response is None or covariates is None:
        raise InvalidInput("A regression needs a formula, or response= and covariates=.")
    names = names_of(covariates)
    if response in names or len(set(names)) != len(names):
        raise InvalidInput(
            f"covariates must be different columns, without the response {response!r}."
        )
    return Asked(None, (response,), tuple(names))


@value(eq=False)
class Material:
    """Signed weights, what stands in groups and cells, and the number of records of groups."""

    source: Source
    groups: Rows
    cells: Rows
    numbers: Integers
    notes: tuple[str, ...]
    backend: str


def material_of_records(
    data: Any,
    plan: Any,
    asked: Asked,
    *,
    weights: Any,
    survey: Survey,
    reading: Any,
) -> Material:
    records = open_records(data, reading)
    patterns = patterns_of(
        records,
        plan_of(plan, asked.columns),
        by=asked.columns,
        beside=survey.columns,
        weights=weights,
    )
    columns, codes = {}, {}
    for axis, name in enumerate(patterns.untouched):
        columns[name], place = untouched_column(records, name, patterns.labels[name])
        codes[name] = place[patterns.groups[:, axis]]
    return Material(
        RecordSource(patterns, survey.strata, survey.clusters),
        Rows(len(patterns.groups), columns, codes),
        rows_of_cells(patterns.cells, patterns.labels, patterns.size),
        totals(patterns.group, patterns.numbers, len(patterns.groups)).astype(np.int64),
        dropping(patterns),
        patterns.backend,
    )


def rows_of_cells(cells: Mapping[str, Any], labels: Mapping[str, Sequence[Any]], K: int) -> Rows:
    columns = {name: Column(name, tuple(labels[name]), is_randomised=True) for name in cells}
    return Rows(K, columns, dict(cells))


def dropping(patterns: Patterns) -> tuple[str, ...]:
    if not patterns.dropped:
        return ()
    listed = ", ".join(f"{number:,} of {name}" for name, number in patterns.dropped.items())
    return (f"Records without a value are left out: {listed}.",)
