"""The source paper: its objects under clear names, and the numbers it printed.

F. Ayed, M. Battiston and F. Camerlenghi, *An information theoretic approach to post randomization
methods under differential privacy* (Statistics and Computing, 2020). Its errata are mended here;
``pramble study`` reproduces and corrects every table and figure.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from pramble.errors import InvalidInput
from pramble.values import Floats, read_only
from pramble_study.feasible_set import (
    KeepLevels,
    SymmetricOptimum,
    keep_levels,
    privacy_constraints,
    privacy_vertices,
    symmetric_optimum,
    vertex_threshold,
)

__all__ = [
    "ALPHAS",
    "REPETITIONS",
    "SAMPLE_SIZE",
    "SCENARIOS",
    "SEX_ALPHA",
    "SEX_KEEP",
    "TABLES",
    "THIRD_SEED",
    "Counts",
    "KeepLevels",
    "SymmetricOptimum",
    "draw_third",
    "keep_levels",
    "printed_counts",
    "priors",
    "privacy_constraints",
    "privacy_vertices",
    "scenario",
    "symmetric_optimum",
    "vertex_threshold",
]

# The α of section 4.
ALPHAS = (0.5, 1.0, 1.5, 2.0)

# Its simulated scenarios.
SCENARIOS = ("I", "II", "III", "IV")

# The people in each simulated file.
SAMPLE_SIZE = 10_000

# The releases of each file.
REPETITIONS = 100

# Seed of the prior shown for scenario III, which the paper drew and did not print.
THIRD_SEED = 3

# The α of Figures 5 and 6.
SEX_ALPHA = 0.05

# The six values of q of Figure 5.
SEX_KEEP = (0.4875, 0.4925, 0.4975, 0.5025, 0.5075, 0.5125)


class Counts(NamedTuple):
    """How many keep probabilities take each of the four values of Proposition 2."""

    v_alpha: int
    v_minus_alpha: int
    v_min: int
    v_max: int


# Tables 1 to 4: the vertices printed as optimal, one for each of :data:`ALPHAS`.
TABLES = {
    "I": (Counts(4, 6, 0, 0), Counts(5, 5, 0, 0), Counts(2, 8, 0, 0), Counts(0, 9, 0, 1)),
    "II": (Counts(7, 3, 0, 0), Counts(6, 4, 0, 0), Counts(6, 4, 0, 0), Counts(0, 9, 0, 1)),
    "III": (Counts(29, 0, 1, 0), Counts(29, 0, 1, 0), Counts(30, 0, 0, 0), Counts(29, 0, 1, 0)),
    "IV": (Counts(0, 29, 0, 1), Counts(30, 0, 0, 0), Counts(30, 0, 0, 0), Counts(30, 0, 0, 0)),
}


def printed_counts(name: str, alpha: float) -> Counts:
    """Return the row of a scenario's table.

    Examples
    --------
    >>> from pramble_study.paper import printed_counts
    >>> printed_counts("I", 2.0)
    Counts(v_alpha=0, v_minus_alpha=9, v_min=0, v_max=1)
    """
    return TABLES[name][ALPHAS.index(alpha)]


def scenario(name: str) -> Floats:
    """Prior of a simulated scenario of the paper (section 4): "I", "II" or "IV".

    The prior of scenario III was drawn at random and not printed.

    Parameters
    ----------
    name : str
        "I", "II" (ten categories) or "IV" (thirty).

    Returns
    -------
    ndarray
        The probabilities, read-only; they sum to one.

    Examples
    --------
    >>> from pramble_study.paper import scenario
    >>> float(scenario("I")[0]), len(scenario("IV"))
    (0.3, 30)
    """
    printed = {
        "I": [0.3, 0.1, 0.2, 0.08, 0.02, 0.04, 0.06, 0.1, 0.01, 0.09],
        "II": [0.0336, 0.1059, 0.1697, 0.0962, 0.0180, 0.0062, 0.1097, 0.0005, 0.1233, 0.3369],
        "IV": [0.05] + [0.95 / 29] * 29,
    }
    if name not in printed:
        raise InvalidInput(f'a scenario is one of "I", "II", "IV"; found {name!r}')
    return read_only(np.array(printed[name]))


def draw_third(rng: np.random.Generator, draws: int = 1) -> Floats:
    """Draw priors as scenario III describes: thirty independent gammas (1, 5), normalised.

    The second parameter cancels, whether it is a rate or a scale: these are uniform draws from the
    simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from pramble_study.paper import draw_third
    >>> draw_third(np.random.default_rng(3), draws=2).shape
    (2, 30)
    """
    gammas = rng.gamma(1.0, 1 / 5, size=(draws, 30))
    return np.asarray(gammas / gammas.sum(axis=1, keepdims=True))


@cache
def priors() -> dict[str, Floats]:
    """Return the prior of every scenario; the third is drawn with :data:`THIRD_SEED`.

    Examples
    --------
    >>> from pramble_study.paper import priors
    >>> [len(prior) for prior in priors().values()]
    [10, 10, 30, 30]
    """
    third = draw_third(np.random.default_rng(THIRD_SEED))[0]
    return {name: third if name == "III" else scenario(name) for name in SCENARIOS}
