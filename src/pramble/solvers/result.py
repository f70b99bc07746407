"""What a design is: a mechanism, what it is worth, and how we know that nothing is better."""

import math
from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pramble.errors import InvalidInput, PrivacyError
from pramble.information.distributions import as_prior
from pramble.information.measures import entropy, information_bound, mutual_information
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.distance import Distance
from pramble.mechanisms.uniform import randomized_response
from pramble.numbers import percent
from pramble.privacy.certificate import Certificate, certify
from pramble.shown import Display, Facts
from pramble.values import Floats, Integers, frozen

if TYPE_CHECKING:
    from matplotlib.figure import Figure


STOPPED = ("tolerance", "time limit", "effort", "interrupted", "size limit", "search", "precision")


@frozen(eq=False)
class Level:
    """Categories that are kept with one and the same probability.

    Attributes
    ----------
    name : str
        The paper's name of the value, such as ``"v_α"``, or a name by rank above its threshold.
    probability : float
        The keep probability before rounding to exact weights.
    positions : (k,) array of int64
        Where these categories stand.
    """

    name: str
    probability: float
    positions: Integers

    def __len__(self) -> int:
        return len(self.positions)


@frozen(eq=False, repr=False)
class Design(Display):
    r"""The answer of :func:`~pramble.design`: a certified mechanism and a proof of its quality.

    Attributes
    ----------
    mechanism : Mechanism
        Rounded to exact weights on the private side.
    prior : (S,) array
        The prior it was designed for, read-only.
    alpha : float
        The privacy parameter α that was asked for.
    family, objective : str
        What was optimised, over which matrices.
    value : float
        The objective **at this mechanism**, after rounding.
    bound : float
        A proven bound on the best possible value in the family: from above for information, from
        below for estimation and loss.
    distance : Distance, optional
        Where α is per unit of distance between categories.
    stopped : str
        Why the search ended: ``"tolerance"`` (the gap is at most the tolerance), ``"effort"`` or
        ``"time limit"`` (what was allowed is spent), ``"interrupted"``, ``"size limit"`` (too many
        categories for more than a closed form), ``"search"`` (every start was tried) or
        ``"precision"`` (rounding to weights, or floats, left a gap above the tolerance). A note
        says so whenever the gap is above the tolerance.
    notes : tuple of str
        What the reader should know, one sentence each.
    details : mapping
        Figures of the solver.

    Examples
    --------
    >>> import pramble
    >>> d = pramble.design([0.5, 0.3, 0.2], 1.0)
    >>> d.certificate.satisfies(1.0), d.gap <= 1e-6
    (True, True)
    >>> round(d.value, 6), round(d.share, 3)
    (0.11412, 0.926)
    """

    mechanism: Mechanism
    prior: Floats
    alpha: float
    family: str
    objective: str
    value: float
    bound: float
    distance: Distance | None = None
    stopped: str = "tolerance"
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.certificate.satisfies(self.alpha):
            raise PrivacyError(
                f"A design for alpha = {self.alpha!r} must satisfy it; {self.certificate}."
            )
        if self.stopped not in STOPPED:
            raise InvalidInput(f"stopped must be one of {STOPPED}; found {self.stopped!r}.")
        object.__setattr__(self, "prior", as_prior(self.prior, size=self.mechanism.shape[0]))
        object.__setattr__(self, "notes", tuple(self.notes))

    @cached_property
    def certificate(self) -> Certificate:
        """The privacy certificate of the mechanism; it satisfies ``alpha``."""
        return certify(self.mechanism, distance=self.distance)

    @property
    def gap(self) -> float:
        """The relative distance between ``value`` and ``bound``.

        For a loss, relative to what ``value`` exceeds the loss without privacy by.
        """
        if self.bound == self.value:
            return 0.0
        if math.isinf(self.value):
            return math.inf
        size = abs(self.value - float(self.details.get("unprotected", 0.0)))
        return abs(self.bound - self.value) / size if size else math.inf

    @cached_property
    def information(self) -> float:
        """Mutual information at the mechanism, in nats, whatever the objective."""
        return mutual_information(self.prior, self.mechanism)

    @cached_property
    def ceiling(self) -> float:
        """A proven bound on the information of any mechanism for these categories at this α.

        The smaller of the universal bound and H(X); where all matrices were searched for
        information, the bound of that search.
        """
        if self.distance is not None:
            known = self.bound if self.objective == "information" else self.entropy
            return max(known, self.information)
        most = most_information(self.prior, self.alpha)
        searched = self.family == "general" and self.objective == "information"
        if searched and not self.details.get("constrained"):
            return min(most, max(self.bound, self.information))
        return max(most, self.information)

    @cached_property
    def entropy(self) -> float:
        """H(X) of the prior, in nats."""
        return entropy(self.prior)

    @property
    def share_of_entropy(self) -> float:
        """The information carried, as a share of H(X): what a released value tells of the true."""
        return self.information / self.entropy if self.entropy else 1.0

    @property
    def share(self) -> float:
        """The information carried, as a share of ``ceiling``."""
        return self.information / self.ceiling if self.ceiling else 1.0

    @cached_property
    def keep(self) -> Floats:
        """The probability that a category is released unchanged, per category."""
        return self.mechanism.operator.stay()

    @property
    def unchanged(self) -> float:
        """The probability that a value drawn from the prior is released unchanged."""
        return float(self.prior @ self.keep)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The distinct keep probabilities in the paper's words; empty outside its family."""
        return tuple(self.details.get("levels", ()))

    def shown(self) -> Facts:
        """Return what was found, how good it is, and what to know."""
        S, T = self.mechanism.shape
        size = f"{S} categories" if S == T else f"{S} categories, {T} outputs"
        title = f"Design: {self.family} family, {size}, α = {self.alpha:g}"
        return Facts(title, facts(self), notes=self.notes)

    def plot(self) -> "Figure":
        """Return a figure of the matrix: a row for each true value."""
        return self.mechanism.plot()


def most_information(prior: Floats, alpha: float) -> float:
    """Return a bound on the information of any mechanism, in closed form.

    It is the smaller of the universal bound at α and the entropy of the prior; for two categories
    it is what randomised response carries, of which every other mechanism is a blurred copy.
    """
    if len(prior) == 2:
        return mutual_information(prior, randomized_response(2, alpha))
    return min(information_bound(alpha), entropy(prior))


SHOWN = 4

UNITS = {"information": "nats", "estimation": "× 1/n"}

OBJECTIVES = {
    "information": "mutual information",
    "estimation": "summed variance of the estimate of p",
    "loss": "expected loss",
    "queries": "summed variance of the queries",
}


def facts(design: Design) -> list[tuple[str, str]]:
    """Return the rows that a design is shown by."""
    unit = f" {UNITS[design.objective]}" if design.objective in UNITS else ""
    known, losses = design.details, list[tuple[str, str]]()
    objective = "queries" if "queries" in known else design.objective
    if objective == "loss":
        text = (
            f"{known['response']:.6g} by randomised response, {known['constant']:.6g} by one value"
        )
        losses = [("loss without design", f"{text}; {known['unprotected']:.6g} without privacy")]
    rows = [
        (OBJECTIVES.get(objective, objective), f"{design.value:.9g}{unit}"),
        ("proven bound", f"{design.bound:.9g}{unit} (gap {design.gap:.2g})"),
        *losses,
        (
            "information kept",
            (
                f"{percent(design.share_of_entropy, 2)} of H(X) = {design.entropy:.6g} nats; "
                f"{percent(design.share, 2)} of a bound on all matrices, {design.ceiling:.6g}"
            ),
        ),
        (
            "kept unchanged",
            (
                f"{design.unchanged:.4f} overall; {design.keep.min():.4g} to "
                f"{design.keep.max():.4g} by category"
            ),
        ),
        *((f"kept at {level.name}", level_text(design, level)) for level in design.levels),
        ("certificate", str(design.certificate)),
    ]
    rank, size = design.details.get("rank"), design.mechanism.shape[0]
    if rank is not None and rank < size:
        rows.append(("rank", f"{rank} of {size}: p cannot be estimated from the release"))
    if design.stopped != "tolerance":
        rows.append(("stopped", f"by {design.stopped}"))
    return rows


def level_text(design: Design, level: Level) -> str:
    labels = design.mechanism.labels.values
    if len(level) == len(labels):
        which = "all categories"
    else:
        names = ", ".join(repr(labels[i]) for i in level.positions[:SHOWN].tolist())
        which = names + (", …" if len(level) > SHOWN else "")
    return f"{level.probability:.6g}, {len(level)} of {len(labels)}: {which}"
