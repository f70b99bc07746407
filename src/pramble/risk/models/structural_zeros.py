"""Rules for combinations that cannot occur, such as a married child."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.order import places_of
from pramble.data.table import Crosstab
from pramble.errors import InvalidData, InvalidInput, with_values
from pramble.values import value

Rule = Mapping[str, Any]
"""Column → a label, a collection of labels, or a predicate on labels; all must hold at once."""


@value(eq=False)
class Forbidden:
    """A rule over coded keys: cells where every named axis is in its mask are impossible."""

    masks: Mapping[int, NDArray[np.bool_]]

    def holds(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each row of codes is an impossible cell."""
        held = np.ones(len(codes), dtype=bool)
        for axis, mask in self.masks.items():
            held &= mask[codes[:, axis]]
        return held


def resolve_rules(rules: Sequence[Rule], table: Crosstab) -> tuple[Forbidden, ...]:
    """Return the rules over the table's codes; refuse data that contradicts them.

    Examples
    --------
    >>> from pramble.data.crosstab import crosstab
    >>> from pramble.data.open import open_records
    >>> people = open_records({"age": [5, 40], "wed": ["no", "yes"]})
    >>> table = crosstab(people, ["age", "wed"])
    >>> rule, = resolve_rules([{"age": lambda a: a < 15, "wed": "yes"}], table)
    >>> dict(rule.masks)
    {0: array([ True, False]), 1: array([False,  True])}
    """
    resolved = tuple(_resolve(rule, table) for rule in rules)
    for rule, forbidden in zip(rules, resolved, strict=True):
        broken = np.flatnonzero(forbidden.holds(table.cells))
        if broken.size:
            where = f"{int(table.counts[broken].sum()):,} rows hold"
            if table.cell_of is not None:
                where = f"Row {int(np.flatnonzero(table.cell_of == broken[0])[0])} holds"
            values = dict(zip(table.columns, table.labels_of(int(broken[0])), strict=True))
            found = {name: "…" if callable(said) else values[name] for name, said in rule.items()}
            error = InvalidData(
                f"{where} values of {', '.join(map(repr, rule))} that a rule calls "
                "impossible together; mend the data or the rule."
            )
            raise with_values(error, found)
    return resolved


def _resolve(rule: Rule, table: Crosstab) -> Forbidden:
    if not isinstance(rule, Mapping) or not rule:
        raise InvalidInput(
            "A rule must map key columns to impossible values, such as "
            f"{{'age': 'under 15', 'marital': ['married', 'widowed']}}; found {rule!r}."
        )
    masks = {}
    for name, wanted in rule.items():
        if name not in table.columns:
            raise InvalidInput(
                f"A rule names {name!r}, which is not among the keys {table.columns}."
            )
        axis = table.columns.index(name)
        masks[axis] = _mask(table.levels[axis], wanted)
    return Forbidden(masks)


def _mask(labels: Sequence[Any], wanted: Any) -> NDArray[np.bool_]:
    if callable(wanted):
        return np.array([label is not None and bool(wanted(label)) for label in labels])
    values = wanted if isinstance(wanted, Collection) and not isinstance(wanted, str) else [wanted]
    mask = np.zeros(len(labels), dtype=bool)
    mask[[place for place in places_of(labels, list(values)) if place is not None]] = True
    return mask
