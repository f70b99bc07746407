"""Batches of one size, whatever sizes they come in."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa


def even_batches(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Cut batches into ones of so many rows each, the last one shorter.

    Batches as they come follow the files and blocks of the source, which what is written must not.
    """
    waiting: list[Any] = []
    held = 0
    for batch in batches:
        waiting.append(batch)
        held += batch.num_rows
        while held >= rows:
            whole = waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
            yield whole.slice(0, rows)
            waiting, held = [whole.slice(rows)], held - rows
    if held:
        yield waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
