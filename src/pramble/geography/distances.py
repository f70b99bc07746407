"""How far areas are from each other: kilometres over the globe, and steps from area to area."""

from collections.abc import Sequence
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
