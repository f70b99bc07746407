"""The test of independence with branches and blocks: its level and its power."""

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import pramble

A, B = ["x", "y"], ["p", "q", "r"]
PAIRS = list(product(A, B))
JOINT = pramble.Plan({("a", "b"): pramble.randomized_response(PAIRS, 1.5)})
MIXED = pramble.Plan(
    branches=[
        pramble.Branch(Fraction(1, 2), {("b", "a"): pramble.randomized_response(
            [(b, a) for a, b in PAIRS], 2.0)}),
        pramble.Branch(Fraction(1, 4), {"a": pramble.randomized_response(A, 1.0)}),
        pramble.Branch(Fraction(1, 4), {"b": pramble.randomized_response(B, 2.0)}),
    ]
)  # fmt: skip
INDEPENDENT = np.outer([0.3, 0.7], [0.5, 0.3, 0.2])
SHIFT = np.array([[1, -1, 0], [-1, 1, 0.0]])


def release(plan, law, n, rng):
    picked = rng.choice(6, n, p=law.ravel())
    table = pa.table({
        name: pa.array([PAIRS[i][j] for i in picked]) for j, name in enumerate("ab")
    } | {"town": pa.array(rng.choice(["s", "t"], n))})  # fmt: skip
    return pramble.perturb(table, plan, key=rng.bytes(32))


@pytest.mark.parametrize("plan", [JOINT, MIXED], ids=["joint", "mixed"])
@pytest.mark.parametrize("columns", [["a", "b"], ["town", "b"]], ids="".join)
def test_p_values_are_uniform_when_columns_are_independent(plan, columns):
    rng = np.random.default_rng(1)
    found = [
        pramble.independence_test(release(plan, INDEPENDENT, 1500, rng), plan, columns=columns)
        for _ in range(200)
    ]
    assert {one.degrees_of_freedom for one in found} == {2}
    p = np.array([one.p_value for one in found])
    assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert (p < 0.05).mean() < 0.11


@pytest.mark.parametrize("plan", [JOINT, MIXED], ids=["joint", "mixed"])
def test_dependence_is_found_and_measured(plan):
    rng = np.random.default_rng(2)
    law = INDEPENDENT + 0.08 * SHIFT
    found = [
        pramble.independence_test(release(plan, law, 6000, rng), plan, columns=["b", "a"])
        for _ in range(30)
    ]
    assert np.mean([one.p_value < 0.05 for one in found]) > 0.8
    true = np.sqrt((law**2 / np.outer(law.sum(1), law.sum(0))).sum() - 1)
    assert np.mean([one.cramers_v for one in found]) == pytest.approx(true, rel=0.25)
    assert all(np.isnan(one.cramers_v_released) for one in found)


def test_few_records_are_compared_with_drawn_releases():
    rng = np.random.default_rng(3)
    found = [
        pramble.independence_test(release(JOINT, INDEPENDENT, 40, rng), JOINT, columns=["a", "b"])
        for _ in range(150)
    ]
    assert {one.method for one in found} <= {"bootstrap", "chi-square"}
    assert sum(one.method == "bootstrap" for one in found) > 100
    p = np.array([one.p_value for one in found])
    assert (p < 0.05).mean() < 0.13
    assert 0.35 < p.mean() < 0.65
