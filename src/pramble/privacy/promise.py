r"""What is promised: one value that says which notion of privacy, how much, and in plain words.

Everything that decides is rational: a promise holds exact fractions, comparing and adding never
rounds, and floats are shown rounded to the safe side.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from reprlib import repr as short
from typing import Any, Self

from pramble import numbers
from pramble.errors import InvalidData, PrivacyError
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.json_form import rational
from pramble.privacy.gaussian import (
    delta_above,
    epsilon_above,
    float_above,
    float_below,
    mu_squared_of,
)
from pramble.values import frozen


class Promise(ABC):
    """A promise about every person in a file.

    Guarantees of one notion compare and add up exactly; those of different notions do neither.

    Examples
    --------
    >>> import pramble
    >>> promise = pramble.certify(pramble.randomized_response(2, 1.0)).promise
    >>> promise.notion, (promise + promise).allows(promise)
    ('record', True)
    >>> print(promise.sentence())
    An intruder who was 50 % sure of a person's true values can be at most 74 % sure from the
    randomised values of one record alone (α = 1): doubt stays.
    """

    notion: str
    rows: int

    @abstractmethod
    def allows(self, spent: "Promise") -> bool:
        """Whether what was spent stays within this promise, decided exactly."""

    @abstractmethod
    def __add__(self, other: "Promise") -> "Promise":
        """Return the promise that is left when both were released of the same people."""

    @property
    @abstractmethod
    def number(self) -> str:
        """The number to quote, with its sign: rounded here, and the same everywhere."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the promise in plain words, computed from its numbers."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return a document, which `promise_from_json` reads back."""

    def of_the_same_notion(self, other: "Promise") -> Self:
        """Return another promise of this notion; refuse to compare or add different ones."""
        if not isinstance(other, type(self)):
            raise PrivacyError(
                f"Promises of different notions do not add up or compare: {self.notion} and "
                f"{other.notion}."
            )
        return other


@frozen
class LocalPromise(Promise):
    r"""α-differential privacy of each person, whose values stand in one record or in several.

    What is released is at most :math:`e^\alpha` times likelier under one person's true values than
    under others. Rows are randomised independently of each other, so a person with :math:`k` of
    them has :math:`\alpha = k\,\alpha_{\text{record}}`.

    - ``alpha``: α of a person, exactly (the ε of most of the literature; this form is *local*).
      Infinite where there is no local promise, as of protected tables.
    - ``rows``: The most rows of one person.

    Examples
    --------
    >>> spent = LocalPromise(Fraction(1, 2)) + LocalPromise(Fraction(1, 4))
    >>> spent.alpha, LocalPromise(Fraction(1)).allows(spent)
    (Fraction(3, 4), True)
    >>> LocalPromise(Fraction(1, 2)).of_rows(3)
    LocalPromise(alpha=Fraction(3, 2), rows=3)
    """

    alpha: Fraction
    rows: int = 1
    notion = "record"

    def __post_init__(self) -> None:
        if self.alpha < 0:
            raise PrivacyError(f"α must not be negative; found {self.alpha}.")
        refuse_no_rows(self.rows)
        if not self.is_unbounded:
            object.__setattr__(self, "alpha", Fraction(self.alpha))

    @property
    def is_unbounded(self) -> bool:
        """Whether there is no local promise at all."""
        return self.alpha == math.inf

    def allows(self, spent: Promise) -> bool:
        return self.of_the_same_notion(spent).alpha <= self.alpha

    def __add__(self, other: Promise) -> "LocalPromise":
        own = self.of_the_same_notion(other)
        # Ratios of probabilities multiply, so α adds.
        return LocalPromise(self.alpha + own.alpha, max(self.rows, own.rows))

    def of_rows(self, rows: int) -> "LocalPromise":
        return LocalPromise(self.alpha * rows, self.rows * rows)

    @property
    def shown(self) -> float:
        return math.inf if self.is_unbounded else float_above(self.alpha)

    def belief(self, before: float = 0.5) -> float:
        r"""Return how sure an intruder can become of a true value of which he was this sure.

        At most :math:`a b/(1 + (a-1) b)` with :math:`a = e^\alpha`, whatever is released.
        """
        return belief_after(before, self.alpha)

    @property
    def number(self) -> str:
        return f"α = {numbers.alpha_text(self.shown)}"

    def sentence(self) -> str:
        sure = self.belief()
        whole = "one record" if self.rows == 1 else f"all {self.rows} rows of the person"
        return (
            f"An intruder who was 50 % sure of a person's true values can be at most "
            f"{numbers.sure(sure)} sure from the randomised values of {whole} alone "
            f"({self.number}): {doubt_left(sure, 'α')}."
        )

    def to_json(self) -> dict[str, Any]:
        several = {} if self.rows == 1 else {"rows_per_person": self.rows}
        exact = str(self.alpha)
        return {"notion": self.notion, "alpha": self.shown, "alpha_exact": exact, **several}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "LocalPromise":
        if set(document) - {"rows_per_person"} != {"notion", "alpha", "alpha_exact"}:
            raise InvalidData("A local promise has notion, alpha and alpha_exact.")
        return cls(stated_alpha(document), stated_rows(document))


def refuse_no_rows(rows: int) -> None:
    if rows < 1:
        raise PrivacyError(f"A person has at least one row; found {rows}.")


def belief_after(before: float, level: Fraction) -> float:
    """Return how sure one can become whose odds grow at most by the exponential of a level."""
    odds = math.log(before) - math.log1p(-before) + float(level)
    return 1 / (1 + math.exp(-odds))


def doubt_left(sure: float, sign: str) -> str:
    """Say what protection is left where an intruder can become this sure."""
    if sure > 0.75:
        return f"{'almost no' if sure > 0.99 else 'weak'} protection by {sign} alone"
    return "doubt stays"


def stated_rows(document: Mapping[str, Any]) -> int:
    rows = document.get("rows_per_person", 1)
    if type(rows) is not int or not 1 <= rows <= LARGEST_TOTAL:
        raise InvalidData(f"A person has one row or more; found {short(rows)}.")
    return rows


def stated(document: Mapping[str, Any], name: str, sign: str = "") -> Fraction:
    """Return a number that a document states exactly, and as a float rounded up."""
    exact = rational(document[f"{name}_exact"], InvalidData)
    if exact > LARGEST_TOTAL or float_above(exact) != document[name]:
        raise InvalidData(
            f"A promise must state one {sign or name}; found {short(document[name])} and "
            f"{short(exact)}."
        )
    return exact


def stated_alpha(document: Mapping[str, Any]) -> Fraction:
    exact = rational(document["alpha_exact"], InvalidData)
    if not 0 <= exact <= LARGEST_TOTAL:
        raise InvalidData(f"α must lie between 0 and {LARGEST_TOTAL:,.0f}; found another.")
    return stated(document, "alpha", "α")


def no_local_promise(rows: int = 1) -> LocalPromise:
    """Return what is spent where a release has a central promise alone."""
    nothing: Any = math.inf
    return LocalPromise(nothing, rows)


FIELDS = {"notion", "epsilon", "epsilon_exact", "delta", "delta_exact"}
# A sum that a document states may be smaller than what is proven in floats by its rounding.
ROUNDED = 1 + Fraction(1, 2**40)


@frozen
class CentralPromise(Promise):
    r"""(ε, δ)-differential privacy of each person towards whoever reads a whole release.

    For any two files of the same size that differ in one person's rows and every event E,
    :math:`P(E) \le e^\varepsilon P'(E) + \delta`. Several releases of the same people add up:
    :math:`(\sum\varepsilon_i, \sum\delta_i)` always holds.

    - ``epsilon``, ``delta``: Exactly.
    - ``rows``: The most rows of one person.
    - ``mu_squared``: Where all that was released is μ-Gaussian private, which is what ε and δ
      follow from: such releases add up by it.

    Examples
    --------
    >>> one = CentralPromise(Fraction(1, 2), Fraction(1, 10**6))
    >>> (one + one).epsilon, CentralPromise(Fraction(1), Fraction(1, 10**5)).allows(one + one)
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
        refuse_no_rows(self.rows)
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        object.__setattr__(self, "delta", Fraction(self.delta))

    @staticmethod
    def of_local(local: LocalPromise) -> "CentralPromise":
        """Return what a local promise is worth towards a reader of the file: ε = α, δ = 0."""
        if local.is_unbounded:
            raise PrivacyError("Without a local promise there is none against readers either.")
        return CentralPromise(local.alpha, Fraction(0), local.rows)

    def allows(self, spent: Promise) -> bool:
        own = self.of_the_same_notion(spent)
        return own.epsilon <= self.epsilon and own.delta <= self.delta

    def allows_together(self, parts: Sequence["CentralPromise"]) -> bool:
        """Whether several releases stay within this promise, each chosen after those before.

        They do by their sums, or by their μ² (see `composed`).
        """
        total = CentralPromise(Fraction(0), Fraction(0))
        if self.allows(sum(parts, total)):
            return True
        left = self.delta - delta_on_top(parts)
        epsilon = float_below(self.epsilon)
        return left > 0 and Fraction(delta_above(epsilon, mu_squared_sum(parts))) <= left

    def __add__(self, other: Promise) -> "CentralPromise":
        own = self.of_the_same_notion(other)
        delta, rows = min(self.delta + own.delta, Fraction(1)), max(self.rows, own.rows)
        epsilon = self.epsilon + own.epsilon
        if self.gaussian is None or own.gaussian is None:
            return CentralPromise(epsilon, delta, rows)
        together = self.gaussian + own.gaussian
        gaussian = epsilon_above(float_below(delta), together)
        if gaussian < epsilon:
            epsilon = Fraction(gaussian)
        return CentralPromise(epsilon, delta, rows, together)

    @property
    def gaussian(self) -> Fraction | None:
        """μ² of all that was released, where that is Gaussian; nothing was spent with 0."""
        return self.mu_squared if self.epsilon or self.delta else Fraction(0)

    @property
    def shown(self) -> float:
        return float_above(self.epsilon)

    @property
    def shown_delta(self) -> float:
        return float_above(self.delta)

    def belief(self, before: float = 0.5) -> float:
        return belief_after(before, self.epsilon)

    @property
    def number(self) -> str:
        return f"ε = {numbers.alpha_text(self.shown)}, δ = {numbers.tiny(self.shown_delta)}"

    def sentence(self) -> str:
        sure = self.belief()
        whole = "a person's record" if self.rows == 1 else f"all {self.rows} rows of a person"
        number = f"ε = {numbers.alpha_text(self.shown)}"
        if self.delta:
            number += f", but for a probability of δ = {numbers.tiny(self.shown_delta)}"
        return (
            f"A reader of the whole release who knows everybody else and was 50 % sure of {whole} "
            f"can be at most {numbers.sure(sure)} sure ({number}): {doubt_left(sure, 'ε')}."
        )

    def to_json(self) -> dict[str, Any]:
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
    def from_json(cls, document: Mapping[str, Any]) -> "CentralPromise":
        if set(document) - {"rows_per_person", "mu_squared_exact"} != FIELDS:
            raise InvalidData(f"A central promise has {', '.join(sorted(FIELDS))}.")
        rows = stated_rows(document)
        epsilon, delta = (stated(document, name) for name in ("epsilon", "delta"))
        if not 0 <= epsilon <= LARGEST_TOTAL or not 0 <= delta <= 1:
            raise InvalidData("A central promise has ε ≥ 0 and 0 ≤ δ ≤ 1; found others.")
        if "mu_squared_exact" not in document:
            return cls(epsilon, delta, rows)
        mu_squared = rational(document["mu_squared_exact"], InvalidData)
        if mu_squared < 0 or delta_above(float_below(epsilon), mu_squared) > delta * ROUNDED:
            raise InvalidData("A central promise states an ε and δ that its noise does not keep.")
        return cls(epsilon, delta, rows, mu_squared)


def composed(parts: Sequence[CentralPromise], *, delta: float) -> float:
    r"""Return an ε of several releases of the same people together, at a δ for all of them.

    It holds where each was chosen after those before had been seen. Sums of ε and of δ do (Rogers,
    Roth, Ullman and Vadhan 2016), and so does the sum of μ² of Gaussian releases (Koskela, Tobaben
    and Honkela 2023), which a release with ε alone is too, with the μ of `mu_squared_of`; its δ, if
    it has one, comes on top. The smaller is returned, rounded up, at the decimal δ that was
    written; infinite where the δ of the parts exceed it. Better bounds that need all ε to be fixed
    in advance (Kairouz, Oh and Viswanath 2015) are not used.

    Examples
    --------
    >>> tenth = CentralPromise(Fraction(1, 10), Fraction(1, 10**8))
    >>> round(composed([tenth] * 40, delta=1e-6), 2)
    3.84
    >>> composed([CentralPromise(Fraction(1), Fraction(1, 10**6))], delta=1e-6)
    1.0
    """
    most = Fraction(repr(float(delta)))
    basic = math.inf
    if sum((part.delta for part in parts), Fraction(0)) <= most:
        basic = float_above(sum((part.epsilon for part in parts), Fraction(0)))
    left = most - delta_on_top(parts)
    if left <= 0:
        return basic
    return min(epsilon_above(float_below(left), mu_squared_sum(parts)), basic)


def mu_squared_sum(parts: Sequence[CentralPromise]) -> Fraction:
    """Return the μ² of releases together, what `delta_on_top` covers left out."""
    squares = [part.gaussian for part in parts]
    return sum(
        (
            mu_squared_of(part.shown) if square is None else square
            for part, square in zip(parts, squares, strict=True)
        ),
        Fraction(0),
    )


def delta_on_top(parts: Sequence[CentralPromise]) -> Fraction:
    """Return the δ of those releases whose μ follows from their ε."""
    return sum((part.delta for part in parts if part.gaussian is None), Fraction(0))


# A new notion is a class and a line here.
NOTIONS: dict[str, Any] = {"record": LocalPromise, "central": CentralPromise}


def promise_from_json(document: Any) -> Promise:
    notion = document.get("notion") if isinstance(document, Mapping) else None
    if notion not in NOTIONS:
        raise InvalidData(f"A promise is of one of {', '.join(NOTIONS)}; found {notion!r}.")
    found: Promise = NOTIONS[notion].from_json(document)
    return found
