"""Values to codes: each value is looked up among the declared categories, by value and type.

Text matches text, integers match integers of any width, booleans match booleans; whole floats and
decimals match integers, because pandas holds integers beside missing values as floats, and
databases hold them as decimals. Nothing is ever inferred from the data: the categories and their
order are the mechanism's.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramble.data.arrays import Rows, dictionary_places, is_text, picked, value_type, whole_range
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
from pramble.errors import InvalidData, InvalidPlan, with_values
from pramble.values import Integers, frozen

Codes = NDArray[Any]

UNDECLARED = -1


@frozen
class Encoder:
    """The declared categories of one column, ready to look values up."""

    labels: Labels  # the declared values; codes are their places
    column: str = ""  # the name that an error message gives
    # whether every value comes as text, as in a CSV file; see `pramble.data.labels.texts_of`
    from_text: bool = False
    dtype: Any = np.int64  # the dtype of the codes
    # the label that a missing value stands for; None: for itself, if it is declared
    null_label: Label = None

    @cached_property
    def is_range(self) -> bool:
        """Whether the categories are the integers 0, 1, …, S−1 in order."""
        return counts_up(self.labels.values) and not self.from_text

    @cached_property
    def by_type(self) -> dict[type, dict[Label, int]]:
        """The code of every label, apart for text, integers, booleans and null."""
        codes: dict[type, dict[Label, int]] = {kind: {} for kind in (str, int, bool, type(None))}
        for code, label in enumerate(self.labels.values):
            for form in texts_of(label) if self.from_text else (label,):
                known = codes.setdefault(type(form), {})
                if form in known:
                    raise InvalidPlan(
                        f"{subject(self.column)} comes as text, in which its categories must "
                        f"differ; {form!r} stands for two of them. Declare them as text."
                    )
                known[form] = code
        if self.from_text:
            # an empty text and null stand for each other where only one of them is declared
            texts, nulls = codes[str], codes[type(None)]
            if "" in texts:
                nulls.setdefault(None, texts[""])
            elif None in nulls:
                texts[""] = nulls[None]
        elif codes[str] and (codes[int] or codes[bool]):
            # Labels of several types are released as text (`natural_arrow_labels`).
            for label, code in (codes[int] | codes[bool]).items():
                codes[str].setdefault(str(label), code)
        return codes

    @cached_property
    def null_code(self) -> int:
        """The code of null, or of the label that it stands for, if that was declared."""
        if self.null_label is None:
            return self.by_type[type(None)].get(None, UNDECLARED)
        keys = [label_key(label) for label in self.labels.values]
        wanted = label_key(self.null_label)
        return keys.index(wanted) if wanted in keys else UNDECLARED

    def codes(self, values: Any, rows: Rows | None = None) -> Codes:
        """Return the codes of an Arrow array, a NumPy array or a list; rows count from 0.

        Raise if any value was not declared.
        """
        numbers = range(len(values)) if rows is None else rows
        codes = self._any(values)
        if codes.dtype.kind == "i" and len(codes) and codes.min() < 0:
            bad = np.flatnonzero(codes < 0)
            shown = [values[i] for i in bad[:SHOWN].tolist()]
            shown = [one.as_py() if isinstance(one, pa.Scalar) else one for one in shown]
            shown = [one.item() if isinstance(one, np.generic) else one for one in shown]
            where = picked(numbers, bad[:SHOWN]).tolist()
            labels = self.labels.values[: SHOWN + 1]
            raise Undeclared(self.column, where, shown, len(bad), labels).error()
        return codes.astype(self.dtype, copy=False)

    def _any(self, values: Any) -> Codes:
        """Return the codes of any container: through Arrow if its values are of one type."""
        if isinstance(values, np.ndarray):
            if values.dtype.kind in "iu":
                return self._integers(values)
            if values.dtype.kind not in "OT":
                try:
                    return self.places(pa.array(values))
                except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
                    raise InvalidData(
                        f"{subject(self.column)} must hold text, integers or booleans; found dtype "
                        f"{values.dtype}."
                    ) from None
            values = values.tolist()
        if isinstance(values, pa.Array | pa.ChunkedArray):
            return self.places(values)
        array: Any = None
        with suppress(
            pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError
        ):
            array = pa.array(values)
        if array is not None and (pa.types.is_primitive(array.type) or is_text(array)):
            return self.places(array)
        codes_of = {label_key(label): i for i, label in enumerate(self.labels.values)}
        found = (codes_of.get(object_key(value), UNDECLARED) for value in values)
        return np.fromiter(found, dtype=np.int32, count=len(values))

    def _integers(self, values: NDArray[Any]) -> Codes:
        if self.is_range and len(values) and values.min() >= 0 and values.max() < len(self.labels):
            return values.astype(self.dtype, copy=False)
        return self._hashed(pa.array(values.astype(values.dtype.newbyteorder("="), copy=False)))

    def places(self, values: Any) -> Codes:
        """Return the codes of an Arrow array; ``UNDECLARED`` where a value is no label."""
        if isinstance(values, pa.ChunkedArray) and pa.types.is_dictionary(values.type):
            parts = [self.places(chunk) for chunk in values.chunks]
            return np.concatenate(parts) if parts else np.empty(0, dtype=self.dtype)
        if pa.types.is_dictionary(values.type):
            return self._dictionary(values)
        if pa.types.is_integer(values.type) and not values.null_count:
            return self._integers(values.to_numpy())
        return self._hashed(values)

    def _dictionary(self, values: Any) -> Codes:
        table = np.append(self.places(values.dictionary), np.int32(self.null_code))
        if not values.indices.null_count and table[:-1].min(initial=0) >= 0:
            table = table[:-1].astype(self.dtype)
        codes: Codes = table[dictionary_places(values, null=len(table) - 1)]
        return codes

    def _hashed(self, values: Any) -> Codes:
        values, kind = comparable(values, self.column)
        known = exactly_held(self.by_type[kind], values.type)
        exact = map(Decimal, known) if pa.types.is_decimal(values.type) else list(known)
        declared = pa.array(exact, type=values.type)
        found = pc.index_in(values, value_set=declared, skip_nulls=True)
        if not found.null_count:
            table = np.fromiter(known.values(), dtype=self.dtype)
            return np.asarray(table[found.to_numpy()])
        table = np.array([*known.values(), UNDECLARED], dtype=np.int32)
        codes: Codes = table[found.fill_null(len(known)).to_numpy()]
        if values.null_count and self.null_code != UNDECLARED:
            codes[values.is_null().to_numpy(zero_copy_only=False)] = self.null_code
        return codes


def counts_up(labels: Sequence[Label]) -> bool:
    if isinstance(labels, range):
        return labels == range(len(labels))
    return all(type(label) is int and label == i for i, label in enumerate(labels))


def comparable(values: Any, column: str) -> tuple[Any, type]:
    """Return values in a type that can be looked up, and the kind of label that they match."""
    kind = values.type
    if pa.types.is_string_view(kind):
        return values.cast(pa.large_string()), str
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values, str
    if pa.types.is_integer(kind):
        return values, int
    if pa.types.is_boolean(kind):
        return values, bool
    if pa.types.is_null(kind):
        return values.cast(pa.string()), str
    if pa.types.is_floating(kind):
        whole = pc.add(values.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(whole), pa.scalar(None, pa.float64()), whole), int
    if pa.types.is_decimal(kind):
        narrow = kind.bit_width < 128  # Arrow looks up no narrow decimals
        return (values.cast(pa.decimal128(kind.precision, kind.scale)) if narrow else values), int
    raise InvalidData(
        f"{subject(column)} must hold text, integers or booleans to be randomised; found {kind}. "
        "Recode it into categories first."
    )


def exactly_held(codes: dict[Label, int], kind: Any) -> dict[Label, int]:
    """Return the labels that an Arrow type can hold exactly, with their codes."""
    if pa.types.is_integer(kind):
        least, most = whole_range(kind)
        return {label: code for label, code in codes.items() if least <= label <= most}
    if pa.types.is_floating(kind):
        return {label: code for label, code in codes.items() if abs(label) <= 2**53}
    if pa.types.is_decimal(kind):
        top = 10 ** (kind.precision - kind.scale)
        return {label: code for label, code in codes.items() if -top < label < top}
    return codes


SHOWN = 5


class Undeclared(NamedTuple):
    """Values of a column that are no declared categories: how many, and the first of them.

    ``rows`` is empty where an engine counted groups of rows, which have no numbers.
    """

    column: str
    rows: list[int]
    values: list[Any]
    many: int
    categories: Sequence[Label]

    def error(self) -> InvalidData:
        pairs = list(zip(self.rows, self.values, strict=bool(self.rows)))
        found = ", ".join(f"row {row}{': null' if one is None else ''}" for row, one in pairs)
        found += "" if self.many <= len(pairs) else ", …"
        where = f" ({found})" if pairs else ""
        declared = ", ".join(map(repr, self.categories[:SHOWN]))
        declared += ", …" if len(self.categories) > SHOWN else ""
        advice = (
            "Declare None as a category, or remove the rows with nulls."
            if self.values and all(one is None for one in self.values)
            else "Declare them as categories (types count: 1, '1' and True differ), or recode them."
        )
        error = InvalidData(
            f"{subject(self.column)} must hold declared categories ({declared}); {self.many} "
            f"{'row does' if self.many == 1 else 'rows do'} not{where}. {advice}"
        )
        error.undeclared = self
        shown = [f"row {row}: {one!r}" for row, one in pairs] or map(repr, self.values)
        return with_values(error, ", ".join(shown))


class UndeclaredValues:
    """The undeclared values of some columns, which are refused when all rows have been counted."""

    def __init__(self) -> None:
        self.found: dict[str, Undeclared] = {}

    def codes(self, encoder: Any, values: Any, rows: range) -> Integers:
        """Return the codes of rows: all 0 where a value was not declared, which is noted."""
        try:
            return np.asarray(encoder.codes(values, rows), dtype=np.int64)
        except InvalidData as error:
            if error.undeclared is None:
                raise
            self.add(error.undeclared)
            return np.zeros(len(rows), dtype=np.int64)

    def codes_of_groups(self, encoder: Any, values: Any, times: Integers) -> Integers:
        """Return the codes of groups of so many rows each, as :meth:`codes` does of rows."""
        flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        codes = np.asarray(encoder.places(flat), dtype=np.int64)
        bad = np.flatnonzero(codes < 0)
        if bad.size:
            shown = pc.unique(flat.take(pa.array(bad)))[:SHOWN].to_pylist()
            labels = encoder.labels.values[: SHOWN + 1]
            self.add(Undeclared(encoder.column, [], shown, int(times[bad].sum()), labels))
        return np.maximum(codes, 0)

    def add(self, found: Undeclared, *, rows: int = 0) -> None:
        """Note values of rows that begin so many rows after those met before."""
        shifted = [rows + row for row in found.rows]
        before = self.found.get(found.column, found._replace(rows=[], values=[], many=0))
        self.found[found.column] = before._replace(
            rows=[*before.rows, *shifted][:SHOWN],
            values=[*before.values, *found.values][:SHOWN],
            many=before.many + found.many,
        )

    def merge(self, later: "UndeclaredValues", rows: int) -> None:
        for found in later.found.values():
            self.add(found, rows=rows)

    def refuse(self, columns: Iterable[str]) -> None:
        """Raise if some value was not declared, for the first of these columns that has one."""
        for name in columns:
            if name in self.found:
                raise self.found[name].error()


def subject(column: str) -> str:
    return f"Column {column!r}" if column else "The data"


class Levels:
    """Gathers the values of a column batch by batch, and then puts them in order.

    Whole floats and decimals are integers, NaN is missing, and texts of a file without types are
    what they stand for (`pramble.data.labels.typed_texts`). Known categories come first, in their
    order; in a file without types they are met by their text.

    Examples
    --------
    >>> levels = Levels("age", typed=False)
    >>> codes = levels.codes(pa.array(["10", "9", None]))
    >>> labels, place = levels.ordered()
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

    def ordered(self) -> tuple[tuple[Label, ...], Integers]:
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


@frozen
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
        if pa.types.is_dictionary(values.type) and not isinstance(values, pa.ChunkedArray):
            table = np.append(self.codes(values.dictionary), 0)
            return np.asarray(table[dictionary_places(values, null=len(table) - 1)])
        plain = values.cast(value_type(values.type))
        shown = pc.is_valid(plain)
        if pa.types.is_floating(plain.type):
            shown = pc.and_kleene(shown, pc.invert(pc.is_nan(plain)))
        elif self.from_text and not pa.types.is_null(plain.type):
            shown = pc.and_kleene(shown, pc.not_equal(plain, ""))
        return np.asarray(shown.to_numpy(zero_copy_only=False), dtype=np.int64)
