"""Areas of a country as a value: labels, with their places, shapes and neighbours where known."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.labels import Label, Labels, as_labels, label_key
from pramble.errors import InvalidData, InvalidInput
from pramble.geography.reading import (
    Shape,
    bordering,
    centroid,
    pairs_from,
    points_from,
    read_only_rings,
    read_shapes,
    refuse_off_the_globe,
)
from pramble.limits import MOST_CELLS
from pramble.shown import Display, Facts
from pramble.values import Floats, Integers, frozen, read_only
from pramble.words import hint_at, several

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Mean radius of the earth in kilometres (IUGG): distances are within 0.6 % of the ellipsoid's.
EARTH_RADIUS = 6371.0088
# Labels that a message or a summary names.
NAMED = 5


@frozen(eq=False, repr=False)
class Areas(Display):
    """Areas that people live in, such as counties: the categories of a column, with a map.

    Read them with :meth:`from_geojson`, :meth:`from_points` or :meth:`from_neighbours`;
    :func:`pramble.datasets.synthetic_island` is a synthetic one.

    Attributes
    ----------
    labels : Labels
        Texts or integers, in the order of the file. Codes such as "01" stay text.
    points : (S, 2) array or None
        Longitude and latitude of each area in degrees, read-only.
    shapes : tuple or None
        For each area its polygons, each a tuple of rings: the outline, then holes. A ring is an
        array of longitudes and latitudes whose last point is its first.
    neighbours : tuple of pairs or None
        Places i < j of areas with a common border, in order.

    Examples
    --------
    >>> import pramble
    >>> towns = {"Ost": (10.0, 50.0), "Mitte": (9.0, 50.0), "West": (8.0, 50.0)}
    >>> areas = pramble.Areas.from_points(towns)
    >>> areas = areas.with_neighbours([("Ost", "Mitte"), ("Mitte", "West")])
    >>> areas
    3 areas
      labels      'Ost', 'Mitte', 'West'
      neighbours  2 pairs
      shapes      none
    >>> areas.kilometres()[0].round(1)
    array([  0. ,  71.5, 142.9])
    >>> areas.hops()[0]
    array([0, 1, 2])
    """

    labels: Labels
    points: Floats | None = None
    shapes: tuple[Shape, ...] | None = None
    neighbours: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        if not len(self.labels):
            raise InvalidData("There must be at least one area; found none.")
        labels = as_labels(self.labels, what="areas")
        for place, label in enumerate(() if isinstance(labels.values, range) else labels):
            if type(label) not in (str, int):
                raise InvalidData(
                    "The label of an area must be a text or an integer; the one at position "
                    f"{place} is {'missing' if label is None else f'a {type(label).__name__}'}."
                )
        object.__setattr__(self, "labels", labels)
        if self.shapes is not None:
            object.__setattr__(self, "shapes", read_only_rings(self.shapes))
            if len(self.shapes) != len(labels):
                raise InvalidInput(f"shapes must be those of {len(labels)} areas.")
            if self.points is None:
                object.__setattr__(self, "points", np.array([centroid(s) for s in self.shapes]))
        if self.points is not None:
            points = np.array(self.points, dtype=np.float64)
            if points.shape != (len(labels), 2):
                raise InvalidInput(f"points must have shape ({len(labels)}, 2).")
            refuse_off_the_globe(points, lambda i: f"that of {labels.values[i]!r}")
            object.__setattr__(self, "points", points)
        if self.neighbours is not None:
            pairs = {(min(i, j), max(i, j)) for i, j in self.neighbours}
            if any(not 0 <= i < j < len(labels) for i, j in pairs):
                raise InvalidInput(
                    f"neighbours must be pairs of two different places below {len(labels)}."
                )
            object.__setattr__(self, "neighbours", tuple(sorted(pairs)))

    @classmethod
    def from_geojson(
        cls, source: str | os.PathLike[str] | Mapping[str, Any], label: str = "NAME"
    ) -> "Areas":
        """Read areas with their shapes from a GeoJSON FeatureCollection of (Multi)Polygons.

        Features with one label are joined. Areas are neighbours if they share an edge, that is two
        points that follow each other, to six decimals. The point of an area is the centroid of its
        largest polygon.

        Parameters
        ----------
        source : path or mapping
            The file, or its parsed document.
        label : str
            The property that names an area, or "id" for the feature's own.
        """
        labels, shapes = read_shapes(source, label)
        return cls(Labels(tuple(labels)), shapes=shapes, neighbours=bordering(shapes))

    @classmethod
    def from_neighbours(cls, data: Any, *, columns: Sequence[str] | None = None) -> "Areas":
        """Read areas from pairs of neighbours: a file, a frame, or a list of pairs of labels.

        ``columns`` names the two columns of labels, by default the first two. Texts of a CSV file
        are integers if all are written as integers are; "01" is not, and keeps all of them text.
        """
        pairs = pairs_from(data, columns, None)
        labels = list({label_key(one): one for pair in pairs for one in pair}.values())
        if not labels:
            raise InvalidData("There must be at least one pair of neighbours; found none.")
        return cls(as_labels(labels, what="areas")).with_neighbours(pairs)

    @classmethod
    def from_points(
        cls,
        data: Any,
        *,
        label: str | None = None,
        longitude: str | None = None,
        latitude: str | None = None,
    ) -> "Areas":
        """Read areas from a file or frame of points, or a mapping {label: (longitude, latitude)}.

        ``label``, ``longitude`` and ``latitude`` name columns; by default the first one that is no
        coordinate, and those named lon, lng, long or longitude, and lat or latitude. Labels are
        read as by :meth:`from_neighbours`.
        """
        labels, points = points_from(data, label, longitude, latitude)
        return cls(as_labels(labels, what="areas"), points)

    def with_neighbours(self, data: Any, *, columns: Sequence[str] | None = None) -> "Areas":
        """Return the areas with more pairs of neighbours, given as to :meth:`from_neighbours`.

        One pair joins two parts of a map: ``areas.with_neighbours([("Kings", "Richmond")])``.
        """
        pairs = pairs_from(data, columns, self.labels.values)
        first = {label_key(one): one for pair in pairs for one in pair}
        places = dict(zip(first, self.places(first.values()), strict=True))
        found = [(places[label_key(one)], places[label_key(other)]) for one, other in pairs]
        for number, (i, j) in enumerate(found, 1):
            if i == j:
                raise InvalidData(
                    f"An area must not be its own neighbour; pair {number} has "
                    f"{self.labels.values[i]!r} twice. Leave it out."
                )
        return replace(self, neighbours=(*(self.neighbours or ()), *found))

    def of(self, labels: Iterable[Label]) -> "Areas":
        """Return only these areas, in this order: those of ``mechanism.categories``, say."""
        wanted = labels if isinstance(labels, Labels) else tuple(labels)
        places = self.places(wanted)
        # Places change with the order; neighbours among the areas left stay.
        new = {place: i for i, place in enumerate(places)}
        pairs = self.neighbours
        return replace(
            self,
            labels=as_labels(wanted, what="areas"),
            points=None if self.points is None else self.points[places],
            shapes=None if self.shapes is None else tuple(self.shapes[i] for i in places),
            neighbours=pairs and tuple((new[i], new[j]) for i, j in pairs if {i, j} <= set(new)),
        )

    def places(self, labels: Iterable[Label]) -> list[int]:
        """Return the places of labels; refuse those that are no areas, naming them."""
        wanted = [label.item() if isinstance(label, np.generic) else label for label in labels]
        found = [self._places.get(label_key(label), -1) for label in wanted]
        missing = [label for label, place in zip(wanted, found, strict=True) if place < 0]
        if missing:
            names = ", ".join(map(repr, missing[:NAMED])) + (", …" if len(missing) > NAMED else "")
            hint = hint_at(str(missing[0]), list(map(str, self.labels)))
            count = f"the {several(len(self), 'area')}" if len(self) > 1 else "the one area"
            raise InvalidData(
                f"Every label must be that of one of {count}, and text matches text alone; there "
                f"is no {names}{hint}."
            )
        return found

    def kilometres(self) -> Floats:
        """Return the (S, S) great-circle distances of the points, in kilometres."""
        if self.points is None:
            raise InvalidInput("Distances need points; read them: Areas.from_points(…).")
        return great_circles(self.points)

    def hops(self) -> Integers:
        """Return the (S, S) least numbers of steps from neighbour to neighbour."""
        if self.neighbours is None:
            raise InvalidInput("Steps need neighbours; add them: areas.with_neighbours(…).")
        return steps_between(self.neighbours, self.labels.values)

    def __len__(self) -> int:
        return len(self.labels)

    def shown(self) -> Facts:
        """Return how many there are, and what is known of them."""
        names = ", ".join(map(repr, self.labels.values[:NAMED]))
        pairs = self.neighbours
        rings = [len(polygon) for shape in self.shapes or () for polygon in shape]
        rows = {
            "labels": names + (", …" if len(self) > NAMED else ""),
            "neighbours": "none" if pairs is None else several(len(pairs), "pair"),
            "shapes": several(len(rings), "polygon") if rings else "none",
        }
        return Facts(several(len(self), "area"), list(rows.items()))

    def plot(self, values: Mapping[Label, float] | Any = None, *, label: str = "value") -> "Figure":
        """Return a map: areas in the colour of their value, or with their names.

        Areas without shapes are dots, with lines between neighbours.

        Parameters
        ----------
        values : mapping from label to number, or (S,) array, optional
            An area without a value, or with NaN, is hatched.
        label : str
            What the numbers mean, beside the scale of colours.
        """
        from pramble.plots.map import map_figure

        return map_figure(self, values, label=label)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label_key(label): i for i, label in enumerate(self.labels)}


def great_circles(points: Floats) -> Floats:
    r"""Return the distances of points on a sphere of the earth's mean radius, in kilometres.

    .. math:: d = 2R \arctan\sqrt{h/(1-h)}, \qquad h = \sin^2\frac{\Delta\varphi}{2}
       + \cos\varphi_1 \cos\varphi_2 \sin^2\frac{\Delta\lambda}{2},

    exactly symmetric, with zeros on the diagonal.

    >>> great_circles(np.array([[0.0, 0.0], [180.0, 0.0]])).round().tolist()
    [[0.0, 20015.0], [20015.0, 0.0]]
    """
    refuse_large_map(len(points))
    longitude, latitude = np.radians(points).T
    # Squares of sines and products of cosines are symmetric in floats, too.
    north = np.sin(np.subtract.outer(latitude, latitude) / 2) ** 2
    east = np.sin(np.subtract.outer(longitude, longitude) / 2) ** 2
    h = north + np.multiply.outer(np.cos(latitude), np.cos(latitude)) * east
    h = np.clip(h, 0.0, 1.0)  # rounding may leave the interval for points opposite each other
    return read_only(2 * EARTH_RADIUS * np.arctan2(np.sqrt(h), np.sqrt(1 - h)))


def steps_between(pairs: Sequence[tuple[int, int]], labels: Sequence[Any]) -> Integers:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, shortest_path

    size = len(labels)
    refuse_large_map(size)
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(size, size)).tocsr()
    count, part = connected_components(graph, directed=False)
    if count > 1:
        names = [labels[i] for i in sorted(np.unique(part, return_index=True)[1].tolist())]
        shown = ", ".join(map(repr, names[:NAMED])) + (", …" if count > NAMED else "")
        raise InvalidData(
            f"Every area must be reached from every other by neighbours; the map has {count} "
            f"parts, with {shown}. Join them where a bridge or a ferry does, such as "
            f"areas.with_neighbours([({names[0]!r}, {names[1]!r})])."
        )
    steps = shortest_path(graph, method="D", directed=False, unweighted=True)
    return read_only(steps.astype(np.int64))


def refuse_large_map(size: int) -> None:
    if size * size > MOST_CELLS:
        raise InvalidInput(
            f"A matrix of distances may have {MOST_CELLS:,} entries; {size:,} areas have "
            f"{size * size:,}. Take fewer areas: areas.of(labels)."
        )
