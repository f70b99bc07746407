"""Text files whose beginning is awkward: cut samples, wide lines, one column, no rows."""

import subprocess
import sys
import time

import pyarrow as pa
import pytest

from pramble.data.formats.delimited import SAMPLE, find_dialect, split_lines
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.errors import InvalidData


def read(path, **said):
    records = open_records(path, Reading(**said))
    return pa.Table.from_batches(list(records.batches()), schema=records.schema)


@pytest.mark.parametrize("shift", range(-6, 7))
def test_a_sample_that_ends_within_a_character(tmp_path, shift):
    path = tmp_path / "a.csv"
    head = "a;b\n"
    filler = "x;é€😀\n" * 9000
    path.write_bytes(("y" * (20 + shift)).join([head + "z", ";1\n" + filler]).encode())
    records = open_records(path)
    assert records.reading.encoding == "utf-8"
    assert records.reading.separator == ";"
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
    records = open_records(path)
    assert (records.reading.separator, records.reading.quote) == (";", '"')
    table = read(path)
    assert table["note"].to_pylist() == [note, "short", note, "NA"] or long < SAMPLE
    assert table["id"].to_pylist() == ["1", "2", "3", "4"]


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_line_cut_off_is_left_out_wherever_it_is_cut(cut):
    text = 'a,b\n1,"x ""y"" z,\nw"\n'
    found = split_lines(text[:cut], ",", '"', whole=False)
    expected = [["a", "b"], ["1", 'x "y" z,\nw']]
    assert [[field.text for field in line] for line in found] == expected[: len(found)]
    assert len(found) == (cut >= 4) + (cut >= len(text))


def test_quotes_that_never_end_take_no_time():
    text = ("a,b\n" + '1,"x"y\n' * 4000 + '"' + "z," * 20000)[:SAMPLE]
    start = time.perf_counter()
    find_dialect(text.encode(), Reading())
    find_dialect((',"a' * SAMPLE)[:SAMPLE].encode(), Reading())
    assert time.perf_counter() - start < 5


def test_a_header_longer_than_the_sample(tmp_path):
    path = tmp_path / "a.csv"
    names = [f"a rather long name of column number {i}" for i in range(6000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" * 6000) + "\n")
    table = read(path)
    assert table.column_names == names
    assert table.num_rows == 1


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_three_thousand_columns_open_fast(tmp_path, ending):
    from pramble.data.save import saving

    path = tmp_path / f"a{ending}"
    table = pa.table({f"column {i}": [str(i % 7)] * 50 for i in range(3000)})
    with saving(path, table.schema) as writer:
        writer.write(table.to_batches()[0])
    start = time.process_time()
    records = open_records(path)
    assert len(records.names) == 3000
    records.refuse_missing(records.names)
    assert time.process_time() - start < 3.0
    assert sum(batch.num_rows for batch in records.batches(["column 7"])) == 50


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\r\n", "\ufeffa,b\n", '"a","b"\n'])
def test_a_header_only(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_text(content, encoding="utf-8")
    assert read(path).to_pydict() == {"a": [], "b": []}


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
    from pramble.errors import InvalidInput

    given = {**said, "quote": '"'} if said.get("separator") == '"' else said
    with pytest.raises(InvalidInput) as error:
        Reading(**given)
    assert str(error.value).count("\n") == 0


MEASURED = """
import resource, sys
from pramble.data.open import open_records
from pramble.data.crosstab import crosstab
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
records = open_records(sys.argv[1])
rows = crosstab(records, ["c0", "c1"]).n
sum(batch.num_rows for batch in records.batches())
print(rows, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
def test_two_hundred_megabytes_are_read_in_bounded_memory(tmp_path):
    path = tmp_path / "a.csv"
    line = ",".join(["category"] * 10) + "\n"
    block = line * 10_000
    with path.open("w") as file:
        file.write(",".join(f"c{i}" for i in range(10)) + "\n")
        for _ in range(230):
            file.write(block)
    assert path.stat().st_size > 200_000_000
    answer = subprocess.run(
        [sys.executable, "-c", MEASURED, path], capture_output=True, text=True, check=True
    )
    rows, megabytes = answer.stdout.split()
    assert int(rows) == 2_300_000
    assert float(megabytes) < 400
