"""Write the two pages of a release: ``report.html`` for the curator, ``summary.html`` for everyone."""

from pathlib import Path

from pramble.releasing.outcome import ReleaseOutcome
from pramble.report.page import render
from pramble.report.release_view import release_view

REPORT, SUMMARY = "report.html", "summary.html"


def write_reports(folder: Path, outcome: ReleaseOutcome) -> None:
    """Write both pages into a folder; the summary is drawn from what holds no raw figure."""
    for name, shown, raw in (
        (REPORT, outcome, True),
        (SUMMARY, outcome.without_raw(), False),
    ):
        page = render("release.html", release_view(shown, raw=raw))
        (folder / name).write_text(page, encoding="utf-8")
