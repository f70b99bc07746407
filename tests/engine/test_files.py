"""Files: every format, one release, whole or not at all."""

import base64
import csv
import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from tests.engine import cuts

import pramble
from pramble.errors import InvalidData, InvalidInput, InvalidPlan, WriteFailed

KEY = bytes(range(32))
N = 3000
RNG = np.random.default_rng(8)
TABLE = pa.table(
    {
        "id": pa.array(np.arange(N)),
        "sex": pa.array(RNG.choice(["f", "m"], N)),
        "age": pa.array(RNG.integers(0, 5, N).astype(np.int16)),
        "note": pa.array([None if i % 7 == 0 else f'he said "{i}",\nthen left' for i in range(N)]),
        "region": pa.array(RNG.choice(["north", "south", "öst"], N)),
    }
)
PLAN = {
    "sex": pramble.randomized_response(["f", "m"], 1.0),
    "age": pramble.randomized_response(5, 1.0),
    "region": pramble.randomized_response(["north", "öst", "south"], 1.0),
}
RELEASED = pramble.perturb(TABLE, PLAN, key=KEY)


def write(table, path):
    """Write a table by the libraries themselves."""
    name = path.name
    if name.endswith(".parquet"):
        pq.write_table(table, path, row_group_size=700)
    elif name.endswith(".feather"):
        pa.feather.write_feather(table, path)
    elif name.endswith(".ipc"):
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=500)
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(pl.from_arrow(table).write_csv().encode()))
    else:
        pl.from_arrow(table).write_csv(path)
    return path


def read(path):
    name = path.name
    if name.endswith(".parquet"):
        return pq.read_table(path)
    if name.endswith((".arrow", ".feather", ".ipc")):
        return pa.feather.read_table(path)
    text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    return pl.read_csv(text, schema=pl.from_arrow(TABLE).schema).to_arrow()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def values(table):
    return table.to_pydict()


small_batches, small_groups = cuts.small_batches, cuts.small_groups
SOURCES = ["in.parquet", "in.csv", "in.csv.gz", "in.feather", "in.ipc"]
TARGETS = ["out.parquet", "out.csv", "out.csv.gz", "out.arrow"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_format_to_every_other_is_one_release(tmp_path, small_batches, source, target):
    write(TABLE, tmp_path / source)
    done = pramble.perturb_file(tmp_path / source, tmp_path / target, PLAN, key=KEY)
    assert done.rows == N
    assert done.target == tmp_path / target
    assert done.seconds > 0
    found = values(read(tmp_path / target))
    for name, column in values(RELEASED).items():
        if ".csv" in source and ".csv" not in target and name == "id":
            column = [str(value) for value in column]
        assert found[name] == column, name
    assert names_in(tmp_path) == sorted([source, target])


def test_parquet_has_the_types_of_values_and_labels_and_nothing_else_of_the_source(tmp_path):
    table = TABLE.set_column(1, "sex", TABLE["sex"].cast(pa.large_string()))
    table = table.set_column(4, "region", TABLE["region"].dictionary_encode())
    noted = pa.field("id", pa.int64(), nullable=False, metadata={"about": "the patient"})
    table = table.set_column(0, noted, TABLE["id"])
    table = table.replace_schema_metadata({"made by": "a test"})
    pq.write_table(table, tmp_path / "in.parquet", compression="snappy", row_group_size=100)
    pramble.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", PLAN, key=KEY)
    out = pq.read_table(tmp_path / "out.parquet")
    kinds = dict(zip(out.schema.names, out.schema.types, strict=True))
    assert kinds == {
        "id": pa.int64(),
        "sex": pa.string(),
        "age": pa.int64(),
        "note": pa.string(),
        "region": pa.string(),
    }
    assert out.schema.names == table.schema.names
    about = pq.read_metadata(tmp_path / "out.parquet")
    assert about.row_group(0).column(0).compression == "ZSTD"
    assert about.num_row_groups == 1
    assert set(about.metadata) == {b"ARROW:schema"}
    content = (tmp_path / "out.parquet").read_bytes()
    note = base64.b64decode(about.metadata[b"ARROW:schema"])
    for secret in (b"a test", b"the patient"):
        assert secret not in content
        assert secret not in note
    assert out["id"].equals(table["id"])
    assert out["note"].equals(table["note"])
    assert out["sex"].to_pylist() == RELEASED["sex"].to_pylist()
    assert out["region"].to_pylist() == RELEASED["region"].to_pylist()
    pandas_frame = pd.read_parquet(tmp_path / "out.parquet")
    assert pandas_frame["sex"].tolist() == RELEASED["sex"].to_pylist()


@pytest.mark.parametrize("target", ["out.parquet", "out.csv", "out.csv.gz", "out.arrow"])
def test_how_the_source_was_cut_leaves_no_trace(tmp_path, small_groups, target):
    contents = set()
    for size in (100, 700, N):
        pq.write_table(TABLE, tmp_path / "in.parquet", row_group_size=size)
        pramble.perturb_file(
            tmp_path / "in.parquet", tmp_path / target, PLAN, key=KEY, overwrite=True
        )
        contents.add((tmp_path / target).read_bytes())
    assert len(contents) == 1


def test_the_columns_left_alone_keep_their_text_in_csv(tmp_path):
    lines = [
        "a,b,c",
        "007,x, padded",
        '1e3,y,"q ""u"""',
        ",x,",
        "0x1F,y,NA",
        '"",x,"a,b"',
        '1,y,"two\nlines"',
    ]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    plan = {"b": pramble.Mechanism.from_matrix(np.eye(2), categories=["x", "y"])}
    pramble.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", plan)
    with (
        (tmp_path / "in.csv").open(newline="") as one,
        (tmp_path / "out.csv").open(newline="") as two,
    ):
        assert list(csv.reader(one)) == list(csv.reader(two))
    (tmp_path / "plain.csv").write_text("a,b\n007,x\n,y\n")
    pramble.perturb_file(tmp_path / "plain.csv", tmp_path / "plain_out.csv", plan)
    assert (tmp_path / "plain_out.csv").read_text() == "a,b\n007,x\n,y\n"


def test_labels_in_csv_are_met_by_their_text(tmp_path):
    (tmp_path / "in.csv").write_text("\ufeffn,b,s\n1,True,\n2,false,x\n,TRUE,x\n", encoding="utf-8")
    plan = {
        "n": pramble.randomized_response([1, 2, None], 30.0),
        "b": pramble.randomized_response([True, False], 30.0),
        "s": pramble.randomized_response(["", "x"], 30.0),
    }
    pramble.perturb_file(tmp_path / "in.csv", tmp_path / "out.parquet", plan)
    assert values(pq.read_table(tmp_path / "out.parquet")) == {
        "n": [1, 2, None],
        "b": [True, False, True],
        "s": ["", "x", "x"],
    }
    both = pramble.randomized_response([1, "1"], 1.0)
    with pytest.raises(InvalidPlan, match="stands for two"):
        pramble.perturb_file(tmp_path / "in.csv", tmp_path / "no.csv", {"n": both})


def test_one_column_of_empty_fields_keeps_its_rows(tmp_path):
    m = pramble.randomized_response([None, "x"], 0.1)
    (tmp_path / "in.csv").write_text('s\n""\nx\n""\n""\n')
    done = pramble.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", {"s": m}, key=KEY)
    again = pramble.perturb_file(tmp_path / "out.csv", tmp_path / "two.csv", {"s": m}, key=KEY)
    assert done.rows == again.rows == 4


STATISTICS = {
    "in.dta": "write_dta",
    "in.sav": "write_sav",
    "in.por": "write_por",
    "in.xpt": "write_xport",
}


@pytest.mark.parametrize("name", STATISTICS)
def test_statistics_files_are_read(tmp_path, name, small_batches):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = TABLE.select(["id", "sex", "age"]).to_pandas()
    frame.columns = [column.upper() for column in frame.columns]
    getattr(pyreadstat, STATISTICS[name])(frame, str(tmp_path / name))
    plan = {"SEX": PLAN["sex"], "AGE": PLAN["age"]}
    pramble.perturb_file(tmp_path / name, tmp_path / "out.parquet", plan, key=KEY)
    out = pq.read_table(tmp_path / "out.parquet")
    expected = pramble.perturb(frame, plan, key=KEY)
    assert out["ID"].to_pylist() == frame["ID"].tolist()
    assert out["SEX"].to_pylist() == expected["SEX"].tolist()
    assert out["AGE"].to_pylist() == expected["AGE"].tolist()


def broken_files():
    good = pa.BufferOutputStream()
    pq.write_table(TABLE, good)
    parquet = good.getvalue().to_pybytes()
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, TABLE.schema) as file:
        file.write_table(TABLE)
    arrow = stream.getvalue().to_pybytes()
    yield "truncated.parquet", parquet[: len(parquet) // 2], "sound parquet file"
    yield "footless.parquet", parquet[:-3], "sound parquet file"
    yield "damaged.parquet", damaged(parquet), "sound parquet file|must hold declared"
    yield "text.parquet", b"sex,age\nf,1\n", "sound parquet file"
    yield "truncated.arrow", arrow[: len(arrow) // 2], "sound arrow file"
    yield "tiny.arrow", b"ARROW1", "sound arrow file"
    yield "ragged.csv", b"sex,age,region\nf,1,north\nm,2\n", "line 3 has 2 fields, the header 3"
    yield (
        "long.csv",
        b"sex,age,region\nf,1,north\nm,2,north,5\n",
        "line 3 has 4 fields, the header 3",
    )
    late = b"sex,age,region\n" + b"f,1,north\n" * 9999 + b"f,1,\xff\n"
    yield "encoding.csv", late, "must be a text in utf-8"
    yield "cp1252.csv", b"sex,age,region\nf,1,\x81\n", "must be a text in cp1252"
    yield "wrong.csv", b"sex,age,region\nf,one,north\n", "'age' must hold.*row 0"
    yield "null.csv", b"sex,age,region\nf,,north\n", "'age' must hold.*row 0: null"
    yield "missing.csv", b"sex,region\nf,north\n", "'age' is missing"
    yield "twice.csv", b"sex,age,region,sex\nf,1,north,f\n", r"columns \[1, 4\] have one name"
    yield "headers.csv", b"sex,age,region\n", "must have rows"
    yield "empty.csv", b"", "is empty"
    yield "empty.parquet", b"", "is empty"
    yield "notgz.csv.gz", b"sex,age,region\nf,1,north\n", "sound csv file"
    yield (
        "cut.csv.gz",
        gzip.compress(b"sex,age,region\n" + b"f,1,north\n" * 9999)[:-30],
        "sound csv file",
    )
    yield "norows.parquet", parquet_of(TABLE.slice(0, 0)), "must have rows"
    yield "types.parquet", parquet_of(TABLE.set_column(2, "age", pa.array([1.5] * N))), "row 0"
    yield "lists.parquet", parquet_of(TABLE.set_column(2, "age", pa.array([[1]] * N))), "found list"
    yield "nocolumn.parquet", parquet_of(TABLE.drop_columns(["age"])), "'age' is missing"
    yield "random.dta", bytes(range(256)) * 9, "sound stata file"
    yield "random.sav", b"\x00" * 300, "sound spss file"
    yield "data.xlsx", b"PK", "sound excel file"
    yield "data.ods", b"PK", "no known ending"


def parquet_of(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def damaged(content):
    """The same file with bytes of its pages overwritten."""
    return content[:600] + bytes(255 - byte for byte in content[600:9000]) + content[9000:]


@pytest.mark.parametrize(
    ("name", "content", "message"), [pytest.param(*case, id=case[0]) for case in broken_files()]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_broken_file_gives_one_clear_error_and_leaves_nothing(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((InvalidData, InvalidPlan), match=message) as caught:
        pramble.perturb_file(tmp_path / name, tmp_path / "out.parquet", PLAN, key=KEY)
    assert len(str(caught.value)) < 600
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("seed", range(40))
def test_bytes_changed_at_random_never_leave_a_partial_file(tmp_path, seed):
    rng = np.random.default_rng(seed)
    name = ["in.parquet", "in.csv", "in.feather", "in.csv.gz"][seed % 4]
    write(TABLE.slice(0, 400), tmp_path / name)
    content = bytearray((tmp_path / name).read_bytes())
    for position in rng.integers(0, len(content), 3):
        content[position] = rng.integers(256)
    (tmp_path / name).write_bytes(content[: int(rng.integers(len(content) // 2, len(content) + 1))])
    try:
        pramble.perturb_file(tmp_path / name, tmp_path / "out.parquet", PLAN, key=KEY)
    except pramble.PrambleError:
        assert names_in(tmp_path) == [name]
    else:
        assert pq.read_table(tmp_path / "out.parquet").num_rows > 0


@pytest.mark.parametrize("target", TARGETS)
def test_a_bad_row_in_the_last_block_leaves_nothing(tmp_path, small_batches, target):
    sexes = [*TABLE["sex"].to_pylist()[:-1], "x"]
    write(TABLE.set_column(1, "sex", pa.array(sexes)), tmp_path / "in.csv")
    with pytest.raises(InvalidData, match=f"'sex' must hold.*row {N - 1}"):
        pramble.perturb_file(tmp_path / "in.csv", tmp_path / target, PLAN)
    assert names_in(tmp_path) == ["in.csv"]


FULL_DISK = """
import resource, signal, sys
import pramble
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
plan = {"sex": pramble.randomized_response(["f", "m"], 1.0)}
try:
    pramble.perturb_file(sys.argv[1], sys.argv[2], plan)
except pramble.WriteFailed as error:
    print(error)
"""


@pytest.mark.parametrize("target", TARGETS)
def test_a_full_disk_leaves_nothing_and_says_so(tmp_path, target):
    pytest.importorskip("resource")
    table = TABLE.append_column("noise", pa.array(RNG.bytes(16).hex() for _ in range(N)))
    write(table, tmp_path / "in.csv")
    answer = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "in.csv", tmp_path / target],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "nothing was left there" in answer.stdout
    assert answer.stderr == ""
    assert names_in(tmp_path) == ["in.csv"]


def test_places_are_checked(tmp_path):
    source = write(TABLE, tmp_path / "in.parquet")
    (tmp_path / "there.csv").write_text("x")
    cases = [
        (source, source, InvalidInput, "must differ"),
        (source, tmp_path / "there.csv", InvalidInput, "exists already"),
        (source, tmp_path / "no" / "out.csv", InvalidInput, "must exist"),
        (source, tmp_path / "out.xlsx", InvalidData, "cannot be written"),
        (source, tmp_path / "out.dta", InvalidData, "cannot be written"),
        (tmp_path / "nothing.csv", tmp_path / "out.csv", InvalidData, "There is no file"),
        (tmp_path, tmp_path / "sub", InvalidInput, "within the source"),
    ]
    for one, two, error, message in cases:
        with pytest.raises(error, match=message):
            pramble.perturb_file(one, two, PLAN)
    assert (tmp_path / "there.csv").read_text() == "x"
    pramble.perturb_file(source, tmp_path / "there.csv", PLAN, overwrite=True)
    assert (tmp_path / "there.csv").read_text() != "x"


def test_progress_is_told_with_rate_and_time_left(tmp_path, small_batches):
    write(TABLE, tmp_path / "in.parquet")
    told = []
    pramble.perturb_file(tmp_path / "in.parquet", tmp_path / "o.csv", PLAN, progress=told.append)
    assert len(told) > 10
    assert [one.rows for one in told] == sorted(one.rows for one in told)
    assert told[-1].rows == N
    assert told[-1].share == 1.0
    assert told[-1].seconds_left == 0.0
    assert told[3].rows / told[3].seconds > 0
    assert all(0 < one.share <= 1 for one in told)


def test_a_folder_is_one_release_numbered_through(tmp_path):
    (tmp_path / "source" / "year=2").mkdir(parents=True)
    write(TABLE.slice(0, 1000), tmp_path / "source" / "a.parquet")
    write(TABLE.slice(1000), tmp_path / "source" / "year=2" / "b.parquet")
    (tmp_path / "source" / "_SUCCESS").write_text("")
    (tmp_path / "source" / "notes.txt").write_text("left alone")
    for source in ("source", "source/**/*.parquet"):
        target = tmp_path / f"out-{len(source)}.parquet"
        done = pramble.perturb_file(tmp_path / source, target, PLAN, key=KEY)
        assert done.rows == N
        assert values(read(target)) == values(RELEASED)


def test_a_bad_file_of_a_folder_leaves_nothing(tmp_path):
    (tmp_path / "source").mkdir()
    write(TABLE, tmp_path / "source" / "a.csv")
    (tmp_path / "source" / "b.csv").write_text("id,sex,age,note,region\n1,q,1,,north\n")
    with pytest.raises(InvalidData, match=f"row {N}"):
        pramble.perturb_file(tmp_path / "source", tmp_path / "out.csv", PLAN)
    assert names_in(tmp_path) == ["source"]
    for path in (tmp_path / "source").iterdir():
        path.unlink()
    with pytest.raises(InvalidData, match="must hold data files"):
        pramble.perturb_file(tmp_path / "source", tmp_path / "out.csv", PLAN)


KILLED = Path(__file__).with_name("killed.py")


def kill_many(tmp_path, times):
    answer = subprocess.run(
        [sys.executable, KILLED, tmp_path, str(times)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    counts = dict(item.split("=") for item in answer.stdout.split())
    assert int(counts["nothing"]) + int(counts["complete"]) == times
    assert int(counts["nothing"]) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_killed_at_random_moments_it_leaves_nothing_or_a_complete_file(tmp_path):
    kill_many(tmp_path, 8)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_killed_fifty_times_it_leaves_nothing_or_a_complete_file(tmp_path):
    kill_many(tmp_path, 50)


def test_write_failures_are_errors_of_both_kinds():
    assert issubclass(WriteFailed, OSError)
    assert issubclass(WriteFailed, pramble.PrambleError)


def test_arrow_reads_what_csv_holds(tmp_path):
    write(TABLE, tmp_path / "in.csv")
    pramble.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", PLAN, key=KEY)
    options = arrow_csv.ParseOptions(newlines_in_values=True)
    assert arrow_csv.read_csv(tmp_path / "out.csv", parse_options=options).num_rows == N


def test_a_plan_is_taken_as_a_mapping_is(tmp_path):
    write(TABLE, tmp_path / "in.parquet")
    plan = pramble.Plan(PLAN)
    pramble.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", plan, key=KEY)
    assert values(read(tmp_path / "out.parquet")) == values(RELEASED)


def test_recoded_files_are_the_release_of_the_recoded_table(tmp_path, small_batches):
    write(TABLE, tmp_path / "in.csv")
    m = pramble.randomized_response(["0-1", "2+"], 1.0)
    reading = {"recode": {"age": [0, 2]}}
    pramble.perturb_file(
        tmp_path / "in.csv", tmp_path / "out.parquet", {"age": m}, key=KEY, reading=reading
    )
    bands = pa.array(["2+" if age >= 2 else "0-1" for age in TABLE["age"].to_pylist()])
    expected = pramble.perturb(pa.table({"age": bands}), {"age": m}, key=KEY)
    assert pq.read_table(tmp_path / "out.parquet")["age"].to_pylist() == values(expected)["age"]


def test_clipped_columns_left_alone_are_written_in_every_format(tmp_path, small_batches):
    write(TABLE, tmp_path / "in.csv")
    plan = {"sex": PLAN["sex"]}
    reading = {"recode": {"id": {"high": 1500.5}, "age": {"low": 2}}}
    for target in TARGETS:
        pramble.perturb_file(tmp_path / "in.csv", tmp_path / target, plan, reading=reading)
    ages = pq.read_table(tmp_path / "out.parquet")["age"].to_pylist()
    assert ages == [str(max(2, age)) for age in TABLE["age"].to_pylist()]


def test_an_empty_batch_has_the_types_of_its_release():
    batch = pa.record_batch({"n": pa.array([], pa.int64())})
    m = pramble.Mechanism.from_matrix(np.eye(2), categories=[1, 2], outputs=["a", "b"])
    assert pramble.perturb(batch, {"n": m}).schema.types == [pa.string()]


def test_a_thousand_columns_are_randomised(tmp_path):
    names = [f"column {i}" for i in range(1000)]
    table = pa.table({name: ["a", "b"] * 5 for name in names})
    pq.write_table(table, tmp_path / "in.parquet")
    m = pramble.randomized_response(["a", "b"], 1.0)
    plan = dict.fromkeys(names, m)
    pramble.perturb_file(tmp_path / "in.parquet", tmp_path / "out.csv", plan, key=KEY)
    expected = pramble.perturb(table, plan, key=KEY).to_pydict()
    assert values(pl.read_csv(tmp_path / "out.csv").to_arrow()) == expected
