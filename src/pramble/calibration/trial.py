"""One α tried: the designs it gives, the risk they leave and the information they keep."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pramble.calibration.target import Target, estimation_error
from pramble.information.measures import entropy
from pramble.mechanisms.plan import Plan
from pramble.risk.after.perturbed import RiskAfter
from pramble.risk.assessment import Assessment
from pramble.risk.records import record_array
from pramble.solvers.result import Design
from pramble.values import Floats, value

OF_RISK = ("tau1", "tau2", "worst")
DesignAt = Callable[[float], Mapping[str, Design]]


@value(eq=False)
class Trial:
    """What one α gives."""

    alpha: float
    value: float
    designs: Mapping[str, Design]
    left: RiskAfter | None
    error: float

    @property
    def information(self) -> float:
        """Mutual information between true and released values, over the columns, in nats."""
        return sum(design.information for design in self.designs.values())

    @property
    def kept(self) -> float:
        """The information as a share of the columns' entropy."""
        whole = sum(entropy(design.prior) for design in self.designs.values())
        return self.information / whole if whole else 1.0


@value(eq=False)
class Experiment:
    """Everything a trial needs but its α."""

    assessment: Assessment
    target: Target
    designs_at: DesignAt

    def __call__(self, alpha: float) -> Trial:
        """Design for this α and measure what it leaves."""
        designs = self.designs_at(alpha)
        left = self.assessment.after(plan_of(designs)) if self.assessment.fit else None
        n = self.assessment.n
        measured = self.target.value(left, designs, n=n)
        return Trial(alpha, measured, designs, left, estimation_error(designs, n=n))


def plan_of(designs: Mapping[str, Design]) -> Plan:
    """Return the mechanisms of the designs."""
    return Plan({name: design.mechanism for name, design in designs.items()})


def curve_of(trials: Sequence[Trial]) -> NDArray[np.void]:
    """Return the trials by rising α as records: risk, information and error at each."""
    rows = sorted(trials, key=lambda trial: trial.alpha)

    def column(name: str) -> Floats:
        holders = (trial.left if name in OF_RISK else trial for trial in rows)
        return np.array([getattr(holder, name, math.nan) for holder in holders])

    names = ("alpha", "value", *OF_RISK, "information", "kept", "error")
    records: NDArray[np.void] = record_array({name: column(name) for name in names})
    return records
