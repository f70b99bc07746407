"""The test of independence: its level, its power, and the naive test it replaces."""

import numpy as np
import pytest
from scipy.special import chdtrc
from scipy.stats import chi2_contingency, hypergeom

import pramble

A = pramble.randomized_response(3, 1.5)
B = pramble.keep_probabilities([0.5, 0.6, 0.4, 0.7], categories=list("abcd"))
WIDE = pramble.Mechanism.from_matrix(
    [[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.3, 0.4, 0.1, 0.1], [0.1, 0.1, 0.1, 0.3, 0.4]],
    categories=[0, 1, 2],
    outputs=list("vwxyz"),
)


def frame_of(table, plan):
    """One row per record of a released table, with the labels of the plan."""
    left, right = (list(m.outputs) for m in plan.values())
    cells = np.repeat(np.arange(table.size), table.ravel())
    rows, columns = np.unravel_index(cells, table.shape)
    return {
        "x": [left[i] for i in rows],
        "y": [right[j] for j in columns],
    }


def released_table(rng, p, plan, n):
    left, right = plan.values()
    law = left.matrix.T @ p @ right.matrix
    return rng.multinomial(n, law.ravel() / law.sum()).reshape(law.shape)


INDEPENDENT = np.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1])


def test_for_invertible_mechanisms_it_is_pearsons_statistic_of_the_released_table():
    plan = {"x": A, "y": B}
    table = released_table(np.random.default_rng(0), INDEPENDENT, plan, 1000)
    test = pramble.independence_test(frame_of(table, plan), plan, columns=["x", "y"])
    oracle = chi2_contingency(table, correction=False)
    assert test.statistic == pytest.approx(oracle.statistic)
    assert test.degrees_of_freedom == oracle.dof == 6
    assert test.p_value == pytest.approx(oracle.pvalue)
    assert test.cramers_v_released == pytest.approx(np.sqrt(oracle.statistic / 1000 / 2))


def test_untouched_columns_enter_as_they_are():
    rng = np.random.default_rng(1)
    frame = {"x": rng.integers(0, 3, 500), "y": rng.choice(list("abcd"), 500)}
    expected = None
    for plan in ({}, {"x": A}, {"y": B}, {"x": A, "y": B}):
        test = pramble.independence_test(frame, plan, columns=["x", "y"])
        expected = expected or test
        assert test.statistic == pytest.approx(expected.statistic)
        assert test.degrees_of_freedom == 6


@pytest.mark.parametrize("plan", [{"x": A, "y": B}, {"x": WIDE, "y": B}], ids=["square", "wide"])
def test_the_level_is_right_and_the_naive_one_is_not(plan):
    rng = np.random.default_rng(2)
    n, runs = 2000, 200
    rejected = naive = 0
    for _ in range(runs):
        table = released_table(rng, INDEPENDENT, plan, n)
        frame = frame_of(table, plan)
        test = pramble.independence_test(frame, plan, columns=["x", "y"])
        assert test.degrees_of_freedom == 6
        rejected += test.p_value < 0.05
        e = pramble.estimate(frame, plan, by=["x", "y"])
        estimated = n * e.probabilities.reshape(3, 4) + 1e-9
        naive += chi2_contingency(estimated, correction=False).pvalue < 0.05
    assert 0.015 < rejected / runs < 0.095
    assert naive / runs > 0.8


def test_power_is_not_wasted_on_outputs_that_hold_only_noise():
    rng = np.random.default_rng(3)
    plan = {"x": WIDE, "y": B}
    p = INDEPENDENT.copy()
    p[0, 0] += 0.05
    p[0, 1] -= 0.05
    p[1, 0] -= 0.05
    p[1, 1] += 0.05
    own = pearson = 0.0
    for _ in range(60):
        table = released_table(rng, p, plan, 3000)
        own += pramble.independence_test(frame_of(table, plan), plan, columns=["x", "y"]).p_value
        pearson += chi2_contingency(table, correction=False).pvalue
    assert own < pearson


def test_cramers_v_is_that_of_the_originals():
    rng = np.random.default_rng(4)
    plan = {"x": A, "y": B}
    p = INDEPENDENT * 0.5
    p[[0, 1, 2], [0, 1, 2]] += 0.5 * np.array([0.5, 0.3, 0.2])
    expected = np.outer(p.sum(axis=1), p.sum(axis=0))
    truth = np.sqrt(((p - expected) ** 2 / expected).sum() / 2)
    found, raw = [], []
    for _ in range(60):
        table = released_table(rng, p, plan, 5000)
        test = pramble.independence_test(frame_of(table, plan), plan, columns=["x", "y"])
        found.append(test.cramers_v)
        raw.append(test.cramers_v_released)
        assert test.p_value < 1e-6
    assert np.mean(found) == pytest.approx(truth, abs=0.03)
    assert np.mean(raw) < 0.6 * truth


RARE = {
    "rare": (200, [0.97, 0.02, 0.01], [0.96, 0.02, 0.01, 0.01], 6.0),
    "rarer": (500, [0.98, 0.015, 0.005], [0.98, 0.01, 0.005, 0.005], 8.0),
}


@pytest.mark.parametrize(("n", "a", "b", "alpha"), RARE.values(), ids=RARE)
def test_rare_cells_do_not_reject_too_often(n, a, b, alpha):
    """Chi-square rejects 13 % of independent tables here."""
    rng = np.random.default_rng(5)
    plan = {"x": pramble.randomized_response(3, alpha), "y": pramble.randomized_response(4, alpha)}
    rejected = naive = 0
    for _ in range(200):
        table = released_table(rng, np.outer(a, b), plan, n)
        test = pramble.independence_test(frame_of(table, plan), plan, columns=["x", "y"])
        assert test.method == "permutation"
        rejected += test.p_value < 0.05
        naive += chdtrc(test.degrees_of_freedom, test.statistic) < 0.05
    assert rejected / 200 < 0.09
    assert naive / 200 > 0.09


def test_the_permutation_test_is_fishers_on_two_by_two():
    plan = {"x": pramble.randomized_response(2, 3.0), "y": pramble.randomized_response(2, 3.0)}
    for table in ([[8, 2], [1, 5]], [[20, 3], [2, 2]], [[30, 1], [6, 3]]):
        test = pramble.independence_test(frame_of(np.array(table), plan), plan, columns=["x", "y"])
        assert test.method == "permutation"
        n, rows, columns = np.sum(table), np.sum(table, axis=1), np.sum(table, axis=0)
        law = hypergeom(n, rows[0], columns[0])
        k = np.arange(n + 1)
        far = np.abs(k - law.mean()) >= abs(table[0][0] - law.mean()) - 1e-9
        exact = law.pmf(k)[far].sum()
        assert test.p_value == pytest.approx(exact, abs=4.5 * np.sqrt(exact / 2000) + 1 / 2000)


def test_columns_must_be_two():
    with pytest.raises(pramble.InvalidInput, match="two different columns"):
        pramble.independence_test({"x": [1]}, {}, columns=["x"])
