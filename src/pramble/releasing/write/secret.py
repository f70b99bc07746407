"""What follows from the secret of a release: the key it draws with, and the order of its rows."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from pramble.data.arrays import is_text
from pramble.data.frame_records import TableRecords
from pramble.data.records import Records
from pramble.engine.keystream import checked_key, derived_key
from pramble.engine.order import random_order
from pramble.mechanisms.plan import Plan
from pramble.mechanisms.views import Views
from pramble.releasing.decisions.decisions import Decisions
from pramble.releasing.decisions.toml import decisions_to_toml
from pramble.releasing.prepare.part import Part


def held(records: Records, names: Sequence[str], *, coded: Collection[str] = ()) -> TableRecords:
    """Return some columns of the records, in memory; texts of some as codes, which take less."""
    batches = [packed(batch, coded) for batch in records.batches(list(names))]
    table = pa.Table.from_batches(batches).unify_dictionaries()
    return TableRecords(table, name=records.name, has_types=records.typed)


def packed(batch: Any, coded: Collection[str]) -> Any:
    """Return a batch with the texts of some columns as codes."""
    columns = [
        column.dictionary_encode() if field.name in coded and is_text(column) else column
        for field, column in zip(batch.schema, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def shuffled(
    records: Records, names: Sequence[str], *, rows: int, key: bytes, coded: Collection[str] = ()
) -> Records:
    """Return some columns of the records, in memory, in a random order that the key determines."""
    source = held(records, names, coded=coded)
    order = pa.array(random_order(rows, key=key))
    table = pa.table({name: source.table[name].combine_chunks().take(order) for name in names})
    return TableRecords(table, name=records.name, has_types=records.typed)


def bound_key(key: bytes, digest: str, *, plan: Plan | Views, decisions: Decisions) -> bytes:
    r"""Return a key of its own for one content of the source, one plan and one way to read it.

    Two releases that shared their random bits would not add up to :math:`\alpha_1 + \alpha_2`:
    with another matrix, or another record in the same row, a pair of released values can be
    impossible under one true value and possible under the next. A private prior is drawn anew at
    every run, so the same call may well have another matrix. Recodings, labels of empty cells and
    repairs make other records of the same file. Bits of a bound key agree only where file, plan and
    decisions agree, and then the two releases are one.
    """
    return derived_key(
        checked_key(key),
        "release",
        digest,
        json.dumps(plan.to_json(), sort_keys=True),
        decisions_to_toml(decisions),
        repr(decisions.reading),
    )


def part_key(key: bytes, part: Part) -> bytes:
    """Return the key of one file of a release: views share neither bits nor orders."""
    return derived_key(key, "view", part.view) if part.view else key
