"""Which file is of which format."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from pramble.errors import InvalidData

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv.gz",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".dta": "stata",
    ".sav": "spss",
    ".zsav": "spss",
    ".por": "spss portable",
    ".sas7bdat": "sas",
    ".xpt": "sas transport",
}
WRITTEN = ("parquet", "csv", "csv.gz", "arrow")


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format, with two parts for a compressed file."""
    name = path.name.lower()
    return next((suffix for suffix in sorted(SUFFIXES, key=len)[::-1] if name.endswith(suffix)), "")


def source_format(path: Path) -> str:
    """Return the format of a file to read."""
    suffix = suffix_of(path)
    if not suffix:
        raise InvalidData(f"{path} has no known ending; a data file ends in {', '.join(SUFFIXES)}.")
    return SUFFIXES[suffix]


def target_format(path: Path) -> str:
    """Return the format of a file to write."""
    found = SUFFIXES.get(suffix_of(path))
    if found not in WRITTEN:
        endings = [suffix for suffix, name in SUFFIXES.items() if name in WRITTEN]
        raise InvalidData(f"{path} cannot be written; an output ends in {', '.join(endings)}.")
    return found


def target_name(source: Path) -> Path:
    """Return the name of the outcome within a folder: the same, or Parquet's if never written."""
    suffix = suffix_of(source)
    if SUFFIXES[suffix] in WRITTEN:
        return source
    return source.with_name(source.name[: -len(suffix)] + ".parquet")


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
