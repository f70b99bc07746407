"""Built-in data: synthetic New Yorkers, a synthetic island, the counts of the paper's file."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramble.data.labels import Labels
from pramble.errors import InvalidInput
from pramble.geography.areas import Areas
from pramble.geography.reading import bordering

__all__ = [
    "new_york_2000_margins",
    "synthetic_island",
    "synthetic_island_shares",
    "synthetic_new_york",
]


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
        :func:`synthetic_new_york` lacks.

    Examples
    --------
    >>> from pramble.datasets import new_york_2000_margins
    >>> new_york_2000_margins()["SEX"]
    {'Male': 459269, 'Female': 493807}
    """
    return {name: dict(counts) for name, counts in NEW_YORK_2000.items()}


CLASS_TOTAL = 2**32
LEVEL_TOTAL = 2**16

NOT_APPLICABLE = "Not applicable"
# Ownership and mortgage are one variable of the model: only owners have a mortgage or none.
TENURE_COLUMNS = ("OWNERSHP", "MORTGAGE")
TENURES = (
    (NOT_APPLICABLE, NOT_APPLICABLE),
    ("Owned", "Free and clear"),
    ("Owned", "Mortgaged"),
    ("Rented", NOT_APPLICABLE),
)
VARIABLES: Mapping[str, tuple[Any, ...]] = {
    "TENURE": TENURES,
    **{name: tuple(NEW_YORK_2000[name]) for name in NEW_YORK_2000 if name not in TENURE_COLUMNS},
    "MARST": ("Married", "Separated", "Divorced", "Widowed", "Never married"),
}


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
    if n < 0:
        raise InvalidInput(f"n must be a number of people, 0 or more; found {n}")
    classes, levels = _model()
    rng = np.random.default_rng(seed)
    draw = rng.integers(0, CLASS_TOTAL, size=n, dtype=np.uint32)
    at = np.searchsorted(classes, draw, side="right").astype(np.uint8)
    columns = {}
    for name, cumulative in levels.items():
        draw = rng.integers(0, LEVEL_TOTAL, size=n, dtype=np.uint16)
        codes = np.zeros(n, dtype=np.int8)
        # How many cumulative weights a draw has passed. A level of weight zero is never drawn: its
        # own equals that of the level before, and no draw reaches the total.
        for column in cumulative.T[:-1]:
            codes += draw >= column[at]
        if name == "TENURE":
            for place, column in enumerate(TENURE_COLUMNS):
                labels = list(dict.fromkeys(pair[place] for pair in TENURES))
                recode = np.array([labels.index(p[place]) for p in TENURES], dtype=np.int8)
                columns[column] = pa.DictionaryArray.from_arrays(recode[codes], labels)
        else:
            columns[name] = pa.DictionaryArray.from_arrays(codes, list(VARIABLES[name]))
    return pa.table(columns)


COUNTIES = (
    "Hartenmoor", "Quillby", "Eastering", "Dunmarrow", "Velsing", "Oxholt", "Fenwarden",
    "Thornelow", "Brackenside", "Ulverden", "Mirefold", "Saltmarren", "Cressby", "Lowhampden",
    "Windle Head", "Aldergrove", "Pellowick", "Northsand", "Gullhaven", "Rushmead", "Kestrelby",
    "Stonewater", "Merrowdale", "Farcombe", "Ivelreach", "Tarnhelm",
)  # fmt: skip
# The counties from south to north: where each row of hexagons begins, and how many it has.
ROWS = ((3, 4), (0, 5), (-1, 6), (0, 6), (1, 5))
CITY_WITHIN, FERRY = "Cressby", ("Brackenside", "Sarn Isle")


@cache
def synthetic_island() -> Areas:
    """Return the 28 areas of an island country that does not exist.

    Its 26 counties are hexagons; a city lies within one of them, and an isle off the coast, which a
    ferry makes a neighbour.

    Examples
    --------
    >>> synthetic_island()
    28 areas
      labels      'Hartenmoor', 'Quillby', 'Eastering', 'Dunmarrow', 'Velsing', …
      neighbours  61 pairs
      shapes      28 polygons
    """
    centres = [(start + 2 * i, 3 * row) for row, (start, n) in enumerate(ROWS) for i in range(n)]
    counties: list[tuple[NDArray[np.float64], ...]] = [(hexagon(*one),) for one in centres]
    within = COUNTIES.index(CITY_WITHIN)
    city = hexagon(*centres[within], size=0.4)
    counties[within] = (*counties[within], city[::-1])
    shapes = (*((county,) for county in counties), ((city,),), ((hexagon(13, 3, size=0.7),),))
    labels = Labels((*COUNTIES, "Port Amberley", "Sarn Isle"))
    areas = Areas(labels, shapes=shapes, neighbours=bordering(shapes))
    return areas.with_neighbours([FERRY])


def hexagon(x: float, y: float, *, size: float = 1.0) -> NDArray[np.float64]:
    """Return the ring of a hexagon; those two apart in x, or one and three in y, share an edge."""
    corners = np.array([(0, 2), (-1, 1), (-1, -1), (0, -2), (1, -1), (1, 1), (0, 2)])
    return np.round((-33, 45) + ((x, y) + size * corners) * (0.36, 0.15), 6)


def synthetic_island_shares() -> dict[str, float]:
    """Return the made-up share of the island's people that lives in each of its areas.

    Examples
    --------
    >>> shares = synthetic_island_shares()
    >>> round(shares["Port Amberley"], 3), round(shares["Sarn Isle"], 3)
    (0.192, 0.004)
    """
    order = np.arange(len(COUNTIES))
    weights = [*(900 / (2 + 5 * order % 26) + 45).round().tolist(), 900, 20]
    labels = synthetic_island().labels.values
    return {label: weight / sum(weights) for label, weight in zip(labels, weights, strict=True)}
