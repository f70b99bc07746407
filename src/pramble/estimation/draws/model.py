r"""Which tables the law of the originals has: all columns together, or pairs of them.

With the table of all columns nothing is assumed, but each of its cells must be told: where the
release is worth few complete records, laws are bent by the edge of the simplex and by the prior, in
every group alike. The law of all pairs has far fewer cells, and fits every regression
without interactions.
"""

import math
from collections.abc import Sequence
from typing import Any

from pramble.data.records import Records
from pramble.errors import InvalidInput, NotIdentifiable
from pramble.estimation.draws.chain import Term, sizes_of, terms_of, whole_term
from pramble.estimation.draws.distribution import wanted_tables
from pramble.estimation.draws.released import Released
from pramble.estimation.estimate import estimate
from pramble.information.consistent import nearest_on_simplex
from pramble.information.distributions import Table
from pramble.limits import MOST_WANTED_CELLS
from pramble.mechanisms.plan import Plan
from pramble.values import Clock, value

MOST_WHOLE = 20_000
"""Cells of a table of all columns up to which it is taken, where it is told."""

PER_CELL = 2
"""For each of those cells the prior has one record, which pulls rare categories up; it is felt less
than chance is, if the root of what the release is worth is so much larger than their number."""

HARDLY = 1.0
"""Complete records for each cell of a table below which a note says that it is hardly told."""

LEAST = 1e-6
"""Of a table with one cell alone, so that it counts as told."""

MOST_LISTED = 12


@value(eq=False)
class Model:
    """The terms of a law, what the release is worth for the poorest of them, and notes."""

    terms: tuple[Term, ...]
    worth: float
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        return self.terms[0].whole


def model_of(
    release: Released, tables: Any, *, records: Records, plan: Plan, clock: Clock
) -> Model:
    """Return the model: as asked for, or all columns together where they are told, else pairs."""
    whole = (*release.given, *release.labels)
    if tables == "all" or (tables is None and release.cells <= MOST_WHOLE):
        value = worth(records, plan, whole)
        if tables == "all" and not value:
            raise NotIdentifiable(
                "The plan cannot give the table of all columns; leave tables= to find out which."
            )
        if tables == "all" or value >= (PER_CELL * release.cells) ** 2:
            return Model((whole_term(release),), value)
    wanted = [
        table
        for table in wanted_tables(2 if tables is None else tables, list(whole))
        if set(table) & set(release.labels)
    ]
    found, notes = told(wanted, release, records=records, plan=plan, clock=clock)
    return Model(tuple(terms_of(release, list(found))), min(found.values()), tuple(notes))


def told(
    wanted: Sequence[Table], release: Released, *, records: Records, plan: Plan, clock: Clock
) -> tuple[dict[Table, float], list[str]]:
    """Return what the release is worth for each table that it tells, and notes on the others."""
    found: dict[Table, float] = {}
    left: list[str] = []
    poor: list[str] = []
    for done, table in enumerate(wanted):
        clock.tell("estimating", done / len(wanted))
        cells, name = math.prod(sizes_of(release, table)), " with ".join(table)
        if cells > MOST_WANTED_CELLS:
            left.append(f"{name} (more than {MOST_WANTED_CELLS:,} cells)")
            continue
        value = worth(records, plan, table)
        if not value and len(table) == 1:
            estimate(records, plan, by=list(table), method="inverse")  # says what is not told
        if value:
            found[table] = value
        else:
            left.append(f"{name} (the plan cannot give it)")
        if 0 < value < HARDLY * cells:
            poor.append(name)
    return found, [
        *listed("Tables that are taken to hold nothing beyond smaller ones", left),
        *listed(
            "Tables of which the release tells less than one complete record for each cell would, "
            "so that what is drawn of them rests on the flat prior",
            poor,
        ),
    ]


def listed(what: str, names: Sequence[str]) -> list[str]:
    """Return a note with some names, if there are any."""
    shown = "; ".join(names[:MOST_LISTED]) + ("; …" if len(names) > MOST_LISTED else "")
    return [f"{what}: {shown}."] if names else []


def worth(records: Records, plan: Plan, table: Table) -> float:
    r"""Return how many complete records would tell as much of a table as the release does.

    That is :math:`(1 - \sum p^2)` by the summed variance of the estimated shares; zero where the
    plan cannot give the table.
    """
    try:
        found = estimate(records, plan, by=list(table), method="inverse")
    except (NotIdentifiable, InvalidInput):
        return 0.0
    p = nearest_on_simplex(found.probabilities)
    spread = float((found.standard_errors**2).sum())
    return float(max(1 - (p**2).sum(), LEAST) / spread) if spread else float(found.n)
