"""Codes of columns without declared categories: the values that occur, or only blank or not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import Rows, dictionary_places
from pramble.data.encode import Codes
from pramble.data.labels import (
    NO_LABEL,
    Label,
    Labels,
    in_order,
    label_key,
    object_key,
    texts_of,
    typed_texts,
)
from pramble.errors import InvalidData
from pramble.values import Integers, value


class Levels:
    """Gathers the values of a column batch by batch, and then puts them in order.

    Whole floats and decimals are integers, NaN is missing, and texts of a file without types are
    what they stand for (`pramble.data.labels.typed_texts`). Known categories come first, in their
    order; in a file without types they are met by their text.

    Examples
    --------
    >>> levels = Levels("age", typed=False)
    >>> codes = levels.codes(pa.array(["10", "9", None]))
    >>> labels, place = levels.settled()
    >>> labels, place[codes]
    ((9, 10, None), array([1, 0, 2]))
    """

    def __init__(
        self, column: str, *, typed: bool = True, known: Sequence[Label] | None = None
    ) -> None:
        self.column, self.typed = column, typed
        self.found: dict[tuple[Any, ...], int] = {}
        self.labels: list[Label] = []
        for label in known or ():
            code = self._code(label)
            for text in () if typed else texts_of(label):
                self.found.setdefault(object_key(text), code)
        self.first = len(self.labels)
        self.texts = all(isinstance(label, str | None) for label in known or (0,))

    def _code(self, label: Label) -> int:
        key = object_key(label)
        code = self.found.setdefault(key, len(self.labels))
        if code == len(self.labels):
            if key == NO_LABEL:
                raise self._no_labels(type(label).__name__)
            self.labels.append(label if key[0] is tuple else key[1])
        return code

    def _no_labels(self, kind: Any) -> InvalidData:
        return InvalidData(f"Column {self.column!r} must hold labels; its type is {kind}.")

    def codes(self, values: Any) -> Codes:
        """Return a code for each value: the place of its first appearance."""
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            return np.fromiter((self._code(one) for one in values), np.int64, len(values))
        if pa.types.is_nested(values.type) or pa.types.is_run_end_encoded(values.type):
            raise self._no_labels(values.type)
        if isinstance(values, pa.ChunkedArray):
            parts = [self.codes(chunk) for chunk in values.chunks]
            return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), None, values)
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        used = coded.dictionary.to_pylist()
        place = dictionary_places(coded, null=len(used)).astype(np.int64, copy=False)
        occurs = np.flatnonzero(np.bincount(place, minlength=len(used) + 1))
        table = np.zeros(len(used) + 1, dtype=np.int64)
        for i in occurs.tolist():
            table[i] = self._code(used[i] if i < len(used) else None)
        return np.asarray(table[place])

    def merge(self, later: "Levels") -> Integers:
        """Take the values of later rows; return the code here of each of their codes."""
        return np.fromiter(map(self._code, later.labels), np.int64, len(later.labels))

    def settled(self) -> tuple[tuple[Label, ...], Integers]:
        """Return the labels in order, and the place of each code among them."""
        first, rest = self.first, self.labels[self.first :]
        if not self.typed and not self.texts:
            rest = typed_texts(rest)
        by_key = {object_key(label): first + i for i, label in enumerate(rest)}
        later = in_order(rest)
        order = [*range(first), *(by_key[object_key(label)] for label in later)]
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return (*self.labels[:first], *later), place


NULL = label_key(None)


@value
class Presence:
    """Codes a column by whether it is blank (0) or not (1)."""

    from_text: bool = False  # whether values come as text, where an empty one is a blank too
    labels: Labels = Labels((False, True))

    def codes(self, values: Any, rows: Rows | None = None) -> Integers:
        """Return the codes of an Arrow array, a NumPy array or a list."""
        del rows
        if not isinstance(values, pa.Array | pa.ChunkedArray):
            listed = values.tolist() if isinstance(values, np.ndarray) else values
            return np.array([object_key(one) != NULL for one in listed], dtype=np.int64)
        if isinstance(values, pa.ChunkedArray):
            parts = [self.codes(chunk) for chunk in values.chunks]
            return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        if pa.types.is_dictionary(values.type):
            table = np.append(self.codes(values.dictionary), 0)
            if table[:-1].all() and not values.null_count:
                return np.ones(len(values), dtype=np.int64)
            return np.asarray(table[dictionary_places(values, null=len(table) - 1)])
        shown = pc.is_valid(values)
        if pa.types.is_floating(values.type):
            shown = pc.and_kleene(shown, pc.invert(pc.is_nan(values)))
        elif self.from_text and not pa.types.is_null(values.type):
            shown = pc.and_kleene(shown, pc.not_equal(values, ""))
        return np.asarray(shown.to_numpy(zero_copy_only=False), dtype=np.int64)
