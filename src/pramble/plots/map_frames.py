"""Where a map is drawn: one frame for the main part, and small ones for what lies far away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pramble.values import Floats

FAR, MOST_INSETS, WORTH_IT = 5.0, 7, 0.6
"""Areas are far off beyond so many median distances of nearest neighbours; there are so many
insets at most; and they are worth it where the main part fills less than this of all."""


@dataclass(frozen=True)
class Layout:
    """Areas as they are drawn: in degrees east of the map's own west end, in frames.

    Attributes
    ----------
    points : (S, 2) array
    rings : for each area a list of polygons, each a list of rings; None without shapes
    boxes : (S, 4) array of west, south, east and north ends
    frames : tuple of tuples of places
        The main frame first, then insets.
    """

    points: Floats
    rings: list[list[list[Floats]]] | None
    boxes: Floats
    frames: tuple[tuple[int, ...], ...]

    def box(self, members: Sequence[int]) -> tuple[float, float, float, float]:
        """Return the ends of a frame, with room around."""
        boxes = self.boxes[list(members)]
        west, south = boxes[:, :2].min(axis=0)
        east, north = boxes[:, 2:].max(axis=0)
        across, up = east - west, north - south
        least = 0.25 if self.rings is None else 0.01
        x = max(0.04 * across, least * max(across, up, 0.5) / 4)
        y = max(0.04 * up, least * max(across, up, 0.5) / 4)
        box = west - x, south - y, east + x, north + y
        return box if tuple(members) == self.frames[0] else widened(box)

    def ratio(self, members: Sequence[int]) -> float:
        """Return height over width of a frame on paper."""
        west, south, east, north = self.box(members)
        return float((north - south) * stretch(south, north) / (east - west))


def widened(box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return a box with more room around, as high as it is wide on paper, for an inset."""
    west, south, east, north = box
    tall = stretch(south, north)
    half = 0.65 * max(east - west, (north - south) * tall)
    x, y = (west + east) / 2, (south + north) / 2
    return x - half, y - half / tall, x + half, y + half / tall


def stretch(south: float, north: float) -> float:
    """Return how much longer a degree of latitude is than one of longitude, half way up."""
    return float(1 / max(np.cos(np.radians((south + north) / 2)), 0.1))


def layout_of(areas: Any) -> Layout:
    """Return how areas are drawn; refuse those without points."""
    if areas.points is None:
        raise InvalidInput(
            "A map needs shapes or points of the areas; add points: areas.with_points(…)."
        )
    west = areas.extent[0]
    points = eastward(areas.points, areas.points[:, 0].copy(), west)
    rings, boxes = None, np.column_stack([points, points])
    if areas.shapes is not None:
        rings = [
            [[eastward(r, polygon[0][:, 0].min(), west) for r in polygon] for polygon in shape]
            for shape in areas.shapes
        ]
        boxes = np.array([box_of(shape) for shape in rings])
    return Layout(points, rings, boxes, frames_of(areas.kilometres(), boxes))


def eastward(points: Floats, start: Any, west: float) -> Floats:
    """Return points, turned once around the globe where they start west of the map's end."""
    turned = np.array(points)
    turned[:, 0] += np.where(np.asarray(start) < west, 360.0, 0.0)
    return turned


def box_of(shape: list[list[Floats]]) -> Floats:
    """Return the west, south, east and north end of a shape."""
    points = np.concatenate([polygon[0] for polygon in shape])
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def frames_of(kilometres: Floats, boxes: Floats) -> tuple[tuple[int, ...], ...]:
    """Return the members of the main frame and of insets.

    Areas hang together along the shortest tree that joins all; it is cut where a branch is far
    longer than most. The largest part is the main frame if it holds most areas and is small beside
    the whole, else all stay in one.
    """
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    everything = tuple(range(len(boxes)))
    if len(boxes) < 4:
        return (everything,)
    tree = minimum_spanning_tree(kilometres + 1e-6).tocoo()
    near = tree.data <= FAR * np.median(tree.data)
    tree.data[~near] = 0
    tree.eliminate_zeros()
    count, part = connected_components(tree, directed=False)
    sizes = np.bincount(part)
    main = int(np.argmax(sizes))
    too_many = count - 1 > MOST_INSETS or sizes[main] * 2 <= len(boxes)
    if count == 1 or too_many or room(boxes[part == main]) > WORTH_IT * room(boxes):
        return (everything,)
    order = [main, *(i for i in dict.fromkeys(part.tolist()) if i != main)]
    return tuple(tuple(np.flatnonzero(part == i).tolist()) for i in order)


def room(boxes: Floats) -> float:
    """Return the area of the box around boxes, in square degrees."""
    across, up = boxes[:, 2:].max(axis=0) - boxes[:, :2].min(axis=0)
    return float(across * up)
