"""Where areas lie: their centroids, borders and extent, and how far they are from each other.

Distances are kilometres over the globe, or steps from neighbour to neighbour.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from pramble.errors import InvalidData, InvalidInput
from pramble.limits import MOST_CELLS
from pramble.values import Floats, Integers, read_only
from pramble.words import several

EARTH_RADIUS = 6371.0088
"""Mean radius of the earth in kilometres (IUGG)."""

PARTS_NAMED = 5


def great_circles(points: Floats) -> Floats:
    r"""Return the distances of points on a sphere of the earth's mean radius, in kilometres.

    .. math:: d = 2R \arctan\sqrt{h/(1-h)}, \qquad h = \sin^2\frac{\Delta\varphi}{2}
       + \cos\varphi_1 \cos\varphi_2 \sin^2\frac{\Delta\lambda}{2},

    within 0.6 % of those on the ellipsoid; exactly symmetric, with zeros on the diagonal.

    >>> great_circles(np.array([[0.0, 0.0], [180.0, 0.0]])).round().tolist()
    [[0.0, 20015.0], [20015.0, 0.0]]
    """
    refuse_many(len(points))
    longitude, latitude = np.radians(points).T
    one, other = np.triu_indices(len(points), 1)
    h = np.sin((latitude[one] - latitude[other]) / 2) ** 2
    h += (
        np.cos(latitude[one])
        * np.cos(latitude[other])
        * np.sin((longitude[one] - longitude[other]) / 2) ** 2
    )
    h = np.clip(h, 0.0, 1.0)
    found = np.zeros((len(points), len(points)))
    found[one, other] = 2 * EARTH_RADIUS * np.arctan2(np.sqrt(h), np.sqrt(1 - h))
    found[other, one] = found[one, other]
    return read_only(found)


def steps_between(
    pairs: Sequence[tuple[int, int]], labels: Sequence[Any], points: Floats | None
) -> Integers:
    """Return the least number of steps from neighbour to neighbour between any two areas.

    Where some are not reached, a message names the nearest two areas of different parts.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, shortest_path

    size = len(labels)
    refuse_many(size)
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(size, size)).tocsr()
    count, part = connected_components(graph, directed=False)
    if count > 1:
        raise InvalidData(parts_in_words(part, labels, points))
    steps = shortest_path(graph, method="D", directed=False, unweighted=True)
    return read_only(steps.astype(np.int64))


def parts_in_words(part: Any, labels: Sequence[Any], points: Floats | None) -> str:
    """Return why there are no steps between all areas, and what to do."""
    _, first = np.unique(part, return_index=True)
    count, places = len(first), sorted(first.tolist())
    names = [labels[i] for i in places]
    bridge = places[:2]
    if points is not None:
        apart = np.where(part[:, None] == part, np.inf, great_circles(points))
        bridge = sorted(int(i) for i in np.unravel_index(np.argmin(apart), apart.shape))
    one, other = (labels[i] for i in bridge)
    shown = ", ".join(map(repr, names[:PARTS_NAMED])) + (", …" if count > PARTS_NAMED else "")
    return (
        "Every area must be reached from every other by neighbours; the map has "
        f"{several(count, 'part')}, with {shown}. Join them where a bridge or a ferry "
        f"does, such as areas.with_neighbours([({one!r}, {other!r})])."
    )


def refuse_many(size: int) -> None:
    """Refuse a matrix of distances that is too large to hold."""
    if size * size > MOST_CELLS:
        raise InvalidInput(
            f"A matrix of distances may have {MOST_CELLS:,} entries; {size:,} areas have "
            f"{size * size:,}. Take fewer areas: areas.of(labels)."
        )


Polygon = tuple[Floats, ...]
"""Rings of (n, 2) longitudes and latitudes, the last point again the first: outline, then holes."""

Shape = tuple[Polygon, ...]
"""The polygons of an area."""


def sealed(shapes: Iterable[Iterable[Iterable[Any]]]) -> tuple[Shape, ...]:
    """Return shapes whose rings are read-only arrays."""
    return tuple(
        tuple(
            tuple(read_only(np.array(ring, dtype=np.float64)) for ring in polygon)
            for polygon in shape
        )
        for shape in shapes
    )


def moments(ring: Floats) -> tuple[float, Floats]:
    r"""Return the signed area of a ring in the plane, and its first moments.

    .. math:: A = \tfrac12 \sum_i c_i, \quad
       m = \tfrac16 \sum_i (p_i + p_{i+1}) c_i, \quad c_i = x_i y_{i+1} - x_{i+1} y_i,

    with coordinates from the ring's first point, so that small areas far from (0, 0) keep digits.
    """
    local = ring - ring[0]
    x, y = local.T
    cross = x[:-1] * y[1:] - x[1:] * y[:-1]
    area = float(cross.sum() / 2)
    first = (local[:-1] + local[1:]).T @ cross / 6
    return area, first + area * ring[0]


def centroid(polygons: Shape) -> tuple[float, float]:
    """Return the centroid of the largest polygon, without its holes.

    Areas are compared in degrees with longitudes shortened by the cosine of the latitude.

    >>> square = np.array([[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]], dtype=float)
    >>> centroid(((square,), (square / 10 + 5,)))
    (1.0, 1.0)
    """
    best, size = np.array(polygons[0][0][:-1]).mean(axis=0), 0.0
    for outline, *holes in polygons:
        area, first = moments(outline)
        area, first = abs(area), first * np.sign(area)
        for hole in holes:
            lost, lost_first = moments(hole)
            area, first = area - abs(lost), first - lost_first * np.sign(lost)
        scaled = area * np.cos(np.radians(outline[:, 1].mean()))
        if scaled > size:
            best, size = first / area, scaled
    return float(best[0]), float(best[1])


def bordering(shapes: Sequence[Shape], digits: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of areas that share an edge: two points that follow each other in a ring.

    Points are the same whose coordinates are, after rounding to so many decimals.
    """
    areas_at: dict[Any, set[int]] = {}
    for area, shape in enumerate(shapes):
        for ring in (ring for polygon in shape for ring in polygon):
            points = np.round(ring * 10.0**digits).astype(np.int64).tolist()
            for edge in pairwise(map(tuple, points)):
                if edge[0] != edge[1]:
                    areas_at.setdefault(tuple(sorted(edge)), set()).add(area)
    pairs = (pair for areas in areas_at.values() for pair in combinations(sorted(areas), 2))
    return tuple(sorted(set(pairs)))


def west_of(spans: Floats) -> float:
    """Return the longitude at which a map of so many spans (n, 2) of longitudes begins.

    It follows the widest stretch of the globe without any, so that a country across the meridian
    of 180° is in one piece; a tie, or no such stretch, begins at the smallest longitude.

    >>> west_of(np.array([[-170.0, -160.0], [170.0, 180.0]]))
    170.0
    """
    order = spans[np.argsort(spans[:, 0], kind="stable")]
    reach = np.maximum.accumulate(order[:, 1])
    gaps = order[1:, 0] - reach[:-1]
    around = order[0, 0] + 360 - reach[-1]
    if not len(gaps) or gaps.max() <= around:
        return float(order[0, 0])
    return float(order[1:][np.argmax(gaps), 0])


def spans_of(shapes: Sequence[Shape]) -> Floats:
    """Return the smallest and largest longitude of every polygon."""
    outlines = [polygon[0] for shape in shapes for polygon in shape]
    return np.array([[ring[:, 0].min(), ring[:, 0].max()] for ring in outlines])


def extent_in_words(extent: tuple[float, float, float, float]) -> str:
    """Return from where to where a map goes.

    >>> extent_in_words((170.0, -20.0, 190.0, 5.25))
    '170° E to 170° W, 20° S to 5.25° N'
    """
    west, south, east, north = extent
    return (
        f"{degrees(west, 'WE')} to {degrees(east, 'WE')}, "
        f"{degrees(south, 'SN')} to {degrees(north, 'SN')}"
    )


def degrees(angle: float, sides: str) -> str:
    within = angle - 360 if angle > 180 else angle
    return f"{abs(round(within, 2)):g}° {sides[within >= 0]}"
