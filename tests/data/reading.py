"""Any file as an Arrow table, through the public door: randomised by a plan of no columns."""

import tempfile
from pathlib import Path

import pyarrow.parquet as pq

import pramble


def read(path, **said):
    """Return what a file, folder or pattern holds, read as it was said."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "read.parquet"
        pramble.perturb_file(path, target, {}, reading=said)
        return pq.read_table(target)


def levels(data, column, **said):
    """Return the labels of a column, in order, and how often each is there."""
    e = pramble.estimate(data, {}, by=column, reading=said)
    table = e.to_arrow()
    shares = table["share"].to_pylist()
    return dict(zip(table[column].to_pylist(), [round(p * e.n) for p in shares], strict=True))
