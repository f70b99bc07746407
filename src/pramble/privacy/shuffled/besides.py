r"""What is known of a shuffled file, and of what was spent besides, as on a private prior."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan, as_plan
from pramble.privacy.shuffled.attack import merge_alike
from pramble.privacy.shuffled.branches import rows_of_records
from pramble.privacy.shuffled.evidence import Evidence, PlanEvidence, plan_evidence
from pramble.privacy.shuffled.excess import UNIT
from pramble.privacy.shuffled.linear import LinearTest, Rows
from pramble.privacy.shuffled.search import Curve
from pramble.values import value


@value(eq=False, repr=False)
class BesidesEvidence(Evidence):
    r"""The bounds that are known of a file together with what was spent besides, without a δ.

    The loss of what has no δ is at worst that of randomised response, +c with the chance
    :math:`p = e^c/(1 + e^c)` and −c otherwise. Both together have :math:`\delta(\varepsilon) =
    p\,\delta_1(\varepsilon - c) + (1 - p)\,\delta_1(\varepsilon + c) \le
    \delta_1(\varepsilon - c)`: to add c to the ε of the file costs at most a factor of two in δ.

    Attributes
    ----------
    alpha : float
        The local α of both.
    rows : int
    file : PlanEvidence
    besides : float
        What was spent besides, c.
    test : LinearTest or None
        A test of the file.
    """

    alpha: float
    rows: int
    file: PlanEvidence
    besides: float
    test: LinearTest | None

    def delta(self, epsilon: float) -> tuple[float, str]:
        """Return the smallest proven δ at ε, and which bound of the file it is."""
        if epsilon >= self.alpha:
            return 0.0, "local"
        low = math.nextafter(epsilon - self.besides, -math.inf)
        high = math.nextafter(epsilon + self.besides, 0.0)
        if low <= 0:
            return 1.0, "none"
        more, method = self.file.delta(low)
        less, _ = self.file.delta(high)
        chance = 1 / (1 + math.exp(-self.besides)) * (1 + 8 * UNIT)
        return min((chance * more + (1 - chance) * less) * (1 + 8 * UNIT), more), method

    def epsilon(self, allowed: Curve) -> tuple[float, str]:
        """Return the smallest ε whose δ is proven to be allowed, and which bound it is."""
        own, method = self.file.epsilon(lambda one: allowed(one + self.besides))
        added = math.nextafter(own + self.besides, math.inf), method
        return min((self.alpha, "local"), added)

    def attack(self, epsilon: float) -> float:
        """Return a δ that no proof at ε can go below."""
        tested = 0.0 if self.test is None else self.test.delta(epsilon)
        return max(self.file.attack(epsilon), tested)

    def best_attack(self, epsilon: float) -> Curve:
        """Return the attack that is best near an ε, as a function of ε."""
        strikes = [self.file.best_attack(epsilon)]
        strikes += [] if self.test is None else [self.test.delta]
        return max(strikes, key=lambda strike: strike(epsilon))

    def sampled(self, share: float) -> "BesidesEvidence":
        """Return the same with attacks on a record that is in the file with this chance."""
        test = None if self.test is None else self.test.sampled(share)
        return replace(self, file=self.file.sampled(share), test=test)


def evidence_of(given: Any, *, rows: int, besides: float = 0.0) -> PlanEvidence | BesidesEvidence:
    """Return what is known of a mechanism or a plan that leaves no column untouched."""
    plan = plan_of(given)
    file = plan_evidence(plan, rows=rows)
    if not besides:
        return file
    alpha = math.nextafter(file.alpha + besides, math.inf)
    return BesidesEvidence(alpha, rows, file, besides, linear_test(plan, rows=rows))


def linear_test(plan: Plan, *, rows: int) -> LinearTest | None:
    """Return a test of a file for three records that differ in every column."""
    labels = {name: own.labels for name, own in plan.column_labels().items()}
    records = [
        {
            name: own.values[code(k, place, len(own))]
            for place, (name, own) in enumerate(labels.items())
        }
        for k in range(3)
    ]
    masses = rows_of_records(plan, records)
    return None if masses is None else LinearTest(Rows(*merge_alike(masses)), rows=rows)


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
