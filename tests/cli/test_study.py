"""``pramble study``: a folder with a page, word of progress on standard error."""

import sys

import pytest

from pramble.cli.app import run


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["pramble", *arguments])
    with pytest.raises(SystemExit) as ended:
        run()
    return ended.value.code


def test_a_named_study_makes_a_folder(tmp_path, monkeypatch, capsys):
    target = tmp_path / "made" / "here"
    code = call(
        *(monkeypatch, "study", "errata", "--quick", "--workers", "1"),
        *("--out", str(target)),
    )
    assert code == 0
    said = capsys.readouterr()
    assert "index.html" in said.out.replace("\n", "")
    assert "Studies done: 1" in said.err
    assert (target / "index.html").exists()
    assert (target / "tables" / "errata-vertices.csv").exists()
    assert '"seed": 1' in (target / "study.json").read_text("utf-8")


def test_an_unknown_study_is_a_usage_error(tmp_path, monkeypatch, capsys):
    assert call(monkeypatch, "study", "nothing", "--out", str(tmp_path / "x")) == 2
    assert "nothing" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
