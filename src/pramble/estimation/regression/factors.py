"""Factors of a model: what a column, or an expression of columns, gives for each row."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pramble.estimation.regression.columns import Column, Rows
from pramble.values import Floats, Integers, value


class Factor(Protocol):
    """What some columns give: one number or several indicators for each row.

    Attributes
    ----------
    variables : tuple of str
        The columns it is made of.
    names : tuple of str
        What it gives, in words.
    """

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns it is made of."""

    @property
    def names(self) -> tuple[str, ...]:
        """What it gives, in words."""

    def encode(self, rows: Rows) -> Floats:
        """Return one column for each name."""


@value
class Number:
    """A column of numbers as it is."""

    name: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    def encode(self, rows: Rows) -> Floats:
        return rows.numbers(self.name)[:, None]


@value(eq=False)
class Indicators:
    """Indicators of the labels of a column against the first."""

    column: Column

    @property
    def variables(self) -> tuple[str, ...]:
        """The column."""
        return (self.column.name,)

    @property
    def names(self) -> tuple[str, ...]:
        """The column with each label but the first."""
        return tuple(f"{self.column.name}[{label}]" for label in self.column.labels[1:])

    def encode(self, rows: Rows) -> Floats:
        """Return zeros and ones."""
        return np.eye(len(self.column.labels))[rows.codes[self.column.name]][:, 1:]


Term = tuple[Factor, ...]
"""Factors whose columns are multiplied; none is the intercept."""


@value(eq=False)
class Response:
    """The response: a number or a label for every row of one of the two sides.

    Attributes
    ----------
    name : str
    values : (rows,) array
        Numbers, or codes of labels.
    labels : tuple
        Empty for numbers alone.
    is_randomised : bool
        Whether the rows are cells of the randomised columns, else groups of untouched values.
    """

    name: str
    variables: tuple[str, ...]
    values: Floats | Integers
    labels: tuple[object, ...]
    is_randomised: bool

    def numbers(self) -> Floats:
        """Return the values as numbers."""
        if not self.labels:
            return np.asarray(self.values, dtype=np.float64)
        known = Column(self.name, self.labels).numbers()
        return np.asarray(known[self.values])


def term_names(term: Term) -> list[str]:
    names = [""]
    for factor in term:
        names = [f"{one}:{two}" if one else two for one in names for two in factor.names]
    return names if term else ["intercept"]


def encode_term(term: Sequence[Factor], rows: Rows, *, only: Sequence[bool]) -> Floats:
    """Return the product of the factors that are marked, with ones for the others."""
    answer = np.ones((rows.size, 1))
    for factor, wanted in zip(term, only, strict=True):
        own = factor.encode(rows) if wanted else np.ones((rows.size, len(factor.names)))
        answer = (answer[:, :, None] * own[:, None, :]).reshape(rows.size, -1)
    return answer
