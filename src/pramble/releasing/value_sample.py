"""Every row of a random part of the values of a column: rows that share a value stay together.

The part of a file is that of its rows wherever they were read: the same key gives the same values
on every machine.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramble.data.arrays import UNSIGNED, is_text
from pramble.engine.keystream import derived_key
from pramble.values import Integers

# Rows of a sample; when there are more, a half of the rows or values is dropped.
MOST_SAMPLED = 1 << 15


class ValueSample:
    """Every row of a random part of a column's values; the key and the column say which."""

    def __init__(self, key: bytes, name: str) -> None:
        drawn = derived_key(key, "value sample", name)
        self.odd = np.uint64(int.from_bytes(drawn[:8], "big") | 1)
        self.offset = np.uint64(int.from_bytes(drawn[8:16], "big"))
        self.bits = 0
        self.held: list[tuple[Any, ...]] = []

    def add(self, values: Any, codes: Sequence[Integers]) -> None:
        """Take the rows of a batch whose value belongs to the part."""
        # Multiplying by a secret odd number permutes the 64 bits, so nobody can choose values that
        # stay.
        mixed = (hashes(values) ^ self.offset) * self.odd
        self.held.append((mixed, ~np.asarray(pc.is_null(values, nan_is_null=True)), *codes))
        self.thin(len(self.held) - 1)
        self.bound()

    def bound(self) -> None:
        while self.bits < 64 and sum(len(block[0]) for block in self.held) > MOST_SAMPLED:
            self.bits += 1
            self.thin(0)

    def merge(self, later: "ValueSample") -> None:
        self.held += later.held
        self.bits = max(self.bits, later.bits)
        self.thin(0)
        self.bound()

    def thin(self, first: int) -> None:
        for place in range(first, len(self.held)):
            mixed, filled, *codes = self.held[place]
            chosen = filled & (mixed >> np.uint64(64 - self.bits) == 0) if self.bits else filled
            self.held[place] = tuple(part[chosen] for part in (mixed, filled, *codes))

    def groups(self) -> Integers:
        mixed = np.concatenate([block[0] for block in self.held])
        return np.asarray(np.unique(mixed, return_inverse=True)[1], dtype=np.int64)

    def codes(self) -> list[Integers]:
        return [np.concatenate(parts) for parts in list(zip(*self.held, strict=True))[2:]]


def hashes(values: Any) -> Any:
    """Return 64 bits for each value, equal for equal ones and seldom for others.

    They depend on the values alone, not on the process.
    """
    kind = values.type
    if pa.types.is_boolean(kind):
        return hashes(values.cast(pa.uint8()))
    if pa.types.is_primitive(kind) and kind.bit_width in UNSIGNED:
        bits = values.view(UNSIGNED[kind.bit_width]).fill_null(0).cast(pa.uint64())
        return bits.to_numpy(zero_copy_only=False)
    from pramble.releasing.kernels import hash_texts

    if not is_text(values):
        values = pa.array(list(map(repr, values.to_pylist())), pa.large_string())
    texts = values.cast(pa.large_string()).fill_null("")
    _, ends, data = texts.buffers()
    places = np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    bytes_ = np.frombuffer(data if data is not None else b"", np.uint8)
    return hash_texts(places, bytes_)
