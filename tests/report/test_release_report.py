"""The curator's report of a release: what it shows, and how it fits a browser."""

import dataclasses
import math
import re
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

import pramble
from pramble.information.accuracy import TableOutcome, verdict_of
from pramble.outcome import (
    Check,
    ColumnOutcome,
    ReleaseOutcome,
    RiskOutcome,
)
from pramble.privacy.promise import LocalPromise
from pramble.privacy.unit import Unit
from pramble.report.pages import report_page

COUNTED = 314_159_265  # a raw count


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
        before=(COUNTED, *range(1, size)),
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


def test_the_report_fetches_and_runs_nothing():
    parser = Outside()
    parser.feed(report_page(outcome()))
    assert parser.found == []


def test_the_curators_page_says_so_and_shows_raw_figures():
    report = report_page(outcome())
    assert "For the curator only" in report
    assert "this page belong together" not in report
    assert "This page stays with the curator" in report
    assert "27.2 %" in report
    assert "secret-file.parquet" in report
    assert "right matches expected" in report
    assert "Keys: SEX, AGE." in report
    assert "built-in" not in report


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


def test_the_report_leads_with_what_tables_are_good_for():
    page = report_page(outcome(tables=TABLES))
    start = page[: page.index("Details</h1>")]
    assert "What it is good for" in start
    assert f"{TABLES[1].text}</td>" in start
    assert "cannot" not in start
    assert "Nothing useful is left." in report_page(outcome(tables=TABLES[2:]))


def test_a_matrix_that_is_not_drawn_is_said_not_to_be():
    report = report_page(outcome(column(categories=range(50))))
    assert "50 × 50 entries, too many to draw" in report


def test_labels_cannot_break_out_of_the_page():
    evil = "</text></svg><script>alert(1)</script>"
    page = report_page(outcome(column(name=evil, categories=(evil, "b", None))))
    assert "<script" not in page
    assert "(missing)" in page


def test_many_categories_are_cut_with_care():
    large = column(name="PUMA", categories=tuple(f"area {i}" for i in range(60)))
    report = report_page(outcome(large))
    assert "area 59" in report
    assert "Each row is a true value" not in report


def test_a_dry_run_has_no_released_counts():
    dry = dataclasses.replace(
        column(), before=None, after=None, estimate=None, lower=None, upper=None
    )
    report = report_page(outcome(dry, dry_run=True, checks=(), risk=None))
    assert "dry run" in report
    assert "What an analyst gets back" not in report


def test_ids_are_unique():
    report = report_page(outcome(column("a b"), column("a-b"), column("c")))
    ids = re.findall(r'\bid="([^"]+)"', report)
    assert len(ids) == len(set(ids))


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1200])
def test_the_report_fits_the_window_of_a_real_browser(tmp_path, chromium, width):
    long = tuple(f"a rather long name of category {i}" for i in range(11))
    address = tmp_path / "report.html"
    address.write_text(report_page(outcome(column(), column("EDUC", long))))
    page = chromium.new_page(viewport={"width": width, "height": 900})
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("request", lambda request: problems.append(request.url))
    page.goto(address.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg").count() >= 3
    page.close()
    assert problems == [address.as_uri()]
