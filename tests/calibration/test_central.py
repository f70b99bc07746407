"""Calibration to a central promise: safe, near the edge, conditions checked."""

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


def test_epsilon_needs_a_delta(people):
    with pytest.raises(InvalidInput, match="needs delta="):
        pramble.calibrate(people, KEYS, columns=KEYS, measure="epsilon", at_most=0.1)


def test_a_key_that_is_released_as_it_is_ends_a_central_promise(people):
    with pytest.raises(PrivacyError, match="'region' would be released as it is"):
        pramble.calibrate(
            people, KEYS, column="age", measure="epsilon", at_most=1.0, delta=DELTA
        )  # fmt: skip
