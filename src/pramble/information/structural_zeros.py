r"""Which records can occur: structural zeros, from public knowledge alone.

What is possible is stated as an array over all cells, or as rules on a few columns each, so that
records of many columns need no list of all cells:

* ``{"if": {"AGE": {"below": 15}}, "then": {"MARST": "never married"}}``,
* ``{"never": {"SEX": "m", "PREGNANT": "yes"}}``.

A condition on a column is a label, a list of labels, or bounds ``below`` and ``from`` on labels
that are numbers. A rule counted on the confidential file would tell of it: α covers none of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.bands import is_number
from pramble.data.labels import Label
from pramble.data.order import places_of
from pramble.errors import InvalidInput
from pramble.information.distributions import Table, margin_of
from pramble.values import value

Mask = NDArray[np.bool_]
RULES = ({"if", "then"}, {"never"})
BOUNDS = {"below", "from"}


@value(eq=False)
class Possible:
    """Tables of what is possible; a record can occur if all of them say so.

    >>> rule = {"if": {"age": {"below": 2}}, "then": {"job": "none"}}
    >>> possible = as_possible([rule], {"age": [0, 1, 2], "job": ["none", "some"]})
    >>> possible.mask(["job", "age"])
    array([[ True,  True,  True],
           [False, False,  True]])
    >>> possible.mask(["age"])
    array([ True,  True,  True])
    """

    sizes: Mapping[str, int]
    tables: tuple[tuple[Table, Mask], ...] = ()

    def mask(self, columns: Sequence[str]) -> Mask:
        """Return which cells of some columns no single table rules out."""
        shape = tuple(self.sizes[name] for name in columns)
        found = np.ones(shape, dtype=np.bool_)
        for names, table in self.tables:
            shared = [name for name in columns if name in names]
            if shared:
                own = margin_of(table.astype(np.float64), names, shared) > 0
                others = [i for i, name in enumerate(columns) if name not in names]
                found &= np.expand_dims(own, others)
        return found


def as_possible(given: Any, labels: Mapping[str, Sequence[Label]]) -> Possible:
    """Return what is possible, from None (everything), an array over all cells, or rules."""
    sizes = {name: len(own) for name, own in labels.items()}
    if given is None:
        return Possible(sizes)
    if isinstance(given, Possible):
        return given
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, Sequence) and all(isinstance(rule, Mapping) for rule in given):
        tables = tuple(table_of(rule, labels) for rule in given)
    else:
        array, shape = np.asarray(given), tuple(sizes.values())
        if array.shape != shape or array.dtype != np.bool_:
            raise InvalidInput(
                f"possible is a boolean array of the shape {shape}, or a list of rules."
            )
        tables = ((tuple(sizes), array),)
    found = Possible(sizes, tables)
    for name, own in labels.items():
        for code, there in enumerate(found.mask([name]).tolist()):
            if not there:
                raise InvalidInput(
                    f"Every category must be possible in some cell; {own[code]!r} of column "
                    f"{name!r} never is."
                )
    return found


def table_of(rule: Mapping[str, Any], labels: Mapping[str, Sequence[Label]]) -> tuple[Table, Mask]:
    """Return what a rule says of the cells of its columns."""
    if set(rule) not in RULES:
        raise InvalidInput(
            'A rule of what is possible has "if" and "then", or "never"; found '
            f"{', '.join(map(repr, rule)) or 'nothing'}."
        )
    parts = [conditions(rule[word], word) for word in rule]
    columns = tuple(dict.fromkeys(name for part in parts for name in part))
    met = [matches(part, columns, labels) for part in parts]
    return columns, ~met[0] if "never" in rule else ~met[0] | met[1]


def conditions(given: Any, word: str) -> Mapping[str, Any]:
    """Return the conditions of one part of a rule, at least one."""
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput(
            f'"{word}" in a rule maps columns to labels, such as {{"SEX": "f"}}; found {given!r}.'
        )
    return given


def matches(part: Mapping[str, Any], columns: Table, labels: Mapping[str, Sequence[Label]]) -> Mask:
    """Return the cells of some columns that meet all conditions."""
    unknown = [name for name in part if name not in labels]
    if unknown:
        raise InvalidInput(f"A rule of what is possible names {unknown[0]!r}, which is no column.")
    found = np.ones(tuple(len(labels[name]) for name in columns), dtype=np.bool_)
    for name, wanted in part.items():
        own = met_by(labels[name], wanted, name)
        place = columns.index(name)
        found &= np.expand_dims(own, [i for i in range(len(columns)) if i != place])
    return found


def met_by(labels: Sequence[Label], wanted: Any, name: str) -> Mask:
    """Return which labels of a column meet a condition; refuse a label that it does not have.

    >>> met_by([0, 15, 65], {"from": 15, "below": 65}, "age")
    array([False,  True, False])
    """
    if isinstance(wanted, Mapping):
        return within(labels, wanted, name)
    listed = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    found = np.zeros(len(labels), dtype=np.bool_)
    for label, place in zip(listed, places_of(labels, listed), strict=True):
        if place is None:
            raise InvalidInput(
                f"A rule of what is possible names {label!r}, which is no category of column "
                f"{name!r}."
            )
        found[place] = True
    return found


def within(labels: Sequence[Label], bounds: Mapping[str, Any], name: str) -> Mask:
    """Return which labels of a column of numbers lie within bounds."""
    if not bounds or not set(bounds) <= BOUNDS or not all(map(is_number, bounds.values())):
        raise InvalidInput(
            f'Bounds on column {name!r} are numbers for "from" and "below"; found {dict(bounds)!r}.'
        )
    if not all(map(is_number, labels)):
        raise InvalidInput(
            f"Bounds need categories that are numbers; column {name!r} has others. List its labels."
        )
    low, high = bounds.get("from", -np.inf), bounds.get("below", np.inf)
    return np.array([low <= label < high for label in labels], dtype=np.bool_)
