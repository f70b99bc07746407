"""A random order of the rows, from the secure stream of the release."""

import numpy as np
import pyarrow as pa

from pramble.data.frame_records import TableRecords
from pramble.data.records import Records
from pramble.engine.keystream import KeyStream, derived_key
from pramble.values import Integers

WORDS = 3
"""Words of 32 bits by which rows are sorted: two of a billion rows agree once in 10^11 files."""


def shuffled(records: Records, names: list[str], *, rows: int, key: bytes) -> Records:
    """Return some columns of the records, in memory, in a random order that the key determines."""
    table = pa.Table.from_batches(list(records.batches(names)))
    order = pa.array(random_order(rows, key=key))
    return TableRecords(table.take(order), name=records.name, has_types=records.typed)


def random_order(rows: int, *, key: bytes) -> Integers:
    """Return the row numbers sorted by secure random words, which no column is drawn from.

    >>> sorted(random_order(4, key=bytes(32)).tolist())
    [0, 1, 2, 3]
    """
    own = derived_key(key, "row order")
    words = [KeyStream(own, str(part)).words(range(rows)) for part in range(WORDS)]
    return np.lexsort(words)
