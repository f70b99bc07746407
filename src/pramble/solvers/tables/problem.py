r"""What noise in the parts of tables costs, and what it may spend.

The noise in all cells of the wanted tables, each table with its weight, is
:math:`\sum_A c_A / u_A` with

.. math:: c_A = \sum_{T \supseteq A} w_T \prod_{j \in A}(n_j - 1) \prod_{j \in T \setminus A}
          \frac{1}{n_j} .
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import InvalidInput
from pramble.information.distributions import Table, as_tables
from pramble.limits import MOST_MEASURED_CELLS
from pramble.mechanisms.table_plan import parts_within, subsets
from pramble.privacy.largest_shift import Exchangeable, exchangeable, refuse_uncertifiable
from pramble.solvers.record.problem import as_columns
from pramble.values import Floats, value

Objective = Literal["variance", "relative", "largest"]
OBJECTIVES = ("variance", "relative", "largest")


@value(eq=False)
class TableProblem:
    """Which tables are wanted of which columns, and how much each matters.

    Attributes
    ----------
    labels : mapping from column to Labels
    tables : tuple of tuples of columns
    weights : array
        Of each table in the objective: its importance, and its number of cells where relative
        errors count.
    parts : Exchangeable
        Every set of columns within some table, by kind.
    costs : array
        c of all parts of each kind together.
    """

    labels: Mapping[str, Labels]
    tables: tuple[Table, ...]
    weights: Floats
    parts: Exchangeable
    costs: Floats

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The number of categories of each column."""
        return {name: len(own) for name, own in self.labels.items()}

    @cached_property
    def cost_of_total(self) -> float:
        """The noise in all cells for each unit of noise in the number of records."""
        cells = [math.prod(self.sizes[name] for name in table) for table in self.tables]
        return math.fsum(w / n for w, n in zip(self.weights.tolist(), cells, strict=True))


def as_table_problem(
    columns: Mapping[str, Any],
    *,
    tables: Any,
    importance: Mapping[Any, float] | None,
    objective: str,
) -> TableProblem:
    """Return the problem that is meant; refuse what cannot be."""
    if objective not in OBJECTIVES:
        raise InvalidInput(f"The objective is one of {', '.join(OBJECTIVES)}; found {objective!r}.")
    labels = as_columns(columns)
    wanted = as_tables(tables, tuple(labels))
    unused = [name for name in labels if not any(name in table for table in wanted)]
    if unused:
        raise InvalidInput(
            f"Column {unused[0]!r} is in no wanted table: leave it out, or want one with it."
        )
    sizes = {name: len(own) for name, own in labels.items()}
    refuse_too_many(wanted, sizes)
    matters = importances(importance, wanted)
    cells = [math.prod(sizes[name] for name in table) for table in wanted]
    weights = matters * (np.array(cells, dtype=np.float64) if objective == "relative" else 1.0)
    by_part = part_costs(wanted, weights, sizes)
    parts = exchangeable(sizes, by_part)
    refuse_uncertifiable(parts)
    costs = np.array([math.fsum(by_part[part] for part in own) for own in parts.members])
    return TableProblem(labels, wanted, weights, parts, costs)


def importances(importance: Mapping[Any, Any] | None, tables: Sequence[Table]) -> Floats:
    """Return how much each wanted table matters: 1 unless it is said."""
    if importance is not None and not isinstance(importance, Mapping):
        raise InvalidInput(
            f"importance maps wanted tables to positive numbers; found {importance!r}."
        )
    found: dict[Table, float | None] = dict.fromkeys(tables)
    as_sets = {frozenset(table): table for table in tables}
    for key, amount in (importance or {}).items():
        names = (key,) if isinstance(key, str) else key
        table = as_sets.get(frozenset(names)) if isinstance(names, tuple | frozenset) else None
        if table is None or not isinstance(amount, Real) or not 1e-12 <= float(amount) <= 1e12:
            raise InvalidInput(
                "importance maps wanted tables to positive numbers, from 1e-12 to 1e12; found "
                f"{key!r}: {amount!r}."
            )
        if found[table] is not None:
            raise InvalidInput(f"importance names the table {' × '.join(table)} twice.")
        found[table] = float(amount)
    return np.array([1.0 if own is None else own for own in found.values()])


def refuse_too_many(tables: Sequence[Table], sizes: Mapping[str, int]) -> None:
    """Refuse tables of more cells than can be held."""
    cells = {table: math.prod(sizes[name] for name in table) for table in tables}
    if sum(cells.values()) > MOST_MEASURED_CELLS:
        largest = max(cells, key=cells.__getitem__)
        raise InvalidInput(
            f"The wanted tables have {sum(cells.values()):,} cells, of which "
            f"{' × '.join(largest)} has {cells[largest]:,}; at most {MOST_MEASURED_CELLS:,} can be "
            "measured. Want fewer or smaller tables, or merge categories."
        )


def part_costs(
    tables: Sequence[Table], weights: Floats, sizes: Mapping[str, int]
) -> dict[Table, float]:
    """Return c of every part.

    >>> part_costs([("a", "b")], np.ones(1), {"a": 2, "b": 3})
    {('a',): 0.3333333333333333, ('b',): 1.0, ('a', 'b'): 2.0}
    """
    found: dict[Table, list[float]] = {part: [] for part in parts_within(tables)}
    for table, weight in zip(tables, weights.tolist(), strict=True):
        for part in subsets(table):
            if part:
                inside = math.prod(sizes[name] - 1 for name in part)
                beside = math.prod(sizes[name] for name in table if name not in part)
                found[part].append(weight * inside / beside)
    return {part: math.fsum(own) for part, own in found.items()}
