"""What follows from the secret of a release: the key it draws with, and the order of its rows."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa

from pramble.data.records import Records, TableRecords, Watch
from pramble.engine.keystream import checked_key, derived_key
from pramble.engine.shuffle import ShuffledRecords, random_order, with_dictionaries
from pramble.limits import MOST_CELLS_SHUFFLED
from pramble.mechanisms.plan import Plan
from pramble.releasing.spec.spec import ReleaseSpec


def held(records: Records, names: Sequence[str], *, coded: Collection[str] = ()) -> TableRecords:
    """Return some columns of the records, in memory; texts of some as codes, which take less."""
    batches = [with_dictionaries(batch, coded) for batch in records.batches(list(names))]
    table = pa.Table.from_batches(batches).unify_dictionaries()
    return TableRecords(table, name=records.name, has_types=records.typed)


def shuffled(
    records: Records,
    names: Sequence[str],
    *,
    rows: int,
    key: bytes,
    folder: Path,
    coded: Collection[str] = (),
    told: Watch | None = None,
) -> Records:
    """Return some columns of the records in a random order that the key determines.

    Small tables are held in memory, larger ones dealt into files without a name in the folder; the
    order is the same.
    """
    if not fits_in_memory(rows, names):
        return ShuffledRecords(records, tuple(names), rows, key, folder, coded, told)
    source = held(records, names, coded=coded)
    order = pa.array(random_order(rows, key=key))
    table = pa.table({name: source.table[name].combine_chunks().take(order) for name in names})
    return TableRecords(table, name=records.name, has_types=records.typed)


def fits_in_memory(rows: int, names: Sequence[str]) -> bool:
    """Whether so many rows of some columns are shuffled in memory."""
    return rows * len(names) <= MOST_CELLS_SHUFFLED


def bound_key(key: bytes, content: str, *, plan: Plan, spec: ReleaseSpec) -> bytes:
    r"""Return a key of its own for one content of the source, one plan and one order of the rows.

    Two releases that shared their random bits would not add up to :math:`\alpha_1 + \alpha_2`:
    with another matrix, or another record in the same row, a pair of released values can be
    impossible under one true value and possible under the next. A private prior is drawn again at
    every run, so the same call may well have another matrix. ``content`` is the fingerprint of the
    randomised columns as they were counted, recoded and repaired (`pramble.releasing.fingerprint`);
    with the labels of empty cells it determines every record that is drawn from. So bits agree only
    where records, plan and order agree, and then the two releases are one. Where rows with columns
    that are released as they are get a secret order, ``content`` also has the digest of the file:
    two files of the same order would reveal which rows belong together.
    """
    empty = {column.name: column.missing for column in spec.columns}
    return derived_key(
        checked_key(key),
        "release",
        content,
        json.dumps(plan.to_json(), sort_keys=True),
        json.dumps({"empty": empty, "shuffled": spec.is_shuffled}, sort_keys=True),
    )
