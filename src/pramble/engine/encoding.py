"""Values to codes: each value is looked up among the declared categories, by value and type.

Text matches text, integers match integers of any width, booleans match booleans; whole floats match integers, because pandas holds
integers beside missing values as floats. Nothing is ever inferred from the data: the categories and their order are the mechanism's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramble.engine.sampling import Codes, code_type
from pramble.errors import InvalidData
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.labels import Label, label_key

UNDECLARED = -1
SHOWN = 5
DIRECT_SPAN = 1 << 20
"""Integer labels that span less than this are looked up in a table rather than by hashing."""


@dataclass(frozen=True)
class Encoder:
    """The declared categories of one column, ready to look values up.

    Parameters
    ----------
    mechanism : Mechanism
        Its categories are the declared values.
    column : str
        The name that an error message gives.
    """

    mechanism: Mechanism
    column: str

    @cached_property
    def dtype(self) -> Any:
        """The dtype of the codes."""
        return code_type(self.mechanism)

    @cached_property
    def is_range(self) -> bool:
        """Whether the categories are the integers 0, 1, …, S−1 in order."""
        values = self.mechanism.labels.values
        return isinstance(values, range) or values == tuple(range(len(values)))

    @cached_property
    def null_code(self) -> int:
        """The code of null, if it was declared."""
        found = [i for i, label in enumerate(self.labels_of(is_null)) if label is None]
        return self.positions_of(is_null)[found[0]] if found else UNDECLARED

    def positions_of(self, kind: Callable[[Label], bool]) -> list[int]:
        """Return the codes of the labels of one kind."""
        return [i for i, label in enumerate(self.mechanism.categories) if kind(label)]

    def labels_of(self, kind: Callable[[Label], bool]) -> list[Label]:
        """Return the labels of one kind."""
        return [label for label in self.mechanism.categories if kind(label)]

    def arrow(self, values: Any, *, first_row: int = 0) -> Codes:
        """Return the codes of an Arrow array or chunked array."""
        codes = self._arrow(values)
        return self.checked(codes, lambda at: values.take(pa.array(at)).to_pylist(), first_row)

    def integers(self, values: NDArray[Any], *, first_row: int = 0) -> Codes:
        """Return the codes of a NumPy array of integers."""
        codes = self._integers(values)
        return self.checked(codes, lambda at: values[at].tolist(), first_row)

    def objects(self, values: Sequence[Any], *, first_row: int = 0) -> Codes:
        """Return the codes of any Python values, one at a time."""
        codes_of = {label_key(label): i for i, label in enumerate(self.mechanism.categories)}
        found = (codes_of.get(object_key(value), UNDECLARED) for value in values)
        codes = np.fromiter(found, dtype=np.int32, count=len(values))
        return self.checked(codes, lambda at: [values[i] for i in at], first_row)

    def checked(
        self, codes: Codes, values_at: Callable[[Any], list[Any]], first_row: int
    ) -> Codes:
        """Return codes in their own dtype; raise if any value was not declared."""
        if codes.dtype == np.int32 and len(codes) and codes.min() < 0:
            bad = np.flatnonzero(codes < 0)
            raise undeclared(
                self.column,
                bad[:SHOWN] + first_row,
                values=values_at(bad[:SHOWN]),
                count=len(bad),
                categories=self.mechanism.labels.values,
            )
        return codes.astype(self.dtype, copy=False)

    def _integers(self, values: NDArray[Any]) -> Codes:
        if not len(values):
            return np.empty(0, dtype=self.dtype)
        low, high = int(values.min()), int(values.max())
        if self.is_range and 0 <= low and high < self.mechanism.shape[0]:
            return values.astype(self.dtype, copy=False)
        labels, positions = self.labels_of(is_integer), self.positions_of(is_integer)
        if not labels or max(labels) - min(labels) >= DIRECT_SPAN or abs(min(labels)) >= 2**62:
            return self._hashed(pa.array(values))
        if low < min(labels) or high > max(labels):
            return self._hashed(pa.array(values))
        table = np.full(max(labels) - min(labels) + 1, UNDECLARED, dtype=np.int32)
        table[np.array(labels) - min(labels)] = positions
        if len(labels) == len(table):
            table = table.astype(self.dtype)
        return table[values.astype(np.int64) - min(labels)]

    def _arrow(self, values: Any) -> Codes:
        if isinstance(values, pa.ChunkedArray) and pa.types.is_dictionary(values.type):
            parts = [self._arrow(chunk) for chunk in values.chunks]
            return np.concatenate(parts) if parts else np.empty(0, dtype=self.dtype)
        if pa.types.is_dictionary(values.type):
            return self._dictionary(values)
        if pa.types.is_integer(values.type) and not values.null_count:
            return self._integers(values.to_numpy())
        return self._hashed(values)

    def _dictionary(self, values: Any) -> Codes:
        table = np.append(self._arrow(values.dictionary), np.int32(self.null_code))
        indices = values.indices
        if indices.null_count:
            indices = indices.cast(pa.int64()).fill_null(len(table) - 1)
        elif table[:-1].min(initial=0) >= 0:
            table = table[:-1].astype(self.dtype)
        return table[indices.to_numpy()]

    def _hashed(self, values: Any) -> Codes:
        values, kind = comparable(values, self.column)
        labels, positions = self.labels_of(kind), self.positions_of(kind)
        declared, kept = representable(labels, values.type)
        codes = np.array([positions[i] for i in kept] or [UNDECLARED], dtype=np.int32)
        found = pc.index_in(values, value_set=declared, skip_nulls=True)
        if found.null_count == 0:
            return codes[found.to_numpy()]
        codes = np.append(codes, np.int32(UNDECLARED))
        found = codes[found.fill_null(len(codes) - 1).to_numpy()]
        if values.null_count and self.null_code != UNDECLARED:
            found[values.is_null().to_numpy(zero_copy_only=False)] = self.null_code
        return found


def is_text(label: Label) -> bool:
    """Whether a label is a string."""
    return isinstance(label, str)


def is_integer(label: Label) -> bool:
    """Whether a label is an integer and no boolean."""
    return isinstance(label, int) and not isinstance(label, bool)


def is_boolean(label: Label) -> bool:
    """Whether a label is true or false."""
    return isinstance(label, bool)


def is_null(label: Label) -> bool:
    """Whether a label is the declared null."""
    return label is None


def comparable(values: Any, column: str) -> tuple[Any, Callable[[Label], bool]]:
    """Return values in a type that can be looked up, and the kind of label that they match."""
    kind = values.type
    if pa.types.is_string_view(kind):
        return values.cast(pa.large_string()), is_text
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values, is_text
    if pa.types.is_integer(kind):
        return values, is_integer
    if pa.types.is_boolean(kind):
        return values, is_boolean
    if pa.types.is_null(kind):
        return values.cast(pa.string()), is_text
    if pa.types.is_floating(kind):
        whole = pc.add(values.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(whole), pa.scalar(None, pa.float64()), whole), is_integer
    raise InvalidData(
        f"{named(column)} must hold text, integers or booleans to be randomised; found {kind}. "
        "Recode it into categories first."
    )


def representable(labels: list[Label], kind: Any) -> tuple[Any, list[int]]:
    """Return the labels that a type can hold exactly, as an Arrow array, and their positions."""
    if pa.types.is_integer(kind):
        signed = pa.types.is_signed_integer(kind)
        top = 2 ** (kind.bit_width - signed)
        kept = [i for i, label in enumerate(labels) if -top * signed <= label < top]
    elif pa.types.is_floating(kind):
        kept = [i for i, label in enumerate(labels) if abs(label) <= 2**53]
    else:
        kept = list(range(len(labels)))
    return pa.array([labels[i] for i in kept], type=kind), kept


def object_key(value: Any) -> tuple[Any, ...]:
    """Return the key of any value as if it were a label; missing values are null, whole floats integers."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, tuple):
        return (tuple, *map(object_key, plain))
    if isinstance(plain, float):
        plain = int(plain) if plain.is_integer() else None if plain != plain else plain
    if type(plain).__name__ in {"NAType", "NaTType"}:
        plain = None
    if isinstance(plain, str):
        plain = str(plain)
    try:
        hash(plain)
    except TypeError:
        return (object,)
    return label_key(plain)


def named(column: str) -> str:
    """Return how a message names a column."""
    return f"Column {column!r}" if column else "The data"


def undeclared(
    column: str, rows: Any, *, values: list[Any], count: int, categories: Sequence[Label]
) -> InvalidData:
    """Return the error for values that are no declared category."""
    found = ", ".join(
        f"row {row}: {'null' if value is None else repr(value)}"
        for row, value in zip(np.asarray(rows).tolist(), values, strict=True)
    )
    more = "" if count <= len(values) else ", …"
    declared = ", ".join(map(repr, categories[:SHOWN])) + (", …" if len(categories) > SHOWN else "")
    missing = all(value is None for value in values)
    advice = (
        "Declare None as a category, or remove the rows with nulls."
        if missing
        else "Declare the values as categories (types count: 1, '1' and True differ), or recode them."
    )
    return InvalidData(
        f"{named(column)} must hold declared categories ({declared}); {count} "
        f"{'row does' if count == 1 else 'rows do'} not ({found}{more}). {advice}"
    )
