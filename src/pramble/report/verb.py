"""``pramble.release``: the release of the layer below, with its two pages."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pramble.releasing.release import release as release_without_pages

P = ParamSpec("P")
R = TypeVar("R")


def with_pages(run: Callable[P, R]) -> Callable[P, R]:
    """Return the same verb, writing ``report.html`` and ``summary.html`` unless told otherwise."""

    @wraps(run)
    def verb(*args: P.args, **options: P.kwargs) -> R:
        from pramble.report.release_report import write_reports

        filled: dict[str, Any] = {"write_reports": write_reports, **options}
        return run(*args, **filled)

    return verb


release = with_pages(release_without_pages)
