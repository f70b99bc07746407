"""CSV and other text files with a separator: every value is text, and an empty cell is missing.

How such a file is written is found out from its beginning.
"""

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, plain_texts
from pramble.data.formats.base import Format, Opened, Wanted, Writer, refuse_repeated, unpacked
from pramble.data.recode import Reading
from pramble.errors import InvalidData

# The beginning that is looked at has so many bytes, and more until it has so many lines.
SAMPLE = 1 << 16
MOST_SAMPLED = 1 << 24
SAMPLE_LINES = 16

SEPARATORS = (",", ";", "\t", "|")
LINES_TRIED = 200
MARKERS = (
    *("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None"),
    *(".", "?", "-", "#N/A", "missing"),
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
    quote = reading.quote
    if quote is None:
        # double, unless only single ones stand around fields
        begun, closed = (len(re.findall(p, text, re.MULTILINE)) for p in (SINGLE, SINGLE_FIELD))
        quote = "'" if closed and 2 * closed >= begun and '"' not in text else '"'
    mark = reading.separator or separator or separator_of(text, quote, whole=whole)
    lines = split_lines(text, mark, quote, whole=whole)
    fields = [field for line in lines[1:] for field in line]
    trim = reading.trim
    if trim is None:  # where nearly every field but the first of a line begins with a blank
        later = [one.text for line in lines for one in line[1:] if not one.quoted and one.text]
        trim = bool(later) and sum(one.startswith(" ") for one in later) > 0.9 * len(later)
    quoted_missing = reading.quoted_missing
    if quoted_missing is None:  # where every text that is no number stands in quotes
        bare = [f.text for f in fields if not f.quoted and f.text and f.text not in MARKERS]
        all_quoted = any(f.quoted for f in fields) and all(map(NUMBER.fullmatch, bare))
        quoted_missing = (len(lines) > 0 and len(lines[0]) == 1) or all_quoted
    columns = bare_columns(lines[1:], trim=trim)
    return replace(
        reading,
        separator=mark,
        quote=quote,
        encoding=encoding,
        decimal=reading.decimal or decimal_of(columns, mark),
        missing=markers_in(columns) if reading.missing is None else reading.missing,
        quoted_missing=quoted_missing,
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


def separator_of(text: str, quote: str, *, whole: bool) -> str:
    """Return the separator that fits the first lines best; the usual one of those that do alike."""

    def fit(separator: str) -> tuple[float, int]:
        """Return the share of lines as long as the first, then its length."""
        lines = split_lines(text, separator, quote, whole=whole, most=LINES_TRIED)
        fields = len(lines[0]) if lines else 0
        if fields < 2:
            return 0.0, fields
        return sum(len(line) == fields for line in lines) / len(lines), fields

    return max(SEPARATORS, key=fit)


def split_lines(
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


def bare_columns(lines: Lines, *, trim: bool) -> list[list[str]]:
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


# Bytes of a file that are read at a time.
BLOCK = 1 << 22


def settle_text(path: Path, reading: Reading, *, separator: str | None) -> Reading:
    return find_dialect(beginning(path), reading, separator=separator)


def beginning(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked: more of them where lines are long."""
    with unpacked(path) as (stream, _):
        parts: list[bytes] = []
        size = lines = 0
        while size < SAMPLE or (lines < SAMPLE_LINES and size < MOST_SAMPLED):
            part: bytes = stream.read(SAMPLE)
            if not part:
                break
            parts.append(part)
            size, lines = size + len(part), lines + max(part.count(b"\n"), part.count(b"\r"))
        return b"".join(parts)


def header(path: Path, reading: Reading) -> list[str]:
    start = beginning(path).decode(reading.encoding or "utf-8", errors="replace")
    text = start.removeprefix("\ufeff")
    lines = split_lines(text, reading.separator or ",", reading.quote or '"', whole=True, most=1)
    return [field.text for field in lines[0]] if lines else []


@contextmanager
def read_text(path: Path, wanted: Wanted, *, separator: str | None) -> Iterator[Opened]:
    reading = wanted.reading
    if reading.quoted_missing is None:
        reading = settle_text(path, reading, separator=separator)
    given = header(path, reading)
    names = [name.strip() for name in given] if reading.trim else given
    if any("\0" in name for name in names):  # which no text has in its right encoding
        raise InvalidData(
            f"{path.name} must be a text; its first line has zero bytes. Say which encoding it has "
            "(such as utf-16-le), or end its name as its format does."
        )
    refuse_repeated(names, path)
    columns = wanted.among(names)
    as_given = dict(zip(names, given, strict=True))
    schema = pa.schema([pa.field(name, pa.string()) for name in columns])
    with unpacked(path) as (stream, raw):
        size = raw.size()
        with line_errors(path, reading):
            asked = [as_given[name] for name in columns]
            found = list(dict.fromkeys([*asked, given[-1]]))
            parsed = open_texts(stream, reading, given, columns=found)
            batches = without_open_quote(
                parsed, path, reading, columns=len(asked), last=found.index(given[-1])
            )
        if reading.trim:
            batches = map(partial(trimmed, missing=missing_marks(reading), schema=schema), batches)
        yield Opened(schema, batches, lambda: raw.tell() / max(size, 1))


def without_open_quote(
    batches: Any, path: Path, reading: Reading, *, columns: int, last: int
) -> Iterator[Any]:
    """Yield the first columns of batches; refuse a quote left open.

    Such a quote takes the rest of the file for the value of its last row in the file's last column,
    which has the place ``last`` here, line breaks and all.
    """
    value = None
    with line_errors(path, reading):
        for batch in batches:
            if batch.num_rows:
                value = batch.column(last)[-1].as_py()
            yield batch.select(range(columns))
    if value is not None and ("\n" in value or "\r" in value):
        refuse_broken(path, reading, quotes_alone=True)


def refuse_broken(path: Path, reading: Reading, *, quotes_alone: bool = False) -> None:
    """Raise, naming the line, when a quote is never closed or a line has too many or few fields.

    An open quote takes what is set behind the file into its row.
    """
    behind = "pramble"
    limit = csv.field_size_limit(sys.maxsize)
    begun, line, last, lengths = 0, 0, [""], list[tuple[int, int]]()
    try:
        with unpacked(path) as (stream, _):
            text = io.TextIOWrapper(stream, encoding=reading.encoding, errors="replace", newline="")
            lines = chain(text, ["\n", behind])
            rows = csv.reader(lines, delimiter=reading.separator or ",", quotechar=reading.quote)
            for row in rows:
                begun, line, last = line + 1, rows.line_num, row
                if row and (not lengths or len(row) != lengths[0][1]) and row != [behind]:
                    lengths = [*lengths, (line, len(row))][:2]
    finally:
        csv.field_size_limit(limit)
    if last != [behind]:
        raise InvalidData(
            f"{path.name}: a quote that line {begun} opens is never closed. Close it, or say which "
            "quotes the file has."
        ) from None
    if len(lengths) > 1 and not quotes_alone:
        (_, expected), (number, fields) = lengths
        raise InvalidData(
            f"{path.name}: line {number} has {fields} fields, the header {expected}. Mend the "
            "line, or say which separator and quotes the file has."
        ) from None


def missing_marks(reading: Reading) -> list[str]:
    return ["", *(reading.missing or ())]


def open_texts(stream: Any, reading: Reading, names: list[str], *, columns: list[str]) -> Any:
    """Return the batches of a text file; where texts are trimmed, with nothing missing yet."""
    import pyarrow.csv as arrow_csv

    try:
        return arrow_csv.open_csv(
            stream,
            read_options=arrow_csv.ReadOptions(block_size=BLOCK, encoding=reading.encoding),
            parse_options=arrow_csv.ParseOptions(
                delimiter=reading.separator,
                quote_char=reading.quote,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,  # of a single column an empty line is a row
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=columns,
                null_values=[] if reading.trim else missing_marks(reading),
                strings_can_be_null=not reading.trim,
                quoted_strings_can_be_null=bool(reading.quoted_missing),
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):  # a line of names that does not end
            return []
        raise


@contextmanager
def line_errors(path: Path, reading: Reading) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
            raise InvalidData(
                f"{path.name} must be a text in {reading.encoding}; some of it is not. Say which "
                "encoding the file has."
            ) from None
        refuse_broken(path, reading)
        raise


def trimmed(batch: Any, *, missing: list[str], schema: Any) -> Any:
    """Return a batch with blanks taken off its texts, and then missing values found."""
    gone = pa.array(missing, pa.string())

    def clean(column: Any) -> Any:
        texts = pc.utf8_trim_whitespace(column)
        return pc.if_else(pc.is_in(texts, gone), pa.scalar(None, pa.string()), texts)

    return pa.RecordBatch.from_arrays([clean(column) for column in batch.columns], schema=schema)


class DelimitedWriter:
    """Writes each cell with quotes exactly if it needs them: what is written tells nothing more.

    A text needs quotes if it is empty (to be told from null) or holds a quote, the separator or a
    line break. Arrow's own writer quotes all texts or none, and is slower.
    """

    def __init__(self, sink: IO[bytes], schema: Any, *, separator: str) -> None:
        self.sink, self.separator = sink, separator
        self.special = f'["\r\n{re.escape(separator)}]'
        # to most programs an empty line is no row
        self.null = '""' if len(schema) == 1 else ""
        line = io.StringIO()
        csv.writer(line, delimiter=separator, lineterminator="\n").writerow(schema.names)
        sink.write(line.getvalue().encode())

    def write(self, batch: Any) -> None:
        columns = zip(batch.columns, batch.schema.names, strict=True)
        cells = [self.cells(column, name) for column, name in columns]
        rows = join_texts(join_texts(*cells, mark=self.separator), "\n")
        self.sink.write(text_bytes(rows))

    def cells(self, column: Any, name: str) -> Any:
        """Return the texts of a column, with quotes around those that need them."""
        if pa.types.is_dictionary(column.type):  # each label is looked at once
            texts = self.cells(column.dictionary, name)
            return texts.take(column.indices).fill_null(self.null)
        texts = as_text(column, column=name).cast(pa.large_string())
        if is_text(column):
            special = pc.match_substring_regex(texts, self.special)
            needs = pc.or_(special, pc.equal(texts, "")).fill_null(False)  # noqa: FBT003
            if pc.any(needs).as_py():
                doubled = pc.replace_substring(texts.filter(needs), '"', '""')
                texts = pc.replace_with_mask(texts, needs, join_texts('"', doubled, '"'))
        return texts.fill_null(self.null)


def join_texts(*parts: Any, mark: str = "") -> Any:
    """Return large texts joined row by row, with a mark between them."""
    large = [pa.scalar(one, pa.large_string()) if isinstance(one, str) else one for one in parts]
    return pc.binary_join_element_wise(*large, pa.scalar(mark, pa.large_string()))


def text_bytes(texts: Any) -> memoryview:
    """Return the bytes of an array of texts, one after the other."""
    _, places, data = texts.buffers()
    if data is None or not len(texts):
        return memoryview(b"")
    offsets = np.frombuffer(places, np.int64)
    start, end = offsets[texts.offset], offsets[texts.offset + len(texts)]
    return memoryview(data)[start:end]


def as_text(values: Any, *, column: str) -> Any:
    kind = values.type
    if pa.types.is_dictionary(kind):
        return as_text(values.dictionary, column=column).take(values.indices)
    if is_text(values):
        return plain_texts(values)
    try:
        return values.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise InvalidData(
            f"Column {column!r} of type {kind} cannot be written as CSV; drop it, or write Parquet."
        ) from None


@contextmanager
def text_writer(sink: IO[bytes], schema: Any, *, separator: str) -> Iterator[Writer]:
    yield DelimitedWriter(sink, schema, separator=separator)


def delimited(name: str, endings: tuple[str, ...], separator: str | None) -> Format:
    return Format(
        name,
        endings,
        partial(read_text, separator=separator),
        partial(text_writer, separator=separator or ","),
        partial(settle_text, separator=separator),
        typed=False,
        packed=True,
    )
