"""What is read from text files of any dialect."""

import gzip
import traceback

import pyarrow as pa
import pytest
from tests.data import reading

import pramble
from pramble.errors import InvalidData, InvalidInput


def read(path, **said):
    return reading.read(path, **said).to_pydict()


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
    assert "Secret" not in "".join(traceback.format_exception(error.value))


def test_columns_must_have_distinct_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InvalidData, match="have one name"):
        read(path)


def test_bad_options_are_refused():
    with pytest.raises(InvalidInput, match="separator must be one character"):
        pramble.Reading(separator=";;")
    with pytest.raises(InvalidInput, match="has no 'seperator'"):
        pramble.estimate({"a": [1]}, {}, by="a", reading={"seperator": ";"})


def test_a_truncated_gzip_file_is_told_in_one_sentence(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 100_000)[:-200])
    with pytest.raises(InvalidData, match=r"a\.csv\.gz must be a sound csv file"):
        read(path)
