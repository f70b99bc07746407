r"""How tables are chosen from the file itself, at a price that the promise includes.

All pairs are measured twice. The first measurement serves a choice: every candidate table gets a
score, the distance between its counts and what the noisy pairs imply of them, with noise. The pairs
are then measured again, with the chosen tables, and of the pairs only a mean of both measurements
is published. `pramble.engine.table_noise` measures; what it may spend is stated here.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pramble.errors import InvalidPlan
from pramble.values import value

Columns = tuple[str, ...]

# The first measurement of a pair is weighted by a multiple of one over this. The nearest multiple
# to the best weight costs less than one part in 10^8 of the variance.
SHARES = 1 << 16

FIELDS = {"mu_squared", "candidates", "score_precision", "first"}


@value(eq=False)
class TableChoice:
    """Which tables may be chosen, and how much of the promise the choice takes.

    Attributes
    ----------
    mu_squared : float
        What everything together may spend on a person, whichever tables are chosen: the square of
        the parameter of Gaussian differential privacy.
    candidates : tuple of tuples of columns
        The tables that may be chosen, if they are worth their noise.
    score_precision : float
        One over the variance of the noise in the score of each candidate, in records.
    first : mapping from tuple of columns to float
        The precision of the first measurement of every part of all pairs.
    """

    mu_squared: float
    candidates: tuple[Columns, ...]
    score_precision: float
    first: Mapping[Columns, float]

    @property
    def scores_squared(self) -> Fraction:
        """What the scores spend on a person with one row: each moves by at most two records."""
        return 4 * len(self.candidates) * Fraction(self.score_precision)

    def weight(self, part: Columns, precision: float) -> int:
        """Return the weight of the first measurement of a part in the published one."""
        return round(SHARES * Fraction(self.first[part]) / Fraction(precision))

    def to_json(self) -> dict[str, Any]:
        return {
            "mu_squared": self.mu_squared,
            "candidates": [list(table) for table in self.candidates],
            "score_precision": self.score_precision,
            "first": [{"columns": list(part), "value": own} for part, own in self.first.items()],
        }

    def check(self, labels: Mapping[str, Any], precision: Mapping[Columns, float]) -> None:
        numbers = (self.mu_squared, self.score_precision, *self.first.values())
        if not all(type(own) is float and 0 < own < float("inf") for own in numbers):
            raise InvalidPlan("What a choice of tables spends are positive numbers.")
        order = {name: i for i, name in enumerate(labels)}
        tables = [table for table in self.candidates if len(table) > 2 and set(table) <= set(order)]
        in_order = all(list(t) == sorted(t, key=order.__getitem__) for t in tables)
        unique = len(set(tables)) == len(self.candidates) > 0
        if not in_order or not unique or any(len(set(table)) != len(table) for table in tables):
            raise InvalidPlan(
                "Candidates are tables of three or more columns, in order, each once."
            )
        pairs = {part for part in precision if 0 < len(part) <= 2}
        if set(self.first) != pairs or any(self.first[p] >= precision[p] for p in pairs):
            raise InvalidPlan("A choice measures every part of all pairs, and less than the plan.")
