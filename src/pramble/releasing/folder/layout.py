"""The files of a release folder: which there are, and whether they are what was stated."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from reprlib import repr as short
from typing import Any

import pyarrow as pa

from pramble.data.formats.base import NOTE, titled
from pramble.data.formats.registry import format_of
from pramble.data.remote import on_spark
from pramble.errors import InvalidData, InvalidPlan
from pramble.limits import MOST_PIECES
from pramble.values import frozen
from pramble.words import several

# The name of the randomised records without its ending, and of the folder of their pieces.
STEM = "randomised"
RANDOMISED_FILE = f"{STEM}.parquet"

# What each file of a release is for, as it says itself and in the manifest.
ABOUT_RANDOMISED = (
    "Randomised records: values were changed at random to protect people. Estimate from them; do "
    "not count them."
)
ABOUT_TABLES = (
    "Protected tables, one row for each cell: its labels, the protected count, the standard "
    "deviation of its noise, and the noisy part of it that its columns have together."
)
ABOUT_SYNTHETIC = (
    "Complete records drawn from the protected evidence alone: open and count these. They reveal "
    "nothing beyond it. They do not show their own errors: estimates and intervals come from the "
    "evidence."
)


def described(schema: Any, about: str, titles: Mapping[str, str] | None = None) -> Any:
    """Return a schema of a file that says of itself what it is, and what columns are called."""
    parts = [titled(part, titles.get(part.name)) for part in schema] if titles else schema
    return pa.schema(parts, {NOTE: about})


@frozen
class DataFile:
    """The file of randomised records, or its pieces of so many rows each."""

    rows: int
    rows_per_file: int | None = None

    def __post_init__(self) -> None:
        if self.rows_per_file is not None and self.rows > MOST_PIECES * self.rows_per_file:
            raise InvalidPlan(
                f"{several(self.rows, 'row')} in files of {self.rows_per_file:,} are more than "
                f"{MOST_PIECES:,} files; state a larger rows_per_file."
            )

    @property
    def name(self) -> str:
        return STEM if self.rows_per_file else RANDOMISED_FILE

    def __str__(self) -> str:
        if self.rows_per_file is None:
            return self.name
        return f"{several(len(self.files), 'file')} in {self.name}/"

    @property
    def files(self) -> list[str]:
        """The path of the file, or of each of its pieces.

        >>> DataFile(150_000, rows_per_file=131_072).files
        ['randomised/part-00000.parquet', 'randomised/part-00001.parquet']
        """
        if self.rows_per_file is None:
            return [self.name]
        pieces = max(-(-self.rows // self.rows_per_file), 1)
        return [piece_file(number) for number in range(pieces)]


def piece_file(number: int) -> str:
    """Return the path of a piece in the release folder: names sort as the pieces follow."""
    return f"{STEM}/part-{number:05d}.parquet"


MANIFEST = "manifest.json"
TABLES_FILE = "tables.parquet"
COMPLETE = "synthetic"
SYNTHETIC = f"{COMPLETE}.parquet"
SCRIPTS = ("analysis.R", "analysis.py")
CODEBOOK, SUMMARY = "codebook.xml", "summary.html"


def damaged(what: str) -> InvalidData:
    return InvalidData(f"{MANIFEST} is damaged: {what}")


def check_files(
    folder: Path,
    manifest: Mapping[str, Any],
    data: Mapping[str, Any],
    *,
    scripts: bool,
    spark: Any = None,
) -> None:
    """Refuse a folder whose data, copies or synthetic records are not what the manifest states.

    Scripts and codebook are checked where asked: analysts and archives may edit them. Pieces are
    read by tasks on Spark if a session is given.
    """
    copies = manifest.get("copies", [])
    files = [data, *([manifest["synthetic"]] if "synthetic" in manifest else []), *copies]
    patterns = (STEM, f"{STEM}.*", "tables.*", "synthetic.*")
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    refuse_unstated(folder, found, [stated["file"] for stated in files])
    for stated in files:
        path = folder / stated["file"]
        refuse_link(path.parent)
        if "pieces" in stated:
            check_pieces(folder, stated, rows=manifest["rows"], spark=spark)
            continue
        if format_of(path).name != stated["format"]:
            raise damaged(f"{path.name!r} is no {short(stated['format'])}.")
        check_content(folder, stated)
    # Somebody runs scripts: none may be changed, or not stated.
    own = {one["file"]: one for one in (*manifest.get("scripts", []), manifest["codebook"])}
    for name in (*SCRIPTS, CODEBOOK) if scripts else ():
        if name in own:
            check_content(folder, own[name], what="codebook" if name == CODEBOOK else "script")
        elif (folder / name).exists():
            raise InvalidData(f"The folder holds {name!r}, which its {MANIFEST} does not state.")


def check_pieces(folder: Path, stated: Mapping[str, Any], *, rows: int, spark: Any = None) -> None:
    pieces, place = stated["pieces"], folder / STEM
    refuse_link(place)
    names = [piece_file(number) for number in range(len(pieces))]
    sizes = [piece["rows"] for piece in pieces]
    as_stated = (
        [piece["file"] for piece in pieces] == names
        and bool(sizes)
        and {*sizes[:-1], max(sizes)} == {sizes[0]}
        and sum(sizes) == rows
        and sum(piece["bytes"] for piece in pieces) == stated["bytes"]
        and pieces_sha256(pieces) == stated["sha256"]
    )
    if not as_stated:
        raise damaged(f"the pieces of {stated['file']!r} do not make up the whole.")
    refuse_unstated(folder, place.glob("*"), names)
    if spark is not None:
        check = partial(check_content, folder.absolute())
        on_spark("map_items")(spark, check, [dict(one) for one in pieces])
        return
    for piece in pieces:
        check_content(folder, piece)


def pieces_sha256(pieces: Sequence[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of a data file in pieces: of their hexadecimal ones, one after another."""
    return sha256("".join(piece["sha256"] for piece in pieces).encode()).hexdigest()


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link in a release folder: it may lead out of it."""
    if path.is_symlink():
        raise InvalidData(f"{path.name!r} is a symbolic link; a release holds its own files.")


def refuse_unstated(folder: Path, found: Iterable[Path], stated: Collection[str]) -> None:
    """Refuse the first data file that the manifest does not state: nobody vouches for it."""
    others = {path.relative_to(folder).as_posix() for path in found} - set(stated)
    if others:
        raise InvalidData(
            f"The folder holds {min(others)!r}, which its {MANIFEST} does not state. Get the "
            "folder again, or move that file away."
        )


def check_content(folder: Path, stated: Mapping[str, Any], *, what: str = "data file") -> None:
    name = stated["file"]
    path = folder / name
    refuse_link(path)
    if not path.is_file():
        raise InvalidData(f"The release lacks its {what} {name!r}.")
    size, difference = path.stat().st_size, ""
    if size != stated["bytes"]:
        states = short(stated["bytes"])
        difference = f"it has {size:,} bytes, and the manifest states {states}"
    elif file_sha256(path) != stated["sha256"]:
        difference = "its SHA-256 differs from the manifest's"
    if difference:
        raise InvalidData(
            f"{name} is not the file that was released: {difference}. Get the folder again."
        )


def stated_file(folder: Path, name: str, form: str | None = None) -> dict[str, Any]:
    path = folder / name
    stated: dict[str, Any] = {"file": name} if form is None else {"file": name, "format": form}
    return {**stated, "bytes": path.stat().st_size, "sha256": file_sha256(path)}


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
