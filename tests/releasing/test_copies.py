"""Copies for other programs: the same released records, from them and the plan alone."""

import json
import re
import shutil
import zipfile
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from tests.releasing.conftest import release_by, tried

import pramble
from pramble.errors import InvalidData, InvalidPlan

ODD = ["=SUM(A1)", 'quo"ted, ünïcode', "two\nlines", "plain"]
N = 300
COPIES = ("csv", "stata", "spss", "excel")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    return pa.table({
        "odd one": rng.choice(ODD, N).tolist(),
        "if": rng.choice(["no", "yes"], N).tolist(),
        "code": rng.integers(0, 3, N).tolist(),
        "member": (rng.random(N) < 0.5).tolist(),
        "income": [None if i % 7 == 0 else float(i) / 3 for i in range(N)],
        "rank": pa.array([2**40 + i for i in range(N)]),
        "day": [date(1990 + i % 20, 1 + i % 12, 3) for i in range(N)],
        "seen": [datetime.fromisoformat(f"2001-02-03T04:05:{i % 60:02}.250") for i in range(N)],
        "note": [None if i % 5 == 0 else f"note {i}" for i in range(N)],
    })  # fmt: skip


LEFT = ["income", "rank", "day", "seen", "note"]
ODD_ONE, ONE_OF, CODE, MEMBER = (
    pramble.randomized_response(labels, 2.0)
    for labels in (ODD, ["no", "yes"], [0, 1, 2], [False, True])
)
PAIR = pramble.randomized_response([(a, b) for a in ODD for b in ("no", "yes")], 2.0)
HALF = Fraction(1, 2)
PLANS = {
    "branches": pramble.Plan(branches=[
        pramble.Branch(HALF, {("odd one", "if"): PAIR, "member": MEMBER}),
        pramble.Branch(HALF, {"code": CODE, "odd one": ODD_ONE}),
    ]),
    "columns": pramble.Plan(
        {"odd one": ODD_ONE, "if": ONE_OF, "code": CODE, "member": MEMBER}
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=PLANS)
def folder(request, people, tmp_path_factory):
    target = tmp_path_factory.mktemp("copies") / "out"
    release_by(PLANS[request.param], people, target, copies=COPIES)
    return target


def test_every_copy_is_stated_and_checked(folder):
    release = pramble.open_release(folder)
    stated = release.manifest["copies"]
    assert len(stated) == 4
    endings = {"csv": ".csv", "stata": ".dta", "spss": ".sav", "excel": ".xlsx"}
    for copy in stated:
        assert copy["file"].endswith(endings[copy["format"]])
        assert (folder / copy["file"]).stat().st_size == copy["bytes"]
    assert "copies" in repr(release)


def test_the_text_copy_reads_back(folder):
    table = pramble.open_release(folder).data
    text = pacsv.ConvertOptions(
        column_types=dict.fromkeys(table.column_names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    within = pacsv.ParseOptions(newlines_in_values=True)
    found = pacsv.read_csv(folder / "data.csv", convert_options=text, parse_options=within)
    assert found.column_names == table.column_names
    for column in table.column_names:
        want = table[column].cast(pa.string()).to_pylist()
        assert found[column].to_pylist() == want, column


def test_no_time_of_writing_is_in_a_copy(folder):
    head = (folder / "data.dta").read_bytes()[:400]
    assert b"<timestamp>\x1101 Jan 1970 00:00</timestamp>" in head
    assert (folder / "data.sav").read_bytes()[92:109] == b"01 Jan 7000:00:00"
    with zipfile.ZipFile(folder / "data.xlsx") as book:
        assert {part.date_time[0] for part in book.infolist()} == {1980}
        dates = re.findall(rb">(\d{4})-\d\d-\d\dT", book.read("docProps/core.xml"))
        assert set(dates) == {b"1980"}


def test_texts_of_a_workbook_are_no_formulas(folder):
    with zipfile.ZipFile(folder / "data.xlsx") as book:
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("ending", ["csv", "dta", "sav", "xlsx"])
def test_changed_missing_and_unstated_copies_are_refused(folder, tmp_path, ending):
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = next(copy.rglob(f"*.{ending}"))
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"x")
    with pytest.raises(InvalidData, match="SHA-256 differs"):
        pramble.open_release(copy)
    path.unlink()
    with pytest.raises(InvalidData, match="lacks its data file"):
        pramble.open_release(copy)
    path.write_bytes(content)
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest["copies"] = [c for c in manifest["copies"] if not c["file"].endswith(ending)]
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidData, match="does not state"):
        pramble.open_release(copy)


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("../data.csv", "csv"),
        ("randomised.parquet", "csv"),
        ("data.dta", "csv"),
        ("data.exe", "stata"),
    ],
)
def test_copies_of_other_names_are_refused(folder, tmp_path, file, form):
    copy = shutil.copytree(folder, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest["copies"] = [{**manifest["copies"][0], "file": file, "format": form}]
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidData, match=r"damaged|does not state"):
        pramble.open_release(copy)


def small(**columns):
    return pa.table({"sex": ["f", "m"] * 20, **columns})


def refused(table, target, words, *, copies=COPIES, **settings):
    columns = settings.pop("columns", {"sex": {"categories": ["f", "m"]}})
    with pytest.raises((InvalidData, InvalidPlan), match=words):
        pramble.release(
            table, target, columns=columns, alpha=3.0, copies=copies, ledger=False, design="paper",
            allow=[n for n in table.column_names if n != "sex"], **settings,
        )  # fmt: skip
    assert not target.exists()
    assert not list(target.parent.glob(".*partial*"))


@pytest.mark.parametrize(
    ("word", "values", "words"),
    [
        ("excel", [date(1890, 1, 1)] * 40, "dates before 1900-03-01, which Excel does not hold"),
        ("spss", [date(1500, 1, 1)] * 40, "dates before 1582-10-15, which SPSS"),
        ("stata", ["x" * 3000] * 40, "texts of more than 2,044 bytes, which Stata"),
        ("excel", ["a\x01b"] * 40, "texts with characters, which Excel"),
        ("stata", [2**60] * 40, "whole numbers beyond 2"),
        ("excel", [float("inf")] * 40, "infinite numbers"),
        ("stata", [[1, 2]] * 40, "of type list.*cannot be written for Stata; drop it"),
        ("csv", [[1, 2]] * 40, "cannot be written as CSV"),
    ],
)
def test_what_a_copy_cannot_hold_is_refused_before_anything_is_written(
    tmp_path, word, values, words
):
    refused(small(other=values), tmp_path / "out", words, copies=[word])


def test_labels_that_a_copy_cannot_hold_are_refused(tmp_path):
    long = {"sex": {"categories": ["f", "m", "x" * 121]}}
    refused(small(), tmp_path / "out", "more than the 120 bytes that SPSS", columns=long)


def test_the_setting_is_read_and_written():
    given = {"alpha": 2, "columns": {"x": {"categories": ["a", "b"]}}}
    text = tried({**given, "copies": ["stata", "csv"]}).outcome.plan
    assert 'copies = ["stata", "csv"]' in text
    for copies, words in (
        (["sas"], "must be one of 'csv', 'stata'"),
        ("csv", "must be a list of words"),
        (["csv", "csv"], "must name each once"),
    ):
        with pytest.raises(InvalidPlan, match=words):
            tried({**given, "copies": copies})
    with pytest.raises(InvalidPlan, match="copies are in other formats than the data"):
        tried({**given, "copies": ["csv"], "output": "csv"})


@pytest.mark.parametrize("word", ["excel", "stata", "spss"])
def test_numbers_of_a_text_file_that_a_copy_would_round_are_refused(tmp_path, word):
    source = tmp_path / "people.csv"
    lines = "".join(f"{'fm'[i % 2]},{2**53 + 1}\n" for i in range(20))
    source.write_text("sex,n\n" + lines, encoding="utf-8")
    with pytest.raises(InvalidData, match="whole numbers"):
        pramble.release(
            source, tmp_path / "out", columns={"sex": {"categories": ["f", "m"]}}, alpha=1.0,
            prior="uniform", output="csv", copies=[word], ledger=False, pages=False,
        )  # fmt: skip
    assert not (tmp_path / "out").exists()
