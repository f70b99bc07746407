"""The design problem, validated once and handed to one solver."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pramble.data.labels import Labels
from pramble.errors import PrivacyError
from pramble.limits import SMALLEST_ALPHA
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.ratios import check_alpha
from pramble.solvers.budget import SearchBudget
from pramble.solvers.ranks import alike_text, rank_of, released_alike
from pramble.solvers.result import Design, most_information
from pramble.solvers.turned import turned_note
from pramble.values import Floats

REASONS = {
    "time limit": "the time limit came first.",
    "effort": "the effort that was allowed is spent.",
    "interrupted": "the search was interrupted.",
    "size limit": "so many categories or so large an alpha are answered by closed forms.",
    "search": "every start of the search was tried; value or bound may not be sharp.",
    "floor": "information was given up for less variance, as information_at_least allows.",
    "precision": "weights over 2**53 and floats resolve no more.",
}
"""What a note says when the gap is above the tolerance, by why the search stopped."""

ADVICE = {
    "information": (
        ' Ask for family="general" and objective="estimation"; pramble.design can also give up a '
        "share of the information (information_at_least)."
    ),
    "loss": (
        " A design for a loss keeps released values near the true ones; to estimate shares ask for "
        'objective="estimation".'
    ),
}
"""What to do about a rank below S, by objective."""

FamilyName = Literal["uniform", "general"]
ObjectiveName = Literal["information", "estimation", "loss"]


@dataclass(frozen=True)
class Problem:
    """What :func:`~pramble.design` was asked, checked. Its keywords explain the fields.

    Attributes
    ----------
    prior : (S,) array
        Read-only probabilities that sum to 1; S is at least 2.
    alpha : float
        Positive and finite.
    labels : Labels
        The S categories.
    """

    prior: Floats
    alpha: float
    labels: Labels
    tolerance: float
    search: SearchBudget
    family: FamilyName = "general"
    objective: ObjectiveName = "information"
    invariant: bool = False
    keep_at_least: float | None = None
    symmetric: bool = False
    information_at_least: float | None = None
    outputs: Any = "same"
    workload: Floats | None = None
    loss: Floats | None = None
    distance: Distance | None = None

    @property
    def size(self) -> int:
        """The number of categories, S."""
        return len(self.prior)

    @cached_property
    def ceiling(self) -> float:
        """The most information that any mechanism could carry."""
        return most_information(self.prior, self.alpha)

    @property
    def constrained(self) -> bool:
        """Whether the search is not over all matrices of a family."""
        return bool(
            self.invariant
            or self.symmetric
            or self.keep_at_least is not None
            or self.information_at_least is not None
            or not isinstance(self.outputs, str)
        )

    def budget(self, share: float = 1.0) -> SearchBudget:
        """Return the budget of a search that may use this share of the tolerance."""
        return self.search.part(self.tolerance * share)

    def answer(
        self,
        mechanism: Mechanism,
        *,
        stopped: str = "tolerance",
        notes: tuple[str, ...] = (),
        details: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Design:
        """Return the design with a mechanism, its ``value`` and a proven ``bound``.

        It says ``"tolerance"`` iff the gap is at most the tolerance, whatever the search hoped for.
        Its rank and the categories that are released alike are always told.
        """
        details = {} if details is None else details
        rank = details["rank"] if "rank" in details else rank_of(mechanism)
        alike, labels = released_alike(mechanism), mechanism.labels
        merged = tuple(tuple(labels.values[x] for x in group.tolist()) for group in alike)
        if rank < self.size:
            lost = f"p is not identifiable from this release: the matrix has rank {rank} of "
            which = f"{self.size}; {alike_text(alike, labels)}."
            notes += (lost + which + ADVICE.get(self.objective, ""),)
        found = Design(
            mechanism=mechanism,
            prior=self.prior,
            alpha=self.alpha,
            family=self.family,
            objective=self.objective,
            distance=self.distance,
            stopped=stopped,
            notes=(*notes, *turned_note(mechanism)),
            details={**details, "rank": rank, "merged": merged, "constrained": self.constrained},
            **more,
        )
        if found.gap <= self.tolerance:
            return found if stopped == "interrupted" else replace(found, stopped="tolerance")
        if stopped == "tolerance":
            stopped = "precision" if self.information_at_least is None else "floor"
        note = f"The gap is {found.gap:.2g}, above the tolerance: {REASONS[stopped]}"
        return replace(found, stopped=stopped, notes=(*found.notes, note))


def representable(alpha: float) -> float:
    """Return α as a float; refuse one that weights over 2**53 cannot tell from zero."""
    value = check_alpha(alpha)
    if value < SMALLEST_ALPHA:
        raise PrivacyError(
            f"alpha = {value!r} is too small: weights over 2**53 cannot tell it from zero. "
            "Use a larger alpha."
        )
    return value
