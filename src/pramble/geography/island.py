"""A made-up island country: its areas by a rule, so that it takes no file and no network."""

from functools import cache
from itertools import pairwise

import numpy as np

from pramble.data.labels import Labels
from pramble.geography.areas import Areas
from pramble.geography.distances import Shape, bordering
from pramble.values import Floats

CENTRE, SIZE = (-31.0, 46.0), (1.9, 1.05)
COAST_POINTS, DIGITS = 90, 4
GOLDEN_ANGLE = np.pi * (3 - 5**0.5)
COUNTIES = (
    "Hartenmoor", "Quillby", "Eastering", "Dunmarrow", "Velsing", "Oxholt", "Fenwarden",
    "Thornelow", "Brackenside", "Ulverden", "Mirefold", "Saltmarren", "Cressby", "Lowhampden",
    "Windle Head", "Aldergrove", "Pellowick", "Northsand", "Gullhaven", "Rushmead", "Kestrelby",
    "Stonewater", "Merrowdale", "Farcombe", "Ivelreach", "Tarnhelm",
)  # fmt: skip
CITY, CITY_SIZE, CITY_OFF_CENTRE = "Port Amberley", 0.078, (0.03, -0.03)
ISLE, ISLE_AT, ISLE_SIZE = "Sarn Isle", (-28.45, 45.0), 0.13
FERRY_TO = "Stonewater"


def coast(angles: Floats) -> Floats:
    """Return how far the coast is from the centre in each direction."""
    waves = ((0.16, 2, 0.4), (0.08, 3, 1.0), (0.045, 7, 0.0), (0.02, 13, 2.0))
    height, number, start = (np.array(column)[:, None] for column in zip(*waves, strict=True))
    return np.asarray(1 + (height * np.cos(number * angles + start)).sum(axis=0))


def on_the_globe(plane: Floats) -> Floats:
    """Return points of the plane as longitudes and latitudes."""
    return np.asarray(CENTRE + plane * np.array(SIZE))


def directions(count: int) -> Floats:
    return np.asarray(2 * np.pi * np.arange(count) / count, dtype=np.float64)


def circle(angles: Floats) -> Floats:
    return np.column_stack([np.cos(angles), np.sin(angles)])


def nearer(polygon: Floats, one: Floats, other: Floats) -> Floats:
    """Return the part of a polygon that is nearer to one point than to another.

    One step of Sutherland and Hodgman (1974).
    """
    side = (polygon - (one + other) / 2) @ (other - one)
    kept = []
    for (p, a), (q, b) in pairwise([*zip(polygon, side, strict=True), (polygon[0], side[0])]):
        if a <= 0:
            kept.append(p)
        if a * b < 0:
            kept.append(p + (q - p) * (a / (a - b)))
    return np.array(kept)


def closed(plane: Floats) -> Floats:
    """Return a ring on the globe, rounded, its last point the first."""
    points = np.round(on_the_globe(plane), DIGITS)
    return np.concatenate([points, points[:1]])


def shapes_of_counties() -> list[Shape]:
    """Return the parts of the island nearest to points on a spiral, the first with a hole."""
    angles = directions(COAST_POINTS)
    outline = circle(angles) * coast(angles)[:, None]
    number = np.arange(float(len(COUNTIES)))
    turn = np.asarray(number * GOLDEN_ANGLE, dtype=np.float64)
    spread = np.asarray(np.sqrt((number + 0.35) / len(COUNTIES)))
    reach = 0.97 * spread * coast(turn)
    sites = circle(turn) * reach[:, None]
    found: list[Shape] = []
    for i, site in enumerate(sites):
        polygon = outline
        for j in np.argsort(((sites - site) ** 2).sum(axis=1), kind="stable"):
            polygon = polygon if i == j else nearer(polygon, site, sites[j])
        found.append(((closed(polygon),),))
    city = closed(sites[0] + CITY_OFF_CENTRE + circle(directions(6)) * CITY_SIZE)
    found[0] = ((*found[0][0], city[::-1]),)
    found.append(((city,),))
    around = directions(24)
    bays = 1 + 0.15 * np.cos(3 * around)[:, None]
    isle = (np.array(ISLE_AT) - CENTRE) / SIZE + circle(around) * ISLE_SIZE * bays
    found.append(((closed(isle),),))
    return found


@cache
def island() -> Areas:
    """Return the areas of the island, with the ferry to its isle among the neighbours."""
    shapes = tuple(shapes_of_counties())
    labels = (*COUNTIES, CITY, ISLE)
    ferry = (labels.index(FERRY_TO), labels.index(ISLE))
    return Areas(Labels(labels), shapes=shapes, neighbours=(*bordering(shapes, DIGITS), ferry))


def island_shares() -> dict[str, float]:
    """Return the share of the people in each area: many in the city, few on the isle."""
    order = np.arange(len(COUNTIES))
    weights = [*(900 / (2 + 5 * order % 26) + 45).round(), 900, 20]
    total = float(sum(weights))
    labels = island().labels.values
    return {label: float(w) / total for label, w in zip(labels, weights, strict=True)}
