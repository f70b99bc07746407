"""Which columns of a release are written as numbers, from the settings of a plan."""

from collections.abc import Mapping, Sequence
from typing import Any

from pramble.data.points import Points
from pramble.data.recode import Bands, as_bands
from pramble.errors import InvalidPlan
from pramble.releasing.spec.column import BAND, ColumnSpec


def points_of(columns: Sequence[ColumnSpec]) -> dict[str, Points]:
    """Return how bands are written as numbers, for the columns whose plan says so."""
    return {column.name: points_in(column) for column in columns if column.release_as != BAND}


def points_in(column: ColumnSpec) -> Points:
    """Return how one column of bands is written as numbers; refuse one that cannot be."""
    where = f'Column {column.name!r} with release_as = "{column.release_as}"'
    recode = column.recode
    found = None if "bands" not in recode else as_bands(recode["bands"])
    if not isinstance(found, Bands) or "merge" in recode:
        raise InvalidPlan(f"{where} must have bands of numbers, and none that are merged.")
    end = end_of(recode)
    if end is None or end <= found.edges[-1]:
        raise InvalidPlan(
            f"{where} must say where its last band ends: high = a number above "
            f"{found.edges[-1]:g}. Numbers beyond it count with that band."
        )
    if column.missing not in (None, True):
        raise InvalidPlan(
            f"{where} has numbers only; its empty cells stay empty with missing = true."
        )
    return Points(column.release_as, found.labels, (*found.edges, end))


def end_of(recode: Mapping[str, Any]) -> float | None:
    """Return where the last band ends, where that is stated."""
    if "high" in recode:
        return float(recode["high"])
    stated = recode["bands"]
    return float(stated["to"]) if isinstance(stated, Mapping) else None
