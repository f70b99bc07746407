"""The command line as a whole: help, exit codes, and the reference page."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from pramble.cli.app import VERBS, app
from pramble.cli.demo import fresh_folder

ROOT = Path(__file__).resolve().parents[2]


def pramble(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-c", "from pramble.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        env={**os.environ, "COLUMNS": "100", **environment},
    )


def test_the_reference_page_is_up_to_date():
    script = ROOT / "scripts" / "cli_reference.py"
    answer = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_every_verb_shows_examples(verb):
    assert "Examples" in (verb.__doc__ or "")
    assert f"pramble {verb.__name__.removesuffix('_')}" in verb.__doc__


def test_every_verb_is_a_command():
    assert set(typer.main.get_command(app).commands) == {
        verb.__name__.removesuffix("_") for verb in VERBS
    }


def test_wrong_usage_exits_with_2():
    assert pramble("nonsense").returncode == 2
    assert pramble("release").returncode == 2


@pytest.mark.parametrize(
    ("words", "known"),
    [
        ("estimate f --by a --method guess", ["mle", "inverse"]),
        ("estimate f --by a --covers all", ["both", "randomisation"]),
        ("design --alpha 1 --uniform 3 --family all", ["uniform", "general"]),
    ],
)
def test_a_word_that_an_option_does_not_know_is_answered_with_those_it_knows(words, known):
    answer = pramble(*words.split())
    assert answer.returncode == 2
    assert all(f"'{word}'" in answer.stderr for word in known)


def test_a_refusal_exits_with_1_and_one_sentence(tmp_path):
    missing = str(tmp_path / "missing.parquet")
    answer = pramble(
        "release",
        missing,
        "--out",
        str(tmp_path / "out"),
        "--columns",
        "sex",
        "--alpha",
        "1",
        "--no-ledger",
    )
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert "missing.parquet" in answer.stderr
    assert not (tmp_path / "out").exists()


def test_version_and_no_colour():
    answer = pramble("--version", NO_COLOR="1")
    assert answer.returncode == 0
    assert answer.stdout.startswith("pramble ")
    assert "\x1b[" not in pramble("--help", NO_COLOR="1").stdout


def test_the_demo_plays_both_parts(tmp_path):
    answer = pramble("demo", "--rows", "2000", "--out", "try", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "What an analyst recovers" in answer.stdout
    assert (tmp_path / "try" / "release-report.html").exists()
    (tmp_path / "try" / "stale.txt").write_text("of the demo before")
    fresh_folder(tmp_path / "try")
    assert sorted(path.name for path in (tmp_path / "try").iterdir()) == ["made-by-pramble-demo"]


def test_the_demo_spares_a_folder_it_did_not_make(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    answer = pramble("demo", "--rows", "1000", "--out", "mine", cwd=tmp_path)
    assert answer.returncode == 1
    assert "Name another with --out" in answer.stderr
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
