r"""What is known of a shuffled plan: every bound from above, and attacks from below.

**The record of a plan.** The coin that picks a branch is public, so the output of a record is
(branch, values), its matrix :math:`[w_1 M_1, w_2 M_2, …]`, and the blanket's weight
:math:`\sum_b w_b \gamma_b`. A reader of the file tells branches by their columns: two branches of
the same columns look alike to him, which the bounds from above may ignore and an attack may not.

**Several rows, from above.** Files that differ in k rows are k steps apart, and if one row has
:math:`(\varepsilon_1, \delta_1)`, k rows have
:math:`(k\varepsilon_1, \delta_1 \sum_{i<k} e^{i\varepsilon_1})` (:ref:`proof <proof-group>`).
Mechanisms with two outputs have their own exact curve.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.base import TOTAL, Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.mechanisms.uniform import UniformRows
from pramble.privacy.attacks import LARGEST_SEEN, Attack, attacks_on, attacks_together
from pramble.privacy.blanket import (
    ALIKE,
    MOST_COLUMNS,
    MOST_ROWS,
    Corners,
    Crowd,
    blanket_delta,
    blanket_epsilon,
    corner_delta,
    corner_epsilon,
    corners_of,
    crowd_of,
    merge_proportional,
)
from pramble.privacy.certificate import certify
from pramble.privacy.hockey_stick import (
    UNIT,
    smallest_epsilon,
)
from pramble.privacy.two_outputs import Tails, TwoOutputs
from pramble.values import Floats, frozen

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

    - ``alpha``: The local α of a record, rounded up.
    - ``rows``, ``people``: Rows of the file, and at most of one person.
    - ``attacks``: On rows that a reader may look at.
    - ``crowd``: The matrix of a record, if it is small enough.
    - ``corners``: Largest ratios and the blanket's weights, branch by branch.
    """

    alpha: float
    rows: int
    people: int
    attacks: list[Attack]
    crowd: Crowd | None
    corners: tuple[Corners, ...] | None

    @property
    def most(self) -> float:
        """The largest ε of one row that is searched."""
        return min(self.alpha, LARGEST_EPSILON)

    @property
    def local(self) -> float:
        """The ε that holds without a δ, rounded up."""
        return (
            self.alpha if self.people == 1 else math.nextafter(self.people * self.alpha, math.inf)
        )

    def two_outputs(self, *, outward: bool = True) -> TwoOutputs | None:
        if self.crowd is None:
            return None
        masses, rows = self.crowd.masses, self.rows
        return TwoOutputs.of(masses, rows=rows, people=self.people, outward=outward)

    def delta(self, epsilon: float) -> tuple[float, str]:
        """Return the smallest proven δ of a person at ε, and which bound it is."""
        if epsilon >= self.local:
            return 0.0, "local"
        one = epsilon if self.people == 1 else math.nextafter(epsilon / self.people, 0.0)
        # no δ but zero is below 1e-300, so that the product is then above 1
        more = min(group_factor(one, self.people), 1e300) * (1 + UNIT)
        found, exact = [(1.0, "none")], self.two_outputs()
        if exact is not None:
            found.append((exact.delta(epsilon), "exact"))
        if self.crowd is not None:
            found.append((blanket_delta(self.crowd, one, rows=self.rows) * more, "blanket"))
        elif self.corners is not None:
            found.append((corner_delta(self.corners, one, rows=self.rows) * more, "corners"))
        return min(found)

    def epsilon(self, delta: float) -> tuple[float, str]:
        """Return the smallest proven ε of a person at δ, and which bound it is."""
        found, exact = [(self.local, "local")], self.two_outputs()
        if delta <= 0:
            return found[0]
        if exact is not None:
            found.append((exact.epsilon(delta), "exact"))

        def allowed(one: float) -> float:
            return delta / group_factor(one, self.people)

        one, method = math.inf, "blanket"
        if self.crowd is not None:
            one = blanket_epsilon(self.crowd, allowed, rows=self.rows, most=self.most)
        elif self.corners is not None:
            method = "corners"
            one = corner_epsilon(self.corners, allowed, rows=self.rows, most=self.most)
        own = one if self.people == 1 else math.nextafter(self.people * one, math.inf)
        return min([*found, (own, method)])

    def attack(self, epsilon: float) -> float:
        """Return a δ of a person that no proof at ε can go below."""
        one = max((attack.delta(epsilon, rows=self.rows) for attack in self.attacks), default=0.0)
        return max([one, *(tails.delta(epsilon, up=False) for tails in self.tails_seen())])

    def tails_seen(self, delta: float = UNIT) -> Iterator[Tails]:
        """Yield tails of counts that a reader of two neighbouring files sees."""
        inward = self.two_outputs(outward=False)
        if self.rows > LARGEST_SEEN:
            return
        if inward is not None:
            others = self.rows - inward.people
            for high in {0, others // 2, others}:
                yield from inward.tails(high, others - high, inward.depth(delta))
        elif 1 < self.people < self.rows:
            for attack in self.attacks[:2]:
                yield attack.tails(rows=self.rows, people=self.people)

    def lower(self, delta: float, *, proven: float) -> float:
        """Return an ε below which an attack on a person does better than δ."""
        high = min(proven, self.local, LARGEST_EPSILON)
        found = max(
            (tails.epsilon(delta, up=False) for tails in self.tails_seen(delta)), default=0.0
        )
        return min(found or self.lower_of_one(delta, high=high), proven)

    def lower_of_one(self, delta: float, *, high: float) -> float:
        """Return an ε below which an attack on one row does better than δ."""
        if high <= 0 or not self.attacks:
            return 0.0
        # Which attack is best is decided once: any attack gives a valid bound, at every ε.
        best = max(self.attacks, key=lambda one: one.delta(0.9 * high, rows=self.rows))
        if best.delta(high, rows=self.rows) > delta:
            return high
        above = smallest_epsilon(
            lambda epsilon: best.delta(epsilon, rows=self.rows) <= delta,
            low=0.0,
            most=high,
            step=high,
        )
        below = above * (1 - 2e-4)  # the search ends within 1e-4 above the least
        return below if below > 0 and best.delta(below, rows=self.rows) > delta else 0.0


def group_factor(epsilon: float, people: int) -> float:
    r"""Return :math:`\sum_{i<k} e^{i\varepsilon}`, rounded up."""
    if people == 1 or not epsilon:
        return float(people)
    if people * epsilon > 700:
        return math.inf
    return math.expm1(people * epsilon) / math.expm1(epsilon) * (1 + 2048 * UNIT)


def evidence_of(given: Any, *, rows: int, people: int = 1) -> ShuffleEvidence:
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
    return ShuffleEvidence(certify(plan).alpha, rows, min(people, rows), attacks, crowd, known)


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
