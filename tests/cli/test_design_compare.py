"""The comparison on the command line."""

import json
import sys

import pytest

from pramble.cli import main

WORDS = ["design", "--alpha", "1", "--prior", "0.4,0.3,0.2,0.1", "--compare"]


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


def test_tables_and_a_figure(run, tmp_path):
    target = tmp_path / "tradeoff.svg"
    code, out, _ = run(*WORDS, "--plot", target)
    assert code == 0
    assert "randomised response" in out
    assert "variance of the shares" in out
    assert target.read_text(encoding="utf-8").startswith("<svg")


def test_the_data_as_json(run):
    code, out, _ = run(*WORDS, "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["information"]["alpha"] == [0.25, 0.5, 1.0, 2.0, 4.0]
    general, ceiling = answer["information"]["general"], answer["information"]["ceiling"]
    assert all(one <= other for one, other in zip(general, ceiling, strict=True))
    assert len(answer["pareto"]["information"]) == len(answer["pareto"]["variance"])


def test_a_plot_needs_the_comparison(run):
    code, _, err = run("design", "--alpha", "1", "--prior", "0.5,0.5", "--plot", "x.svg")
    assert code == 2
    assert "--compare" in err


def test_a_general_design_reports_its_figures(run):
    code, out, _ = run(
        "design", "--alpha", "1", "--prior", "0.4,0.3,0.2,0.1", "--family", "general", "--json"
    )
    assert code == 0
    assert {"rank", "condition_number", "estimation_variance"} <= set(json.loads(out)["figures"])
