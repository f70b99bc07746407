"""What would help where the tables of a release will be noise: other promises, tables, columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pramble.data.labels import Label
from pramble.errors import InvalidInput
from pramble.information.accuracy import TableOutcome
from pramble.information.distributions import Table, as_distribution
from pramble.information.structural_zeros import as_possible
from pramble.numbers import points
from pramble.releasing.design import Valuation, rules_of
from pramble.releasing.distances import column_metrics, promise_keywords
from pramble.releasing.prepare import Prepared
from pramble.releasing.priors import restricted
from pramble.releasing.record_design import needs_whole_records
from pramble.releasing.spec.rules import rule_columns
from pramble.releasing.table_design import protected_outcome
from pramble.solvers.record.design_record import design_record
from pramble.solvers.tables.design_tables import design_tables

# Effort for a plan that might have been: it says how many tables would be noise, no more.
QUICK = 2.0
# Times α, or ε, that are tried, and the central ε in place of a local α.
LARGER, READERS = (1.5, 3.0, 6.0), 1.0
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
        yield from if_enough(
            'design = "records", at the same α', *count_noise(job, ground, ground.wanted)
        )
    if any(column.distance is not None for column in spec.columns):
        found = count_noise(job, ground, ground.wanted, by_distance=False)
        yield from if_enough("no distance: the same α for any two values", *found)
    symbol = "α" if spec.central is None else "ε"
    for times in LARGER:
        found = count_noise(job, ground, ground.wanted, times=times)
        if 2 * found[0] <= found[1]:
            yield from if_enough(f"{symbol} = {times * spec.limit.shown:.4g}", *found)
            break
    if spec.central is None and not job.untouched:
        found = count_noise(job, ground, ground.wanted, central=(READERS, spec.delta))
        yield from if_enough(f"a promise against readers alone, --central {READERS:g}", *found)
    if any(len(table) > 1 for table in ground.wanted):
        found = count_noise(job, ground, [(name,) for name in names])
        yield from if_enough("single columns wanted, tables = 1", *found)
    fewer = sorted(names, key=lambda name: len(ground.labels[name]))[: max(len(names) // 2, 1)]
    if len(fewer) < len(names):
        selected = [name for name in names if name in fewer]
        among = [table for table in ground.wanted if set(table) <= set(selected)]
        found = count_noise(job, ground, among or [(name,) for name in selected])
        yield from if_enough(f"{', '.join(selected)} alone", *found)


def if_enough(way: str, noise: int, tables: int) -> Iterator[str]:
    """Yield a way out with what it leaves, if that is enough."""
    if 2 * noise <= tables:
        yield f"{way} (noise: {noise} of {tables})"


def promise_times(
    job: Prepared,
    labels: Mapping[str, Sequence[Label]],
    *,
    times: float,
    by_distance: bool,
) -> dict[str, Any]:
    """Return what a release of records promises, times a number, as keywords of design_record."""
    spec = job.spec
    whole = needs_whole_records(spec, labels)
    if spec.central is not None:
        return {
            "central": (times * spec.central, spec.delta),
            "rows": max(job.rows, 1),
            "rows_per_person": job.design.spent.rows,
            "whole": True,
        }
    alpha = times * spec.limit.shown / job.design.spent.rows
    columns = [column for column in spec.columns if column.name in labels]
    metrics = column_metrics(columns, labels, alpha) if by_distance else {}
    return {**promise_keywords(metrics, alpha), "whole": whole}


def count_noise(
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
        return count_noise_of_tables(
            labels, wanted, central, rows=ground.rows, people=job.design.spent.rows
        )
    rules = [r for r in rules_of(job.spec) or [] if rule_columns(r) <= names]
    possible = as_possible(rules or None, labels)
    sizes = {name: len(own) for name, own in labels.items()}
    margins = {t: ground.distribution.margin(t) for t in wanted}
    distribution = as_distribution(restricted(margins, possible), sizes)
    own = Valuation(labels, distribution, possible, tuple(wanted), ground.rows)
    try:
        found = design_record(
            labels,
            prior={table: distribution.margin(table) for table in wanted},
            possible=possible,
            tables=wanted,
            effort=QUICK,
            **promise_times(job, labels, times=times, by_distance=by_distance),
        )
    except InvalidInput:
        return len(wanted), len(wanted)
    shown = own.outcomes(own.costs(found.plan, wanted))
    return sum(table.useless for table in shown), len(shown)


def count_noise_of_tables(
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
    shown = [protected_outcome(plan, table, rows=rows) for table in wanted]
    return sum(table.useless for table in shown), len(shown)
