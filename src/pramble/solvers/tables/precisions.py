"""Precisions that are proven to keep a promise: few digits, the same on every machine."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pramble.information.distributions import Table
from pramble.privacy.guarantee import float_below
from pramble.privacy.table_privacy import presence, shift_of
from pramble.solvers.tables.least_noise import TableProblem
from pramble.values import Floats

DIGITS = 24
"""Binary digits of a precision: rounding costs less than one part in ten million of the noise."""


def rounded_down(precision: float) -> float:
    """Return a precision with few digits, not above this one: the same on every machine.

    The last digits of the answer to a convex programme differ between processors; noise follows
    from the plan, and would differ with them.

    >>> rounded_down(0.1) <= 0.1, 0.1 - rounded_down(0.1) < 1e-8
    (True, True)
    """
    digits, exponent = math.frexp(precision)
    return math.ldexp(math.floor(digits * 2**DIGITS), exponent - DIGITS)


def settled(
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
    ordered = {part: by_part[part] for part in sorted(by_part, key=part_order(problem))}
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


def part_order(problem: TableProblem) -> Any:
    """Return the key by which parts are sorted: small ones first, as columns stand."""
    place = {name: i for i, name in enumerate(problem.labels)}
    return lambda part: (len(part), [place[name] for name in part])
