"""The promise by brute force: exact distributions of small tables, and all neighbours."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.stats import norm
from tests.tables.exact import exact_parts, masses, without_noise

import pramble

EPSILONS = [0.0, 0.3, 1.0, 2.0]
REACH = 9
"""Standard deviations to which distributions are enumerated; what is beyond is below 1e-18."""


def delta_of_gaussian(epsilon, mu_squared):
    """The smallest δ at ε between two normal distributions µ apart."""
    mu = np.sqrt(float(mu_squared))
    both = norm.cdf([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
    return both[0] - np.exp(epsilon) * both[1]


def delta_of(one, other, epsilon):
    """The smallest δ at ε between two enumerated distributions."""
    return np.maximum(one - np.exp(epsilon) * other, 0).sum()


def shifted(law, steps):
    """The distribution after a shift; nothing of it leaves the array."""
    found = np.zeros_like(law)
    ends = [(max(step, 0), law.shape[axis] + min(step, 0)) for axis, step in enumerate(steps)]
    starts = [(max(-step, 0), law.shape[axis] - max(step, 0)) for axis, step in enumerate(steps)]
    found[tuple(slice(*end) for end in ends)] = law[tuple(slice(*start) for start in starts)]
    return found


def check(law, steps, mu_squared):
    """The exact δ of a shift is at most that of the Gaussian, and nearly that."""
    other = shifted(law, steps)
    assert abs(law.sum() - 1) < 1e-12
    assert abs(other.sum() - 1) < 1e-12
    for epsilon in EPSILONS:
        bound = delta_of_gaussian(epsilon, mu_squared)
        worst = max(delta_of(law, other, epsilon), delta_of(other, law, epsilon))
        assert worst <= bound * (1 + 1e-10)
        if float(mu_squared) < 4:
            assert worst > bound * 0.9  # the lattice is coarse here: something is given away


def difference_law(mass, pad):
    """The distribution of a difference of two independent draws."""
    return np.pad(np.convolve(mass, mass[::-1]), pad)


@pytest.mark.parametrize("sigma", [0.3, 0.6, 1.0, 2.0])
class TestDistributions:
    """What is published of M + η depends on these whole numbers alone; k = N η, N = cells."""

    def noise(self, sigma, cells):
        precision = 1 / sigma**2
        variance = Fraction(cells) ** 2 / Fraction(precision)
        return Fraction(precision), masses(variance, int(REACH * cells * sigma) + 1)

    def test_of_two_categories(self, sigma):
        precision, mass = self.noise(sigma, 2)
        # k0 - k1; one record for another shifts N (M0 - M1) by 4, and r by (1, -1): μ² = 2 u
        check(difference_law(mass, 8), [4], 2 * precision)

    def test_of_three_categories(self, sigma):
        precision, mass = self.noise(sigma, 3)
        n = len(mass)
        # (k0 - k1, k1 - k2) at once: a sum over k1 of the three masses
        law = np.zeros((2 * n + 19, 2 * n + 19))
        middle = n + 9
        for k in range(n):
            rows = slice(middle - k, middle - k + n)
            columns = slice(middle + k - n + 1, middle + k + 1)
            law[rows, columns] += mass[k] * np.outer(mass, mass[::-1])
        check(law, [6, -3], 2 * precision)

    def test_of_an_interaction_of_two_and_two(self, sigma):
        precision, mass = self.noise(sigma, 4)
        pair = np.convolve(mass, mass[::-1])
        law = np.pad(np.convolve(pair, pair[::-1]), 20)
        # k00 - k01 - k10 + k11; who differs in one column shifts the contrast by 2 N, μ² = u
        check(law, [8], precision)


def published(plan, records):
    """The exact parts of some records: what is published of them without noise."""
    columns = {name: [record[i] for record in records] for i, name in enumerate(plan.labels)}
    quiet = without_noise(plan)
    return exact_parts(quiet, pramble.measure(columns, quiet, key=bytes(32)))


def squared_shift(plan, one, other):
    """The squared length of a shift, in standard deviations of the noise."""
    return sum(
        Fraction(precision) * sum((a - b) ** 2 for a, b in zip(one[part], other[part], strict=True))
        for part, precision in plan.precision.items()
    )


@pytest.mark.parametrize(
    ("sizes", "k", "tables"),
    [
        ({"a": 2, "b": 3}, 1, 2),
        ({"a": 2, "b": 3}, 2, 2),
        ({"a": 2, "b": 3}, 3, 1),
        ({"a": 3, "b": 2, "c": 2}, 1, 2),
        ({"a": 2, "b": 2, "c": 2}, 1, 3),
        ({"a": 2, "b": 2, "c": 2}, 2, 2),
        ({"a": 4, "b": 2, "c": 2}, 1, [("a", "b"), ("c",)]),
    ],
)
@pytest.mark.parametrize("objective", ["variance", "largest"])
def test_no_two_people_are_further_apart_than_is_said(sizes, k, tables, objective):
    design = pramble.design_tables(
        sizes, 1.0, 1e-6, tables=tables, rows_per_person=k, objective=objective
    )
    plan, guarantee = design.plan, design.guarantee
    others = [tuple(0 for _ in sizes)] * k  # there is always somebody else
    domain = list(product(*map(range, sizes.values())))
    counts = range(k + 1) if k > 1 else [1]
    people = [rows for count in counts for rows in combinations_with_replacement(domain, count)]
    if len(people) > 60:  # one row for one, and all for all: the proof says that these are enough
        rng = np.random.default_rng(0)
        extreme = [rows for rows in people if len(set(rows)) <= 1]
        people = extreme + [people[i] for i in rng.permutation(len(people))[:20]]
    found = [published(plan, [*others, *rows]) for rows in people]
    shifts = [squared_shift(plan, one, other) for one in found for other in found]
    assert max(shifts) <= guarantee.mu_squared
    if guarantee.attained:
        assert max(shifts) == guarantee.mu_squared
    assert guarantee.attained


def test_the_shift_of_some_plan_that_nobody_designed():
    sizes = {"a": 2, "b": 3}
    rng = np.random.default_rng(4)
    own = pramble.design_tables(sizes, 1.0, 1e-6).plan
    for _ in range(5):
        parts = [("a",), ("b",), ("a", "b")]
        precision = dict(zip(parts, rng.exponential(size=3).tolist(), strict=True))
        plan = replace(own, tables=(("a", "b"),), precision=precision)
        found = [published(plan, [one]) for one in product(range(2), range(3))]
        largest = max(squared_shift(plan, one, other) for one in found for other in found)
        assert largest == pramble.certify(plan).mu_squared


def test_what_is_published_is_a_function_of_what_was_paid_for():
    """Noise that a part does not publish, such as the sum of all cells, is not in it."""
    design = pramble.design_tables({"a": 3, "b": 2}, 1.0, 1e-6)
    found = pramble.measure({"a": [0, 1, 2], "b": [0, 1, 1]}, design)
    for part, numbers in found.parts.items():
        for axis in range(numbers.ndim):
            assert not numbers.sum(axis=axis).any(), part
