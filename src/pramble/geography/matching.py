"""Which area a label means, and what to say where it means none."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.data.labels import Label
from pramble.errors import InvalidInput
from pramble.values import Floats
from pramble.words import hint_at, several

NAMED = 5


def missing_in_words(missing: Sequence[Label], labels: Sequence[Label]) -> str:
    """Return why labels are no areas: of another type, or not there."""
    first = missing[0]
    alike = [label for label in labels if is_other_type(first, label)]
    if alike:
        return (
            f"Labels must be of one type; {first!r} is asked for, and the areas have {alike[0]!r}. "
            f"Rename them: areas.renamed({renaming(first, alike[0])})."
        )
    names = ", ".join(map(repr, missing[:NAMED])) + (", …" if len(missing) > NAMED else "")
    hint = hint_at(str(first), list(map(str, labels)))
    count = f"the {several(len(labels), 'area')}" if len(labels) > 1 else "the one area"
    return f"Every label must be that of one of {count}; there is no {names}{hint}."


def is_other_type(one: Label, other: Label) -> bool:
    """Whether an integer and a text are written alike, but for zeros in front.

    >>> is_other_type(1, "01"), is_other_type("1", "01"), is_other_type(1, 1)
    (True, False, False)
    """
    if {type(one), type(other)} != {str, int}:
        return False
    text, code = (one, other) if isinstance(one, str) else (other, one)
    return bool(text.isdecimal() and text.isascii()) and len(text) < 19 and int(text) == code


def renaming(wanted: Label, label: Label) -> str:
    """Return the function that turns labels of the areas into those asked for, as code."""
    if isinstance(wanted, int):
        return "int"
    return "str" if str(label) == wanted else f"lambda code: str(code).zfill({len(wanted)})"


def as_numbers_of(values: Any, size: int) -> Floats:
    """Return an array of one number per area; refuse another shape."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("values must be numbers, or a mapping from labels to numbers.") from None
    if found.shape != (size,):
        raise InvalidInput(
            f"values must be one number for each of the {several(size, 'area')}, in their order, "
            f"or a mapping from labels to numbers; found shape {found.shape}."
        )
    return found


def by_label(values: Mapping[Label, Any]) -> tuple[list[Label], list[float]]:
    """Return the labels and numbers of a mapping; None is no number."""
    try:
        numbers = [float("nan") if found is None else float(found) for found in values.values()]
    except (TypeError, ValueError):
        raise InvalidInput("values must map labels to numbers.") from None
    return list(values), numbers
