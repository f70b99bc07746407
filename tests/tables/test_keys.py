"""A key is for one file and one design: anything else gets independent noise."""

import secrets

import numpy as np
import pytest
from tests.tables.exact import without_noise
from tests.tables.people import assert_same

import pramble

LABELS = {"a": ["x", "y", "z"], "b": [0, 1], "c": [False, True]}


def data(rows=60, changed=0):
    """Some rows; so many of them are others."""
    rng = np.random.default_rng(7)
    codes = {name: rng.integers(0, len(labels), rows) for name, labels in LABELS.items()}
    codes["a"][:changed] = (codes["a"][:changed] + 1) % 3
    return {name: [LABELS[name][i] for i in own.tolist()] for name, own in codes.items()}


def design(epsilon=1.0, columns=("a", "b"), **more):
    return pramble.design_tables({name: LABELS[name] for name in columns}, epsilon, 1e-6, **more)


def noises(source, plan, keys, part):
    """The noise in a part under each key, in standard deviations: published less true."""
    plan = plan.plan
    true = pramble.measure(source, without_noise(plan), key=bytes(32)).effects[part]
    found = [pramble.measure(source, plan, key=key).effects[part] for key in keys]
    return np.array([(own - true).ravel() for own in found]) * plan.precision[part] ** 0.5


def some_keys(number):
    rng = np.random.default_rng(1)
    return [rng.bytes(32) for _ in range(number)]


ATTACKS = {
    "a corrected row": lambda: (data(changed=1), design()),
    "a row more": lambda: (data(61), design()),
    "another promise": lambda: (data(), design(2.0)),
    "another delta": lambda: (data(), pramble.design_tables(design().plan.labels, 1.0, 1e-7)),
    "another table": lambda: (data(), design(columns=("a", "b", "c"))),
    "other tables": lambda: (data(), design(tables=1)),
    "more rows a person": lambda: (data(), design(rows_per_person=2)),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_two_releases_of_one_key_do_not_subtract_to_exact_counts(attack):
    source, plan = ATTACKS[attack]()
    keys = some_keys(150)
    one = noises(data(), design(), keys, ("a",))
    other = noises(source, plan, keys, ("a",))
    assert np.all(np.abs(one - other).max(axis=1) > 1e-6)
    # two degrees of freedom for each key: an independent correlation is below 4 / sqrt(300)
    correlation = np.corrcoef(one[:, :2].ravel(), other[:, :2].ravel())[0, 1]
    assert abs(correlation) < 4 / np.sqrt(300)


def test_the_same_file_design_and_key_give_the_same_bytes():
    key = secrets.token_bytes(32)
    one = pramble.measure(data(), design(), key=key)
    assert_same(one, pramble.measure(data(), design(), key=key))
    backwards = {name: values[::-1] for name, values in data().items()}
    assert_same(one, pramble.measure(backwards, design(), key=key))


def test_a_plan_that_was_read_back_is_the_same_design():
    plan = design(rows_per_person=2).plan
    again = type(plan).from_json(plan.to_json())
    assert_same(
        pramble.measure(data(), plan, key=bytes(32)), pramble.measure(data(), again, key=bytes(32))
    )


def test_parts_of_one_release_have_independent_noise():
    keys, parts = some_keys(300), [("a",), ("b",), ("a", "b")]
    found = [noises(data(), design(), keys, part)[:, 0] for part in parts]
    correlations = np.corrcoef(found)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 4 / np.sqrt(300)


def test_without_a_key_every_release_is_another():
    one, other = (pramble.measure(data(), design()) for _ in range(2))
    assert any(np.any(one.parts[part] != other.parts[part]) for part in one.parts)


def test_columns_of_odd_names_do_not_share_their_noise():
    names = ["digits 0", '["digits 0"]', "words", ""]
    plan = pramble.design_tables(dict.fromkeys(names, 50), 1.0, 1e-6, tables=1)
    found = pramble.measure({name: [] for name in names}, plan, key=bytes(32))
    assert len({found.parts[name,].tobytes() for name in names}) == len(names)


@pytest.mark.parametrize("key", [b"short", "x" * 32, 7])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(pramble.InvalidInput, match="32 secret bytes"):
        pramble.measure(data(), design(), key=key)
