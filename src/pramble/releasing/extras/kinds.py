"""What each format of a copy can hold; what it cannot is refused before anything is written."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.util import find_spec
from itertools import count
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain, plain_texts, text_of
from pramble.data.formats.base import Format
from pramble.data.formats.delimited import as_text
from pramble.data.formats.registry import CSV, EXCEL, SPSS, STATA
from pramble.data.labels import Labels
from pramble.errors import InvalidData
from pramble.values import value

LARGEST_INTEGER = 2**53
MOST_DIGITS = 15
"""What a floating-point number holds exactly: whole numbers, and digits of a decimal."""

CONTROLS = r"\x00-\x08\x0b-\x1f\x7f\ufffe\uffff"
"""Characters that no text of a workbook may hold."""


@value(eq=False)
class Kind:
    """A format of copies.

    Attributes
    ----------
    form : Format
        How the copy is read, and its ending.
    title : str
        The name of the program, in messages.
    most_rows, most_columns : int
    longest_text : int
        Bytes of a text (UTF-16 units in Excel).
    longest_label, most_labels : int
        Bytes of a value label, and how many a variable has; 0 where texts stay texts.
    strange : str
        A regular expression of what no text of the format may hold.
    first_day : date
        The earliest date.
    library, extra : str
        What writes it, and the extra of this package that brings it; empty for this package.
    """

    form: Format
    title: str
    most_rows: int
    most_columns: int
    longest_text: int
    first_day: date
    longest_label: int = 0
    most_labels: int = 0
    strange: str = r"\x00"
    library: str = ""
    extra: str = ""

    @property
    def remedy(self) -> str:
        """What to do about a column that cannot be held."""
        return f"drop it, or leave {self.form.name!r} out of copies"

    def text_size(self) -> Callable[[str], int]:
        """Return how the length of a text is measured."""
        return utf16_units if self.form is EXCEL else utf8_bytes


def utf8_bytes(text: str) -> int:
    """Return the bytes of a text in UTF-8."""
    return len(text.encode())


def utf16_units(text: str) -> int:
    """Return the units of a text in UTF-16, which Excel counts."""
    return len(text.encode("utf-16-le")) // 2


KINDS: Mapping[str, Kind] = {
    kind.form.name: kind
    for kind in (
        Kind(CSV, "CSV", 2**62, 2**62, 2**62, date.min, strange="(?!)"),
        Kind(
            STATA, "Stata", 2**31 - 1, 32_767, 2_044, date(100, 1, 1),
            longest_label=32_000, most_labels=65_536,
            library="pyreadstat", extra="statfiles",
        ),
        Kind(
            SPSS, "SPSS", 2**31 - 1, 32_767, 32_767, date(1582, 10, 15),
            longest_label=120, most_labels=2**31 - 1,
            library="pyreadstat", extra="statfiles",
        ),
        Kind(
            EXCEL, "Excel", 1_048_575, 16_384, 32_767, date(1900, 3, 1),
            strange=f"[{CONTROLS}]|_x[0-9A-Fa-f]{{4}}_",
        ),
    )
}  # fmt: skip
"""The format of each word of ``copies``."""


def refuse_library(kind: Kind) -> None:
    """Refuse a format whose library is not at hand."""
    if kind.library and find_spec(kind.library) is None:
        raise InvalidData(
            f"A copy for {kind.title} is written through {kind.library}: pip install "
            f"pramble[{kind.extra}], or leave {kind.form.name!r} out of copies."
        )


def refuse_size(kind: Kind, *, rows: int, names: Sequence[str]) -> None:
    """Refuse more rows or columns than the format holds, and names it cannot."""
    if rows > kind.most_rows:
        raise InvalidData(
            f"{kind.title} holds {kind.most_rows:,} rows of data; the release has {rows:,}. Leave "
            f"{kind.form.name!r} out of copies."
        )
    if len(names) > kind.most_columns:
        raise InvalidData(
            f"{kind.title} holds {kind.most_columns:,} columns; the release has {len(names):,}. "
            f"Drop some, or leave {kind.form.name!r} out of copies."
        )
    for name in names:
        if re.search(kind.strange, name):
            raise InvalidData(
                f"The name of column {name!r} has characters that {kind.title} cannot hold; "
                f"rename it, or leave {kind.form.name!r} out of copies."
            )


def refuse_labels(kind: Kind, name: str, labels: Labels) -> None:
    """Refuse labels of a randomised column that the format cannot hold."""
    texts = [text_of(label) or "" for label in labels.values if isinstance(label, str)]
    longest = kind.longest_label or kind.longest_text
    size = kind.text_size()
    wrong = None
    if kind.most_labels and len(texts) > kind.most_labels:
        wrong = f"{len(texts):,} labels, and {kind.title} holds {kind.most_labels:,}"
    elif any(size(text) > longest for text in texts):
        wrong = f"a label of more than the {longest:,} bytes that {kind.title} holds"
    elif any(re.search(kind.strange, text) for text in texts):
        wrong = f"a label with characters that {kind.title} cannot hold"
    elif any(type(n) is int and abs(n) > LARGEST_INTEGER for n in labels.values):
        wrong = f"whole numbers beyond 2^53, which {kind.title} rounds"
    if wrong and kind.form is not CSV:
        raise InvalidData(f"Column {name!r} has {wrong}; recode it, or {kind.remedy}.")


def refuse_type(kind: Kind, name: str, found: Any) -> None:
    """Refuse a column of a type that the format does not have."""
    if kind.form is CSV:
        as_text(pa.nulls(0, found), column=name)
        return
    found = found.value_type if pa.types.is_dictionary(found) else found
    known = (
        pa.types.is_integer(found)
        or pa.types.is_floating(found)
        or pa.types.is_boolean(found)
        or pa.types.is_null(found)
        or pa.types.is_date(found)
        or (pa.types.is_timestamp(found) and found.tz is None)
        or (pa.types.is_decimal(found) and found.precision <= MOST_DIGITS)
        or is_text(pa.field("", found))
    )
    if not known:
        raise InvalidData(
            f"Column {name!r} of type {found} cannot be written for {kind.title}; {kind.remedy}."
        )


def refuse_values(kind: Kind, name: str, values: Any) -> None:
    """Refuse values of an untouched column that the format cannot hold as they are."""
    if kind.form is CSV:
        return
    wrong, values = None, plain(values)
    found = values.type
    if is_text(values):
        wrong = wrong_texts(kind, plain_texts(values))
    elif pa.types.is_integer(found):
        ends = pc.min_max(values).as_py()
        if any(end is not None and abs(end) > LARGEST_INTEGER for end in ends.values()):
            wrong = "whole numbers beyond 2^53, which are rounded there"
    elif pa.types.is_floating(found):
        if pc.any(pc.is_inf(values.cast(pa.float64()))).as_py():
            wrong = "infinite numbers"
    elif pa.types.is_date(found) or pa.types.is_timestamp(found):
        days = values.cast(pa.timestamp("s"), safe=False).cast(pa.int64())
        first = (kind.first_day - date(1970, 1, 1)).days * 86_400
        low = pc.min(days).as_py()
        if low is not None and low < first:
            wrong = f"dates before {kind.first_day.isoformat()}"
    if wrong:
        raise InvalidData(
            f"Column {name!r} has {wrong}, which {kind.title} does not hold; {kind.remedy}."
        )


def wrong_texts(kind: Kind, texts: Any) -> str | None:
    units = pc.binary_length(texts)
    if (pc.max(units).as_py() or 0) > kind.longest_text:
        size = kind.text_size()
        long = texts.filter(pc.greater(units, kind.longest_text)).to_pylist()
        if any(size(text) > kind.longest_text for text in long):
            return f"texts of more than {kind.longest_text:,} bytes"
    if any(re.search(kind.strange, text) for text in pc.unique(texts).to_pylist() if text):
        return "texts with characters"
    return None


LONGEST = 32
RESERVED = {
    "all", "and", "b", "by", "byte", "coef", "cons", "double", "eq", "float", "ge", "gt", "if",
    "in", "int", "le", "long", "lt", "n", "ne", "not", "or", "pi", "pred", "rc", "skip", "strl",
    "to", "using", "with",
}  # fmt: skip
"""Words of either language that are no names, whatever their capitals."""


def variable_names(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for each column: letters, digits and underscores, 32 at most, all different.

    >>> list(variable_names(["Größe (cm)", "grosse_cm", "2nd", "if", "sex"]).values())
    ['Groe_cm', 'grosse_cm', 'v2nd', 'v_if', 'sex']
    >>> list(variable_names(["a b", "A_b", "a-b"]).values())
    ['a_b', 'A_b_2', 'a_b_3']
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        name = plain_name(column)
        tries = (name if i == 1 else f"{name[: LONGEST - 6]}_{i}" for i in count(1))
        found[column] = next(one for one in tries if one.casefold() not in taken)
        taken.add(found[column].casefold())
    return found


def plain_name(column: str) -> str:
    """Return a text as a name, without accents and signs."""
    letters = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
    if name.casefold() in RESERVED or re.fullmatch(r"str\d+", name, re.IGNORECASE):
        name = f"v_{name}"
    return (name if name[:1].isalpha() else f"v{name}")[:LONGEST].rstrip("_")
