"""Releases of surveys: weights and the design are stated, checked, and told to readers."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pramble
from pramble.cli.app import app

COLUMNS = {"sex": {"categories": ["f", "m"]}, "ill": {"categories": ["no", "yes"]}}
STATED = {"central": 2.0, "person": False, "weights": "finalwgt", "largest_weight": 400}


def people(rows=3000):
    rng = np.random.default_rng(1)
    ill = rng.random(rows) < 0.4
    return pa.table(
        {
            "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
            "ill": np.array(["no", "yes"])[ill.astype(int)],
            "finalwgt": np.round(rng.uniform(20, 60, rows) * np.where(ill, 1, 5), 2),
            "stratum": rng.integers(0, 9, rows),
            "psu": rng.integers(0, 90, rows),
        }
    )


def released(target, source=None, **more):
    settings = {"ledger": False, "pages": False, "key": bytes(32), "columns": COLUMNS, **STATED}
    settings |= more
    settings = {name: own for name, own in settings.items() if own is not None}
    return pramble.release(people() if source is None else source, target, **settings)


SURVEY = {"strata": "stratum", "clusters": ["psu"], "design_effect": 1.5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("weights") / "out"
    released(target, survey=SURVEY, copies=["csv", "stata"])
    return target


@pytest.fixture
def opened(folder):
    return pramble.open_release(folder)


def test_a_release_says_what_its_weights_are(opened):
    stated = opened.manifest
    assert stated["weights"]["column"] == "finalwgt"
    assert stated["weights"]["largest"] == 400
    assert stated["survey"] == {"strata": ["stratum"], "clusters": ["psu"], "design_effect": 1.5}
    assert [column["name"] for column in stated["columns"]] == ["sex", "ill"]
    assert any("No row weighs more than 400" in one for one in stated["promise"]["assumes"])
    assert any("stratum" in one and "psu" in one for one in stated["notes"])
    assert opened.guarantee.epsilon <= 2.0
    assert pramble.certify(opened).epsilon <= 2.0


def test_its_records_carry_a_weight_and_no_design(opened, folder):
    assert opened.synthetic.column_names == ["sex", "ill", "finalwgt"]
    weights = opened.synthetic["finalwgt"].to_numpy()
    assert 0 < weights.min() <= weights.max() <= 400
    assert (folder / "synthetic.csv").read_text().startswith("sex,ill,finalwgt\n")
    tables = pq.read_table(folder / "tables.parquet").column_names
    assert tables[-3:] == ["weighted", "weighted_deviation", "weighted_residual"]


def test_its_estimates_are_of_the_population_with_weights_alone(opened):
    source = people().to_pandas()
    true = source.groupby("ill")["finalwgt"].sum() / source["finalwgt"].sum()
    weighted = pramble.estimate(opened, by="ill", weights="finalwgt")
    assert np.all((weighted.lower < true) & (true < weighted.upper))
    plain = pramble.estimate(opened, by="ill")
    assert plain.values[1] > weighted.upper[1]
    assert "population" in weighted.covers_what
    assert "population" not in plain.covers_what
    # the stated design effect is taken unless another one is given
    simple = pramble.estimate(opened, by="ill", weights="finalwgt", survey={"design_effect": 1})
    noise = pramble.estimate(opened, by="ill", weights="finalwgt", covers="randomisation")
    ratio = (weighted.covariance - noise.covariance)[0, 0]
    assert np.isclose(ratio, 1.5 * (simple.covariance - noise.covariance)[0, 0])


def test_a_stranger_cannot_state_other_weights(folder, tmp_path):
    def changed(name, change):
        copy = tmp_path / name
        shutil.copytree(folder, copy)
        document = json.loads((copy / "manifest.json").read_text())
        change(document)
        (copy / "manifest.json").write_text(json.dumps(document))
        return copy

    def cheaper(document):
        for part in document["plan"]["weights"]["precision"]:
            part["value"] *= 9.0

    bad = {
        "none": lambda d: d.pop("weights"),
        "larger": lambda d: d["weights"].update(largest=900),
        "larger in both": lambda d: [
            own.update(largest=900.0) for own in (d["weights"], d["plan"]["weights"])
        ],
        "louder": cheaper,
        "keener squares": lambda d: d["plan"]["weights"].update(squares=1e-3),
        "plain plan": lambda d: d["plan"].pop("weights"),
    }
    for name, change in bad.items():
        with pytest.raises(pramble.PrambleError):
            pramble.open_release(changed(name, change))


MISTAKES = {
    "no largest": ({"largest_weight": None}, "public knowledge"),
    "no column": ({"weights": None}, "public knowledge"),
    "under alpha": ({"central": None, "alpha": 2.0}, "central promise.*as it is, unprotected"),
    "a protected one": ({"weights": "sex"}, "'sex' holds survey weights"),
    "not in the file": ({"weights": "wgt"}, "'wgt' to say how the file was sampled"),
    "an unknown stratum": ({"survey": {"strata": "region"}}, "'region' to say how"),
    "an odd survey": ({"survey": {"stratum": "x"}}, "strata, clusters, replicates"),
    "an odd effect": ({"survey": {"design_effect": 0}}, "positive number"),
    "an odd weight": ({"largest_weight": -3}, "positive number"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_said_before_anything_is_written(mistake, tmp_path):
    more, message = MISTAKES[mistake]
    with pytest.raises(pramble.InvalidPlan, match=message):
        released(tmp_path / "out", **more)
    assert not (tmp_path / "out").exists()


def test_a_bad_weight_leaves_nothing_behind(tmp_path):
    source = people().to_pandas()
    source.loc[7, "finalwgt"] = -1
    with pytest.raises(pramble.InvalidData, match="row 7"):
        released(tmp_path / "out", source.drop(columns=["stratum", "psu"]))
    assert not (tmp_path / "out").exists()


def test_cut_weights_are_said_to_the_curator_alone(tmp_path):
    source = people().drop_columns(["stratum", "psu"])
    with pytest.warns(pramble.PrambleWarning, match="rows weigh more than 100"):
        released(tmp_path / "out", source, largest_weight=100)
    for path in (tmp_path / "out").iterdir():
        assert b"rows weigh more" not in path.read_bytes()


def test_a_local_release_states_its_sample_and_holds_back_its_design(tmp_path):
    local = {"weights": None, "largest_weight": None, "central": None, "alpha": 2.0}
    released(tmp_path / "out", survey=SURVEY, drop=["finalwgt"], **local)
    opened = pramble.open_release(tmp_path / "out")
    assert opened.data.column_names == ["sex", "ill"]
    assert opened.manifest["survey"]["design_effect"] == 1.5
    e = pramble.estimate(opened, by="ill")
    simple = pramble.estimate(opened, by="ill", survey={"design_effect": 1})
    assert np.all(e.standard_errors > simple.standard_errors)


def test_other_promises_can_be_tried_without_weights():
    plan = {"columns": COLUMNS, **STATED}
    source = people().drop_columns(["stratum", "psu"])
    found = pramble.try_release(source, plan=plan, alphas=[2.0], centrals=[1.0, 2.0])
    assert len(list(found)) == 3
    assert not any("finalwgt" in note for note in found.notes)


def drafted(table, tmp_path):
    tmp_path.mkdir(exist_ok=True)
    pq.write_table(table, tmp_path / "people.parquet")
    args = [str(tmp_path / "people.parquet"), "--out", str(tmp_path / "plan.toml"), "--accept-seen"]
    found = CliRunner().invoke(app, ["init", *args, "--central", "1"])
    assert found.exit_code == 0, found.output
    return (tmp_path / "plan.toml").read_text()


def test_init_drafts_what_to_state(tmp_path):
    draft = drafted(people(), tmp_path)
    assert '# weights = "finalwgt"' in draft
    assert "public knowledge" in draft
    assert "survey" not in drafted(people().select(["sex", "ill"]), tmp_path / "other")


SAMPLING = ["leadwt", "finalwgt", "pweight", "WTMEC2YR", "PWGTP", "perwt", "poids_final", "wt_hh"]
BODIES = ["weight_kg", "bodyweight", "birth_weight", "birthwt", "Poids", "weight", "BMXWT", "peso"]


@pytest.mark.parametrize("name", [*SAMPLING, *BODIES])
def test_what_people_are_weighed_by_is_no_sampling_weight(name, tmp_path):
    """Beside heights, as in files of health examinations."""
    rng = np.random.default_rng(1)
    table = pa.table({"sex": ["f", "m"] * 50, "height": rng.normal(170, 9, 100).round(1),
                      name: rng.uniform(40, 120, 100).round(1)})  # fmt: skip
    assert ("# weights = " in drafted(table, tmp_path)) == (name in SAMPLING)


@pytest.mark.parametrize("name", ["Poids", "weight", "peso", "wt"])
def test_a_plain_weight_without_heights_is_one(name, tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"sex": ["f", "m"] * 50, name: rng.uniform(40, 120, 100).round(1)})
    assert f'# weights = "{name}"' in drafted(table, tmp_path)
