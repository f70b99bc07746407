r"""Random bits that depend on nothing but key, column and row.

Every column has two streams of AES-256 in counter mode. Their AES keys are

.. math::

    K_s = \operatorname{HMAC-SHA256}(\text{key},\ \text{"pramble 1"} \,\|\, s \,\|\, \text{column}),
    \qquad s \in \{\text{words}, \text{extras}\},

with every part preceded by its length. Row :math:`i` has the :math:`i`-th 32-bit little-endian word
of the first stream, and the first word of block :math:`i` of the second, which is read only where
32 bits do not decide. Nothing is kept between calls, so there is no state that a forked process
could repeat.
"""

import hashlib
import hmac
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramble.data.arrays import Rows
from pramble.errors import InvalidInput
from pramble.values import Integers

KEY_BYTES = 32
WORD_BITS = 32
EXTRA_BITS = 21

_BLOCK = 16
_WORDS_PER_BLOCK = 4
_LAST_ROW = 2**62


def checked_key(key: bytes | None) -> bytes:
    """Return 32 secret bytes: the caller's, or fresh ones from the operating system."""
    if key is None:
        return os.urandom(KEY_BYTES)
    is_bytes = isinstance(key, bytes | bytearray | memoryview)
    if not is_bytes or len(key) != KEY_BYTES:
        found = len(key) if is_bytes else f"a value of type {type(key).__name__}"
        raise InvalidInput(
            f"A key must be {KEY_BYTES} secret bytes; found {found}. "
            "Draw one with secrets.token_bytes(32) and keep it."
        )
    return bytes(key)


class KeyStream:
    """The bits of one column under one key.

    Examples
    --------
    >>> stream = KeyStream(bytes(32), "sex")
    >>> stream.words(range(2, 4)).tolist() == stream.words(range(4)).tolist()[2:]
    True
    >>> stream
    <KeyStream of 'sex'>
    """

    __slots__ = ("_extras", "_key", "_words", "path")

    def __init__(self, key: bytes, *path: str) -> None:
        self._key = checked_key(key)
        self.path = path
        self._words = derived_key(self._key, "words", *path)
        self._extras = derived_key(self._key, "extras", *path)

    def child(self, name: str) -> "KeyStream":
        """Return an independent stream below this one, for one part of a joint draw."""
        return KeyStream(self._key, *self.path, name)

    def words(self, rows: Rows) -> NDArray[np.uint32]:
        if isinstance(rows, range):
            return contiguous_words(self._words, rows)
        blocks = encrypted_blocks(self._words, rows // _WORDS_PER_BLOCK)
        return blocks[np.arange(len(rows)), rows % _WORDS_PER_BLOCK]

    def extras(self, rows: Rows) -> NDArray[np.uint32]:
        """Return 21 further bits of each row, from the second stream."""
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
        return encrypted_blocks(self._extras, numbers)[:, 0] >> np.uint32(WORD_BITS - EXTRA_BITS)

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyStream, (self._key, *self.path)

    def __repr__(self) -> str:
        return f"<KeyStream of {'/'.join(self.path)!r}>"


def derived_key(key: bytes, *parts: str) -> bytes:
    """Return a key of its own for a purpose; no two lists of parts give the same message."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in ("pramble 1", *parts)]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in encoded)
    return hmac.digest(key, message, hashlib.sha256)


def contiguous_words(key: bytes, rows: range) -> NDArray[np.uint32]:
    """Return consecutive words of the counter-mode stream, wherever they start."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    block, skipped = divmod(rows.start, _WORDS_PER_BLOCK)
    size = (skipped + len(rows)) * 4
    buffer = np.empty(size + _BLOCK, dtype=np.uint8)
    counter = modes.CTR(block.to_bytes(_BLOCK, "big"))
    Cipher(algorithms.AES(key), counter).encryptor().update_into(_zeros(size), buffer.data)
    words = buffer[:size].view("<u4")[skipped:]
    return words.astype(np.uint32, copy=False)


def encrypted_blocks(key: bytes, numbers: Integers) -> NDArray[np.uint32]:
    """Return blocks of the counter-mode stream at any positions, four words each.

    Block i of the stream is the encryption of the counter i, so one pass of AES over a list of
    counters reaches them all.
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    counters = np.zeros((len(numbers), 2), dtype=">u8")
    counters[:, 1] = numbers
    cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305 - counters never repeat: this is counter mode
    encrypted = cipher.encryptor().update(counters.tobytes())
    return np.frombuffer(encrypted, dtype="<u4").reshape(-1, _WORDS_PER_BLOCK)


def checked_rows(rows: NDArray[Any]) -> Integers:
    if len(rows) and not (int(rows.min()) >= 0 and int(rows.max()) < _LAST_ROW):
        raise InvalidInput(
            f"Row numbers must lie in 0..2**62; found {int(rows.min())} to {int(rows.max())}."
        )
    return rows.astype(np.int64, copy=False)


_ZEROS = bytes(1 << 18)


def _zeros(size: int) -> memoryview:
    return memoryview(_ZEROS if size <= len(_ZEROS) else bytes(size))[:size]
