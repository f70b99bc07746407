"""Risk after randomisation, by carrying out the attack: link a release to its population."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pramble
from pramble import InvalidInput, InvalidPlan

SHAPE = (3, 4)
CELLS = np.array(list(product(*map(range, SHAPE))), dtype=np.int32)
COUNTS = np.array([1, 3, 1, 4, 3, 1, 2, 1, 1, 3, 1, 2])
FRACTION = 0.6
RATES = COUNTS / FRACTION
PLANS = {
    "one column": {"b": pramble.randomized_response(4, 1.0)},
    "two columns": {
        "a": pramble.keep_probabilities([0.9, 0.6, 0.5]),
        "b": pramble.randomized_response(4, 1.5),
    },
    "a general matrix": {
        "a": pramble.Mechanism.from_matrix([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]])
    },
}


def people_of(counts):
    rows = np.repeat(CELLS, counts, axis=0)
    return {"a": rows[:, 0].tolist(), "b": rows[:, 1].tolist()}


def assessed(counts, model):
    size = counts.sum() / FRACTION
    return pramble.assess(people_of(counts), ["a", "b"], population_size=size, model=model)


def full_matrix(plan):
    M = np.ones((1, 1))
    for key, size in zip("ab", SHAPE, strict=True):
        M = np.kron(M, plan[key].matrix if key in plan else np.eye(size))
    return M


def simulate_attack(plan, *, rounds, rng):
    """Draw populations, sample, randomise; collect what each released unique was worth."""
    M = full_matrix(plan)
    worth = {j: [] for j in range(len(RATES))}
    for _ in range(rounds):
        F = rng.poisson(RATES)
        f = rng.binomial(F, FRACTION)
        moved = np.stack([rng.multinomial(f[k], M[k]) for k in range(len(f))])
        released = moved.sum(axis=0)
        for j in np.flatnonzero(released == 1):
            right = moved[j, j] == 1
            worth[j].append((right * (F[j] == 1), right / max(F[j], 1), right))
    return worth


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_record_risks_are_what_the_attack_attains(plan, monkeypatch):
    monkeypatch.setattr("pramble.risk.spread.NEEDED", np.inf)  # two keys: the counts themselves
    left = assessed(COUNTS, "two-way").after(plan)
    first = np.cumsum(COUNTS) - COUNTS  # the first record of each cell
    worth = simulate_attack(plan, rounds=6000, rng=np.random.default_rng(5))
    rest = (1 - FRACTION) * RATES
    naive = -np.expm1(-rest) / rest
    rejected = 0
    for j, seen in worth.items():
        draws = np.array(seen, dtype=float)
        error = np.maximum(draws.std(axis=0), 0.02) / np.sqrt(len(draws))
        stated = [left.records[name][first[j]] for name in ("r1", "r2", "posterior")]
        assert (np.abs(draws.mean(axis=0) - stated) < 4.5 * error).all()
        rejected += abs(draws[:, 1].mean() - naive[j]) > 4.5 * error[1]
    assert rejected >= 9


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_tau_after_is_the_expected_yield_of_the_attack_given_the_file(plan):
    rng = np.random.default_rng(6)
    f = rng.poisson(1.0, len(CELLS)) + np.array([1, 0, 2] * 4)
    a = assessed(f, "independence")
    assert a.table.shape == SHAPE
    left, rates = a.after(plan), a.fit.means(CELLS) / FRACTION
    M = full_matrix(plan)
    yields = []
    for _ in range(6000):
        F = f + rng.poisson((1 - FRACTION) * rates)
        moved = np.stack([rng.multinomial(f[k], M[k]) for k in range(len(f))])
        right = (moved.sum(axis=0) == 1) & (np.diagonal(moved) == 1)
        yields.append(((right & (F == 1)).sum(), (right / np.maximum(F, 1)).sum()))
    draws = np.array(yields, dtype=float)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - [left.tau1, left.tau2]) < 4.5 * error).all()
    assert left.tau2 > 10 * error[1]


def test_linking_a_real_release_to_its_population():
    """The whole story with public calls only: assess, randomise, link, count."""
    rng = np.random.default_rng(7)
    N, keys = 20_000, ["a", "b", "c"]
    laws = {"a": [0.5, 0.3, 0.2], "b": np.arange(1, 13) / 78, "c": np.arange(1, 16) ** 2 / 1240}
    population = {key: rng.choice(len(p), N, p=p) for key, p in laws.items()}
    chosen = rng.random(N) < 0.1
    sample = {key: values[chosen] for key, values in population.items()}
    a = pramble.assess(sample, keys, population_size=N, model="independence")
    plan = {"b": pramble.randomized_response(a.table.levels[1], 2.0)}
    left = a.after(plan)
    truth = np.ravel_multi_index([population[key] for key in keys], (3, 12, 15))
    F = np.bincount(truth, minlength=540)
    yields = []
    for _ in range(60):
        moved = rng.random(chosen.sum())
        index = np.searchsorted(a.table.levels[1], sample["b"])
        b = (np.cumsum(plan["b"].matrix, axis=1)[index] < moved[:, None]).sum(axis=1)
        b = np.array(a.table.levels[1])[np.minimum(b, len(a.table.levels[1]) - 1)]
        cell = np.ravel_multi_index([sample["a"], b, sample["c"]], (3, 12, 15))
        unique = np.bincount(cell, minlength=540)[cell] == 1
        right = unique & (cell == truth[chosen])
        yields.append((1 / F[cell[right]]).sum())
    # The population is one draw, so its own spread counts once: about sqrt(sum of r2 (1 - r2)).
    error = np.std(yields) / np.sqrt(60) + np.sqrt(left.tau2)
    assert abs(np.mean(yields) - left.tau2) < 3 * error
    assert np.mean(yields) < a.tau2 - 3 * error


@given(st.integers(0, 10**6))
def test_no_randomisation_leaves_the_risk_as_it_was(seed):
    rng = np.random.default_rng(seed)
    data = {"a": rng.integers(0, 3, 30), "b": rng.integers(0, 5, 30)}
    a = pramble.assess(data, ["a", "b"], population_size=200, model="two-way")
    for plan in ({}, {"b": pramble.Mechanism.from_matrix(np.eye(5))}):
        left = a.after(plan)
        assert left.tau1 == pytest.approx(a.tau1, rel=1e-12)
        assert left.tau2 == pytest.approx(a.tau2, rel=1e-12)
        alone = a.records["class_size"] == 1
        np.testing.assert_allclose(left.records["r2"][alone], a.records["r2"][alone], rtol=1e-9)
        np.testing.assert_allclose(left.records["posterior"], 1.0)


@given(st.integers(0, 10**6), st.floats(0.1, 4.0))
def test_two_columns_one_of_them_still_is_one_column(seed, alpha):
    rng = np.random.default_rng(seed)
    data = {"a": rng.integers(0, 3, 30), "b": rng.integers(0, 5, 30)}
    a = pramble.assess(data, ["a", "b"], population_size=200, model="independence")
    b = pramble.randomized_response(5, alpha)
    still = pramble.Mechanism.from_matrix(np.eye(3))
    one, two = a.after({"b": b}), a.after({"a": still, "b": b})
    assert one.tau1 == pytest.approx(two.tau1, rel=1e-9, abs=1e-300)
    assert one.tau2 == pytest.approx(two.tau2, rel=1e-9)
    np.testing.assert_allclose(one.records["r2"], two.records["r2"], rtol=1e-9)


def test_values_the_mechanism_does_not_know_are_refused():
    a = pramble.assess({"a": ["x", "y", "z"]}, ["a"], population_size=9, model="independence")
    with pytest.raises(InvalidPlan, match="must know every value that occurs"):
        a.after({"a": pramble.randomized_response(["x", "y"], 1.0)})
    with pytest.raises(InvalidPlan, match="'a' has a float"):
        a.after({"a": 0.5})
    none = pramble.assess({"a": ["x", "y", "z"]}, ["a"], model="none")
    with pytest.raises(InvalidInput, match="needs a model"):
        none.after({})


def test_mechanisms_over_more_values_and_other_outputs():
    a = pramble.assess({"a": [1, 2, 2]}, ["a"], population_size=9, model="independence")
    wide = a.after({"a": pramble.randomized_response([0, 1, 2, 3], 1.0)})
    stay = np.e / (np.e + 3)
    np.testing.assert_allclose(
        wide.records["posterior"],
        [stay / (stay + 2 * (1 - stay) / 3), *[2 * stay / (2 * stay + (1 - stay) / 3)] * 2],
    )
    single = a.after(
        {"a": pramble.Mechanism.from_matrix([[1.0], [1.0]], categories=[1, 2], outputs=["all"])}
    )
    assert single.records["posterior"].tolist() == pytest.approx([0.0, 2 / 3, 2 / 3])


def by_hand(a, plan):
    """Expected right matches by comparing all classes two by two; uniform and kept labels alone."""
    cells, counts = a.table.cells, a.table.counts
    move = np.ones((len(cells), len(cells)))
    for axis, key in enumerate(a.keys):
        M = plan[key].matrix if key in plan else np.eye(len(a.table.levels[axis]))
        move *= M[np.ix_(cells[:, axis], cells[:, axis])]
    stay = np.diagonal(move)
    missed = np.exp((counts[:, None] * np.log1p(-move + np.diag(stay))).sum(axis=0))
    first = np.unique(a.table.cell_of, return_index=True)[1]
    own = counts * stay * (1 - stay) ** (counts - 1)
    return (own * missed * a.records["r2"][first]).sum()


@given(st.integers(0, 10**6), st.floats(0.2, 3.0))
def test_pairs_series_and_brute_force_agree(seed, alpha):
    rng = np.random.default_rng(seed)
    data = {key: rng.integers(0, size, 60) for key, size in zip("abc", (3, 4, 2), strict=True)}
    a = pramble.assess(data, list("abc"), population_size=300, model="independence")
    shape = a.table.shape
    general = 0.5 * np.eye(shape[1]) + 0.5 * rng.dirichlet(np.ones(shape[1]), shape[1])
    for plan in (
        {"a": pramble.randomized_response(shape[0], alpha)},
        {"a": pramble.randomized_response(shape[0], alpha),
         "b": pramble.randomized_response(shape[1], alpha)},
        {"a": pramble.randomized_response(shape[0], alpha),
         "b": pramble.Mechanism.from_matrix(general)},
    ):  # fmt: skip
        if a.after(plan).reading != "labels":
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pramble.risk.after.LARGEST_GRID", 0)
            pairs = a.after(plan).tau2
            patch.setattr("pramble.risk.after.LARGEST_GRID", 10**9)
            patch.setattr("pramble.risk.after.SPEED", 0)
            series = a.after(plan).tau2
        assert pairs == pytest.approx(by_hand(a, plan), rel=1e-9)
        assert series == pytest.approx(pairs, rel=1e-8)


def test_too_many_pairs_are_refused(monkeypatch):
    rng = np.random.default_rng(9)
    data = {key: rng.integers(0, size, 3000) for key, size in zip("abc", (6, 7, 8), strict=True)}
    a = pramble.assess(data, list("abc"), population_size=30_000, model="independence")
    plan = {"a": pramble.randomized_response(6, 1.0), "b": pramble.randomized_response(7, 2.0)}
    monkeypatch.setattr("pramble.risk.after.LARGEST_GRID", 0)
    monkeypatch.setattr("pramble.risk.after.MOST_PAIRS", 1000)
    with pytest.raises(InvalidInput, match="randomise fewer keys"):
        a.after(plan)


def test_renaming_or_permuting_labels_does_not_hide_risk():
    rng = np.random.default_rng(10)
    data = {"a": rng.integers(0, 3, 40), "b": rng.integers(0, 2, 40)}
    a = pramble.assess(data, ["a", "b"], population_size=200, model="independence")
    M = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]])
    plain = a.after({"a": pramble.Mechanism.from_matrix(M)})
    turned = a.after({"a": pramble.Mechanism.from_matrix(M[:, [2, 0, 1]])})
    renamed = a.after({"a": pramble.Mechanism.from_matrix(M, outputs=["x", "y", "z"])})
    for other in (turned, renamed):
        assert other.tau2 == pytest.approx(plain.tau2, rel=1e-9)
        np.testing.assert_allclose(other.records["r2"], plain.records["r2"], rtol=1e-9)
    kept = a.after({"b": pramble.keep_probabilities([0.9, 0.9])})
    flipped = a.after({"b": pramble.keep_probabilities([0.1, 0.1])})
    assert flipped.tau2 == pytest.approx(kept.tau2, rel=1e-9)


@pytest.mark.parametrize("columns", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_uniform_rows_of_very_many_levels_build_nothing_dense(columns, monkeypatch):
    S = 100_000
    codes = np.arange(S)
    data = {"a": codes, "b": codes % 3, "c": np.zeros(S, dtype=int)}
    keys = ["a", "b", "c"]
    a = pramble.assess(data, keys, population_size=10 * S, model="independence")
    sizes = {"a": S, "b": 3, "c": 2}
    plan = {name: pramble.randomized_response(sizes[name], 5.0) for name in columns}

    def refuse(self):
        raise AssertionError("a dense matrix was built")

    for kind in ("UniformAlgebra", "UniformOperator"):
        monkeypatch.setattr(f"pramble.mechanisms.operators.uniform.{kind}.dense", refuse)
    monkeypatch.setattr("pramble.risk.after.MOST_PAIRS", 10**12)
    start = time.process_time()
    if len(columns) > 1:  # two by two, in a sample of the classes
        few = {name: values[::50] for name, values in data.items()}
        a = pramble.assess(few, keys, population_size=10 * S, model="independence")
    left = a.after(plan)
    assert time.process_time() - start < 60
    assert 0 < left.tau2 < a.tau2
