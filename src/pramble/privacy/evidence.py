r"""What is known of a shuffled plan: every bound from above, and attacks from below.

**The record of a plan.** The coin that picks a branch is public, so the output of a record is
(branch, values), its matrix :math:`[w_1 M_1, w_2 M_2, …]`, and the blanket's weight
:math:`\sum_b w_b \gamma_b`. A reader of the file tells branches by their columns: two branches of
the same columns look alike to him, which the bounds from above may ignore and an attack may not.

**What was spent in addition** without a δ, as on a private prior, has at worst the loss of
randomised response, +c with the chance :math:`p = e^c/(1 + e^c)` and −c otherwise. Together with a
file it has :math:`\delta(\varepsilon) = p\,\delta_1(\varepsilon - c) +
(1 - p)\,\delta_1(\varepsilon + c) \le \delta_1(\varepsilon - c)`: to add c to the ε of the file
costs at most a factor of two in δ.

**One pair in one crowd, exactly.** If every other record is w, the released rows are n draws of
which one is from :math:`M_x` or :math:`M_{x'}`, the others from :math:`M_w`, in random order. The
best event then has exactly

.. math:: \frac1n\, E\Big[\sum_{i \le n} \frac{M_{xZ_i} - e^\varepsilon M_{x'Z_i}}{M_{wZ_i}}\Big]_+
          + \sum_{z: M_{wz} = 0} (M_{xz} - e^\varepsilon M_{x'z})_+,
          \qquad Z_i \sim M_w,

by the argument of the blanket with nothing told beside. Whatever is below it is no δ for ε. The
reader may also look at some of the output only, which gives a smaller δ.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.mechanisms.uniform import UniformRows
from pramble.privacy.blanket import (
    ALIKE,
    MOST_COLUMNS,
    MOST_ROWS,
    Corners,
    Crowd,
    blanket_delta,
    blanket_epsilon,
    corner_delta,
    corners_of,
    crowd_of,
    merge_proportional,
)
from pramble.privacy.certificate import certify
from pramble.privacy.hockey_stick import (
    UNIT,
    Curve,
    Summand,
    excess_below,
    rounding,
    smallest_epsilon,
)
from pramble.values import Floats, frozen

# Crowds that are tried, both ways round.
TRIED = 3
# Outputs seen together, and how many releases they come from: each rounds twice.
MOST_OUTPUTS = 4096
MOST_SEEN = 12


@frozen(eq=False)
class Attack:
    """Rows x and x' against a crowd of w, as probabilities of the outputs that are looked at."""

    x: Floats
    other: Floats
    crowd: Floats

    def delta(self, epsilon: float, *, rows: int) -> float:
        """Return a δ below which no mechanism of these rows stays at ε."""
        factor = math.exp(epsilon) * (1 + 4 * UNIT)
        seen = self.crowd > 0
        x, other = self.x[seen] / self.crowd[seen], self.other[seen] / self.crowd[seen]
        largest = max(float(x.max(initial=0.0)), float(other.max(initial=0.0)))
        summand = Summand(x - factor * other, self.crowd[seen], rounding(largest, factor))
        alone = np.maximum(self.x[~seen] - factor * self.other[~seen], 0).sum()
        sure = float(alone) - 64 * UNIT * int((~seen).sum()) * (1 + factor)
        return excess_below(summand, rows) + max(sure, 0.0)

    def power(self) -> float:
        """Return how far the two rows are apart in this crowd (a guide)."""
        seen = self.crowd > 0
        squared = (self.x - self.other) ** 2
        return float((squared[seen] / self.crowd[seen]).sum()) + 1e6 * float(squared[~seen].sum())


def attacks_on(masses: Floats) -> list[Attack]:
    """Return the most promising attacks among rows of probabilities, both ways round."""
    made: list[Attack] = []
    for w, crowd in enumerate(masses):
        # An output that w never has gives a record away: it counts as nearly impossible.
        scaled = masses / np.sqrt(np.where(crowd > 0, crowd, 1e-6))
        squares = (scaled**2).sum(axis=1)
        squared = squares[:, None] + squares - 2 * scaled @ scaled.T
        x, y = np.unravel_index(int(squared.argmax()), squared.shape)
        made += [Attack(masses[x], masses[y], masses[w]), Attack(masses[y], masses[x], masses[w])]
    return sorted(made, key=Attack.power, reverse=True)[: 2 * TRIED]


def attacks_together(seen_rows: Sequence[Floats]) -> list[Attack]:
    """Return attacks on independent outputs seen together, as many of them as fit.

    Outputs whose two ratios to the crowd agree to nine digits are not told apart, which the reader
    is free to do. Each of at most twelve outputs rounds twice.
    """
    rows = np.ones((3, 1))
    for masses in seen_rows[:MOST_SEEN]:
        best = attacks_on(masses)[0]
        part = np.stack([best.x, best.other, best.crowd])
        grown = merge_alike(np.einsum("ij,ik->ijk", rows, part).reshape(3, -1))
        if grown.shape[1] > MOST_OUTPUTS:
            break
        rows = grown
    return [Attack(rows[0], rows[1], rows[2]), Attack(rows[1], rows[0], rows[2])]


def merge_alike(rows: Floats) -> Floats:
    """Return three rows with the columns added up that are proportional to nine digits."""
    shares = np.round(rows / rows.sum(axis=0), 9)
    _, kind = np.unique(shares, axis=1, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(kind.ravel()))[:-1]
    return np.array([[math.fsum(part) for part in np.split(row[order], ends)] for row in rows])


# Rows of a large matrix that are looked at beside those of its largest ratio.
MORE_ROWS = 6


def plan_crowd(plan: Plan) -> Crowd | None:
    """Return the crowd of a record, the branches side by side; None where it is too large."""
    channel = plan.channel()
    if not plan.is_split:
        return crowd_of(channel.views[0].mechanisms)
    outputs = sum(math.prod(m.shape[1] for m in view.mechanisms) for view in channel.views)
    if channel.size > MOST_ROWS or outputs > MOST_COLUMNS:
        return None
    places = {seen: seen.place(channel.cells) for seen in channel.blocks_seen}
    known = np.all([own >= 0 for own in places.values()], axis=0)  # cells that all blocks have
    branches = []
    for view in channel.views:
        rows = np.full((int(known.sum()), 1), float(view.share))
        for seen in view.seen:
            own = seen.mechanism.matrix[places[seen][known]]
            rows = np.einsum("ri,rj->rij", rows, own).reshape(len(rows), -1)
        branches.append(rows)
    masses = np.concatenate(branches, axis=1)
    return Crowd(masses, masses.min(axis=0))


def visible_rows(plan: Plan, crowd: Crowd | None) -> list[Floats]:
    """Return rows of probabilities of what a reader may look at: all, or one branch at a time."""
    views = plan.channel().views
    sets = Counter(frozenset(view.columns) for view in views)
    if crowd is not None and len(sets) == len(views):
        return [crowd.masses]
    found = []
    for view in views:
        if sets[frozenset(view.columns)] == 1 and view.columns:
            one = attacks_together([few_rows(factor) for factor in view.mechanisms])[0]
            rows = float(view.share) * np.stack([one.x, one.other, one.crowd])
            if view.share < 1:  # one more output: another branch
                rows = np.column_stack([rows, np.full(len(rows), float(1 - view.share))])
            found.append(rows)
    return found


def few_rows(mechanism: Mechanism) -> Floats:
    """Return some rows of a mechanism that are far apart, columns merged that tell the same."""
    crowd = crowd_of([mechanism])
    if crowd is not None:
        return crowd.masses
    if isinstance(mechanism, UniformRows):
        chosen = np.argsort(mechanism.off, kind="stable")[:ALIKE]
        off = mechanism.off[chosen]
        masses = np.repeat(off[:, None], len(chosen) + 1, axis=1)
        np.fill_diagonal(masses, mechanism.keep[chosen])
        masses[:, -1] = off * (len(mechanism.off) - len(chosen))
        return np.asarray(masses / TOTAL)
    ratio, S = mechanism.largest_ratio(), mechanism.shape[0]
    more = np.linspace(0, S - 1, MORE_ROWS).astype(int).tolist()
    rows = np.stack([mechanism.row(x) for x in dict.fromkeys([ratio.x, ratio.x_prime, *more])])
    return np.asarray(merge_proportional(rows) / TOTAL)


# Searches end here: no promise that large protects anybody.
LARGEST_EPSILON = 40.0


@frozen(eq=False, repr=False)
class ShuffleEvidence:
    """What is known of one file in random order: bounds from above, and attacks from below.

    - ``local``: The local α of its plan, rounded up.
    - ``additional``: What was spent on a record in addition, without a δ.
    - ``attacks``: On rows that a reader may look at.
    - ``crowd``: The matrix of a record, if it is small enough.
    - ``corners``: Largest ratios and the blanket's weights, branch by branch.
    """

    local: float
    rows: int
    additional: float
    attacks: list[Attack]
    crowd: Crowd | None
    corners: tuple[Corners, ...] | None

    @property
    def alpha(self) -> float:
        """The local α of all together; it is an ε by itself, with δ = 0."""
        if not self.additional:
            return self.local
        return math.nextafter(self.local + self.additional, math.inf)

    @property
    def most(self) -> float:
        """The largest ε of the file alone that is searched."""
        return min(self.local, LARGEST_EPSILON)

    def delta(self, epsilon: float) -> tuple[float, str]:
        """Return the smallest proven δ at ε, and which bound it is."""
        if epsilon >= self.alpha:
            return 0.0, "local"
        if not self.additional:
            return self._delta_of_file(epsilon)
        low = math.nextafter(epsilon - self.additional, -math.inf)
        high = math.nextafter(epsilon + self.additional, 0.0)
        if low <= 0:
            return 1.0, "none"
        more, method = self._delta_of_file(low)
        less, _ = self._delta_of_file(high)
        chance = 1 / (1 + math.exp(-self.additional)) * (1 + 8 * UNIT)
        return min((chance * more + (1 - chance) * less) * (1 + 8 * UNIT), more), method

    def _delta_of_file(self, epsilon: float) -> tuple[float, str]:
        if epsilon >= self.local:
            return 0.0, "local"
        found = [(1.0, "none")]
        if self.crowd is not None:
            found.append((blanket_delta(self.crowd, epsilon, rows=self.rows), "blanket"))
        elif self.corners is not None:
            found.append((corner_delta(self.corners, epsilon, rows=self.rows), "corners"))
        return min(found)

    def epsilon(self, allowed: Curve) -> tuple[float, str]:
        """Return the smallest ε whose δ is proven to be allowed, and which bound it is."""
        if not self.additional:
            return self._epsilon_of_file(allowed)
        own, method = self._epsilon_of_file(lambda one: allowed(one + self.additional))
        added = math.nextafter(own + self.additional, math.inf), method
        return min((self.alpha, "local"), added)

    def _epsilon_of_file(self, allowed: Curve) -> tuple[float, str]:
        found, corners = [(self.local, "local")], self.corners
        if allowed(self.most) <= 0:
            return found[0]
        if self.crowd is not None:
            least = blanket_epsilon(self.crowd, allowed, rows=self.rows, most=self.most)
            found.append((least, "blanket"))
        elif corners is not None:
            least = smallest_epsilon(
                lambda epsilon: corner_delta(corners, epsilon, rows=self.rows) <= allowed(epsilon),
                low=0.0,
                high=self.most,
            )
            found.append((least, "corners"))
        return min(found)

    def attack(self, epsilon: float) -> float:
        """Return a δ that no proof at ε can go below."""
        return max((one.delta(epsilon, rows=self.rows) for one in self.attacks), default=0.0)

    def lower(self, delta: float, *, proven: float) -> float:
        """Return an ε below which an attack does better than δ."""
        high = min(proven, self.alpha, LARGEST_EPSILON)
        if high <= 0 or not self.attacks:
            return 0.0
        # Which attack is best is decided once: any attack gives a valid bound, at every ε.
        best = max(self.attacks, key=lambda one: one.delta(0.9 * high, rows=self.rows))
        if best.delta(high, rows=self.rows) > delta:
            return high
        above = smallest_epsilon(
            lambda epsilon: best.delta(epsilon, rows=self.rows) <= delta, low=0.0, high=high
        )
        below = above * (1 - 2e-4)  # the search ends within 1e-4 above the least
        return below if below > 0 and best.delta(below, rows=self.rows) > delta else 0.0


def evidence_of(given: Any, *, rows: int, additional: float = 0.0) -> ShuffleEvidence:
    """Return what is known of a mechanism or a plan that leaves no column untouched."""
    plan = fully_randomised_plan(given)
    crowd = plan_crowd(plan)
    if crowd is not None and len(crowd.masses) < 2:
        crowd = None
    attacks = [attack for masses in visible_rows(plan, crowd) for attack in attacks_on(masses)]
    attacks = sorted(attacks, key=Attack.power, reverse=True)[:6]
    corners = [corners_of(view.mechanisms, view.share) for view in plan.channel().views]
    finite = tuple(own for own in corners if own is not None)
    known = finite if len(finite) == len(corners) else None
    return ShuffleEvidence(certify(plan).alpha, rows, additional, attacks, crowd, known)


def fully_randomised_plan(given: Any) -> Plan:
    """Return a plan from one, from a mapping or from a mechanism; refuse untouched columns."""
    if isinstance(given, Mechanism):
        return Plan({"record": given})
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"A central guarantee is of a mechanism or a plan; found {type(given).__name__}."
        )
    untouched = [] if isinstance(given, Plan) else [k for k, m in given.items() if m is None]
    if untouched:
        raise PrivacyError(
            f"Column {untouched[0]!r} is released as it is, so the file has no central guarantee: "
            "every released column must be randomised or blank."
        )
    return as_plan(given)
