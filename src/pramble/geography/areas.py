"""Areas of a country as a value: labels, with their places, shapes and neighbours where known."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.data.labels import Label, Labels, as_labels, label_key, label_keys
from pramble.errors import InvalidData, InvalidInput
from pramble.geography.distances import (
    Shape,
    bordering,
    centroid,
    extent_in_words,
    great_circles,
    sealed,
    spans_of,
    steps_between,
    west_of,
)
from pramble.geography.reading import (
    NAMED,
    missing_in_words,
    pairs_in,
    points_in,
    read_shapes,
    refuse_off_the_globe,
)
from pramble.shown import Display, Facts
from pramble.values import Floats, Integers, value
from pramble.words import several

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def refuse_other_size(found: int, size: int, what: str) -> None:
    if found != size:
        raise InvalidInput(f"{what} must be one for each of the {size} areas; found {found}.")


def refuse_other_types(labels: Labels) -> None:
    for place, label in enumerate(() if isinstance(labels.values, range) else labels):
        if type(label) not in (str, int):
            raise InvalidData(
                "The label of an area must be a text or an integer; the one at position "
                f"{place} is {'missing' if label is None else f'a {type(label).__name__}'}."
            )


@value(eq=False, repr=False)
class Areas(Display):
    """Areas that people live in, such as counties: the categories of a column, with a map.

    Read them with :meth:`from_geojson`, :meth:`from_points` or :meth:`from_neighbours`;
    :func:`pramble.datasets.synthetic_island` is a made-up country.

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
      extent      8° E to 10° E, 50° N to 50° N
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
        refuse_other_types(labels)
        object.__setattr__(self, "labels", labels)
        if self.shapes is not None:
            object.__setattr__(self, "shapes", sealed(self.shapes))
            refuse_other_size(len(self.shapes), len(labels), "shapes")
            if self.points is None:
                object.__setattr__(self, "points", np.array([centroid(s) for s in self.shapes]))
        if self.points is not None:
            points = np.array(self.points, dtype=np.float64)
            refuse_other_size(len(points), len(labels), "points")
            if points.shape != (len(labels), 2):
                raise InvalidInput(f"points must have shape (S, 2); found {points.shape}.")
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
        cls,
        source: str | os.PathLike[str] | Mapping[str, Any],
        label: str = "NAME",
        *,
        digits: int = 6,
    ) -> "Areas":
        """Read areas with their shapes from a GeoJSON FeatureCollection of (Multi)Polygons.

        Features with one label are joined. Areas are neighbours if they share an edge, that is two
        points that follow each other. The point of an area is the centroid of its largest polygon.

        Parameters
        ----------
        source : path or mapping
            The file, or its parsed document.
        label : str
            The property that names an area, or "id" for the feature's own.
        digits : int
            Decimals of the coordinates that must agree for points to be the same; 6 are 0.1 metres.
        """
        if not 0 <= digits <= 12:
            raise InvalidInput(f"digits must lie in 0..12; found {digits}.")
        labels, shapes = read_shapes(source, label)
        return cls(Labels(tuple(labels)), shapes=shapes, neighbours=bordering(shapes, digits))

    @classmethod
    def from_neighbours(cls, data: Any, *, columns: Sequence[str] | None = None) -> "Areas":
        """Read areas from pairs of neighbours: a file, a frame, or a list of pairs of labels.

        ``columns`` names the two columns of labels, by default the first two. Texts of a CSV file
        are integers if all are written as integers are; "01" is not, and keeps all of them text.
        """
        pairs = pairs_in(data, columns, None)
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
        labels, points = points_in(data, label, longitude, latitude)
        return cls(as_labels(labels, what="areas"), points)

    def with_neighbours(self, data: Any, *, columns: Sequence[str] | None = None) -> "Areas":
        """Return the areas with more pairs of neighbours, given as to :meth:`from_neighbours`.

        One pair joins two parts of a map: ``areas.with_neighbours([("Kings", "Richmond")])``.
        """
        pairs = pairs_in(data, columns, self.labels.values)
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

    def with_points(
        self,
        data: Any,
        *,
        label: str | None = None,
        longitude: str | None = None,
        latitude: str | None = None,
    ) -> "Areas":
        """Return the areas at other points, given as to :meth:`from_points`; each must have one."""
        known = self.labels.values
        labels, points = points_in(data, label, longitude, latitude, known)
        other = Areas(as_labels(labels, what="areas"), points)
        return replace(self, points=other.of(known).points)

    def of(self, labels: Iterable[Label]) -> "Areas":
        """Return only these areas, in this order: those of ``mechanism.categories``, say."""
        wanted = labels if isinstance(labels, Labels) else tuple(labels)
        places = self.places(wanted)
        new = {place: i for i, place in enumerate(places)}
        pairs = self.neighbours
        return replace(
            self,
            labels=as_labels(wanted, what="areas"),
            points=None if self.points is None else self.points[places],
            shapes=None if self.shapes is None else tuple(self.shapes[i] for i in places),
            neighbours=pairs and tuple((new[i], new[j]) for i, j in pairs if {i, j} <= set(new)),
        )

    def renamed(self, names: Mapping[Label, Label] | Callable[[Label], Label]) -> "Areas":
        """Return the areas with other labels, by a mapping or a function such as ``int``.

        Labels that a mapping does not name stay as they are.
        """
        old = self.labels.values
        try:
            new = [names.get(i, i) if isinstance(names, Mapping) else names(i) for i in old]
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"The labels cannot be renamed so: {error}.") from None
        return replace(self, labels=as_labels(new, what="areas"))

    def places(self, labels: Iterable[Label]) -> list[int]:
        """Return the places of labels; refuse those that are no areas, naming them."""
        wanted = [label.item() if isinstance(label, np.generic) else label for label in labels]
        found = [self._places.get(label_key(label), -1) for label in wanted]
        missing = [label for label, place in zip(wanted, found, strict=True) if place < 0]
        if missing:
            raise InvalidData(missing_in_words(missing, self.labels.values))
        return found

    def kilometres(self) -> Floats:
        """Return the (S, S) great-circle distances of the points, in kilometres."""
        if self.points is None:
            raise InvalidInput("Distances need points; add them: areas.with_points(…).")
        return great_circles(self.points)

    def hops(self) -> Integers:
        """Return the (S, S) least numbers of steps from neighbour to neighbour."""
        if self.neighbours is None:
            raise InvalidInput("Steps need neighbours; add them: areas.with_neighbours(…).")
        return steps_between(self.neighbours, self.labels.values, self.points)

    @cached_property
    def extent(self) -> tuple[float, float, float, float] | None:
        """West, south, east and north end in degrees; east is above 180 across that meridian."""
        if self.points is None:
            return None
        if self.shapes is None:
            longitudes, latitudes = self.points.T
            spans = np.column_stack([longitudes, longitudes])
        else:
            spans = spans_of(self.shapes)
            rings = [polygon[0] for shape in self.shapes for polygon in shape]
            latitudes = np.concatenate([ring[:, 1] for ring in rings])
        west = west_of(spans)
        east = np.where(spans[:, 0] < west, spans[:, 1] + 360, spans[:, 1]).max()
        return west, float(latitudes.min()), float(east), float(latitudes.max())

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
            "extent": "no points" if self.extent is None else extent_in_words(self.extent),
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

        return map_figure(self, None if values is None else self.numbers(values), label=label)

    def plot_moves(self, mechanism: Any, area: Label) -> "Figure":
        """Return a map of where a mechanism puts a person of an area, and how likely.

        Colours are for moving away; the title says how likely the person stays.
        """
        from pramble.plots.map import moves_figure

        keys = label_keys(mechanism.categories)
        self.places(label for label in mechanism.categories if label is not None)
        (place,) = self.places([area])
        start = label_key(self.labels.values[place])
        if start not in keys:
            raise InvalidInput(f"area must be a category of the mechanism; {area!r} is none.")
        row = mechanism.row(keys.index(start)) / 2.0**mechanism.bits
        law = dict(zip(mechanism.outputs, row.tolist(), strict=True))
        lost = law.pop(None, 0.0)
        return moves_figure(self, place, self.numbers(law), lost=lost)

    def plot_estimate(self, estimate: Any, truth: Mapping[Label, float] | Any = None) -> "Figure":
        """Return maps of the estimates of areas, and of half the width of their intervals.

        Parameters
        ----------
        estimate : Estimate
            Of one column, whose categories are areas.
        truth : mapping from label to number, or (S,) array, optional
            What was there before, drawn in the same colours as the estimates.
        """
        from pramble.plots.map import estimate_maps

        if len(estimate.cells) != 1:
            raise InvalidInput(
                "A map shows the estimates of one column of areas; these are of "
                f"{', '.join(map(repr, estimate.cells))}. Estimate that column alone, or a query."
            )
        (labels,) = estimate.cells.values()
        columns = (estimate.values, estimate.lower, estimate.upper)
        value, lower, upper = (
            self.numbers({one: v for one, v in zip(labels, found, strict=True) if one is not None})
            for found in columns
        )
        before = None if truth is None else self.numbers(truth)
        return estimate_maps(
            self,
            value,
            (upper - lower) / 2,
            before,
            quantity=estimate.quantity,
            level=estimate.level,
        )

    def numbers(self, values: Any) -> Floats:
        """Return one number per area, from a mapping or an array; NaN where there is none."""
        if isinstance(values, Mapping):
            found = np.full(len(self), np.nan)
            try:
                numbers = [np.nan if one is None else float(one) for one in values.values()]
            except (TypeError, ValueError):
                raise InvalidInput("values must map labels to numbers.") from None
            found[self.places(values)] = numbers
            return found
        try:
            found = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                "values must be numbers, or a mapping from labels to numbers."
            ) from None
        if found.shape != (len(self),):
            raise InvalidInput(
                f"values must be one number for each of the {several(len(self), 'area')}, in their "
                f"order, or a mapping from labels to numbers; found shape {found.shape}."
            )
        return found

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {label_key(label): i for i, label in enumerate(self.labels)}
