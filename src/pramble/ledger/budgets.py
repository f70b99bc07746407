"""Budgets: the most that may be spent on some people, and what is refused beyond it."""

from fractions import Fraction
from typing import Any, TypeVar

from pramble.errors import PrivacyError
from pramble.privacy.central_privacy import CentralPrivacy
from pramble.privacy.guarantee import RecordPrivacy

G = TypeVar("G", RecordPrivacy, CentralPrivacy)


def refuse_beyond(budget: G | None, *, before: G, more: G) -> None:
    """Refuse to spend beyond a budget, saying what is left of it."""
    if budget is None or budget.allows(before + more):
        return
    if isinstance(budget, CentralPrivacy):
        raise PrivacyError(
            f"This release would spend {pair(more)}; these people have spent {pair(before)} of "
            f"the central budget {pair(budget)} already. Nothing was released."
        )
    if before.is_none or more.is_none:
        which = "This release has" if more.is_none else "An earlier release of these people has"
        raise PrivacyError(
            f"{which} protected tables, which no budget of α can count: give a central budget "
            "(central_budget, --set central_budget=2,1e-5) in its place. Nothing was released."
        )
    left = max(budget.alpha - before.alpha, Fraction(0))
    raise PrivacyError(
        f"This release would spend {more.shown:.6g}; these people have spent {before.shown:.6g} "
        f"of the budget {budget.shown:.6g} already, so at most {float(left):.6g} is left. Nothing "
        "was released."
    )


def pair(central: Any) -> str:
    """Return ε and δ in a few digits."""
    return f"ε = {central.shown:.6g}, δ = {central.shown_delta:.3g}"


def smaller(one: G | None, two: G | None) -> G | None:
    """Return what both of two budgets allow."""
    if one is None or two is None:
        return one if two is None else two
    if isinstance(one, CentralPrivacy) and isinstance(two, CentralPrivacy):
        return CentralPrivacy(min(one.epsilon, two.epsilon), min(one.delta, two.delta))
    return one if two.allows(one) else two
