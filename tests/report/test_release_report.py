"""The two pages of a release: what they show, what they must not, how they fit a browser."""

import dataclasses
import math
import re
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

import pramble
from pramble.information.accuracy import TableOutcome, verdict_of
from pramble.numbers import share_text
from pramble.outcome import (
    Check,
    ColumnOutcome,
    ReleaseOutcome,
    RiskOutcome,
)
from pramble.privacy.promise import LocalPromise
from pramble.privacy.unit import Unit
from pramble.report.pages import report_page, summary_page

CANARY = 314_159_265
"""A raw count that must not reach the summary."""


def column(name="SEX", categories=("f", "m"), alpha=0.98, source="private"):
    size = len(categories)
    mechanism = pramble.randomized_response(categories, alpha)
    prior = np.arange(1, size + 1) / (size * (size + 1) / 2)
    estimate = tuple(prior)
    return ColumnOutcome(
        name=name,
        categories=tuple(categories),
        mechanism=mechanism,
        certificate=pramble.certify(mechanism),
        family="uniform",
        objective="information",
        invariant=False,
        alpha=alpha,
        alpha_prior=0.02,
        prior=tuple(prior),
        prior_source=source,
        prior_detail="noisy histogram",
        entropy=pramble.entropy(prior),
        information=pramble.mutual_information(prior, mechanism),
        information_bound=pramble.information_bound(alpha),
        estimation_variance=pramble.estimation_variance(prior, mechanism),
        change_expected=0.25,
        change_observed=0.271828,
        before=(CANARY, *range(1, size)),
        after=tuple(range(10, 10 + size)),
        estimate=estimate,
        lower=tuple(0.9 * value for value in estimate),
        upper=tuple(1.1 * value for value in estimate),
    )


def outcome(*columns, **changes):
    whole = ReleaseOutcome(
        source="secret-file.parquet",
        rows=1000,
        columns=columns or (column(),),
        untouched=("AGE",),
        unit=Unit(),
        dropped=("NAME",),
        spent=LocalPromise(Fraction(1)),
        limit=LocalPromise(Fraction(1)),
        warnings=("Mind the gap.",),
        checks=(Check("rows", passed=True, detail="1000 in and out"),),
        risk=RiskOutcome(("SEX", "AGE"), "two-way", 20_000, 12, 1.5, 4.5, 0.1, 0.2),
        ledger_total=LocalPromise(Fraction(2)),
        data_file="randomised.parquet",
        data_bytes=12_345,
        seconds=1.0,
        plan="alpha = 1",
        version="0.1.0",
        created="2026-01-01T00:00:00Z",
    )
    return dataclasses.replace(whole, **changes)


def write_pages(folder, value):
    (folder / "report.html").write_text(report_page(value))
    (folder / "summary.html").write_text(summary_page(value))


def pages(folder, value):
    write_pages(folder, value)
    return (folder / "report.html").read_text(), (folder / "summary.html").read_text()


class Outside(HTMLParser):
    """Collects whatever a page would fetch or run."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in {"script", "link", "iframe", "img", "object", "embed"}:
            self.found.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "xlink:href"} and not (value or "").startswith("#"):
                self.found.append(value)
            if name.startswith("on"):
                self.found.append(name)


def test_pages_fetch_and_run_nothing(tmp_path):
    for page in pages(tmp_path, outcome()):
        parser = Outside()
        parser.feed(page)
        assert parser.found == []


def test_the_curators_page_says_so_and_shows_raw_figures(tmp_path):
    report, _ = pages(tmp_path, outcome())
    assert "For the curator only" in report
    assert "this page belong together" not in report
    assert "This page stays with the curator" in report
    assert "27.2%" in report
    assert "secret-file.parquet" in report
    assert "right matches expected" in report
    assert "Keys: SEX, AGE." in report
    assert "built-in" not in report


def test_the_summary_has_no_raw_figure(tmp_path):
    _, summary = pages(tmp_path, outcome())
    assert "may be published" in summary
    for raw in ("27.2%", "secret-file", "Mind the gap", "in the file", "right matches"):
        assert raw not in summary
    assert str(CANARY) not in summary.replace(",", "")


def test_a_confidential_prior_leaves_no_figures_in_the_summary(tmp_path):
    confidential = column(source="confidential")
    report, summary = pages(tmp_path, outcome(confidential))
    for figure in (share_text(confidential.retained), share_text(confidential.share), "25.0%"):
        assert figure in report
        assert figure not in summary
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", summary, flags=re.DOTALL).lower()
    published = confidential.without_raw()
    at_the_prior = ("entropy", "information", "information_bound", "change_expected")
    assert all(math.isnan(getattr(published, name)) for name in at_the_prior)


TABLES = (
    TableOutcome(("SEX",), 2, 0.5, 1000, wanted=False),
    TableOutcome(("SEX", "AGE"), 10, 1.0, 1000),
    TableOutcome(("SEX", "COUNTY"), 200, 400.0, 1000),
)


def test_a_verdict_says_what_the_tables_are_good_for_and_what_not():
    good = verdict_of(TABLES)
    error = math.sqrt(0.5 / 2000)
    assert TABLES[0].error == pytest.approx(error)
    assert good.good.startswith(
        f"Good for single columns down to groups of about {4000 * 0.98 * error:.0f}"
    )
    assert "1 of the 2 two-way tables" in good.good
    assert good.bad.startswith("Not for SEX × COUNTY: the interval of a typical cell is wider")
    noise = verdict_of(TABLES[2:])
    assert noise.is_noise
    assert noise.bad.startswith("Not for two-way tables")
    lost = TableOutcome(("a",), 3, math.inf, 1000)
    assert verdict_of([lost]).headline == "none"
    assert lost.text == "cannot be told"


def test_both_pages_lead_with_what_tables_are_worth(tmp_path):
    for page in pages(tmp_path, outcome(tables=TABLES)):
        start = page[: page.index("Details</h1>")]
        assert "What it is good for" in start
        assert f"{TABLES[1].text}</td>" in start
        assert "cannot" not in start
    for page in pages(tmp_path, outcome(tables=TABLES[2:])):
        assert "Nothing useful is left." in page


def test_a_matrix_that_is_not_drawn_is_said_not_to_be(tmp_path):
    report, _ = pages(tmp_path, outcome(column(categories=range(50))))
    assert "50 × 50 entries, too many to draw" in report


def test_labels_cannot_break_out_of_the_page(tmp_path):
    evil = "</text></svg><script>alert(1)</script>"
    for page in pages(tmp_path, outcome(column(name=evil, categories=(evil, "b", None)))):
        assert "<script" not in page
        assert "(missing)" in page


def test_many_categories_are_cut_with_care(tmp_path):
    large = column(name="PUMA", categories=tuple(f"area {i}" for i in range(60)))
    report, _ = pages(tmp_path, outcome(large))
    assert "area 59" in report
    assert "Each row is a true value" not in report


def test_a_dry_run_has_no_released_counts(tmp_path):
    dry = dataclasses.replace(
        column(), before=None, after=None, estimate=None, lower=None, upper=None
    )
    report, _ = pages(tmp_path, outcome(dry, dry_run=True, checks=(), risk=None))
    assert "dry run" in report
    assert "What an analyst gets back" not in report


def test_ids_are_unique(tmp_path):
    report, _ = pages(tmp_path, outcome(column("a b"), column("a-b"), column("c")))
    ids = re.findall(r'\bid="([^"]+)"', report)
    assert len(ids) == len(set(ids))


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
def test_pages_fit_the_window_of_a_real_browser(tmp_path, chromium, width):
    long = tuple(f"a rather long name of category {i}" for i in range(11))
    pages(tmp_path, outcome(column(), column("EDUC", long)))
    page = chromium.new_page(viewport={"width": width, "height": 900})
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda request: problems.append(request.url))
    for name in ("report.html", "summary.html"):
        address = (tmp_path / name).as_uri()
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("svg").count() >= 3
        problems = [problem for problem in problems if problem != address]
    page.close()
    assert problems == []
