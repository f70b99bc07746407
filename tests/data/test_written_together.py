"""Columns of few labels are written together, and every byte is that of columns written alone."""

import io

import numpy as np
import pyarrow as pa
import pytest

from pramble.data.formats.delimited import DelimitedWriter

SETS = (
    ["a", "b", "c"],
    ["x,y", 'q"q', "", "z"],
    ["line\nbreak", "é"],
    [f"v{i}" for i in range(90)],
)


def written(batch):
    sink = io.BytesIO()
    writer = DelimitedWriter(sink, batch.schema, separator=",")
    writer.write(batch)
    writer.write(batch.slice(len(batch) // 3, len(batch) // 2))
    return sink.getvalue()


@pytest.mark.parametrize("seed", range(12))
def test_coded_columns_are_written_as_plain_ones(seed):
    rng = np.random.default_rng(seed)
    n, names = int(rng.integers(1, 600)), []
    plain, coded = [], []
    for number in range(int(rng.integers(1, 6))):
        labels = SETS[rng.integers(len(SETS))]
        gone = rng.random(n) < 0.1 * (number % 2)
        drawn = rng.integers(len(labels), size=n)
        values = [None if g else labels[i] for i, g in zip(drawn, gone, strict=True)]
        plain.append(pa.array(values, pa.string()))
        coded.append(plain[-1].dictionary_encode() if rng.random() < 0.8 else plain[-1])
        names.append(f"c{number}")
    one, two = (pa.RecordBatch.from_arrays(columns, names=names) for columns in (plain, coded))
    assert written(one) == written(two)
