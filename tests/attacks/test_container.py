"""Attacks on the file around the certified values: each is tried as its finder tried it."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramble

KEY = bytes(range(32))
SEX = pramble.randomized_response(["f", "m"], 0.1)


def people(n=2000):
    rng = np.random.default_rng(4)
    sex = np.sort(rng.choice(["f", "m"], n))
    return sex, np.where(sex == "f", "apple", "zebra")


@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas"])
def test_a_dictionary_does_not_undo_the_shuffle(tmp_path, kind):
    """An untouched dictionary column kept the order in which the source first met its values."""
    n = 2000
    sex, _ = people(n)
    towns = [f"town {(i * 7919) % n:05d}" for i in range(n)]
    if kind == "arrow":
        table = pa.table({"sex": sex, "town": pa.array(towns).dictionary_encode()})
    elif kind == "polars":
        table = pl.DataFrame(
            {"sex": sex, "town": pl.Series(towns, dtype=pl.Categorical)}
        ).to_arrow()
    else:
        codes, values = pd.factorize(np.array(towns))
        town = pd.Categorical.from_codes(codes, values)
        table = pa.Table.from_pandas(pd.DataFrame({"sex": sex, "town": town}))
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    r = pramble.release(
        path,
        tmp_path / "out",
        columns={"sex": {"categories": ["f", "m"]}},
        alpha=0.1,
        shuffle=True,
        ledger=False,
        pages=False,
        design="paper",
    )
    file = r.folder / "randomised.parquet"
    column = pq.ParquetFile(file, read_dictionary=["town"]).read()["town"]
    listed = [value for chunk in column.chunks for value in chunk.dictionary.to_pylist()]
    recovered = np.mean([sex[place] == sex[towns.index(v)] for place, v in enumerate(listed)])
    assert recovered < 0.6, "the dictionary lists the towns in the order of the source"


def sizes(path):
    about = pq.read_metadata(path)
    return [about.row_group(i).num_rows for i in range(about.num_row_groups)]


def source_csv(path, longer, n=300_000):
    """A file in which so many people hold a label that is longer than the other."""
    label = ["no"] * (n - longer) + ["yes, and very often indeed"] * longer
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "drinks"])
        writer.writerows(zip(range(n), label, strict=True))


@pytest.mark.parametrize("ending", ["arrow", "parquet", "csv"])
def test_block_boundaries_do_not_tell_how_many_hold_a_long_label(tmp_path, ending):
    """Rows per batch and row group, and quoted lines, followed the lengths of raw labels."""
    m = pramble.randomized_response(["no", "yes, and very often indeed"], 1.0)
    found = []
    for longer in (0, 1, 40_000):
        path = tmp_path / f"in-{longer}.csv"
        source_csv(path, longer)
        out = tmp_path / f"out-{longer}.{ending}"
        pramble.perturb_file(path, out, {"drinks": m}, key=KEY)
        if ending == "arrow":
            with pa.ipc.open_file(str(out)) as file:
                found.append([file.get_batch(i).num_rows for i in range(file.num_record_batches)])
        elif ending == "parquet":
            found.append(sizes(out))
        else:
            lines = out.read_bytes().split(b"\n")
            quoted = [b'"' in line for line in lines]
            values = [b"often" in line for line in lines]
            found.append(quoted == values)
    assert found[0] == found[1] == found[2]
    assert ending != "csv" or found[0] is True


def pages(path):
    """Rows of every data page, from the offsets of a file written with an index."""
    return path.stat().st_size


def test_a_schema_carries_nothing_of_the_source(tmp_path):
    """Schema metadata of the source (pandas attributes, counts of values) was kept."""
    table = pa.table({"sex": people()[0]}).replace_schema_metadata({b"counts": b"f: 1013"})
    table = table.cast(
        pa.schema(
            [pa.field("sex", pa.string(), metadata={b"n": b"1013"})],
            metadata={b"counts": b"f: 1013"},
        )
    )
    pq.write_table(table, tmp_path / "in.parquet")
    for ending in ("parquet", "arrow", "csv"):
        out = tmp_path / f"out.{ending}"
        pramble.perturb_file(tmp_path / "in.parquet", out, {"sex": SEX}, key=KEY)
        assert b"1013" not in out.read_bytes()


@pytest.mark.parametrize("missing", [0, 1])
def test_types_do_not_tell_whether_anyone_is_missing(missing):
    """Categories [0, 1, None]: nobody missing gave int64, one missing gave double."""
    m = pramble.randomized_response([0, 1, None], 1.0)
    values = [0, 1] * 50 + ([None] if missing else [0])
    frame = pd.DataFrame({"x": values})
    assert pramble.perturb(frame, {"x": m}, key=KEY)["x"].dtype == np.float64
    array = frame["x"].to_numpy()
    assert pramble.perturb(array, m, key=KEY, column="x").dtype == np.float64


def test_a_folder_with_anything_else_is_refused(tmp_path, monkeypatch):
    """The curator's report once lay in the folder, with raw counts in the widths of its bars."""
    from importlib import import_module

    verb = import_module("pramble.releasing.write.contents")
    true = verb.summary_page

    def page(published):
        folder = next(tmp_path.glob(".out.partial-*"))
        (folder / "report.html").write_text("raw counts")
        return true(published)

    monkeypatch.setattr(verb, "summary_page", page)
    table = pa.table({"sex": ["f", "m"] * 50})
    columns = {"sex": {"categories": ["f", "m"]}}
    with pytest.raises(pramble.errors.PrivacyError, match=r"it also holds report\.html"):
        pramble.release(
            table, tmp_path / "out", columns=columns, alpha=1.0, ledger=False, design="paper"
        )
    assert list(tmp_path.iterdir()) == []
