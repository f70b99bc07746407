r"""A model over combinations: its columns, its terms, its response, and the design matrix.

Each factor is made of untouched columns or of randomised ones, so every column j of the design
matrix falls apart, :math:`D_j(w, x) = A_j(w)\,B_j(x)`: two small matrices hold all of it.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from pramble.data.labels import Label, places_of
from pramble.data.records import Records
from pramble.errors import InvalidInput, NotIdentifiable
from pramble.values import Floats, Integers, frozen

# A number as a file without types writes it: no sign of a code such as 007.
DECIMAL = re.compile(r"-?((0|[1-9]\d*)(\.\d+)?|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)


@frozen(eq=False)
class ModelColumn:
    """A column of a model."""

    name: str
    labels: tuple[Label, ...]  # Numbers, or categories in their order
    is_numeric: bool = False  # Whether it enters as a number
    is_randomised: bool = False

    def numbers(self) -> Floats:
        if not all(map(is_numeric_label, self.labels)):
            raise InvalidInput(f"Column {self.name!r} must hold numbers; it does not.")
        return np.array([float(one) for one in self.labels])


def is_numeric_label(label: Label) -> bool:
    return not isinstance(label, bool | str | tuple | None) and hasattr(label, "__float__")


@frozen(eq=False)
class CodedRows:
    """CodedRows of values: for every column the code of its label."""

    size: int
    columns: Mapping[str, ModelColumn]
    codes: Mapping[str, Integers]

    def numbers(self, name: str) -> Floats:
        return np.asarray(self.columns[name].numbers()[self.codes[name]])

    def repeated(self, times: Integers) -> "CodedRows":
        codes = {name: np.repeat(own, times) for name, own in self.codes.items()}
        return CodedRows(int(times.sum()), self.columns, codes)


def untouched_column(
    records: Records, name: str, labels: Sequence[Label]
) -> tuple[ModelColumn, Integers]:
    declared = declared_categories(records, name)
    if declared is None:
        values = decimals_of(labels, records)
        is_numeric = all(is_numeric_label(one) for one in values)
        return ModelColumn(name, tuple(values), is_numeric), np.arange(len(labels))
    known = [place for place in places_of(labels, declared) if place is not None]
    order = list(dict.fromkeys([*known, *range(len(labels))]))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return ModelColumn(name, tuple(labels[i] for i in order)), place


def declared_categories(records: Records, name: str) -> Sequence[Label] | None:
    """Return the categories that a column declares, if it is one of categories; maybe none.

    Those of pandas have an order, be they ordered or not; others come in natural order then.
    """
    declared = records.declared(name)
    kind = records.schema.field(name).type
    if declared is not None or not pa.types.is_dictionary(kind):
        return declared
    table = getattr(records, "table", None)
    if records.backend != "pandas" or table is None or not table.num_rows:
        return ()
    return tuple(table.column(name).unify_dictionaries().chunk(0).dictionary.to_pylist())


def decimals_of(labels: Sequence[Label], records: Records) -> Sequence[Label]:
    """Return texts of a file without types as the numbers they are, if every one is a number."""
    if records.typed or not all(isinstance(label, str) for label in labels):
        return labels
    texts = [label.replace(records.reading.decimal or ".", ".") for label in labels]
    return list(map(float, texts)) if all(map(DECIMAL.fullmatch, texts)) else labels


class Factor(Protocol):
    """What some columns give, by name: one number or several indicators for each row."""

    @property
    def variables(self) -> tuple[str, ...]: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    def encode(self, rows: CodedRows) -> Floats: ...


# Factors whose columns are multiplied; none is the intercept.
Term = tuple[Factor, ...]


@frozen(eq=False)
class Response:
    """The response: a number or a label for every row of one of the two sides."""

    name: str
    variables: tuple[str, ...]
    values: Floats | Integers  # (rows,): numbers, or codes of labels
    labels: tuple[object, ...]  # Empty for numbers alone
    # Whether the rows are cells of the randomised columns, else groups of untouched values
    is_randomised: bool

    def numbers(self) -> Floats:
        if not self.labels:
            return np.asarray(self.values, dtype=np.float64)
        known = ModelColumn(self.name, self.labels).numbers()
        return np.asarray(known[self.values])


# Coefficients of a regression: the cube of their number is worked out in every step.
MOST_COEFFICIENTS = 1000

# The eigenvalue of the correlations of columns below which some determine others.
COLLINEAR = 1e-13


@frozen(eq=False)
class DesignMatrix:
    """The two halves of a design matrix: (W, p) over untouched groups and (K, p) over cells."""

    A: Floats
    B: Floats

    def part(self, some: slice) -> Floats:
        """Return the rows of some groups, (groups, cells, p)."""
        return np.asarray(self.A[some, None, :] * self.B[None])

    def predictors(self, some: slice, coefficients: Floats) -> Floats:
        """Return (L, groups, cells) sums of columns with (L, p) coefficients."""
        return np.stack([(self.A[some] * own) @ self.B.T for own in coefficients])

    def sums(self, some: slice, values: Floats) -> Floats:
        return np.asarray((self.A[some] * (values @ self.B)).sum(axis=0))

    def products(self, some: slice, values: Floats) -> Floats:
        p, cells = self.A.shape[1], len(self.B)
        if cells < p:
            flat = self.part(some).reshape(-1, p)
            return np.asarray(flat.T @ (values.reshape(-1, 1) * flat))
        one, two, B = self.pairs
        answer = np.zeros((p, p))
        answer[one, two] = (self.A[some][:, one] * self.A[some][:, two] * (values @ B)).sum(axis=0)
        answer[two, one] = answer[one, two]
        return answer

    @cached_property
    def pairs(self) -> tuple[Integers, Integers, Floats]:
        one, two = np.triu_indices(self.A.shape[1])
        return one, two, self.B[:, one] * self.B[:, two]

    def gram(self, counts: Floats) -> Floats:
        """Return what products of columns are on average, with every cell counted alike."""
        weighted = self.A * (counts / counts.sum())[:, None]
        return np.asarray((weighted.T @ self.A) * (self.B.T @ self.B) / len(self.B))


@frozen(eq=False)
class Model:
    """Terms of a regression and the columns that they are made of."""

    terms: tuple[Term, ...]
    columns: Mapping[str, ModelColumn]

    @property
    def names(self) -> tuple[str, ...]:
        found = []
        for term in self.terms:
            names = [""]
            for factor in term:
                names = [f"{one}:{two}" if one else two for one in names for two in factor.names]
            found += names if term else ["intercept"]
        return tuple(found)

    def is_randomised(self, variables: Sequence[str]) -> bool:
        """Whether these are randomised columns; refuse a mixture."""
        kinds = {self.columns[name].is_randomised for name in variables}
        if len(kinds) > 1:
            raise InvalidInput(
                f"An expression must have randomised columns alone or untouched ones alone; one "
                f"mixes {', '.join(map(repr, variables))}. Write a product as an interaction, a:b."
            )
        return kinds == {True}

    def half(self, rows: CodedRows, *, randomised: bool) -> Floats:
        """Return the design matrix of some rows by factors of one kind."""
        parts = [np.zeros((rows.size, 0))]
        for term in self.terms:
            product = np.ones((rows.size, 1))
            for factor in term:
                wanted = randomised == self.is_randomised(factor.variables)
                own = factor.encode(rows) if wanted else np.ones((rows.size, len(factor.names)))
                product = (product[:, :, None] * own[:, None, :]).reshape(rows.size, -1)
            parts.append(product)
        return np.concatenate(parts, axis=1)

    def design(self, groups: CodedRows, cells: CodedRows) -> DesignMatrix:
        A, B = self.half(groups, randomised=False), self.half(cells, randomised=True)
        for half in (A, B):
            bad = np.flatnonzero(~np.isfinite(half).all(axis=0))
            if bad.size:
                raise InvalidInput(
                    f"{self.names[bad[0]]!r} must be a finite number for every record; it is not."
                )
        return DesignMatrix(A, B)


def refuse_collinear(design: DesignMatrix, counts: Floats, names: Sequence[str]) -> None:
    """Refuse covariates that determine one another, whatever the randomised ones are."""
    if len(names) > MOST_COEFFICIENTS:
        raise InvalidInput(
            f"A regression must have at most {MOST_COEFFICIENTS} coefficients; this one has "
            f"{len(names)}. A column of numbers may have been read as labels."
        )
    gram = design.gram(counts)
    size = np.sqrt(np.diag(gram))
    empty = np.flatnonzero(size == 0)
    if empty.size:
        raise NotIdentifiable(f"{names[empty[0]]!r} is zero in every record: leave it out.")
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    if len(values) and values[0] < COLLINEAR:
        own = np.flatnonzero(np.abs(vectors[:, 0]) > 0.05)
        listed: Any = ", ".join(names[j] for j in own[:8])
        raise NotIdentifiable(
            f"Covariates must not determine one another; these do: {listed}. Leave one out."
        )
