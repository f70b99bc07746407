"""What is found out about a text file from its beginning, and how fast and in which memory."""

import subprocess
import sys
import time

import pyarrow as pa
import pytest

from pramble.data.formats.delimited import SAMPLE, find_dialect, split_lines
from pramble.data.open import open_records
from pramble.data.recode import Reading
from pramble.data.save import saving


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


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_three_thousand_columns_open_fast(tmp_path, ending):
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
    records = open_records(path)
    assert records.names == ("a", "b")
    assert sum(batch.num_rows for batch in records.batches()) == 0


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


def test_the_digest_is_of_all_files(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "2.csv").write_text("a,b\n1,y\n")
    both = open_records(tmp_path).digest()
    (tmp_path / "2.csv").write_text("a,b\n1,z\n")
    assert open_records(tmp_path).digest() != both
    assert open_records(tmp_path / "1.csv").digest() != both
