"""A release in pieces whose folder was changed is refused in a sentence that names the piece."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from tests.releasing.conftest import LEAST_ROWS, release_by

import pramble
from pramble.errors import InvalidData


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Three pieces."""
    plan = pramble.Plan({"sex": pramble.randomized_response(["f", "m"], 1.0)})
    sex = np.random.default_rng(5).choice(["f", "m"], 2 * LEAST_ROWS + 1000)
    folder = tmp_path_factory.mktemp("changed") / "out"
    release_by(plan, pa.table({"sex": sex}), folder, rows_per_file=LEAST_ROWS)
    return folder


@pytest.fixture
def folder(honest, tmp_path):
    return shutil.copytree(honest, tmp_path / "out")


def spoiled(name):
    def spoil(folder):
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (folder / name).write_bytes(content)

    return spoil


def swapped(folder):
    one, two = folder / "randomised/part-00000.parquet", folder / "randomised/part-00001.parquet"
    one.rename(folder / "data/x")
    two.rename(one)
    (folder / "data/x").rename(two)


def linked(folder):
    (folder / "data").rename(folder / "elsewhere")
    (folder / "data").symlink_to(folder / "elsewhere")


def restated(change):
    def rewrite(folder):
        path = folder / "manifest.json"
        document = json.loads(path.read_text())
        change(document["data"])
        path.write_text(json.dumps(document))

    return rewrite


DAMAGES = {
    "missing": (
        lambda f: (f / "randomised/part-00001.parquet").unlink(),
        "lacks its data file 'randomised/part-00001.parquet'",
    ),
    "last missing": (
        lambda f: (f / "randomised/part-00002.parquet").unlink(),
        "lacks its data file 'randomised/part-00002.parquet'",
    ),
    "additional": (
        lambda f: shutil.copy(
            f / "randomised/part-00002.parquet", f / "randomised/part-00003.parquet"
        ),
        "holds 'randomised/part-00003.parquet', which",
    ),
    "hidden": (lambda f: (f / "data/.x").write_text("x"), "holds 'data/.x', which"),
    "whole beside": (lambda f: (f / "data.arrow").write_text("x"), "holds 'data.arrow', which"),
    "swapped": (swapped, "randomised/part-00000.parquet is not the file that was released"),
    "altered": (
        spoiled("randomised/part-00001.parquet"),
        r"randomised/part-00001.parquet is not the file that was released: its SHA-256",
    ),
    "longer": (
        lambda f: (f / "randomised/part-00001.parquet").write_bytes(b"x"),
        "randomised/part-00001.parquet is not the file that was released: it has",
    ),
    "a link": (linked, "symbolic link"),
    "stated short": (restated(lambda d: d["pieces"].pop()), "do not make up the whole"),
    "stated in another order": (restated(lambda d: d["pieces"].reverse()), "do not make up"),
    "stated rows": (restated(lambda d: d["pieces"][0].update(rows=5)), "do not make up"),
    "stated hash": (restated(lambda d: d.update(sha256="0" * 64)), "do not make up the whole"),
    "no pieces": (restated(lambda d: d.update(pieces=[])), "do not make up the whole"),
    "outside": (
        restated(lambda d: d["pieces"][0].update(file="data/../x.parquet")),
        "damaged: manifest.data.pieces",
    ),
    "not in pieces": (restated(lambda d: d.pop("pieces")), "is of a file in pieces"),
    "another format": (restated(lambda d: d.update(format="csv")), "do not make up the whole"),
    "an unwritten format": (restated(lambda d: d.update(format="sas")), "never written"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_changed_piece_is_refused_by_name(folder, damage):
    change, words = DAMAGES[damage]
    pramble.open_release(folder)
    change(folder)
    with pytest.raises(InvalidData, match=words):
        pramble.open_release(folder)
