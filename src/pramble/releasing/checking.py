"""Reading a written release again, beside its source, before it gets its name."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from pramble.releasing.outcome import Check
from pramble.releasing.prior import label_text
from pramble.releasing.source import open_dataset
from pramble.releasing.writing import as_text, even_tables, prepared_reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from pramble.mechanisms.base import Mechanism
    from pramble.releasing.plan import ReleasePlan
    from pramble.releasing.source import Source

BLOCK_ROWS = 1 << 18
NEVER = 90.0
"""A sound release fails the check of its rate of change with probability at most 2·exp(−NEVER)."""


@dataclass
class Tally:
    """What a comparison of source and release has counted so far."""

    rows_before: int = 0
    rows_after: int = 0
    differing: set[str] = field(default_factory=set)
    changed: dict[str, int] = field(default_factory=dict)
    before: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    after: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def add(
        self, name: str, x: NDArray[np.int64], *, z: NDArray[np.int64], shape: tuple[int, int]
    ) -> None:
        """Add the codes before and after of one block of a randomised column."""
        if (z < 0).any():
            self.differing.add(name)
            return
        before, after = np.bincount(x, minlength=shape[0]), np.bincount(z, minlength=shape[1])
        self.before[name] = self.before.get(name, 0) + before
        self.after[name] = self.after.get(name, 0) + after
        self.changed[name] = self.changed.get(name, 0) + int((x != z).sum())


def compare(
    source: Source, path: Path, *, plan: ReleasePlan, mechanisms: Mapping[str, Mechanism]
) -> Tally:
    """Read source and release side by side and count."""
    tally, text = Tally(), plan.output == "csv"
    dataset = open_dataset(path, plan.output)
    raw = even_tables(prepared_reader(source, plan), BLOCK_ROWS)
    before = map(as_text, raw) if text else raw
    after = even_tables(dataset.scanner().to_reader(), BLOCK_ROWS)
    for old, new in zip_longest(before, after):
        if old is None or new is None or old.num_rows != new.num_rows:
            tally.rows_before += 0 if old is None else old.num_rows
            tally.rows_after += 0 if new is None else new.num_rows
            continue
        tally.rows_before += old.num_rows
        tally.rows_after += new.num_rows
        for name in old.column_names:
            if name in mechanisms:
                x = codes(old[name], mechanisms[name].categories, text=text)
                z = codes(new[name], mechanisms[name].outputs, text=text)
                tally.add(name, x, z=z, shape=mechanisms[name].shape)
            elif not same(old[name], new[name], text=text):
                tally.differing.add(name)
    return tally


def same(old: Any, new: Any, *, text: bool) -> bool:
    """Whether two columns hold the same values, bit for bit."""
    if text:
        return bool(old.fill_null("").equals(new.fill_null("")))
    return bool(comparable(old).equals(comparable(new)))


def comparable(column: Any) -> Any:
    """Return a column in a form in which equal values compare equal, NaN included."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())  # Parquet does not keep the width of dictionaries
    if pa.types.is_floating(column.type):
        bits = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[column.type.bit_width]
        return pa.chunked_array([chunk.view(bits) for chunk in column.chunks], type=bits)
    return column


def codes(column: Any, labels: Sequence[Any], *, text: bool) -> NDArray[np.int64]:
    """Return the position of each value among the labels; −1 for any other value."""
    import pyarrow as pa

    if text:
        values = pa.array([label_text(label) for label in labels], pa.string())
        column = column.fill_null("")
    elif pa.types.is_dictionary(column.type):
        values = pa.array(list(labels), column.type.value_type)
    else:
        values = pa.array(list(labels), column.type)
    parts = [chunk_codes(chunk, values) for chunk in column.chunks]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def chunk_codes(chunk: Any, values: Any) -> NDArray[np.int64]:
    """Return the positions of one chunk's values; those of a dictionary are looked up once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(chunk.type):
        found = pc.index_in(chunk, value_set=values).fill_null(-1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
    null = chunk_codes(pa.array([None], values.type), values)
    table = np.append(chunk_codes(chunk.dictionary, values), null)
    places = chunk.indices.fill_null(len(table) - 1) if chunk.null_count else chunk.indices
    return np.asarray(table[places.to_numpy(zero_copy_only=False)], dtype=np.int64)


def checks_of(tally: Tally, *, rows: int, mechanisms: Mapping[str, Mechanism]) -> tuple[Check, ...]:
    """Judge a comparison: rows, untouched columns, labels, and rates of change."""
    found = [
        Check(
            "row count",
            tally.rows_before == tally.rows_after == rows,
            f"{rows} rows counted, {tally.rows_before} read again, {tally.rows_after} released.",
        ),
        Check(
            "columns released as they are",
            not tally.differing,
            "Equal value by value."
            if not tally.differing
            else f"They differ: {', '.join(sorted(tally.differing))}.",
        ),
    ]
    for name, mechanism in mechanisms.items():
        if name in tally.changed:
            found.append(change_check(name, mechanism, tally.before[name], tally.changed[name]))
    return tuple(found)


def change_check(name: str, mechanism: Mechanism, before: NDArray[np.int64], changed: int) -> Check:
    r"""Compare the number of changed values with :math:`\sum_x n_x (1 - M_{xx})`.

    Refusing a release for what it says of the confidential values conditions its law on them, which
    α does not cover. So only a deviation is refused that no sound engine will ever show: with the
    variance :math:`\sigma^2 = \sum_x n_x M_{xx}(1 - M_{xx})`, Bernstein's inequality gives
    :math:`P(|D| > t) \le 2e^{-L}` for :math:`t = L/3 + \sqrt{L^2/9 + 2L\sigma^2}`, below
    :math:`2^{-128}` at :math:`L = 90`.
    """
    from pramble.solvers.result import kept

    stay = kept(mechanism)
    expected = float(before @ (1 - stay))
    spread = math.sqrt(float(before @ (stay * (1 - stay))))
    allowed = NEVER / 3 + math.hypot(NEVER / 3, math.sqrt(2 * NEVER) * spread)
    rows = max(int(before.sum()), 1)
    return Check(
        f"rate of change in {name}",
        abs(changed - expected) <= allowed,
        f"{changed / rows:.4%} of the values changed; {expected / rows:.4%} expected, "
        f"standard deviation {spread / rows:.4%}.",
    )
