"""Bands that are written as numbers: the middle, or a point drawn within."""

import json
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import pramble

EDGES, END = [0, 15, 30, 45, 60, 75], 100
KEY = bytes(range(32))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(8)
    n = 6000
    return pa.table({"age": rng.integers(0, 95, n), "sex": rng.choice(["f", "m"], n).tolist()})


def plan(release_as, **more):
    column = {"bands": EDGES, "high": END, "release_as": release_as, **more}
    return {
        "alpha": 6.0,
        "prior": "uniform",
        "columns": {"age": column, "sex": {"categories": ["f", "m"]}},
    }


def released(people, target, release_as, **settings):
    return pramble.release(people, target, plan=plan(release_as), key=KEY, ledger=False,
                           **settings)  # fmt: skip


@pytest.fixture(scope="module")
def folders(people, tmp_path_factory):
    place = tmp_path_factory.mktemp("points")
    return {
        kind: released(people, place / kind, kind, pages=False).folder
        for kind in ("band", "midpoint", "point")
    }


def test_what_is_written_tells_the_bands(folders):
    opened = {kind: pramble.open_release(folder) for kind, folder in folders.items()}
    for kind in ("midpoint", "point"):
        stated = opened[kind].manifest["columns"][0]["released_as"]
        assert (stated["kind"], stated["edges"]) == (kind, [*EDGES, END])
        assert opened[kind].data["age"].type == pa.string()
        found = pramble.estimate(opened[kind], by=["age", "sex"])
        assert found.probabilities.min() >= 0
        path = folders[kind] / "data.parquet"
        written = pq.read_table(path)["age"].to_numpy()
        assert written.dtype == np.int64
        bands = np.searchsorted(EDGES, written, side="right") - 1
        labels = np.array(opened[kind].plan.column_labels()["age"].labels.values)
        assert (labels[bands] == opened[kind].data["age"].to_numpy()).all()
    middles = pq.read_table(folders["midpoint"] / "data.parquet")["age"].to_numpy()
    assert set(middles.tolist()) == {7, 22, 37, 52, 67, 87}


def test_points_are_even_within_their_band_and_follow_no_true_value(folders, people):
    ages = people["age"].to_numpy()
    points = pq.read_table(folders["point"] / "data.parquet")["age"].to_numpy()
    within = (points - np.array(EDGES)[np.searchsorted(EDGES, points, side="right") - 1])[
        points < 75
    ]
    counts = np.bincount(within, minlength=15)
    assert len(counts) == 15
    expected = len(within) / 15
    assert ((counts - expected) ** 2 / expected).sum() < 40  # 14 degrees of freedom: 1e-4 at 40
    stay = (points // 15 == ages // 15) & (points < 75)
    agree = np.corrcoef(points[stay] % 15, ages[stay] % 15)[0, 1]
    assert abs(agree) < 4 / np.sqrt(stay.sum())


def test_a_number_that_is_in_no_band_is_refused(folders, tmp_path):
    shutil.copytree(folders["midpoint"], tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for edges, words in (([0, 0, 30, 45, 60, 75, 100], "increase"), ([0, 15], "6 bands")):
        document["columns"][0]["released_as"]["edges"] = edges
        path.write_text(json.dumps(document), encoding="utf-8")
        with pytest.raises(pramble.InvalidData, match=words):
            pramble.open_release(tmp_path / "out")


def test_everything_else_of_a_release_works_with_numbers(people, tmp_path):
    r = released(people, tmp_path / "out", "point", copies=["csv"],
                 rows_per_file=131072, synthetic=True)  # fmt: skip
    assert all(check.passed for check in r.outcome.checks)
    assert pacsv.read_csv(tmp_path / "out" / "data.csv")["age"].type == pa.int64()
    found = pramble.open_release(tmp_path / "out")
    assert found.data["age"].type == pa.string()
    assert set(found.synthetic["age"].to_pylist()) <= {"0-14", "15-29", "30-44", "45-59",
                                                       "60-74", "75+"}  # fmt: skip
    assert any("a number drawn evenly" in note for note in r.manifest["notes"])


def test_text_files_hold_numbers_too(people, tmp_path):
    r = released(people, tmp_path / "out", "midpoint", output="csv", pages=False)
    assert r.folder.joinpath("data.csv").read_text(encoding="utf-8").splitlines()[1][0].isdigit()
    same = pramble.open_release(r.folder)
    assert set(same.data["age"].to_pylist()) == {"0-14", "15-29", "30-44", "45-59", "60-74", "75+"}


@pytest.mark.r
def test_r_reads_numbers_as_bands(people, tmp_path, tool):
    r = released(people, tmp_path / "out", "point", output="csv", pages=False)
    script = str(r.folder / "analysis.R")
    out = subprocess.run([tool("Rscript"), script, "age"], capture_output=True,
                         text=True, check=True).stdout  # fmt: skip
    e = pramble.estimate(pramble.open_release(r.folder), by=["age"])
    for label, share in zip(e.cells["age"], e.probabilities, strict=True):
        line = next(line for line in out.splitlines() if label in line)
        assert f"{share:.3f}"[:4] in line


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"categories": [1, 2, 3], "release_as": "point"}, "must have bands of numbers"),
        ({"bands": EDGES, "release_as": "midpoint"}, "where its last band ends"),
        ({"bands": EDGES, "high": 75, "release_as": "midpoint"}, "where its last band ends"),
        ({"bands": EDGES, "high": END, "missing": "none", "release_as": "point"}, "stay empty"),
        ({"bands": EDGES, "high": END, "merge": {"young": ["0-14", "15-29"]},
          "release_as": "point"}, "none that are merged"),
        ({"bands": {"by": "year", "from": 1990, "to": 2000}, "release_as": "point"},
         "must have bands of numbers"),
        ({"bands": EDGES, "release_as": "dot"}, "release_as"),
    ],
)  # fmt: skip
def test_settings_without_numbers_are_refused(people, tmp_path, column, words):
    with pytest.raises(pramble.InvalidPlan, match=words):
        pramble.release(people, tmp_path / "out", ledger=False, pages=False,
                        plan={"alpha": 2.0, "columns": {"age": column}})  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_even_bands_and_quantiles_say_where_they_end(people, tmp_path):
    for place, bands in (("even", {"from": 0, "to": 100, "step": 20}),
                         ("quantiles", {"quantiles": 4, "from": 0, "to": 100})):  # fmt: skip
        column = {"bands": bands, "release_as": "midpoint"}
        more = {"family": "circle"} if place == "quantiles" else {}
        r = pramble.release(people, tmp_path / place, ledger=False, pages=False, key=KEY,
                            plan={"alpha": 4.0, "drop": ["sex"], "design": "columns",
                                  "columns": {"age": {**column, **more}}})  # fmt: skip
        assert r.manifest["columns"][0]["released_as"]["edges"][-1] == 100
        assert pramble.open_release(r.folder).data.num_rows == people.num_rows
