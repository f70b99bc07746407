"""The figures of the page of benchmarks have what the page needs, and it says what it should."""

import datetime as dt
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

measured = pytest.importorskip("measured", reason="needs the packages of the pages")


@pytest.fixture(params=measured.ORDER)
def claim(request):
    return json.loads((measured.RESULTS / f"{request.param}.json").read_text(encoding="utf-8"))


def test_a_claim_says_when_where_and_with_what(claim):
    assert dt.date.fromisoformat(claim["date"]) <= dt.datetime.now(dt.UTC).date()
    assert claim["command"].startswith("python -m bench ")
    assert claim["machine"]["cores"] >= 1
    assert claim["seconds"] > 0
    assert {"python", "pramble", "numpy"} <= set(claim["versions"])


def test_every_case_has_pramble_and_somebody_beside_it(claim):
    assert claim["tables"]
    for table in claim["tables"]:
        assert table["better"] in {"more", "less"}
        for case, figures in measured.cases(table).items():
            assert "pramble" in figures, case
            assert len(figures) > 1, case
            assert all(figure > 0 for figure in figures.values()), case


def test_curves_rise_along_something(claim):
    for curve in claim["curves"]:
        for points in curve["lines"].values():
            places = [place for place, _ in points]
            assert places == sorted(places)


MADE = {
    "title": "Made up",
    "better": "less",
    "unit": "seconds",
    "note": "Nothing.",
    "rows": [
        {"case": "one", "who": "pramble", "figure": 2.0},
        {"case": "one", "who": "other", "figure": 1.0},
        {"case": "one", "who": "slow", "figure": 8.0},
        {"case": "one", "who": measured.BOUNDS[1], "figure": 0.5},
    ],
}


def test_losses_are_found_and_a_bound_is_none():
    found = [(who, times) for *_, who, times in measured.losses([{"tables": [MADE]}])]
    assert found == [("other", 2.0)]


def test_a_table_shows_ratios_with_losses_in_bold():
    lines = "\n".join(measured.table_lines(MADE))
    assert "1 (**×\u00a00.5**)" in lines
    assert "8 (×\u00a04)" in lines
    assert "less is better" in lines


def test_the_page_tells_the_date():
    text = measured.Benchmarks.about(
        None,
        {
            "date": "2026-01-02",
            "command": "python -m bench x",
            "seconds": 3.0,
            "machine": {"cores": 2, "processor": "p", "system": "s", "load": 0.1},
            "versions": {"python": "3.11"},
        },
    )
    assert "2026-01-02" in text
    assert "python 3.11" in text
