"""Areas out of files: tables of points or pairs of neighbours, and GeoJSON (RFC 7946)."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_key, texts_of, typed_texts
from pramble.data.open import open_records
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput
from pramble.geography.distances import Shape, sealed
from pramble.limits import MOST_DOCUMENT_BYTES
from pramble.mechanisms.json_form import document_in, read_bytes
from pramble.values import Floats
from pramble.words import hint_at, several, visible_names

LONGITUDES = ("lon", "lng", "long", "longitude")
LATITUDES = ("lat", "latitude")

NAMED = 5
"""Labels that a message or a summary names."""

Pairs = list[tuple[Label, Label]]


def open_table(data: Any) -> Records:
    """Return the records of a small table; refuse a file that is too large."""
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if path.is_file() and path.stat().st_size > MOST_DOCUMENT_BYTES:
            raise InvalidData(
                f"{path.name!r} has {path.stat().st_size:,} bytes; a table of areas of more than "
                f"{MOST_DOCUMENT_BYTES:,} is not read."
            )
    return open_records(data)


def columns_of(records: Records, names: Sequence[str]) -> list[list[Any]]:
    """Return columns of a table as lists; refuse a table without rows."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in records.batches(list(names)):
        for name in found:
            column = batch[name]
            found[name] += column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    if not found[names[0]]:
        raise InvalidData(f"{records.name} must hold at least one row of areas; it has none.")
    return list(found.values())


def labels_in(values: Sequence[Any], *, column: str, name: str) -> list[Label]:
    """Return the labels in a column; refuse an empty cell and what is no label."""
    for row, label in enumerate(values, 1):
        if type(label) not in (str, int):
            raise InvalidData(
                f"Column {column!r} of {name} must hold labels, texts or integers; row {row} "
                f"holds {'nothing' if label is None else f'a {type(label).__name__}'}."
            )
    return list(values)


def pairs_in(data: Any, columns: Sequence[str] | None, known: Sequence[Label] | None) -> Pairs:
    """Return pairs of neighbours from a table or a list of pairs.

    Texts of a file without types stand for the labels that are known, else for what they are
    written as: integers where all are.
    """
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
    read = columns_of(records, names)
    both = [
        labels_in(values, column=column, name=records.name)
        for values, column in zip(read, names, strict=True)
    ]
    if not records.typed:
        size, texts = len(both[0]), [*both[0], *both[1]]
        labels = typed_texts(texts) if known is None else known_labels(texts, known)
        both = [labels[:size], labels[size:]]
    return list(zip(*both, strict=True))


def known_labels(texts: Sequence[str], known: Sequence[Label]) -> list[Label]:
    """Return the known labels that texts stand for, and other texts as they are."""
    labels: dict[Any, Label] = {text: label for label in known for text in texts_of(label)}
    return [labels.get(text, text) for text in texts]


def points_in(
    data: Any,
    label: str | None,
    longitude: str | None,
    latitude: str | None,
    known: Sequence[Label] | None = None,
) -> tuple[list[Label], Floats]:
    """Return labels and (S, 2) longitudes and latitudes from a table, or from a mapping."""
    if isinstance(data, Mapping):
        return mapped_points(data)
    records = open_table(data)
    east = longitude or found_among(records, LONGITUDES, "longitude")
    north = latitude or found_among(records, LATITUDES, "latitude")
    others = [name for name in records.names if name not in (east, north)]
    if label is None and not others:
        raise InvalidInput(f"{records.name} must have a column of labels besides {east}, {north}.")
    name = label or others[0]
    texts, *coordinates = columns_of(records, [name, east, north])
    labels = labels_in(texts, column=name, name=records.name)
    if not records.typed:
        labels = typed_texts(labels) if known is None else known_labels(labels, known)
    comma = records.reading.decimal == ","
    numbers = [[as_number(one, comma=comma) for one in column] for column in coordinates]
    points = np.array(numbers, dtype=np.float64).T
    refuse_off_the_globe(points, lambda i: f"row {i + 1} of {records.name}")
    refuse_twice(labels, name=records.name)
    return labels, points


def mapped_points(data: Mapping[Any, Any]) -> tuple[list[Label], Floats]:
    """Return the labels and points of a mapping from labels to (longitude, latitude)."""
    if not data:
        raise InvalidData("The points must be those of at least one area; the mapping is empty.")
    labels = list(data)
    for label, pair in data.items():
        if isinstance(pair, str) or np.shape(pair) != (2,):
            raise InvalidData(
                "Points map labels to (longitude, latitude); the entry of "
                f"{label!r} is no such pair."
            )
    points = np.array([[as_number(one) for one in data[label]] for label in labels])
    refuse_off_the_globe(points, lambda i: f"the entry of {labels[i]!r}")
    return labels, points


def found_among(records: Records, options: Sequence[str], what: str) -> str:
    """Return the one column with one of some names, in capitals or not."""
    found = [name for name in records.names if name.strip().casefold() in options]
    if len(found) != 1:
        raise InvalidInput(
            f"{records.name} must have one column of {what}s named {' or '.join(options)}; its "
            f'columns are {visible_names(records.names)}. Say which: {what}="…".'
        )
    return found[0]


def as_number(value: Any, *, comma: bool = False) -> float:
    """Return a number, from its text where it is one; NaN for what is none."""
    if isinstance(value, bool) or value is None:
        return float("nan")
    try:
        return float(value.replace(",", ".") if comma and isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


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


def refuse_twice(labels: Sequence[Label], *, name: str) -> None:
    """Raise, naming the first label that stands in two rows."""
    seen: dict[Any, int] = {}
    for row, label in enumerate(labels, 1):
        first = seen.setdefault(label_key(label), row)
        if first != row:
            raise InvalidData(
                f"Every area must stand in one row of {name}; {label!r} stands in rows {first} and "
                f"{row}. Keep one of them."
            )


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


def missing_in_words(missing: Sequence[Label], labels: Sequence[Label]) -> str:
    """Return why labels are no areas: of another type, or not there."""
    first = missing[0]
    alike = [label for label in labels if is_other_type(first, label)]
    if alike:
        return (
            f"Labels must be of one type; {first!r} is asked for, and the areas have {alike[0]!r}. "
            f"Rename them: areas.renamed({renaming(first, alike[0])})."
        )
    names = ", ".join(map(repr, missing[:NAMED])) + (", …" if len(missing) > NAMED else "")
    hint = hint_at(str(first), list(map(str, labels)))
    count = f"the {several(len(labels), 'area')}" if len(labels) > 1 else "the one area"
    return f"Every label must be that of one of {count}; there is no {names}{hint}."


def is_other_type(one: Label, other: Label) -> bool:
    """Whether an integer and a text are written alike, but for zeros in front.

    >>> is_other_type(1, "01"), is_other_type("1", "01"), is_other_type(1, 1)
    (True, False, False)
    """
    if {type(one), type(other)} != {str, int}:
        return False
    text, code = (one, other) if isinstance(one, str) else (other, one)
    return bool(text.isdecimal() and text.isascii()) and len(text) < 19 and int(text) == code


def renaming(wanted: Label, label: Label) -> str:
    """Return the function that turns labels of the areas into those asked for, as code."""
    if isinstance(wanted, int):
        return "int"
    return "str" if str(label) == wanted else f"lambda code: str(code).zfill({len(wanted)})"
