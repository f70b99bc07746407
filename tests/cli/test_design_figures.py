"""Figures of a design on the command line."""

import json
import sys

import pytest

from pramble.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")

    def command(*words):
        monkeypatch.setattr(sys, "argv", ["pramble", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), *capsys.readouterr()

    return command


def test_a_general_design_reports_its_figures(run):
    code, out, _ = run(
        "design", "--alpha", "1", "--prior", "0.4,0.3,0.2,0.1", "--family", "general", "--json"
    )
    assert code == 0
    assert {"rank", "condition_number", "estimation_variance"} <= set(json.loads(out)["figures"])
