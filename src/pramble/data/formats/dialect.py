"""How a text file is written, found out from its beginning."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pramble.data.reading import Reading

SAMPLE = 1 << 16
MOST_SAMPLED = 1 << 24
SAMPLE_LINES = 16
"""The beginning that is looked at has so many bytes, and more until it has so many lines."""

SEPARATORS = (",", ";", "\t", "|")
LINES_TRIED = 200
MARKERS = (
    "NA",
    "N/A",
    "n/a",
    "NaN",
    "nan",
    "NULL",
    "null",
    "None",
    ".",
    "?",
    "-",
    "#N/A",
    "missing",
)
NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*")
COMMA = re.compile(r"[-+]?\d+,\d+")
POINT = re.compile(r"[-+]?\d*\.\d+")
SINGLE = r"(?:^|[,;\t|])'"
SINGLE_FIELD = r"(?:^|[,;\t|])'[^',;\t|\r\n]*'(?=[,;\t|\r\n]|\Z)"
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class Field(NamedTuple):
    """One field of a line: its text, and whether it stood in quotes."""

    text: str
    quoted: bool


Lines = list[list[Field]]


def find_dialect(start: bytes, reading: Reading, *, separator: str | None = None) -> Reading:
    """Return the reading with everything about the text settled.

    ``start`` is the beginning of the file, unpacked. What the reading says stays, and the file's
    ending may tell the separator; the rest is found out.
    """
    encoding = reading.encoding or encoding_of(start)
    text = start.decode(encoding, errors="replace").removeprefix("\ufeff")
    whole = len(start) < SAMPLE
    quote = reading.quote or quote_of(text)
    mark = reading.separator or separator or separator_of(text, quote, whole=whole)
    lines = lines_of(text, mark, quote, whole=whole)
    single = len(lines) > 0 and len(lines[0]) == 1
    trim = blanks_follow(lines) if reading.trim is None else reading.trim
    columns = columns_of(lines[1:], trim=trim)
    missing = markers_in(columns) if reading.missing is None else reading.missing
    return replace(
        reading,
        separator=mark,
        quote=quote,
        encoding=encoding,
        decimal=reading.decimal or decimal_of(columns, mark),
        missing=missing,
        quoted_missing=single or all_quoted(lines)
        if reading.quoted_missing is None
        else reading.quoted_missing,
        trim=trim,
    )


def encoding_of(start: bytes) -> str:
    """Return UTF-8 if the bytes are that, else Windows-1252; a byte order mark decides."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def quote_of(text: str) -> str:
    """Return the quotation mark: double, unless only single ones stand around fields."""
    begun, whole = (len(re.findall(one, text, re.MULTILINE)) for one in (SINGLE, SINGLE_FIELD))
    return "'" if whole and 2 * whole >= begun and '"' not in text else '"'


def separator_of(text: str, quote: str, *, whole: bool) -> str:
    """Return the separator that fits the first lines best; the usual one of those that do alike."""
    fits = {
        one: evenness(lines_of(text, one, quote, whole=whole, most=LINES_TRIED))
        for one in SEPARATORS
    }
    return max(SEPARATORS, key=lambda one: fits[one])


def lines_of(
    text: str, separator: str, quote: str, *, whole: bool, most: int | None = None
) -> Lines:
    """Return the fields of the first lines; a line that the sample cuts off is left out."""
    q, s = re.escape(quote), re.escape(separator)
    field = re.compile(rf"(?:{q}((?:[^{q}]|{q}{q})*){q}|([^{s}\r\n]*))({s}|\r\n|\n|\r|\Z)")
    cut = re.compile(rf"{q}(?:[^{q}]|{q}{q})*{q}?\Z")
    lines: Lines = []
    line: list[Field] = []
    place = 0
    while place < len(text) and (most is None or len(lines) < most):
        found = field.match(text, place)
        if found is None or (not whole and found[1] is None and cut.match(text, place)):
            return lines
        inner, bare, end = found.groups()
        texts = bare if inner is None else inner.replace(quote * 2, quote)
        line.append(Field(texts, inner is not None))
        place = found.end()
        if end != separator:
            if (end or whole) and line != [Field("", quoted=False)]:
                lines.append(line)
            line = []
    if line and whole:  # the text ends with a separator
        lines.append([*line, Field("", quoted=False)])
    return lines


def evenness(lines: Lines) -> tuple[float, int]:
    """Return how well a separator fits: share of lines as long as the first, then its length."""
    fields = len(lines[0]) if lines else 0
    if fields < 2:
        return 0.0, fields
    return sum(len(line) == fields for line in lines) / len(lines), fields


def blanks_follow(lines: Lines) -> bool:
    """Whether nearly every field but the first of a line begins with a blank."""
    later = [field.text for line in lines for field in line[1:] if not field.quoted and field.text]
    return bool(later) and sum(text.startswith(" ") for text in later) > 0.9 * len(later)


def columns_of(lines: Lines, *, trim: bool) -> list[list[str]]:
    """Return the texts of each column that stood without quotes."""
    width = max(map(len, lines), default=0)
    columns: list[list[str]] = [[] for _ in range(width)]
    for line in lines:
        for place, field in enumerate(line):
            if not field.quoted:
                columns[place].append(field.text.strip() if trim else field.text)
    return columns


def markers_in(columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the markers of missing values that stand among numbers, and the empty cell."""
    found = set()
    for column in columns:
        others = [text for text in column if text and text not in MARKERS]
        if others and all(NUMBER.fullmatch(text) for text in others):
            found |= set(column) & set(MARKERS)
    return ("", *(marker for marker in MARKERS if marker in found))


def decimal_of(columns: Sequence[Sequence[str]], separator: str) -> str:
    """Return the decimal mark: a comma where numbers are written so and none with a point."""
    if separator == ",":
        return "."
    texts = [text.strip() for column in columns for text in column]
    commas = any(COMMA.fullmatch(text) for text in texts)
    return "," if commas and not any(POINT.fullmatch(text) for text in texts) else "."


def all_quoted(lines: Lines) -> bool:
    """Whether every text that is no number stands in quotes, and some do."""
    fields = [field for line in lines[1:] for field in line]
    bare = (f.text for f in fields if not f.quoted and f.text and f.text not in MARKERS)
    return any(field.quoted for field in fields) and all(NUMBER.fullmatch(text) for text in bare)
