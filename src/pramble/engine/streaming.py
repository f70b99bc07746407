"""One file to another, batch by batch."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from pramble.engine.atomic import whole_file
from pramble.engine.formats import target_format
from pramble.engine.frames import Columns, check_names, perturb_batch, perturbed_schema
from pramble.engine.progress import Clock
from pramble.engine.readers import guarded, opened
from pramble.engine.writers import writing
from pramble.errors import InvalidData


def perturb_stream(
    source: Path, target: Path, columns: Columns, *, first_row: int, clock: Clock
) -> int:
    """Randomise one file and return how many rows it has."""
    kind = target_format(target)
    row = first_row
    with opened(source, columns) as data:
        check_names(data.schema.names, columns, None)
        if not data.typed:
            columns = {name: replace(one, from_text=True) for name, one in columns.items()}
        schema = perturbed_schema(data.schema, columns)
        with (
            whole_file(target) as partial,
            writing(partial, kind, schema=schema, compression=data.compression) as writer,
            ThreadPoolExecutor(max(one.threads for one in columns.values())) as pool,
        ):
            for batch in ahead(guarded(source, data.batches)):
                rows = range(row, row + batch.num_rows)
                writer.write(perturb_batch(batch, columns, rows, each=pool.map))
                row = rows.stop
                clock.tell(batch.num_rows, data.share_read())
            if row == first_row:
                raise InvalidData(f"{source} must have rows to randomise; it has none.")
    clock.tell(0, 1.0)
    return row - first_row


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Yield items while the next one is being made."""
    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item
