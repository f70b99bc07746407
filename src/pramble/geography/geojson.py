"""Areas out of GeoJSON (RFC 7946): a FeatureCollection of polygons becomes labels and shapes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_key
from pramble.errors import InvalidData
from pramble.geography.shapes import Shape, sealed
from pramble.geography.tables import refuse_off_the_globe
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.values import Floats
from pramble.words import hint_at, visible_names

KINDS_OF_AREA = ("Polygon", "MultiPolygon")


def read_shapes(source: Any, label: str) -> tuple[list[Label], tuple[Shape, ...]]:
    """Return the labels in the order of the file, and the polygons of each.

    Features with one label are one area.
    """
    name = "the document"
    if not isinstance(source, Mapping):
        path = Path(source)
        name = repr(path.name)
        if not path.exists():
            raise InvalidData(f"There is no file {str(path)!r}.")
        source = document_in(read_bytes(path, InvalidData), InvalidData, name=path.name)
    areas: dict[Any, tuple[Label, list[Any]]] = {}
    for number, feature in enumerate(features_of(source, name), 1):
        where = f"feature {number} of {name}"
        if not isinstance(feature, Mapping) or feature.get("type") != "Feature":
            raise InvalidData(f"Every member of 'features' must be a Feature; {where} is none.")
        own = label_of(feature, label, where)
        _, polygons = areas.setdefault(label_key(own), (own, []))
        polygons += polygons_of(feature.get("geometry"), f"{where} ({own!r})")
    return [own for own, _ in areas.values()], sealed(shape for _, shape in areas.values())


def features_of(document: Any, name: str) -> Sequence[Any]:
    """Return the features of a document; refuse another kind, and one without any."""
    kind = document.get("type") if isinstance(document, Mapping) else None
    features = document.get("features") if isinstance(document, Mapping) else None
    if kind != "FeatureCollection" or not isinstance(features, list | tuple):
        found = f"type {short(kind)}" if isinstance(document, Mapping) else "no object"
        more = "; convert TopoJSON to GeoJSON first" if kind == "Topology" else ""
        raise InvalidData(f"{name} must be a GeoJSON FeatureCollection; found {found}{more}.")
    if not features:
        raise InvalidData(f"{name} must hold at least one feature; it has none.")
    return features


def label_of(feature: Mapping[str, Any], label: str, where: str) -> Label:
    """Return the label of a feature: one of its properties, or its id."""
    properties = feature.get("properties") or {}
    if not isinstance(properties, Mapping):
        raise InvalidData(f"The properties of {where} must be an object.")
    options = [*map(str, properties), *(["id"] if "id" in feature else [])]
    if label not in options:
        raise InvalidData(
            f"The label must be a property of every feature; {where} has no "
            f"{label!r}{hint_at(label, options)}, but {visible_names(options) or 'none'}."
        )
    found = properties.get(label, feature.get("id"))
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if type(found) not in (str, int) or found == "":
        raise InvalidData(
            f"A label must be a text or an integer; {label!r} of {where} is {short(found)}."
        )
    return found


def polygons_of(geometry: Any, where: str) -> list[list[Floats]]:
    kind = geometry.get("type") if isinstance(geometry, Mapping) else None
    if kind not in KINDS_OF_AREA:
        raise InvalidData(
            f"An area must be a Polygon or a MultiPolygon; {where} is {short(kind)}. "
            "Areas that are points are read from a table: Areas.from_points."
        )
    coordinates = geometry.get("coordinates")
    polygons = [coordinates] if kind == "Polygon" else coordinates
    if not isinstance(polygons, list | tuple) or not polygons:
        raise InvalidData(f"A {kind} must have coordinates; {where} has none.")
    for rings in polygons:
        if not isinstance(rings, list | tuple) or not rings:
            raise InvalidData(f"A polygon must have an outline; {where} has one without.")
    return [[ring_of(ring, where) for ring in rings] for rings in polygons]


def ring_of(ring: Any, where: str) -> Floats:
    """Return a ring as an array, closed; heights are left out."""
    if not isinstance(ring, list | tuple) or not all(map(is_position, ring)):
        raise InvalidData(f"A ring must be a list of [longitude, latitude]; {where} has another.")
    try:
        points = np.array([position[:2] for position in ring], dtype=np.float64).reshape(-1, 2)
    except OverflowError:
        raise InvalidData(f"Coordinates must be degrees; {where} has larger numbers.") from None
    refuse_off_the_globe(points, lambda i: f"a ring of {where}, at its point {i + 1},")
    if len(points) and (points[0] != points[-1]).any():
        points = np.concatenate([points, points[:1]])
    if len(points) < 4:
        raise InvalidData(f"A ring must have three points or more; {where} has one with fewer.")
    return points


def is_position(position: Any) -> bool:
    """Whether this is a list of two numbers or more."""
    return (
        isinstance(position, list | tuple)
        and len(position) >= 2
        and all(
            isinstance(number, int | float) and not isinstance(number, bool)
            for number in position[:2]
        )
    )
