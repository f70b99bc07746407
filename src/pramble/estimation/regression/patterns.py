"""The distinct patterns of a release and the unseen originals behind them, as design matrices."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.crosstab import crosstab
from pramble.data.labels import Label
from pramble.data.open import open_records
from pramble.data.order import place_of
from pramble.data.reading import Reading
from pramble.data.records import Records
from pramble.data.table import refuse_empty
from pramble.errors import InvalidInput
from pramble.estimation.tabulate import (
    data_and_plan,
    mechanisms_of,
    names_of,
    refuse_randomised,
)
from pramble.estimation.tabulated import refuse_no_weight
from pramble.mechanisms.base import Mechanism
from pramble.values import Floats, Integers, value

MOST_STRATA = 60
MOST_ENTRIES = 60_000_000
DECIMAL = re.compile(r"-?((0|[1-9]\d*)(\.\d+)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


@value(eq=False)
class Response:
    """What a released response says: the chance A + B·μ of seeing it, and its unbiased value."""

    A: Floats
    B: Floats
    value: Floats


@value(eq=False)
class Patterns:
    """One row per distinct pattern i of the release; one column per unseen combination x.

    Attributes
    ----------
    names : tuple of str
        The coefficients, in the caller's order.
    order : array
        Positions of these coefficients among the columns of ``seen`` and ``unseen``.
    seen : (P, q) array
        The intercept and the untouched covariates.
    unseen : (K, r) array
        Indicators of the randomised covariates for every combination.
    chance : (P, K) array
        The chance of the released covariates given each combination.
    inverse : (P, K) array
        The row of the right inverse G for the released covariates.
    strata : (P, v) array
        What the law of the randomised covariates may depend on.
    response : Response
        Of every pattern.
    counts, squares : (P,) arrays
        Sums of the weights and of their squares.
    weighted : bool
        Whether weights were given.
    """

    names: tuple[str, ...]
    order: Integers
    seen: Floats
    unseen: Floats
    chance: Floats
    inverse: Floats
    strata: Floats
    response: Response
    counts: Floats
    squares: Floats
    weighted: bool
    n: float
    backend: str


@value(eq=False)
class PatternColumn:
    """A column of the patterns: the codes of its labels, which are outputs if it is randomised."""

    codes: Integers
    labels: Sequence[Label]

    @property
    def is_numeric(self) -> bool:
        """Whether it holds numbers."""
        return all(isinstance(one, int | float) and type(one) is not bool for one in self.labels)


def patterns_of(
    data: Any,
    plan: Any,
    *,
    response: str,
    covariates: Sequence[str] | str,
    binary: bool,
    success: Any = None,
    weights: Any = None,
    reading: Reading | Mapping[str, Any] | None = None,
) -> Patterns:
    """Return the patterns of a regression: equal records are one."""
    data, plan = data_and_plan(data, plan)
    mechanisms = mechanisms_of({} if plan is None else plan)
    names = names_of(covariates)
    if response in names or len(set(names)) != len(names):
        raise InvalidInput(
            f"covariates must be different columns, without the response {response!r}."
        )
    refuse_randomised([weights], mechanisms)
    records = open_records(data, reading)
    table = crosstab(
        records,
        [response, *names],
        labels={n: mechanisms[n].output_labels for n in [response, *names] if n in mechanisms},
        weights=weights,
        powers=[(1, 0), (2, 0)],
    )
    refuse_empty(table, records.name)
    refuse_no_weight(table.sums[1, 0])
    columns = {
        name: PatternColumn(codes, labels if name in mechanisms else as_decimals(labels, records))
        for name, labels, codes in zip(table.columns, table.levels, table.cells.T, strict=True)
    }
    randomised = {name: mechanisms[name] for name in names if name in mechanisms}
    untouched = {name: columns[name] for name in names if name not in mechanisms}
    seen_names, seen = untouched_columns(untouched, len(table.cells))
    unseen_names, unseen = unseen_indicators(randomised)
    refuse_large(len(seen), len(unseen))
    chance, inverse = unseen_laws(columns, randomised, rows=len(seen))
    together = seen_names + unseen_names
    own = [term for name in ["", *names] for term in together if belongs(term, name)]
    return Patterns(
        names=tuple(own),
        order=np.array([together.index(name) for name in own]),
        seen=seen,
        unseen=unseen,
        chance=chance,
        inverse=inverse,
        strata=strata_of(untouched, seen),
        response=response_of(
            columns[response],
            mechanisms.get(response),
            name=response,
            binary=binary,
            success=success,
        ),
        counts=table.sums[1, 0],
        squares=table.sums[2, 0],
        weighted=weights is not None,
        n=float(table.n),
        backend=records.backend,
    )


def as_decimals(labels: Sequence[Label], records: Records) -> Sequence[Label]:
    """Return texts of a file without types as the numbers they are, if every one is a number."""
    if records.typed or not all(isinstance(label, str) for label in labels):
        return labels
    texts = [label.replace(records.reading.decimal or ".", ".") for label in labels]
    return list(map(float, texts)) if all(map(DECIMAL.fullmatch, texts)) else labels


def untouched_columns(
    untouched: Mapping[str, PatternColumn], rows: int
) -> tuple[list[str], Floats]:
    """Return names and columns of the intercept and the untouched covariates."""
    names, columns = ["intercept"], [np.ones(rows)]
    for name, column in untouched.items():
        if column.is_numeric:
            names.append(name)
            columns.append(np.array(column.labels, dtype=np.float64)[column.codes])
            continue
        for level, label in enumerate(column.labels[1:], start=1):
            names.append(f"{name}[{label}]")
            columns.append((column.codes == level).astype(float))
    return names, np.column_stack(columns)


def unseen_indicators(randomised: Mapping[str, Mechanism]) -> tuple[list[str], Floats]:
    """Return names and indicator columns over all combinations of randomised covariates."""
    sizes = [m.shape[0] for m in randomised.values()]
    grid = np.unravel_index(np.arange(math.prod(sizes)), sizes) if sizes else ()
    names: list[str] = []
    columns: list[Floats] = []
    for (name, m), level in zip(randomised.items(), grid, strict=True):
        for x, label in enumerate(m.categories[1:], start=1):
            names.append(f"{name}[{label}]")
            columns.append((level == x).astype(float))
    return names, np.column_stack(columns) if columns else np.zeros((1, 0))


def unseen_laws(
    columns: Mapping[str, PatternColumn], randomised: Mapping[str, Mechanism], *, rows: int
) -> tuple[Floats, Floats]:
    """Return, per pattern, the chances M[x, z] and the rows G[z, x] over all combinations."""
    chance, inverse = np.ones((rows, 1)), np.ones((rows, 1))
    for name, m in randomised.items():
        z = columns[name].codes
        G = m.operator.right_inverse().adjoint(np.eye(m.shape[0])).T
        chance = rowwise(chance, m.operator.dense().T[z])
        inverse = rowwise(inverse, G[z])
    return chance, inverse


def rowwise(left: Floats, right: Floats) -> Floats:
    """Return the Kronecker product of two matrices row by row."""
    columns = left.shape[1] * right.shape[1]
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), columns))


def strata_of(untouched: Mapping[str, PatternColumn], seen: Floats) -> Floats:
    """Return one indicator per combination of untouched labels if few, else the covariates."""
    if any(column.is_numeric for column in untouched.values()):
        return seen
    combination = np.unique(seen, axis=0, return_inverse=True)[1].ravel()
    if combination.max() >= MOST_STRATA:
        return seen
    return np.asarray(np.eye(int(combination.max()) + 1)[combination])


def response_of(
    column: PatternColumn, mechanism: Mechanism | None, *, name: str, binary: bool, success: Any
) -> Response:
    """Return what each released response says."""
    if not binary:
        return numeric_response(column, mechanism, name=name)
    labels = column.labels if mechanism is None else mechanism.categories
    if len(labels) != 2:
        raise InvalidInput(f"A logistic response must have two values; {name!r} has {len(labels)}.")
    one = 1 if success is None else place_of(labels, success)
    if one is None:
        raise InvalidInput(f"success must be a value of {name!r}; found {success!r}.")
    M = np.eye(2) if mechanism is None else mechanism.operator.dense()
    released = M[[1 - one, one]][:, column.codes]
    return Response(released[0], released[1] - released[0], np.zeros(0))


def numeric_response(column: PatternColumn, mechanism: Mechanism | None, *, name: str) -> Response:
    """Return numbers, or for a randomised response numbers with the right mean."""
    labels = column.labels if mechanism is None else mechanism.categories
    if not all(isinstance(label, int | float) for label in labels):
        raise InvalidInput(f"A linear response must hold numbers; {name!r} does not.")
    values = np.array(labels, dtype=np.float64)
    if mechanism is not None:
        values = mechanism.operator.right_inverse().adjoint(values)
    return Response(np.zeros(0), np.zeros(0), values[column.codes])


def belongs(term: str, column: str) -> bool:
    """Whether a coefficient is one of a covariate (the empty name has the intercept)."""
    if not column:
        return term == "intercept"
    return term == column or (term.startswith(f"{column}[") and term.endswith("]"))


def refuse_large(rows: int, combinations: int) -> None:
    """Raise when patterns times combinations would not fit."""
    if rows * combinations > MOST_ENTRIES:
        raise InvalidInput(
            f"The regression must have at most {MOST_ENTRIES:,} pairs of a record and an unseen "
            f"combination; found {rows:,} x {combinations:,}. Take fewer randomised covariates."
        )
