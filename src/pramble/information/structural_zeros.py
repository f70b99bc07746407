r"""Structural zeros: which records cannot occur, from public knowledge alone.

They are stated as an array over all cells, or as rules on a few columns each, so that records of
many columns need no list of all cells. One grammar serves ``possible=``, ``impossible=`` and the
plan file:

* ``{"SEX": "m", "PREGNANT": "yes"}``: these never occur together,
* ``{"never": {"SEX": "m", "PREGNANT": "yes"}}``: the same,
* ``{"if": {"AGE": {"below": 15}}, "then": {"MARST": "never married"}}``.

A condition on a column is a label, a list of labels, bounds ``below`` and ``from`` on labels that
are numbers, or a function that says of a label whether it is met. A missing value meets neither
bounds nor functions. A rule counted on the confidential file would reveal something of it: α covers
none of them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.bands import is_finite_number
from pramble.data.crosstab import Crosstab
from pramble.data.labels import LABEL_TYPES, Label, places_of, typed_texts
from pramble.errors import InvalidData, InvalidInput, with_values
from pramble.information.distributions import Table, margin_of
from pramble.limits import MOST_CELLS
from pramble.values import frozen

Mask = NDArray[np.bool_]
Rule = Mapping[str, Any]
WORDS = ({"if", "then"}, {"never"})
BOUNDS = {"below", "from"}


@frozen(eq=False)
class StructuralZero:
    """Conditions on some columns that no record meets together: by place, the labels that do."""

    masks: Mapping[int, Mask]

    def holds(self, codes: NDArray[Any]) -> Mask:
        held = np.ones(len(codes), dtype=np.bool_)
        for place, mask in self.masks.items():
            held &= mask[codes[:, place]]
        return held


@frozen(eq=False)
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
    sizes = {name: len(own) for name, own in labels.items()}
    if given is None:
        return Possible(sizes)
    if isinstance(given, Possible):
        return given
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, Sequence) and all(isinstance(rule, Mapping) for rule in given):
        tables = tuple(_table_of(rule, labels) for rule in given)
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


def zeros_of_file(rules: Sequence[Rule], table: Crosstab) -> tuple[StructuralZero, ...]:
    """Return the zeros among the combinations of the levels that occur in a file.

    Labels that do not occur are passed over; a file that breaks a rule is refused.

    Examples
    --------
    >>> from pramble.data.crosstab import crosstab
    >>> from pramble.data.open import open_records
    >>> people = open_records({"age": [5, 40], "wed": ["no", "yes"]})
    >>> table = crosstab(people, ["age", "wed"])
    >>> zero, = zeros_of_file([{"age": {"below": 15}, "wed": "yes"}], table)
    >>> dict(zero.masks)
    {0: array([ True, False]), 1: array([False,  True])}
    """
    labels = dict(zip(table.columns, table.levels, strict=True))
    zeros: list[StructuralZero] = []
    for rule in rules:
        for zero in _zeros_of(standard_rule(rule), labels, declared=False):
            zeros.append(zero)
            broken = np.flatnonzero(zero.holds(table.cells))
            if not broken.size:
                continue
            where = f"{int(table.counts[broken].sum()):,} rows hold"
            if table.cell_of is not None:
                where = f"Row {int(np.flatnonzero(table.cell_of == broken[0])[0])} holds"
            values = dict(zip(table.columns, table.labels_of(int(broken[0])), strict=True))
            found = {table.columns[axis]: values[table.columns[axis]] for axis in zero.masks}
            error = InvalidData(
                f"{where} values of {', '.join(map(repr, found))} that a rule calls impossible "
                "together; mend the data or the rule."
            )
            raise with_values(error, found)
    return tuple(zeros)


def standard_rule(rule: Any) -> dict[str, Any]:
    """Return a rule in the words ``never``, or ``if`` and ``then``; a ``repair`` stays with it.

    >>> standard_rule({"sex": "m", "pregnant": ["yes"]})
    {'never': {'sex': 'm', 'pregnant': ['yes']}}
    """
    example = '{"age": "under 15", "married": ["yes", "widowed"]}'
    if not isinstance(rule, Mapping) or not rule:
        raise InvalidInput(
            f"A rule must map columns to labels that never occur together, such as {example}; "
            f"found {rule!r}."
        )
    stated = {word: part for word, part in rule.items() if word != "repair"}
    if set(stated) not in WORDS:
        if any(word in stated for words in WORDS for word in words):
            raise InvalidInput(
                'A rule has "if" and "then", or "never", or columns alone, such as '
                f"{example}; found {', '.join(map(repr, stated))}."
            )
        stated = {"never": stated}
    for word, part in stated.items():
        if not isinstance(part, Mapping) or not part:
            raise InvalidInput(
                f'"{word}" in a rule maps columns to labels, such as {{"SEX": "f"}}; found '
                f"{part!r}."
            )
    return stated | ({"repair": rule["repair"]} if "repair" in rule else {})


def _table_of(rule: Rule, labels: Mapping[str, Sequence[Label]]) -> tuple[Table, Mask]:
    rule, names = standard_rule(rule), list(labels)
    zeros = list(_zeros_of(rule, labels, declared=True))
    columns = tuple(dict.fromkeys(names[place] for zero in zeros for place in zero.masks))
    if math.prod(len(labels[name]) for name in columns) > MOST_CELLS:
        raise InvalidInput(f"A rule is on columns of at most {MOST_CELLS:,} cells together.")
    allowed = np.ones(tuple(len(labels[name]) for name in columns), dtype=np.bool_)
    for zero in zeros:
        met = np.ones_like(allowed)
        for place, mask in zero.masks.items():
            axis = columns.index(names[place])
            met &= np.expand_dims(mask, [i for i in range(len(columns)) if i != axis])
        allowed &= ~met
    return columns, allowed


def _zeros_of(
    rule: Rule, labels: Mapping[str, Sequence[Label]], *, declared: bool
) -> Iterator[StructuralZero]:
    """Yield what never occurs: each condition after ``then`` fails where those of ``if`` hold."""
    names = list(labels)
    unknown = [
        name for word in rule if word != "repair" for name in rule[word] if name not in labels
    ]
    if unknown:
        raise InvalidInput(
            f"A rule names {unknown[0]!r}, which is not among the columns {', '.join(names)}."
        )

    def masks(word: str) -> dict[int, Mask]:
        return {
            names.index(name): _met_by(labels[name], wanted, name, declared=declared)
            for name, wanted in rule[word].items()
        }

    if "never" in rule:
        yield StructuralZero(masks("never"))
        return
    # Each condition after "then" is a rule of its own: one that fails is enough.
    met = masks("if")
    for place, mask in masks("then").items():
        yield StructuralZero(met | {place: met.get(place, True) & ~mask})


def _met_by(labels: Sequence[Label], wanted: Any, name: str, *, declared: bool) -> Mask:
    """Return which labels of a column meet a condition.

    A label that is none of those declared is refused; a file need not hold every label.

    >>> _met_by([0, 15, 65], {"from": 15, "below": 65}, "age", declared=True)
    array([False,  True, False])
    """
    if callable(wanted):
        return np.array([label is not None and bool(wanted(label)) for label in labels])
    if isinstance(wanted, Mapping):
        return _within(labels, wanted, name)
    listed = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    if not all(isinstance(label, LABEL_TYPES) for label in listed):
        raise InvalidInput(f"A rule lists labels of column {name!r}; found {short(wanted)}.")
    found = np.zeros(len(labels), dtype=np.bool_)
    for label, place in zip(listed, places_of(labels, listed), strict=True):
        if place is not None:
            found[place] = True
        elif declared:
            raise InvalidInput(f"A rule names {label!r}, which is no category of column {name!r}.")
    return found


def _within(labels: Sequence[Label], bounds: Mapping[str, Any], name: str) -> Mask:
    if not bounds or not set(bounds) <= BOUNDS or not all(map(is_finite_number, bounds.values())):
        raise InvalidInput(
            f'Bounds on column {name!r} are numbers for "from" and "below"; found {dict(bounds)!r}.'
        )
    numbers = typed_texts(labels)
    if not all(label is None or is_finite_number(label) for label in numbers):
        raise InvalidInput(
            f"Bounds need categories that are numbers; column {name!r} has others. List its labels."
        )
    low, high = bounds.get("from", -np.inf), bounds.get("below", np.inf)
    return np.array([label is not None and low <= label < high for label in numbers])
