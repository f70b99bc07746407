"""What is found out about text files, and what is read from them."""

import gzip

import pyarrow as pa
import pytest

from pramble.data.formats.delimited import find_dialect
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.errors import InvalidData, InvalidInput


def read(path, **reading):
    records = open_records(path, reading)
    return pa.Table.from_batches(list(records.batches()), schema=records.schema).to_pydict()


def found(text, **said):
    return find_dialect(text.encode(said.get("encoding") or "utf-8"), Reading(**said))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(separator):
    text = "\n".join(separator.join(line) for line in (["a", "b"], ["1", "x y"], ["2", "z"]))
    assert found(text).separator == separator


def test_a_separator_inside_quotes_does_not_count():
    assert found('a;b\n"1,2,3";"x,y"\n"4,5,6";z\n').separator == ";"


def test_quotation_marks_are_found():
    assert found("a,b\n'x',1\n'y, z',2\n'w',3\n").quote == "'"
    assert found("a,b\n'tis,1\nit's,2\n").quote == '"'
    assert found("a\tb\n'\t'\n").quote == '"'
    assert found("a,b\n'x',\"1\"\n").quote == '"'


def test_a_single_column_has_the_usual_separator():
    assert found("a\nx\ny\n").separator == ","


def test_decimal_commas_are_found_in_semicolon_files():
    assert found("a;b\n1,5;x\n2,25;y\n").decimal == ","
    assert found("a;b\n1.5;x\n2.25;y\n").decimal == "."
    assert found("a,b\n1,5\n").decimal == "."


def test_markers_are_found_among_numbers_only():
    assert found("age,country\n30,NA\nNA,DE\n").missing == ("", "NA")
    assert found("age,country\n30,NA\n31,DE\n").missing == ("",)
    assert found('age,country\n30,"?"\n?,DE\n').missing == ("", "?")


def test_what_is_said_stays():
    said = found("a;b\n1;NA\n", separator=",", missing=["x"], trim=False)
    assert (said.separator, said.missing, said.trim) == (",", ("x",), False)


def test_blanks_after_separators_are_taken_off(tmp_path):
    path = tmp_path / "adult.csv"
    path.write_text("age, work, sex\n39, State-gov, Male\n50, ?, Female\n")
    assert read(path) == {
        "age": ["39", "50"],
        "work": ["State-gov", "?"],
        "sex": ["Male", "Female"],
    }
    assert read(path, missing=["?"])["work"] == ["State-gov", None]


def test_empty_and_quoted_empty(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('x,y\n1,\n2,""\n3,b\n')
    assert read(path)["y"] == [None, "", "b"]
    path.write_text('"x","y"\n1,\n2,""\n3,"b"\n')
    assert read(path)["y"] == [None, None, "b"], "every text is quoted, so an empty one is missing"
    assert read(path, quoted_missing=False)["y"] == [None, "", "b"]


def test_encodings(tmp_path):
    path = tmp_path / "a.csv"
    text = "région;âge\nOuest;3\nÎle;4\n"
    for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
        path.write_bytes(text.encode(encoding))
        assert read(path) == {"région": ["Ouest", "Île"], "âge": ["3", "4"]}, encoding


@pytest.mark.parametrize("ending", [".gz", ".zst", ".bz2"])
def test_packed_files(tmp_path, ending):
    path = tmp_path / f"a.csv{ending}"
    codec = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}[ending]
    with pa.CompressedOutputStream(str(path), codec) as stream:
        stream.write(b"a,b\n1,x\n")
    assert read(path) == {"a": ["1"], "b": ["x"]}


def test_line_breaks_in_quotes_and_carriage_returns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\r\n1,"x\r\ny"\r\n2,z\r\n')
    assert read(path) == {"a": ["1", "2"], "b": ["x\r\ny", "z"]}


def test_messages_never_hold_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,illness,year\n" + "Ann,HIV,1970\n" * 3 + "Secret,HIV\n")
    with pytest.raises(InvalidData, match=r"line 5 has 2 fields, the header 3") as error:
        read(path)
    assert "Secret" not in str(error.value)


def test_columns_must_have_distinct_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InvalidData, match="have one name"):
        read(path)


def test_bad_options_are_refused():
    with pytest.raises(InvalidInput, match="separator must be one character"):
        Reading(separator=";;")
    with pytest.raises(InvalidInput, match="has no 'seperator'"):
        open_records({"a": [1]}, {"seperator": ";"})


def test_a_truncated_gzip_file_is_told_in_one_sentence(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 100_000)[:-200])
    with pytest.raises(InvalidData, match=r"a\.csv\.gz must be a sound csv file"):
        read(path)
