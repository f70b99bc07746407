"""Synthetic records beside a release: drawn from it alone, stated, hashed, and repeatable."""

import json
import shutil

import numpy as np
import pytest

import pramble
from pramble.errors import InvalidData


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], 2000)
    ill = np.where(rng.random(2000) < np.where(sex == "f", 0.4, 0.1), "yes", "no")
    return {
        "sex": sex.tolist(),
        "ill": ill.tolist(),
        "town": rng.choice(list("xyz"), 2000).tolist(),
    }


PROMISES = {
    "local": {"columns": ["sex", "ill"], "alpha": 6.0},
    "central": {"columns": ["sex", "ill", "town"], "central": 2.0, "design": "records"},
}


@pytest.fixture(scope="module", params=PROMISES)
def folder(request, people, tmp_path_factory):
    target = tmp_path_factory.mktemp("synthetic") / "out"
    given = PROMISES[request.param]
    pramble.release(people, target, ledger=False, key=b"k" * 32, **given)
    return target


def test_the_folder_holds_complete_records(folder, people):
    release = pramble.open_release(folder)
    records = release.synthetic
    assert set(records.column_names) == set(people)
    assert records.num_rows == 2000
    assert sum(records[name].null_count for name in records.column_names) == 0
    frame = records.to_pandas()
    share = ((frame.sex == "f") & (frame.ill == "yes")).mean()
    assert share == pytest.approx(0.2, abs=0.05)
    assert "nothing beyond it" in release.manifest["synthetic"]["sentence"]


def test_every_reader_can_draw_them_again(folder):
    release = pramble.open_release(folder)
    seed = release.manifest["synthetic"]["seed"]
    assert pramble.synthesize(release, seed=seed).equals(release.synthetic)


def test_changed_records_are_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = copy / "synthetic.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(InvalidData, match="SHA-256 differs"):
        pramble.open_release(copy)
    path.unlink()
    with pytest.raises(InvalidData, match="lacks its data file"):
        pramble.open_release(copy)


def test_records_that_nobody_states_are_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    del manifest["synthetic"]
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidData, match="does not state"):
        pramble.open_release(copy)
