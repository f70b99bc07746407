"""Areas out of files: tables of points or pairs of neighbours, and GeoJSON (RFC 7946)."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_key, texts_of, typed_texts
from pramble.data.open import open_records
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput
from pramble.limits import MOST_DOCUMENT_BYTES
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.values import Floats, read_only
from pramble.words import hint_at, visible_names

# Names of coordinates that are known without being said; a file must have one of each.
LONGITUDES = ("lon", "lng", "long", "longitude")
LATITUDES = ("lat", "latitude")
# Points whose coordinates agree in so many decimals are the same: 0.1 metres.
DIGITS = 6

# Rings of (n, 2) longitudes and latitudes, the last point again the first: outline, then holes.
Polygon = tuple[Floats, ...]
Shape = tuple[Polygon, ...]


def open_table(data: Any) -> Records:
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if path.is_file() and path.stat().st_size > MOST_DOCUMENT_BYTES:
            raise InvalidData(
                f"{path.name!r} has {path.stat().st_size:,} bytes; a table of areas of more than "
                f"{MOST_DOCUMENT_BYTES:,} is not read."
            )
    return open_records(data)


def column_values(records: Records, names: Sequence[str]) -> list[list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in records.batches(list(names)):
        for name in found:
            column = batch[name]
            found[name] += column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    if not found[names[0]]:
        raise InvalidData(f"{records.name} must hold at least one row of areas; it has none.")
    return list(found.values())


def as_area_labels(
    columns: Sequence[list[Any]], records: Records, known: Sequence[Label] | None
) -> list[Any]:
    """Return what columns of a file stand for, one after the other.

    Texts without a type stand for the labels that are known; where none are, they are integers if
    all are written so.
    """
    for column in columns:
        for row, label in enumerate(column, 1):
            if type(label) not in (str, int):
                raise InvalidData(
                    f"Labels of areas in {records.name} must be texts or integers; row {row} holds "
                    f"{'nothing' if label is None else f'a {type(label).__name__}'}."
                )
    values = [label for column in columns for label in column]
    if records.typed:
        return values
    meant: dict[Any, Label] = {text: one for one in known or () for text in texts_of(one)}
    return typed_texts(values) if known is None else [meant.get(one, one) for one in values]


def pairs_from(
    data: Any, columns: Sequence[str] | None, known: Sequence[Label] | None
) -> list[tuple[Label, Label]]:
    if isinstance(data, list | tuple | set | frozenset):
        for place, pair in enumerate(data):
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise InvalidInput(
                    "Neighbours are pairs of labels, such as [('a', 'b')]; the entry at position "
                    f"{place} is not a pair."
                )
        return [(one, other) for one, other in data]
    records = open_table(data)
    names = tuple(columns or records.names[:2])
    if len(names) != 2 or isinstance(columns, str):
        raise InvalidInput(
            f"Neighbours stand in two columns of labels; {records.name} has "
            f"{visible_names(records.names)}. Say which: columns=('one', 'other')."
        )
    labels = as_area_labels(column_values(records, names), records, known)
    half = len(labels) // 2
    return list(zip(labels[:half], labels[half:], strict=True))


def points_from(
    data: Any, label: str | None, longitude: str | None, latitude: str | None
) -> tuple[list[Label], Floats]:
    if isinstance(data, Mapping):
        try:
            pairs = [() if isinstance(pair, str) else tuple(pair) for pair in data.values()]
        except TypeError:
            pairs = []
        if {len(pair) for pair in pairs} != {2}:
            raise InvalidData(
                "Points map labels of areas to (longitude, latitude), one at least; these do not."
            )
        return list(data), np.array([[as_number(one) for one in pair] for pair in pairs])
    records = open_table(data)
    east = longitude or coordinate_column(records, LONGITUDES, "longitude")
    north = latitude or coordinate_column(records, LATITUDES, "latitude")
    others = [name for name in records.names if name not in (east, north)]
    if label is None and not others:
        raise InvalidInput(
            f"{records.name} must have a column of labels next to {east} and {north}."
        )
    values, *coordinates = column_values(records, [label or others[0], east, north])
    comma = records.reading.decimal == ","
    points = np.array([[as_number(one, comma=comma) for one in own] for own in coordinates]).T
    refuse_off_the_globe(points, lambda i: f"row {i + 1} of {records.name}")
    labels, first = as_area_labels([values], records, None), dict[Any, int]()
    for row, one in enumerate(labels, 1):
        if first.setdefault(label_key(one), row) != row:
            raise InvalidData(
                f"Every area must stand in one row of {records.name}; {one!r} stands in rows "
                f"{first[label_key(one)]} and {row}. Keep one of them."
            )
    return labels, points


def as_number(value: Any, *, comma: bool = False) -> float:
    """Return a number, from its text where it is one; NaN for what is none."""
    if isinstance(value, bool | np.bool_) or value is None:
        return float("nan")
    try:
        return float(value.replace(",", ".") if comma and isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def coordinate_column(records: Records, options: Sequence[str], what: str) -> str:
    found = [name for name in records.names if name.strip().casefold() in options]
    if len(found) != 1:
        raise InvalidInput(
            f"{records.name} must have one column of {what}s named {' or '.join(options)}; its "
            f'columns are {visible_names(records.names)}. Say which: {what}="…".'
        )
    return found[0]


def refuse_off_the_globe(points: Floats, where: Callable[[int], str]) -> None:
    """Raise, naming where the first longitude or latitude is that is none."""
    for column, what, most in ((0, "longitude", 180), (1, "latitude", 90)):
        wrong = np.flatnonzero(~(np.abs(points[:, column]) <= most))
        if not len(wrong):
            continue
        found = points[wrong[0], column]
        holds = "holds no number" if np.isnan(found) else f"holds {found:g}"
        if np.isnan(found):
            advice = "Fill it in."
        elif abs(found) > 360:
            advice = "These look like metres of a projected map: convert them to degrees (WGS 84)."
        elif what == "longitude":
            advice = "Subtract 360 from longitudes above 180."
        else:
            advice = "Are longitude and latitude swapped?"
        raise InvalidData(
            f"A {what} must lie within ±{most} degrees; {where(int(wrong[0]))} {holds}. {advice}"
        )


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
    kind = source.get("type") if isinstance(source, Mapping) else None
    features = source.get("features") if kind == "FeatureCollection" else None
    if not isinstance(features, list | tuple) or not features:
        more = "; convert TopoJSON to GeoJSON first" if kind == "Topology" else ""
        raise InvalidData(
            f"{name} must be a GeoJSON FeatureCollection of at least one feature; found type "
            f"{short(kind)}{more}."
        )
    areas: dict[Any, tuple[Label, list[Any]]] = {}
    for number, feature in enumerate(features, 1):
        where = f"feature {number} of {name}"
        own = feature_label(feature, label, where)
        _, polygons = areas.setdefault(label_key(own), (own, []))
        polygons += polygons_of(feature.get("geometry"), f"{where} ({own!r})")
    return [own for own, _ in areas.values()], read_only_rings(shape for _, shape in areas.values())


def feature_label(feature: Any, label: str, where: str) -> Label:
    known = feature if isinstance(feature, Mapping) else {}
    properties = known.get("properties") or {}
    if known.get("type") != "Feature" or not isinstance(properties, Mapping):
        raise InvalidData(f"Every member of 'features' must be a Feature; {where} is none.")
    options = [*map(str, properties), *(["id"] if "id" in known else [])]
    if label not in options:
        raise InvalidData(
            f"The label must be a property of every feature; {where} has no "
            f"{label!r}{hint_at(label, options)}, but {visible_names(options) or 'none'}."
        )
    found = properties.get(label, known.get("id"))
    # Some writers of JSON give whole numbers a point.
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    if type(found) not in (str, int) or found == "":
        raise InvalidData(
            f"A label must be a text or an integer; {label!r} of {where} is {short(found)}."
        )
    return found


def polygons_of(geometry: Any, where: str) -> list[list[Floats]]:
    known = geometry if isinstance(geometry, Mapping) else {}
    kind, coordinates = known.get("type"), known.get("coordinates")
    polygons = [coordinates] if kind == "Polygon" else coordinates
    if (
        kind not in ("Polygon", "MultiPolygon")
        or not isinstance(polygons, list | tuple)
        or not polygons
        or not all(isinstance(rings, list | tuple) and rings for rings in polygons)
    ):
        raise InvalidData(
            f"An area must be a Polygon or a MultiPolygon with an outline; {where} is "
            f"{short(kind)}. Areas that are points are read from a table: Areas.from_points."
        )
    return [[ring_of(ring, where) for ring in rings] for rings in polygons]


def ring_of(ring: Any, where: str) -> Floats:
    """Return a ring as an array, closed; heights are left out."""
    try:
        points = np.array([tuple(position[:2]) for position in ring])
    except (TypeError, ValueError, KeyError):
        points = np.zeros(0)
    # texts make an array of texts, and integers beyond 64 bits one of objects
    if points.dtype.kind not in "if" or points.shape[1:] != (2,):
        raise InvalidData(
            f"A ring must be a list of [longitude, latitude] in degrees; {where} has another."
        )
    refuse_off_the_globe(points, lambda i: f"a ring of {where}, at its point {i + 1},")
    if (points[0] != points[-1]).any():
        points = np.concatenate([points, points[:1]])
    if len(points) < 4:
        raise InvalidData(f"A ring must have three points or more; {where} has one with fewer.")
    return points


def read_only_rings(shapes: Iterable[Iterable[Iterable[Any]]]) -> tuple[Shape, ...]:
    return tuple(
        tuple(
            tuple(read_only(np.array(ring, dtype=np.float64)) for ring in polygon)
            for polygon in shape
        )
        for shape in shapes
    )


def ring_moments(ring: Floats) -> tuple[float, Floats]:
    r"""Return the area of a ring in the plane, and its first moments.

    .. math:: A = \tfrac12 \sum_i c_i, \quad
       m = \tfrac16 \sum_i (p_i + p_{i+1}) c_i, \quad c_i = x_i y_{i+1} - x_{i+1} y_i
    """
    local = ring - ring[0]  # from the first point, so that small areas far from (0, 0) keep digits
    x, y = local.T
    cross = x[:-1] * y[1:] - x[1:] * y[:-1]
    area = float(cross.sum() / 2)
    first = (local[:-1] + local[1:]).T @ cross / 6 + area * ring[0]
    return abs(area), first * np.sign(area)


def centroid(polygons: Shape) -> tuple[float, float]:
    """Return the centroid of the largest polygon, without its holes."""
    best, size = np.array(polygons[0][0][:-1]).mean(axis=0), 0.0
    for outline, *holes in polygons:
        area, first = ring_moments(outline)
        for lost, lost_first in map(ring_moments, holes):
            area, first = area - lost, first - lost_first
        # A degree of longitude is shorter near the poles.
        scaled = area * np.cos(np.radians(outline[:, 1].mean()))
        if scaled > size:
            best, size = first / area, scaled
    return float(best[0]), float(best[1])


def bordering(shapes: Sequence[Shape]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of areas that share an edge: two points that follow each other in a ring."""
    areas_at: dict[Any, set[int]] = {}
    for area, shape in enumerate(shapes):
        for ring in (ring for polygon in shape for ring in polygon):
            # As integers, so that -0.0 and 0.0 are one point.
            points = np.round(ring * 10.0**DIGITS).astype(np.int64).tolist()
            for edge in pairwise(map(tuple, points)):
                if edge[0] != edge[1]:
                    areas_at.setdefault(tuple(sorted(edge)), set()).add(area)
    pairs = (pair for areas in areas_at.values() for pair in combinations(sorted(areas), 2))
    return tuple(sorted(set(pairs)))
