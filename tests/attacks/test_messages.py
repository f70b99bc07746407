"""Whatever is wrong with a file, no message tells what it holds; nothing steers a terminal."""

import gzip
import io
import os
import pickle
import pty
import subprocess
import sys
import traceback

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pramble
from pramble.cli import app, console

SECRET = "Zsecretz"
N = 40
LABELS = {"sex": ["f", "m"], "age": [1, 2, 3], "town": ["x", "y"]}


def columns(bad, value=SECRET):
    """Columns of people, with a bad cell in one of them."""
    table = {name: (labels * N)[:N] for name, labels in LABELS.items()}
    if bad in table:
        table[bad] = [*map(str, table[bad])]
        table[bad][7] = value
    return table


def csv_bytes(table, *, separator=","):
    lines = [
        separator.join(table),
        *(separator.join(map(str, r)) for r in zip(*table.values(), strict=True)),
    ]
    return "\n".join(lines).encode() + b"\n"


def broken_csv():
    whole = csv_bytes(columns("town"))
    lines = whole.split(b"\n")
    yield "short.csv", b"\n".join([*lines[:9], SECRET.encode(), *lines[9:]])
    yield "long.csv", b"\n".join([*lines[:9], b"f,1,x," + SECRET.encode(), *lines[9:]])
    yield "quote.csv", b"\n".join([*lines[:9], b'f,"1,x ' + SECRET.encode(), *lines[9:]])
    yield "latin.csv", whole.replace(b"x", b"\xff")
    yield "nul.csv", whole.replace(b"x", b"\x00")
    yield "nameless.csv", b"\n".join([f"{SECRET},1,{SECRET}".encode(), *lines[1:]])
    yield "record.csv", b"\n".join([f"{SECRET},1,x".encode(), *lines[1:]])
    yield "semicolon.csv", b"sex,age,town\n" + csv_bytes(columns("town"), separator=";")
    yield "semicolons.csv", csv_bytes(columns("town"), separator=";")
    yield "mixed.csv", whole + csv_bytes(columns("town"), separator=";")
    yield "cut.csv.gz", gzip.compress(whole)[:-9]
    yield "plain.csv.gz", whole
    yield "text.parquet", whole
    yield "text.arrow", whole
    yield "text.xlsx", whole
    yield "text.dta", whole
    yield "text.sav", whole
    yield "text.sas7bdat", whole


def written(folder):
    """Files of every format with an undeclared value, text among numbers, and broken ones."""
    for bad in LABELS:
        table = pa.table(columns(bad))
        frame = table.to_pandas()
        pq.write_table(table, folder / f"{bad}.parquet")
        feather.write_feather(table, folder / f"{bad}.arrow", compression="uncompressed")
        pacsv.write_csv(table, folder / f"{bad}.csv")
        (folder / f"{bad}.tsv").write_bytes(csv_bytes(columns(bad), separator="\t"))
        pyreadstat.write_dta(frame, str(folder / f"{bad}.dta"))
        pyreadstat.write_sav(frame, str(folder / f"{bad}.sav"))
        pyreadstat.write_xport(frame, str(folder / f"{bad}.xpt"))
        mixed = columns("")
        mixed[bad][7] = SECRET
        book = openpyxl.Workbook()
        for row in [list(mixed), *zip(*mixed.values(), strict=True)]:
            book.active.append(row)
        book.save(folder / f"{bad}.xlsx")
    for name, content in broken_csv():
        (folder / name).write_bytes(content)
    pq.write_table(pa.table(columns("")), folder / "good.parquet")


PLAN = """alpha = 1.0
[columns.sex]
categories = ["f", "m"]
[columns.age]
categories = [1, 2, 3]
[columns.town]
categories = ["x", "y"]
"""
BANDS = PLAN.replace("categories = [1, 2, 3]", "bands = [0, 2]\nhigh = 3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("messages")
    written(made)
    (made / "plan.toml").write_text(PLAN)
    (made / "bands.toml").write_text(BANDS)
    return made


def names():
    formats = ("parquet", "arrow", "csv", "tsv", "dta", "sav", "xpt", "xlsx")
    return [f"{bad}.{end}" for bad in LABELS for end in formats] + [n for n, _ in broken_csv()]


def run(capsys, monkeypatch, *arguments):
    """Run a command in this process; return its code and all it printed."""
    monkeypatch.setattr(sys, "argv", ["pramble", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\nn\nn\nn\n"))
    monkeypatch.setattr(console, "VERBOSITY", console.Verbosity())
    with pytest.raises(SystemExit) as left:
        app.run()
    told = capsys.readouterr()
    return left.value.code or 0, told.out + told.err


COMMANDS = [
    ("release", "FILE", "--out", "OUT", "--plan", "plan.toml", "--no-ledger"),
    ("release", "FILE", "--dry-run", "--plan", "bands.toml", "--no-ledger"),
    ("release", "FILE", "--dry-run", "--columns", "sex,age", "--alpha", "1", "--no-ledger"),
    ("assess", "FILE", "--keys", "sex,age,town", "--model", "none"),
    ("assess", "FILE", "--keys", "sex,town", "--weights", "age", "--model", "none"),
    ("assess", "FILE", "--keys", "sex,town", "--model", "none", "--impossible", "sex=f|m,town=x"),
    ("calibrate", "FILE", "--keys", "sex,town", "--column", "nothing", "--at-most", "9"),
    ("init", "FILE", "--out", "OUT.toml"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command[:1]))
@pytest.mark.parametrize("name", names())
def test_no_command_tells_what_a_bad_cell_holds(
    folder, name, command, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(folder)
    out = str(tmp_path / "out")
    given_ = [part.replace("FILE", name).replace("OUT", out) for part in command]
    code, told = run(capsys, monkeypatch, *given_)
    if (name, command[0]) != ("record.csv", "init"):  # its first record stands for names
        assert SECRET not in told
    assert "please report" not in told
    assert code in (0, 1)


def test_values_are_shown_when_asked_for(folder, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    rest = ("release", "town.csv", "--plan", "plan.toml", "--no-ledger", "--out", tmp_path / "o")
    code, told = run(capsys, monkeypatch, *rest)
    assert code == 1
    assert "Column 'town'" in told
    assert "--show-values" in told
    code, told = run(capsys, monkeypatch, "--show-values", *rest)
    assert code == 1
    assert SECRET in told


def test_an_unexpected_error_does_not_show_its_message(folder, capsys, monkeypatch):
    def fail(*_, **__):
        pa.array([SECRET]).cast(pa.int64())

    monkeypatch.chdir(folder)
    monkeypatch.setattr(pramble, "assess", fail)
    code, told = run(capsys, monkeypatch, "assess", "good.parquet", "--keys", "sex")
    assert code == 1
    assert "unexpected ArrowInvalid" in told
    assert SECRET not in told


def doors(table):
    """The verbs that take a frame, with bad cells."""
    m = {name: pramble.randomized_response(labels, 1.0) for name, labels in LABELS.items()}
    yield lambda: pramble.perturb(table, m)
    yield lambda: pramble.perturb(table, m, row_number="age")
    yield lambda: pramble.estimate(table, m, by=["sex", "age", "town"])
    yield lambda: pramble.assess(table, keys=["sex", "town"], weights="age", model="none")
    rules = [{"town": SECRET}, {"sex": "f", "age": "1"}]
    yield lambda: pramble.assess(table, keys=list(LABELS), impossible=rules, model="none")


strange = st.sampled_from([SECRET, f"1{SECRET}", f"{SECRET},1", f"\x1b{SECRET}", f"{SECRET}\n"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bad=st.sampled_from(list(LABELS)), value=strange, kind=st.integers(0, 3))
def test_no_error_of_the_library_tells_what_a_bad_cell_holds(bad, value, kind):
    made = columns(bad, value)
    table = [pa.table(made), pd.DataFrame(made), made, {**made, "age": [*range(39), value]}][kind]
    for door in doors(table):
        told = ""
        try:
            door()
        except pramble.PrambleError as error:
            told = "".join(traceback.format_exception(error))
        frames_aside = "\n".join(line for line in told.splitlines() if not line.startswith("    "))
        assert SECRET not in frames_aside


def test_errors_keep_their_values_when_pickled():
    with pytest.raises(pramble.InvalidData) as caught:
        pramble.perturb(["f", SECRET], pramble.randomized_response(["f", "m"], 1.0))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert SECRET in again.values


HOSTILE = ["\x1b[31mred\x1b[0m", "\x9b31m", "\u202eevil", "bell\x07", "[bold]b[/bold]", "\x7f"]
RAW = "\x1b\x9b\u202e\x07\x7f"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    made = tmp_path_factory.mktemp("hostile")
    labels = HOSTILE
    column = "c\x1b]0;owned\x07"
    table = pa.table({column: labels * 20, "other": ["\u2066x", "y\x85"] * 60})
    name = "people\x1b[2J.parquet"
    pq.write_table(table, made / name)
    pq.write_table(table, made / "people.parquet")
    out = made / "out\x1b[1m"
    pramble.release(
        made / name,
        out,
        columns=[column, "other"],
        alpha=3.0,
        ledger=False,
        pages=False,
        design="paper",
    )
    return made, name, column


def test_no_label_or_file_name_steers_the_terminal(hostile):
    folder, name, column = hostile
    commands = [
        ("release", name, "--dry-run", "--columns", column, "--alpha", "1", "--no-ledger"),
        ("release", name, "--dry-run", "--columns", "no\x1b[1m", "--alpha", "1", "--no-ledger"),
        ("release", "no\x1b[1m.csv", "--dry-run", "--columns", "a", "--alpha", "1"),
        ("release", name, "--out", "new\x1b[1m", "--columns", column, "--alpha", "1"),
        ("ledger",),
        ("ledger", "--json"),
        ("init", name, "--out", "plan.toml"),
        ("init", "people.parquet", "--out", "plan\x1b[1m.toml", "--accept-seen"),
        ("estimate", "out\x1b[1m", "--by", column),
        ("estimate", "out\x1b[1m", "--by", column, "--json"),
        ("estimate", "out\x1b[1m", "--by", "no\x1b[1m"),
        ("certify", "out\x1b[1m"),
        ("certify", "no\x1b[1m.json"),
        ("assess", name, "--keys", f"{column},other", "--model", "none", "--riskiest", "2"),
        ("assess", name, "--keys", "no\x1b[1m"),
        ("design", "--from", name, "--column", column, "--alpha", "1"),
        ("design", "--alpha", "\x1b[1mone"),
        ("no\x1b[1msuch",),
        ("estimate", "out", "--by", "a", "extra\x1b[1m"),
    ]
    environment = {**os.environ, "NO_COLOR": "1", "XDG_DATA_HOME": str(folder / "home")}
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-c", "from pramble.cli import main; main()", *command],
            capture_output=True,
            cwd=folder,
            check=False,
            input=b"",
            env=environment,
        )
        told = (done.stdout + done.stderr).decode()
        assert not set(RAW) & set(told), (command, told)
        assert not {"\u2066", "\x85"} & set(told), command
        assert "Traceback" not in told
        assert "please report" not in told, (command, told)


def test_csv_is_itself_in_a_file_and_visible_in_a_terminal(hostile):
    folder, _, column = hostile
    command = [
        sys.executable, "-c", "from pramble.cli import main; main()",
        "estimate", "out\x1b[1m", "--by", column, "--csv",
    ]  # fmt: skip
    piped = subprocess.run(command, capture_output=True, cwd=folder, check=True)
    assert b"\x1b[31mred" in piped.stdout
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, stderr=theirs, cwd=folder, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert b"\x1b[31mred" not in shown
    assert rb"\x1b[31mred" in shown
