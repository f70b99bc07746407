"""Built-in data: synthetic people of New York, and the numbers of the source paper."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

CLASS_TOTAL = 2**32
LEVEL_TOTAL = 2**16

NOT_APPLICABLE = "Not applicable"
AGES = ("<15", "15", "16", "17", "18-24", "25-35", "36-50", "51-70", ">70")
EDUCATION = (
    "None",
    "Nursery to grade 4",
    "Grade 5 to 8",
    "Grade 9",
    "Grade 10",
    "Grade 11",
    "Grade 12",
    "1 year of college",
    "2 years of college",
    "4 years of college",
    "5+ years of college",
)
# Ownership and mortgage are one variable of the model: only owners have a mortgage or none.
TENURES = (
    (NOT_APPLICABLE, NOT_APPLICABLE),
    ("Owned", "Free and clear"),
    ("Owned", "Mortgaged"),
    ("Rented", NOT_APPLICABLE),
)
VARIABLES: Mapping[str, tuple[Any, ...]] = {
    "TENURE": TENURES,
    "AGE": AGES,
    "SEX": ("Male", "Female"),
    "MARST": ("Married", "Separated", "Divorced", "Widowed", "Never married"),
    "RACESING": ("White", "Black", "American Indian", "Asian or Pacific", "Other"),
    "EDUC": EDUCATION,
    "EMPSTAT": (NOT_APPLICABLE, "Employed", "Unemployed", "Not in labour force"),
    "DISABWRK": (NOT_APPLICABLE, "No", "Yes"),
    "VETSTAT": (NOT_APPLICABLE, "Not a veteran", "Veteran"),
}


@dataclass(frozen=True)
class Domain:
    """People of some ages, among whom every combination of the values in ``only`` is possible.

    A variable that ``only`` does not name takes any value except "Not applicable".
    """

    name: str
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def levels(self, variable: str) -> tuple[int, ...]:
        """Positions in ``VARIABLES[variable]`` that are possible here."""
        labels = VARIABLES[variable]
        possible = self.only.get(variable, [v for v in labels if v != NOT_APPLICABLE])
        return tuple(labels.index(value) for value in possible)


_NO = (NOT_APPLICABLE,)
_NEVER_DISSOLVED = ("Married", "Separated", "Never married")
DOMAINS = (
    Domain(
        "under 15",
        {
            "AGE": ("<15",),
            "MARST": ("Never married",),
            "EDUC": EDUCATION[:6],
            "EMPSTAT": _NO,
            "DISABWRK": _NO,
            "VETSTAT": _NO,
        },
    ),
    Domain(
        "15",
        {
            "AGE": ("15",),
            "MARST": _NEVER_DISSOLVED,
            "EDUC": EDUCATION[:7],
            "EMPSTAT": _NO,
            "DISABWRK": _NO,
            "VETSTAT": _NO,
        },
    ),
    Domain(
        "16",
        {"AGE": ("16",), "MARST": _NEVER_DISSOLVED, "EDUC": EDUCATION[:9], "VETSTAT": _NO},
    ),
    Domain(
        "17",
        {
            "AGE": ("17",),
            "MARST": _NEVER_DISSOLVED,
            "EDUC": EDUCATION[:9],
            "VETSTAT": ("Not a veteran",),
        },
    ),
    Domain("adult", {"AGE": AGES[4:]}),
)


@cache
def _model() -> tuple[NDArray[np.uint64], dict[str, NDArray[np.uint32]]]:
    """Cumulative class weights (K,), and for each variable cumulative level weights (K, L)."""
    text = (files("pramble") / "resources" / "synthetic_new_york.json").read_text(encoding="utf-8")
    model = json.loads(text)
    classes = np.cumsum(np.array(model["classes"], dtype=np.uint64))
    levels = {
        name: np.cumsum([row[j] for row in model["levels"]], axis=1).astype(np.uint32)
        for j, name in enumerate(model["variables"])
    }
    return classes, levels


def _draw(cumulative: NDArray[np.uint32], at: NDArray[np.uint8], rng: Any) -> NDArray[np.int8]:
    """One level for each row: how many cumulative weights of its class a uniform draw has passed.

    A level of weight zero is never drawn: its cumulative weight equals that of the level before,
    and the last ones equal the total, which no draw reaches.
    """
    draw = rng.integers(0, LEVEL_TOTAL, size=len(at), dtype=np.uint16)
    level = np.zeros(len(at), dtype=np.int8)
    for column in cumulative.T[:-1]:
        level += draw >= column[at]
    return level


def synthetic_new_york(n: int = 953_076, seed: int = 0) -> Any:
    r"""Draw people with the paper's ten variables and realistic dependence between them.

    The law is a mixture of latent classes within age domains,

    .. math:: P(x) = \sum_k \pi_k \prod_j \theta_{jk}(x_j),

    fitted to the American Community Survey 2024 of New York (public domain, weighted by person;
    ``scripts/fit_synthetic_new_york.py``). Nobody in the result is real. Impossible combinations
    have probability exactly zero: whoever is under 15 has never married and has no grade above
    11; divorced or widowed people are adults; employment and work disability start at 16, veteran
    status at 17, veterans and four years of college at 18; only owners have a mortgage or none.

    How close it is: the probability of a level differs between survey and model by at most
    0.00003 (mean 0.00001), and that of a pair of levels of two variables by at most 0.0015 (mean
    0.00015).

    Parameters
    ----------
    n : int
        Number of people; the default is the size of the paper's file.
    seed : int
        Seed of the generator: the same seed and ``n`` give the same people.

    Returns
    -------
    pyarrow.Table
        Ten dictionary-encoded columns of text: OWNERSHP, MORTGAGE, AGE, SEX, MARST, RACESING,
        EDUC, EMPSTAT, DISABWRK, VETSTAT.

    Examples
    --------
    >>> people = synthetic_new_york(1000, seed=1)
    >>> people.shape
    (1000, 10)
    >>> people["AGE"].combine_chunks().dictionary.to_pylist()
    ['<15', '15', '16', '17', '18-24', '25-35', '36-50', '51-70', '>70']
    """
    import pyarrow as pa

    if n < 0:
        raise InvalidInput(f"n must be a number of people, 0 or more; found {n}")
    classes, levels = _model()
    rng = np.random.default_rng(seed)
    draw = rng.integers(0, CLASS_TOTAL, size=n, dtype=np.uint32)
    at = np.searchsorted(classes, draw, side="right").astype(np.uint8)
    columns = {}
    for name, cumulative in levels.items():
        codes = _draw(cumulative, at, rng)
        if name == "TENURE":
            for place, column in enumerate(("OWNERSHP", "MORTGAGE")):
                labels = list(dict.fromkeys(pair[place] for pair in TENURES))
                recode = np.array([labels.index(p[place]) for p in TENURES], dtype=np.int8)
                columns[column] = pa.DictionaryArray.from_arrays(recode[codes], labels)
        else:
            columns[name] = pa.DictionaryArray.from_arrays(codes, list(VARIABLES[name]))
    return pa.table(columns)


def scenario(name: str) -> NDArray[np.float64]:
    """Prior of a simulated scenario of the paper (section 4): "I", "II" or "IV".

    The prior of scenario III was drawn at random and not printed.

    Parameters
    ----------
    name : str
        "I", "II" (ten categories) or "IV" (thirty).

    Returns
    -------
    ndarray
        The probabilities; they sum to one.

    Examples
    --------
    >>> float(scenario("I")[0]), len(scenario("IV"))
    (0.3, 30)
    """
    priors = {
        "I": [0.3, 0.1, 0.2, 0.08, 0.02, 0.04, 0.06, 0.1, 0.01, 0.09],
        "II": [0.0336, 0.1059, 0.1697, 0.0962, 0.0180, 0.0062, 0.1097, 0.0005, 0.1233, 0.3369],
        "IV": [0.05] + [0.95 / 29] * 29,
    }
    if name not in priors:
        raise InvalidInput(f'a scenario is one of "I", "II", "IV"; found {name!r}')
    prior = np.array(priors[name])
    prior.setflags(write=False)
    return prior


def new_york_2000_margins() -> dict[str, dict[str, int]]:
    """Return the counts of the paper's file: ten variables of 953,076 people, census 2000.

    Returns
    -------
    dict
        For each variable, its labels in order with the number of people in New York. MORTGAGE
        has a fourth level and MARST a sixth, which the later survey behind `synthetic_new_york`
        lacks.

    Examples
    --------
    >>> new_york_2000_margins()["SEX"]
    {'Male': 459269, 'Female': 493807}
    """
    counts = {
        "OWNERSHP": (29039, 571922, 352115),
        "MORTGAGE": (381154, 162251, 406049, 3622),
        "AGE": (201062, 13292, 13093, 13455, 82540, 145106, 219893, 177662, 86973),
        "SEX": (459269, 493807),
        "MARST": (361144, 27747, 22999, 59363, 55134, 426689),
        "RACESING": (763084, 132899, 5407, 48414, 3272),
        "EDUC": (
            *(80636, 82611, 92941, 30820, 34034, 32280),
            *(284095, 89785, 51348, 101673, 72853),
        ),
        "EMPSTAT": (214354, 419917, 30440, 288365),
        "DISABWRK": (214354, 634052, 104670),
        "VETSTAT": (227447, 650967, 74662),
    }
    labels = {
        **VARIABLES,
        "OWNERSHP": (NOT_APPLICABLE, "Owned", "Rented"),
        "MORTGAGE": (NOT_APPLICABLE, "Free and clear", "Mortgaged", "Contract to purchase"),
        "MARST": (
            *("Married, spouse present", "Married, spouse absent", "Separated"),
            *("Divorced", "Widowed", "Never married"),
        ),
    }
    return {name: dict(zip(labels[name], row, strict=True)) for name, row in counts.items()}
