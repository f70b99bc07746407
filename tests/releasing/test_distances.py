"""Releases whose columns are promised by distance, or moved as little as α allows."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pytest

import pramble
from pramble.releasing.distances import stated_metric

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
    released(ages, tmp_path / "out", distance="path")
    path = tmp_path / "out" / "manifest.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["design"]["parts"][0]["distance"]["alpha"] /= 2
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(pramble.InvalidData, match="per step for 'age'"):
        pramble.open_release(tmp_path / "out")
    document["design"]["parts"][0]["distance"] = {"alpha": 1.0, "unit": "step", "path": 4}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(pramble.InvalidData, match="does not fit 6"):
        pramble.open_release(tmp_path / "out")
    document["design"]["parts"][0]["distance"] = {"alpha": 1.0, "unit": "step", "path": 10**12}
    path.write_text(json.dumps(document), encoding="utf-8")
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
    path = tmp_path / "out" / "manifest.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document["design"]["distances"])
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(pramble.InvalidData, match=words):
        pramble.open_release(tmp_path / "out")


def test_plans_to_compare_with_keep_the_same_promise(ages, tmp_path, monkeypatch):
    """What another plan would do is said of plans by distance, unless it says otherwise."""
    import pramble.releasing.advice as advice

    asked = []

    def design_record(labels, **how):
        asked.append(how)
        return pramble.design_record(labels, **{**how, "time_limit": 0.2})

    monkeypatch.setattr(advice, "design_record", design_record)
    columns = {"age": {"bands": AGES, "distance": "path"}, "sex": {"categories": ["f", "m"]}}
    plan = {"alpha": 0.6, "design": "records", "columns": columns}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pramble.release(ages, tmp_path / "out", plan=plan, ledger=False, dry_run=True)
    local = [
        how for how in asked if "central" not in how and any("age" in t for t in how["tables"])
    ]
    plain = [how for how in local if "distance" not in how]
    assert len(plain) == 1
    assert len(local) > len(plain)
    assert all(how["alpha"] == 1.0 for how in local if "distance" in how)


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


def test_a_replaced_design_keeps_its_distance():
    from pramble.releasing.column_design import design_column
    from pramble.releasing.priors import Prior
    from pramble.releasing.scan import Counted
    from pramble.releasing.spec.document import spec_from

    groups = {"groups": {"x": ["a", "b", "c"]}}
    column = {"categories": ["a", "b", "c"], "distance": groups}
    (spec,) = spec_from({"alpha": 1, "columns": {"k": column}}).columns
    prior = Prior(np.array([0.9, 0.05, 0.05]), "public", 0, "stated")
    found = design_column(Counted(spec, ("a", "b", "c"), (90, 5, 5)), prior, alpha=1.0)
    assert "merges categories" in found.notes[0]
    assert found.distance is not None
    assert pramble.certify(found.mechanism, distance=found.distance).satisfies(found.per_unit)


def test_near_moves_at_the_same_alpha(ages, tmp_path):
    near = released(ages, tmp_path / "near", objective="loss", loss="path", prior="uniform")
    part = near.manifest["design"]["parts"][0]
    assert part["objective"] == "loss"
    mechanism = near.plan["age"]
    far = pramble.randomized_response(BANDS, part["alpha"])
    loss = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    assert (mechanism.matrix * loss).sum() <= (far.matrix * loss).sum() * (1 + 1e-9)
    pramble.open_release(tmp_path / "near")


def test_the_category_of_empty_cells_is_far_from_all():
    labels = ("low", "high", "top", None)
    found = stated_metric("path", labels, column="x", missing=True)
    assert found.matrix[3].tolist() == [2, 2, 2, 0]
    assert found.matrix[0].tolist() == [0, 1, 2, 2]
    named = stated_metric("path", ("?", "low", "high", "top"), column="x", missing="?")
    assert named.matrix[0].tolist() == [0, 2, 2, 2]


def test_maps_and_groups(tmp_path):
    near = tmp_path / "near.csv"
    near.write_text("a,b\nnorth,middle\nmiddle,south\n", encoding="utf-8")
    labels = ("south", "north", "middle")
    hops = stated_metric({"neighbours": str(near)}, labels, column="r")
    assert hops.unit == "hop"
    assert hops.matrix[0].tolist() == [0, 2, 1]
    points = tmp_path / "points.csv"
    points.write_text("name,lon,lat\nnorth,0,1\nmiddle,0,0\nsouth,0,-1\n", encoding="utf-8")
    km = stated_metric({"points": str(points), "most": 150.0}, labels, column="r")
    assert km.unit == "km"
    assert km.matrix[0].round(1).tolist() == [0, 150.0, 111.2]
    groups = {"groups": {"N": ["north"], "S": ["south", "middle"]}, "across": 5.0}
    apart = stated_metric(groups, labels, column="r")
    assert apart.matrix[0].tolist() == [0, 5, 1]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"distance": "ring"}, 'must be "path", or a table'),
        ({"distance": {"points": "a.csv", "neighbours": "b.csv"}}, "one of neighbours"),
        ({"objective": "loss"}, "state both"),
        ({"loss": "path"}, "state both"),
        ({"distance": "path", "loss": "path", "objective": "loss"}, "state one of them"),
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
