r"""What is known of several shuffled files of the same records, and of priors beside them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.mechanisms.views import Views
from pramble.privacy.certificate import certify
from pramble.privacy.shuffled.attack import merge_alike
from pramble.privacy.shuffled.branches import rows_of_records
from pramble.privacy.shuffled.evidence import (
    LARGEST_EPSILON,
    Evidence,
    PlanEvidence,
    plan_evidence,
)
from pramble.privacy.shuffled.excess import UNIT
from pramble.privacy.shuffled.linear import LinearTest, Rows
from pramble.privacy.shuffled.losses import Losses, LossSum, dominating, pure
from pramble.privacy.shuffled.search import Curve
from pramble.values import value

NEGLIGIBLE = 1e-12
"""What losses beyond the grid may add to δ, over all files."""

SPREAD = 0.004
"""How much of the summed loss's variance the grid may add."""


@value(eq=False, repr=False)
class ViewsEvidence(Evidence):
    """The bounds that are known of several files of the same records.

    Attributes
    ----------
    alpha : float
        The local α of all files together, priors included.
    rows : int
    parts : tuple of PlanEvidence
        Of each file.
    besides : float
        What was spent besides, without a δ, as on a private prior.
    test : LinearTest or None
        A test of all files together.
    """

    alpha: float
    rows: int
    parts: tuple[PlanEvidence, ...]
    besides: float
    test: LinearTest | None

    @cached_property
    def losses(self) -> LossSum:
        """The summed losses of all files and of what was spent besides."""
        known: dict[Any, PlanEvidence] = {key_of(part): part for part in self.parts}
        small = NEGLIGIBLE / (len(self.parts) + 1)
        tops = {
            key: min(part.epsilon(lambda _: small)[0], LARGEST_EPSILON)
            for key, part in known.items()
        }
        squares = [(tops[key_of(part)] / 7) ** 2 for part in self.parts]
        squares += [self.besides**2] if self.besides else []
        step = max(math.sqrt(6 * SPREAD * sum(squares) / len(squares)), 1e-9)
        if self.besides:
            step = self.besides / math.ceil(self.besides / step)
        made: dict[Any, Losses] = {
            key: dominating(lambda e, part=part: part.delta(e)[0], step=step, top=tops[key])  # type: ignore[misc]
            for key, part in known.items()
        }
        prior = [pure(self.besides, step=step)] if self.besides else []
        return LossSum((*(made[key_of(part)] for part in self.parts), *prior))

    @property
    def is_added(self) -> bool:
        r"""Whether what was spent besides is added to the ε of one file, which needs no curve.

        The loss of what has no δ is at worst that of randomised response, +c with the chance
        :math:`p = e^c/(1 + e^c)` and −c otherwise. Both together have :math:`\delta(\varepsilon) =
        p\,\delta_1(\varepsilon - c) + (1 - p)\,\delta_1(\varepsilon + c) \le
        \delta_1(\varepsilon - c)`: to add costs at most a factor of two in δ.
        """
        return len(self.parts) == 1

    def both(self, epsilon: float) -> tuple[float, str]:
        """Return δ of one file and of what was spent besides, and which bound of the file it is."""
        low = math.nextafter(epsilon - self.besides, -math.inf)
        high = math.nextafter(epsilon + self.besides, 0.0)
        if low <= 0:
            return 1.0, "none"
        more, method = self.parts[0].delta(low)
        less, _ = self.parts[0].delta(high)
        chance = 1 / (1 + math.exp(-self.besides)) * (1 + 8 * UNIT)
        return min((chance * more + (1 - chance) * less) * (1 + 8 * UNIT), more), method

    def delta(self, epsilon: float) -> tuple[float, str]:
        """Return the smallest proven δ at ε, and which bound it is."""
        if epsilon >= self.alpha:
            return 0.0, "local"
        if self.is_added:
            return self.both(epsilon)
        return self.losses.delta(epsilon), "curves"

    def epsilon(self, allowed: Curve) -> tuple[float, str]:
        """Return the smallest ε whose δ is proven to be allowed, and which bound it is."""
        most = min(self.alpha, LARGEST_EPSILON)
        found = [(self.alpha, "local")]
        if self.is_added:
            own, method = self.parts[0].epsilon(lambda one: allowed(one + self.besides))
            found.append((math.nextafter(own + self.besides, math.inf), method))
        elif allowed(most) > 0:
            found.append((self.losses.epsilon(allowed, most=most), "curves"))
        return min(found)

    def attack(self, epsilon: float) -> float:
        """Return a δ that no proof at ε can go below."""
        single = max(part.attack(epsilon) for part in self.parts)
        return max(single, self.test.delta(epsilon) if self.test is not None else 0.0)

    def best_attack(self, epsilon: float) -> Curve:
        """Return the attack that is best near an ε: on one file, or on all together."""
        known = {key_of(part): part for part in self.parts}
        strikes = [part.best_attack(epsilon) for part in known.values()]
        strikes += [self.test.delta] if self.test is not None else []
        return max(strikes, key=lambda strike: strike(epsilon))

    def sampled(self, share: float) -> "ViewsEvidence":
        """Return the same with attacks on a record that is in all files with this chance."""
        test = None if self.test is None else self.test.sampled(share)
        return replace(self, parts=tuple(part.sampled(share) for part in self.parts), test=test)


def key_of(part: PlanEvidence) -> Any:
    """Return what files have in common that make the same promise."""
    if part.crowd is None:
        return id(part)
    return part.alpha, part.crowd.masses.tobytes(), part.crowd.blanket.tobytes()


def evidence_of(given: Any, *, rows: int, besides: float = 0.0) -> PlanEvidence | ViewsEvidence:
    """Return what is known of a mechanism, a plan, or views, that leave no column untouched."""
    if isinstance(given, Views):
        plans: Sequence[Plan] = list(given.values())
    else:
        plans = [plan_of(given)]
    parts = tuple(plan_evidence(plan, rows=rows) for plan in plans)
    if len(parts) == 1 and not besides:
        return parts[0]
    alpha = math.nextafter(certify(Views(plans)).alpha + besides, math.inf)
    return ViewsEvidence(alpha, rows, parts, besides, linear_test(plans, rows=rows))


def linear_test(plans: Sequence[Plan], *, rows: int) -> LinearTest | None:
    """Return a test of all files for three records that differ in every column."""
    labels = {name: own.labels for plan in plans for name, own in plan.column_labels().items()}
    records = [
        {
            name: own.values[code(k, place, len(own))]
            for place, (name, own) in enumerate(labels.items())
        }
        for k in range(3)
    ]
    views = []
    for plan in plans:
        masses = rows_of_records(plan, records)
        if masses is None:
            return None
        views.append(Rows(*merge_alike(masses)))
    return LinearTest(views, rows=rows)


def code(k: int, place: int, size: int) -> int:
    """Return the category of x, x' or w in a column; w takes turns where there are only two."""
    return k if k < size else place % size


def plan_of(given: Any) -> Plan:
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
