"""Excel workbooks, and files of Stata, SPSS and SAS."""

from datetime import date, datetime

import pyarrow as pa
import pytest
from tests.data.reading import levels, read

from pramble.errors import InvalidData

DAY, OTHER_DAY = date(2020, 2, 29), date(1999, 1, 1)
MOMENT = datetime.fromisoformat("2020-02-29T13:30")
MIDNIGHTS = [datetime.combine(day, datetime.min.time()) for day in (DAY, OTHER_DAY)]


def workbook(path, rows, *, title="people", **more):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = title
    for name, content in {title: rows, **more}.items():
        sheet = book[title] if name == title else book.create_sheet(name)
        for row in content:
            sheet.append(row)
    book.save(path)
    return path


KINDS = {
    "whole": ([1, None, 3], pa.int64()),
    "real": ([1, 2.5, None], pa.float64()),
    "text": (["a", None, "é"], pa.string()),
    "truth": ([True, False, None], pa.bool_()),
    "day": ([MIDNIGHTS[0], None, MIDNIGHTS[1]], pa.date32()),
    "moment": ([MOMENT, None, MIDNIGHTS[0]], pa.timestamp("us")),
    "code": ([1, "x", 2.0], pa.string()),
    "none": ([None, None, None], pa.string()),
}


def test_a_column_has_the_type_of_its_cells(tmp_path):
    rows = [list(KINDS), *zip(*(values for values, _ in KINDS.values()), strict=True)]
    table = read(workbook(tmp_path / "a.xlsx", rows))
    assert table.schema == pa.schema([(name, kind) for name, (_, kind) in KINDS.items()])
    assert table["whole"].to_pylist() == [1, None, 3]
    assert table["day"].to_pylist() == [DAY, None, OTHER_DAY]
    assert table["moment"].to_pylist()[0] == MOMENT
    assert table["code"].to_pylist() == ["1", "x", "2"]


def test_empty_rows_and_columns_are_none(tmp_path):
    rows = [["a", "b", None], [1, "x"], [None, None], [2], [3, "y", None]]
    assert read(workbook(tmp_path / "a.xlsx", rows)).to_pydict() == {
        "a": [1, 2, 3],
        "b": ["x", None, "y"],
    }


def test_names_must_be_there_once(tmp_path):
    with pytest.raises(InvalidData, match="needs its own name"):
        read(workbook(tmp_path / "a.xlsx", [["a", "a"], [1, 2]]))
    with pytest.raises(InvalidData, match="needs its own name"):
        read(workbook(tmp_path / "b.xlsx", [["a", None], [1, 2]]))
    with pytest.raises(InvalidData, match="no columns"):
        read(workbook(tmp_path / "c.xlsx", []))


def test_sheets(tmp_path):
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]], more=[["b"], [2]])
    assert read(path).to_pydict() == {"a": [1]}
    assert read(path, sheet="more").to_pydict() == read(path, sheet=1).to_pydict() == {"b": [2]}
    for name in ("other", ""):
        with pytest.raises(InvalidData, match=f"has no sheet '{name}'; it has 'people', 'more'"):
            read(path, sheet=name)


def test_a_broken_workbook(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"no workbook")
    with pytest.raises(InvalidData, match="sound excel file"):
        read(tmp_path / "a.xlsx")


WRITERS = {
    "a.dta": "write_dta",
    "a.sav": "write_sav",
    "a.zsav": "write_sav",
    "a.por": "write_por",
    "a.xpt": "write_xport",
}


@pytest.fixture(params=WRITERS)
def statistics_file(request, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")

    def write(columns):
        path = tmp_path / request.param
        more = {"compress": True} if path.suffix == ".zsav" else {}
        getattr(pyreadstat, WRITERS[request.param])(pandas.DataFrame(columns), str(path), **more)
        return path

    return write


def test_statistics_files_have_types(statistics_file, monkeypatch):
    monkeypatch.setattr("pramble.data.formats.programs.BATCH_ROWS", 2)
    path = statistics_file(
        {
            "AGE": [30.0, None, 41.0, 5.0, None],
            "SEX": ["f", "m", "f", "m", "f"],
            "BORN": [None, None, DAY, None, DAY],
            "SEEN": [None, None, None, MOMENT, MOMENT],
            "NONE": [None, None, None, None, float("nan")],
        }
    )
    table = read(path)
    assert table["AGE"].to_pylist() == [30.0, None, 41.0, 5.0, None]
    assert table["SEX"].to_pylist() == ["f", "m", "f", "m", "f"]
    assert table["BORN"].to_pylist() == [None, None, DAY, None, DAY]
    assert table["SEEN"].to_pylist() == [None, None, None, MOMENT, MOMENT]
    assert [*levels(path, "AGE")] == [5, 30, 41, None], "whole floats are integers"
    assert levels(path, "SEX") == {"f": 3, "m": 2}


def test_integers_with_missing_values_stay_integers(tmp_path, monkeypatch):
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    monkeypatch.setattr("pramble.data.formats.programs.BATCH_ROWS", 2)
    frame = pandas.DataFrame({"n": pandas.array([1, 2, None, 4], dtype="Int32")})
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"))
    table = read(tmp_path / "a.dta")
    assert table["n"].to_pylist() == [1, 2, None, 4]
    assert table.schema.field("n").type in (pa.int64(), pa.float64())


def test_a_statistics_file_without_rows(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"n": pandas.Series([], dtype=float), "s": pandas.Series([], dtype=str)}
    )
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"))
    with pytest.raises(InvalidData, match="must have rows"):
        read(tmp_path / "a.sav")
