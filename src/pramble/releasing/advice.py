"""What would help where the tables of a release will be noise: other promises, tables, columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pramble.data.labels import Label
from pramble.errors import InvalidInput
from pramble.information.accuracy import TableOutcome
from pramble.information.distributions import Table, as_distribution
from pramble.information.structural_zeros import as_possible
from pramble.numbers import points
from pramble.releasing.design import Valuation
from pramble.releasing.distances import asked_of_record, columns_apart
from pramble.releasing.prepare import Prepared
from pramble.releasing.record_design import keeps_whole, rules_of
from pramble.releasing.record_priors import restricted
from pramble.releasing.spec.rules import columns_of
from pramble.releasing.table_design import cost_of
from pramble.solvers.record.design_record import design_record
from pramble.solvers.tables.design_tables import design_tables

QUICK = 2.0
"""Seconds for a plan that might have been."""
LARGER = (1.5, 3.0, 6.0)
"""Times α, or ε, that are tried."""
READERS = 1.0
"""The central ε that is tried beside a local α."""
MOST_WAYS = 3


def advice(job: Prepared, tables: Sequence[TableOutcome]) -> str | None:
    """Say that tables will be noise, and what would do about it, computed for this file.

    None where at most half of those that are wanted are.
    """
    wanted = [table for table in tables if table.wanted]
    noise = [table for table in wanted if table.useless]
    if 2 * len(noise) <= len(wanted):
        return None
    worst = max(noise, key=lambda table: table.half_width / table.typical)
    many = len(wanted) > 1
    which = f"{len(noise)} of the {len(wanted)} wanted tables" if many else "The wanted table"
    ways = [way for way, _ in zip(ways_out(job), range(MOST_WAYS), strict=False)]
    helps = "; ".join(ways) or "nothing that was tried: other promises, fewer tables or columns"
    return (
        f"{which} will be noise: the 95 % interval of a typical cell is wider than the cell (in "
        f"{worst.name} {worst.text} around {points(worst.typical)}). What would help: {helps}."
    )


def ways_out(job: Prepared) -> Iterator[str]:
    """Yield what would leave at most half of the tables as noise, the cheapest first."""
    ground, spec = job.design.valuation(job.rows), job.spec
    names = list(ground.labels)
    if spec.design == "columns":
        yield from told('design = "records", at the same α', *noise_of(job, ground, ground.wanted))
    if any(column.distance is not None for column in spec.columns):
        found = noise_of(job, ground, ground.wanted, by_distance=False)
        yield from told("no distance: the same α for any two values", *found)
    symbol = "α" if spec.central is None else "ε"
    for times in LARGER:
        found = noise_of(job, ground, ground.wanted, times=times)
        if 2 * found[0] <= found[1]:
            yield from told(f"{symbol} = {times * spec.limit.shown:.4g}", *found)
            break
    if spec.central is None and not job.untouched:
        found = noise_of(job, ground, ground.wanted, central=(READERS, spec.delta))
        yield from told(f"a promise against readers alone, --central {READERS:g}", *found)
    if any(len(table) > 1 for table in ground.wanted):
        found = noise_of(job, ground, [(name,) for name in names])
        yield from told("single columns wanted, tables = 1", *found)
    fewer = sorted(names, key=lambda name: len(ground.labels[name]))[: max(len(names) // 2, 1)]
    if len(fewer) < len(names):
        kept = [name for name in names if name in fewer]
        among = [table for table in ground.wanted if set(table) <= set(kept)]
        found = noise_of(job, ground, among or [(name,) for name in kept])
        yield from told(f"{', '.join(kept)} alone", *found)


def told(way: str, noise: int, tables: int) -> Iterator[str]:
    """Yield a way out with what it leaves, if that is enough."""
    if 2 * noise <= tables:
        yield f"{way} (noise: {noise} of {tables})"


def promised(
    job: Prepared,
    labels: Mapping[str, Sequence[Label]],
    *,
    times: float,
    by_distance: bool,
) -> dict[str, Any]:
    """Return what a release of records promises, times a number, in the words of design_record."""
    spec = job.spec
    whole = keeps_whole(spec, labels)
    if spec.central is not None:
        return {
            "central": (times * spec.central, spec.delta),
            "rows": max(job.rows, 1),
            "rows_per_person": job.design.spent.rows,
            "whole": True,
        }
    alpha = times * spec.limit.shown / job.design.spent.rows
    columns = [column for column in spec.columns if column.name in labels]
    apart = columns_apart(columns, labels, alpha) if by_distance else {}
    return {**asked_of_record(apart, alpha), "whole": whole}


def noise_of(
    job: Prepared,
    ground: Valuation,
    wanted: Sequence[Table],
    *,
    times: float = 1.0,
    central: tuple[float, float] | None = None,
    by_distance: bool = True,
) -> tuple[int, int]:
    """Return how many tables would be noise under a quick plan, and how many there are."""
    names = {name for table in wanted for name in table}
    labels = {name: own for name, own in ground.labels.items() if name in names}
    if central is None and job.spec.of_tables:
        central = job.spec.limit.shown, job.spec.delta
    if central is not None:
        central = times * central[0], central[1]
        return noise_of_tables(
            labels, wanted, central, rows=ground.rows, people=job.design.spent.rows
        )
    rules = [r for r in rules_of(job.spec) or [] if columns_of(r) <= names]
    possible = as_possible(rules or None, labels)
    sizes = {name: len(own) for name, own in labels.items()}
    law = as_distribution(restricted({t: ground.law.margin(t) for t in wanted}, possible), sizes)
    own = Valuation(labels, law, possible, tuple(wanted), ground.rows)
    try:
        found = design_record(
            labels,
            prior={table: law.margin(table) for table in wanted},
            possible=possible,
            tables=wanted,
            effort=QUICK,
            **promised(job, labels, times=times, by_distance=by_distance),
        )
    except InvalidInput:
        return len(wanted), len(wanted)
    shown = own.outcomes(own.costs(found.plan, wanted))
    return sum(table.useless for table in shown), len(shown)


def noise_of_tables(
    labels: Mapping[str, Sequence[Label]],
    wanted: Sequence[Table],
    central: tuple[float, float],
    *,
    rows: int,
    people: int,
) -> tuple[int, int]:
    try:
        plan = design_tables(labels, *central, tables=list(wanted), rows_per_person=people).plan
    except InvalidInput:
        return len(wanted), len(wanted)
    shown = [TableOutcome(t, plan.cells(t), cost_of(plan, t, rows=rows), rows) for t in wanted]
    return sum(table.useless for table in shown), len(shown)
