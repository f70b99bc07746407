"""Settings that cannot hold together: one rule a function, one sentence a contradiction."""

from collections.abc import Iterator, Mapping
from typing import Any

from pramble.data.repair import rule_columns
from pramble.releasing.spec.column import ColumnSpec
from pramble.releasing.spec.settings import COLUMNS, TABLES
from pramble.releasing.spec.spec import ReleaseSpec


def contradictions(stated: Mapping[str, Any], spec: ReleaseSpec | None) -> list[str]:
    """Return a sentence for each pair of settings that cannot both hold.

    ``stated`` are the plan's own settings, without defaults.
    """
    if spec is None:
        return []
    found = [*promise_contradictions(stated, spec), *column_contradictions(spec)]
    for column in spec.columns:
        found += [*prior_contradictions(column), *distance_contradictions(column)]
    return found


def promise_contradictions(stated: Mapping[str, Any], spec: ReleaseSpec) -> Iterator[str]:
    own = [column.name for column in spec.columns if column.alpha is not None]
    without = [column.name for column in spec.columns if column.alpha is None]
    far = [column.name for column in spec.columns if column.distance is not None]
    if spec.design == TABLES and spec.central is None:
        yield 'design = "tables" goes with a central promise: state central (ε) for alpha.'
    if spec.alpha is not None and own:
        yield (
            f"The plan states alpha in total and column {own[0]!r} its own; state one or the other."
        )
    if spec.central is not None and (spec.alpha is not None or own):
        yield (
            "The plan states a central promise and alpha; state one of them. The local alpha of "
            "randomised records is reported too."
        )
    if spec.central is not None and stated.get("shuffle") is False:
        yield (
            "The plan states a central promise and shuffle = false; the promise is of rows in "
            "random order."
        )
    if spec.central is not None and far:
        yield (
            f"The plan states a central promise and a distance of {far[0]!r}, which goes with "
            "alpha; state one of them."
        )
    if spec.design != TABLES and spec.alpha is None and spec.central is None and without:
        yield f"The plan states no alpha in total, and column {without[0]!r} none of its own."


def column_contradictions(spec: ReleaseSpec) -> Iterator[str]:
    names = [column.name for column in spec.columns]
    source = spec.columns[0].prior_source
    others = [one.name for one in spec.columns if one.prior_source != source]
    if spec.design != COLUMNS and others:
        yield (
            f"Columns that are designed together have one prior; {names[0]!r} and {others[0]!r} "
            'state different ones. State one, or design = "columns".'
        )
    if spec.design == TABLES and spec.risk is not None:
        yield (
            "The table [risk] compares records before and after they are randomised, and protected "
            'tables are no records. Leave it out, or state design = "records".'
        )
    if (spec.weights is None) != (spec.largest_weight is None):
        yield (
            "The plan states weights or largest_weight alone: name the column of weights, and "
            "state the most that a row can weigh, from public knowledge."
        )
    if spec.weights in (*names, *spec.person_columns):
        yield f"Column {spec.weights!r} holds survey weights: it is not protected itself."
    for name in spec.person_columns:
        if name in names:
            yield f"Column {name!r} says whose row it is and cannot be protected."
    if spec.person is False and spec.rows_per_person not in (None, 1):
        yield (
            f"The plan states person = false, every row another person, and rows_per_person = "
            f"{spec.rows_per_person}; state one of them."
        )
    for name in sorted(set().union(*map(rule_columns, spec.possible)) - set(names)):
        yield f"A rule of what is possible names {name!r}, which is not randomised."
    for name in spec.drop:
        if name in names:
            yield f"Column {name!r} is both randomised and dropped."


def distance_contradictions(column: ColumnSpec) -> Iterator[str]:
    if column.distance is not None and (column.family != "general" or column.invariant):
        yield (
            f'Column {column.name!r}: a distance goes with family = "general", and not invariant.'
        )


def prior_contradictions(column: ColumnSpec) -> Iterator[str]:
    name, given = column.name, isinstance(column.prior, tuple)
    if column.prior == "public" and column.prior_file is None:
        yield (
            f"Column {name!r} needs a prior_file; or give its probabilities as prior = [...], in "
            "the order of its categories."
        )
    elif column.prior_file is not None and column.prior != "public":
        yield f'Column {name!r} states prior_file, which needs prior = "public".'
    elif given and column.categories is None:
        yield f"Column {name!r}: probabilities in prior need declared categories."
    elif given and len(column.labels()) != len(column.prior):
        yield (
            f"Column {name!r} has {len(column.labels())} categories and {len(column.prior)} "
            "probabilities."
        )
