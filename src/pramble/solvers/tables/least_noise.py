r"""What noise in the parts of tables costs, and what it may spend.

The noise in all cells of the wanted tables, each table with its weight, is
:math:`\sum_A c_A / u_A` with

.. math:: c_A = \sum_{T \supseteq A} w_T \prod_{j \in A}(n_j - 1) \prod_{j \in T \setminus A}
          \frac{1}{n_j} .

The precisions with the least noise that keep a promise, and a bound that proves it.

.. math:: \min_u \sum_A \frac{c_A}{u_A} \quad\text{s.t.}\quad \sum_A g_A(s)\, u_A \le \mu^2
          \text{ for every pattern } s ,

with the dual

.. math:: \max_{\lambda \in \Delta} \Big(\sum_A \sqrt{c_A (G^\top\lambda)_A}\Big)^2 / \mu^2 .

Where the noisiest table counts, let :math:`C_{TA}` be the variance that one unit of noise in the
part A gives a cell of the table T. For any weights :math:`\omega` of the tables that sum to one the
weighted mean of their variances is at most the largest, so that the maximum of the dual over both
mixtures, with :math:`c = C^\top\omega`, is the bound. It is concave in both together.

Patterns are generated: the dual is solved over a few of them by Newton's method with a barrier, the
pattern that the answer breaks most is added, until none is broken. Every λ proves a bound.

Where one person may have several rows the total is measured, too: it is one more part, and one
record in the place of none is one more pattern, which moves every part by
:math:`\prod_{j \in A} b_j`.

Precisions that are proven to keep a promise: few digits, the same on every machine.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import InvalidInput
from pramble.information.distributions import Table, as_tables
from pramble.limits import MOST_MEASURED_CELLS
from pramble.mechanisms.table_plan import parts_within, subsets
from pramble.privacy.gaussian import float_below
from pramble.privacy.largest_shift import (
    MOST_PATTERNS,
    Exchangeable,
    eliminated,
    elimination_order,
    exchangeable,
    flipped,
    one_by_one,
    refuse_uncertifiable,
    starts_of,
)
from pramble.privacy.table_privacy import presence, shift_of
from pramble.solvers.record.problem import as_columns
from pramble.values import Floats, Reporter, frozen

Objective = Literal["variance", "relative", "largest"]
OBJECTIVES = ("variance", "relative", "largest")


@frozen(eq=False)
class TableProblem:
    """Which tables are wanted of which columns, and how much each matters."""

    labels: Mapping[str, Labels]
    tables: tuple[Table, ...]
    weights: Floats  # importance, times the cells where relative errors count
    parts: Exchangeable  # every set of columns within some table, by kind
    costs: Floats  # c of all parts of each kind together

    @cached_property
    def sizes(self) -> Mapping[str, int]:
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
    cells = [math.prod(sizes[name] for name in table) for table in wanted]
    if sum(cells) > MOST_MEASURED_CELLS:
        largest = cells.index(max(cells))
        raise InvalidInput(
            f"The wanted tables have {sum(cells):,} cells, of which "
            f"{' × '.join(wanted[largest])} has {cells[largest]:,}; at most "
            f"{MOST_MEASURED_CELLS:,} can be measured. Want fewer or smaller tables, or merge "
            "categories."
        )
    matters = importances(importance, wanted)
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


def part_costs(
    tables: Sequence[Table], weights: Floats, sizes: Mapping[str, int]
) -> dict[Table, float]:
    """Return c of every part."""
    found: dict[Table, list[float]] = {part: [] for part in parts_within(tables)}
    for table, weight in zip(tables, weights.tolist(), strict=True):
        for part in subsets(table):
            if part:
                inside = math.prod(sizes[name] - 1 for name in part)
                beside = math.prod(sizes[name] for name in table if name not in part)
                found[part].append(weight * inside / beside)
    return {part: math.fsum(own) for part, own in found.items()}


# Patterns may be broken by this share; the precisions are scaled down at the end.
CLOSE = 1e-5

# A pattern whose shift is smaller than the largest by this share is forgotten.
SLACK = 0.1

# Bounds are lowered by more than their rounding.
SAFE = 1 - 1e-12

ROUNDS = 400
BARRIERS = (1e-1, 1e-3, 1e-5, 1e-7)
# Newton's steps for each barrier, and the relative step at which the next one is taken.
NEWTON_STEPS, NEARLY = 60, 0.01


@frozen(eq=False)
class LeastNoise:
    """Precisions of all kinds of parts, their cost, and what none can go below, at μ² = 1."""

    precision: Floats
    value: float
    bound: float


class PatternPool:
    """The patterns that were generated so far, and the mixture of them that was best last."""

    def __init__(self, parts: Exchangeable, *, has_total: bool = False) -> None:
        self.parts, self.has_total = parts, has_total
        # every start, and what moves parts that those do not move
        found = starts_of(parts)
        moved = np.max([parts.gains(pattern) for pattern in found], axis=0)
        for kind in parts.kinds[moved <= CLOSE * parts.gains_at_none]:
            place = int(np.flatnonzero(kind)[0])
            found.append([int(i == place) for i in range(len(parts.grid))])
        unique = {tuple(pattern): pattern for pattern in found if any(pattern)}
        self.patterns = list(unique.values())
        self.gains = self.rows(self.patterns)
        if has_total:
            self.gains = np.vstack([np.append(parts.gains_at_none, 1.0), self.gains])
        self.mixture = np.full(len(self.gains), 1 / len(self.gains))
        self.alone = one_by_one(parts, [0.0] * len(parts.kinds))[0]
        self.order = elimination_order(self.alone) if parts.patterns > MOST_PATTERNS else None

    def rows(self, patterns: list[list[int]]) -> Floats:
        """Return the squared shift of every part, a row for each pattern."""
        gains = np.stack([self.parts.gains(pattern) for pattern in patterns])
        return np.pad(gains, ((0, 0), (0, int(self.has_total))))

    def grow(self, found: LeastNoise) -> float:
        """Add patterns that some precisions break; return the largest shift, 1 where none is."""
        parts, u = self.parts, found.precision[: len(self.parts.kinds)]
        candidates = [
            flipped(parts, u, first) for first in (*starts_of(parts), *self.patterns[-8:])
        ]
        new = self.broken(candidates, u) or self.broken(self.largest(u), u)
        if not new:
            return 1.0
        self.forget(found.precision)
        gains = self.rows(new)
        self.patterns = self.patterns + new
        self.gains = np.concatenate([self.gains, gains])
        share = np.full(len(new), 0.1 / len(new))
        self.mixture = np.concatenate([self.mixture / self.mixture.sum() * 0.9, share])
        return float((gains @ found.precision).max())

    def largest(self, u: Floats) -> list[list[int]]:
        """Return patterns with the largest shifts of all, where they can be found."""
        if self.parts.patterns <= MOST_PATTERNS:
            shifts = self.parts.shifts(u)
            best = np.argpartition(shifts.ravel(), -min(4, shifts.size))[-4:]
            return [list(map(int, np.unravel_index(int(i), shifts.shape))) for i in best]
        if self.order is None:
            return []
        weight = dict(zip(self.parts.members, u.tolist(), strict=True))
        by_part = {part: own for members, own in weight.items() for part in members}
        values = [by_part[members[0]] for members in self.alone.members]
        differing = set(self.alone.columns_of(eliminated(self.alone, values, self.order)[1]))
        return [[len(differing.intersection(names)) for names in self.parts.classes]]

    def forget(self, precision: Floats) -> None:
        """Leave out patterns that are far from being the worst."""
        near = self.gains @ precision >= 1 - SLACK
        if self.has_total:
            near[0] = True
        self.gains, self.mixture = self.gains[near], self.mixture[near]
        retained = near[int(self.has_total) :].tolist()
        self.patterns = [own for own, stays in zip(self.patterns, retained, strict=True) if stays]

    def broken(self, patterns: list[list[int]], u: Floats) -> list[list[int]]:
        """Return those patterns, each once, that are not in the pool and whose shift is above 1."""
        found = {
            tuple(pattern): pattern
            for pattern in patterns
            if pattern not in self.patterns and float(self.parts.gains(pattern) @ u) > 1 + CLOSE
        }
        return list(found.values())


def least_noise(
    parts: Exchangeable, costs: Floats, reporter: Reporter, *, has_total: bool = False
) -> LeastNoise:
    """Return the precisions with the least noise at μ² = 1, against every pattern that was found.

    ``costs`` has a row for each noise of which the largest counts, a column for each kind of part.
    That the shift is the largest is proven elsewhere.
    """
    pool, bound = PatternPool(parts, has_total=has_total), 0.0
    shares = np.full(len(costs), 1 / len(costs))
    for _ in range(ROUNDS):
        pool.mixture, shares = best_mixtures(pool.gains, costs, pool.mixture, shares)
        weighted, asked = pool.gains.T @ pool.mixture, costs.T @ shares
        together = float(np.sqrt(asked * weighted).sum())
        # every mixture proves a bound, so the best of all rounds holds
        bound = max(bound, together**2 * SAFE)
        u = np.sqrt(asked / weighted) / together
        u = u / float((pool.gains @ u).max())
        found = LeastNoise(u, float((costs @ (1 / u)).max()), bound)
        largest = pool.grow(found)
        reporter.report("designing tables", 1 / largest)
        if largest == 1.0:
            break
    return LeastNoise(found.precision, found.value, bound)


def best_mixtures(
    gains: Floats, costs: Floats, mixture: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    r"""Return the mixtures of patterns and of tables with the best bound, by Newton's method.

    Maximises :math:`2\sum_A \sqrt{(C^\top\omega)_A (G^\top\lambda)_A} - \sum_s \lambda_s` with a
    barrier for both, where the :math:`\omega_T` sum to one.
    """
    costs = costs / float(np.sqrt((costs.T @ shares) * (gains.T @ mixture)).sum()) ** 2
    ones = np.concatenate([np.zeros(len(mixture)), np.ones(len(shares))])
    point = np.concatenate([mixture / mixture.sum(), shares / shares.sum()])
    cut = len(mixture)
    for barrier in BARRIERS:
        tau = barrier * np.concatenate(
            [np.full(cut, 1 / cut), np.full(len(shares), 1 / len(shares))]
        )
        for _ in range(NEWTON_STEPS):
            b, a = gains.T @ point[:cut], costs.T @ point[cut:]
            roots = np.concatenate([gains @ np.sqrt(a / b), costs @ np.sqrt(b / a)])
            slope = roots + ones - 1 + tau / point
            scaled = np.concatenate([gains / b, -costs / a])
            bend = (scaled * (0.5 * np.sqrt(a * b))) @ scaled.T + np.diag(tau / point**2)
            step, across = np.linalg.solve(bend, np.stack([slope, ones], axis=1)).T
            step = step - across * (float(ones @ step) / float(ones @ across))
            size = min(1.0, 0.9 / max(float((-step / point).max()), 1e-300))
            point = point + size * step
            if float(np.abs(step / point).max()) < NEARLY:
                break
    return point[:cut] / point[:cut].sum(), point[cut:] / point[cut:].sum()


# Binary digits of a precision: rounding costs less than one part in ten million of the noise.
DIGITS = 24


def rounded_down(precision: float) -> float:
    """Return a precision with few digits, not above this one: the same on every machine.

    The last digits of the answer to a convex programme differ between processors; noise follows
    from the plan, and would differ with them.
    """
    digits, exponent = math.frexp(precision)
    return math.ldexp(math.floor(digits * 2**DIGITS), exponent - DIGITS)


def proven_precisions(
    problem: TableProblem,
    precision: Floats,
    limit: Fraction,
    *,
    has_total: bool = False,
    least: Mapping[Table, float] | None = None,
) -> dict[Table, float]:
    """Return the precision of every part, with a largest shift that is proven to be within a limit.

    What one record in the place of none leaves of it goes to the total. Some parts get at ``least``
    so much, which must be little.
    """
    by_part = {
        part: own
        for members, own in zip(problem.parts.members, precision.tolist(), strict=False)
        for part in members
    }
    place = {name: i for i, name in enumerate(problem.labels)}
    order = sorted(by_part, key=lambda part: (len(part), [place[name] for name in part]))
    ordered = {part: by_part[part] for part in order}
    floor = least or {}
    shift = shift_of(problem.sizes, ordered).bound
    scale = float_below(limit / shift)
    for _ in range(100):
        found = {
            part: rounded_down(max(own * scale, floor.get(part, 0.0)))
            for part, own in ordered.items()
        }
        shift = shift_of(problem.sizes, found).bound
        if shift <= limit:
            break
        scale *= float(limit / shift) * (1 - 2.0**-50)
    else:
        raise AssertionError("a scale that is lowered again and again keeps the promise")
    if not has_total:
        return found
    return {(): float_below(shift - presence(problem.sizes, found)), **found}
