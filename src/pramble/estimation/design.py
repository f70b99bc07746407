"""Design matrices over the distinct patterns of a release, and over the unseen originals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.labels import label_key
from pramble.errors import InvalidData, InvalidInput
from pramble.estimation.counts import distinct, encode
from pramble.estimation.frames import columns_of
from pramble.estimation.source import (
    OpenedRelease,
    checked_plan,
    checked_weights,
    refuse_randomised,
)
from pramble.estimation.tables import sort_key
from pramble.mechanisms.base import Mechanism
from pramble.values import Floats

Codes = NDArray[np.int64]

MOST_STRATA = 60
MOST_ENTRIES = 60_000_000


@dataclass(frozen=True)
class Response:
    """What a released response says: the chance A + B·μ of seeing it, and its unbiased value."""

    A: Floats
    B: Floats
    value: Floats


@dataclass(frozen=True)
class Design:
    """One row per distinct pattern i of the release; one column per unseen combination x.

    Attributes
    ----------
    names : names of the coefficients, in the caller's order
    order : positions of these coefficients among the columns of ``seen`` and ``unseen``
    seen : (P, q) array, the intercept and the untouched covariates
    unseen : (K, r) array, indicators of the randomised covariates for every combination
    chance : (P, K) array, the chance of the released covariates given each combination
    inverse : (P, K) array, the row of the right inverse G for the released covariates
    strata : (P, v) array, what the law of the randomised covariates may depend on
    response : of every pattern
    counts, squares : (P,) arrays, sums of the weights and of their squares
    weighted : whether weights were given
    """

    names: tuple[str, ...]
    order: Codes
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


@dataclass(frozen=True)
class Coded:
    """A column as codes of its labels."""

    codes: Codes
    labels: list[Any]


def design_of(
    data: Any,
    plan: Any,
    *,
    response: str,
    covariates: Sequence[str],
    binary: bool,
    success: Any,
    weights: Any,
) -> Design:
    """Return the design of a regression, aggregated over equal records."""
    if plan is None and isinstance(data, OpenedRelease):
        data, plan = data.data, data.plan
    mechanisms = checked_plan({} if plan is None else plan, None)
    names = list(covariates)
    if response in names or len(set(names)) != len(names):
        raise InvalidInput(
            f"covariates must be different columns, without the response {response!r}."
        )
    extra = [weights] if isinstance(weights, str) else []
    refuse_randomised(extra, mechanisms)
    columns, backend = columns_of(data, [response, *names, *extra])
    coded = {name: code(columns[name], mechanisms.get(name), name) for name in [response, *names]}
    rows = len(coded[response].codes)
    w = (
        None
        if weights is None
        else checked_weights(columns[weights] if isinstance(weights, str) else weights, rows)
    )
    first, counts, squares = patterns([c.codes for c in coded.values()], w)
    coded = {name: Coded(c.codes[first], c.labels) for name, c in coded.items()}
    randomised = {name: mechanisms[name] for name in names if name in mechanisms}
    untouched = [name for name in names if name not in mechanisms]
    seen_names, seen = untouched_columns(coded, untouched)
    unseen_names, unseen = unseen_indicators(randomised)
    refuse_large(len(first), len(unseen))
    chance, inverse = unseen_laws(coded, randomised)
    own = [n for name in ["", *names] for n in seen_names + unseen_names if belongs(n, name)]
    together = seen_names + unseen_names
    return Design(
        names=tuple(own),
        order=np.array([together.index(name) for name in own]),
        seen=seen,
        unseen=unseen,
        chance=chance,
        inverse=inverse,
        strata=strata_of(coded, untouched, seen),
        response=response_of(
            coded[response], mechanisms.get(response), name=response, binary=binary, success=success
        ),
        counts=counts,
        squares=squares,
        weighted=w is not None,
        n=float(rows),
        backend=backend,
    )


def code(values: Any, mechanism: Mechanism | None, name: str) -> Coded:
    """Return a column as codes: outputs in their order, or labels sorted."""
    if mechanism is not None:
        return Coded(encode(values, mechanism.outputs, column=name), list(mechanism.outputs))
    codes, labels = distinct(values)
    order = sorted(range(len(labels)), key=lambda i: sort_key(labels[i]))
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    return Coded(rank[codes], [labels[i] for i in order])


def patterns(columns: Sequence[Codes], w: Floats | None) -> tuple[Codes, Floats, Floats]:
    """Return the first row of each distinct pattern, and sums of weights and squared weights."""
    joint = np.zeros(len(columns[0]), dtype=np.int64)
    for codes in columns:
        joint = joint * (int(codes.max(initial=0)) + 1) + codes
        joint = np.unique(joint, return_inverse=True)[1].ravel()
    _, first, inverse = np.unique(joint, return_index=True, return_inverse=True)
    if not len(first):
        raise InvalidData("A release must have at least one row; found none.")
    counts = np.bincount(inverse.ravel(), w).astype(np.float64)
    squares = counts if w is None else np.bincount(inverse.ravel(), w * w).astype(np.float64)
    return first.astype(np.int64), counts, squares


def is_numeric(labels: Sequence[Any]) -> bool:
    """Whether an untouched column holds numbers."""
    return all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels)


def untouched_columns(
    coded: Mapping[str, Coded], untouched: Sequence[str]
) -> tuple[list[str], Floats]:
    """Return names and columns of the intercept and the untouched covariates."""
    rows = len(next(iter(coded.values())).codes)
    names, columns = ["intercept"], [np.ones(rows)]
    for name in untouched:
        column = coded[name]
        if is_numeric(column.labels):
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
    coded: Mapping[str, Coded], randomised: Mapping[str, Mechanism]
) -> tuple[Floats, Floats]:
    """Return, per pattern, the chances M[x, z] and the rows G[z, x] over all combinations."""
    rows = len(next(iter(coded.values())).codes)
    chance, inverse = np.ones((rows, 1)), np.ones((rows, 1))
    for name, m in randomised.items():
        z = coded[name].codes
        G = m.operator.right_inverse().adjoint(np.eye(m.shape[0])).T
        chance = rowwise(chance, m.matrix.T[z])
        inverse = rowwise(inverse, G[z])
    return chance, inverse


def rowwise(left: Floats, right: Floats) -> Floats:
    """Return the Kronecker product of two matrices row by row."""
    columns = left.shape[1] * right.shape[1]
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), columns))


def strata_of(coded: Mapping[str, Coded], untouched: Sequence[str], seen: Floats) -> Floats:
    """Return one indicator per combination of untouched labels if few, else the covariates."""
    if any(is_numeric(coded[name].labels) for name in untouched):
        return seen
    combination = np.unique(seen, axis=0, return_inverse=True)[1].ravel()
    if combination.max() >= MOST_STRATA:
        return seen
    return np.asarray(np.eye(int(combination.max()) + 1)[combination])


def response_of(
    column: Coded, mechanism: Mechanism | None, *, name: str, binary: bool, success: Any
) -> Response:
    """Return what each released response says."""
    if not binary:
        return numeric_response(column, mechanism, name=name)
    labels = list(mechanism.categories) if mechanism is not None else column.labels
    if len(labels) != 2:
        raise InvalidInput(f"A logistic response must have two values; {name!r} has {len(labels)}.")
    keys = [label_key(label) for label in labels]
    if success is not None and label_key(success) not in keys:
        raise InvalidInput(f"success must be a value of {name!r}; found {success!r}.")
    one = 1 if success is None else keys.index(label_key(success))
    M = np.eye(2) if mechanism is None else mechanism.matrix
    released = M[[1 - one, one]][:, column.codes]
    return Response(released[0], released[1] - released[0], np.zeros(0))


def numeric_response(column: Coded, mechanism: Mechanism | None, *, name: str) -> Response:
    """Return numbers, or for a randomised response numbers with the right mean."""
    labels = column.labels if mechanism is None else list(mechanism.categories)
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
