"""Copies of the complete records for other programs: CSV, Stata, SPSS and Excel.

They are made from the written records and the plan alone, and the same records give the same bytes.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, text_of_label, without_dictionary
from pramble.data.encode import Encoder
from pramble.data.formats.base import BATCH_ROWS, Format
from pramble.data.formats.delimited import as_text
from pramble.data.formats.registry import CSV, EXCEL, SPSS, STATA
from pramble.data.labels import Labels
from pramble.data.save import save_table
from pramble.errors import InvalidData
from pramble.limits import MOST_SYNTHETIC_ROWS
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.table_plan import TablePlan
from pramble.releasing.folder.layout import COMPLETE, stated_file
from pramble.releasing.folder.reading import protected_labels
from pramble.releasing.prepare import Prepared
from pramble.values import frozen

# Whole numbers up to it are exact as floating-point numbers.
LARGEST_INTEGER = 2**53
# Characters that no text of a workbook may hold.
CONTROLS = r"\x00-\x08\x0b-\x1f\x7f\ufffe\uffff"
CODED = (
    "The complete records. Texts are codes with value labels: those of the source where it has "
    "codes, else whole numbers in the order of the plan. System missing is an empty cell. "
    "Variables have the labels of the source, else the names of their columns."
)


@frozen(eq=False)
class CopyFormat:
    """A format of copies: what it can hold, and what the manifest says of it."""

    form: Format
    title: str  # the name of the program, in messages
    most_rows: int
    most_columns: int
    longest_label: int  # in bytes; in UTF-16 units for Excel
    most_labels: int
    sentence: str
    library: str  # what writes it
    extra: str  # the extra of this package that brings the library
    forbidden: str = r"\x00"  # a regular expression of what no text may hold

    def size_of(self, text: str) -> int:
        """Return the length of a text as the format measures it."""
        return len(text.encode("utf-16-le")) // 2 if self.form is EXCEL else len(text.encode())

    def cannot_hold(self, found: str) -> InvalidData:
        """Return the error of a release that the format has no room for."""
        return InvalidData(f"{self.title} holds {found} {self.form.name!r} out of copies.")


LIMITED: Mapping[str, CopyFormat] = {
    kind.form.name: kind
    for kind in (
        CopyFormat(
            STATA, "Stata", 2**31 - 1, 32_767, 32_000, 65_536, CODED, "pyreadstat", "statfiles"
        ),
        CopyFormat(
            SPSS, "SPSS", 2**31 - 1, 32_767, 120, 2**31 - 1, CODED, "pyreadstat", "statfiles"
        ),
        CopyFormat(
            EXCEL, "Excel", 1_048_575, 16_384, 32_767, 2**31 - 1, "The complete records.",
            "xlsxwriter", "excel", f"[{CONTROLS}]|_x[0-9A-Fa-f]{{4}}_",
        ),
    )
}  # fmt: skip


def copy_name(word: str) -> str:
    return COMPLETE + (LIMITED[word].form if word in LIMITED else CSV).endings[0]


def check_copies(prepared: Prepared) -> None:
    """Refuse copies that cannot hold the release, before anything is written.

    What is looked at is public once released: the number of rows, names, and the plan's labels.
    """
    for kind in [LIMITED[word] for word in prepared.spec.copies if word in LIMITED]:
        if find_spec(kind.library) is None:
            raise InvalidData(
                f"A copy for {kind.title} is written through {kind.library}: pip install "
                f"pramble[{kind.extra}], or leave {kind.form.name!r} out of copies."
            )
        rows = min(prepared.rows, MOST_SYNTHETIC_ROWS)
        if rows > kind.most_rows:
            raise kind.cannot_hold(
                f"{kind.most_rows:,} rows of data; the release has {rows:,}. Leave"
            )
        if len(prepared.names) > kind.most_columns:
            raise kind.cannot_hold(
                f"{kind.most_columns:,} columns; the release has {len(prepared.names):,}. Drop "
                "some, or leave"
            )
        for name in prepared.names:
            if re.search(kind.forbidden, name):
                raise InvalidData(
                    f"The name of column {name!r} has characters that {kind.title} cannot hold; "
                    f"rename it, or leave {kind.form.name!r} out of copies."
                )
        for name, own in protected_labels(prepared.design.plan).items():
            refuse_labels(kind, name, own.values)


def refuse_labels(kind: CopyFormat, name: str, labels: Sequence[Any]) -> None:
    """Refuse values of a column that the format cannot hold."""
    texts = [text_of_label(label) or "" for label in labels if isinstance(label, str)]
    wrong = None
    if len(texts) > kind.most_labels:
        wrong = f"{len(texts):,} labels, and {kind.title} holds {kind.most_labels:,}"
    elif any(kind.size_of(text) > kind.longest_label for text in texts):
        wrong = f"a label of more than the {kind.longest_label:,} bytes that {kind.title} holds"
    elif any(re.search(kind.forbidden, text) for text in texts):
        wrong = f"a label with characters that {kind.title} cannot hold"
    elif any(type(n) is int and abs(n) > LARGEST_INTEGER for n in labels):
        wrong = f"whole numbers beyond 2^53, which {kind.title} rounds"
    if wrong:
        raise InvalidData(
            f"Column {name!r} has {wrong}; recode it, drop it, or leave {kind.form.name!r} out of "
            "copies."
        )


def plain_column(values: Any, name: str) -> Any:
    """Return a column as every program holds it: numbers, truths, or texts; dates are texts."""
    values = without_dictionary(values)
    types, kind = pa.types, values.type
    if types.is_decimal(kind) or types.is_floating(kind):
        numbers = values.cast(pa.float64())
        return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))
    if types.is_integer(kind) or types.is_boolean(kind) or is_text(values):
        return values
    return as_text(values, column=name)


def write_copies(
    table: Any,
    plan: Plan | TablePlan,
    folder: Path,
    words: Sequence[str],
    columns: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Write copies of the complete records, and return what the manifest says of each.

    ``columns`` are those of the manifest, with what the source calls them and their values.
    """
    stated = {one["name"]: one for one in columns}
    labels, found = protected_labels(plan), []
    others = [name for name in table.column_names if name not in labels]
    for name in others:
        place = table.column_names.index(name)
        table = table.set_column(place, name, plain_column(table[name], name))
    for word in words:
        path = folder / copy_name(word)
        about: dict[str, Any] = {"sentence": "The complete records as text."}
        kind = LIMITED.get(word)
        if kind is None:
            save_table(table, path)
        else:
            about["sentence"] = kind.sentence
            for name in others:
                refuse_labels(kind, name, pc.unique(table[name]).to_pylist())
            if kind.form is EXCEL:
                write_workbook(path, table)
            else:
                about["columns"] = write_statistics(kind, path, table, labels, stated)
        found.append({**stated_file(folder, path.name, word), **about})
    return found


STATA_VERSION = 14
LARGEST_LONG = 2_147_483_620
# The label of a variable: characters in Stata, bytes in SPSS.
LONGEST_LABEL = {"stata": 80, "spss": 255}
ABOUT = "Released by pramble; missing: blank or missing in the data"
# The library notes the time of writing, which would tell files of the same data apart: in Stata
# after a mark, in SPSS at a fixed place.
STATA_TIME, STATA_MARK = b"01 Jan 1970 00:00", b"<timestamp>"
SPSS_TIME, SPSS_PLACE = b"01 Jan 7000:00:00", 92


def write_statistics(
    kind: CopyFormat,
    path: Path,
    table: Any,
    labels: Mapping[str, Labels],
    stated: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """Write a copy with value labels for protected columns; return the names of its variables."""
    import pandas as pd
    import pyreadstat

    names, form = variable_names(table.column_names), kind.form.name
    values, texts = {}, {}
    missing: dict[str, list[Any]] = {}
    for column, name in names.items():
        about = stated.get(column, {})
        if column in labels:
            own = labelled_codes(table[column], labels[column], about, column=column, form=form)
        else:
            own = untouched_values(table[column], about, form=form)
        values[name], meant = own
        gone, words = missing_codes(own, about, form=form)
        missing |= {name: gone} if gone else {}
        texts[name] = {
            code: first_bytes(text, kind.longest_label) for code, text in {**meant, **words}.items()
        }
    frame = pa.table(values).to_pandas(types_mapper=pd.ArrowDtype)
    titles = (stated.get(column, {}).get("label", column) for column in names)
    options = {
        "file_label": ABOUT,
        "column_labels": [first_bytes(title, LONGEST_LABEL[form]) for title in titles],
        "variable_value_labels": {name: own for name, own in texts.items() if own},
        ("missing_user_values" if form == "stata" else "missing_ranges"): missing,
    }
    for name in missing if form == "stata" else ():  # letters are looked for among the values
        frame[name] = frame[name].to_numpy("float64", na_value=float("nan"))
    try:
        if form == "stata":
            pyreadstat.write_dta(frame, str(path), version=STATA_VERSION, **options)
        else:
            pyreadstat.write_sav(frame, str(path), row_compress=True, **options)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise InvalidData(
            f"The copy for {kind.title} could not be written: {error}. Leave {form!r} out of "
            "copies. Nothing was released."
        ) from None
    fix_time(path, is_stata=form == "stata")
    return list(values)


def first_bytes(text: str, most: int) -> str:
    """Return the first so many bytes of a text."""
    return text.encode()[:most].decode(errors="ignore").replace("\x00", "")


Coded = tuple[Any, dict[Any, str]]  # a column, and labels of its values


def codes_for(about: Mapping[str, Any], *, form: str) -> dict[Any, str]:
    """Return the codes of the source with their labels, if the format can label them."""
    codes = {one["code"]: one["label"] for one in about.get("codes", ())}
    if any(isinstance(one, str) for one in codes):
        return codes if form == "spss" else {}
    return codes if all(abs(one) <= LARGEST_LONG for one in codes) else {}


def labelled_codes(
    values: Any, labels: Labels, about: Mapping[str, Any], *, column: str, form: str
) -> Coded:
    """Return a protected column: whole numbers as they are, others as codes and their labels."""
    listed = [label for label in labels.values if label is not None]
    meant = codes_for(about, form=form)
    if all(type(label) is int for label in listed):
        return narrow_integers(values, largest=max(map(abs, listed), default=0)), meant
    texts = any(isinstance(one, str) for one in meant)
    known = {label: code for code, label in meant.items()}
    taken = [*meant, *(one["code"] for one in about.get("missing", ()) if meant)]
    free = count(max((one for one in taken if type(one) is int), default=0) + 1)
    found: list[Any] = []
    for label in labels.values:
        code, text = known.get(text_of_label(label) or ""), text_of_label(label)
        if code is None and text is not None:
            code = text if texts else next(free)
            meant |= {} if texts else {code: text}
        found.append(code)
    codes = Encoder(labels, column).codes(values)
    return pa.array(found, pa.string() if texts else pa.int32()).take(pa.array(codes)), meant


def untouched_values(values: Any, about: Mapping[str, Any], *, form: str) -> Coded:
    """Return a column that was not protected, as these programs hold it, and value labels."""
    meant = codes_for(about, form=form)
    if pa.types.is_boolean(values.type):
        return values.cast(pa.int32()), {0: "false", 1: "true"}
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py().values()
        return narrow_integers(values, largest=max(abs(end or 0) for end in ends)), meant
    return (values.cast(pa.large_string()) if is_text(values) else values), meant


SHORT, MOST_ALONE = 8, 3  # of SPSS: bytes of a text that can be missing, and missing values alone


def missing_codes(
    own: Coded, about: Mapping[str, Any], *, form: str
) -> tuple[list[Any], dict[Any, str]]:
    """Return what a copy declares missing of the codes that the source did, and their labels."""
    values, meant = own
    stated = {one["code"]: one["label"] for one in about.get("missing", ())}
    if (meant and not about.get("codes")) or pa.types.is_boolean(values.type):
        return [], {}  # the copy has codes of its own
    kind = str if is_text(values) else int
    if form == "stata":
        letters = {one[1:].lower(): text for one, text in stated.items() if str(one)[:1] == "."}
        return (list(letters), letters) if kind is int else ([], {})
    codes = [one for one in stated if type(one) is kind and len(str(one).encode()) <= SHORT]
    used = {*meant, *pc.unique(values).to_pylist()}
    gone: list[Any] = codes if not used.intersection(codes) else []
    if len(gone) > MOST_ALONE:
        low, high = min(gone), max(gone)
        within = any(one is not None and low <= one <= high for one in used)
        gone = [] if within or kind is str else [{"lo": low, "hi": high}]
    return gone, {one: stated[one] for one in codes if gone and stated[one] != str(one)}


def narrow_integers(values: Any, *, largest: int) -> Any:
    """Return whole numbers in the type that holds the largest."""
    return values.cast(pa.int32() if largest <= LARGEST_LONG else pa.float64())


def fix_time(path: Path, *, is_stata: bool) -> None:
    """Replace the time of writing in the head of a file."""
    with path.open("r+b") as file:
        place, time = SPSS_PLACE, SPSS_TIME
        if is_stata:
            place, time = file.read(1000).index(STATA_MARK) + len(STATA_MARK) + 1, STATA_TIME
        file.seek(place)
        file.write(time)


LONGEST_NAME = 31  # one less than names may have: no labels go with those of 32
# Words of either language that are no names, whatever their capitals.
WORDS = """
    all and b by byte coef cons double eq float ge gt if in int le long lt n ne not or pi pred rc
    skip strl to using with
"""
RESERVED = frozenset(WORDS.split())


def variable_names(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for each column: letters, digits and underscores, 31 at most, all different.

    >>> list(variable_names(["Größe (cm)", "grosse_cm", "2nd", "if", "sex"]).values())
    ['Groe_cm', 'grosse_cm', 'v2nd', 'v_if', 'sex']
    >>> list(variable_names(["a b", "A_b", "a-b"]).values())
    ['a_b', 'A_b_2', 'a_b_3']
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for column in columns:
        letters = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode()
        name = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")
        if name.casefold() in RESERVED or re.fullmatch(r"str\d+", name, re.IGNORECASE):
            name = f"v_{name}"
        name = (name if name[:1].isalpha() else f"v{name}")[:LONGEST_NAME].rstrip("_")
        tries = (name if i == 1 else f"{name[: LONGEST_NAME - 6]}_{i}" for i in count(1))
        found[column] = next(one for one in tries if one.casefold() not in taken)
        taken.add(found[column].casefold())
    return found


def write_workbook(path: Path, table: Any) -> None:
    """Write the records as a workbook of one sheet, row by row, with texts as texts."""
    import xlsxwriter

    # A text that begins with "=" or "http" stays a text; the fixed day keeps the time of writing
    # out of the file.
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(path, options) as book:
        book.set_properties({"created": datetime(1980, 1, 1, tzinfo=UTC)})
        sheet = book.add_worksheet("data")
        for place, name in enumerate(table.column_names):
            sheet.write_string(0, place, name)
        start = 1  # after the names
        for batch in table.to_batches(BATCH_ROWS):
            columns = [own.to_pylist() for own in batch.columns]
            for number, row in enumerate(zip(*columns, strict=True), start):
                for place, cell in enumerate(row):
                    if isinstance(cell, str):  # the general way takes "{=1+1}" for a formula
                        sheet.write_string(number, place, cell)
                    elif cell is not None and cell == cell:
                        sheet.write(number, place, cell)
            start += batch.num_rows
