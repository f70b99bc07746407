"""What is known of a shuffled plan: every bound from above, and attacks from below."""

from abc import ABC, abstractmethod
from dataclasses import replace

from pramble.mechanisms.plan import Plan
from pramble.privacy.certificate import certify
from pramble.privacy.composition import compose  # noqa: F401 (plans are certified by it)
from pramble.privacy.shuffled.attack import Attack, attack_delta, attacks_on
from pramble.privacy.shuffled.branches import looks, plan_corners, plan_crowd
from pramble.privacy.shuffled.crowd import Crowd
from pramble.privacy.shuffled.generic import Corners, closed_delta
from pramble.privacy.shuffled.search import (
    Curve,
    blanket_delta,
    blanket_epsilon,
    corner_delta,
    smallest_epsilon,
)
from pramble.values import value

LARGEST_EPSILON = 40.0


class Evidence(ABC):
    """What is known of a release of so many rows: bounds from above, and attacks from below.

    Attributes
    ----------
    alpha : float
        The local α, rounded up; it is an ε by itself, with δ = 0.
    rows : int
    """

    alpha: float
    rows: int

    @abstractmethod
    def delta(self, epsilon: float) -> tuple[float, str]:
        """Return the smallest proven δ at ε, and which bound it is."""

    @abstractmethod
    def epsilon(self, allowed: Curve) -> tuple[float, str]:
        """Return the smallest ε whose δ is proven to be allowed, and which bound it is."""

    @abstractmethod
    def attack(self, epsilon: float) -> float:
        """Return a δ that no proof at ε can go below."""

    def lower(self, delta: float, *, proven: float) -> float:
        """Return an ε below which an attack does better than δ."""
        high = min(proven, self.alpha, LARGEST_EPSILON)
        if high <= 0:
            return 0.0
        strike = self.best_attack(0.9 * high)
        if strike(high) > delta:
            return high
        above = smallest_epsilon(lambda epsilon: strike(epsilon) <= delta, low=0.0, high=high)
        below = above * (1 - 2e-4)
        return below if below > 0 and strike(below) > delta else 0.0

    def best_attack(self, epsilon: float) -> Curve:
        """Return the attack that is best near an ε, as a function of ε."""
        del epsilon
        return self.attack


@value(eq=False, repr=False)
class PlanEvidence(Evidence):
    """The bounds that are known of one file in random order.

    Attributes
    ----------
    alpha : float
    rows : int
    crowd : Crowd or None
        The matrix of a record, if it is small enough.
    corners : tuple of Corners or None
        Largest ratios and the blanket's weights, branch by branch.
    attacks : list of Attack
    """

    alpha: float
    rows: int
    crowd: Crowd | None
    corners: tuple[Corners, ...] | None
    attacks: list[Attack]

    @property
    def most(self) -> float:
        """The largest ε that is searched."""
        return min(self.alpha, LARGEST_EPSILON)

    def delta(self, epsilon: float) -> tuple[float, str]:
        """Return the smallest proven δ at ε, and which bound it is."""
        if epsilon >= self.alpha:
            return 0.0, "local"
        found = [(1.0, "none"), (closed_delta(self.alpha, self.rows, epsilon), "closed form")]
        if self.crowd is not None:
            found.append((blanket_delta(self.crowd, epsilon, rows=self.rows), "blanket"))
        elif self.corners is not None:
            found.append((corner_delta(self.corners, epsilon, rows=self.rows), "corners"))
        return min(found)

    def epsilon(self, allowed: Curve) -> tuple[float, str]:
        """Return the smallest ε whose δ is proven to be allowed, and which bound it is."""
        found = [(self.alpha, "local")]
        if allowed(self.most) <= 0:
            return found[0]
        curves = {"closed form": lambda epsilon: closed_delta(self.alpha, self.rows, epsilon)}
        corners = self.corners
        if corners is not None and self.crowd is None:
            curves["corners"] = lambda epsilon: corner_delta(corners, epsilon, rows=self.rows)
        for name, curve in curves.items():
            least = smallest_epsilon(
                lambda epsilon, curve=curve: curve(epsilon) <= allowed(epsilon),  # type: ignore[misc]
                low=0.0,
                high=self.most,
            )
            found.append((least, name))
        if self.crowd is not None:
            least = blanket_epsilon(self.crowd, allowed, rows=self.rows, most=self.most)
            found.append((least, "blanket"))
        return min(found)

    def best_attack(self, epsilon: float) -> Curve:
        """Return the attack that is best near an ε, as a function of ε."""
        if not self.attacks:
            return lambda _: 0.0
        powers = [attack.delta(epsilon, rows=self.rows) for attack in self.attacks]
        best = self.attacks[max(range(len(powers)), key=powers.__getitem__)]
        return lambda epsilon: best.delta(epsilon, rows=self.rows)

    def attack(self, epsilon: float) -> float:
        """Return a δ that no proof at ε can go below."""
        return attack_delta(self.attacks, epsilon, rows=self.rows)

    def sampled(self, share: float) -> "PlanEvidence":
        """Return the same with attacks on a record that is in the file with this chance."""
        return replace(self, attacks=[attack.sampled(share) for attack in self.attacks])


def plan_evidence(plan: Plan, *, rows: int) -> PlanEvidence:
    """Return what is known of one file in random order."""
    crowd = plan_crowd(plan)
    if crowd is not None and len(crowd.masses) < 2:
        crowd = None
    attacks = [attack for masses in looks(plan, crowd) for attack in attacks_on(masses)]
    attacks = sorted(attacks, key=Attack.power, reverse=True)[:6]
    return PlanEvidence(certify(plan).alpha, rows, crowd, plan_corners(plan), attacks)
