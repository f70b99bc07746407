"""Text files whose beginning is awkward: cut samples, wide lines, one column, no rows."""

import pytest
from tests.data.reading import read

from pramble import Reading
from pramble.errors import InvalidData, InvalidInput

SAMPLE = 1 << 16  # bytes from which the dialect is found out


@pytest.mark.parametrize("shift", range(-6, 7))
def test_a_sample_that_ends_within_a_character(tmp_path, shift):
    path = tmp_path / "a.csv"
    head = "a;b\n"
    filler = "x;é€😀\n" * 9000
    path.write_bytes(("y" * (20 + shift)).join([head + "z", ";1\n" + filler]).encode())
    table = read(path)
    assert table.num_rows == 9001
    assert table["b"][-1].as_py() == "é€😀"


@pytest.mark.parametrize("long", [10, 30_000, SAMPLE - 20, 3 * SAMPLE])
def test_a_sample_that_ends_within_quotes(tmp_path, long):
    path = tmp_path / "a.csv"
    note = 'so, "he" said;\nand | went, ' * (long // 27)
    quoted = '"' + note.replace('"', '""') + '"'
    lines = ["id;age;note", f"1;30;{quoted}", "2;NA;short", f"3;31;{quoted}", "4;32;NA"] * 1
    path.write_text("\n".join(lines) + "\n")
    table = read(path)
    assert table["note"].to_pylist() == [note, "short", note, "NA"] or long < SAMPLE
    assert table["id"].to_pylist() == ["1", "2", "3", "4"]


def test_a_header_longer_than_the_sample(tmp_path):
    path = tmp_path / "a.csv"
    names = [f"a rather long name of column number {i}" for i in range(6000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" * 6000) + "\n")
    table = read(path)
    assert table.column_names == names
    assert table.num_rows == 1


@pytest.mark.parametrize("content", ["\n", "\n\n\n", "\r\n", "\ufeff"])
def test_blank_files_are_refused(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidData, match=r"a\.csv must"):
        read(path)


def test_blank_lines_are_no_rows(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("\n\na,b\n\n1,x\n\n\n2,y\n\n")
    assert read(path).to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}


def test_one_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('s\nx;y\n""\nz w\n')
    assert read(path).to_pydict() == {"s": ["x;y", None, "z w"]}
    assert read(path, quoted_missing=False).to_pydict() == {"s": ["x;y", "", "z w"]}
    path.write_text("s\nx\n\ny\n")
    assert read(path).to_pydict() == {"s": ["x", None, "y"]}, "alone, an empty line is a row"


def test_a_line_that_ends_with_its_separator(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,")
    assert read(path).to_pydict() == {"a": ["1"], "b": [None]}


def test_old_line_ends(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\r1,x\r2,y\r")
    assert read(path).to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}


def test_names_are_trimmed_and_must_then_differ(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a, b\n1, x\n")
    assert read(path).to_pydict() == {"a": ["1"], "b": ["x"]}
    path.write_text("a, a\n1, x\n")
    with pytest.raises(InvalidData, match="have one name"):
        read(path)


ENCODINGS = ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le", "cp850"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_that_are_said(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("région,n\nÎle,1\n".encode(encoding))
    assert read(path, encoding=encoding).to_pydict() == {"région": ["Île"], "n": ["1"]}


def test_another_encoding_after_the_sample_is_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + b"1,x\n" * 50_000 + "1,é\n".encode("cp1252"))
    with pytest.raises(InvalidData, match=r"a text in utf-8; some of it is not\. Say which"):
        read(path)
    assert read(path, encoding="cp1252")["b"][-1].as_py() == "é"


WRONG = {
    "separator": [";;", "", 5, "\n", "§", '"'],
    "quote": ["''", "\r", "«"],
    "decimal": [";", "..", 1],
    "encoding": ["klingon", 5, "base64"],
    "missing": ["NA", 5],
    "trim": ["yes", 2],
    "quoted_missing": ["no"],
    "recode": [["a"], {"a": "x"}, {"a": {"bands": "x"}}],
}


@pytest.mark.parametrize(
    "said", [{name: one} for name, ones in WRONG.items() for one in ones], ids=repr
)
def test_bad_options_are_refused_in_one_sentence(said):
    given = {**said, "quote": '"'} if said.get("separator") == '"' else said
    with pytest.raises(InvalidInput) as error:
        Reading(**given)
    assert str(error.value).count("\n") == 0
