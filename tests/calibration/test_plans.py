"""Calibration of plans for several columns together: safe, near the edge, bounded in time."""

import json
import pickle

import numpy as np
import pytest

import pramble
from pramble.errors import InvalidInput

KEYS = ["age", "sex", "region"]
TOGETHER = ["age", "region"]
N = 3000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    age = rng.choice(4, 300, p=[0.5, 0.3, 0.15, 0.05])
    return {
        "age": age.tolist(),
        "sex": rng.choice(["f", "m"], 300).tolist(),
        "region": ((age + rng.choice(5, 300, p=np.arange(5, 0, -1) / 15)) % 5).tolist(),
    }


def calibrated(people, design=None, **options):
    given = {
        "population_size": N,
        "columns": TOGETHER,
        "design": {"effort": 0.1} | (design or {}),
    }
    return pramble.calibrate(people, KEYS, **given | options)


@pytest.mark.parametrize(("measure", "at_most"), [("tau2", 0.3), ("worst", 0.05)])
def test_the_plan_is_safe_and_what_fails_lies_close_by(people, measure, at_most):
    k = calibrated(people, measure=measure, at_most=at_most)
    left = pramble.assess(people, KEYS, population_size=N).after(k.plan)
    assert k.met
    assert k.value == pytest.approx(getattr(left, measure), rel=1e-9)
    assert k.value <= at_most < getattr(k.before.after({}), measure)
    assert pramble.certify(k.plan).satisfies(k.alpha)
    assert k.design.plan is k.plan
    assert set(k.plan.columns) == set(TOGETHER)
    beyond = k.curve["alpha"][(k.curve["value"] > at_most) & (k.curve["alpha"] > k.alpha)]
    assert beyond.min() <= 1.06 * k.alpha
    assert json.loads(json.dumps(k.summary()))["alpha"] == k.alpha
    assert pickle.loads(pickle.dumps(k)).alpha == k.alpha


def test_an_error_is_that_of_the_worst_table(people):
    k = calibrated(
        people, measure="error", at_most=0.05, design={"tables": [("age",), ("region",)]}
    )
    assert k.met
    assert set(k.design.costs) == {("age",), ("region",)}
    sizes = {name: len(own.labels) for name, own in k.plan.column_labels().items()}
    errors = [np.sqrt(cost / (sizes[name] * 300)) for (name,), cost in k.design.costs.items()]
    assert k.value == pytest.approx(max(errors))
    assert k.value <= 0.05
    larger = k.curve["value"][k.curve["alpha"] < k.alpha]
    assert larger.max() > 0.05


def test_a_public_prior_is_used(people):
    prior = np.full((4, 5), 1 / 20)
    wide = {"measure": "worst", "at_most": 0.05, "model": "independence"}
    k = calibrated(people, {"prior": prior}, **wide)
    assert not any("distribution of the file" in note for note in k.notes)
    own = calibrated(people, **wide)
    assert any("distribution of the file" in note for note in own.notes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"columns": None}, "Give column="),
        ({"column": "age"}, "Give column="),
        ({"columns": ["age"]}, "two or more"),
        ({"columns": ["age", "age"]}, "two or more"),
        ({"columns": ["age", "town"]}, "among the keys"),
        ({"design": {"categories": {"age": [0, 1]}}}, "must hold every value"),
    ],
)
def test_what_makes_no_sense_is_refused(people, wrong, message):
    with pytest.raises(InvalidInput, match=message):
        calibrated(people, measure="tau2", at_most=1.0, **wrong)
