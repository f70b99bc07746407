"""What section 4 of the paper printed, and the priors it was computed for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from pramble.datasets import scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHAS = (0.5, 1.0, 1.5, 2.0)
SCENARIOS = ("I", "II", "III", "IV")
SAMPLE_SIZE = 10_000
REPETITIONS = 100
THIRD_SEED = 3
"""Seed of the prior shown for scenario III, which the paper drew and did not print."""


@dataclass(frozen=True)
class Counts:
    """How many keep probabilities take each of the four values of Proposition 2."""

    v_alpha: int
    v_minus_alpha: int
    v_min: int
    v_max: int

    def as_tuple(self) -> tuple[int, int, int, int]:
        """Return the counts in the order of the paper's tables."""
        return self.v_alpha, self.v_minus_alpha, self.v_min, self.v_max


TABLES = {
    "I": (Counts(4, 6, 0, 0), Counts(5, 5, 0, 0), Counts(2, 8, 0, 0), Counts(0, 9, 0, 1)),
    "II": (Counts(7, 3, 0, 0), Counts(6, 4, 0, 0), Counts(6, 4, 0, 0), Counts(0, 9, 0, 1)),
    "III": (Counts(29, 0, 1, 0), Counts(29, 0, 1, 0), Counts(30, 0, 0, 0), Counts(29, 0, 1, 0)),
    "IV": (Counts(0, 29, 0, 1), Counts(30, 0, 0, 0), Counts(30, 0, 0, 0), Counts(30, 0, 0, 0)),
}
"""Tables 1 to 4: one entry for each of :data:`ALPHAS`."""

SEX_ALPHA = 0.05
SEX_KEEP = (0.4875, 0.4925, 0.4975, 0.5025, 0.5075, 0.5125)
"""The six values of q of Figure 5."""


def printed_counts(name: str, alpha: float) -> Counts:
    """Return the row of a scenario's table."""
    return TABLES[name][ALPHAS.index(alpha)]


def draw_third(rng: np.random.Generator, draws: int = 1) -> NDArray[np.float64]:
    """Draw priors as scenario III describes: thirty independent gammas (1, 5), normalised.

    The second parameter cancels, whether it is a rate or a scale: these are uniform draws from the
    simplex.
    """
    gammas = rng.gamma(1.0, 1 / 5, size=(draws, 30))
    return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


@cache
def priors() -> dict[str, NDArray[np.float64]]:
    """Return the prior of every scenario; the third is drawn with :data:`THIRD_SEED`."""
    third = draw_third(np.random.default_rng(THIRD_SEED))[0]
    return {name: third if name == "III" else scenario(name) for name in SCENARIOS}
