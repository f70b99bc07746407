"""Everything pramble raises on purpose.

::

    PrambleError
    ├── InvalidInput (also a ValueError)
    │   ├── InvalidMechanism     a matrix, weights, labels or JSON that is no mechanism
    │   ├── InvalidPrior         not a probability vector
    │   ├── InvalidData          values, rows or files that do not fit what was declared
    │   └── InvalidPlan          a plan that contradicts itself or the file
    ├── WriteFailed (also an OSError)  an output that could not be completed, and was not left
    ├── PrivacyError             what was asked would break the stated privacy
    ├── NotIdentifiable          the release does not determine what was asked
    └── NotConverged             a fit or solve that stopped before its tolerance

A message says what must hold, what was found, and what to do about it. It names rows and columns,
never values of the data: those are in ``values``, which the command line shows if asked to.
"""

from typing import Any, TypeVar


class PrambleError(Exception):
    """The root of every error that pramble raises on purpose.

    ``values`` says which values of the data the message is about; they may be confidential.

    Examples
    --------
    >>> import pramble
    >>> try:
    ...     pramble.randomized_response(["only one"], 1.0)
    ... except pramble.PrambleError as error:
    ...     print(error)
    A mechanism needs at least two categories; found 1.
    """

    values: str = ""


class PrambleWarning(UserWarning):
    """What to know about a result that is given all the same.

    Examples
    --------
    >>> import warnings
    >>> import pramble
    >>> warnings.simplefilter("ignore", pramble.PrambleWarning)
    """


class InvalidInput(PrambleError, ValueError):
    """A value handed in breaks a stated condition."""


class InvalidMechanism(InvalidInput):
    """A matrix, weights, labels or JSON document that is no mechanism."""


class InvalidPrior(InvalidInput):
    """Not a probability vector over the categories."""


class InvalidData(InvalidInput):
    """Values, rows or files that do not fit what was declared.

    ``place`` holds, where a message names one row, what stands before the row's number, the number,
    and what stands after it; ``undeclared`` tells of values that were not declared.
    """

    place: tuple[str, int, str] | None = None
    undeclared: Any = None


class InvalidPlan(InvalidInput):
    """A plan that contradicts itself or the file it is for."""


class WriteFailed(PrambleError, OSError):
    """An output could not be completed; nothing was left under its name."""


class PrivacyError(PrambleError):
    """What was asked would break the stated privacy."""


class NotIdentifiable(PrambleError):
    """The release does not determine what was asked.

    ``directions`` holds, where known, a basis of the differences of priors that give the same
    released law, one per row.

    Examples
    --------
    >>> import pramble
    >>> m = pramble.Mechanism.from_matrix([[0.5, 0.5], [0.5, 0.5]])
    >>> try:
    ...     pramble.estimate([40, 60], m, counts=True)
    ... except pramble.NotIdentifiable as error:
    ...     print(error.directions.shape)
    (1, 2)
    """

    directions: Any = None


class NotShown(InvalidInput, NotIdentifiable):
    """A table of columns that no records of a release show together."""


class NotConverged(PrambleError):
    """A fit or solve stopped before it reached its tolerance."""


E = TypeVar("E", bound=PrambleError)


def with_values(error: E, values: object) -> E:
    """Return the error with the values of the data that its message is about.

    >>> with_values(InvalidData("Row 3 must hold a declared category."), "'unknown'").values
    "'unknown'"
    """
    error.values = str(values)
    return error


def bad_row(before: str, row: int, after: str) -> InvalidData:
    """Return the error whose message names one row.

    >>> print(bad_row("Weights must not be negative; row ", 3, " holds less."))
    Weights must not be negative; row 3 holds less.
    """
    error = InvalidData(f"{before}{row}{after}")
    error.place = (before, row, after)
    return error


def rows_later(error: PrambleError, rows: int) -> PrambleError:
    """Return an error of data that so many rows stand before: the row it names is that many later.

    >>> print(rows_later(bad_row("See row ", 3, "."), 100))
    See row 103.
    """
    if not isinstance(error, InvalidData) or error.place is None:
        return error
    before, row, after = error.place
    return with_values(bad_row(before, row + rows, after), error.values)
