"""Releases whose columns are promised by distance, or moved as little as α allows."""

import numpy as np
import pyarrow as pa
import pytest
from tests.releasing.conftest import rewrite, tried

import pramble

AGES = [0, 15, 30, 45, 60, 75]
BANDS = ["0-14", "15-29", "30-44", "45-59", "60-74", "75+"]


@pytest.fixture(scope="module")
def ages():
    rng = np.random.default_rng(3)
    n = 4000
    return pa.table({"age": rng.integers(0, 95, n), "sex": rng.choice(["f", "m"], n).tolist()})


def plan(**column):
    return {
        "alpha": 6.0,
        "design": "columns",
        "columns": {"age": {"bands": AGES, **column}, "sex": {"categories": ["f", "m"]}},
    }


def released(table, target, **column):
    with pytest.warns(pramble.PrambleWarning):
        return pramble.release(table, target, plan=plan(**column), key=bytes(range(32)))


def test_a_column_by_distance_is_released_and_read(ages, tmp_path):
    r = released(ages, tmp_path / "out", distance="path")
    part = r.manifest["design"]["parts"][0]
    assert part["distance"]["path"] == 6
    assert part["distance"]["alpha"] == pytest.approx(part["alpha"] / 5)
    assert part["distance"]["alpha"] * 5 <= part["alpha"]
    found = pramble.open_release(tmp_path / "out")
    certificate = pramble.certify(found.plan["age"], distance="path")
    assert certificate.satisfies(part["distance"]["alpha"])
    assert pramble.certify(found.plan["age"]).satisfies(part["alpha"])
    assert any("Values 1 step apart" in note for note in r.manifest["notes"])
    e = pramble.estimate(found.data, found.plan, by=["age"])
    truth = np.histogram(ages["age"].to_numpy(), [*AGES, 200])[0] / ages.num_rows
    assert (np.abs(e.probabilities - truth) < 5 * np.sqrt(np.diag(e.covariance)) + 1e-9).all()
    report = (tmp_path / "out-report.html").read_text(encoding="utf-8")
    assert "Values 1 step apart" in report


def test_a_manifest_that_states_less_by_distance_is_refused(ages, tmp_path):
    def part(document):
        return document["design"]["parts"][0]["distance"]

    released(ages, tmp_path / "out", distance="path")
    rewrite(tmp_path / "out", lambda d: part(d).update(alpha=part(d)["alpha"] / 2))
    with pytest.raises(pramble.InvalidData, match="per step for 'age'"):
        pramble.open_release(tmp_path / "out")
    for path in (4, 10**12):
        other = {"alpha": 1.0, "unit": "step", "path": path}
        rewrite(tmp_path / "out", lambda d, o=other: d["design"]["parts"][0].update(distance=o))
        with pytest.raises(pramble.InvalidData, match="does not fit 6"):
            pramble.open_release(tmp_path / "out")


def test_a_record_by_distance_has_one_matrix_for_its_columns(ages, tmp_path, monkeypatch):
    """Both columns may share a matrix; what is promised of each is stated, checked and said."""
    rng = np.random.default_rng(4)
    health = np.where(rng.random(ages.num_rows) < 0.7, 2 - ages["age"].to_numpy() // 40, 1)
    table = ages.append_column("health", pa.array(health))
    columns = {
        "age": {"bands": [0, 30, 60], "distance": "path"},
        "health": {"categories": [0, 1, 2], "distance": "path"},
    }
    monkeypatch.setattr("pramble.releasing.record_design.EFFORT", 5.0)
    settings = {"alpha": 1.0, "design": "records", "drop": ["sex"], "prior": "uniform"}
    r = pramble.release(table, tmp_path / "out", plan={**settings, "columns": columns},
                        key=bytes(range(32)))  # fmt: skip
    design = r.manifest["design"]
    assert design["kind"] == "records"
    stated = {part["column"]: part for part in design["distances"]}
    assert stated["age"]["categories"] == ["0-29", "30-59", "60+"]
    assert stated["age"]["alpha"] == pytest.approx(design["alpha"] / 2 / 2)
    assert stated["health"]["alpha"] == pytest.approx(design["alpha"] / 2 / 2)
    assert list(r.plan) == [("age", "health")]
    assert pramble.certify(r.plan).satisfies(design["alpha"])
    assert any("age: Values 1 step apart" in note for note in r.manifest["notes"])
    for page in (tmp_path / "out-report.html", tmp_path / "out" / "summary.html"):
        assert "age: Values 1 step apart" in page.read_text(encoding="utf-8")
    found = pramble.open_release(tmp_path / "out")
    e = pramble.estimate(found.data, found.plan, by=["age", "health"])
    truth = pramble.estimate(
        {"age": np.array(["0-29", "30-59", "60+"])[np.minimum(ages["age"].to_numpy() // 30, 2)],
         "health": health}, {}, by=["age", "health"],
    )  # fmt: skip
    sure = dict(zip(zip(*truth.cells.values(), strict=True), truth.probabilities, strict=True))
    cells = list(zip(*e.cells.values(), strict=True))
    off = np.array([p - sure.get(c, 0.0) for c, p in zip(cells, e.probabilities, strict=True)])
    assert (np.abs(off) < 5 * np.sqrt(np.diag(e.covariance)) + 1e-9).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda parts: parts[0].update(alpha=parts[0]["alpha"] / 2), "does not satisfy"),
        (lambda parts: parts[0]["categories"].reverse() or parts[0]["categories"].append(
            parts[0]["categories"].pop(2)), "does not satisfy"),
        (lambda parts: parts.pop(), "does not satisfy"),
        (lambda parts: parts[0].update(path=10**9), "does not fit"),
    ],
)  # fmt: skip
def test_a_manifest_that_states_other_distances_of_a_record_is_refused(
    ages, tmp_path, change, words
):
    columns = {"age": {"bands": AGES, "distance": "path"}, "sex": {"categories": ["f", "m"]}}
    plan = {"alpha": 6.0, "design": "records", "prior": "uniform", "columns": columns}
    pramble.release(ages, tmp_path / "out", plan=plan, key=bytes(range(32)), pages=False)
    rewrite(tmp_path / "out", lambda d: change(d["design"]["distances"]))
    with pytest.raises(pramble.InvalidData, match=words):
        pramble.open_release(tmp_path / "out")


@pytest.mark.parametrize("design", ["paper", "records"])
def test_a_scale_whose_order_would_be_guessed_is_refused(ages, tmp_path, design):
    bands = np.array(["<30", "30-60", ">60"])[np.minimum(ages["age"].to_numpy() // 30, 2)]
    table = pa.table({"age": bands, "year": ages["age"].to_numpy() // 30})
    for name, words in (("age", "state them in order"), ("year", None)):
        plan = {"alpha": 2.0, "design": design, "columns": {name: {"distance": "path",
                "categories": "seen"}}, "drop": sorted({"age", "year"} - {name})}  # fmt: skip
        if words is None:
            pramble.release(table, tmp_path / "out", plan=plan, ledger=False, dry_run=True)
            continue
        with pytest.raises(pramble.InvalidPlan, match=words):
            pramble.release(table, tmp_path / "out", plan=plan, ledger=False)


def distance_in(distance, labels, **more):
    """The distance between the categories of a column that a release states."""
    own = [label for label in labels if label is not None]
    column = {"categories": own, "distance": distance, **more}
    settings = {"alpha": 2.0, "design": "columns", "prior": "uniform", "columns": {"x": column}}
    r = tried(settings, {"x": own * 60})
    (part,) = r.manifest["design"]["parts"]
    return pramble.Distance.from_json({k: v for k, v in part["distance"].items() if k != "alpha"})


def test_the_category_of_empty_cells_is_far_from_all():
    found = distance_in("path", ("low", "high", "top"), missing=True)
    assert found.matrix[3].tolist() == [2, 2, 2, 0]
    assert found.matrix[0].tolist() == [0, 1, 2, 2]
    named = distance_in("path", ("?", "low", "high", "top"), missing="?")
    assert named.matrix[0].tolist() == [0, 2, 2, 2]


def test_maps_and_groups(tmp_path):
    near = tmp_path / "near.csv"
    near.write_text("a,b\nnorth,middle\nmiddle,south\n", encoding="utf-8")
    labels = ("south", "north", "middle")
    hops = distance_in({"neighbours": str(near)}, labels)
    assert hops.unit == "hop"
    assert hops.matrix[0].tolist() == [0, 2, 1]
    points = tmp_path / "points.csv"
    points.write_text("name,lon,lat\nnorth,0,1\nmiddle,0,0\nsouth,0,-1\n", encoding="utf-8")
    km = distance_in({"points": str(points), "most": 150.0}, labels)
    assert km.unit == "km"
    assert km.matrix[0].round(1).tolist() == [0, 150.0, 111.2]
    groups = {"groups": {"N": ["north"], "S": ["south", "middle"]}, "across": 5.0}
    assert distance_in(groups, labels).matrix[0].tolist() == [0, 5, 1]


def test_a_replaced_design_keeps_its_distance(tmp_path):
    column = {"categories": ["a", "b", "c"], "prior": [0.9, 0.05, 0.05],
              "distance": {"groups": {"x": ["a", "b", "c"]}}}  # fmt: skip
    settings = {"alpha": 1.0, "design": "columns", "columns": {"k": column}}
    people = {"k": ["a"] * 90 + ["b"] * 5 + ["c"] * 5}
    r = pramble.release(people, tmp_path / "out", plan=settings, ledger=False, pages=False)
    assert any("merges categories" in warning for warning in r.outcome.warnings)
    (part,) = r.manifest["design"]["parts"]
    stated = pramble.Distance.from_json({k: v for k, v in part["distance"].items() if k != "alpha"})
    assert pramble.certify(r.plan["k"], distance=stated).satisfies(part["distance"]["alpha"])


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"distance": "ring"}, 'must be "path", or a table'),
        ({"distance": {"points": "a.csv", "neighbours": "b.csv"}}, "one of neighbours"),
        ({"distance": "path", "family": "uniform"}, 'family = "general"'),
        ({"distance": "path", "invariant": True}, "not invariant"),
    ],
)
def test_settings_that_do_not_go_together(ages, tmp_path, column, words):
    with pytest.raises(pramble.InvalidPlan, match=words):
        pramble.release(ages, tmp_path / "out", plan=plan(**column))
    assert not (tmp_path / "out").exists()


def test_areas_that_are_not_on_the_map_are_named(ages, tmp_path):
    near = tmp_path / "near.csv"
    near.write_text("a,b\n0-14,15-29\n15-29,30-44\n", encoding="utf-8")
    with pytest.raises(pramble.InvalidPlan, match=r"distance of column 'age'.*45-59"):
        pramble.release(ages, tmp_path / "out", plan=plan(distance={"neighbours": str(near)}))
