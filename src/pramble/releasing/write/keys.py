"""What follows from the secret of a release: the key it draws with, and the order of its rows."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from pramble.data.frame_records import TableRecords
from pramble.data.records import Records, Watch
from pramble.engine.dealt import DealtRecords, with_codes
from pramble.engine.keystream import checked_key, derived_key
from pramble.engine.order import random_order
from pramble.limits import MOST_CELLS_SHUFFLED
from pramble.mechanisms.plan import Plan
from pramble.releasing.spec.document import spec_to_toml
from pramble.releasing.spec.spec import ReleaseSpec


def held(records: Records, names: Sequence[str], *, coded: Collection[str] = ()) -> TableRecords:
    """Return some columns of the records, in memory; texts of some as codes, which take less."""
    batches = [with_codes(batch, coded) for batch in records.batches(list(names))]
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
        return DealtRecords(records, tuple(names), rows, key, folder, coded, told)
    source = held(records, names, coded=coded)
    order = pa.array(random_order(rows, key=key))
    table = pa.table({name: source.table[name].combine_chunks().take(order) for name in names})
    return TableRecords(table, name=records.name, has_types=records.typed)


def fits_in_memory(rows: int, names: Sequence[str]) -> bool:
    """Whether so many rows of some columns are shuffled in memory."""
    return rows * len(names) <= MOST_CELLS_SHUFFLED


def bound_key(key: bytes, content: str, *, plan: Plan, spec: ReleaseSpec) -> bytes:
    r"""Return a key of its own for one content of the source, one plan and one way to read it.

    Two releases that shared their random bits would not add up to :math:`\alpha_1 + \alpha_2`:
    with another matrix, or another record in the same row, a pair of released values can be
    impossible under one true value and possible under the next. A private prior is drawn anew at
    every run, so the same call may well have another matrix. Recodings, labels of empty cells and
    repairs make other records of the same file. Bits of a bound key agree only where file, plan and
    spec agree, and then the two releases are one. ``content`` is the fingerprint of what is
    randomised (`pramble.releasing.fingerprint`); where rows with columns that are released
    as they are get a secret order, also the digest of the file: two files of the same order would
    tell which rows belong together. Into how many pieces the rows are written is
    left out: the rows are the same.
    """
    return derived_key(
        checked_key(key),
        "release",
        content,
        json.dumps(plan.to_json(), sort_keys=True),
        spec_to_toml(replace(spec, rows_per_file=None)),
        repr(spec.reading),
    )
