"""Opening a release: damage is named in a sentence."""

import pickle
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import PLAN, rewrite, sha256

import pramble
from pramble.errors import InvalidData


@pytest.fixture(scope="module")
def made(people, tmp_path_factory):
    root = tmp_path_factory.mktemp("opening")
    pq.write_table(people, root / "people.parquet")
    return pramble.release(
        root / "people.parquet", root / "out", plan=PLAN, ledger=False, pages=False
    ).folder


@pytest.fixture
def folder(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "out"))


def block(document):
    """Of the first column that the plan randomises."""
    return document["plan"]["branches"][0]["blocks"][0]


def spent(document):
    return document["promise"]["spent"]


def test_a_changed_data_file_is_refused(folder):
    path = folder / "randomised.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(InvalidData, match="SHA-256 differs"):
        pramble.open_release(folder)
    path.unlink()
    with pytest.raises(InvalidData, match="lacks its data file"):
        pramble.open_release(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("rows"), "must have 'rows'"),
        (lambda d: d.update(schema="pramble/release/9"), "reads releases of schema"),
        (lambda d: d.update(rows=7), "states 7 rows"),
        (lambda d: d.update(rows=True), "must be of type integer"),
        (lambda d: d.update(extra=1), "unknown field 'extra'"),
        (lambda d: d["columns"].reverse(), "lists the columns"),
        (lambda d: block(d).pop("mechanism"), "A block has the fields"),
        (lambda d: block(d)["mechanism"].update(kind="magic"), "mechanism of SEX"),
        (lambda d: block(d).update(columns=["AGE"]), "AGE"),
        (lambda d: block(d).update(columns=["RACESING"]), "its plan randomises"),
        (lambda d: d["plan"]["branches"][0].update(share="1/2"), "must sum to 1"),
        (lambda d: d["plan"]["branches"][0].update(share=0.5), "an exact fraction"),
        (lambda d: d["design"]["parts"][0].update(alpha=0.5), "states α = 0.5 for column 'SEX'"),
        (lambda d: d["design"]["parts"][0].pop("alpha"), "must have 'alpha'"),
        (lambda d: spent(d).update(alpha=0.25), "must state one α"),
        (lambda d: spent(d).update(alpha_exact="1/4", alpha=0.25), "its columns spend"),
        (lambda d: spent(d).update(alpha_exact="1/0"), "is no number"),
        (lambda d: spent(d).update(notion="central"), "A central promise has"),
        (lambda d: spent(d).update(notion="none"), "must be one of"),
        (lambda d: d["data"].update(file="../people.parquet"), "must match"),
        (
            lambda d: block(d)["mechanism"].update(categories=["Male", "Nobody"]),
            "its mechanism cannot release",
        ),
    ],
)
def test_a_changed_manifest_is_refused(folder, change, message):
    rewrite(folder, change)
    with pytest.raises(InvalidData, match=message):
        pramble.open_release(folder)


def nested(depth):
    mechanism = {"kind": "uniform", "categories": ["Male", "Female"], "off": 1}
    for _ in range(depth):
        mechanism = {"kind": "product", "factors": [mechanism]}
    return mechanism


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["columns"][0].update(alpha=float("inf")),
        lambda d: spent(d).update(alpha_exact="9" * 5000),
        lambda d: block(d).update(mechanism=nested(200)),
        lambda d: block(d)["mechanism"].update(kind=["uniform"]),
        lambda d: block(d)["mechanism"].update(categories={"range": 10**12}, off=1),
        lambda d: block(d)["mechanism"].update(categories={"range": 10**30}, off=1),
        lambda d: d.update(plan={"schema": "pramble/plan/1", "branches": [7]}),
    ],
)
def test_a_forged_manifest_is_refused_in_a_sentence(folder, change):
    rewrite(folder, change)
    with pytest.raises(InvalidData, match=r"manifest\.json is damaged"):
        pramble.open_release(folder)


@pytest.mark.parametrize("values", [[["Male"]] * 6000, [{"a": 1}] * 6000, [True] * 6000])
def test_forged_data_is_refused_in_a_sentence(folder, values):
    path = folder / "randomised.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(0, "SEX", pa.array(values)), path)
    size = path.stat().st_size
    rewrite(folder, lambda d: d["data"].update(sha256=sha256(path), bytes=size))
    ones = {"range": 2}
    rewrite(folder, lambda d: block(d)["mechanism"].update(categories=ones))
    with pytest.raises(InvalidData, match="Column 'SEX'"):
        pramble.open_release(folder)


def test_a_number_of_thousands_of_digits_is_refused(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"rows": 6000', '"rows": ' + "9" * 5000))
    with pytest.raises(InvalidData, match="as JSON"):
        pramble.open_release(folder)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"schema": "pramble/release/8"}', "[" * 9999]
)
def test_a_manifest_that_is_none_is_refused(folder, text):
    (folder / "manifest.json").write_text(text)
    with pytest.raises(InvalidData, match=r"manifest\.json"):
        pramble.open_release(folder)


def test_a_folder_without_manifest_is_no_release(tmp_path):
    with pytest.raises(InvalidData, match="is no release"):
        pramble.open_release(tmp_path)


def test_releases_pickle_without_their_data(folder):
    opened = pramble.open_release(folder)
    assert opened.data.num_rows == 6000
    again = pickle.loads(pickle.dumps(opened))
    assert "data" not in again.__dict__
    assert again.data.equals(opened.data)
    assert again.plan == opened.plan
