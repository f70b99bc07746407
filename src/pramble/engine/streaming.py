"""Records into a file, batch by batch."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from pramble.data.even import even_batches
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.records import Records
from pramble.data.save import saving
from pramble.engine.frames import Columns, check_names, perturb_batch, perturbed_schema
from pramble.errors import InvalidData
from pramble.values import Clock


def perturb_stream(
    records: Records, target: Path, columns: Columns, *, first_row: int, clock: Clock
) -> int:
    """Randomise records into one file and return how many there are."""
    check_names(records.names, columns, None)
    if not records.typed:
        columns = {name: replace(one, from_text=True) for name, one in columns.items()}
    schema = perturbed_schema(records.schema, columns)
    share, row = [0.0], first_row
    read = records.batches(coded=tuple(columns), watch=lambda _, done: share.append(done))
    batches = even_batches(read, BATCH_ROWS)
    with (
        saving(target, schema) as writer,
        ThreadPoolExecutor(max(one.threads for one in columns.values())) as pool,
    ):
        for batch in ahead(batches):
            rows = range(row, row + batch.num_rows)
            writer.write(perturb_batch(batch, columns, rows, each=pool.map))
            row = rows.stop
            clock.tell("randomising", share[-1], rows=batch.num_rows)
        if row == first_row:
            raise InvalidData(f"{records.name} must have rows to randomise; it has none.")
    clock.tell("randomising", 1.0)
    return row - first_row


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """Yield items while the next one is being made."""
    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item
