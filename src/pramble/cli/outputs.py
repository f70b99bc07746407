"""What a command will write, checked before it computes anything."""

import os
from pathlib import Path

import typer

from pramble.plots.images import PICTURES


def new_file(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written: no folder for it, or a folder in its place."""
    if path is None:
        return None
    if path.is_dir():
        raise typer.BadParameter(f"{str(path)!r} is a folder; name a file.")
    folder = path.parent
    if not folder.is_dir():
        raise typer.BadParameter(
            f"the folder {str(folder)!r} of {path.name!r} must exist; make it first."
        )
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise typer.BadParameter(f"{str(path)!r} may not be written; choose another place.")
    return path


def new_picture(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be written, or is of no known kind."""
    if path is not None and path.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"a plot is a file {' or '.join(PICTURES)}; found {path.name!r}.")
    return new_file(path)


def new_folder(path: Path | None) -> Path | None:
    """Refuse a folder that cannot be made where it is to lie."""
    if path is None:
        return None
    if path.exists() and not path.is_dir():
        raise typer.BadParameter(f"{str(path)!r} exists and is no folder; choose another name.")
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise typer.BadParameter(f"nothing may be written in {str(there)!r}; choose another place.")
    return path
