"""Which columns tell others: copies among those to randomise, and why dropped ones stay dropped."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from pramble.data.levels import Levels
from pramble.data.records import Records
from pramble.releasing.prepare.links import FUNCTION, MOST_KEPT, Links, likeness
from pramble.values import Integers

MOST_COMPARED = 50
"""Dropped columns that are looked at; a note on them is a courtesy, and costs time for each."""


def first_rows(records: Records, names: Sequence[str]) -> pa.RecordBatch:
    """Return the first rows of a file as one batch: as many as a sample holds."""
    kept, left = [], MOST_KEPT
    for batch in records.batches(names):
        kept.append(batch.slice(0, left))
        left -= kept[-1].num_rows
        if not left:
            break
    return pa.concat_batches(kept) if kept else pa.RecordBatch.from_pylist([])


def told_columns(
    records: Records, *, chosen: Sequence[str], dropped: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return, of the chosen columns, those that follow from an earlier one, and what tells one.

    The first maps a column to the one that determines it, or that it determines; the second a
    dropped column to the chosen one that it would tell if it were released as it is.
    """
    dropped = dropped[:MOST_COMPARED]
    batch = first_rows(records, [*chosen, *dropped])
    if not batch.num_rows or not chosen:
        return {}, {}
    codes = {name: Levels(name).codes(batch[name]) for name in chosen}
    follows: dict[str, str] = {}
    for place, later in enumerate(chosen):
        for earlier in chosen[:place]:
            ways = (codes[earlier], codes[later]), (codes[later], codes[earlier])
            if later not in follows and any(likeness(*way) >= FUNCTION for way in ways):
                follows[later] = earlier
    return follows, telling(batch, codes, dropped) if dropped else {}


def telling(
    batch: pa.RecordBatch, codes: Mapping[str, Integers], dropped: Sequence[str]
) -> dict[str, str]:
    """Return what the dropped columns tell: their codes are compared, so an order is none."""
    values = {name: batch[name].dictionary_encode() for name in dropped}
    plain = {name: coded.indices.cast(pa.int64()) for name, coded in values.items()}
    links = Links(dropped, list(codes))
    links.add(pa.table(plain).to_batches()[0], codes)
    found = [link for link in links.found(rows_per_person=1) if link.kind in ("alike", "function")]
    return {link.column: link.protected for link in reversed(found)}
