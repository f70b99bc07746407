"""The membership sampler: its law by brute force, its answers on populations with known truth."""

import math
from itertools import product

import numpy as np
import pytest

from pramble.risk.membership import (
    Membership,
    MembershipChain,
    binomial_risks,
    cell_probabilities,
    effective_size,
    rank_r_hat,
)


def exact_probability(cell, alpha, levels):
    """Sum over every assignment of profiles, with the Dirichlet integrated out in closed form."""
    total = 0.0
    for z in product(range(len(alpha)), repeat=len(cell)):
        held = np.bincount(z, minlength=len(alpha))
        urn = sum(math.lgamma(a + h) - math.lgamma(a) for a, h in zip(alpha, held, strict=True))
        urn += math.lgamma(sum(alpha)) - math.lgamma(sum(alpha) + len(cell))
        total += math.exp(urn) * math.prod(levels[j, x, z[j]] for j, x in enumerate(cell))
    return total


def fixed_chain(rng, *, shape=(2, 3, 2)):
    codes = np.stack([rng.integers(0, size, 50) for size in shape], axis=1).astype(np.int32)
    return MembershipChain(Membership(profiles=3), codes, shape, rng)


def test_cell_probabilities_are_those_of_the_model():
    chain = fixed_chain(np.random.default_rng(1))
    chain.alpha = np.array([0.3, 0.8, 0.1])
    cells = np.array(list(product(range(2), range(3), range(2))), dtype=np.int32)
    tables, weights = chain.components(200_000)
    sampled = cell_probabilities(cells, tables, weights)
    exact = [exact_probability(cell, chain.alpha, chain.levels) for cell in cells.tolist()]
    assert sum(exact) == pytest.approx(1.0)
    np.testing.assert_allclose(sampled, exact, rtol=0.02)
    np.testing.assert_allclose(chain.probabilities(cells), exact, rtol=1e-12)


def test_estimated_cell_probabilities_are_unbiased(monkeypatch):
    """Beyond eight columns probabilities are estimated; here they are made to be."""
    monkeypatch.setattr("pramble.risk.membership.MOST_EXACT", 0)
    chain = fixed_chain(np.random.default_rng(1))
    chain.alpha = np.array([0.03, 0.4, 0.01])
    cells = np.array(list(product(range(2), range(3), range(2))), dtype=np.int32)
    exact = [exact_probability(cell, chain.alpha, chain.levels) for cell in cells.tolist()]
    estimates = np.array([chain.probabilities(cells) for _ in range(2000)])
    error = estimates.std(axis=0) / math.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - exact) < 4.5 * error + 1e-12).all()
    assert (estimates.std(axis=0) < 0.7 * np.array(exact)).all()


@pytest.mark.parametrize("grouped", [False, True])
def test_reassigned_profiles_follow_their_exact_conditional_law(grouped):
    """One record, fixed parameters: the chain's profiles against the enumerated posterior."""
    from pramble.risk.kernels import reassign, regroup

    rng = np.random.default_rng(3)
    chain = fixed_chain(rng)
    chain.alpha = np.array([0.5, 0.7, 0.2])
    cell = (1, 2, 0)
    weights = {}
    for z in product(range(3), repeat=3):
        held = np.bincount(z, minlength=3)
        urn = sum(math.lgamma(a + h) for a, h in zip(chain.alpha, held, strict=True))
        likelihood = math.prod(chain.levels[j, x, z[j]] for j, x in enumerate(cell))
        weights[z] = math.exp(urn) * likelihood
    total = sum(weights.values())
    copies, many = 40_000, 1e12
    codes = np.tile(np.array(cell, dtype=np.int32), (copies, 1))
    z = np.full(codes.shape, -1, dtype=np.int16)
    tally = many * chain.levels, np.full(3, 1e-9), np.full((3, 3), 1 / many)
    regroup(codes, z, chain.alpha, rng.random(codes.shape), tally)
    assert (z == z[:, :1]).all()
    for _ in range(30):
        spread = np.zeros((3, 4))
        reassign(codes, z, chain.alpha, rng.random(codes.shape), tally, spread)
        if grouped:
            regroup(codes, z, chain.alpha, rng.random(codes.shape), tally)
    assert spread.sum() == 3 * copies
    assert (spread * np.arange(4)).sum() == 3 * copies
    for assignment, weight in weights.items():
        expected = weight / total
        seen = (z == assignment).all(axis=1).mean()
        assert abs(seen - expected) < 5 * math.sqrt(expected / copies) + 1e-4


def test_a_chain_keeps_count_of_what_its_profiles_gave():
    chain = fixed_chain(np.random.default_rng(4))
    for _ in range(5):
        chain.sweep()
    expected = np.zeros(chain.uses.shape)
    for j in range(3):
        np.add.at(expected[j], (chain.codes[:, j], chain.z[:, j]), 1)
    np.testing.assert_array_equal(chain.uses, expected)
    np.testing.assert_allclose(chain.levels.sum(axis=1), 1.0)


def log_density(alpha, held):
    """The log posterior of α0 ξ by the Dirichlet-multinomial law, given how often rows occur."""
    total, gamma = alpha.sum(), math.lgamma
    records = [
        times * (gamma(total) - gamma(total + sum(row)) - sum(map(gamma, alpha))
                 + sum(map(gamma, alpha + np.array(row))))
        for row, times in held.items()
    ]  # fmt: skip
    return sum(records) - total - (len(alpha) - 1) * math.log(total)


def test_moves_of_the_membership_law_settle_on_its_posterior():
    from pramble.risk.kernels import move_alpha

    rng = np.random.default_rng(12)
    held = {(0, 3): 3, (1, 2): 5, (2, 1): 9, (3, 0): 13}
    spread = np.array([[3.0, 5.0, 9.0, 13.0], [13.0, 9.0, 5.0, 3.0]])
    grid = np.exp(np.linspace(-4, 4, 161))
    logs = np.array([[log_density(np.array([a, b]), held) for b in grid] for a in grid])
    mass = np.exp(logs - logs.max()) * np.multiply.outer(grid, grid)
    expected = (
        mass.sum(axis=1) @ np.log(grid) / mass.sum(),
        mass.sum(axis=0) @ np.log(grid) / mass.sum(),
    )
    alpha, seen = np.array([1.0, 1.0]), []
    for _ in range(6000):
        steps = 0.5 * rng.standard_normal((3, 2))
        move_alpha(alpha, spread, steps, np.log1p(-rng.random((3, 2))))
        seen.append(np.log(alpha))
    draws = np.array(seen)[500:]
    error = draws.std(axis=0) / np.sqrt(len(draws) / 20)
    assert (np.abs(draws.mean(axis=0) - expected) < 4 * error).all()
    assert (error < 0.05).all()


@pytest.mark.parametrize("rest", [0, 1, 7, 60])
def test_risks_are_binomial_expectations(rest):
    from scipy import stats

    p = np.array([0.0, 1e-9, 0.02, 0.4])
    r1, r2 = binomial_risks(p, rest)
    others = np.arange(rest + 1)
    for i, probability in enumerate(p):
        law = stats.binom.pmf(others, rest, probability)
        assert r1[i] == pytest.approx(law[0], rel=1e-9)
        assert r2[i] == pytest.approx((law / (1 + others)).sum(), rel=1e-9)


def test_r_hat_and_effective_size_know_good_chains_from_bad():
    rng = np.random.default_rng(11)
    good = rng.normal(size=(4, 1000))
    assert 3000 < effective_size(good) < 5500
    apart = good + np.array([[0.0], [0.0], [0.0], [3.0]])
    assert rank_r_hat(apart) > 1.2
    drifting = good + np.linspace(0, 4, 1000)
    assert rank_r_hat(drifting) > 1.2
    wider = good * np.array([[1.0], [1.0], [1.0], [4.0]])
    assert rank_r_hat(wider) > 1.1
    assert rank_r_hat(good) < 1.01
    slow = np.zeros((4, 1000))
    for t in range(1, 1000):
        slow[:, t] = 0.9 * slow[:, t - 1] + rng.normal(size=4)
    assert 100 < effective_size(slow) < 420
    assert rank_r_hat(np.ones((2, 10))) == 1.0
    assert effective_size(np.ones((2, 10))) == 20.0
