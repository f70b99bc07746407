"""Arrow arrays and batches: what recoding and reading do to them; numbers of their rows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.labels import Label, object_key, texts_of
from pramble.errors import InvalidData, bad_row
from pramble.values import Floats, Integers

# Row numbers: a range where rows follow each other, an array where they do not.
Rows = range | Integers


def picked(rows: Rows, positions: Integers) -> Integers:
    return np.asarray(rows.start + positions if isinstance(rows, range) else rows[positions])


def number_of_rows(columns: Mapping[str, Any]) -> int:
    """Return how many rows columns have; refuse columns that are not equally long."""
    rows = [len(values) for values in columns.values()]
    if len(set(rows)) > 1:
        raise InvalidData(f"Every column must have as many rows; they have {rows[:20]}.")
    return max(rows, default=0)


# Types that show the bits of values, by how many there are.
UNSIGNED = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


def value_type(kind: Any) -> Any:
    """Return the Arrow type of the values, also of a dictionary's."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_number_type(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_text(values: Any) -> bool:
    """Whether an Arrow array holds texts, as they are or in a dictionary."""
    kind = value_type(values.type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def plain_texts(values: Any) -> Any:
    """Return texts as an Arrow array that every function of texts takes: no dictionary, no view."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return plain_texts(values.dictionary).take(values.indices)
    return values.cast(pa.large_string()) if pa.types.is_string_view(kind) else values


def without_dictionary(values: Any) -> Any:
    kind = values.type
    return values.cast(kind.value_type) if pa.types.is_dictionary(kind) else values


def dictionary_places(coded: Any, *, null: int) -> Integers:
    """Return where each row of a dictionary array finds its value; a null has its own place."""
    indices = coded.indices
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(null)
    return np.asarray(indices.to_numpy(zero_copy_only=False))


def sorted_dictionary(texts: Any) -> Any:
    """Return texts as a dictionary array that lists the values that occur, sorted, and no others.

    Unlike the dictionary that a file or a frame brings, it is a function of the values alone.
    """
    coded = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
    labels = coded.dictionary.to_pylist()
    codes = dictionary_places(coded, null=len(labels)).astype(np.int64, copy=False)
    used = np.flatnonzero(np.bincount(codes, minlength=len(labels) + 1)[: len(labels)])
    found = sorted({labels[i] for i in used.tolist()} - {None})
    place = {label: code for code, label in enumerate(found)}
    table = np.full(len(labels) + 1, len(found), dtype=np.int32)
    table[used] = [place.get(labels[i], len(found)) for i in used.tolist()]
    sorted_codes = table[codes]
    indices = pa.array(sorted_codes, mask=sorted_codes == len(found))
    return pa.DictionaryArray.from_arrays(indices, pa.array(found, coded.type.value_type))


def trimmed_texts(values: Any) -> Any:
    return pc.utf8_trim_whitespace(plain_texts(values))


def over_labels(values: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function of arrays; to the dictionary alone where there is one."""
    if not pa.types.is_dictionary(values.type):
        return function(values)
    return function(values.dictionary).take(values.indices)


def relabelled(values: Any, new: Mapping[Label, Label]) -> Any:
    """Return an array with some labels replaced; its type is decided by type and labels alone."""
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    kind = type_after(coded.type.value_type, new.values())
    if is_text(coded):
        new = {text: text_of_label(label) for old, label in new.items() for text in texts_of(old)}
    by_key = {object_key(old): label for old, label in new.items()}
    labels = [by_key.get(object_key(one), one) for one in coded.dictionary.to_pylist()]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        labels = [text_of_label(label) for label in labels]
    return pa.array(labels, type=kind).take(coded.indices)


def type_after(kind: Any, new: Iterable[Label]) -> Any:
    """Return the Arrow type that holds values of a type and new labels: text where none else."""
    added = {type(label) for label in new if label is not None}
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_integer(kind) and added == {int}:
        return pa.int64() if kind != pa.uint64() else kind
    fits = (
        not added
        or (pa.types.is_floating(kind) and added == {int})
        or (pa.types.is_boolean(kind) and added == {bool})
    )
    return kind if fits and not pa.types.is_null(kind) else pa.string()


def text_of_label(label: Label) -> str | None:
    """Return the text of a label; null stays null."""
    key = object_key(label)
    return texts_of(key[1] if len(key) > 1 else label)[0]


def numbers(values: Any, *, column: str) -> Any:
    """Return an Arrow array of numbers from numbers, or from texts that are; NaN is missing."""
    own = value_type(values.type)
    kind = own if is_number_type(own) else pa.float64()
    wrong = InvalidData(f"Column {column!r} must hold numbers; its {own} holds others.")
    if not (is_number_type(own) or is_text(values) or pa.types.is_decimal(own)):
        raise wrong
    try:
        found = (over_labels(values, trimmed_texts) if is_text(values) else values).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise wrong from None
    if pa.types.is_integer(kind):
        return found
    return pc.if_else(pc.is_nan(found), pa.scalar(None, kind), found)


def in_one_type(bound: float, values: Any) -> tuple[Any, Any]:
    """Return a bound and numbers in one type: theirs, or a wider one that holds it."""
    kind, whole = values.type, float(bound).is_integer()
    if pa.types.is_floating(kind):
        return pa.scalar(float(bound), kind), values
    least, most = whole_range(kind)
    if whole and least <= bound <= most:
        return pa.scalar(int(bound), kind), values
    wide = pa.int64() if whole else pa.float64()
    return pa.scalar(int(bound) if whole else bound, wide), values.cast(wide, safe=False)


def can_be_beyond(bound: float, kind: Any, *, low: bool) -> bool:
    """Whether an Arrow type has numbers below, or above, a bound."""
    if not pa.types.is_integer(kind):
        return True
    least, most = whole_range(kind)
    return least < bound if low else most > bound


def whole_range(kind: Any) -> tuple[int, int]:
    signed = pa.types.is_signed_integer(kind)
    top = 2 ** (kind.bit_width - signed)
    return -top * signed, top - 1


def decimal_points(values: Any) -> Any:
    """Return texts with the decimal comma of numbers replaced by a point."""
    if not is_text(values):
        return values
    number = r"^(\s*[-+]?\d*),(\d+(?:[eE][-+]?\d+)?\s*)$"
    return pc.replace_substring_regex(plain_texts(values), number, r"\1.\2")


def as_schema(batch: Any, schema: Any, path: Path) -> Any:
    """Return a batch in the types that all files share."""

    def fitted(column: Any, field: Any) -> Any:
        try:
            return column if column.type == field.type else cast(column, field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InvalidData(
                f"Column {field.name!r} must be of type {field.type} in every file; {path.name} "
                f"has {column.type}."
            ) from None

    columns = [fitted(c, f) for c, f in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def cast(column: Any, kind: Any) -> Any:
    """Return an array in a type; a dictionary of texts, if that is the type."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    return column.cast(kind.value_type).dictionary_encode()


def finite_numbers(
    values: Any, what: str, *, rows: range | None = None, decimal: str | None = None
) -> Floats:
    """Return a column as finite numbers; refuse others, naming the row and never the value.

    >>> finite_numbers(pa.array(["1,5", "2"]), "income", decimal=",")
    array([1.5, 2. ])
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        plain = without_dictionary(values)
        if pa.types.is_boolean(plain.type) or pa.types.is_null(plain.type):
            plain = plain.cast(pa.float64())
        exact = numbers(decimal_points(plain) if decimal == "," else plain, column=what)
        # large integers are rounded
        values = exact.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData(f"Column {what!r} must hold numbers; it holds other values.") from None
    bad = np.flatnonzero(~np.isfinite(found))
    if bad.size:
        row = int(bad[0]) + (rows.start if rows else 0)
        raise bad_row(f"Column {what!r} must hold finite numbers; row ", row, " holds none.")
    return found


class Pile:
    """Gathers batches into piles of so many rows each; what is left waits."""

    def __init__(self, rows: int, *, first: int | None = None) -> None:
        self.rows, self.room, self.waiting = rows, first or rows, list[Any]()

    def add(self, batch: Any) -> Iterator[list[Any]]:
        """Take a batch; yield every pile that it completes."""
        while batch.num_rows >= self.room:
            full, self.waiting = [*self.waiting, batch.slice(0, self.room)], []
            batch, self.room = batch.slice(self.room), self.rows
            yield full
        if batch.num_rows:
            self.waiting.append(batch)
            self.room -= batch.num_rows


def even_batches(batches: Iterable[Any], rows: int, *, first: int | None = None) -> Iterator[Any]:
    """Cut batches into ones of so many rows each; the last is shorter, and the first may be.

    Batches as they come follow the files and blocks of the source, which what is written must not.
    """
    pile = Pile(rows, first=first)
    for batch in batches:
        yield from map(one_batch, pile.add(batch))
    if pile.waiting:
        yield one_batch(pile.waiting)


def one_batch(pile: list[Any]) -> Any:
    return pile[0] if len(pile) == 1 else pa.concat_batches(pile)
