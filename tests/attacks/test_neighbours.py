"""The law of the container: with the same released values, neighbouring files give the same bytes.

Two files differ in one person. The engine is made to draw the same outputs for both, whatever the
inputs, so that every byte that still differs says something that α does not cover.
"""

import hashlib
import json

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pramble
from pramble.engine.columns import Column
from pramble.releasing.write import check

LABELS = ["f", "m", "a label that is much longer than the others, with a comma", 'quo"ted', None]
SEX = pramble.randomized_response(LABELS, 1.0)
CODE = pramble.randomized_response([0, 1, 2, None], 1.0)
PLAN = {"sex": SEX, "code": CODE}
FORMATS = ["parquet", "csv", "tsv", "arrow"]


def forced(name, rows, outputs):
    """An output for each row that depends on its number and column alone."""
    numbers = np.arange(rows.start, rows.stop) if isinstance(rows, range) else rows
    return (numbers * 2654435761 + len(name)) % outputs


@pytest.fixture(autouse=True, scope="module")
def same_outputs():
    """Draw the same outputs whatever the inputs are; the check of change rates is beside this."""

    def draw(self, codes, rows):
        return forced(self.name, rows, self.mechanism.shape[1]).astype(codes.dtype)

    def passes(name, *_):
        return check.Check(f"rate of change in {name}", passed=True, detail="")

    patch = pytest.MonkeyPatch()
    patch.setattr(Column, "draw", draw)
    patch.setattr(check, "change_check", passes)
    yield
    patch.undo()


people = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from([0, 1, 2, None]), st.integers(0, 9)),
    min_size=2,
    max_size=40,
)


def table_of(rows, *, coded):
    sex, code, age = zip(*rows, strict=True)
    text = pa.array(sex, pa.string())
    return pa.table(
        {
            "sex": text.dictionary_encode() if coded else text,
            "code": pa.array(code, pa.int64()),
            "age": pa.array(age, pa.int64()),
            "town": pa.array([f"town {year % 3}" for year in age]).dictionary_encode(),
        }
    )


def write(table, path):
    if path.suffix == ".csv":
        pl.from_arrow(table).write_csv(path, quote_style="non_numeric")
    else:
        pq.write_table(table, path)
    return path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("source", ["parquet", "csv"])
@pytest.mark.parametrize("target", FORMATS)
@settings(max_examples=12)
@given(rows=people, place=st.integers(0, 39), value=st.sampled_from(LABELS), coded=st.booleans())
def test_perturb_file_writes_the_same_bytes(
    tmp_path_factory, source, target, rows, place, value, coded
):
    place %= len(rows)
    other = [*rows[:place], (value, *rows[place][1:]), *rows[place + 1 :]]
    folder = tmp_path_factory.mktemp("neighbours")
    found = []
    for name, people in (("a", rows), ("b", other)):
        path = write(table_of(people, coded=coded), folder / f"{name}.{source}")
        out = folder / f"{name}-out.{target}"
        pramble.perturb_file(path, out, PLAN, key=bytes(32), reading={"quoted_missing": False})
        found.append(digest(out))
    assert found[0] == found[1]


@pytest.mark.parametrize("target", FORMATS)
@settings(max_examples=8)
@given(rows=people, place=st.integers(0, 39), value=st.sampled_from([0, 1, 2, None]))
def test_release_writes_the_same_folder(tmp_path_factory, target, rows, place, value):
    place %= len(rows)
    other = [*rows[:place], (rows[place][0], value, rows[place][2]), *rows[place + 1 :]]
    folder = tmp_path_factory.mktemp("neighbours")
    found = []
    for name, people in (("a", rows), ("b", other)):
        columns = {
            "sex": {"categories": [*LABELS[:-1]], "missing": True},
            "code": {"categories": [0, 1, 2], "missing": True},
        }
        r = pramble.release(
            table_of(people, coded=True),
            folder / name,
            columns=columns,
            alpha=2.0,
            prior="uniform",
            output=target,
            shuffle=False,
            ledger=False,
            pages=False,
        )
        manifest = json.loads((r.folder / "manifest.json").read_text())
        manifest.pop("created")
        found.append((digest(r.folder / manifest["data"]["file"]), manifest))
    assert found[0] == found[1]


def test_the_law_would_catch_a_dictionary_of_the_source(tmp_path, monkeypatch):
    """A writer that keeps the source's dictionary breaks the law."""
    from pramble.engine import canonical

    monkeypatch.setattr(canonical, "sorted_dictionary", lambda values: values)
    found = []
    for name, order in (("a", [0, 1, 2]), ("b", [2, 1, 0])):
        towns = pa.DictionaryArray.from_arrays(
            pa.array([order.index(i) for i in (0, 1, 2)] * 5), [f"town {i}" for i in order]
        )
        table = pa.table({"code": pa.array([0, 1, 2] * 5), "town": towns})
        path, out = tmp_path / f"{name}.arrow", tmp_path / f"{name}.parquet"
        pa.feather.write_feather(table, path)
        pramble.perturb_file(path, out, {"code": CODE}, key=bytes(32))
        found.append(digest(out))
    assert found[0] != found[1]
