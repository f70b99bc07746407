"""A written release is read again before it gets its name, and compared with what was meant."""

import hashlib
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import is_text, sorted_dictionary
from pramble.data.encode import Codes, Encoder
from pramble.data.even import even_batches
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.formats.delimited import as_text
from pramble.data.open import open_records
from pramble.data.reading import Reading
from pramble.data.records import Records
from pramble.engine.canonical import Onlooker
from pramble.errors import InvalidData
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.report.outcome import Check
from pramble.values import Integers

NEVER = 90.0
"""A sound release fails the check of its rate of change with probability at most 2·exp(−NEVER)."""

WRITTEN = Reading(
    separator=",",
    quote='"',
    encoding="utf-8",
    decimal=".",
    missing=(),
    quoted_missing=False,
    trim=False,
)
"""How the text files that this package writes are read again."""


UNSIGNED = {8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}


class Tally(Onlooker):
    """What was meant to be released, block by block: digests of columns, and counts of codes.

    Attributes
    ----------
    rows : int
    names : sequence of str
        Every column, in order.
    coded : collection of str
        Untouched columns of text that are held as dictionaries.
    before, after : dict from column to counts
        Of true and of released values of a randomised column.
    changed : dict from column to int
    last : dict from column to codes
        The true codes of the block that was met last.
    digests : dict from column to hash
        Of the values of untouched columns, and of the released codes of randomised ones.
    """

    def __init__(
        self, plan: Plan, names: Sequence[str], *, coded: Collection[str], as_text: bool
    ) -> None:
        self.rows, self.plan, self.names = 0, plan, names
        self.coded, self.as_text = coded, as_text
        shapes = {name: plan[name].shape for name in plan.columns}
        self.before = {name: np.zeros(S, dtype=np.int64) for name, (S, _) in shapes.items()}
        self.after = {name: np.zeros(T, dtype=np.int64) for name, (_, T) in shapes.items()}
        self.changed = dict.fromkeys(shapes, 0)
        self.last: dict[str, Codes] = {}
        self.digests: dict[str, Any] = {}

    def digest(self, name: str) -> Any:
        """Return the running hash of a column."""
        return self.digests.setdefault(name, hashlib.sha256())

    def keep(self, name: str, values: Any) -> None:
        """Add a block of an untouched column."""
        if self.as_text and name not in self.coded:
            values = as_text(values, column=name).fill_null("")
        for part in content(values):
            self.digest(name).update(part)

    def draw(self, name: str, x: Codes, z: Codes) -> None:
        """Add the true and the released codes of a block of a randomised column."""
        self.last[name] = x
        self.before[name] += np.bincount(x, minlength=len(self.before[name]))
        self.changed[name] += int((x != z).sum())
        self.release(name, z)

    def release(self, name: str, z: Codes) -> None:
        """Add the released codes of a block."""
        self.after[name] += np.bincount(z, minlength=len(self.after[name]))
        self.digest(name).update(np.ascontiguousarray(z, dtype=np.int32).tobytes())


def content(values: Any) -> list[Any]:
    """Return the bytes that a block of values consists of."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return [np.ascontiguousarray(codes), repr(values.dictionary.to_pylist()).encode()]
    missing = np.packbits(values.is_null().to_numpy(zero_copy_only=False))
    if is_text(values):
        texts = values.cast(pa.large_string()).fill_null("")
        lengths = pc.binary_length(texts).to_numpy(zero_copy_only=False)
        ends = memoryview(texts.buffers()[1]).cast("q")
        data = texts.buffers()[2]
        first, last = ends[texts.offset], ends[texts.offset + len(texts)]
        return [missing, np.ascontiguousarray(lengths), b"" if data is None else data[first:last]]
    if pa.types.is_boolean(kind):
        values, kind = values.cast(pa.uint8()), pa.uint8()
    if pa.types.is_primitive(kind) and kind.bit_width >= 8:
        bits = values.view(UNSIGNED[kind.bit_width]).fill_null(0)
        return [missing, np.ascontiguousarray(bits.to_numpy(zero_copy_only=False))]
    return [repr(values.to_pylist()).encode("utf-8", "surrogatepass")]


def open_written(path: Path) -> Records:
    """Open a data file that this package wrote."""
    records = open_records(path)
    if records.typed:
        return records
    return open_records(path, replace(WRITTEN, separator=records.reading.separator))


def read_again(path: Path, meant: Tally) -> Tally:
    """Read a written file and tally it as it was tallied while it was written."""
    plan, names, records = meant.plan, meant.names, open_written(path)
    tally = Tally(plan, names, coded=meant.coded, as_text=not records.typed)
    encoders = {
        name: Encoder(plan[name].output_labels, name, from_text=not records.typed)
        for name in plan.columns
    }
    dictionaries = (*plan.columns, *meant.coded)
    for batch in even_batches(records.batches(names, coded=dictionaries), BATCH_ROWS):
        rows = range(tally.rows, tally.rows + batch.num_rows)
        for name in names:
            if name in encoders:
                tally.release(name, encoders[name].codes(batch[name], rows))
            else:
                coded = name in meant.coded
                tally.keep(name, sorted_dictionary(batch[name]) if coded else batch[name])
        tally.rows = rows.stop
    return tally


def compare(meant: Tally, path: Path, *, rows: int) -> tuple[Check, ...]:
    """Judge a written file: rows, untouched columns, released values, and rates of change."""
    try:
        found = read_again(path, meant)
    except InvalidData as error:
        return (Check("released values", passed=False, detail=str(error)),)
    differing = [
        name for name in meant.names if meant.digest(name).digest() != found.digest(name).digest()
    ]
    counts_differ = {meant.rows, found.rows} != {rows}
    return (
        Check(
            "row count",
            passed=not counts_differ,
            detail=f"{rows} rows counted, {meant.rows} read again, {found.rows} released.",
        ),
        Check(
            "columns as they were meant",
            passed=not differing,
            detail="Equal value by value."
            if not differing
            else f"They differ: {', '.join(sorted(differing))}.",
        ),
        *(
            change_check(name, meant.plan[name], meant.before[name], meant.changed[name])
            for name in meant.plan.columns
        ),
    )


def change_check(name: str, mechanism: Mechanism, before: Integers, changed: int) -> Check:
    r"""Compare the number of changed values with :math:`\sum_x n_x (1 - M_{xx})`.

    Refusing a release for what it says of the confidential values conditions its law on them, which
    α does not cover. So only a deviation is refused that no sound engine will ever show: with the
    variance :math:`\sigma^2 = \sum_x n_x M_{xx}(1 - M_{xx})`, Bernstein's inequality gives
    :math:`P(|D| > t) \le 2e^{-L}` for :math:`t = L/3 + \sqrt{L^2/9 + 2L\sigma^2}`, below
    :math:`2^{-128}` at :math:`L = 90`, for each column.
    """
    stay = mechanism.operator.stay()
    expected = float(before @ (1 - stay))
    spread = math.sqrt(float(before @ (stay * (1 - stay))))
    allowed = NEVER / 3 + math.hypot(NEVER / 3, math.sqrt(2 * NEVER) * spread)
    rows = max(int(before.sum()), 1)
    return Check(
        f"rate of change in {name}",
        passed=abs(changed - expected) <= allowed,
        detail=f"{changed / rows:.4%} of the values changed; {expected / rows:.4%} expected, "
        f"standard deviation {spread / rows:.4%}.",
    )
