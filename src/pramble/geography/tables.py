"""Areas out of tables: columns of labels, of longitudes and of latitudes."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pramble.data.labels import Label, label_key
from pramble.data.open import open_records
from pramble.data.order import texts_of, typed_texts
from pramble.data.records import Records
from pramble.errors import InvalidData, InvalidInput
from pramble.limits import MOST_DOCUMENT_BYTES
from pramble.values import Floats
from pramble.words import visible_names

LONGITUDES = ("lon", "lng", "long", "longitude")
LATITUDES = ("lat", "latitude")

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
        if label is None or type(label) not in (str, int):
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
        return listed_pairs(data)
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
        labels = typed_texts(texts) if known is None else meant(texts, known)
        both = [labels[:size], labels[size:]]
    return list(zip(*both, strict=True))


def listed_pairs(data: Iterable[Any]) -> Pairs:
    """Return a list of pairs of labels; refuse what is none."""
    for place, pair in enumerate(data):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidInput(
                "Neighbours are pairs of labels, such as [('a', 'b')]; the entry at position "
                f"{place} is none."
            )
    return [(one, other) for one, other in data]


def meant(texts: Sequence[str], known: Sequence[Label]) -> list[Label]:
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
        raise InvalidInput(f"{records.name} must have a column of labels beside {east}, {north}.")
    name = label or others[0]
    texts, *coordinates = columns_of(records, [name, east, north])
    labels = labels_in(texts, column=name, name=records.name)
    if not records.typed:
        labels = typed_texts(labels) if known is None else meant(labels, known)
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
        raise InvalidData(
            f"A {what} must lie within ±{most} degrees; {where(int(wrong[0]))} {holds}. "
            f"{'Fill it in.' if np.isnan(found) else advice(what, found)}"
        )


def advice(what: str, found: float) -> str:
    """Return what to do about a coordinate that is off the globe."""
    if abs(found) > 360:
        return "These look like metres of a projected map: convert them to degrees (WGS 84)."
    if what == "longitude":
        return "Subtract 360 from longitudes above 180."
    return "Are longitude and latitude swapped?"


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
