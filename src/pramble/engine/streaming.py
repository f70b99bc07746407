"""Records into a file, batch by batch."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from pramble.data.records import Records
from pramble.data.save import saving
from pramble.engine.canonical import Canonical
from pramble.engine.frames import check_names
from pramble.engine.record import Record
from pramble.engine.threads import each_column
from pramble.errors import InvalidData
from pramble.values import Clock


def perturb_stream(
    records: Records, target: Path, record: Record, *, first_row: int, clock: Clock
) -> int:
    """Randomise records into one file and return how many there are."""
    check_names(records.names, record.columns, None)
    own = record if records.typed else replace(record, from_text=True)
    work = Canonical(records.schema, own)
    share, row = [0.0], first_row
    batches = work.source(records, watch=lambda _, done: share.append(done))
    with saving(target, work.schema) as writer, each_column(record.threads) as each:
        for batch in ahead(batches):
            rows = range(row, row + batch.num_rows)
            writer.write(work.released(batch, rows, each=each))
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
