"""Labels out of data: which values texts stand for, and the order that people expect them in."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from pramble.data.labels import Label, label_key

WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
"""A text that an integer is written as, in one way only: "01" and "-0" are no such texts."""

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
