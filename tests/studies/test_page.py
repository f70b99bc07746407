"""The page: self-contained, complete, every number from the run, and fit for a phone."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.studies.small import finished

from pramble_study.runner import NAMES, plain, write_csv, write_folder
from pramble_study.story import math_marks
from pramble_study.study import Column, Table

pytestmark = pytest.mark.xdist_group("study page")  # one worker makes what all need


class Outline(HTMLParser):
    """Counts elements and checks that they close in order."""

    void = frozenset({"meta", "br", "img"})

    def __init__(self):
        HTMLParser.__init__(self)
        self.open = []
        self.seen = {}

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("study")
    write_folder(tuple(finished(name) for name in NAMES), target, quick=True, seed=1)
    return target


def test_the_page_is_well_formed_and_shows_every_table_and_figure(folder):
    outline = Outline()
    outline.feed((folder / "index.html").read_text(encoding="utf-8"))
    assert outline.open == []
    runs = [finished(name) for name in NAMES]
    assert outline.seen["figure"] == sum(len(run.pictures) for run in runs)
    shown = [table for run in runs for table in run.tables if table.shown]
    assert outline.seen["table"] == len(shown)


def test_the_page_needs_no_network(folder):
    page = (folder / "index.html").read_text(encoding="utf-8")
    addresses = set(re.findall(r'(?:src|href)="([^"#][^"]*)"', page))
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert "<script" not in page
    assert set(re.findall(r"https?://[^\"' ]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_nothing_on_the_page_is_unfilled(folder):
    page = (folder / "index.html").read_text(encoding="utf-8")
    words = re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert not re.search(r"\bnan\b|\bNone\b|\{\{|\}\}|0x[0-9a-f]{6}", words)


def test_every_table_and_figure_is_a_file(folder):
    for run in map(finished, NAMES):
        for table in run.tables:
            lines = (folder / "tables" / f"{table.name}.csv").read_text("utf-8").splitlines()
            assert len(lines) == len(table.rows) + 1
        for picture in run.pictures:
            assert (folder / "figures" / f"{picture.name}.png").read_bytes()[:4] == b"\x89PNG"
            assert (folder / "figures" / f"{picture.name}.svg").read_text("utf-8")[:4] == "<svg"


def test_the_same_results_give_the_same_folder(tmp_path):
    pages = []
    for place in ("one", "other"):
        run = finished("gallery")
        drawn = replace(run, pictures=run.study.pictures(run.data))
        write_folder((drawn,), tmp_path / place, quick=True, seed=1)
        files = sorted((tmp_path / place).rglob("*.*"))
        pages.append([(file.name, file.read_bytes()) for file in files])
    assert pages[0] == pages[1]


def test_a_study_that_did_not_run_leaves_no_hole(tmp_path):
    write_folder((finished("errata"),), tmp_path, quick=False, seed=1)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "New York: sex" not in page
    assert "quick version" not in page


def test_csv_keeps_every_digit(tmp_path):
    table = Table("t", "", (Column("a", ".2f"), Column("b")), ((1 / 3, "x"), (float("inf"), 2)))
    write_csv(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8") == f"a,b\n{1 / 3!r},x\n,2\n"
    assert plain(float("nan")) == ""


def test_cells_are_written_as_their_column_says():
    column = Column("x", ".2f")
    assert [column.show(v) for v in (-1.234, None, float("inf"), "text")] == [
        "−1.23",
        "–",
        "∞",
        "text",
    ]


def test_formulas_are_marked_and_text_is_escaped():
    assert math_marks("v_−α < e^{2α}") == "v<sub>−α</sub> &lt; e<sup>2α</sup>"
    assert math_marks("e^2α, q_k/q_l") == "e<sup>2α</sup>, q<sub>k</sub>/q<sub>l</sub>"
    assert math_marks("new_york") == "new_york"


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_in_a_real_browser(folder, chromium, width):
    page = chromium.new_page(viewport={"width": width, "height": 900})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((folder / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    too_wide = page.evaluate(
        "[...document.querySelectorAll('.scroll')]"
        ".filter(box => box.scrollWidth > box.clientWidth + 1).length"
    )
    assert too_wide == 0
    heights = page.evaluate(
        "[...document.querySelectorAll('figure svg')]"
        ".map(svg => svg.getBoundingClientRect().height)"
    )
    assert min(heights) > 100
    assert said == []
    page.close()
