r"""Central (ε, δ)-differential privacy as a promise that is kept, compared and added up exactly."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from reprlib import repr as short
from typing import Any

from pramble.errors import InvalidData, PrivacyError
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.json_form import rational
from pramble.privacy.gaussian import delta_above, epsilon_above
from pramble.privacy.guarantee import (
    Guarantee,
    RecordPrivacy,
    float_above,
    float_below,
    percent_above,
)
from pramble.privacy.shuffled.loss_distribution import LossSum, approximate
from pramble.values import value

FIELDS = {"notion", "epsilon", "epsilon_exact", "delta", "delta_exact"}
STEPS = 64
MOST_STEPS = 4096
ROUNDED = 1 + Fraction(1, 2**40)
"""A sum that a document states may be smaller than what is proven in floats by its rounding."""


@value
class CentralPrivacy(Guarantee):
    r"""(ε, δ)-differential privacy of each person towards whoever reads a whole release.

    For any two files of the same size that differ in one person's rows and every event E,
    :math:`P(E) \le e^\varepsilon P'(E) + \delta`. Several releases of the same people add up:
    :math:`(\sum\varepsilon_i, \sum\delta_i)` always holds.

    Attributes
    ----------
    epsilon, delta : Fraction
        Exactly.
    rows : int
        The most rows of one person.
    mu_squared : Fraction, optional
        Where all that was released is μ-Gaussian private, which is what ε and δ follow from: such
        releases add up by it.

    Examples
    --------
    >>> one = CentralPrivacy(Fraction(1, 2), Fraction(1, 10**6))
    >>> (one + one).epsilon, CentralPrivacy(Fraction(1), Fraction(1, 10**5)).allows(one + one)
    (Fraction(1, 1), True)
    """

    epsilon: Fraction
    delta: Fraction
    rows: int = 1
    mu_squared: Fraction | None = None
    notion = "central"

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta <= 1:
            raise PrivacyError(
                f"A central promise has ε ≥ 0 and 0 ≤ δ ≤ 1; found {float(self.epsilon):.6g} and "
                f"{float(self.delta):.6g}."
            )
        if self.rows < 1:
            raise PrivacyError(f"A person has at least one row; found {self.rows}.")
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        object.__setattr__(self, "delta", Fraction(self.delta))

    @staticmethod
    def of_local(local: RecordPrivacy) -> "CentralPrivacy":
        """Return what a local promise is worth towards a reader of the file: ε = α, δ = 0."""
        if local.is_none:
            raise PrivacyError("Without a local promise there is none against readers either.")
        return CentralPrivacy(local.alpha, Fraction(0), local.rows)

    def allows(self, spent: Guarantee) -> bool:
        """Whether both ε and δ that were spent are at most these."""
        self.of_the_same_notion(spent)
        assert isinstance(spent, CentralPrivacy), "the notion says so"
        return spent.epsilon <= self.epsilon and spent.delta <= self.delta

    def __add__(self, other: Guarantee) -> "CentralPrivacy":
        """Add up both."""
        self.of_the_same_notion(other)
        assert isinstance(other, CentralPrivacy), "the notion says so"
        delta, rows = min(self.delta + other.delta, Fraction(1)), max(self.rows, other.rows)
        epsilon = self.epsilon + other.epsilon
        if self.gaussian is None or other.gaussian is None:
            return CentralPrivacy(epsilon, delta, rows)
        together = self.gaussian + other.gaussian
        gaussian = epsilon_above(float_below(delta), together)
        if gaussian < epsilon:
            epsilon = Fraction(gaussian)
        return CentralPrivacy(epsilon, delta, rows, together)

    @property
    def gaussian(self) -> Fraction | None:
        """μ² of all that was released, where that is Gaussian; nothing was spent with 0."""
        return self.mu_squared if self.epsilon or self.delta else Fraction(0)

    @property
    def shown(self) -> float:
        """ε as a float, rounded up."""
        return float_above(self.epsilon)

    @property
    def shown_delta(self) -> float:
        """δ as a float, rounded up."""
        return float_above(self.delta)

    def belief(self, before: float = 0.5) -> float:
        """Return how sure a reader can become of what he was this sure of, but for δ."""
        odds = math.log(before) - math.log1p(-before) + float(self.epsilon)
        return 1 / (1 + math.exp(-odds))

    def sentence(self) -> str:
        """Say what a reader who was half sure can be sure of at most, and what that assumes."""
        sure = self.belief()
        whole = "a person's record" if self.rows == 1 else f"all {self.rows} rows of a person"
        verdict = (
            "almost no protection by ε alone"
            if sure > 0.99
            else "weak protection by ε alone"
            if sure > 0.75
            else "doubt stays"
        )
        but = f", but for a probability of δ = {self.shown_delta:.3g}" if self.delta else ""
        return (
            f"A reader of the whole release who knows everybody else and was 50 % sure of {whole} "
            f"can be at most {percent_above(sure)} sure (ε = {self.shown:.6g}{but}): {verdict}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return a document: ε and δ exactly and rounded up, and rows if they are several."""
        several = {} if self.rows == 1 else {"rows_per_person": self.rows}
        gaussian = {} if self.mu_squared is None else {"mu_squared_exact": str(self.mu_squared)}
        return {
            "notion": self.notion,
            "epsilon": self.shown,
            "epsilon_exact": str(self.epsilon),
            "delta": self.shown_delta,
            "delta_exact": str(self.delta),
            **gaussian,
            **several,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "CentralPrivacy":
        """Return the guarantee of a document whose numbers agree."""
        if set(document) - {"rows_per_person", "mu_squared_exact"} != FIELDS:
            raise InvalidData(f"A central guarantee has {', '.join(sorted(FIELDS))}.")
        rows = document.get("rows_per_person", 1)
        if type(rows) is not int or not 1 <= rows <= LARGEST_TOTAL:
            raise InvalidData(f"A person has one row or more; found {short(rows)}.")
        epsilon, delta = (stated(document, name) for name in ("epsilon", "delta"))
        if not 0 <= epsilon <= LARGEST_TOTAL or not 0 <= delta <= 1:
            raise InvalidData("A central guarantee has ε ≥ 0 and 0 ≤ δ ≤ 1; found others.")
        if "mu_squared_exact" not in document:
            return cls(epsilon, delta, rows)
        mu_squared = rational(document["mu_squared_exact"], InvalidData)
        if mu_squared < 0 or delta_above(float_below(epsilon), mu_squared) > delta * ROUNDED:
            raise InvalidData("A central guarantee states an ε and δ that its noise does not keep.")
        return cls(epsilon, delta, rows, mu_squared)


def stated(document: Mapping[str, Any], name: str) -> Fraction:
    """Return a number that a document states exactly, and as a float rounded up."""
    exact = rational(document[f"{name}_exact"], InvalidData)
    if float_above(exact) != document[name]:
        raise InvalidData(
            f"A guarantee must state one {name}; found {short(document[name])} and {short(exact)}."
        )
    return exact


def composed(parts: Sequence[CentralPrivacy], *, delta: float) -> float:
    r"""Return an ε of several releases of the same people together, at a δ for all of them.

    The best that follows from (ε, δ) of each alone: the loss of each is at most that of randomised
    response with ε, and infinite with probability δ (Kairouz, Oh and Viswanath 2015; Murtagh and
    Vadhan 2016 without a grid). Never above the sum of all ε where their δ add up to at most δ, the
    decimal number that was written; it is infinite where they add up to more.

    Examples
    --------
    >>> tenth = CentralPrivacy(Fraction(1, 10), Fraction(1, 10**8))
    >>> round(composed([tenth] * 40, delta=1e-6), 2)
    2.81
    >>> composed([CentralPrivacy(Fraction(1), Fraction(1, 10**6))], delta=1e-6)
    1.0
    """
    total = sum((part.epsilon for part in parts), Fraction(0))
    if sum((part.delta for part in parts), Fraction(0)) > Fraction(repr(float(delta))):
        return math.inf
    spent = [part for part in parts if part.epsilon or part.delta]
    smallest = min((float(part.epsilon) for part in spent if part.epsilon), default=0.0)
    basic = float_above(total)
    if len(spent) < 2 or not smallest:
        return basic
    squares = [part.gaussian for part in spent]
    if None not in squares:
        return min(epsilon_above(delta, sum(filter(None, squares), Fraction(0))), basic)
    step = max(smallest / STEPS, float(total) / (MOST_STEPS * len(spent)))
    known = {
        (part.epsilon, part.delta): approximate(part.shown, part.shown_delta, step=step)
        for part in spent
    }
    losses = LossSum(tuple(known[part.epsilon, part.delta] for part in spent))
    return min(losses.epsilon(lambda _: delta, most=basic), basic)


NOTIONS: dict[str, Any] = {"record": RecordPrivacy, "central": CentralPrivacy}
"""A new notion is a class in its own file and a line here."""


def guarantee_from_json(document: Any) -> Guarantee:
    """Return the guarantee of a document; refuse a notion that is not known."""
    notion = document.get("notion") if isinstance(document, Mapping) else None
    if notion not in NOTIONS:
        raise InvalidData(f"A guarantee is of one of {', '.join(NOTIONS)}; found {notion!r}.")
    found: Guarantee = NOTIONS[notion].from_json(document)
    return found
