"""One α tried: what it proposes, the risk that leaves and the information it keeps."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pramble.calibration.proposal import Proposal
from pramble.calibration.target import Target
from pramble.risk.after.perturbed import RiskAfter
from pramble.risk.assessment import Assessment
from pramble.risk.records import record_array
from pramble.values import Floats, value

OF_RISK = ("tau1", "tau2", "worst")
DesignAt = Callable[[float], Proposal]


@value(eq=False)
class Trial:
    """What one α gives."""

    alpha: float
    value: float
    proposal: Proposal
    left: RiskAfter | None
    error: float

    @property
    def information(self) -> float:
        """Mutual information between true and released values, over the columns, in nats."""
        return sum(self.proposal.informations.values())

    @property
    def kept(self) -> float:
        """The information as a share of the columns' entropy."""
        whole = self.proposal.whole
        return self.information / whole if whole else 1.0


@value(eq=False)
class Experiment:
    """Everything a trial needs but its α."""

    assessment: Assessment
    target: Target
    designs_at: DesignAt

    def __call__(self, alpha: float) -> Trial:
        """Design for this α and measure what it leaves."""
        proposal = self.designs_at(alpha)
        left = self.assessment.after(proposal.plan) if self.assessment.fit else None
        error = proposal.error(self.assessment.n)
        return Trial(alpha, self.target.value(left, error=error), proposal, left, error)


def curve_of(trials: Sequence[Trial]) -> NDArray[np.void]:
    """Return the trials by rising α as records: risk, information and error at each."""
    rows = sorted(trials, key=lambda trial: trial.alpha)

    def column(name: str) -> Floats:
        holders = (trial.left if name in OF_RISK else trial for trial in rows)
        return np.array([getattr(holder, name, math.nan) for holder in holders])

    names = ("alpha", "value", *OF_RISK, "information", "kept", "error")
    records: NDArray[np.void] = record_array({name: column(name) for name in names})
    return records
