"""Synthetic people: possible, close to the survey, reproducible."""

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest

from pramble import datasets
from pramble.errors import InvalidInput
from pramble_study.paper import scenario

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "fit_synthetic_new_york.py"
NAMES = [
    *("OWNERSHP", "MORTGAGE", "AGE", "SEX", "MARST"),
    *("RACESING", "EDUC", "EMPSTAT", "DISABWRK", "VETSTAT"),
]


def model_probabilities():
    classes, levels = datasets._model()
    share = np.diff(classes.astype(float), prepend=0) / datasets.CLASS_TOTAL
    theta = {
        name: np.diff(c.astype(float), axis=1, prepend=0) / datasets.LEVEL_TOTAL
        for name, c in levels.items()
    }
    return share, theta


@pytest.fixture(scope="module")
def people():
    return datasets.synthetic_new_york()


def impossible(row) -> bool:
    """The rules once more, written for one person."""
    age = row["AGE"]
    under_16 = age in {"<15", "15"}
    minor = under_16 or age in {"16", "17"}
    grade = datasets.VARIABLES["EDUC"].index(row["EDUC"])
    highest = {"<15": 5, "15": 6, "16": 8, "17": 8}.get(age, 10)
    absent = datasets.NOT_APPLICABLE
    return (
        (row["OWNERSHP"] == "Owned") != (row["MORTGAGE"] != absent)
        or (age == "<15" and row["MARST"] != "Never married")
        or (minor and row["MARST"] in {"Divorced", "Widowed"})
        or grade > highest
        or (row["EMPSTAT"] == absent) != under_16
        or (row["DISABWRK"] == absent) != under_16
        or (row["VETSTAT"] == absent) != (under_16 or age == "16")
        or (row["VETSTAT"] == "Veteran" and minor)
    )


def test_shape_and_labels(people):
    assert people.num_rows == 953_076
    assert people.column_names == NAMES
    sizes = [len(people[name].chunk(0).dictionary) for name in NAMES]
    assert sizes == [3, 3, 9, 2, 5, 5, 11, 4, 3, 3]


def test_nobody_is_impossible(people):
    combinations = people.group_by(NAMES).aggregate([]).to_pylist()
    assert len(combinations) > 10_000
    assert not [row for row in combinations if impossible(row)]


def test_the_rule_recognises_a_married_child(people):
    child = next(r for r in people.slice(0, 1000).to_pylist() if r["AGE"] == "<15")
    assert not impossible(child)
    assert impossible({**child, "MARST": "Married"})


def test_impossible_levels_have_probability_exactly_zero():
    _, levels = datasets._model()
    domains = runpy.run_path(str(SCRIPT))["DOMAINS"]
    for k in range(len(levels["AGE"])):
        weights = {name: np.diff(c[k].astype(int), prepend=0) for name, c in levels.items()}
        ages = set(np.flatnonzero(weights["AGE"]))
        homes = [d for d in domains if ages <= set(d.levels("AGE"))]
        assert len(homes) == 1
        for name, weight in weights.items():
            assert weight.sum() == datasets.LEVEL_TOTAL
            assert set(np.flatnonzero(weight)) <= set(homes[0].levels(name))


def test_the_same_seed_gives_the_same_people():
    first = datasets.synthetic_new_york(500, seed=3)
    assert first.equals(datasets.synthetic_new_york(500, 3))
    assert not first.equals(datasets.synthetic_new_york(500, 4))


def test_draws_follow_the_model(people):
    share, theta = model_probabilities()
    n = people.num_rows
    for name in NAMES[2:]:
        expected = n * (share @ theta[name])
        found = np.bincount(people[name].chunk(0).indices, minlength=len(expected))
        possible = expected > 0
        chi2 = ((found - expected)[possible] ** 2 / expected[possible]).sum()
        assert chi2 < 60, name  # ten degrees of freedom at most: beyond 1e-8


def test_margins_are_as_close_to_the_survey_as_stated(shared_data):
    read = runpy.run_path(str(SCRIPT))["read"]
    codes, weights = read(shared_data("acs2024_ten_ny.parquet"))
    weights = weights / weights.sum()
    share, theta = model_probabilities()
    names = list(datasets.VARIABLES)
    one = [
        np.abs(np.bincount(codes[:, j], weights, theta[name].shape[1]) - share @ theta[name])
        for j, name in enumerate(names)
    ]
    two = []
    for i, j in itertools.combinations(range(len(names)), 2):
        a, b = theta[names[i]], theta[names[j]]
        width = b.shape[1]
        survey = np.bincount(codes[:, i] * width + codes[:, j], weights, a.shape[1] * width)
        two.append(np.abs(survey - ((share[:, None] * a).T @ b).ravel()))
    one, two = np.concatenate(one), np.concatenate(two)
    assert one.max() < 0.00003
    assert one.mean() < 0.00001
    assert two.max() < 0.0015
    assert two.mean() < 0.00015


def test_no_people_is_possible_and_fewer_is_refused():
    assert datasets.synthetic_new_york(0).num_rows == 0
    with pytest.raises(InvalidInput, match="0 or more; found -1"):
        datasets.synthetic_new_york(-1)


def test_scenarios_are_probabilities():
    for name in ("I", "II", "IV"):
        assert scenario(name).sum() == pytest.approx(1, abs=1e-12)
    with pytest.raises(InvalidInput, match="'III'"):
        scenario("III")


def test_margins_of_2000_count_everybody():
    margins = datasets.new_york_2000_margins()
    assert list(margins) == NAMES
    assert {sum(counts.values()) for counts in margins.values()} == {953_076}
