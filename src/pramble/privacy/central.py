r"""The central guarantee of a file whose rows stand in random order."""

import math
from fractions import Fraction
from typing import Any, overload

from pramble.errors import InvalidInput, PrivacyError
from pramble.mechanisms.table_plan import TablePlan
from pramble.numbers import alpha_text, tiny
from pramble.one_thread import one_thread
from pramble.privacy.evidence import ShuffleEvidence, evidence_of
from pramble.privacy.gaussian import stated_number
from pramble.privacy.promise import CentralPromise
from pramble.privacy.table_privacy import TableGuarantee, table_guarantee
from pramble.shown import Display, Facts
from pramble.values import frozen

# Beyond it rows times the rounding of one transform is no small number.
LARGEST_ROWS = 10**12


@frozen(eq=False, repr=False)
class CentralGuarantee(Display):
    r"""Central (ε, δ) of a shuffled file: what is proven, and what no proof can go below.

    Attributes
    ----------
    epsilon : float
        Proven, rounded up.
    delta : float
    lower : float
        No smaller ε holds at this δ: an explicit attack shows it.
    method : str
        Which bound was the best: ``"exact"`` (two outputs), ``"blanket"`` (of this very matrix),
        ``"corners"`` (its ratios and the blanket's weights) or ``"local"`` (α itself).
    alpha : float
        The local α of a record, which holds too.
    rows, rows_per_person : int

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(10, 4.0)
    >>> g = pramble.central_guarantee(m, rows=10**6, delta=1e-6)
    >>> g.lower < g.epsilon < 1.02 * g.lower, g.method
    (True, 'blanket')
    >>> g.attack(0.01) < g.curve(0.01) < 1e-3
    True
    """

    epsilon: float
    delta: float
    lower: float
    method: str
    alpha: float
    rows: int
    rows_per_person: int
    evidence: ShuffleEvidence

    @property
    def promise(self) -> CentralPromise:
        if math.isinf(self.epsilon):
            raise PrivacyError("Nothing is proven of this file at this δ.")
        return CentralPromise(Fraction(self.epsilon), Fraction(self.delta), self.rows_per_person)

    def curve(self, epsilon: float) -> float:
        """Return the proven δ at another ε, rounded up."""
        return self.evidence.delta(stated_number(epsilon, "epsilon"))[0]

    def attack(self, epsilon: float) -> float:
        """Return a δ that no proof at this ε can go below, rounded down."""
        return self.evidence.attack(stated_number(epsilon, "epsilon"))

    def shown(self) -> Facts:
        """Return what is proven, and what no proof can go below."""
        people = f", up to {self.rows_per_person} of a person" if self.rows_per_person > 1 else ""
        return Facts(
            f"Central guarantee of {self.rows:,} rows in random order{people}",
            [
                (
                    "proven ε",
                    f"{alpha_text(self.epsilon)} at δ = {tiny(self.delta)} ({self.method})",
                ),
                ("attack", f"no ε below {self.lower:.6g} holds"),
                ("local α", alpha_text(self.alpha)),
            ],
        )

    def sentence(self) -> str:
        """Return the promise in plain words."""
        person = (
            "a person's record than with any other in its place"
            if self.rows_per_person == 1
            else f"any {self.rows_per_person} records of a person than with others in their place"
        )
        if math.isinf(self.epsilon):
            return f"Nothing is proven for the file of {self.rows:,} rows at δ = {self.delta:.3g}."
        return (
            f"A reader of the whole file of {self.rows:,} rows in random order, "
            f"who knows all other records, sees nothing more than "
            f"{math.exp(self.epsilon):.6g} times likelier with {person} "
            f"(ε = {alpha_text(self.epsilon)}), but for a probability of δ = {tiny(self.delta)}. "
            f"No proof can go below ε = {self.lower:.4g}."
        )

    def __str__(self) -> str:
        return self.sentence()


@overload
def central_guarantee(plan_or_mechanism: Any, *, delta: float | None = None) -> TableGuarantee: ...


@overload
def central_guarantee(
    plan_or_mechanism: Any,
    *,
    rows: int,
    delta: float | None = None,
    rows_per_person: int = 1,
) -> CentralGuarantee: ...


def central_guarantee(
    plan_or_mechanism: Any,
    *,
    rows: int | None = None,
    delta: float | None = None,
    rows_per_person: int = 1,
) -> CentralGuarantee | TableGuarantee:
    r"""Return the central (ε, δ) of a shuffled file of randomised records, or of noisy tables.

    For any two files of n rows that differ in one record, and every event E,

    .. math:: P(E) \le e^\varepsilon P'(E) + \delta .

    It holds if every released column is randomised or blank, the rows stand in secure random order,
    and the number of rows is public. The smallest of all proven bounds is returned: the privacy
    blanket of this very matrix over all pairs of records (Balle, Bell, Gascón and Nissim 2019), the
    same for the worst matrix with these ratios and this blanket, the exact value of a mechanism
    with two outputs, and the local α. Every float is on the safe side.

    Parameters
    ----------
    plan_or_mechanism : Mechanism, Plan, TableDesign, or mapping from column to Mechanism
        What is done to a record. Of a design of tables (:func:`~pramble.design_tables`), or its
        plan, ``delta`` is all that counts: their guarantee does not depend on the number of rows.
    rows : int
        The number n of rows that are shuffled together.
    delta : float
        The δ at which ε is found; ``curve`` of the guarantee is δ at any ε.
    rows_per_person : int, optional
        The most rows of one person, all of which may be replaced.

    Returns
    -------
    CentralGuarantee, or TableGuarantee of tables

    Examples
    --------
    >>> import pramble
    >>> m = pramble.randomized_response(["a", "b", "c"], 2.0)
    >>> g = pramble.central_guarantee(m, rows=100_000, delta=1e-6)
    >>> round(g.epsilon, 3), round(g.lower, 3), round(g.alpha, 3)
    (0.031, 0.031, 2.0)
    >>> pramble.central_guarantee({"sex": m, "age": None}, rows=1000, delta=1e-6)
    Traceback (most recent call last):
    ...
    pramble.errors.PrivacyError: Column 'age' is released as it is, ...
    >>> d = pramble.design_tables({"sex": 2, "age": 5}, 1.0, 1e-6)
    >>> round(pramble.central_guarantee(d, delta=1e-9).epsilon, 3)
    1.318
    """
    plan = getattr(plan_or_mechanism, "plan", plan_or_mechanism)
    if isinstance(plan, TablePlan):
        if rows_per_person != 1:
            raise InvalidInput(
                "The guarantee of tables follows from their plan and delta alone: leave out "
                "rows_per_person."
            )
        return table_guarantee(plan, delta=delta)
    n, people = positive_count(rows, "rows"), positive_count(rows_per_person, "rows_per_person")
    target = stated_number(delta, "delta", most=1.0)
    known = evidence_of(plan_or_mechanism, rows=n, people=people)
    with one_thread():
        proven, method = known.epsilon(target)
        lower = known.lower(target, proven=proven)
    return CentralGuarantee(proven, target, lower, method, known.alpha, n, people, known)


def proven_epsilon(
    plan_or_mechanism: Any, *, rows: int, delta: float, rows_per_person: int
) -> float:
    return evidence_of(plan_or_mechanism, rows=rows, people=rows_per_person).epsilon(delta)[0]


def is_proven(
    plan_or_mechanism: Any, *, epsilon: float, rows: int, delta: float, rows_per_person: int
) -> bool:
    """Whether a stated (ε, δ) is proven: by the least ε at δ, or by the δ at this very ε."""
    known = evidence_of(plan_or_mechanism, rows=rows, people=rows_per_person)
    return known.epsilon(delta)[0] <= epsilon or known.delta(epsilon)[0] <= delta


def positive_count(number: Any, name: str, *, most: int = LARGEST_ROWS) -> int:
    try:
        if not isinstance(number, bool) and int(number) == number and 1 <= number <= most:
            return int(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"{name} must be a whole number from 1 to 10**{len(str(most)) - 1}; found {number!r}."
    )
