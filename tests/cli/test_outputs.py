"""What a command will write is checked before it computes anything."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app
from pramble.plots.images import save

WAITING = """
import importlib, time
from pramble.cli import main
def scan_for(*_, **__):
    print("waiting", flush=True)
    time.sleep(60)
importlib.import_module("pramble.releasing.release").scan_for = scan_for
main()
"""
PEOPLE = "sex,age\n" + "f,young\nm,old\nf,old\n" * 50


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "file").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("design --alpha 1 --uniform 3 --out no/x.json", "'no'"),
        ("design --alpha 1 --uniform 3 --matrix no/x.csv", "'no'"),
        ("design --alpha 1 --uniform 3 --out .", "is a folder"),
        ("estimate out --by sex --plot no/x.svg", "'no'"),
        ("estimate out --by sex --plot x.foo", "'x.foo'"),
        ("calibrate people.csv --keys sex --column sex --at-most 1 --plan no/x.json", "'no'"),
        ("calibrate people.csv --keys sex --column sex --at-most 1 --plot x.foo", "'x.foo'"),
        ("synthesize out --out no/x.parquet", "'no'"),
        ("impute out --out file", "is no folder"),
        ("impute out --out file/x", "choose another place"),
        ("study --quick --out file/x", "choose another place"),
        ("demo --out file/x", "choose another place"),
        ("release people.csv --columns sex --alpha 1 --out file/x", "choose another place"),
        ("release people.csv --columns sex --alpha 1 --out out --key-file no/key", "'no'"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_at_once(folder, words, says, monkeypatch):
    monkeypatch.chdir(folder)
    answer = CliRunner().invoke(app, words.split())
    assert answer.exit_code == 2
    said = " ".join(answer.stderr.replace("│", " ").split())
    assert says in said
    assert "Traceback" not in said
    assert sorted(path.name for path in folder.iterdir()) == ["file", "people.csv"]


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_plots_of_every_kind_are_written_alike_every_time(tmp_path, kind):
    found = []
    for name in ("a", "b"):
        figure = pramble.randomized_response(["東京", "Paris"], 1.0).plot()
        save(figure, tmp_path / f"{name}.{kind}", name="matrix", description="a matrix")
        found.append((tmp_path / f"{name}.{kind}").read_bytes())
    assert found[0] == found[1]
    assert found[0].startswith({"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[kind])


@pytest.mark.skipif(os.name == "nt", reason="signals are sent to processes of Unix")
def test_an_interrupt_says_what_was_not_done(folder):
    words = ["release", "people.csv", "--columns", "sex,age", "--alpha", "1", "--out", "out"]
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "nothing was released, and nothing was spent" in said
    assert not Path(folder / "out").exists()
