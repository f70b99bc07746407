"""Every row of a random part of the values of a column: rows that share a value stay together.

The part of a file is that of its rows wherever they were read: the same key gives the same values
on every machine.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import UNSIGNED, dictionary_places, is_text
from pramble.engine.keystream import derived_key
from pramble.engine.table_counts import text_hashes
from pramble.values import Integers

# Rows of a sample; when there are more, a half of the rows or values is dropped.
MOST_SAMPLED = 1 << 15


class ValueSample:
    """Every row of a random part of a column's values; the key and the column say which."""

    def __init__(self, key: bytes, name: str, *, most: int | None = None) -> None:
        drawn = derived_key(key, "value sample", name)
        self.odd = np.uint64(int.from_bytes(drawn[:8], "big") | 1)
        self.offset = np.uint64(int.from_bytes(drawn[8:16], "big"))
        self.most = MOST_SAMPLED if most is None else most
        self.bits = 0
        self.held: list[tuple[Any, ...]] = []

    def add(self, values: Any, codes: Sequence[Integers]) -> None:
        """Take the rows of a batch whose value belongs to the part, with some codes of each."""
        filled = ~np.asarray(pc.is_null(values, nan_is_null=True))
        self.add_hashed(hashes(values), filled, lambda chosen: [code[chosen] for code in codes])

    def add_hashed(self, hashed: Any, filled: Any, pick: Callable[[Any], Sequence[Any]]) -> None:
        """Take rows by the hashes of their values; ``pick`` gives what is held of those chosen."""
        # Multiplying by a secret odd number permutes the 64 bits, so nobody can choose values that
        # stay.
        mixed = (hashed ^ self.offset) * self.odd
        chosen = filled & self.part(mixed)
        self.held.append((mixed[chosen], *pick(chosen)))
        self.bound()

    def part(self, mixed: Any) -> Any:
        """Return which hashes belong to the part."""
        return mixed >> np.uint64(64 - self.bits) == 0 if self.bits else np.ones(len(mixed), bool)

    def bound(self) -> None:
        while self.bits < 64 and sum(len(block[0]) for block in self.held) > self.most:
            self.bits += 1
            self.thin()

    def merge(self, later: "ValueSample") -> None:
        self.held += later.held
        self.bits = max(self.bits, later.bits)
        self.thin()
        self.bound()

    def thin(self) -> None:
        for place, block in enumerate(self.held):
            chosen = self.part(block[0])
            self.held[place] = tuple(part[chosen] for part in block)

    def groups(self) -> Integers:
        mixed = np.concatenate([block[0] for block in self.held])
        return np.asarray(np.unique(mixed, return_inverse=True)[1], dtype=np.int64)

    def codes(self) -> list[Any]:
        return [np.concatenate(parts) for parts in list(zip(*self.held, strict=True))[1:]]


def hashes(values: Any) -> Any:
    """Return 64 bits for each value, equal for equal ones and seldom for others.

    They depend on the values alone, not on the process.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        own = np.append(hashes(values.dictionary), np.uint64(0))
        return own[dictionary_places(values, null=len(own) - 1)]
    if pa.types.is_boolean(kind):
        return hashes(values.cast(pa.uint8()))
    if pa.types.is_primitive(kind) and kind.bit_width in UNSIGNED:
        bits = values.view(UNSIGNED[kind.bit_width]).fill_null(0).cast(pa.uint64())
        return bits.to_numpy(zero_copy_only=False)
    if not is_text(values):
        values = pa.array(list(map(repr, values.to_pylist())), pa.large_string())
    return text_hashes(values.cast(pa.large_string()).fill_null(""))
