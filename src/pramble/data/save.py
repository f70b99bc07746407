"""Writing files, whole or not at all: any file, and batches in every written format."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from pramble.data.formats.base import Format, Writer, packed
from pramble.data.formats.registry import target_format
from pramble.data.places import is_address
from pramble.errors import WriteFailed

PARTIAL = ".partial"


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a temporary name beside the target; move it into place once complete and synced.

    Whatever interrupts the writing, nothing stands under the target's name until the file is
    whole. An error removes the temporary file; a kill leaves it, hidden and ending in
    ``.partial``, to be deleted.
    """
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PARTIAL}")
    try:
        partial.touch(exist_ok=False)
        yield partial
        sync(partial)
        partial.replace(target)
        sync(target.parent)
    except OSError as error:
        raise WriteFailed(
            f"{target} could not be completed ({error.strerror or error}); nothing was left there. "
            "Free some space or mend the cause, and run again with the same key."
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names where the system can, is on disk."""
    if is_address(path):  # a store keeps what it has taken
        return
    folder = path.is_dir()
    with suppress(OSError) if folder else nullcontext():
        descriptor = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that must be new, readable by its owner only."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def saving(target: Path, schema: Any) -> Iterator[Writer]:
    """Give a writer of batches; the file stands under its name when all were written."""
    form = target_format(target)
    if is_address(target):  # a store shows a file when it is complete
        with writing(target, form, schema) as writer:
            yield writer
        return
    with whole_file(target) as partial, writing(partial, form, schema, like=target) as writer:
        yield writer


def save_table(table: Any, target: Path) -> None:
    with saving(target, table.schema) as writer:
        for batch in table.to_batches():
            writer.write(batch)


@contextmanager
def writing(
    place: Path, form: Format, schema: Any, *, like: Path | None = None
) -> Iterator[Writer]:
    """Open a file for writing; it is packed as the ending of ``like`` says."""
    assert form.write is not None
    with (
        place.open("wb") as raw,
        packed(like or place, raw) as sink,
        form.write(sink, schema) as writer,
    ):
        yield writer
