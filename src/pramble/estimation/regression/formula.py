"""Models from formulas as in R, ``"ill ~ SEX + C(MARST) * age"``, which formulaic reads."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pramble.errors import InvalidInput
from pramble.estimation.regression.design_matrix import (
    CodedRows,
    Model,
    ModelColumn,
    Response,
    Term,
)
from pramble.values import Floats, Integers, frozen, names_of

# CodedRows that an expression is fitted on; of more, every combination counts once.
MOST_STATE_ROWS = 5_000_000


# C(x) and C(`x y`, …): a column by itself.
PLAIN = re.compile(r"(?s)C\(`?((?<=`)[^`]+|[A-Za-z_]\w*)`?\s*(,.*)?\)")


# Names in expressions that are no columns.
TYPES = {"int", "float", "str", "bool"}
QUOTED = re.compile(r"`([^`]*)`")


# "x[T.a]" and "x[a]": an expression and one of its levels.
LEVEL = re.compile(r"(?s)(?:(.*?)\[T\.(.*)|(.*)\[(.*))\]")


def load() -> Any:
    try:
        import formulaic
    except ImportError:
        raise InvalidInput(
            "A regression needs formulaic: pip install 'pramble[regression]'."
        ) from None
    return formulaic


@frozen(eq=False)
class Expression:
    """A factor of a formula, with the state that it was fitted with."""

    text: str
    spec: Any
    variables: tuple[str, ...]
    names: tuple[str, ...]
    reduced: bool

    @property
    def is_categorical(self) -> bool:
        return "categories" in self.spec.encoder_state[self.text][1]

    def encode(self, rows: CodedRows) -> Floats:
        matrix = self.spec.get_model_matrix(
            pandas_frame(rows, self.variables, self.text), context={}
        )
        columns = np.asarray(matrix, dtype=np.float64)
        return columns[:, 1:] if self.reduced else columns


def fitted_expression(
    factor: Any, variables: tuple[str, ...], rows: CodedRows, *, reduced: bool, counts: Integers
) -> Expression:
    """Return an expression with its state: what it learns of the data, it learns of all records."""
    formulaic = load()
    types = formulaic.parser.types
    terms = [types.Term([factor])]
    if reduced:
        terms = [types.Term([types.Factor("1", eval_method="literal")]), *terms]
    formula = formulaic.Formula(terms)
    matrix = evaluated(formula, pandas_frame(rows, variables, factor.expr))
    if matrix.model_spec.transform_state:
        if any(rows.columns[name].is_randomised for name in variables):
            raise InvalidInput(
                f"{factor.expr} must not depend on the distribution of a randomised column, which "
                "is not seen. Centre or scale by numbers that you state, as in I((x - 3) / 2)."
            )
        times = counts if counts.sum() <= MOST_STATE_ROWS else np.ones_like(counts)
        matrix = evaluated(formula, pandas_frame(rows.repeated(times), variables, factor.expr))
    found = [str(name) for name in matrix.columns][1 if reduced else 0 :]
    if not variables:
        raise InvalidInput(f"{factor.expr} must be made of columns of the data.")
    names = tuple(readable(name) for name in found)
    return Expression(factor.expr, matrix.model_spec, variables, names, reduced)


def pandas_frame(rows: CodedRows, names: tuple[str, ...], text: str) -> Any:
    """Return the columns that an expression needs, as pandas holds them.

    A column of labels that stands alone or in C() is one of categories, in their order; inside any
    other expression it is what its labels are, so that numbers count as numbers.
    """
    import pandas as pd

    by_itself = PLAIN.fullmatch(text) or text in names
    data: dict[str, Any] = {"": np.zeros(rows.size)}
    for name in names:
        column, codes = rows.columns[name], rows.codes[name]
        if column.is_numeric:
            data[name] = column.numbers()[codes]
        elif by_itself:
            known: Any = list(column.labels)
            strange = any(one is None or isinstance(one, tuple) for one in known)
            if strange or len(set(known)) < len(known):  # pandas would mix them up
                known = list(map(str, known))
            data[name] = pd.Categorical.from_codes(codes, categories=known)
        else:
            labels = np.empty(len(column.labels), dtype=object)
            labels[:] = column.labels
            data[name] = pd.Series(labels[codes]).infer_objects()
    return pd.DataFrame(data)


def factor_columns(factor: Any) -> list[str]:
    """Return the columns that a factor is made of.

    >>> from formulaic.parser.types import Factor
    >>> factor_columns(Factor("center(age) + np.log(`my col`)", eval_method="python"))
    ['age', 'my col']
    """
    if factor.eval_method.value != "python":
        return [factor.expr] if factor.eval_method.value == "lookup" else []
    back = {f"_quoted_{i}": name for i, name in enumerate(QUOTED.findall(factor.expr))}
    fresh = iter(back)
    text = QUOTED.sub(lambda _: next(fresh), factor.expr)
    known = load().transforms.TRANSFORMS
    tree = list(ast.walk(ast.parse(text.strip(), mode="eval")))
    functions = {id(node.func) for node in tree if isinstance(node, ast.Call)}
    own = {node.arg for node in tree if isinstance(node, ast.arg)} | TYPES
    names = [
        node.id
        for node in tree
        if isinstance(node, ast.Name) and id(node) not in functions and node.id not in known
    ]
    return sorted({back.get(name, name) for name in names if name not in own})


def evaluated(formula: Any, frame: Any) -> Any:
    formulaic = load()
    try:
        return formula.get_model_matrix(frame, context={}, na_action="ignore")
    except (formulaic.errors.FormulaicError, TypeError, ValueError, KeyError) as error:
        plain = str(error).strip().splitlines()[0]
        raise InvalidInput(f"The formula {formula} cannot be evaluated: {plain}") from None


def readable(name: str) -> str:
    """Return a name as pramble writes it.

    >>> readable("C(MARST)[T.b]"), readable("AGE[T.[18,24]]"), readable("np.log(age)")
    ('MARST[b]', 'AGE[[18,24]]', 'np.log(age)')
    """
    level = LEVEL.fullmatch(name)
    if level is None:
        plain = PLAIN.fullmatch(name)
        return plain[1] if plain else name
    expression, label = (group for group in level.groups() if group is not None)
    return f"{readable(expression)}[{label}]"


@frozen
class Formula:
    """A formula that was read, and the columns on both of its sides."""

    parsed: Any
    columns: list[str]


def read_formula(
    text: str | None, *, response: str | None, covariates: Sequence[str] | str | None
) -> Formula:
    """Return a formula, from its text or from names; refuse one without a single response."""
    formulaic = load()
    if text is None:
        if response is None or covariates is None:
            raise InvalidInput("A regression needs a formula, or response= and covariates=.")
        names = names_of(covariates)
        if response in names or len(set(names)) != len(names):
            raise InvalidInput(
                f"covariates must be different columns, without the response {response!r}."
            )
        text = f"`{response}` ~ {' + '.join(['1', *(f'`{name}`' for name in names)])}"
    elif response is not None or covariates is not None:
        raise InvalidInput("Give a formula, or response= and covariates=, not both.")
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
    factors = [f for side in (left, parsed.rhs) for term in side for f in term.factors]
    return Formula(parsed, list(dict.fromkeys(name for f in factors for name in factor_columns(f))))


def formula_model(
    formula: Formula, groups: CodedRows, cells: CodedRows, *, counts: Integers
) -> tuple[Model, Response]:
    columns = {**groups.columns, **cells.columns}
    known: dict[tuple[str, bool], Expression] = {}

    def expression(factor: Any, *, reduced: bool) -> Expression:
        key = factor.expr, reduced
        if key not in known:
            variables = tuple(factor_columns(factor))
            own = cells if Model((), columns).is_randomised(variables) else groups
            known[key] = fitted_expression(factor, variables, own, reduced=reduced, counts=counts)
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
    factor: Any, columns: Mapping[str, ModelColumn], *, groups: CodedRows, cells: CodedRows
) -> Response:
    variables = tuple(factor_columns(factor))
    randomised = Model((), columns).is_randomised(variables)
    rows = cells if randomised else groups
    if factor.expr in columns:
        own = columns[factor.expr]
        return Response(own.name, (own.name,), rows.codes[own.name], own.labels, own.is_randomised)
    fitted = fitted_expression(
        factor, variables, rows, reduced=False, counts=np.ones(rows.size, dtype=np.int64)
    )
    encoded = fitted.encode(rows)
    if not fitted.is_categorical:
        if encoded.shape[1] != 1:
            raise InvalidInput(f"The response must be one number; {factor.expr} is several.")
        return Response(factor.expr, variables, encoded[:, 0], (), randomised)
    found = fitted.spec.encoder_state[factor.expr][1]["categories"]
    labels = tuple(one.item() if hasattr(one, "item") else one for one in found)
    codes = encoded.argmax(axis=1).astype(np.int64)
    return Response(readable(factor.expr), variables, codes, labels, randomised)
