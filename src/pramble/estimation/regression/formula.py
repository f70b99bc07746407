"""Models from formulas as in R, ``"ill ~ SEX + C(MARST) * age"``, which formulaic reads."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.estimation.regression.columns import Column, Rows
from pramble.estimation.regression.expressions import (
    Expression,
    evaluated,
    fitted,
    load,
    names_in,
    readable,
)
from pramble.estimation.regression.factors import Response, Term
from pramble.estimation.regression.model import Model, plain_response
from pramble.values import Integers, value


@value
class Formula:
    """A formula that was read: the text, and the columns on both sides."""

    text: str
    parsed: Any
    response: tuple[str, ...]
    covariates: tuple[str, ...]


def read_formula(text: str) -> Formula:
    """Return a formula; refuse one without a single response."""
    formulaic = load()
    try:
        parsed = formulaic.Formula(text)
    except (formulaic.errors.FormulaicError, SyntaxError, ValueError) as error:
        plain = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).strip().splitlines()[0]
        raise InvalidInput(
            f"A formula must be like 'y ~ a + b'; {text!r} is not: {plain}"
        ) from None
    left = getattr(parsed, "lhs", None)
    if left is None or len(left) != 1 or len(next(iter(left)).factors) != 1:
        raise InvalidInput(f"A formula must have one response, as in 'y ~ a + b'; found {text!r}.")
    sides = (
        tuple(dict.fromkeys(name for term in side for f in term.factors for name in names_in(f)))
        for side in (left, parsed.rhs)
    )
    return Formula(text, parsed, *sides)


def formula_model(
    formula: Formula, groups: Rows, cells: Rows, *, counts: Integers
) -> tuple[Model, Response]:
    """Return the terms of a formula and its response, over both sides."""
    columns = {**groups.columns, **cells.columns}
    known: dict[tuple[str, bool], Expression] = {}

    def expression(factor: Any, *, reduced: bool) -> Expression:
        key = factor.expr, reduced
        if key not in known:
            variables = tuple(names_in(factor))
            own = cells if Model((), columns).is_randomised(variables) else groups
            known[key] = fitted(factor, variables, own, reduced=reduced, counts=counts)
        return known[key]

    in_full = {
        factor: expression(factor, reduced=False)
        for term in formula.parsed.rhs
        for factor in term.factors
        if factor.expr != "1"
    }
    terms: list[Term] = [
        tuple(expression(factor, reduced=reduced) for factor, reduced in part)
        for part in coded_terms(formula.parsed.rhs, in_full)
    ]
    left = next(iter(next(iter(formula.parsed.lhs)).factors))
    model = Model(tuple(terms), columns)
    return model, response_of(left, columns, groups=groups, cells=cells)


def coded_terms(terms: Any, in_full: Mapping[Any, Expression]) -> Iterator[list[tuple[Any, bool]]]:
    """Yield the factors of each part of the model, and whether each is against a reference.

    That depends on which factors are of categories and on the other terms, so a frame with one
    column in the place of each factor tells.
    """
    import pandas as pd

    formulaic = load()
    types = formulaic.parser.types
    stand_in = {
        factor: types.Factor(f"f{i}", eval_method="lookup") for i, factor in enumerate(in_full)
    }
    factors = {str(own.expr): factor for factor, own in stand_in.items()}
    some = {True: pd.Categorical(["a", "b", "a"]), False: np.arange(3.0)}
    frame = pd.DataFrame(
        {own.expr: some[in_full[factor].is_categorical] for factor, own in stand_in.items()},
        index=range(3),
    )
    formula = formulaic.Formula(
        [types.Term([stand_in.get(f, f) for f in term.factors]) for term in terms]
    )
    for part in evaluated(formula, frame).model_spec.structure:
        for scoped in part.scoped_terms:
            yield [(factors[str(f.factor.expr)], bool(f.reduced)) for f in scoped.factors]


def response_of(
    factor: Any, columns: Mapping[str, Column], *, groups: Rows, cells: Rows
) -> Response:
    """Return the left side: a column, or an expression of columns of one kind."""
    variables = tuple(names_in(factor))
    randomised = Model((), columns).is_randomised(variables)
    rows = cells if randomised else groups
    if factor.expr in columns:
        return plain_response(columns[factor.expr], rows.codes[factor.expr])
    own = fitted(factor, variables, rows, reduced=False, counts=np.ones(rows.size, dtype=np.int64))
    encoded = own.encode(rows)
    if not own.is_categorical:
        if encoded.shape[1] != 1:
            raise InvalidInput(f"The response must be one number; {factor.expr} is several.")
        return Response(factor.expr, variables, encoded[:, 0], (), randomised)
    found = own.spec.encoder_state[factor.expr][1]["categories"]
    labels = tuple(one.item() if hasattr(one, "item") else one for one in found)
    codes = encoded.argmax(axis=1).astype(np.int64)
    return Response(readable(factor.expr), variables, codes, labels, randomised)
