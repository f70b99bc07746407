"""Copies as the package reads them back, their names, and formats that are cut on purpose."""

import shutil
import time
from importlib import import_module

import pytest
from tests.releasing import test_copies as public
from tests.releasing.test_copies import COPIES, refused, small

import pramble
from pramble.releasing.write.copies import LIMITED, variable_names, write_copies

copies_module = import_module("pramble.releasing.write.copies")
people, made, folder = public.people, public.made, public.folder


def test_a_copy_of_the_same_data_has_the_same_bytes(folder, tmp_path):
    """Also at another time: written again from the folder, a second later."""
    again = shutil.copytree(folder, tmp_path / "again")
    release = pramble.open_release(again)
    before = {copy["file"]: copy["sha256"] for copy in release.manifest["copies"]}
    time.sleep(1.1)
    for copy in write_copies(release.synthetic, release.plan, again, COPIES):
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
        assert 1 <= len(name) <= 31
        assert name[0].isalpha()
        assert name.isascii()
        assert name.replace("_", "a").isalnum()
        assert not name.endswith("_")
