"""The source paper: its objects under clear names, and the numbers it printed.

F. Ayed, M. Battiston and F. Camerlenghi, *An information theoretic approach to post randomization
methods under differential privacy* (Statistics and Computing, 2020). Its errata are mended here;
``pramble study`` reproduces and corrects every table and figure.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from pramble.errors import InvalidInput
from pramble.solvers.uniform.polytope import (
    KeepLevels,
    SymmetricOptimum,
    keep_levels,
    privacy_constraints,
    privacy_vertices,
    symmetric_optimum,
    vertex_threshold,
)
from pramble.values import Floats, read_only

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
    "new_york_2000_margins",
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
    >>> from pramble.paper import printed_counts
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
    >>> from pramble.paper import scenario
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
    >>> from pramble.paper import draw_third
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
    >>> from pramble.paper import priors
    >>> [len(prior) for prior in priors().values()]
    [10, 10, 30, 30]
    """
    third = draw_third(np.random.default_rng(THIRD_SEED))[0]
    return {name: third if name == "III" else scenario(name) for name in SCENARIOS}


def _margin(labels: str, *counts: int) -> dict[str, int]:
    return dict(zip(labels.split("|"), counts, strict=True))


# The counts behind :func:`new_york_2000_margins`.
NEW_YORK_2000 = {
    "OWNERSHP": _margin("Not applicable|Owned|Rented", 29039, 571922, 352115),
    "MORTGAGE": _margin(
        "Not applicable|Free and clear|Mortgaged|Contract to purchase",
        *(381154, 162251, 406049, 3622),
    ),
    "AGE": _margin(
        "<15|15|16|17|18-24|25-35|36-50|51-70|>70",
        *(201062, 13292, 13093, 13455, 82540, 145106, 219893, 177662, 86973),
    ),
    "SEX": _margin("Male|Female", 459269, 493807),
    "MARST": _margin(
        "Married, spouse present|Married, spouse absent|Separated|Divorced|Widowed|Never married",
        *(361144, 27747, 22999, 59363, 55134, 426689),
    ),
    "RACESING": _margin(
        "White|Black|American Indian|Asian or Pacific|Other",
        *(763084, 132899, 5407, 48414, 3272),
    ),
    "EDUC": _margin(
        "None|Nursery to grade 4|Grade 5 to 8|Grade 9|Grade 10|Grade 11|Grade 12|"
        "1 year of college|2 years of college|4 years of college|5+ years of college",
        *(80636, 82611, 92941, 30820, 34034, 32280, 284095, 89785, 51348, 101673, 72853),
    ),
    "EMPSTAT": _margin(
        "Not applicable|Employed|Unemployed|Not in labour force", 214354, 419917, 30440, 288365
    ),
    "DISABWRK": _margin("Not applicable|No|Yes", 214354, 634052, 104670),
    "VETSTAT": _margin("Not applicable|Not a veteran|Veteran", 227447, 650967, 74662),
}


def new_york_2000_margins() -> dict[str, dict[str, int]]:
    """Return the counts of the paper's file: ten variables of 953,076 people, census 2000.

    Returns
    -------
    dict
        For each variable, its labels in order with the number of people in New York. MORTGAGE
        has a fourth level and MARST a sixth, which the later survey behind
        :func:`~pramble.datasets.synthetic_new_york` lacks.

    Examples
    --------
    >>> from pramble.paper import new_york_2000_margins
    >>> new_york_2000_margins()["SEX"]
    {'Male': 459269, 'Female': 493807}
    """
    return {name: dict(counts) for name, counts in NEW_YORK_2000.items()}
