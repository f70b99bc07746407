"""What the manifest says of bands that are written as numbers, and reading it again."""

from collections.abc import Mapping
from typing import Any

from pramble.data.points import Points
from pramble.errors import InvalidData, InvalidInput
from pramble.releasing.folder.files import MANIFEST

WRITTEN_AS = {
    "midpoint": "the middle of the band that was drawn for the record.",
    "point": "a number drawn evenly within the band that was drawn for the record.",
}


def written_note(name: str, points: Points) -> str:
    """Say how a column is written."""
    return f"{name} is written as {WRITTEN_AS[points.kind]}"


def points_entry(points: Points) -> dict[str, Any]:
    """Return how bands are written as numbers."""
    return {"kind": points.kind, "bands": list(points.labels), "edges": list(points.edges)}


def points_in(manifest: Mapping[str, Any]) -> dict[str, Points]:
    """Return the columns whose bands are written as numbers."""
    found = {}
    for column in manifest["columns"]:
        stated = column.get("released_as")
        if stated is not None:
            try:
                own = Points(stated["kind"], stated["bands"], stated["edges"])
                assert own.bands, "its edges are checked"
            except InvalidInput as error:
                raise InvalidData(f"{MANIFEST} is damaged: {error}") from None
            found[column["name"]] = own
    return found
