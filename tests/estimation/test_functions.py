"""What follows from a table: against plain arithmetic, brute force, and by coverage."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import pramble
from pramble.errors import InvalidInput

LABELS = {"sex": ["f", "m"], "work": ["yes", "no", "none"], "level": [1, 2, 3, 4]}


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    work = (rng.random(n)[:, None] > np.array([[0.5, 0.8], [0.7, 0.9]])[sex]).sum(axis=1)
    level = np.minimum(rng.poisson(1 + 0.5 * sex), 3)
    return {
        "sex": [LABELS["sex"][i] for i in sex],
        "work": [LABELS["work"][i] for i in work],
        "level": [LABELS["level"][i] for i in level],
    }


def split(alpha):
    return {name: pramble.randomized_response(own, alpha) for name, own in LABELS.items()}


def joint(alpha):
    cells = list(itertools.product(LABELS["sex"], LABELS["work"]))
    both = pramble.randomized_response(cells, alpha)
    return {("sex", "work"): both, "level": pramble.randomized_response(LABELS["level"], alpha)}


def sampled(alpha):
    return pramble.design_record(LABELS, alpha, tables=2, time_limit=0.5).plan


PLANS = {"columns": split, "blocks": joint, "branches": sampled}


@pytest.fixture(scope="module", params=PLANS)
def released(request):
    plan = PLANS[request.param](3.0)
    return pramble.perturb(people(4000), plan, key=b"k" * 32), plan


def wilson(count, n, level=0.95):
    z = norm.ppf((1 + level) / 2)
    share = count / n
    middle, reach = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return (middle - reach) / (1 + z**2 / n), (middle + reach) / (1 + z**2 / n)


def test_untouched_shares_have_the_score_interval_of_their_group():
    frame = people(500)
    e = pramble.estimate(frame, {}, by="work", given="sex")
    assert e.given == ("sex",)
    for i, (sex, work) in enumerate(zip(e.cells["sex"], e.cells["work"], strict=True)):
        group = [w for s, w in zip(frame["sex"], frame["work"], strict=True) if s == sex]
        count = group.count(work)
        assert e.values[i] == pytest.approx(count / len(group))
        assert (e.lower[i], e.upper[i]) == pytest.approx(wilson(count, len(group)), abs=1e-6)
        share = count / len(group)
        assert e.standard_errors[i] == pytest.approx(np.sqrt(share * (1 - share) / len(group)))


def test_shares_of_a_group_sum_to_one_and_are_ratios_of_the_table(released):
    data, plan = released
    e = pramble.estimate(data, plan, by=["work"], given=["sex"])
    table = pramble.estimate(data, plan, by=["sex", "work"])
    whole = table.values.reshape(2, 3)
    assert e.values.reshape(2, 3) == pytest.approx(whole / whole.sum(axis=1, keepdims=True))
    assert np.abs(e.covariance.reshape(2, 3, 6).sum(axis=1)).max() < 1e-12
    assert np.sqrt(np.diag(e.covariance)) == pytest.approx(e.standard_errors)
    assert (e.lower <= e.values + 1e-9).all()
    assert (e.values <= e.upper + 1e-9).all()


def test_the_error_of_a_share_is_that_of_its_linearisation(released):
    data, plan = released
    table = pramble.estimate(data, plan, by=["sex", "work"])
    e = pramble.estimate(data, plan, by=["work"], given=["sex"])

    def shares(p):
        return (p.reshape(2, 3) / p.reshape(2, 3).sum(axis=1, keepdims=True)).ravel()

    f = table.function(shares, names=list("abcdef"))
    assert f.values == pytest.approx(e.values)
    assert f.covariance == pytest.approx(e.covariance, rel=1e-5, abs=1e-12)


def test_merged_labels_are_sums(released):
    data, plan = released
    table = pramble.estimate(data, plan, by=["sex", "work"], method="inverse")
    merged = table.collapse("work", {"no": "not", "none": "not"})
    A = np.array([[1, 0, 0], [0, 1, 1]])
    W = np.kron(np.eye(2), A)
    assert merged.cells["work"] == ("yes", "not", "yes", "not")
    assert merged.values == pytest.approx(W @ table.values)
    assert merged.covariance == pytest.approx(W @ table.covariance @ W.T, abs=1e-15)
    query = pramble.estimate(
        data, plan, by=["sex", "work"], method="inverse", query="sex=f,work=no|none"
    )
    assert merged.values[1] == pytest.approx(query.values[0])
    assert merged.lower[1] == pytest.approx(query.lower[0], abs=2e-3)
    assert merged.upper[1] == pytest.approx(query.upper[0], abs=2e-3)
    shares = pramble.estimate(data, plan, by=["work"], given=["sex"])
    again = shares.collapse("work", {"no": "not", "none": "not"})
    assert again.values.reshape(2, 2).sum(axis=1) == pytest.approx([1, 1])
    assert again.values == pytest.approx(W @ shares.values)


def test_means_and_shares_up_to_are_those_of_the_conditional_law(released):
    data, plan = released
    table = pramble.estimate(data, plan, by=["sex", "level"])
    law = table.values.reshape(2, 4)
    law = law / law.sum(axis=1, keepdims=True)
    mean = table.mean("level")
    assert mean.cells == {"sex": ("f", "m")}
    assert mean.values == pytest.approx(law @ [1, 2, 3, 4])
    assert (mean.lower < mean.values).all()
    assert (mean.values < mean.upper).all()
    scored = table.mean("level", {1: 0, 2: 0, 3: 1, 4: 1})
    up_to = table.cumulative("level")
    assert up_to.values.reshape(2, 4) == pytest.approx(np.cumsum(law, axis=1))
    assert scored.values == pytest.approx(1 - up_to.values.reshape(2, 4)[:, 1])
    assert scored.lower == pytest.approx(1 - up_to.upper.reshape(2, 4)[:, 1], abs=1e-6)
    assert up_to.lower.reshape(2, 4)[:, 3] == pytest.approx([1, 1])
    given = pramble.estimate(data, plan, by=["level"], given=["sex"])
    assert given.mean("level").values == pytest.approx(mean.values)
    alone = pramble.estimate(data, plan, by="level").mean("level")
    assert alone.values.shape == (1,)


def test_quantiles_are_the_labels_where_the_shares_cross(released):
    data, plan = released
    table = pramble.estimate(data, plan, by=["sex", "level"])
    found = table.quantiles("level", [0.3, 0.6]).to_pydict()
    up_to = table.cumulative("level")
    for i, (sex, share) in enumerate(zip(found["sex"], found["share"], strict=True)):
        own = [k for k, s in enumerate(table.cells["sex"]) if s == sex]
        for name, curve in (("quantile", up_to.values), ("lower", up_to.upper)):
            expected = next(k for k in own if curve[k] >= share - 1e-12)
            assert found[name][i] == table.cells["level"][expected]
        assert found["lower"][i] <= found["quantile"][i] <= found["upper"][i]


def test_contrasts_have_the_errors_of_their_linearisation(released):
    data, plan = released
    e = pramble.estimate(data, plan, by=["work"], given=["sex"])
    for kind, value in (("difference", lambda a, b: a - b), ("ratio", lambda a, b: a / b)):
        c = e.contrast("sex", "f", "m", kind=kind)
        f = e.function(lambda p, value=value: value(p[:3], p[3:]), names=["x", "y", "z"])
        assert c.values == pytest.approx(f.values)
        assert c.standard_errors == pytest.approx(f.standard_errors, rel=1e-5)
        assert ((c.lower <= c.values) & (c.values <= c.upper)).all()
        assert c.cells["work"] == ("yes", "no", "none")
        assert c.cells["sex"][0] == "f against m"


def test_a_group_of_nobody_leaves_the_contrasts_of_the_others():
    plan = {"g": pramble.randomized_response(["a", "b", "c"], 2.0)}
    released = {"g": ["a", "b"] * 500, "y": (["u"] * 3 + ["v"]) * 250}
    e = pramble.estimate(released, plan, by="y", given="g")
    assert np.isnan(np.diag(e.covariance)).sum() == 2
    both = e.contrast("g", "a", "b")
    assert np.isfinite(both.covariance).all()
    assert both.standard_errors == pytest.approx(np.sqrt(np.diag(both.covariance)))
    assert (both.upper - both.lower < 1).all()
    nobody = e.contrast("g", "a", "c")
    assert (nobody.upper - nobody.lower >= 1).all()
    assert np.isnan(nobody.standard_errors).all()
    first = e.function(lambda p: p[:1], names=["a"])
    assert np.isfinite(first.standard_errors).all()


def test_a_difference_of_independent_shares_is_newcombes():
    frame = people(300)
    e = pramble.estimate(frame, {}, by="work", given="sex").contrast("sex", "f", "m")
    counts = {s: [w for t, w in zip(frame["sex"], frame["work"], strict=True) if t == s]
              for s in "fm"}  # fmt: skip
    for i, work in enumerate(e.cells["work"]):
        ends = {s: wilson(own.count(work), len(own)) for s, own in counts.items()}
        p = {s: own.count(work) / len(own) for s, own in counts.items()}
        low = np.hypot(p["f"] - ends["f"][0], ends["m"][1] - p["m"])
        assert e.lower[i] == pytest.approx(p["f"] - p["m"] - low, abs=1e-5)


def test_the_ends_of_a_ratio_are_where_the_difference_holds_zero():
    frame = people(300)
    e = pramble.estimate(frame, {}, by="work", given="sex")
    c = e.contrast("sex", "f", "m", kind="ratio")
    r = e.values.reshape(2, 3)
    for i in range(3):
        for mu, d, up in (
            (c.lower[i], r[0, i] - e.lower[i], e.upper[3 + i] - r[1, i]),
            (c.upper[i], e.upper[i] - r[0, i], r[1, i] - e.lower[3 + i]),
        ):
            assert abs(r[0, i] - mu * r[1, i]) == pytest.approx(np.hypot(d, mu * up), abs=1e-6)


def test_nothing_is_known_of_a_group_that_cannot_be_told_from_none():
    plan = split(0.05)
    data = pramble.perturb(people(300), plan, key=b"k" * 32)
    e = pramble.estimate(data, plan, by=["work"], given=["sex"])
    unknown = (e.lower == 0) & (e.upper == 1)
    assert unknown.any()
    assert "Nothing is known of" in e.notes[0]


@pytest.mark.parametrize("kind", ["columns", "branches"])
def test_intervals_cover_what_they_should(kind):
    plan, runs, n = PLANS[kind](3.0), 40, 1500
    truth = people(200_000, seed=9)
    sex, work = np.array(truth["sex"]), np.array(truth["work"])
    shares = np.array([(work[sex == s] == w).mean() for s in LABELS["sex"] for w in LABELS["work"]])
    difference = shares[:3] - shares[3:]
    covered = []
    for run in range(runs):
        data = pramble.perturb(people(n, seed=100 + run), plan, key=bytes([run]) * 32)
        e = pramble.estimate(data, plan, by=["work"], given=["sex"])
        c = e.contrast("sex", "f", "m")
        covered += [*((e.lower <= shares) & (shares <= e.upper))]
        covered += [*((c.lower <= difference) & (difference <= c.upper))]
    assert 0.92 < np.mean(covered) < 0.975


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.5, 4.0))
def test_every_interval_lies_in_its_range_and_holds_the_estimate(seed, alpha):
    plan = split(alpha)
    data = pramble.perturb(people(60, seed=seed), plan, key=seed.to_bytes(32, "big"))
    e = pramble.estimate(data, plan, by=["work"], given=["sex"])
    assert (e.lower >= 0).all()
    assert (e.upper <= 1).all()
    assert (e.lower <= e.upper).all()
    m = pramble.estimate(data, plan, by=["sex", "level"]).mean("level")
    assert (m.lower >= 1).all()
    assert (m.upper <= 4).all()


def test_what_cannot_be_meant_is_refused(released):
    data, plan = released
    e = pramble.estimate(data, plan, by=["work"], given=["sex"])
    for wrong, words in (
        (lambda: e.collapse("sex", {"f": "x"}), "given 'sex'"),
        (lambda: e.collapse("town", {}), "no column of this table"),
        (lambda: e.collapse("work", {"maybe": "x"}), "'maybe' is no label"),
        (lambda: e.mean("work"), "every label of 'work' a number"),
        (lambda: e.quantiles("work", [1.5]), "between 0 and 1"),
        (lambda: e.contrast("sex", "f", "x"), "'x' is no label"),
        (lambda: e.contrast("sex", "f", "m", kind="product"), "difference, ratio"),
        (lambda: e.function(lambda p: p, names=["a"]), "as many names"),
        (lambda: e.contrast("sex", "f", "m").cumulative("work"), "a table of shares"),
        (lambda: pramble.estimate(data, plan, by=["work"], given=["sex"], query="work=yes"),
         "one of query"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=words):
            wrong()


def test_a_conditional_estimate_survives_pickling(released):
    data, plan = released
    e = pramble.estimate(data, plan, by=["work"], given=["sex"])
    copy = pickle.loads(pickle.dumps(e))
    assert copy.covariance == pytest.approx(e.covariance)
    assert copy.contrast("sex", "f", "m").values == pytest.approx(
        e.contrast("sex", "f", "m").values
    )


@pytest.mark.parametrize("plan", PLANS)
def test_counts_are_shares_times_records(plan):
    made = PLANS[plan](2.0)
    e = pramble.estimate(pramble.perturb(people(400), made, key=bytes(32)), made, by=["sex"])
    counted, known = e.counts(), e.counts(1e6)
    assert counted.values.sum() == pytest.approx(e.n)
    assert known.values.sum() == pytest.approx(1e6)
    assert np.allclose(known.upper, 1e6 * e.upper)
    assert np.allclose(np.diag(known.covariance), 1e12 * np.diag(e.covariance))
    assert "count" in counted.columns()


def test_what_is_no_share_of_all_is_not_counted():
    made = split(2.0)
    e = pramble.estimate(pramble.perturb(people(50), made), made, by=["work"], given=["sex"])
    with pytest.raises(InvalidInput, match="found shares within groups"):
        e.counts()
    with pytest.raises(InvalidInput, match="total must be a positive"):
        pramble.estimate([3, 4], pramble.randomized_response(2, 1.0), counts=True).counts(0)
