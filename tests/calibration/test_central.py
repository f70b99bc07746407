"""Calibration to a central promise, and of one: safe, near the edge, conditions checked."""

import json

import numpy as np
import pytest

import pramble
from pramble.errors import InvalidInput, PrivacyError

KEYS = ["age", "region"]
DELTA = 1e-6


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    age = rng.choice(4, 5000, p=[0.5, 0.3, 0.15, 0.05])
    return {"age": age.tolist(), "region": ((age + rng.integers(0, 3, 5000)) % 5).tolist()}


def central(people, **options):
    given = {"columns": KEYS, "promise": "central", "delta": DELTA, "design": {"effort": 0.2}}
    return pramble.calibrate(people, KEYS, **given | options)


@pytest.mark.parametrize("how", [{"column": ["age"]}, {"columns": KEYS, "design": {"effort": 0.1}}])
def test_the_largest_alpha_that_keeps_a_central_epsilon(people, how):
    keys = how.get("column", KEYS)
    k = pramble.calibrate(people, keys, measure="epsilon", at_most=0.5, delta=DELTA, **how)
    proven = pramble.central_guarantee(k.plan, rows=5000, delta=DELTA)
    assert k.met
    assert k.value == proven.epsilon == k.central.epsilon <= 0.5
    assert k.central.lower == proven.lower
    assert pramble.certify(k.plan).alpha <= k.alpha * (1 + 1e-12)
    beyond = k.curve["alpha"][k.curve["value"] > 0.5]
    assert k.alpha < beyond.min() <= 1.03 * k.alpha
    assert k.alpha > 0.5
    assert np.isnan(k.epsilon)


def test_more_rows_of_a_person_leave_a_smaller_alpha(people):
    one, three = (
        pramble.calibrate(
            people, ["age"], column="age", measure="epsilon", at_most=0.5, delta=DELTA,
            design={"rows_per_person": rows},
        )
        for rows in (1, 3)
    )  # fmt: skip
    assert three.alpha < one.alpha
    assert three.central.rows_per_person == 3


def test_the_smallest_epsilon_for_an_error(people):
    k = central(people, measure="error", at_most=0.01)
    assert k.met
    assert k.tried == ("epsilon", k.epsilon)
    assert k.central.epsilon <= k.epsilon
    assert k.central.delta == DELTA
    assert k.alpha == pramble.certify(k.plan).alpha > k.epsilon
    assert k.value <= 0.01
    short = k.curve["epsilon"][k.curve["value"] > 0.01]
    assert k.epsilon > short.max() >= k.epsilon / 1.06
    again = json.loads(json.dumps(k.summary()))
    assert again["central"]["epsilon"] == k.central.epsilon
    assert "ε was chosen by looking" in k.notes[0]


def test_the_largest_epsilon_for_a_risk(people):
    k = central(people, measure="tau2", at_most=0.01, population_size=20_000)
    left = pramble.assess(people, KEYS, population_size=20_000).after(k.plan)
    assert k.met
    assert k.value == pytest.approx(left.tau2, rel=1e-9)
    assert k.value <= 0.01


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"columns": None, "column": KEYS, "measure": "error"}, InvalidInput, "takes columns="),
        ({"delta": None, "measure": "error"}, InvalidInput, "needs delta="),
        ({"measure": "epsilon"}, InvalidInput, 'promise="local"'),
        ({"promise": "middle", "measure": "error"}, InvalidInput, "one of local, central"),
        ({"promise": "local", "delta": None, "measure": "epsilon"}, InvalidInput, "needs delta="),
    ],
)
def test_what_cannot_be_meant_is_refused(people, options, error, words):
    with pytest.raises(error, match=words):
        central(people, at_most=0.1, **options)


def test_a_key_that_is_released_as_it_is_ends_a_central_promise(people):
    with pytest.raises(PrivacyError, match="'region' would be released as it is"):
        pramble.calibrate(
            people, KEYS, column="age", measure="epsilon", at_most=1.0, delta=DELTA
        )  # fmt: skip
