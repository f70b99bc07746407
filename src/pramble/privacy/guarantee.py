r"""What is promised: one value that says which notion of privacy, how much, and in plain words.

Everything that decides is rational: a guarantee holds exact fractions, comparing and adding never
rounds, and floats are shown rounded to the safe side.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from reprlib import repr as short
from typing import Any

from pramble.errors import InvalidData, PrivacyError
from pramble.limits import LARGEST_TOTAL
from pramble.mechanisms.json_form import rational
from pramble.values import value


class Guarantee(ABC):
    """A promise about every person in a file.

    Guarantees of one notion compare and add up exactly; those of different notions do neither.

    Examples
    --------
    >>> import pramble
    >>> promise = pramble.certify(pramble.randomized_response(2, 1.0)).guarantee
    >>> promise.notion, (promise + promise).allows(promise)
    ('record', True)
    >>> print(promise.sentence())
    An intruder who was 50 % sure of a person's true values can be at most 74 % sure from the
    randomised values of one record alone (α = 1): doubt stays.
    """

    notion: str

    @abstractmethod
    def allows(self, spent: "Guarantee") -> bool:
        """Whether what was spent stays within this promise, decided exactly."""

    @abstractmethod
    def __add__(self, other: "Guarantee") -> "Guarantee":
        """Return the promise that is left when both were released of the same people."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the promise in plain words, computed from its numbers."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return a document; `pramble.privacy.central_privacy` reads it back."""

    def of_the_same_notion(self, other: "Guarantee") -> None:
        """Refuse to compare or add different notions."""
        if self.notion != other.notion:
            raise PrivacyError(
                f"Promises of different notions do not add up or compare: {self.notion} and "
                f"{other.notion}."
            )


@value
class RecordPrivacy(Guarantee):
    r"""α-differential privacy of each person, whose values stand in one record or in several.

    What is released is at most :math:`e^\alpha` times likelier under one person's true values than
    under others. Rows are randomised independently of each other, so a person with :math:`k` of
    them has :math:`\alpha = k\,\alpha_{\text{record}}`.

    Attributes
    ----------
    alpha : Fraction
        α of a person, exactly (the ε of most of the literature; this form is *local*). Infinite
        where there is no local promise, as of protected tables.
    rows : int
        The most rows of one person.

    Examples
    --------
    >>> spent = RecordPrivacy(Fraction(1, 2)) + RecordPrivacy(Fraction(1, 4))
    >>> spent.alpha, RecordPrivacy(Fraction(1)).allows(spent)
    (Fraction(3, 4), True)
    >>> RecordPrivacy(Fraction(1, 2)).of_rows(3)
    RecordPrivacy(alpha=Fraction(3, 2), rows=3)
    """

    alpha: Fraction
    rows: int = 1
    notion = "record"

    def __post_init__(self) -> None:
        if self.alpha < 0:
            raise PrivacyError(f"α must not be negative; found {self.alpha}.")
        if self.rows < 1:
            raise PrivacyError(f"A person has at least one row; found {self.rows}.")
        if not self.is_none:
            object.__setattr__(self, "alpha", Fraction(self.alpha))

    @property
    def is_none(self) -> bool:
        """Whether there is no local promise."""
        return self.alpha == math.inf

    def allows(self, spent: Guarantee) -> bool:
        """Whether the α that was spent is at most this one."""
        self.of_the_same_notion(spent)
        assert isinstance(spent, RecordPrivacy), "the notion says so"
        return spent.alpha <= self.alpha

    def __add__(self, other: Guarantee) -> "RecordPrivacy":
        """Add up: ratios of probabilities multiply, so α adds."""
        self.of_the_same_notion(other)
        assert isinstance(other, RecordPrivacy), "the notion says so"
        return RecordPrivacy(self.alpha + other.alpha, max(self.rows, other.rows))

    def of_rows(self, rows: int) -> "RecordPrivacy":
        """Return what is left for a person of so many times the rows."""
        return RecordPrivacy(self.alpha * rows, self.rows * rows)

    @property
    def unit(self) -> str:
        """Of whom α is: a record, or a person with several."""
        return "record" if self.rows == 1 else "person"

    @property
    def of_record(self) -> Fraction:
        """α of one record alone."""
        return self.alpha / self.rows

    @property
    def shown(self) -> float:
        """α as a float, rounded up."""
        return math.inf if self.is_none else float_above(self.alpha)

    def belief(self, before: float = 0.5) -> float:
        r"""Return how sure an intruder can become of a true value of which he was this sure.

        At most :math:`a b/(1 + (a-1) b)` with :math:`a = e^\alpha`, whatever is released.

        >>> [round(RecordPrivacy(Fraction(alpha)).belief(), 4) for alpha in (1, 6)]
        [0.7311, 0.9975]
        """
        odds = math.log(before) - math.log1p(-before) + float(self.alpha)
        return 1 / (1 + math.exp(-odds))

    def sentence(self) -> str:
        """Say what an intruder who was half sure can be sure of at most."""
        sure = self.belief()
        whole = "one record" if self.rows == 1 else f"all {self.rows} rows of the person"
        verdict = (
            "almost no protection by α alone"
            if sure > 0.99
            else "weak protection by α alone"
            if sure > 0.75
            else "doubt stays"
        )
        return (
            f"An intruder who was 50 % sure of a person's true values can be at most "
            f"{percent_above(sure)} sure from the randomised values of {whole} alone "
            f"(α = {self.shown:.6g}): {verdict}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return a document: the notion, α exactly and rounded up, and rows if they are several."""
        several = {} if self.rows == 1 else {"rows_per_person": self.rows}
        exact = str(self.alpha)
        return {"notion": self.notion, "alpha": self.shown, "alpha_exact": exact, **several}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "RecordPrivacy":
        """Return the guarantee of a document whose two numbers agree."""
        if set(document) - {"rows_per_person"} != {"notion", "alpha", "alpha_exact"}:
            raise InvalidData("A record's guarantee has notion, alpha and alpha_exact.")
        rows = document.get("rows_per_person", 1)
        if type(rows) is not int or not 1 <= rows <= LARGEST_TOTAL:
            raise InvalidData(f"A person has one row or more; found {short(rows)}.")
        return cls(stated_alpha(document), rows)


def stated_alpha(document: Mapping[str, Any]) -> Fraction:
    """Return the α of a document that states it exactly, and as a float rounded up."""
    exact = rational(document["alpha_exact"], InvalidData)
    if not 0 <= exact <= LARGEST_TOTAL:
        raise InvalidData(f"α must lie between 0 and {LARGEST_TOTAL:,.0f}; found another.")
    if float_above(exact) != document["alpha"]:
        raise InvalidData(
            f"A guarantee must state one α; found {short(document['alpha'])} and {short(exact)}."
        )
    return exact


def no_local_promise(rows: int = 1) -> RecordPrivacy:
    """Return what is spent where a release has a central promise alone.

    >>> no_local_promise().shown
    inf
    """
    nothing: Any = math.inf
    return RecordPrivacy(nothing, rows)


def float_below(number: Fraction) -> float:
    """Return the largest float that is not above a rational.

    >>> Fraction(float_below(Fraction(1, 10))) <= Fraction(1, 10)
    True
    """
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


def float_above(number: Fraction) -> float:
    """Return the smallest float that is not below a rational."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def percent_above(share: float) -> str:
    """Return a share as a percentage, rounded up to a figure that tells it from certainty.

    >>> percent_above(0.73106), percent_above(0.997527), percent_above(0.9999999)
    ('74 %', '99.8 %', '99.99999 %')
    """
    digits = 0
    while digits < 12:
        shown = math.ceil(share * 100 * 10**digits - 1e-9) / 10**digits
        if shown < 100 and (100 - shown) >= 0.8 * (100 - 100 * share):
            return f"{shown:.{digits}f} %"
        digits += 1
    return "100 %"
