"""The files of a release folder: which there are, and whether they are what was stated."""

from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from reprlib import repr as short
from typing import Any

from pramble.data.formats.registry import format_of
from pramble.errors import InvalidData
from pramble.releasing.prepare.part import VIEWS

MANIFEST = "manifest.json"
SCRIPTS = ("analysis.R", "analysis.py")


def check_files(
    folder: Path, manifest: Mapping[str, Any], data: Sequence[Mapping[str, Any]], *, scripts: bool
) -> None:
    """Refuse a folder whose data, copies or synthetic records are not what the manifest states.

    Scripts are checked where asked: analysts may edit them.
    """
    copies = manifest.get("copies", [])
    files = [*data, *([manifest["synthetic"]] if "synthetic" in manifest else [])]
    refuse_others(folder, [stated["file"] for stated in (*files, *copies)])
    for stated in (*files, *copies):
        path = folder / stated["file"]
        refuse_link(path.parent)
        check_format(path, stated, copy=stated in copies)
        check_content(path, stated)
    if scripts:
        check_scripts(folder, manifest)


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link in a release folder: it may lead out of it."""
    if path.is_symlink():
        raise InvalidData(f"{path.name!r} is a symbolic link; a release holds its own files.")


def refuse_others(folder: Path, stated: Sequence[str]) -> None:
    """Refuse data files that the manifest does not state: nobody vouches for them."""
    found = [*folder.glob(f"{VIEWS}/*"), *folder.glob("data.*"), *folder.glob("synthetic.*")]
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    other = next((name for name in names if name not in stated), None)
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


def check_content(path: Path, stated: Mapping[str, Any], *, what: str = "data file") -> None:
    """Refuse a file that is not there, or of another size or content than the manifest states."""
    refuse_link(path)
    if not path.is_file():
        raise InvalidData(f"The release lacks its {what} {path.name!r}.")
    size = path.stat().st_size
    if size != stated["bytes"]:
        raise InvalidData(
            f"{path.name} is not the file that was released: it has {size:,} bytes, and the "
            f"manifest states {short(stated['bytes'])}. Get the folder again."
        )
    if file_sha256(path) != stated["sha256"]:
        raise InvalidData(
            f"{path.name} is not the file that was released: its SHA-256 differs from the "
            "manifest's. Get the folder again."
        )


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
