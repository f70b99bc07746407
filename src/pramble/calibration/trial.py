"""One α tried: the designs it gives, the risk they leave and the information they keep."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramble.calibration.target import Target, estimation_error
from pramble.information.measures import entropy
from pramble.risk.assessment import Assessment
from pramble.risk.perturbed import RiskAfter
from pramble.risk.records import record_array
from pramble.solvers.result import Design

DesignAt = Callable[[float], Mapping[str, Design]]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Bench:
    """Everything a trial needs but its α."""

    assessment: Assessment
    target: Target
    designs_at: DesignAt

    def __call__(self, alpha: float) -> Trial:
        """Design for this α and measure what it leaves."""
        designs = self.designs_at(alpha)
        left = None
        if self.assessment.fit is not None:
            left = self.assessment.after({name: d.mechanism for name, d in designs.items()})
        n = self.assessment.n
        return Trial(
            alpha,
            self.target.value(left, designs, n=n),
            designs,
            left,
            estimation_error(designs, n=n),
        )


def curve_of(trials: Sequence[Trial]) -> NDArray[np.void]:
    """Return the trials by rising α as records: risk, information and error at each."""
    rows = sorted(trials, key=lambda trial: trial.alpha)
    nan = float("nan")
    columns = {
        "alpha": [trial.alpha for trial in rows],
        "value": [trial.value for trial in rows],
        "tau1": [nan if trial.left is None else trial.left.tau1 for trial in rows],
        "tau2": [nan if trial.left is None else trial.left.tau2 for trial in rows],
        "worst": [nan if trial.left is None else trial.left.worst for trial in rows],
        "information": [trial.information for trial in rows],
        "kept": [trial.kept for trial in rows],
        "error": [trial.error for trial in rows],
    }
    records: NDArray[np.void] = record_array(
        {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
    )
    return records
