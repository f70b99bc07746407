"""The key that a release draws with: bound to its file and its mechanisms."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from pramble.engine.keystream import checked_key, derived_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pramble.mechanisms.base import Mechanism

BLOCK = 1 << 20


def bound_key(key: bytes, source: Path, *, mechanisms: Mapping[str, Mechanism]) -> bytes:
    r"""Return a key of its own for one content of the source and one set of mechanisms.

    Two releases that shared their random bits would not add up to :math:`\alpha_1 + \alpha_2`:
    with another matrix, or another record in the same row, a pair of released values can be
    impossible under one true value and possible under the next. A private prior is drawn anew at
    every run, so the same call may well have another matrix. Bits of a bound key agree only where
    file and mechanisms agree, and then the two releases are one.

    Parameters
    ----------
    key : bytes
        32 secret bytes.
    source : Path
        The confidential file, or folder of files; its content counts, not its name.
    mechanisms : mapping from column to Mechanism

    Returns
    -------
    bytes
    """
    laws = {name: mechanism.to_json() for name, mechanism in mechanisms.items()}
    return derived_key(
        checked_key(key), "release", content_hash(source), json.dumps(laws, sort_keys=True)
    )


def content_hash(source: Path) -> str:
    """Return the SHA-256 of a file, or of the files of a folder in order."""
    paths = [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
    digest = sha256()
    for path in paths:
        digest.update(path.stat().st_size.to_bytes(8, "big"))
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()
