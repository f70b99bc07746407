"""Awkward files, plans and options: each works, or is refused in a sentence that helps.

A case writes some files and gives the words of a command. What works ends with 0 and has a fact to
check. What is refused ends with 1 (data or plan) or 2 (usage), names the thing, leaves nothing
behind and shows no value of the data: `SECRET` stands in most files.
"""

import gzip
import importlib
import json
import shlex
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.errors import PrambleError

release_module = importlib.import_module("pramble.releasing.release")  # its function hides it
contents_module = importlib.import_module("pramble.releasing.write.contents")

SECRET = "Zsecretz"
SEXES = ["f", "m"] * 30
TOWNS = [SECRET, "Oslo", "Bergen"] * 20
ROWS = list(zip(SEXES, TOWNS, strict=True))
QUICK = "--design paper --prior uniform --no-ledger"
OUT = f"--out out --alpha 9 {QUICK}"
RELEASE = f"release people.csv {OUT}"


class Answer(NamedTuple):
    """What a command came to: its exit code, all that it said, and what it printed."""

    code: int
    said: str
    printed: str


class Case(NamedTuple):
    """A name, what writes the files and returns the words, the exit code, words, and a fact."""

    name: str
    make: Callable[[Path], list[str]]
    code: int
    says: tuple[str, ...]
    fact: Callable[[Answer], Any] | None
    marks: tuple[Any, ...] = ()


def works(name, make, fact, *says, marks=()):
    """A case that ends well, with a fact to check."""
    return Case(name, make, 0, says, fact, marks)


def refused(name, make, *says, code=1, marks=()):
    """A case that is refused, in words that must be among those said."""
    return Case(name, make, code, says, None, marks)


def not_yet(reason):
    """The mark of a case that does not hold yet."""
    return (pytest.mark.xfail(strict=True, reason=reason),)


def given(files: dict[str, Any], words: str) -> Callable[[Path], list[str]]:
    """Write files of texts, bytes or whatever a function writes at a path; return the words."""

    def make(folder: Path) -> list[str]:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
            else:
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return shlex.split(words)

    return make


def lines(*columns, header="sex,town", separator=",", end="\n"):
    """A text file of columns, each a list of texts."""
    rows = (separator.join(map(str, row)) for row in zip(*columns, strict=True))
    return "".join(line + end for line in (header, *rows))


PEOPLE = lines(SEXES, TOWNS)
SEX = "[columns.sex]\ncategories = ['f', 'm']\n"
TOWN = f"[columns.town]\ncategories = ['Oslo', 'Bergen', '{SECRET}']\n"
PLAN = "alpha = 9\ndesign = 'paper'\nprior = 'uniform'\n" + SEX + TOWN


def csv(content, words=RELEASE + " --columns sex,town", name="people.csv"):
    """A command on one file."""
    return given({name: content}, words)


def beside(column, words, header="sex,x"):
    """A command on a file of sexes and another column."""
    return csv(lines(SEXES, column, header=header), words)


def init(content, words="", name="people.csv"):
    """A plan drafted from one file."""
    return given({name: content}, f"init {name} --accept-seen {words}")


def planned(plan, words="", data=PEOPLE):
    """A release by a plan."""
    files = {"people.csv": data, "plan.toml": plan}
    return given(files, f"release people.csv --out out --plan plan.toml --no-ledger {words}")


def parquet(columns, words):
    """A command on a Parquet file of columns, beside one of sexes."""
    table = columns if isinstance(columns, pa.Table) else pa.table({"sex": SEXES, **columns})
    return given({"people.parquet": lambda path: pq.write_table(table, path)}, words)


def excel(sheets, words, **merged):
    """A command on a workbook of sheets, each a list of rows."""

    def write(path):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
            if title in merged:
                sheet.merge_cells(merged[title])
        book.save(path)

    return given({"people.xlsx": write}, words)


@cache
def sound_release() -> dict[str, bytes]:
    """The files of a release of some people."""
    with TemporaryDirectory() as place, warnings.catch_warnings(action="ignore"):
        data, out = Path(place) / "people.csv", Path(place) / "out"
        data.write_text(PEOPLE)
        pramble.release(
            data, out, columns=["sex", "town"], alpha=9, design="paper", prior="uniform",
            ledger=False, pages=False,
        )  # fmt: skip
        return {path.name: path.read_bytes() for path in out.iterdir()}


def released(words, spoil=lambda folder: None):
    """A command on a release of some people; `spoil` may change its folder first."""

    def make(folder):
        argv = given({f"rel/{name}": f for name, f in sound_release().items()}, words)(folder)
        spoil(folder / "rel")
        return argv

    return make


def one_byte_changed(folder):
    data = folder / "randomised.parquet"
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)


def manifest_cut(folder):
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text[: len(text) // 2])


def filled(folder):
    (folder.parent / "full").mkdir()
    (folder.parent / "full" / "mine.txt").write_text("mine")


def labels(column, *wanted):
    """Whether the mechanism of a released column has these categories, in any order."""
    return lambda _: sorted(map(str, found_labels(column))) == sorted(wanted)


def found_labels(column):
    return pramble.open_release("out").plan[column].labels


def rows(number):
    """Whether so many rows were released."""
    return lambda _: pramble.open_release("out").data.num_rows == number


def columns(*names):
    """Whether the released data has these columns."""
    return lambda _: tuple(pramble.open_release("out").data.column_names) == names


def drafted(*parts):
    """Whether a drafted plan has these parts."""
    return lambda _: all(part in Path("plan.toml").read_text() for part in parts)


TEXT_FILES = [
    refused("empty file", csv(""), "'people.csv'", "empty"),
    refused("header only", csv("sex,town\n"), "people.csv", "row"),
    refused("blank lines only", csv("\n\n\n"), "people.csv"),
    refused("one row", csv(f"sex,town\nf,{SECRET}\n"), "'sex'", "categories"),
    works("one column", csv("sex\n" + "f\nm\n" * 30, RELEASE + " --columns sex"), rows(60)),
    refused("repeated header", csv(lines(SEXES, TOWNS, header="sex,sex")), "people.csv", "once"),
    refused(
        "two headers without a name",
        csv(lines(SEXES, TOWNS, SEXES, header="sex,,")),
        "people.csv must name each column once",
    ),
    works(
        "one header without a name",
        csv(lines(SEXES, TOWNS, header="sex,"), f"{RELEASE} --columns sex"),
        columns("sex", ""),
        "not protected: ''.",
    ),
    works("byte order mark", csv(b"\xef\xbb\xbf" + PEOPLE.encode()), columns("sex", "town")),
    works("UTF-16", csv(PEOPLE.encode("utf-16")), labels("town", "Oslo", "Bergen", SECRET)),
    works(
        "Latin-1",
        csv(PEOPLE.replace("Oslo", "Tromsø").encode("latin-1")),
        labels("town", "Tromsø", "Bergen", SECRET),
    ),
    works("old Mac line ends", csv(PEOPLE.replace("\n", "\r")), rows(60)),
    works("Windows line ends", csv(PEOPLE.replace("\n", "\r\n")), labels("sex", "f", "m")),
    works(
        "a zero byte in a value",
        csv(PEOPLE.replace("Oslo", "Os\0lo")),
        labels("town", "Os\0lo", "Bergen", SECRET),
    ),
    refused("UTF-16 without mark", csv(PEOPLE.encode("utf-16-le")), "people.csv", "encoding"),
    works(
        "UTF-16 without mark, said",
        init(PEOPLE.encode("utf-16-le"), "--encoding utf-16-le"),
        drafted("sex", "town", 'encoding = "utf-16-le"'),
    ),
    refused(
        "an open quote", csv(PEOPLE.replace("Oslo", '"Oslo', 1)), "people.csv", "line 3", "quote"
    ),
    refused(
        "an open quote late",
        csv(PEOPLE + 'f,"Oslo\n' + PEOPLE[9:]),
        "people.csv: a quote that line 62 opens is never closed",
    ),
    refused(
        "an open quote in a column that is dropped",
        csv(PEOPLE + 'f,"Oslo\n' + PEOPLE[9:], f"{RELEASE} --columns sex --drop town"),
        "people.csv: a quote that line 62 opens is never closed",
    ),
    refused(
        "two open quotes",
        csv(PEOPLE + 'f,"Oslo\nm,"Bergen\n' + PEOPLE[9:]),
        "people.csv",
        "quote",
        marks=not_yet("text between the two is taken for one value, and two rows for one"),
    ),
    works(
        "a line break in the last value",
        csv(PEOPLE + 'f,"Os\nlo"\n'),
        labels("town", "Oslo", "Bergen", SECRET, "Os\nlo"),
    ),
    works(
        "quotes inside values",
        csv(PEOPLE.replace("Oslo", 'O"s"lo"')),
        labels("town", 'O"s"lo"', "Bergen", SECRET),
    ),
    refused("a row too long", csv(PEOPLE + f"f,Oslo,{SECRET}\n"), "people.csv", "62"),
    refused("a row too short", csv(PEOPLE + "f\n" + PEOPLE[9:]), "people.csv", "62"),
    works("semicolons", csv(PEOPLE.replace(",", ";")), columns("sex", "town")),
    works("tabs in .csv", csv(PEOPLE.replace(",", "\t")), columns("sex", "town")),
    works("pipes", csv(PEOPLE.replace(",", "|")), columns("sex", "town")),
    works(
        "decimal commas",
        init(lines(SEXES, ["1,5", "2,25", "31,0"] * 20, header="sex;pay", separator=";")),
        drafted('decimal = ","'),
    ),
    refused(
        "NA among numbers",
        beside(["1", "2", "NA"] * 20, f"{RELEASE} --columns sex,x"),
        "'x' has 20 empty cells",
        "missing = true",
    ),
    refused(
        "? among numbers",
        beside(["1", "2", "?"] * 20, f"{RELEASE} --columns sex,x"),
        "'x' has 20 empty cells",
        "missing = true",
    ),
    refused(
        "a point among numbers",
        beside(["1", "2", "."] * 20, f"{RELEASE} --columns sex,x"),
        "'x' has 20 empty cells",
        "missing = true",
    ),
    works(
        "-9 said to be missing",
        init(lines(SEXES, [1, 2, -9] * 20, header="sex,x"), "--missing NA,-9 --columns sex,x"),
        drafted('missing = ["NA", "-9"]', "categories = { seen = [1, 2] }"),
    ),
    works(
        "blanks after commas",
        csv(PEOPLE.replace(",", ", "), RELEASE + " --columns sex,town"),
        labels("town", "Oslo", "Bergen", SECRET),
    ),
    works(
        "very long texts",
        csv(PEOPLE.replace("Oslo", "O" * 100_000), RELEASE + " --columns sex --drop town"),
        columns("sex"),
    ),
    refused(
        "10,001 different texts",
        csv(
            "town\n" + "".join(f"{SECRET}{i}\n" for i in range(10_001)), f"{RELEASE} --columns town"
        ),
        "'town' has 10,001 distinct values",
        "drop the column",
    ),
    works(
        "5,000 different texts",
        init(lines(["f", "m"] * 2500, [f"{SECRET}{i}" for i in range(5000)])),
        lambda _: SECRET not in Path("plan.toml").read_text(),
        "Dropped (",
        "town",
    ),
    works(
        "leading zeros",
        beside(["01", "02", "1"] * 20, f"{RELEASE} --columns sex,x"),
        labels("x", "01", "02", "1"),
    ),
    works(
        "dates in three styles",
        init(
            lines(
                SEXES,
                [f"2020-01-{i % 28 + 1:02}" for i in range(60)],
                [f"{i % 28 + 1:02}.01.2020" for i in range(60)],
                [f"01/{i % 28 + 1:02}/2020" for i in range(60)],
                header="sex,iso,german,american",
            )
        ),
        drafted("[columns.sex]"),
        "Dropped (date): iso, german, american",
    ),
    works(
        "yes and no in four styles",
        csv(
            lines(
                ["0", "1"] * 30,
                ["true", "false"] * 30,
                ["yes", "no"] * 30,
                ["T", "F"] * 30,
                header="a,b,c,d",
            ),
            RELEASE + " --columns a,b,c,d",
        ),
        lambda _: [len(found_labels(name)) for name in "abcd"] == [2] * 4,
    ),
    works(
        "floats as categories in a text file",
        beside(["1.5", "2.5", "3.25"] * 20, f"{RELEASE} --columns sex,x"),
        labels("x", "1.5", "2.5", "3.25"),
    ),
    works(
        "negative and huge integers",
        beside([-1, 2**62, 0] * 20, f"{RELEASE} --columns sex,x"),
        labels("x", "-1", str(2**62), "0"),
    ),
    works(
        "integers beyond 64 bits",
        beside([str(10**30), str(10**31)] * 30, f"{RELEASE} --columns sex,x"),
        labels("x", str(10**30), str(10**31)),
    ),
    refused("all missing", beside([""] * 60, f"{RELEASE} --columns sex,x"), "'x'"),
    refused("constant", beside([SECRET] * 60, f"{RELEASE} --columns sex,x"), "'x'"),
    works(
        "an untouched constant",
        beside(["9"] * 60, f"{RELEASE} --columns sex --allow x"),
        columns("sex", "x"),
    ),
]

OTHER_FILES = [
    refused(
        "nested lists",
        parquet({"x": [[1, 2]] * 60}, f"release people.parquet {OUT} --columns sex,x"),
        "'x'",
    ),
    works(
        "untouched nested lists",
        parquet({"x": [[1, 2]] * 60}, f"release people.parquet {OUT} --columns sex --allow x"),
        columns("sex", "x"),
    ),
    refused(
        "floats as categories in a typed file",
        parquet({"x": [1.5, 2.25, 1.5] * 20}, f"release people.parquet {OUT} --columns sex,x"),
        "'x'",
        "bands",
    ),
    works(
        "dropped nested lists",
        parquet({"x": [[1, 2]] * 60}, f"release people.parquet {OUT} --columns sex --drop x"),
        columns("sex"),
    ),
    refused(
        "decimals",
        parquet(
            {"x": [Decimal("1.50"), Decimal("2.25")] * 30},
            f"release people.parquet {OUT} --columns sex,x",
        ),
        "'x'",
    ),
    works(
        "untouched times in a zone",
        parquet(
            {"x": [datetime(2020, 1, 1, i % 20, tzinfo=UTC) for i in range(60)]},
            f"release people.parquet {OUT} --columns sex --allow x",
        ),
        columns("sex", "x"),
    ),
    refused(
        "dates to randomise",
        parquet(
            {"x": [date(2020, 1, 1), date(2021, 1, 1)] * 30},
            f"release people.parquet {OUT} --columns sex,x",
        ),
        "'x'",
        "Make labels of them",
    ),
    refused(
        "dictionary with nulls",
        parquet(
            {"x": pa.array(["a", None, SECRET] * 20).dictionary_encode()},
            f"release people.parquet {OUT} --columns sex,x",
        ),
        "'x' has 20 empty cells",
        "missing = true",
    ),
    refused(
        "repeated Parquet columns",
        parquet(
            pa.Table.from_arrays([pa.array(SEXES), pa.array(TOWNS)], ["sex", "sex"]),
            f"release people.parquet {OUT} --columns sex",
        ),
        "people.parquet must name each column once",
    ),
    refused(
        "no Parquet columns",
        parquet(pa.table({}), f"release people.parquet {OUT} --columns sex"),
        "people.parquet",
        "it has no columns",
    ),
    works(
        "two sheets",
        excel(
            {"notes": [["read", "me"], [1, 2]], "data": [["sex", "town"], *ROWS]},
            "init people.xlsx --sheet data --accept-seen --columns sex,town",
        ),
        drafted('sheet = "data"', "[columns.", '"sex"'),
    ),
    refused(
        "the wrong sheet is the first",
        excel(
            {"notes": [["read", "me"], [1, 2]], "data": [["sex", "town"], *ROWS]},
            f"release people.xlsx {OUT} --columns sex,town",
        ),
        "'sex'",
        "sheet",
        marks=not_yet("which sheet was read, and that others are there, is not said"),
    ),
    refused(
        "no such sheet",
        excel({"data": [["sex"], ["f"]]}, "init people.xlsx --sheet Date --accept-seen"),
        "'Date'",
        "people.xlsx",
    ),
    refused(
        "an empty sheet",
        excel({"data": []}, f"release people.xlsx {OUT} --columns sex"),
        "people.xlsx",
    ),
    refused(
        "a merged header",
        excel(
            {"data": [["people", None], ["sex", "town"], *ROWS]},
            f"release people.xlsx {OUT} --columns sex,town",
            data="A1:B1",
        ),
        "people.xlsx",
        "column 2 has none",
        "first row",
    ),
    works(
        "Stata labels: they are released, not codes",
        given(
            {
                "people.dta": lambda path: pyreadstat.write_dta(
                    pd.DataFrame({"sex": [1, 2] * 30}),
                    str(path),
                    variable_value_labels={"sex": {1: "woman", 2: "man"}},
                )
            },
            f"release people.dta {OUT} --columns sex",
        ),
        labels("sex", "woman", "man"),
    ),
    works(
        "SPSS labels, one code without",
        given(
            {
                "people.sav": lambda path: pyreadstat.write_sav(
                    pd.DataFrame({"sex": [1, 2, 3] * 20}),
                    str(path),
                    variable_value_labels={"sex": {1: "woman", 2: "man"}},
                )
            },
            f"release people.sav {OUT} --columns sex",
        ),
        labels("sex", "woman", "man", "3"),
    ),
    refused(
        "gz cut short",
        csv(
            gzip.compress(PEOPLE.encode())[:-20],
            f"release people.csv.gz {OUT} --columns sex,town",
            name="people.csv.gz",
        ),
        "people.csv.gz",
        "Truncated",
    ),
    refused(
        "gz that is none",
        csv(PEOPLE, f"release people.csv.gz {OUT} --columns sex,town", name="people.csv.gz"),
        "people.csv.gz",
        "incorrect header",
    ),
    refused(
        "a folder of different columns",
        given(
            {"d/1.csv": PEOPLE, "d/2.csv": PEOPLE.replace("town", "city")},
            f"release d {OUT} --columns sex,town",
        ),
        "2.csv",
        "1.csv",
        "same columns",
    ),
    works(
        "a folder of columns in another order",
        given(
            {"d/1.csv": PEOPLE, "d/2.csv": lines(TOWNS, SEXES, header="town,sex")},
            f"release d {OUT} --columns sex,town",
        ),
        rows(120),
    ),
    refused(
        "a folder of two formats",
        given(
            {"d/1.csv": PEOPLE, "d/2.parquet": lambda p: pq.write_table(pa.table({"a": [1]}), p)},
            f"release d {OUT} --columns sex,town",
        ),
        "'d'",
        "one format",
    ),
    refused(
        "a folder of notes",
        given({"d/readme.txt": "read me"}, f"release d {OUT} --columns sex"),
        "'d'",
        "ending",
    ),
    refused(
        "a pattern of nothing",
        given({}, f"release 'part-*.csv' {OUT} --columns sex"),
        "'part-*.csv'",
    ),
    refused("no such file", given({}, f"release nobody.csv {OUT} --columns sex"), "'nobody.csv'"),
    refused(
        "no known ending",
        csv(PEOPLE, f"release people.dat {OUT} --columns sex", name="people.dat"),
        "'people.dat' has no known ending",
    ),
    refused(
        "csv named .parquet",
        csv(PEOPLE, f"release people.parquet {OUT} --columns sex", name="people.parquet"),
        "people.parquet must be a sound parquet file",
    ),
    refused(
        "Parquet named .csv",
        given(
            {"people.csv": lambda p: pq.write_table(pa.table({"sex": SEXES}), p)},
            f"{RELEASE} --columns sex",
        ),
        "people.csv must be a text",
        "format",
    ),
    refused(
        "csv named .xlsx",
        csv(PEOPLE, f"release people.xlsx {OUT} --columns sex", name="people.xlsx"),
        "people.xlsx",
    ),
]

NAMES = [
    refused(
        "a near name", csv(PEOPLE, RELEASE + " --columns sex,twon"), "'twon'", "did you mean 'town'"
    ),
    refused("a far name", csv(PEOPLE, RELEASE + " --columns income"), "'income'"),
    refused("a name in capitals", csv(PEOPLE, RELEASE + " --columns SEX"), "'SEX'", "'sex'"),
    refused("a near name to drop", csv(PEOPLE, RELEASE + " --columns sex --drop twon"), "'twon'"),
    works(
        "a name with blanks",
        planned(
            PLAN.replace("columns.town", 'columns." Région "'),
            data=PEOPLE.replace("town", " Région "),
        ),
        columns("sex", " Région "),
    ),
    refused(
        "a name without its blanks",
        csv(PEOPLE.replace("town", " Région "), RELEASE + " --columns sex,Région"),
        "'Région'",
        "' Région '",
    ),
    works(
        "Japanese names",
        csv(PEOPLE.replace("town", "都市"), RELEASE + " --columns sex,都市"),
        columns("sex", "都市"),
    ),
    works(
        "names with quotes and dots",
        csv(
            PEOPLE.replace("town", '"the ""town"" a.b"'),
            RELEASE + " --columns 'sex,the \"town\" a.b'",
        ),
        columns("sex", 'the "town" a.b'),
    ),
    works(
        "a name with a line break",
        csv(PEOPLE.replace("town", '"to\nwn"'), RELEASE + " --columns 'sex,to\nwn'"),
        columns("sex", "to\nwn"),
    ),
    works(
        "a drafted plan of odd names",
        init(PEOPLE.replace("town", '"a ""b"".c\n都市"')),
        drafted(r'[columns."a \"b\".c\n都市"]'),
    ),
    works(
        "a name twice",
        csv(PEOPLE, RELEASE + " --columns sex,sex,town"),
        lambda _: len(pramble.open_release("out").plan) == 2,
    ),
    refused("randomised and dropped", csv(PEOPLE, RELEASE + " --columns sex --drop sex"), "'sex'"),
]


def with_alpha(alpha, *says, code=1):
    words = f"release people.csv --out out {QUICK} --columns sex,town --alpha {alpha}"
    return refused(f"alpha {alpha}", csv(PEOPLE, words), *says, code=code)


def central(words):
    return f"release people.csv --out out --prior uniform --no-ledger {words}"


PROMISES = [
    with_alpha("0", "alpha", "positive"),
    with_alpha("-1", "alpha", "positive"),
    with_alpha("nan", "alpha", "positive"),
    with_alpha("inf", "alpha", "positive"),
    with_alpha("1e9", "alpha", "at most"),
    with_alpha("two", "--alpha", "valid number", code=2),
    works(
        "a tiny alpha",
        csv(PEOPLE, f"release people.csv --out out {QUICK} --columns sex,town --alpha 1e-9"),
        rows(60),
    ),
    refused(
        "no alpha",
        csv(PEOPLE, f"release people.csv --out out {QUICK} --columns sex,town"),
        "alpha",
    ),
    refused(
        "alpha and central",
        csv(PEOPLE, central("--columns sex,town --central 1 --alpha 1")),
        "central",
        "alpha",
    ),
    refused(
        "central with an untouched column",
        csv(PEOPLE, central("--columns sex --central 1")),
        "'town'",
        "drop",
    ),
    refused(
        "delta 0", csv(PEOPLE, central("--columns sex,town --central 1 --delta 0")), "delta", "0.01"
    ),
    refused(
        "delta 2", csv(PEOPLE, central("--columns sex,town --central 1 --delta 2")), "delta", "0.01"
    ),
    refused("central 0", csv(PEOPLE, central("--columns sex,town --central 0")), "central"),
    refused(
        "alphas to try that are none",
        csv(PEOPLE, "try people.csv --columns sex,town --alpha 1,much"),
        "'1,much'",
    ),
    refused(
        "a negative alpha to try",
        csv(PEOPLE, "try people.csv --columns sex,town --alpha -1 --central none"),
        "positive",
    ),
]

PLANS = [
    refused(
        "a category is missing",
        planned(PLAN.replace(f", '{SECRET}'", "")),
        "'town'",
        "20",
    ),
    refused(
        "repeated categories", planned(PLAN.replace("'f', 'm'", "'f', 'm', 'f'")), "'sex'", "twice"
    ),
    refused("one category", planned(PLAN.replace("'f', 'm'", "'f'")), "'sex'", "at least two"),
    refused("no categories", planned(PLAN.replace("'f', 'm'", "")), "'sex'", "at least two"),
    refused("categories left out", planned(PLAN + "[columns.x]\n"), "'x'", "categories"),
    refused("no TOML", planned("alpha = = 2\n" + SEX), "plan.toml is not TOML", "line 1"),
    refused(
        "TOML in Latin-1", planned(PLAN.replace("Oslo", "Tromsø").encode("latin-1")), "plan.toml"
    ),
    refused("an empty plan", planned(""), "columns"),
    refused("an unknown key", planned("alfa = 2\n" + PLAN), "'alfa'", "did you mean 'alpha'"),
    refused(
        "an unknown key of a column",
        planned(PLAN + "catgories = ['a']\n"),
        "'catgories'",
        "'categories'",
    ),
    refused(
        "a wrong type", planned(PLAN.replace("alpha = 9", "alpha = 'two'")), "alpha", "positive"
    ),
    refused("categories as a text", planned(PLAN.replace("['f', 'm']", "'f,m'")), "'sex'", "list"),
    refused("no columns", planned("alpha = 2\n[columns]\n"), "columns to randomise"),
    refused("columns as a list", planned("alpha = 2\ncolumns = ['sex']\n"), "[columns.NAME]"),
    refused(
        "a folder as plan",
        csv(PEOPLE, "release people.csv --out out --plan . --no-ledger"),
        "'.' is a folder",
    ),
    refused(
        "no such plan",
        csv(PEOPLE, "release people.csv --out out --plan no.toml --no-ledger"),
        "no plan 'no.toml'",
    ),
    refused(
        "data as plan",
        csv(PEOPLE, "release people.csv --out out --plan people.csv --no-ledger"),
        "people.csv is not TOML",
    ),
    refused(
        "a prior file that is missing",
        csv(
            PEOPLE,
            RELEASE.replace("uniform", "public")
            + " --columns sex --set prior_file=no.csv --drop town",
        ),
        "'no.csv'",
    ),
    refused(
        "public without a prior",
        csv(PEOPLE, RELEASE.replace("uniform", "public") + " --columns sex --drop town"),
        "'sex'",
        "prior_file",
    ),
    refused(
        "a plan whose prior file is missing",
        planned(
            PLAN.replace("m']\n", "m']\nprior = 'public'\nprior_file = 'prior.csv'\n"),
            data=PEOPLE,
        ),
        "'prior.csv'",
    ),
    refused(
        "a prior of other categories",
        given(
            {
                "people.csv": PEOPLE,
                "prior.csv": "sex\n" + "f\nm\nx\n" * 20,
                "plan.toml": PLAN.replace(
                    "m']\n", "m']\nprior = 'public'\nprior_file = 'prior.csv'\n"
                ),
            },
            "release people.csv --out out --plan plan.toml --no-ledger",
        ),
        "'sex'",
        "Declare or recode",
    ),
    refused(
        "probabilities that do not sum to 1",
        planned(PLAN.replace("m']\n", "m']\nprior = [0.5, 0.6]\n")),
        "'sex'",
        "sum to 1",
    ),
    refused(
        "too many probabilities",
        planned(PLAN.replace("m']\n", "m']\nprior = [0.5, 0.25, 0.25]\n")),
        "'sex' has 2 categories",
    ),
    refused(
        "an unknown risk key",
        csv(
            PEOPLE,
            RELEASE + " --columns sex,town --set risk.population_size=1000"
            " --set risk.keys=sex,twon",
        ),
        "'twon'",
    ),
    refused(
        "risk keys without a population",
        csv(PEOPLE, RELEASE + " --columns sex,town --set risk.keys=sex"),
        "population_size",
    ),
    refused(
        "a population below the file",
        csv(
            PEOPLE,
            RELEASE + " --columns sex,town --set risk.keys=sex --set risk.population_size=10",
        ),
        "population",
        "60",
    ),
    refused(
        "a person column with holes",
        beside([f"{SECRET}{i}" for i in range(59)] + [""], f"{RELEASE} --columns sex --person x"),
        "'x'",
        "row 60",
        "leave the row out",
    ),
    refused(
        "a person column that is not there",
        csv(PEOPLE, RELEASE + " --columns sex --person persno"),
        "'persno'",
    ),
    works(
        "more rows of a person than said",
        beside(
            [SECRET] * 5 + [f"p{i}" for i in range(55)],
            f"{RELEASE} --columns sex --person x --rows-per-person 2",
        ),
        lambda answer: "57 rows" in answer.said or "57 rows" in answer.printed,
        "3 rows are left out",
    ),
    refused(
        "an unknown design",
        csv(
            PEOPLE,
            "release people.csv --out out --columns sex --alpha 1 --no-ledger --design papers",
        ),
        "design",
        "must be one of",
    ),
    refused("an unknown format", csv(PEOPLE, RELEASE + " --columns sex --set copies=sas"), "'sas'"),
    refused(
        "a setting without a sign",
        csv(PEOPLE, RELEASE + " --columns sex,town --set family:general"),
        "family:general",
    ),
]

PLACES = [
    refused(
        "out is not empty",
        given({"people.csv": PEOPLE, "out/mine.txt": "mine"}, RELEASE + " --columns sex,town"),
        "'out'",
    ),
    refused(
        "out inside a file",
        csv(PEOPLE, RELEASE.replace("--out out", "--out people.csv/out") + " --columns sex"),
        "people.csv",
        code=2,
    ),
    refused(
        "out is the file",
        csv(PEOPLE, RELEASE.replace("--out out", "--out people.csv") + " --columns sex"),
        "people.csv",
        code=2,
    ),
    works(
        "out is an empty folder",
        lambda folder: ((folder / "out").mkdir(), csv(PEOPLE)(folder))[1],
        rows(60),
    ),
    refused(
        "nowhere to go", csv(PEOPLE, "release people.csv --columns sex --alpha 1"), "--out", code=2
    ),
    refused(
        "a drafted plan over another",
        given({"people.csv": PEOPLE, "plan.toml": "mine"}, "init people.csv --accept-seen"),
        "'plan.toml' exists",
    ),
    refused(
        "an unknown encoding",
        csv(PEOPLE, "init people.csv --accept-seen --encoding utf8mb4"),
        "'utf8mb4'",
    ),
    refused(
        "the wrong encoding",
        csv(
            PEOPLE.replace("Oslo", "Tromsø").encode("latin-1"),
            "init people.csv --accept-seen --encoding utf-8",
        ),
        "people.csv",
        "encoding",
    ),
    refused(
        "a long separator",
        csv(PEOPLE, "init people.csv --accept-seen --separator '||'"),
        "separator",
        "'||'",
    ),
    refused(
        "init of an unknown column",
        csv(PEOPLE, "init people.csv --accept-seen --columns twon"),
        "'twon'",
        "'town'",
    ),
    refused(
        "init with a negative alpha",
        csv(PEOPLE, "init people.csv --accept-seen --alpha -1"),
        "--alpha",
        "positive",
    ),
    refused(
        "init with a central nan",
        csv(PEOPLE, "init people.csv --accept-seen --central nan"),
        "--central",
        "positive",
    ),
]

READERS = [
    works(
        "a release that is sound",
        released("estimate rel --by sex,town --json"),
        lambda a: len(json.loads(a.printed)["cells"]) == 6,
    ),
    refused("an unknown --by", released("estimate rel --by sex,twon"), "'twon'", "'town'"),
    refused(
        "a query of an unknown label",
        released("estimate rel --by sex --query sex=x"),
        "'x'",
        "'sex'",
    ),
    refused(
        "a query of an unknown column",
        released("estimate rel --by sex --query town=Oslo"),
        "'town=Oslo'",
    ),
    refused("a query without a sign", released("estimate rel --by sex --query sex"), "'sex'"),
    refused("a level above 1", released("estimate rel --by sex --level 95"), "level"),
    refused(
        "an unknown method", released("estimate rel --by sex --method em"), "--method", "em", code=2
    ),
    refused("a mean of texts", released("estimate rel --by sex --mean town"), "'town'"),
    refused(
        "changed data",
        released("estimate rel --by sex", spoil=one_byte_changed),
        "randomised.parquet",
    ),
    refused(
        "data gone",
        released("estimate rel --by sex", spoil=lambda f: (f / "randomised.parquet").unlink()),
        "randomised.parquet",
    ),
    refused(
        "a manifest cut short",
        released("estimate rel --by sex", spoil=manifest_cut),
        "manifest.json",
    ),
    refused(
        "a folder without manifest",
        given({"rel/data.csv": PEOPLE}, "estimate rel --by sex"),
        "'rel' is no release",
        "manifest.json",
    ),
    refused("a file as release", csv(PEOPLE, "estimate people.csv --by sex"), "people.csv"),
    refused("no such release", given({}, "estimate rel --by sex"), "'rel'"),
    refused(
        "imputing a plain file",
        csv(PEOPLE, "impute people.csv --out copies"),
        "people.csv",
    ),
    refused("no copies", released("impute rel --out copies --copies 0"), "copies"),
    refused("copies in an unknown format", released("impute rel --out copies --format sas"), "sas"),
    refused(
        "imputing with an unknown column",
        released("impute rel --out copies --using income"),
        "'income'",
    ),
    refused("synthetic rows below one", released("synthesize rel --out s.csv --rows 0"), "rows"),
    refused("synthetic file of no kind", released("synthesize rel --out s.doc"), "s.doc"),
    refused(
        "synthetic columns unknown", released("synthesize rel --out s.csv --columns twon"), "'twon'"
    ),
    refused(
        "certifying a TOML plan",
        given({"plan.toml": PLAN}, "certify plan.toml"),
        "'plan.toml'",
        "pramble release",
    ),
    refused("certifying data", csv(PEOPLE, "certify people.csv"), "'people.csv'", "row 2"),
    refused("certifying no JSON", given({"m.json": "{"}, "certify m.json"), "m.json"),
    refused("certifying another JSON", given({"m.json": '{"a": 1}'}, "certify m.json"), "'m.json'"),
    refused("certifying nothing", given({}, "certify m.json"), "m.json"),
    refused(
        "certifying at a negative alpha",
        released("certify rel --alpha -1"),
        "α = -1 is not satisfied",
    ),
    refused(
        "assessing an unknown key",
        csv(PEOPLE, "assess people.csv --keys sex,twon --population 1000"),
        "'twon'",
        "'town'",
    ),
    refused(
        "assessing below the file",
        csv(PEOPLE, "assess people.csv --keys sex,town --population 10"),
        "population",
    ),
    refused(
        "assessing nan people",
        csv(PEOPLE, "assess people.csv --keys sex,town --population nan"),
        "population",
    ),
    refused(
        "assessing by texts as weights",
        csv(PEOPLE, "assess people.csv --keys sex --weights town"),
        "'town'",
    ),
    refused(
        "assessing by an unknown model",
        csv(PEOPLE, "assess people.csv --keys sex --population 1000 --model best"),
        "best",
    ),
    refused(
        "assessing an empty file", csv("", "assess people.csv --keys sex"), "'people.csv'", "empty"
    ),
    refused(
        "assessing a header",
        csv("sex,town\n", "assess people.csv --keys sex --population 1000"),
        "people.csv",
    ),
    refused(
        "assessing a TOML plan",
        given(
            {"people.csv": PEOPLE, "plan.toml": PLAN},
            "assess people.csv --keys sex,town --population 1000 --plan plan.toml",
        ),
        "'plan.toml'",
    ),
    refused(
        "calibrating a column that is no key",
        csv(PEOPLE, "calibrate people.csv --keys sex --column town --population 1000 --at-most 1"),
        "'town'",
    ),
    refused(
        "calibrating nothing",
        csv(PEOPLE, "calibrate people.csv --keys sex --population 1000 --at-most 1"),
        "--column",
        code=2,
    ),
    refused(
        "calibrating to a negative target",
        csv(
            PEOPLE,
            "calibrate people.csv --keys sex,town --column town --population 1000 --at-most -1",
        ),
        "at_most",
    ),
    refused(
        "calibrating by an unknown measure",
        csv(
            PEOPLE,
            "calibrate people.csv --keys sex --column sex --at-most 1 --measure tau3",
        ),
        "tau3",
    ),
]

DESIGNS = [
    refused("a prior that does not sum to 1", given({}, "design --alpha 1 --prior 0.5,0.3"), "sum"),
    refused(
        "a negative prior", given({}, "design --alpha 1 --prior 1.5,-0.5"), "position 1 holds -0.5"
    ),
    refused("a prior of texts", given({}, "design --alpha 1 --prior a,b"), "prior", "'a,b'"),
    refused("a prior of one", given({}, "design --alpha 1 --prior 1"), "two"),
    refused("one uniform category", given({}, "design --alpha 1 --uniform 1"), "two"),
    refused("no prior", given({}, "design --alpha 1"), "--prior", code=2),
    refused(
        "two priors", given({}, "design --alpha 1 --uniform 3 --prior 0.5,0.5"), "--prior", code=2
    ),
    refused("labels too few", given({}, "design --alpha 1 --uniform 3 --categories a,b"), "3", "2"),
    refused("labels twice", given({}, "design --alpha 1 --uniform 3 --categories a,b,a"), "'a'"),
    refused("design alpha 0", given({}, "design --alpha 0 --uniform 3"), "alpha"),
    refused("design alpha nan", given({}, "design --alpha nan --uniform 3"), "alpha"),
    works(
        "design alpha tiny",
        given({}, "design --alpha 1e-9 --prior 0.5,0.3,0.2 --json"),
        lambda a: json.loads(a.printed),
    ),
    works(
        "a prior with a zero",
        given({}, "design --alpha 1 --prior 0.5,0.5,0 --json"),
        lambda a: json.loads(a.printed),
    ),
    refused(
        "a size of no columns",
        given({}, "design --alpha 1 --columns a=2,b=x"),
        "age=5,sex=f|m",
        code=2,
    ),
    refused("a size of one", given({}, "design --alpha 1 --columns a=2,b=1"), "'b'"),
]

SETTINGS = [
    refused(
        "an open quote before much more",
        csv(PEOPLE + 'f,"Oslo\n' + PEOPLE[9:] * 11_000),
        "a quote that line 62 opens is never closed",
    ),
    refused(
        "an open quote in the first column",
        csv(PEOPLE + '"f,Oslo\n' + PEOPLE[9:]),
        "people.csv",
        "line 62",
    ),
    refused(
        "huge integers in a copy for Stata",
        parquet(
            {"x": [2**62, 2**61, 5] * 20},
            f"release people.parquet {OUT} --columns sex --allow x --set copies=stata",
        ),
        "'x'",
    ),
    refused(
        "long texts in a copy for Excel",
        parquet(
            {"x": ["O" * 40_000, "b", "c"] * 20},
            f"release people.parquet {OUT} --columns sex --allow x --set copies=excel",
        ),
        "'x'",
    ),
    refused(
        "trying a header",
        csv("sex,town\n", "try people.csv --columns sex,town --alpha 1"),
        "people.csv",
        "row",
    ),
    refused(
        "trying an unknown column",
        csv(PEOPLE, "try people.csv --columns sex,twon --alpha 1"),
        "'twon'",
        "'town'",
    ),
    refused("trying nothing", csv(PEOPLE, "try people.csv"), "columns"),
    refused(
        "trying a delta of 2",
        csv(PEOPLE, "try people.csv --columns sex,town --alpha 1 --delta 2"),
        "delta",
    ),
    refused(
        "trying alpha nan",
        csv(PEOPLE, "try people.csv --columns sex,town --alpha nan --central none"),
        "nan",
    ),
    refused(
        "imputing into the release",
        released("impute rel --out rel --copies 1"),
        "must differ",
        "rel",
    ),
    refused(
        "imputing into a full folder",
        released("impute rel --out full --copies 1", spoil=filled),
        "full exists already",
    ),
    refused("a seed that is none", released("impute rel --out copies --seed x"), "--seed", code=2),
    refused(
        "synthesizing a plain file",
        csv(PEOPLE, "synthesize people.csv --out s.csv"),
        "people.csv",
    ),
    refused(
        "synthetic tables of unknown columns",
        released("synthesize rel --out s.csv --tables sex+twon"),
        "'twon'",
    ),
    refused(
        "synthetic tables of no columns",
        released("synthesize rel --out s.csv --tables 0"),
        "Tables of 0 columns",
    ),
    refused(
        "a synthetic method unknown", released("synthesize rel --out s.csv --method best"), "best"
    ),
    refused(
        "a population that is no number",
        csv(PEOPLE, "assess people.csv --keys sex --population many"),
        "--population",
        code=2,
    ),
    refused(
        "assessing without keys",
        csv(PEOPLE, "assess people.csv --population 1000"),
        "--keys",
        code=2,
    ),
    refused(
        "assessing by nested lists",
        parquet({"x": [[1, 2]] * 60}, "assess people.parquet --keys sex,x --population 1000"),
        "'x'",
    ),
    refused(
        "assessing by negative weights",
        beside(["-1", "2", "3"] * 20, "assess people.csv --keys sex --weights x"),
        "'x'",
    ),
    refused(
        "assessing by missing weights",
        beside(["", "2", "3"] * 20, "assess people.csv --keys sex --weights x"),
        "'x'",
    ),
    refused(
        "a budget below zero",
        csv(
            PEOPLE,
            RELEASE.replace("--no-ledger", "") + " --columns sex,town --budget -1",
        ),
        "budget",
    ),
    refused(
        "a central budget that is no pair",
        csv(
            PEOPLE,
            RELEASE.replace("--no-ledger", "") + " --columns sex,town --set central_budget=1",
        ),
        "ε",
    ),
    refused(
        "a signing key that is missing",
        csv(PEOPLE, RELEASE + " --columns sex,town --sign no.pem"),
        "no.pem",
    ),
    refused(
        "a signing key that is none",
        csv(PEOPLE, RELEASE + " --columns sex,town --sign people.csv"),
        "people.csv",
    ),
    refused(
        "a public key that is missing", released("estimate rel --by sex --verify no.pem"), "no.pem"
    ),
    refused(
        "rows per person below one",
        csv(PEOPLE, RELEASE + " --columns sex,town --rows-per-person 0"),
        "rows_per_person",
    ),
    refused(
        "tables of unknown columns",
        csv(
            PEOPLE,
            RELEASE.replace("--design paper", "") + " --columns sex,town --tables sex+twon",
        ),
        "'twon'",
    ),
    refused(
        "an impossible value unknown",
        csv(
            PEOPLE,
            RELEASE.replace("--design paper", "")
            + """ --columns sex,town --set 'possible=[{never={sex="x",town="Oslo"}}]'""",
        ),
        "'x'",
    ),
    refused(
        "a design that keeps too much",
        given({}, "design --alpha 1 --uniform 3 --set keep_at_least=0.99"),
        "0.99",
    ),
    refused(
        "a design by no time", given({}, "design --alpha 1 --uniform 3 --set time_limit=-1"), "time"
    ),
    refused(
        "a tolerance below zero",
        given({}, "design --alpha 1 --uniform 3 --set tolerance=-1"),
        "tolerance",
    ),
    refused("a level of nan", released("estimate rel --by sex --level nan"), "level"),
    refused("a column twice in --by", released("estimate rel --by sex,sex"), "'sex'"),
    refused(
        "certifying no rows",
        given({"m.csv": "x,a,b\na,0.6,0.4\nb,0.4,0.6\n"}, "certify m.csv --rows 0"),
        "rows",
    ),
    refused(
        "a matrix of negative numbers",
        given({"m.csv": "x,a,b\na,1.6,-0.6\nb,0.4,0.6\n"}, "certify m.csv"),
        "column 1 holds -0.6",
    ),
    refused(
        "a matrix that is uneven",
        given({"m.csv": "x,a,b\na,0.6\nb,0.4,0.6\n"}, "certify m.csv"),
        "'m.csv'",
        "table",
    ),
    refused(
        "certifying by delta 2",
        given({"m.csv": "x,a,b\na,0.6,0.4\nb,0.4,0.6\n"}, "certify m.csv --rows 100 --delta 2"),
        "delta",
    ),
]

CASES = [
    *TEXT_FILES,
    *OTHER_FILES,
    *NAMES,
    *PROMISES,
    *PLANS,
    *PLACES,
    *READERS,
    *DESIGNS,
    *SETTINGS,
]


@pytest.fixture(autouse=True)
def without_pages(monkeypatch, tmp_path_factory):
    """Releases without charts, which take longer than all the rest."""
    monkeypatch.setattr(release_module, "report_page", lambda _: "")
    monkeypatch.setattr(contents_module, "summary_page", lambda _: "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("xdg")))


def listing(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


def ask(case: Case, folder: Path) -> tuple[Answer, list[str]]:
    """Run a case in a folder; return the answer, and what it left there."""
    words = case.make(folder)
    before = set(listing(folder))
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    answer = runner.invoke(app, words)
    error = answer.exception
    if error is not None and not isinstance(error, PrambleError | SystemExit):
        raise AssertionError("an unexpected error") from error
    text = answer.output + (str(error) if isinstance(error, PrambleError) else "")
    said = " ".join(text.replace("│", " ").split())
    return Answer(answer.exit_code, said, answer.stdout), sorted(set(listing(folder)) - before)


def verdict(case: Case, answer: Answer, left: list[str]) -> str:
    """Say what is wrong with an answer; an empty text if nothing is."""
    if answer.code != case.code:
        return f"exit code {answer.code}"
    absent = [words for words in case.says if words not in answer.said]
    if absent:
        return f"did not say {absent}"
    if "Traceback" in answer.said or "unexpected" in answer.said:
        return "an unexpected error"
    if case.fact is not None:
        partial = [path for path in left if path.endswith(".partial")]
        return f"left {partial}" if partial else "" if case.fact(answer) else "not the fact"
    if left:
        return f"left {left}"
    return "showed a value of the data" if SECRET in answer.said else ""


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name, marks=c.marks) for c in CASES])
def test_awkward_input(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer, left = ask(case, tmp_path)
    assert not verdict(case, answer, left), answer.said


def test_every_case_has_a_name_of_its_own():
    assert len({case.name for case in CASES}) == len(CASES) >= 75
