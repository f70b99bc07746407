"""Labels of categories: told apart by type and value, in natural order, and their texts."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from pramble.errors import InvalidMechanism

# ``str | int | bool | None``, or a tuple of those for a product of mechanisms.
Label = Any

LABEL_TYPES = (str, int, bool, type(None))

# The key of a value that cannot be a label.
NO_LABEL = (object,)


def label_key(label: Label) -> tuple[Any, ...]:
    """Return a key that tells 1, True and "1" apart.

    >>> label_key(1) == label_key(True)
    False
    """
    if isinstance(label, tuple):
        return (tuple, *map(label_key, label))
    return (type(label), label)


def label_keys(labels: Iterable[Label]) -> list[tuple[Any, ...]]:
    """Return the keys of many labels; see :func:`label_key`.

    >>> label_keys([1, True]) == [label_key(1), label_key(True)]
    True
    """
    listed = list(labels)
    kinds = list(map(type, listed))
    return list(map(label_key, listed) if tuple in kinds else zip(kinds, listed, strict=True))


def object_key(value: Any) -> tuple[Any, ...]:
    """Return the key of any value as a label; missing values are null, whole numbers integers.

    A value that cannot be a label has the key of no label.

    >>> object_key(3.0) == object_key(3), object_key(float("nan")) == object_key(None)
    (True, True)
    """
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, tuple):
        return (tuple, *map(object_key, plain))
    if isinstance(plain, float | Decimal):
        plain = as_whole(plain)
    if type(plain).__name__ in {"NAType", "NaTType"}:
        plain = None
    if isinstance(plain, str):
        plain = str(plain)
    try:
        hash(plain)
    except TypeError:
        return NO_LABEL
    return label_key(plain)


def as_whole(number: float | Decimal) -> float | int | Decimal | None:
    if number != number:
        return None
    finite = number - number == 0 if isinstance(number, float) else number.is_finite()
    return int(number) if finite and number == int(number) else number


def plain_label(label: Label, *, position: int) -> Label:
    """Return ``label`` as a plain Python value; refuse a type that is no label."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, tuple):
        return tuple(plain_label(part, position=position) for part in value)
    if type(value) not in LABEL_TYPES:
        raise InvalidMechanism(
            "A label must be a string, an integer, a boolean or None; "
            f"found {label!r} of type {type(label).__name__} at position {position}. "
            "Convert it to one of those first."
        )
    return value


@dataclass(frozen=True)
class Labels:
    """An ordered set of labels; a ``range`` stays one, so a million integers cost nothing."""

    values: Sequence[Label]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels) or len(self) != len(other):
            return False
        if isinstance(self.values, range) and isinstance(other.values, range):
            return self.values == other.values
        return all(
            label_key(one) == label_key(two)
            for one, two in zip(self.values, other.values, strict=True)
        )

    def __hash__(self) -> int:
        return hash((len(self), self.values[0], self.values[-1]))

    def as_tuple(self) -> tuple[Label, ...]:
        return tuple(self.values)


def as_labels(source: int | Iterable[Label] | Labels, *, what: str = "categories") -> Labels:
    if isinstance(source, Labels):
        return source
    if isinstance(source, bool | str | bytes) or not isinstance(
        source, int | np.integer | Iterable
    ):
        raise InvalidMechanism(f"{what} must be a count or a sequence of labels; found {source!r}.")
    if isinstance(source, int | np.integer):
        values: Sequence[Label] = range(int(source))
    elif isinstance(source, range) and source == range(len(source)):
        values = source
    else:
        values = tuple(plain_label(label, position=i) for i, label in enumerate(source))
        seen: dict[tuple[Any, ...], int] = {}
        for position, label in enumerate(values):
            first = seen.setdefault(label_key(label), position)
            if first != position:
                raise InvalidMechanism(
                    f"{what} must be distinct; {label!r} stands at positions {first} and "
                    f"{position}."
                )
    if what == "categories" and len(values) < 2:
        raise InvalidMechanism(
            f"A mechanism needs at least two categories; found {max(len(values), 0)}."
        )
    if not values:
        raise InvalidMechanism("A mechanism needs at least one output; found none.")
    return Labels(values)


# A text that an integer is written as, in one way only: "01" and "-0" are no such texts.
WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")

TRUTHS = tuple(
    {no: False, yes: True} for no, yes in (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
)
DIGITS = re.compile(r"(\d{1,999})")


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Return labels in natural order: numbers by value, digits within texts too, missing last.

    >>> in_order(["10-14", "5-9", None, "0-4"])
    ['0-4', '5-9', '10-14', None]
    """
    return sorted(labels, key=natural_key)


def natural_key(label: Label) -> tuple[object, ...]:
    """Return the key by which labels of any types sort naturally."""
    if label is None:
        return (9,)
    if isinstance(label, bool | int | float | Decimal):
        return (0, label, not isinstance(label, bool))
    if isinstance(label, str):
        parts = DIGITS.split(label)
        return (1, tuple((int(p), "") if i % 2 else (-1, p) for i, p in enumerate(parts)), label)
    return (2, type(label).__name__, str(label))


def typed_texts(labels: Sequence[Label]) -> list[Label]:
    """Return what the texts of a file without types stand for: integers, truths, or the texts.

    They are integers only if every one is written as an integer is written, so that the texts can
    be had back.

    >>> typed_texts(["1", "10", None]), typed_texts(["01", "1"]), typed_texts(["true", "false"])
    ([1, 10, None], ['01', '1'], [True, False])
    """
    texts = [label for label in labels if label is not None]
    if not texts or not all(isinstance(text, str) for text in texts):
        return list(labels)
    if all(WHOLE.fullmatch(text) and text != "-0" for text in texts):
        return [None if label is None else int(label) for label in labels]
    for truth in TRUTHS:
        if set(texts) <= set(truth):
            return [None if label is None else truth[label] for label in labels]
    return list(labels)


def texts_of(label: Label) -> tuple[str | None, ...]:
    """Return the texts that stand for a label in a file without types; null stays null."""
    if isinstance(label, bool):
        return str(label).lower(), str(label), str(label).upper()
    return (None if label is None else str(label),)


def place_of(labels: Sequence[Label], value: Label) -> int | None:
    """Return where a label stands: by type and value, else by its text (files hold text).

    >>> place_of([1, 2], "2"), place_of([1, 2], True), place_of([True], "true")
    (1, None, 0)
    """
    return places_of(labels, [value])[0]


def places_of(labels: Sequence[Label], values: Iterable[Label]) -> list[int | None]:
    """Return where each value stands among labels, as `place_of` does, in one pass over both."""
    by_key: dict[tuple[object, ...], int] = {}
    by_text: dict[str, int | None] = {}
    for place, label in enumerate(labels):
        by_key.setdefault(label_key(label), place)
        for text in filter(None, texts_of(label)):
            by_text[text] = None if text in by_text else place

    def place_of_one(value: Label) -> int | None:
        found = by_key.get(label_key(value))
        if found is None and value is not None and not isinstance(value, bool):
            found = by_text.get(str(value))
        return found

    return [place_of_one(value) for value in values]
