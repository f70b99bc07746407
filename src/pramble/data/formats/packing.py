"""Files that are compressed whole."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

PACKINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
GZIP_LEVEL = 4


def packing_of(path: Path) -> str | None:
    """Return how a file is compressed, as Arrow calls it."""
    return PACKINGS.get(path.suffix.lower())


@contextmanager
def unpacked(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a file for reading, unpacked; give the stream, and the raw file below it."""
    packing = packing_of(path)
    with pa.OSFile(str(path)) as raw:
        yield (pa.CompressedInputStream(raw, packing) if packing else raw), raw


@contextmanager
def packed(path: Path, raw: IO[bytes]) -> Iterator[Any]:
    """Give a file that packs what is written, as the path's ending says; no time stamp is kept."""
    packing = packing_of(path)
    if packing is None:
        yield raw
    elif packing == "gzip":
        with gzip.GzipFile("", "wb", GZIP_LEVEL, raw, mtime=0) as zipped:
            yield zipped
    else:
        with pa.CompressedOutputStream(pa.PythonFile(raw, "w"), packing) as zipped:
            yield zipped
