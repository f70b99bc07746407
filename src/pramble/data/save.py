"""One writer: batches into a file of any written format, whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pramble.data.atomic import whole_file
from pramble.data.formats.base import Format, Writer
from pramble.data.formats.packing import packed
from pramble.data.formats.registry import target_format


@contextmanager
def saving(target: Path, schema: Any) -> Iterator[Writer]:
    """Give a writer of batches; the file stands under its name when all were written."""
    form = target_format(target)
    with whole_file(target) as partial, writing(partial, form, schema, like=target) as writer:
        yield writer


def save_table(table: Any, target: Path) -> None:
    """Write an Arrow table, whole or not at all."""
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
