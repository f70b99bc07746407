"""Copies as the package reads them back, their names, and formats that are cut on purpose."""

import shutil
import time
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyreadstat
import pytest
from tests.releasing import test_copies as public
from tests.releasing.test_copies import COPIES, N, refused, small

import pramble
from pramble.data.open import open_records
from pramble.releasing.folder.layout import WRITTEN
from pramble.releasing.write.copies import LIMITED, variable_names, write_copies

copies_module = import_module("pramble.releasing.write.copies")
people, folder = public.people, public.folder


def read(path):
    """A copy through the package's own door."""
    reading = WRITTEN if path.suffix == ".csv" else None
    records = open_records(path, reading)
    return pa.Table.from_batches(list(records.batches()), schema=records.schema)


def texts(values):
    """Values as texts of labels: what is compared."""
    plain = [None if one is None or one == "" else one for one in values.to_pylist()]
    return [str(one).lower() if isinstance(one, bool) else one for one in plain]


def test_the_workbook_reads_back(folder):
    table = pramble.open_release(folder).data
    found = read(folder / "data.xlsx")
    assert found.column_names == table.column_names
    # The reader takes an empty row for none.
    shown = [any(v is not None for v in row.values()) for row in table.to_pylist()]
    for column in table.column_names:
        want = [v for v, there in zip(table[column].to_pylist(), shown, strict=True) if there]
        got = found[column].to_pylist()
        if pa.types.is_floating(table[column].type):
            # A workbook holds sixteen digits.
            np.testing.assert_allclose(np.array(got, float), np.array(want, float), rtol=1e-15)
        else:
            assert got == want, column


@pytest.mark.parametrize(("ending", "reader"), [("dta", "read_dta"), ("sav", "read_sav")])
def test_statistical_copies_read_back_with_their_labels(folder, ending, reader):
    release = pramble.open_release(folder)
    table = release.data
    path = folder / f"data.{ending}"
    found = read(path)
    _, about = getattr(pyreadstat, reader)(str(path), metadataonly=True)
    names = variable_names(table.column_names)
    assert found.column_names == list(names.values())
    assert about.column_names_to_labels == {names[c]: c for c in table.column_names}
    labels = about.variable_value_labels
    for column in table.column_names:
        values = found[names[column]].to_pylist()
        known = labels.get(names[column])
        if known:
            values = [None if v is None else known[v] for v in values]
        want = texts(table[column])
        if pa.types.is_floating(table[column].type) or pa.types.is_integer(table[column].type):
            np.testing.assert_array_equal(np.array(values, float), np.array(want, float))
        elif column == "seen":
            assert [abs((a - b).total_seconds()) < 1e-4 for a, b in
                    zip(values, want, strict=True)] == [True] * N  # fmt: skip
        else:
            assert values == want, column
        if column in release.plan.columns and known and column != "member":
            declared = [
                v for v in release.plan.column_labels()[column].released.values if v is not None
            ]
            assert list(known.values()) == declared


def test_a_copy_of_the_same_data_has_the_same_bytes(folder, people, tmp_path):
    """Also at another time: written again from the folder, a second later."""
    again = shutil.copytree(folder, tmp_path / "again")
    release = pramble.open_release(again)
    before = {copy["file"]: copy["sha256"] for copy in release.manifest["copies"]}
    time.sleep(1.1)
    for copy in write_copies(release, COPIES):
        assert copy["sha256"] == before[copy["file"]]


@pytest.mark.parametrize(
    ("word", "field", "words"),
    [("excel", "most_rows", "Excel holds 39 rows of data; the release has 40. Leave 'excel' out"),
     ("stata", "most_columns", "Stata holds 1 columns; the release has 2")],
)  # fmt: skip
def test_too_many_rows_or_columns_are_refused(tmp_path, monkeypatch, word, field, words):
    assert LIMITED["excel"].most_rows == 1_048_575
    from dataclasses import replace

    limit = {"most_rows": 39, "most_columns": 1}[field]
    own = {**LIMITED, word: replace(LIMITED[word], **{field: limit})}
    monkeypatch.setattr("pramble.releasing.write.copies.LIMITED", own)
    refused(small(other=list(range(40))), tmp_path / "out", words)


def test_a_missing_library_is_refused_by_the_name_of_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(copies_module, "find_spec", lambda _: None)
    refused(small(), tmp_path / "out", r"pip install pramble\[statfiles\], or leave 'stata' out")
    pramble.release(
        small(), tmp_path / "out", columns={"sex": {"categories": ["f", "m"]}}, alpha=3.0,
        copies=["csv"], ledger=False, pages=False, design="paper",
    )  # fmt: skip


def test_names_of_variables_are_what_both_programs_take():
    columns = ["a" * 40, "a" * 41, "_", "", "ß", "str5", "Sex", "sex", "x.y", "1", "naïve é"]
    found = list(variable_names(columns).values())
    assert len({name.casefold() for name in found}) == len(columns)
    for name in found:
        assert 1 <= len(name) <= 32
        assert name[0].isalpha()
        assert name.isascii()
        assert name.replace("_", "a").isalnum()
        assert not name.endswith("_")
