"""What follows from the secret of a release: the key it draws with, and the order of its rows."""

import json

import pyarrow as pa

from pramble.data.frame_records import TableRecords
from pramble.data.records import Records
from pramble.engine.keystream import checked_key, derived_key
from pramble.engine.order import random_order
from pramble.mechanisms.plan import Plan


def shuffled(records: Records, names: list[str], *, rows: int, key: bytes) -> Records:
    """Return some columns of the records, in memory, in a random order that the key determines."""
    table = pa.Table.from_batches(list(records.batches(names)))
    order = pa.array(random_order(rows, key=key))
    return TableRecords(table.take(order), name=records.name, has_types=records.typed)


def bound_key(key: bytes, digest: str, *, plan: Plan) -> bytes:
    r"""Return a key of its own for one content of the source and one plan.

    Two releases that shared their random bits would not add up to :math:`\alpha_1 + \alpha_2`:
    with another matrix, or another record in the same row, a pair of released values can be
    impossible under one true value and possible under the next. A private prior is drawn anew at
    every run, so the same call may well have another matrix. Bits of a bound key agree only where
    file and plan agree, and then the two releases are one.
    """
    return derived_key(
        checked_key(key), "release", digest, json.dumps(plan.to_json(), sort_keys=True)
    )
