"""A central release whose folder was changed in any way is refused in a sentence."""

import shutil
from fractions import Fraction

import pyarrow.parquet as pq
import pytest
from tests.releasing.conftest import crowd, plan_that_keeps, release_by, rewrite, sha256

import pramble
from pramble.errors import InvalidData

FILE = "randomised.parquet"


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A release of people with two rows each."""
    folder = tmp_path_factory.mktemp("tampering") / "out"
    release_by(
        plan_that_keeps(1.0), crowd(300), folder, design="records", central=3.0, delta=1e-5,
        rows_per_person=2, tables=2,
    )  # fmt: skip
    pramble.open_release(folder)
    return folder


@pytest.fixture
def folder(honest, tmp_path):
    return shutil.copytree(honest, tmp_path / "out")


def refused(folder, words):
    with pytest.raises(InvalidData, match=words) as caught:
        pramble.open_release(folder)
    told = str(caught.value)
    assert told.endswith(".")
    assert len(told) < 600


def flip(folder, name, place):
    content = bytearray((folder / name).read_bytes())
    content[place] ^= 1
    (folder / name).write_bytes(content)


def restate(folder):
    """Let the manifest fit the file."""
    path = folder / FILE
    rewrite(
        folder,
        lambda d: d["data"].update(bytes=path.stat().st_size, sha256=sha256(path)),
    )


def swap_columns(folder):
    """Columns in another order, with size and hash that fit: their names still tell."""
    path = folder / FILE
    pq.write_table(pq.read_table(path).select(["age", "ill", "sex"]), path)
    restate(folder)


def shorten(folder):
    """The file loses a row, and the manifest fits it."""
    path = folder / FILE
    pq.write_table(pq.read_table(path).slice(1), path)
    restate(folder)


def link(folder):
    target = folder.parent / "elsewhere.parquet"
    (folder / FILE).rename(target)
    (folder / FILE).symlink_to(target)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: (f / FILE).unlink(), r"lacks its data file 'randomised\.parquet'"),
        (swap_columns, "lists the columns"),
        (shorten, "states 300 rows; the data file has 299"),
        (lambda f: flip(f, FILE, 40), "SHA-256 differs"),
        (lambda f: flip(f, FILE, -20), "SHA-256 differs"),
        (lambda f: (f / FILE).write_bytes((f / FILE).read_bytes() + b"\0"), "bytes"),
        (lambda f: shutil.copy(f / FILE, f / "randomised.csv"), r"'randomised\.csv', which"),
        (lambda f: (f / "randomised").mkdir(), "does not state"),
        (link, "symbolic link"),
    ],
)
def test_changed_files_are_refused(folder, change, words):
    change(folder)
    refused(folder, words)


def exactly(document, **numbers):
    """Set numbers of a guarantee with what it states exactly."""
    for name, value in numbers.items():
        document[name], document[f"{name}_exact"] = value, str(Fraction(value))


def promise(document):
    return document["promise"]["central"]["spent"]


def limit(document):
    return document["promise"]["limit"]


def mechanism(document):
    return document["plan"]["branches"][0]["blocks"][0]["mechanism"]


def stronger(document):
    """A mechanism with less noise than the one the promise was proven for."""
    mechanism(document)["off"] //= 4


def lower_both(document):
    exactly(promise(document), epsilon=promise(document)["epsilon"] * 0.99)
    exactly(limit(document), epsilon=promise(document)["epsilon"])


def one_row_each(document):
    """People of one row instead of two: all that is promised seems to be half as much."""
    local = document["promise"]["local"]
    del local["rows_per_person"]
    exactly(local, alpha=document["design"]["alpha"])


def another_epsilon(document):
    """What a registry reads, but not what is proven."""
    exactly(document["promise"]["spent"], epsilon=0.001)


def alpha_as_spent(document):
    document["promise"]["spent"] = document["promise"].pop("local")


def untouched(document):
    document["columns"][0] = {"name": "sex", "randomised": False}


def half_prior(document):
    prior = document["design"]["prior"]
    exactly(prior, alpha=0.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: promise(d).update(epsilon=0.5), "must state one epsilon"),
        (lambda d: exactly(promise(d), epsilon=0.5), "which its plan does not prove"),
        (lower_both, "which its plan does not prove"),
        (lambda d: exactly(promise(d), epsilon=-1.0), "must be at least 0"),
        (lambda d: exactly(promise(d), epsilon=4.0), "above its"),
        (lambda d: exactly(promise(d), delta=1e-9), "which its plan does not prove"),
        (lambda d: exactly(promise(d), delta=1e-4), "above its"),
        (lambda d: exactly(promise(d), delta=0.0), "does not prove"),
        (lambda d: exactly(promise(d), delta=2.0), "δ ≤ 1"),
        (lambda d: promise(d).update(delta="1e-5"), "must be of type number"),
        (lambda d: exactly(limit(d), epsilon=1e-3), "above its"),
        (lambda d: exactly(limit(d), delta=1e-9), "above its"),
        (lambda d: limit(d).update(notion="record"), "damaged"),
        (lambda d: promise(d).pop("rows_per_person"), "2 in the local one"),
        (one_row_each, "2 rows in its central promise"),
        (another_epsilon, "what it spent is not what it proves"),
        (alpha_as_spent, "must state a local promise"),
        (lambda d: d["promise"].pop("central"), "above its"),
        (lambda d: d.update(rows=299), "states 299 rows|does not prove"),
        (lambda d: d.update(rows=30_000), "states 30000 rows"),
        (lambda d: d.update(rows=0), "states 0 rows|does not prove"),
        (stronger, "does not satisfy"),
        (lambda d: mechanism(d).update(kind="magic"), "mechanism"),
        (lambda d: mechanism(d)["categories"].reverse() or mechanism(d).update(off=1), "satisfy"),
        (lambda d: d["design"].update(alpha=0.5), "does not satisfy"),
        (lambda d: d["plan"]["branches"][0]["blocks"].pop(), "as randomised"),
        (lambda d: d["data"].update(file="../randomised.parquet"), "must match"),
        (lambda d: d["data"].update(file="/etc/passwd"), "must match"),
        (lambda d: d["data"].update(file="randomised"), "of a file in pieces"),
        (lambda d: d["data"].update(sha256="0" * 64), "SHA-256 differs"),
        (lambda d: d.pop("data"), "must state data or tables"),
        (lambda d: d.update(views=[d["data"]]), "unknown field"),
        (untouched, "as randomised"),
        (half_prior, "is not private and spends"),
        (lambda d: d["promise"].update(conditional_on_prior=True), "contradicts"),
        (lambda d: d.pop("plan"), "must have 'plan'"),
        (lambda d: d["plan"].update(schema="pramble/plan/2"), "damaged"),
        (lambda d: d["columns"].reverse(), "lists the columns"),
        (lambda d: d["columns"].pop(), "as randomised"),
        (lambda d: d.update(schema="pramble/release/3"), "reads releases of schema"),
    ],
)
def test_changed_manifests_are_refused(folder, change, words):
    rewrite(folder, change)
    refused(folder, words)


def test_what_a_curator_may_add_is_no_tampering(folder):
    """A page beside the data, or an analyst's own file, is not data of the release."""
    (folder / "README.txt").write_text("thank you")
    assert pramble.open_release(folder).central.rows == 2


def test_whatever_byte_of_the_promise_changes_no_smaller_one_is_told(folder):
    """Bytes of what is stated of readers in turn, by one: refused, or what is told is no less."""
    path = folder / "manifest.json"
    content = path.read_bytes()
    stated = pramble.open_release(folder).central
    start = content.index(b'"central": {"spent"')
    places = range(start, content.index(b'"lower"'), 5)
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        try:
            found = pramble.open_release(folder).central
        except InvalidData:
            continue
        assert found.epsilon * Fraction(1 + 1e-6) >= stated.epsilon
        assert found.delta == stated.delta
    assert len(places) > 40
