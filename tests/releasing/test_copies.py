"""Copies for other programs: the complete records of a release, from them and the plan alone."""

import json
import re
import shutil
import zipfile
from datetime import date, datetime, time
from decimal import Decimal
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
        "income": [None if i % 7 == 0 else float(i % 50) / 3 for i in range(N)],
        "rank": pa.array([2**40 + i % 9 for i in range(N)]),
        "day": [date(1990 + i % 20, 1 + i % 12, 3) for i in range(N)],
        "seen": [datetime.fromisoformat(f"2001-02-03T04:05:{i % 60:02}.250") for i in range(N)],
        "note": [None if i % 5 == 0 else f"note {i % 40}" for i in range(N)],
    })  # fmt: skip


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
def made(request, people, tmp_path_factory):
    targets = [tmp_path_factory.mktemp("copies") / name for name in ("out", "again")]
    for target in targets:
        release_by(PLANS[request.param], people, target, copies=COPIES, key=bytes(32))
    return targets


@pytest.fixture
def folder(made):
    return made[0]


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
    table = pramble.open_release(folder).synthetic
    text = pacsv.ConvertOptions(
        column_types=dict.fromkeys(table.column_names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    within = pacsv.ParseOptions(newlines_in_values=True)
    found = pacsv.read_csv(folder / "synthetic.csv", convert_options=text, parse_options=within)
    assert found.column_names == table.column_names
    for column in table.column_names:
        known = table[column]
        if pa.types.is_floating(known.type):
            numbers = [None if one is None else float(one) for one in found[column].to_pylist()]
            assert numbers == known.to_pylist()
        else:
            assert found[column].to_pylist() == known.cast(pa.string()).to_pylist(), column


@pytest.mark.parametrize(("ending", "read"), [("dta", "read_dta"), ("sav", "read_sav")])
def test_statistics_programs_get_labels_and_dates_as_texts(folder, ending, read):
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pramble.open_release(folder).synthetic
    stated = next(
        copy
        for copy in pramble.open_release(folder).manifest["copies"]
        if copy["file"] == f"synthetic.{ending}"
    )
    frame, about = getattr(pyreadstat, read)(
        str(folder / f"synthetic.{ending}"), apply_value_formats=True, formats_as_category=False
    )
    assert list(frame) == stated["columns"]
    assert about.column_labels == table.column_names
    for column, name in zip(table.column_names, frame, strict=True):
        values = table[column].to_pylist()
        if pa.types.is_boolean(table[column].type):
            values = [str(one).lower() for one in values]
        elif pa.types.is_temporal(table[column].type):
            values = table[column].cast(pa.string()).to_pylist()
        got = [None if one != one or one in (None, "") else one for one in frame[name]]
        assert got == values, column


def test_the_workbook_holds_the_complete_records(folder):
    table = pramble.open_release(folder).synthetic
    book = pytest.importorskip("openpyxl").load_workbook(folder / "synthetic.xlsx")
    rows = list(book.active.iter_rows(values_only=True))
    assert list(rows[0]) == table.column_names
    for place, column in enumerate(table.column_names):
        values = table[column]
        if pa.types.is_temporal(values.type):
            values = values.cast(pa.string())
        wanted = values.to_pylist()  # a workbook has 16 digits
        got = [row[place] for row in rows[1:]]
        assert [one is None for one in got] == [one is None for one in wanted], column
        if pa.types.is_floating(values.type):
            got, wanted = ([one or 0.0 for one in own] for own in (got, wanted))
            np.testing.assert_allclose(got, wanted, rtol=1e-15)
        else:
            assert got == wanted, column


def test_the_same_release_gives_the_same_bytes(made):
    one, two = made
    for path in one.glob("synthetic.*"):
        assert path.read_bytes() == (two / path.name).read_bytes(), path.name
    assert len(list(one.glob("synthetic.*"))) == 1 + len(COPIES)


def test_no_time_of_writing_is_in_a_copy(folder):
    head = (folder / "synthetic.dta").read_bytes()[:400]
    assert b"<timestamp>\x1101 Jan 1970 00:00</timestamp>" in head
    assert (folder / "synthetic.sav").read_bytes()[92:109] == b"01 Jan 7000:00:00"
    with zipfile.ZipFile(folder / "synthetic.xlsx") as book:
        assert {part.date_time[0] for part in book.infolist()} == {1980}
        dates = re.findall(rb">(\d{4})-\d\d-\d\dT", book.read("docProps/core.xml"))
        assert set(dates) == {b"1980"}


def test_texts_of_a_workbook_are_no_formulas(folder):
    with zipfile.ZipFile(folder / "synthetic.xlsx") as book:
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
        ("../synthetic.csv", "csv"),
        ("randomised.parquet", "csv"),
        ("synthetic.dta", "csv"),
        ("synthetic.exe", "stata"),
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
        ("spss", ["x" * 121] * 40, "more than the 120 bytes that SPSS"),
        ("stata", ["x" * 32_001] * 40, "more than the 32,000 bytes that Stata"),
        ("excel", ["a\x01b"] * 40, "characters that Excel cannot hold"),
        ("excel", ["_x0041_"] * 40, "characters that Excel cannot hold"),
        ("stata", ["a\x00b"] * 40, "characters that Stata cannot hold"),
        ("stata", [2**60] * 40, "whole numbers beyond 2"),
    ],
)
def test_what_a_copy_cannot_hold_is_refused_and_nothing_is_left(tmp_path, word, values, words):
    refused(small(other=values), tmp_path / "out", words, copies=[word])


@pytest.mark.parametrize("word", COPIES)
def test_odd_values_of_untouched_columns_are_held(tmp_path, word):
    """What no program has a place for is text, an empty cell, or left out with a note."""
    odd = small(
        old=[date(1500, 1, 1)] * 40,
        infinite=[float("inf"), 1.5] * 20,
        exact=pa.array([Decimal("1.25")] * 40),
        long=["x" * 100] * 40,
        listed=[[1, 2]] * 40,
        none=pa.nulls(40),
        clock=[time(1, 2, 3)] * 40,
    )
    made = pramble.release(
        odd, tmp_path / "out", columns={"sex": {"categories": ["f", "m"]}}, alpha=3.0,
        copies=[word], ledger=False, pages=False,
        allow=[name for name in odd.column_names if name != "sex"],
    )  # fmt: skip
    (note,) = made.manifest["synthetic"]["notes"]
    assert "'listed'" in note
    assert pramble.open_release(made.folder).synthetic["old"].to_pylist() == [date(1500, 1, 1)] * 40
    if word == "csv":
        text = (made.folder / "synthetic.csv").read_text()
        assert "1500-01-01" in text
        assert "inf" not in text.split("\n", 1)[1]


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


def test_a_long_name_has_labels_in_every_copy(tmp_path):
    """Programs take names of 32 letters, but no labels of theirs."""
    name = "n" * 32
    people = {name: ["f", "m"] * 20, "ill": ["no", "no", "yes", "yes"] * 10}
    columns = {name: {"categories": ["f", "m"]}, "ill": {"categories": ["no", "yes"]}}
    pramble.release(
        people, tmp_path / "out", columns=columns, central=1.0, person=False, ledger=False,
        copies=["stata", "spss"],
    )  # fmt: skip
    assert (tmp_path / "out" / "synthetic.dta").exists()
