"""The design problem, validated once and handed to one solver."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from pramble.data.labels import Labels
from pramble.errors import PrivacyError
from pramble.information.fisher import estimation_variance
from pramble.limits import SMALLEST_ALPHA
from pramble.mechanisms.arcs import Arcs
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.ratios import check_alpha
from pramble.mechanisms.uniform import UniformRows, randomized_response
from pramble.numbers import percent
from pramble.solvers.budget import SearchBudget
from pramble.solvers.result import Design, most_information
from pramble.values import Floats, Integers

# What a note says when the gap is above the tolerance, by why the search stopped.
REASONS = {
    "time limit": "the time limit came first.",
    "effort": "the effort that was allowed is spent.",
    "interrupted": "the search was interrupted.",
    "size limit": "so many categories or so large an alpha are answered by closed forms.",
    "search": "every start of the search was tried; value or bound may not be sharp.",
    "precision": "weights over 2**53 and floats resolve no more.",
}

# What to do about a rank below S, by objective.
ADVICE = {
    "information": ' Ask for family="general" and objective="estimation".',
    "loss": (
        " A design for a loss keeps released values near the true ones; to estimate shares ask for "
        'objective="estimation".'
    ),
}

FamilyName = Literal["uniform", "general"]
ObjectiveName = Literal["information", "estimation", "loss"]


@dataclass(frozen=True)
class DesignProblem:
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
    search: SearchBudget
    family: FamilyName = "general"
    objective: ObjectiveName = "information"
    invariant: bool = False
    keep_at_least: float | None = None
    symmetric: bool = False
    outputs: Any = "same"
    workload: Floats | None = None
    loss: Floats | None = None
    distance: Distance | None = None

    @property
    def size(self) -> int:
        return len(self.prior)

    @property
    def tolerance(self) -> float:
        return self.search.tolerance

    @property
    def queries(self) -> Floats:
        """The workload: all shares unless it was given."""
        return np.eye(self.size) if self.workload is None else self.workload

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
        """Return the design with a mechanism, its ``value`` and a proven ``bound``."""
        # It says "tolerance" iff the gap is at most the tolerance, whatever the search hoped for.
        # Its rank and the categories that are released alike are always told.
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
            notes=(*notes, *flipped_note(mechanism)),
            details={**details, "rank": rank, "merged": merged, "constrained": self.constrained},
            **more,
        )
        if found.gap <= self.tolerance:
            return found if stopped == "interrupted" else replace(found, stopped="tolerance")
        if stopped == "tolerance":
            stopped = "precision"
        note = f"The gap is {found.gap:.2g}, above the tolerance: {REASONS[stopped]}"
        return replace(found, stopped=stopped, notes=(*found.notes, note))


def representable_alpha(alpha: float) -> float:
    """Return α as a float; refuse one that weights over 2**53 cannot tell from zero."""
    value = check_alpha(alpha)
    if value < SMALLEST_ALPHA:
        raise PrivacyError(
            f"alpha = {value!r} is too small: weights over 2**53 cannot tell it from zero. "
            "Use a larger alpha."
        )
    return value


# Singular values below this part of the largest, times S, are rounding.
RELATIVE = 1e-13
# How many groups are named, and of each how many labels.
SHOWN = 6


def rank_of(mechanism: Mechanism) -> int:
    r"""Return the rank.

    For uniform rows, :math:`M = \operatorname{diag}(d) + o\,1^\top`: rows with :math:`d_x = 0` are
    alike and count once; if there is none, the rank is S unless :math:`1 + \sum_x o_x/d_x = 0`. For
    other matrices it is one more than the rank of the differences to the first row, which are exact
    in floats, so that rows that differ little (small α) still count.
    """
    S = mechanism.shape[0]
    if isinstance(mechanism, UniformRows):
        gaps = (mechanism.keep - mechanism.off).astype(np.float64)
        if alike := int((gaps == 0).sum()):
            return S - alike + 1
        terms = mechanism.off / gaps
        return S - int(abs(1 + terms.sum()) <= 1e-12 * (1 + np.abs(terms).sum()))
    if isinstance(mechanism, Arcs):
        values = np.abs(np.fft.fft(mechanism.pattern))
        distinct = len(np.unique(mechanism.positions))
        return min(int((values > values.max() * 1e-12).sum()), distinct)
    matrix = mechanism.matrix[:, mechanism.matrix.any(axis=0)]
    values = np.linalg.svd(matrix[1:] - matrix[0], compute_uv=False)
    return 1 + int((values > values.max(initial=0.0) * RELATIVE * S).sum())


def released_alike(mechanism: Mechanism) -> list[Integers]:
    """Return the groups of two or more categories with the same row."""
    if isinstance(mechanism, UniformRows):
        alike = np.flatnonzero(mechanism.keep == mechanism.off)
        return [alike] if len(alike) > 1 else []
    if isinstance(mechanism, Arcs):
        found = np.unique(mechanism.positions, return_inverse=True)[1]
    else:
        found = np.unique(mechanism.weights, axis=0, return_inverse=True)[1]
    found = found.ravel()
    order = np.argsort(found, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(found[order])) + 1)
    return sorted((one for one in groups if len(one) > 1), key=lambda one: int(one[0]))


def alike_text(groups: list[Integers], labels: Labels) -> str:
    """Return which categories are released alike, a few of each group."""
    if not groups:
        return "no two categories are released alike"
    named = [few_labels(group, labels, SHOWN, ", …") for group in groups[:SHOWN]]
    more = f" and {len(groups) - SHOWN} more groups" if len(groups) > SHOWN else ""
    return f"released alike: {'; '.join(named)}{more}"


def few_labels(places: Integers, labels: Labels, most: int, more: str) -> str:
    named = ", ".join(repr(labels.values[x]) for x in places[:most].tolist())
    return named + (more if len(places) > most else "")


# Categories up to which matrices other than uniform rows are looked through.
MOST_SEARCHED = 2000


def flipped_categories(mechanism: Mechanism) -> Integers:
    """Return the categories that are released as any other value likelier than as themselves."""
    S, T = mechanism.shape
    uniform = isinstance(mechanism, UniformRows)
    if S < 3 or mechanism.outputs != mechanism.categories or (S > MOST_SEARCHED and not uniform):
        return np.array([], dtype=np.int64)
    stays = mechanism.operator.stay()
    if uniform:
        return np.flatnonzero(stays < (1 - stays) / (T - 1) * (1 - 1e-9))
    others = mechanism.matrix + np.diag(np.full(S, np.inf))
    return np.flatnonzero(stays < others.min(axis=1) * (1 - 1e-9))


def flipped_note(mechanism: Mechanism) -> tuple[str, ...]:
    """Say which categories are released as themselves least often, and what that means."""
    found, labels = flipped_categories(mechanism), mechanism.labels
    if not len(found):
        return ()
    stays: Floats = mechanism.operator.stay()
    worst = int(found[np.argmin(stays[found])])
    names = few_labels(found, labels, 4, f" and {len(found) - 4} more")
    other = (1 - stays[worst]) / (len(labels) - 1)
    return (
        (
            f"{names} of the {len(labels)} categories are released as themselves less often "
            f"than as any other value ({labels.values[worst]!r}: {percent(stays[worst])} as "
            f"itself, each other {percent(other)} on average): such a release tells most by what "
            "it is not, and counted at face value it misleads. Take "
            'objective="estimation", or keep_at_least.'
        ),
    )


# Times the variance of randomised response from which a warning is given.
MUCH_WORSE = 10.0


def diagnosed_answer(
    problem: DesignProblem, mechanism: Mechanism, *, notes: tuple[str, ...] = (), **more: Any
) -> Design:
    """Return the design of a mechanism with its diagnostics; ``more`` goes to `answer`."""
    prior, found = problem.prior, diagnose(problem.prior, mechanism)
    rank, variance = found["rank"], found["estimation_variance"]
    plain = estimation_variance(prior, randomized_response(problem.size, problem.alpha))
    if problem.workload is not None and rank < problem.size:
        lost = f"the matrix has rank {rank} of {problem.size}"
        notes += (f"Only queries of the workload can be estimated from this release: {lost}.",)
    elif problem.workload is None and rank == problem.size and variance > MUCH_WORSE * plain:
        times = f"its variance is {variance / plain:.2g} times that of randomised response"
        advice = 'Ask for objective="estimation".'
        notes += (f"p is barely identifiable from this release: {times}. {advice}",)
    details = {**found, **more.pop("details", {})}
    return problem.answer(mechanism, notes=notes, details=details, **more)


def diagnose(prior: Floats, mechanism: Mechanism) -> dict[str, Any]:
    """Return rank, condition number and estimation variance of a mechanism."""
    rank, condition = rank_of(mechanism), math.inf
    if rank == mechanism.shape[0]:
        if isinstance(mechanism, Arcs) and rank == mechanism.shape[1]:
            values = np.abs(np.fft.fft(mechanism.pattern))
        else:
            matrix = mechanism.matrix[:, mechanism.matrix.any(axis=0)]
            values = np.linalg.svd(matrix, compute_uv=False)
        condition = float(values.max() / values.min())
    circle = isinstance(mechanism, Arcs)
    used = mechanism.shape[1] if circle else int(mechanism.weights.any(axis=0).sum())
    return {
        "rank": rank,
        "condition_number": condition,
        "estimation_variance": estimation_variance(prior, mechanism),
        "outputs_used": used,
    }
