r"""How often draws kept a cell, beside how often they should have.

Refusing a release for what it says of the confidential values conditions its law on them, which α
does not cover. So only a deviation is refused that no sound engine will ever show: of n independent
events with summed variance :math:`\sigma^2`, Bernstein's inequality gives
:math:`P(|D| > t) \le 2e^{-L}` for :math:`t = L/3 + \sqrt{L^2/9 + 2L\sigma^2}`, below
:math:`2^{-128}` at :math:`L = 90`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pramble.data.encode import Codes
from pramble.data.labels import Labels, label_keys
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.outcome import Check
from pramble.values import Integers
from pramble.words import several

NEVER = 90.0
"""A sound release fails a check with probability at most 2·exp(−NEVER)."""


def same_places(labels: Labels, among: Labels) -> Integers | None:
    """Return where each label stands among others, −1 if nowhere; None where they are the same.

    >>> same_places(Labels(("a", "b")), Labels(("b", "c"))).tolist()
    [-1, 0]
    """
    if labels is among or labels == among:
        return None
    known = {key: place for place, key in enumerate(label_keys(among.values))}
    return np.array([known.get(key, -1) for key in label_keys(labels.values)], dtype=np.int64)


def kept(x: Codes, z: Codes, places: Integers | None) -> int:
    """Return how many codes stand for the same label as before."""
    return int(((x if places is None else places[x]) == z).sum())


class Draws:
    """Counts the draws of one mechanism, by the true cell: whole numbers, so sums are exact."""

    def __init__(self, name: str, mechanism: Mechanism) -> None:
        self.name = name
        self.places = same_places(mechanism.labels, mechanism.output_labels)
        self.stay = mechanism.operator.stay()
        self.spread = self.stay * (1 - self.stay)
        self.counts = np.zeros(len(self.stay), dtype=np.int64)
        self.kept = 0

    def add(self, x: Codes, z: Codes) -> None:
        """Add the codes of some rows before and after."""
        self.counts += np.bincount(x, minlength=len(self.counts))
        self.kept += kept(x, z, self.places)

    def merge(self, later: "Draws") -> None:
        """Add what another one counted."""
        self.counts += later.counts
        self.kept += later.kept

    @property
    def rows(self) -> int:
        """How many draws there were."""
        return int(self.counts.sum())

    @property
    def expected(self) -> float:
        """How many of them should have kept their cell."""
        return float(self.stay @ self.counts)

    @property
    def variance(self) -> float:
        """The variance of that number."""
        return float(self.spread @ self.counts)


def change_check(name: str, draws: Sequence[Draws]) -> Check:
    r"""Compare the number of changed cells with :math:`\sum_i (1 - M_{x_i x_i})`."""
    rows = max(sum(one.rows for one in draws), 1)
    changed = rows - sum(one.kept for one in draws)
    expected = rows - sum(one.expected for one in draws)
    spread = math.sqrt(sum(one.variance for one in draws))
    return Check(
        f"rate of change {name}",
        passed=abs(changed - expected) <= allowed(spread),
        detail=f"{changed / rows:.4%} of the values changed; {expected / rows:.4%} expected, "
        f"standard deviation {spread / rows:.4%}.",
    )


def branch_check(plan: Plan, draws: Mapping[tuple[str, ...], Draws], *, rows: int) -> Check:
    """Compare how many records each branch got with its share."""
    found = dict.fromkeys(range(len(plan.branches)), 0)
    found |= {int(path[1]): one.rows for path, one in draws.items()}
    off = []
    for number, branch in enumerate(plan.branches):
        share = float(branch.share)
        spread = math.sqrt(rows * share * (1 - share))
        if abs(found[number] - rows * share) > allowed(spread):
            off.append(f"{found[number]} of {rows} records, where {share:.4%} were meant")
    return Check(
        "records of each branch",
        passed=not off,
        detail=f"{several(len(plan.branches), 'branch')}, as often as they should be drawn."
        if not off
        else f"A branch has {off[0]}.",
    )


def allowed(spread: float) -> float:
    """Return the deviation that a sum of this standard deviation never exceeds."""
    return NEVER / 3 + math.hypot(NEVER / 3, math.sqrt(2 * NEVER) * spread)
