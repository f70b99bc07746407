"""The files of a release folder: which there are, and whether they are what was stated."""

from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from reprlib import repr as short
from typing import Any

from pramble.data.formats.registry import FORMATS, format_of
from pramble.data.remote import on_spark
from pramble.errors import InvalidData, InvalidPlan
from pramble.limits import MOST_PIECES
from pramble.values import value
from pramble.words import several

STEM = "data"
"""The name of the data file without its ending, and of the folder of its pieces."""


@value
class DataFile:
    """The data file of a release.

    Attributes
    ----------
    ending : str
        The ending of the file, or of its pieces.
    rows : int
        How many rows it has.
    rows_per_file : int or None
        How many rows each piece has; None for a single file.
    """

    ending: str
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
        """Name in the release folder: of the file, or of the folder of its pieces."""
        return STEM if self.rows_per_file else f"{STEM}{self.ending}"

    @property
    def files(self) -> list[str]:
        """The path of the file, or of each of its pieces.

        >>> DataFile(".csv", 150_000, rows_per_file=131_072).files
        ['data/part-00000.csv', 'data/part-00001.csv']
        """
        if self.rows_per_file is None:
            return [self.name]
        pieces = max(-(-self.rows // self.rows_per_file), 1)
        return [piece_file(number, self.ending) for number in range(pieces)]


def piece_file(number: int, ending: str) -> str:
    """Return the path of a piece in the release folder: names sort as the pieces follow."""
    return f"{STEM}/part-{number:05d}{ending}"


MANIFEST = "manifest.json"
SCRIPTS = ("analysis.R", "analysis.py")


def check_files(
    folder: Path,
    manifest: Mapping[str, Any],
    data: Mapping[str, Any],
    *,
    scripts: bool,
    spark: Any = None,
) -> None:
    """Refuse a folder whose data, copies or synthetic records are not what the manifest states.

    Scripts are checked where asked: analysts may edit them. Pieces are read by tasks on Spark if a
    session is given.
    """
    copies = manifest.get("copies", [])
    files = [data, *([manifest["synthetic"]] if "synthetic" in manifest else [])]
    refuse_others(folder, [stated["file"] for stated in (*files, *copies)])
    for stated in (*files, *copies):
        path = folder / stated["file"]
        refuse_link(path.parent)
        if "pieces" in stated:
            check_pieces(folder, stated, rows=manifest["rows"], spark=spark)
            continue
        check_format(path, stated, copy=stated in copies)
        check_content(path, stated)
    if scripts:
        check_scripts(folder, manifest)


def check_pieces(folder: Path, stated: Mapping[str, Any], *, rows: int, spark: Any = None) -> None:
    """Refuse a folder of pieces that are not, one by one, what the manifest states."""
    pieces, place = stated["pieces"], folder / STEM
    refuse_link(place)
    ending = ending_of(stated["format"])
    names = [piece_file(number, ending) for number in range(len(pieces))]
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
        raise InvalidData(
            f"{MANIFEST} is damaged: the pieces of {stated['file']!r} do not make up the whole."
        )
    found = sorted(path.relative_to(folder).as_posix() for path in place.glob("*"))
    refuse_unstated(found, names)
    if spark is not None:
        check = partial(check_piece, folder.absolute())
        on_spark("map_items")(spark, check, [dict(one) for one in pieces])
        return
    for piece in pieces:
        check_piece(folder, piece)


def check_piece(folder: Path, piece: Mapping[str, Any]) -> None:
    """Refuse a piece that is not what the manifest states."""
    check_content(folder / piece["file"], piece, name=piece["file"])


def pieces_sha256(pieces: Sequence[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of a data file in pieces: of their hexadecimal ones, one after another."""
    return sha256("".join(piece["sha256"] for piece in pieces).encode()).hexdigest()


def ending_of(form: str) -> str:
    """Return the ending of files of a written format."""
    endings = (f.endings[0] for f in FORMATS if f.name == form and f.write is not None)
    found = next(endings, None)
    if found is None:
        raise InvalidData(f"{MANIFEST} is damaged: data is never written as {short(form)}.")
    return found


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link in a release folder: it may lead out of it."""
    if path.is_symlink():
        raise InvalidData(f"{path.name!r} is a symbolic link; a release holds its own files.")


def refuse_others(folder: Path, stated: Sequence[str]) -> None:
    """Refuse data files that the manifest does not state: nobody vouches for them."""
    found = [
        path for one in (STEM, f"{STEM}.*", "tables.*", "synthetic.*") for path in folder.glob(one)
    ]
    refuse_unstated(sorted(path.relative_to(folder).as_posix() for path in found), stated)


def refuse_unstated(found: Sequence[str], stated: Sequence[str]) -> None:
    """Refuse the first file that is not stated."""
    known = set(stated)
    other = next((name for name in found if name not in known), None)
    if other is not None:
        raise InvalidData(
            f"The folder holds {other!r}, which its {MANIFEST} does not state. Get the folder "
            "again, or move that file away."
        )


def check_format(path: Path, stated: Mapping[str, Any], *, copy: bool = False) -> None:
    """Refuse a file of another format than the manifest states, and data in one never written."""
    form = format_of(path)
    if form.name != stated["format"] or (form.write is None and not copy):
        raise InvalidData(f"{MANIFEST} is damaged: {path.name!r} is no {short(stated['format'])}.")


def check_scripts(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse scripts that were changed or that the manifest does not state: somebody runs them."""
    stated = {script["file"]: script for script in manifest.get("scripts", [])}
    for name in SCRIPTS:
        if name in stated:
            check_content(folder / name, stated[name], what="script")
        elif (folder / name).exists():
            raise InvalidData(f"The folder holds {name!r}, which its {MANIFEST} does not state.")


def check_content(
    path: Path, stated: Mapping[str, Any], *, what: str = "data file", name: str = ""
) -> None:
    """Refuse a file that is not there, or of another size or content than the manifest states."""
    refuse_link(path)
    name = name or path.name
    if not path.is_file():
        raise InvalidData(f"The release lacks its {what} {name!r}.")
    size = path.stat().st_size
    if size != stated["bytes"]:
        raise InvalidData(
            f"{name} is not the file that was released: it has {size:,} bytes, and the "
            f"manifest states {short(stated['bytes'])}. Get the folder again."
        )
    if file_sha256(path) != stated["sha256"]:
        raise InvalidData(
            f"{name} is not the file that was released: its SHA-256 differs from the "
            "manifest's. Get the folder again."
        )


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
