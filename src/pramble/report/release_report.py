"""The two pages of a release: one for the curator, one that may be published."""

from pathlib import Path

from pramble.plots.pages import page_environment
from pramble.report.outcome import ReleaseOutcome
from pramble.report.release_view import release_view

REPORT, SUMMARY = "report.html", "summary.html"


def write_reports(folder: Path, outcome: ReleaseOutcome) -> None:
    """Write both pages into a folder; the summary is drawn from what holds no raw figure."""
    template = page_environment("pramble.report").get_template("release.html")
    for name, shown, raw in (
        (REPORT, outcome, True),
        (SUMMARY, outcome.without_raw(), False),
    ):
        page = template.render(release_view(shown, raw=raw))
        (folder / name).write_text(page, encoding="utf-8")
