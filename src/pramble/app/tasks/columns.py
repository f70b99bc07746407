"""Counting the categories of columns."""

from pathlib import Path
from typing import Any

from pramble.releasing.prepare.count import Counted, count_each
from pramble.releasing.prepare.repair import source_records
from pramble.releasing.spec.parse import spec_from
from pramble.values import Clock, Watcher, value


@value
class Categories:
    """A column's categories with their counts; or why its values do not fit them."""

    labels: tuple[Any, ...] = ()
    counts: tuple[int, ...] = ()
    error: str = ""
    values: str = ""


def count(
    path: Path, document: dict[str, Any], *, progress: Watcher | None = None
) -> dict[str, Categories]:
    """Count every randomised column of a plan in one scan, each for itself."""
    spec = spec_from(document)
    found = count_each(source_records(path, spec), spec.columns, clock=Clock(progress))
    return {
        name: Categories(own.labels, own.counts)
        if isinstance(own, Counted)
        else Categories(error=str(own), values=own.values)
        for name, own in found.items()
    }
