"""What a calibration says."""

import math
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramble.calibration.proposals import Proposal
from pramble.calibration.search import OF_RISK, Target
from pramble.data.frames import Tidy
from pramble.mechanisms.plan import Plan
from pramble.privacy.shuffled.central import CentralGuarantee
from pramble.risk.assessment import Assessment
from pramble.risk.remaining import RiskAfter
from pramble.shown import Display, Facts, number
from pramble.values import value
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@value(eq=False, repr=False)
class Calibration(Display, Tidy):
    """The α that meets a target, what it gives, and the curve it was found on.

    Attributes
    ----------
    alpha : float
        For a measure of risk the largest α found that meets the target, for an error the smallest;
        over several columns the total. When ``met`` is false, the α that came nearest.
    value : float
        The measure at exactly the mechanisms of ``plan``.
    met : bool
        Whether ``value`` is at most the target.
    proposal : Proposal
        ``designs``, ``plan``, and what they keep.
    target : Target
        ``target.measure``, ``target.at_most`` and ``target.level``.
    before : Assessment
        The risk of the file as it is.
    after : RiskAfter or None
        The risk left at ``alpha``.
    curve : record array
        For everything tried, in order: ``alpha``, ``value``, ``tau1``, ``tau2``, ``worst``,
        ``information`` (nats), ``kept`` (of the entropy), ``error``, ``epsilon``.
    notes : tuple of str
        What the reader must know.
    central : CentralGuarantee or None
        What is proven of the whole file in random order, where δ was given.
    epsilon : float
        With ``promise="central"`` the ε that was found; α is then what the plan has besides.

    Examples
    --------
    >>> import pramble
    >>> people = {"age": [20, 20, 40, 60] * 5, "sex": ["f", "f", "m", "f"] * 5}
    >>> k = pramble.calibrate(people, ["age", "sex"], population_size=50, model="independence",
    ...                       column="age", measure="worst", at_most=0.1)
    >>> k.met, k.value <= 0.1, k.design.certificate.satisfies(k.alpha)
    (True, True, True)
    >>> k.curve.dtype.names[:3]
    ('alpha', 'value', 'tau1')
    """

    alpha: float
    value: float
    met: bool
    proposal: Proposal
    target: Target
    before: Assessment = field(repr=False)
    after: RiskAfter | None = field(repr=False)
    curve: NDArray[np.void] = field(repr=False)
    notes: tuple[str, ...]
    central: CentralGuarantee | None = None
    epsilon: float = math.nan

    @property
    def tried(self) -> tuple[str, float]:
        """What was searched for, "alpha" or "epsilon", and what was found."""
        if math.isnan(self.epsilon):
            return "alpha", self.alpha
        return "epsilon", self.epsilon

    @property
    def designs(self) -> Mapping[str, Any]:
        """The design of each column; with ``columns=`` the one of all of them."""
        return self.proposal.designs

    @property
    def design(self) -> Any:
        """The one design; with several columns on their own, all of them by name."""
        return next(iter(self.designs.values())) if len(self.designs) == 1 else self.designs

    @property
    def plan(self) -> Plan:
        """What is done to a record."""
        return self.proposal.plan

    def columns(self) -> dict[str, list[Any]]:
        """Return the curve as plain lists."""
        return {name: self.curve[name].tolist() for name in self.curve.dtype.names or ()}

    def shown(self) -> Facts:
        """Return what was found, what it gives, and what to know."""
        searched, found = self.tried
        met = "met" if self.met else "NOT met"
        rows = [
            ("α" if searched == "alpha" else "ε", number(found)),
            (self.target.measure, f"{number(self.value)}, at most {self.target.at_most:g}: {met}"),
        ]
        if self.after is not None:
            left, was = number(self.after.tau2, 3), number(self.before.tau2, 3)
            rows.append(("τ2", f"{was} before, {left} after"))
        if self.central is not None:
            rows.append(("central", f"ε = {number(self.central.epsilon)}"))
        rows.append(("tried", several(len(self.curve), "design")))
        return Facts("Calibration", rows, notes=self.notes)

    def plot(self) -> "Figure":
        """Return a figure of the measure and of information, with the target and the choice."""
        from pramble.plots.tradeoffs import plot_calibration

        return plot_calibration(self)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON."""
        figures = {
            "alpha": self.alpha,
            "value": self.value,
            "met": self.met,
            "measure": self.target.measure,
            "at_most": self.target.at_most,
            "level": self.target.level,
            "columns": {name: design.alpha for name, design in self.designs.items()},
            "information": dict(self.proposal.informations),
            "before": self.before.summary(),
            "notes": list(self.notes),
            "curve": self.columns(),
        }
        if self.central is not None:
            figures["central"] = {
                name: getattr(self.central, name) for name in ("epsilon", "delta", "lower")
            }
        if self.after is not None:
            figures["after"] = {name: getattr(self.after, name) for name in OF_RISK}
        return figures
