"""The verb as a whole: what it answers, for whom, and what it refuses."""

import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble import InvalidData, InvalidInput

DATA = {
    "age": [20, 20, 40, 60, 60, None],
    "sex": ["f", "f", "m", "f", "m", "m"],
    "w": [3.0, 4.0, 5.0, 2.0, 9.0, 1.0],
}
KEYS = ["age", "sex"]


@given(st.integers(0, 10**6), st.sampled_from(["independence", "two-way"]))
def test_tau_sums_the_records_that_are_alone(seed, model):
    rng = np.random.default_rng(seed)
    data = {"a": rng.integers(0, 4, 30), "b": rng.integers(0, 6, 30)}
    a = pramble.assess(data, ["a", "b"], population_size=300, model=model)
    alone = a.records["class_size"] == 1
    assert a.sample_uniques == alone.sum()
    assert a.tau1 == pytest.approx(a.records["r1"][alone].sum(), abs=1e-12)
    assert a.tau2 == pytest.approx(a.records["r2"][alone].sum(), abs=1e-12)
    assert (a.records["r1"][~alone] == 0).all()
    assert (a.records["r2"] <= 1 / a.records["class_size"] + 1e-12).all()
    assert (a.records["r1"] <= a.records["r2"] + 1e-15).all()


def test_every_record_has_its_row():
    a = pramble.assess(DATA, KEYS, population_size=60, model="independence")
    assert len(a.records) == 6
    assert a.records.class_size.tolist() == [2, 2, 1, 1, 1, 1]
    assert a.table.levels[0] == (20, 40, 60, None)
    rest = (1 / 0.1 - 1) * 6 * (1 / 6) * (3 / 6)
    assert a.records["r1"][2] == pytest.approx(math.exp(-rest))
    assert a.records["r2"][2] == pytest.approx(-math.expm1(-rest) / rest)


def test_a_census_is_at_full_risk_and_a_tiny_sample_at_none():
    census = pramble.assess(DATA, KEYS, population_size=6, model="two-way")
    assert (census.tau1, census.tau2) == (4.0, 4.0)
    tiny = pramble.assess(DATA, KEYS, population_size=1e12, model="two-way")
    assert tiny.tau2 < 1e-8


def test_no_sample_uniques_means_zero_not_an_error():
    data = {"a": ["x", "x", "y", "y"]}
    for model in ("independence", "two-way", "none"):
        a = pramble.assess(data, ["a"], population_size=9, model=model)
        assert (a.sample_uniques, a.tau1, a.tau2) == (0, 0.0, 0.0)


def test_without_a_model_only_classes_are_counted():
    a = pramble.assess(DATA, KEYS, model="none")
    assert math.isnan(a.tau1)
    assert math.isnan(a.population_size)
    assert (a.sample_uniques, a.below(3), a.smallest_class) == (4, 6, 1)
    assert json.loads(json.dumps(a.summary() | {"population_size": None}))["tau1"] is None


def test_weights_and_population_size_together_rescale_the_weights():
    free = pramble.assess(DATA, KEYS, weights="w", model="independence")
    assert free.population_size == 24.0
    scaled = pramble.assess(DATA, KEYS, weights="w", population_size=48, model="independence")
    rest_free, rest_scaled = (-np.log(a.records["r1"][[2, 4]]) for a in (free, scaled))
    mu = np.array([0.5, 1.0])
    np.testing.assert_allclose(rest_free, mu * (np.array([5, 9]) - 1))
    np.testing.assert_allclose(rest_scaled, mu * (np.array([10, 18]) - 1))


def test_an_unknown_model_is_refused():
    with pytest.raises(InvalidInput, match=r"model must be one of .*; found 'three-way'"):
        pramble.assess(DATA, KEYS, population_size=60, model="three-way")


def test_the_population_must_hold_the_sample():
    with pytest.raises(InvalidInput, match=r"at least the file's 6 records; found 5\."):
        pramble.assess(DATA, KEYS, population_size=5)
    with pytest.raises(InvalidInput, match="population_size is needed"):
        pramble.assess(DATA, KEYS)
    with pytest.raises(InvalidInput, match="at least the file's"):
        pramble.assess(DATA, KEYS, population_size=float("nan"))


def test_structural_zeros_by_label_collection_and_predicate():
    data = {"age": [5, 9, 30, 40, 41, 50], "wed": ["no", "no", "yes", "no", "yes", "lost"]}
    rules = [
        [{"age": [5, 9], "wed": ["yes", "lost"]}],
        [{"age": lambda age: age < 15, "wed": ["yes", "lost"]}],
        [{"age": 5, "wed": "yes"}, {"age": 5, "wed": "lost"}, {"age": "9", "wed": {"yes", "lost"}}],
    ]
    answers = [
        pramble.assess(
            data, ["age", "wed"], population_size=60, model="independence", impossible=rule
        )
        for rule in rules
    ]
    plain = pramble.assess(data, ["age", "wed"], population_size=60, model="independence")
    for a in answers:
        assert a.tau2 == pytest.approx(answers[0].tau2, rel=1e-9)
        assert a.tau2 != pytest.approx(plain.tau2, rel=1e-3)
        cells = np.array([[0, 0], [0, 1], [0, 2]], dtype=np.int32)
        assert a.fit.means(cells).tolist() == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)


def test_rules_that_the_data_breaks_are_refused_with_the_row():
    data = {"age": [5, 30], "wed": ["yes", "no"]}
    with pytest.raises(InvalidData, match=r"Row 0 holds values of 'age', 'wed'"):
        pramble.assess(
            data, ["age", "wed"], population_size=9, impossible=[{"age": 5, "wed": "yes"}]
        )
    with pytest.raises(InvalidInput, match="'height', which is not among"):
        pramble.assess(data, ["age"], population_size=9, impossible=[{"height": 5}])
    with pytest.raises(InvalidInput, match="membership model spreads people over every cell"):
        pramble.assess(
            data, ["age", "wed"], population_size=9, model="membership",
            impossible=[{"age": 5, "wed": "no"}],
        )  # fmt: skip
    with pytest.raises(InvalidInput, match="must map columns"):
        pramble.assess(data, ["age"], population_size=9, impossible=["age"])


def test_the_riskiest_rows_come_first_and_carry_their_values():
    a = pramble.assess(DATA, KEYS, population_size=60, model="independence")
    rows = a.riskiest(3)
    assert [row["r2"] for row in rows] == sorted((row["r2"] for row in rows), reverse=True)
    assert rows[0]["r2"] == a.records["r2"].max()
    assert rows[0]["keys"] == {
        "age": DATA["age"][rows[0]["row"]],
        "sex": DATA["sex"][rows[0]["row"]],
    }
    by_size = pramble.assess(DATA, KEYS, model="none").riskiest(6)
    assert [row["class_size"] for row in by_size] == [1, 1, 1, 1, 2, 2]


def test_results_are_read_only_and_survive_pickling():
    a = pickle.loads(pickle.dumps(pramble.assess(DATA, KEYS, population_size=60)))
    with pytest.raises(ValueError, match="read-only"):
        a.records["r1"][0] = 1.0
    with pytest.raises(AttributeError):
        a.tau1 = 0.0
    plan = {"sex": pramble.randomized_response(["f", "m"], 1.0)}
    left = pickle.loads(pickle.dumps(a.after(plan)))
    with pytest.raises(ValueError, match="read-only"):
        left.records["r2"][0] = 1.0
    assert a.after(plan).summary()["tau2"] == left.tau2


def drawn_sample(law, *, size, fraction, rng):
    """A population from a law over the cells, a sample of it, and the sample's true τ1 and τ2."""
    cells = rng.choice(law.size, size, p=law.ravel())
    F = np.bincount(cells, minlength=law.size)
    chosen = cells[rng.random(size) < fraction]
    f = np.bincount(chosen, minlength=law.size)
    sample = dict(zip("abc", np.unravel_index(chosen, law.shape), strict=True))
    return sample, ((F[f == 1] == 1).sum(), (1 / F[f == 1]).sum())


def main_effects(rng, shape=(8, 10, 12)):
    a, b, c = (rng.dirichlet(np.full(size, 0.7)) for size in shape)
    return np.einsum("i,j,k->ijk", a, b, c)


def interactions(rng, shape=(8, 8, 8)):
    pairs = [rng.normal(0, 1.3, (shape[i], shape[j])) for i, j in ((0, 1), (0, 2), (1, 2))]
    logs = pairs[0][:, :, None] + pairs[1][:, None, :] + pairs[2][None, :, :]
    return np.exp(logs) / np.exp(logs).sum()


@pytest.mark.parametrize(
    ("law", "model", "size"),
    [(main_effects, "independence", 6000), (interactions, "two-way", 40_000)],
)
def test_estimates_are_near_the_truth_where_the_model_is_true(law, model, size):
    rng = np.random.default_rng(13)
    probabilities = law(rng)
    found = []
    for _ in range(40):
        sample, truth = drawn_sample(probabilities, size=size, fraction=0.1, rng=rng)
        a = pramble.assess(sample, list("abc"), population_size=size, model=model)
        found.append((a.tau1 - truth[0], a.tau2 - truth[1], *truth))
    found = np.array(found)
    bias, level = found[:, :2].mean(axis=0), found[:, 2:].mean(axis=0)
    error = found[:, :2].std(axis=0) / np.sqrt(len(found))
    assert (np.abs(bias) < 3 * error + 0.04 * level).all()
    assert (level > 10 * error).all()
