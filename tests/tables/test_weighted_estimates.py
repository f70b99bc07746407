"""What weighted tables answer: the arithmetic of weighted samples, design effects, and weights of
synthetic records."""

import numpy as np
import pytest
from tests.tables.test_weights import loud

import pramble

SIZES = {"a": 2, "b": 3, "c": 2}


def people(rows=4000, seed=1):
    rng = np.random.default_rng(seed)
    found = {name: rng.integers(0, size, rows) for name, size in SIZES.items()}
    found["c"] = (rng.random(rows) < 0.2 + 0.3 * found["a"]).astype(int)
    weights = rng.gamma(3, 20, rows) * np.where(found["c"] == 1, 0.4, 1.2)
    return found | {"w": np.round(np.clip(weights, 1, 300), 2)}


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def design():
    return pramble.design_tables(SIZES, 1.0, 1e-6, largest_weight=300)


@pytest.fixture(scope="module")
def exact(frame, design):
    """Next to no noise: the arithmetic alone."""
    return pramble.measure(frame, loud(design.plan), key=bytes(32), weights="w")


@pytest.fixture(scope="module")
def noisy(frame, design):
    return pramble.measure(frame, design, key=bytes(32), weights="w")


ASKED = {
    "one column": {"by": ["c"]},
    "a table": {"by": ["a", "b"]},
    "another order": {"by": ["c", "a"]},
    "given": {"by": ["c"], "given": ["a"]},
    "a query": {"by": ["a", "c"], "query": ["a=1", "a=0,c=1"]},
}


@pytest.mark.parametrize("asked", ASKED)
def test_without_noise_they_are_those_of_a_weighted_sample(frame, exact, asked):
    found = pramble.estimate(exact, weights="w", **ASKED[asked])
    known = pramble.estimate(frame, {}, weights="w", **ASKED[asked])
    assert np.allclose(found.values, known.values, rtol=1e-5)
    # within cells weights vary alike here, which is what is assumed of their squares
    assert np.allclose(found.standard_errors, known.standard_errors, rtol=0.06)
    assert np.allclose(found.upper - found.lower, 3.92 * known.standard_errors, rtol=0.08)
    if asked != "given":  # of records they are wider: weights are not told apart within groups
        assert np.allclose(found.lower, known.lower, atol=0.003)
        assert np.allclose(found.upper, known.upper, atol=0.003)
    assert found.n == len(frame["w"])
    assert found.covers_what == known.covers_what
    assert "population" in found.covers_what


def test_what_follows_from_an_estimate_is_weighted_too(frame, exact):
    e = pramble.estimate(exact, by=["a", "c"], weights="w")
    known = pramble.estimate(frame, {}, by=["a", "c"], weights="w")
    for of in (
        lambda one: one.mean("c", {0: 0.0, 1: 1.0}),
        lambda one: one.collapse("a", {0: "all", 1: "all"}),
        lambda one: one.function(lambda p: p[3] / (p[2] + p[3]) - p[1] / (p[0] + p[1])),
    ):
        assert np.allclose(of(e).values, of(known).values, rtol=1e-4)
        assert np.allclose(of(e).standard_errors, of(known).standard_errors, rtol=0.08)
    whole = sum(frame["w"])
    assert np.allclose(e.counts().values.sum(), whole, rtol=1e-6)
    assert np.allclose(e.counts(2 * whole).values, 2 * e.counts().values, rtol=1e-6)


def test_the_noise_of_totals_is_in_weighted_counts(noisy, design):
    e = pramble.estimate(noisy, by=["a"], weights="w", method="inverse", covers="randomisation")
    stated = float(design.plan.weights.unit) * design.plan.weighted.cell_variance(("a",)) ** 0.5
    assert np.allclose(e.counts().standard_errors, stated, rtol=0.02)


def test_without_weights_an_estimate_stays_of_the_records(frame, noisy, exact):
    e = pramble.estimate(exact, by=["c"])
    assert np.allclose(e.values, np.bincount(frame["c"]) / len(frame["c"]), rtol=1e-6)
    assert "population" not in e.covers_what
    assert any("Not weighted" in note and "weights='w'" in note for note in e.notes)
    weighted = pramble.estimate(noisy, by=["c"], weights="w")
    assert any("Weighted by w" in note for note in weighted.notes)
    assert any("modelled" in note.lower() for note in pramble.estimate(
        noisy, by=["a", "b", "c"], weights="w").notes)  # fmt: skip


@pytest.mark.parametrize("by", [["c"], ["a", "b", "c"]])
@pytest.mark.parametrize("weights", [None, "w"])
def test_a_design_effect_multiplies_sampling_variances_alone(noisy, by, weights):
    def variances(**more):
        return pramble.estimate(noisy, by=by, weights=weights, method="mle", **more).covariance

    noise = variances(covers="randomisation")
    once, four = variances(), variances(survey={"design_effect": 4})
    assert np.allclose(four - noise, 4 * (once - noise), rtol=1e-6, atol=1e-12)
    stated = pramble.estimate(noisy, by=by, weights="w", survey={"design_effect": 1})
    assert "population" in stated.covers_what


def test_a_design_effect_widens_estimates_of_records():
    m = pramble.randomized_response(["no", "yes"], 2.0)
    wide, plain = (
        pramble.estimate([650, 350], m, counts=True, survey=own)
        for own in ({"design_effect": 2.5}, None)
    )
    noise = pramble.estimate([650, 350], m, counts=True, covers="randomisation").covariance
    assert np.allclose(wide.covariance - noise, 2.5 * (plain.covariance - noise))
    assert wide.upper[1] > plain.upper[1]
    assert "population" not in plain.covers_what
    assert "simple random sample" in plain.covers_what


@pytest.mark.parametrize("effect", [0, -1, float("inf"), float("nan"), True, "2"])
def test_what_is_no_design_effect_is_refused(effect):
    with pytest.raises(pramble.InvalidInput, match="design_effect must be a positive number"):
        pramble.Survey(design_effect=effect)


def test_a_design_effect_stands_for_strata_and_clusters():
    with pytest.raises(pramble.InvalidInput, match="or the design effect"):
        pramble.Survey(strata="s", design_effect=2)


def test_weights_that_were_not_measured_are_refused(noisy, frame):
    with pytest.raises(pramble.InvalidInput, match="have the weights 'w'"):
        pramble.estimate(noisy, by=["a"], weights="wgt")
    with pytest.raises(pramble.InvalidInput, match="have the weights 'w'"):
        pramble.estimate(noisy, by=["a"], weights=frame["w"])
    plain = pramble.measure(frame, pramble.design_tables(SIZES, 1.0, 1e-6), key=bytes(32))
    with pytest.raises(pramble.InvalidInput, match="have no weights"):
        pramble.estimate(plain, by=["a"], weights="w")
    with pytest.raises(pramble.InvalidInput, match="estimate"):
        pramble.estimate_regression(noisy, formula="c ~ a", weights="w")


@pytest.mark.parametrize("rows", [None, 1000])
def test_synthetic_records_weigh_as_the_protected_tables(noisy, rows):
    records = pramble.synthesize(noisy, rows=rows, seed=1)
    assert records.column_names == [*SIZES, "w"]
    weights = records["w"].to_numpy()
    assert weights.min() > 0
    assert weights.max() <= 300
    assert np.isclose(weights.mean() * noisy.total, noisy.weighted.sums.total / 1000, rtol=0.05)
    for table in (["c"], ["a", "c"], ["b", "c"]):
        e = pramble.estimate(noisy, by=table, weights="w")
        place = np.ravel_multi_index([records[n].to_numpy() for n in table],
                                     [SIZES[n] for n in table])  # fmt: skip
        own = np.bincount(place, weights) / weights.sum()
        assert np.abs(own - e.values).max() < 2.5 * e.standard_errors.max()
    again = pramble.synthesize(noisy, rows=rows, seed=1)
    assert again.equals(records)
