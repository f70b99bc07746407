"""One promise tried: what it proposes, the risk that leaves and the information it keeps."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pramble.calibration.proposal import Proposal
from pramble.calibration.target import Target
from pramble.privacy.certificate import certify
from pramble.risk.after.perturbed import RiskAfter
from pramble.risk.assessment import Assessment
from pramble.risk.records import record_array
from pramble.values import Floats, value

OF_RISK = ("tau1", "tau2", "worst")
DesignAt = Callable[[float], Proposal]


@value(eq=False)
class Trial:
    """What one promise gives: an α, or the ε of a central promise."""

    tried: float
    value: float
    proposal: Proposal
    left: RiskAfter | None
    error: float
    central: bool = False

    @property
    def alpha(self) -> float:
        """The α of a record: what was tried, or what a plan for a central promise has besides."""
        return certify(self.proposal.plan).alpha if self.central else self.tried

    @property
    def epsilon(self) -> float:
        """The ε of the central promise that was tried, if it was one."""
        return self.tried if self.central else math.nan

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
    """Everything a trial needs but its promise."""

    assessment: Assessment
    target: Target
    designs_at: DesignAt
    central: bool = False

    def __call__(self, tried: float) -> Trial:
        """Design for this promise and measure what it leaves."""
        proposal = self.designs_at(tried)
        left, error = self.left(proposal), proposal.error(self.assessment.n)
        return Trial(tried, self.value(proposal, left), proposal, left, error, self.central)

    def left(self, proposal: Proposal) -> RiskAfter | None:
        """Return the risk that a proposal leaves; None without a model."""
        if self.assessment.fit is None:
            return None
        return self.assessment.after(proposal.plan)

    def value(self, proposal: Proposal, left: RiskAfter | None) -> float:
        """Return the measure of a proposal."""
        n = self.assessment.n
        epsilon = self.target.epsilon_of(proposal.plan, rows=n)
        return self.target.value(left, error=proposal.error(n), epsilon=epsilon)


def curve_of(trials: Sequence[Trial]) -> NDArray[np.void]:
    """Return the trials by rising promise as records: risk, information and error at each."""
    rows = sorted(trials, key=lambda trial: trial.tried)

    def column(name: str) -> Floats:
        holders = (trial.left if name in OF_RISK else trial for trial in rows)
        return np.array([getattr(holder, name, math.nan) for holder in holders])

    names = ("alpha", "value", *OF_RISK, "information", "kept", "error", "epsilon")
    records: NDArray[np.void] = record_array({name: column(name) for name in names})
    return records
