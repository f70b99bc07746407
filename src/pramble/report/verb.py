"""The public verb: a release with its two pages.

`pramble.releasing` lies below this layer and knows nothing of pages; it calls what it is given. So
the verb that users meet is joined here.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from pramble.releasing.opening import Release
from pramble.releasing.outcome import ReleaseOutcome
from pramble.releasing.release import release as release_without_pages

P = ParamSpec("P")


def write_pages(folder: Path, outcome: ReleaseOutcome) -> None:
    """Write report.html and summary.html; what draws them is imported only now."""
    from pramble.report.release_report import write_reports

    write_reports(folder, outcome)


def with_pages(verb: Callable[P, Release]) -> Callable[P, Release]:
    """Return the same verb, which writes both pages unless told otherwise."""

    @wraps(verb)
    def release(*args: P.args, **kwargs: P.kwargs) -> Release:
        kwargs.setdefault("write_reports", write_pages)
        return verb(*args, **kwargs)

    return release


release = with_pages(release_without_pages)
