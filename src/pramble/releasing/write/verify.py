r"""A written release is read again before it gets its name, and compared with what was meant.

Refusing a release for what it says of the confidential values conditions its distribution on them,
which α does not cover. So only a deviation is refused that no sound engine will ever show: of n
independent events with summed variance :math:`\sigma^2`, Bernstein's inequality gives
:math:`P(|D| > t) \le 2e^{-L}` for :math:`t = L/3 + \sqrt{L^2/9 + 2L\sigma^2}`, below
:math:`2^{-128}` at :math:`L = 90`.
"""

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import UNSIGNED, even_batches, is_text, sorted_dictionary
from pramble.data.encode import Codes, Encoder
from pramble.data.formats.base import BATCH_ROWS
from pramble.data.labels import Labels, places_of
from pramble.data.open import open_records
from pramble.engine.block import ColumnBlock
from pramble.engine.files import DrawObserver
from pramble.errors import InvalidData, PrivacyError
from pramble.mechanisms.base import Mechanism
from pramble.mechanisms.plan import Plan
from pramble.numbers import percent
from pramble.outcome import Check
from pramble.releasing.design import ReleaseDesign
from pramble.values import Integers, frozen
from pramble.words import several

# A sound release fails a check with probability at most 2·exp(−NEVER).
NEVER = 90.0


def same_places(labels: Labels, among: Labels) -> Integers | None:
    """Return where each label stands among others, −1 if nowhere; None where they are the same.

    >>> same_places(Labels(("a", "b")), Labels(("b", "c"))).tolist()
    [-1, 0]
    """
    if labels is among or labels == among:
        return None
    found = places_of(among.values, labels.values)
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def count_equal(x: Codes, z: Codes, places: Integers | None) -> int:
    return int(((x if places is None else places[x]) == z).sum())


class BlockDraws:
    """Counts the draws of one mechanism, by the true cell: whole numbers, so sums are exact."""

    def __init__(self, name: str, mechanism: Mechanism) -> None:
        self.name = name
        self.places = same_places(mechanism.labels, mechanism.output_labels)
        self.stay = mechanism.operator.stay()
        self.spread = self.stay * (1 - self.stay)
        self.counts = np.zeros(len(self.stay), dtype=np.int64)
        self.unchanged = 0

    def add(self, x: Codes, z: Codes) -> None:
        self.counts += np.bincount(x, minlength=len(self.counts))
        self.unchanged += count_equal(x, z, self.places)

    def merge(self, later: "BlockDraws") -> None:
        self.counts += later.counts
        self.unchanged += later.unchanged

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def expected(self) -> float:
        """How many of them should have kept their cell."""
        return float(self.stay @ self.counts)

    @property
    def variance(self) -> float:
        """The variance of that number."""
        return float(self.spread @ self.counts)


def change_check(name: str, draws: Sequence[BlockDraws]) -> Check:
    r"""Compare the number of changed cells with :math:`\sum_i (1 - M_{x_i x_i})`."""
    rows = max(sum(one.rows for one in draws), 1)
    changed = rows - sum(one.unchanged for one in draws)
    expected = rows - sum(one.expected for one in draws)
    spread = math.sqrt(sum(one.variance for one in draws))
    return Check(
        f"rate of change {name}",
        passed=abs(changed - expected) <= allowed(spread),
        detail=f"{percent(changed / rows, 4)} of the values changed; {percent(expected / rows, 4)} "
        f"expected, standard deviation {percent(spread / rows, 4)}.",
    )


def branch_check(plan: Plan, draws: Mapping[tuple[str, ...], BlockDraws], *, rows: int) -> Check:
    found = {int(path[1]): one.rows for path, one in draws.items()}
    off = []
    for number, share in enumerate(map(float, plan.shares)):
        spread = math.sqrt(rows * share * (1 - share))
        if abs(found.get(number, 0) - rows * share) > allowed(spread):
            off.append(
                f"{found.get(number, 0)} of {rows} records, where {percent(share, 4)} were meant"
            )
    return Check(
        "records of each branch",
        passed=not off,
        detail=f"{several(len(plan.shares), 'branch')}, as often as they should be drawn."
        if not off
        else f"A branch has {off[0]}.",
    )


def allowed(spread: float) -> float:
    """Return the deviation that a sum of this standard deviation never exceeds."""
    return NEVER / 3 + math.hypot(NEVER / 3, math.sqrt(2 * NEVER) * spread)


class WrittenTally(DrawObserver):
    """What was meant to be released, block by block: digests of columns, and counts of codes.

    Tallies of consecutive rows, each begun at a multiple of ``BATCH_ROWS``, merge into the tally of
    all of them, wherever they were made.

    ``coded`` are the untouched columns of text that are held as dictionaries.
    """

    def __init__(self, plan: Plan, names: Sequence[str], *, coded: Collection[str]) -> None:
        self.rows, self.plan, self.names = 0, plan, names
        self.coded = coded
        self.labels = dict(plan.column_labels())  # a tally is sent between machines
        # How often each value of a randomised column was met, released, and changed.
        self.before, self.after = (
            {name: np.zeros(len(side(own)), dtype=np.int64) for name, own in self.labels.items()}
            for side in (attrgetter("labels"), attrgetter("released"))
        )
        self.same = {
            name: same_places(own.labels, own.released) for name, own in self.labels.items()
        }
        self.changed = dict.fromkeys(self.labels, 0)
        # The draws of each block by the path of its bits, and the true codes of the last batch.
        self.draws: dict[tuple[str, ...], BlockDraws] = {}
        self.last: dict[str, Codes] = {}
        # SHA-256 of each block of `BATCH_ROWS` rows: of the values of untouched columns, and of the
        # released codes of randomised ones.
        self.digests: dict[str, list[bytes]] = {name: [] for name in names}

    def keep(self, name: str, values: Any) -> None:
        digest = hashlib.sha256()
        for part in block_bytes(values):
            digest.update(part)
        self.digests[name].append(digest.digest())

    def draw(self, name: str, x: Codes, z: Codes) -> None:
        self.last[name] = x
        self.before[name] += np.bincount(x, minlength=len(self.before[name]))
        self.changed[name] += len(x) - count_equal(x, z, self.same[name])
        self.release(name, z)

    def draw_cells(self, block: ColumnBlock, x: Codes, z: Codes) -> None:
        path = block.stream.path
        if path not in self.draws:
            self.draws[path] = BlockDraws(block.names[0], block.mechanism)
        self.draws[path].add(x, z)

    def release(self, name: str, z: Codes) -> None:
        self.after[name] += np.bincount(z, minlength=len(self.after[name]))
        digest = hashlib.sha256(np.ascontiguousarray(z, dtype=np.int32).tobytes())
        self.digests[name].append(digest.digest())

    def merge(self, later: "WrittenTally") -> None:
        self.rows += later.rows
        for name in self.labels:
            self.before[name] += later.before[name]
            self.after[name] += later.after[name]
            self.changed[name] += later.changed[name]
        for path, draws in later.draws.items():
            if path in self.draws:
                self.draws[path].merge(draws)
            else:
                self.draws[path] = deepcopy(draws)
        for name, digests in later.digests.items():
            self.digests[name] += digests
        self.last = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "last": {}}


def block_bytes(values: Any) -> list[Any]:
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


def tally_written(path: Path, meant: WrittenTally) -> WrittenTally:
    """Read a written file and tally it as it was tallied while it was written."""
    plan, names, records = meant.plan, meant.names, open_records(path)
    tally = WrittenTally(plan, names, coded=meant.coded)
    encoders = {name: Encoder(own.released, name) for name, own in tally.labels.items()}
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


def compare(meant: WrittenTally, path: Path, *, rows: int) -> tuple[Check, ...]:
    """Judge a written file: rows, untouched columns, released values, and rates of change."""
    return (*compare_values(meant, path, rows=rows), *drawn_checks(meant))


def compare_values(meant: WrittenTally, path: Path, *, rows: int) -> tuple[Check, ...]:
    try:
        found = tally_written(path, meant)
    except InvalidData as error:
        return (Check("released values", passed=False, detail=str(error)),)
    differing = [name for name in meant.names if meant.digests[name] != found.digests[name]]
    return value_checks(rows, meant.rows, found.rows, differing=differing)


def value_checks(
    counted: int, meant: int, found: int, *, differing: Sequence[str] = ()
) -> tuple[Check, ...]:
    counts_differ = {meant, found} != {counted}
    return (
        Check(
            "row count",
            passed=not counts_differ,
            detail=f"{counted:,} rows counted, {meant:,} read again, {found:,} released.",
        ),
        Check(
            "columns as they were meant",
            passed=not differing,
            detail="Equal value by value."
            if not differing
            else f"They differ: {', '.join(sorted(differing))}.",
        ),
    )


def drawn_checks(meant: WrittenTally) -> tuple[Check, ...]:
    plan, draws = meant.plan, meant.draws
    # Blocks and branches share columns, so that rates of single columns mean nothing there.
    if plan.is_simple:
        order = sorted(draws, key=lambda path: plan.columns.index(path[0]))
        return tuple(change_check(f"in {draws[path].name}", [draws[path]]) for path in order)
    together = change_check("over all blocks", list(draws.values()))
    return (branch_check(plan, draws, rows=meant.rows), together)


def refuse_failed(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Return checks of a written file; refuse to release it if one failed."""
    for check in checks:
        if not check.passed:
            raise PrivacyError(
                f"The written file failed its check of the {check.name}: {check.detail} "
                "Nothing was released."
            )
    return checks


@frozen(eq=False)
class WrittenData:
    """What was written of the confidential file: records, or protected tables."""

    entry: Mapping[str, Any]  # what the manifest says of the file
    rows: int  # the number of records; as it was measured, where it is secret
    data: Any  # what an analyst would hand to an estimate
    checks: tuple[Check, ...]
    design: ReleaseDesign  # with the tables that were chosen meanwhile
    tally: WrittenTally | None = None  # what was counted while records were written
